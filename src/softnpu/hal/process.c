/* SPDX-License-Identifier: Apache-2.0 */
/* One machine per process, joined on first use. A forked child starts from scratch: it has no slot, no device memory
 * (windows are not inherited), no handles, and its locks are reinitialised whatever the parent's threads were doing.
 * It claims its own slot on first use.
 *
 * Locks: `join_lock` guards only joining; afterwards the pointer is read with acquire order. */
#include "softnpu/hal/process.h"

#include "base/clock.h"
#include "base/macros.h"
#include "softnpu/hal/arena.h"
#include "softnpu/hal/share.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t join_lock = PTHREAD_MUTEX_INITIALIZER;
static struct snpu_machine *machine;   /* published; NULL: not joined */
static struct snpu_machine *inherited; /* in a forked child: the inherited mapping */
static struct snpu_settings settings;
static struct snpu_fault_plan fault_plan;
static char messages[1024];
static uint8_t contexts[SNPU_MAX_DEVICES]; /* 1: the constant overhead has been charged; under join_lock */

static void after_fork_in_child(void)
{
    if (machine != NULL) {
        inherited = machine;
        machine = NULL;
    }
    join_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    memset(contexts, 0, sizeof(contexts));
    snpu__ipc_forget();
    snpu__vmm_forget();
    snpu__register_forget();
    snpu__share_forget();
    snpu__spans_forget();
    snpu_arena_forget();
    snpu__prof_forget();
    snpu__fault_forget();
}

static void remember(const char *text)
{
    size_t used = strlen(messages);
    if (text[0] != '\0') {
        snprintf(messages + used, sizeof(messages) - used, "%s%s", used > 0 ? "\n" : "", text);
    }
}

static struct snpu_machine *join(void)
{
    char why[512];
    struct snpu_machine *m;
    why[0] = '\0';
    if (inherited != NULL) {
        m = snpu_machine_rejoin(inherited, why, sizeof(why));
    } else {
        snpu_settings_read(&settings, why, sizeof(why));
        remember(why);
        if (snpu_fault_parse(getenv("SOFTNPU_FAULT"), &fault_plan, why, sizeof(why)) != 0) {
            remember("SOFTNPU_FAULT ignored:");
            remember(why);
        }
        m = snpu_machine_join(&settings, why, sizeof(why));
        pthread_atfork(NULL, NULL, after_fork_in_child);
    }
    remember(why);
    inherited = NULL;
    return m;
}

struct snpu_machine *snpu__machine(void)
{
    struct snpu_machine *m = __atomic_load_n(&machine, __ATOMIC_ACQUIRE);
    if (MS_LIKELY(m != NULL)) {
        return m;
    }
    pthread_mutex_lock(&join_lock);
    m = machine;
    if (m == NULL) {
        m = join();
        __atomic_store_n(&machine, m, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&join_lock);
    return m;
}

const struct snpu_settings *snpu__settings(void)
{
    snpu__machine();
    return &settings;
}

const struct snpu_fault_plan *snpu__fault_plan(void)
{
    snpu__machine();
    return &fault_plan;
}

bool snpu__device_exists(uint32_t dev)
{
    return dev < snpu_machine_config(snpu__machine())->devices;
}

drvError_t snpu__device_open(uint32_t dev)
{
    struct snpu_machine *m = snpu__machine();
    uint64_t size_b = MS_ROUND_UP(settings.context_b, SNPU_HUGE_B);
    if (size_b == 0 || __atomic_load_n(&contexts[dev], __ATOMIC_ACQUIRE)) {
        return DRV_ERROR_NONE;
    }
    drvError_t rc = DRV_ERROR_NONE;
    pthread_mutex_lock(&join_lock);
    if (!contexts[dev]) {
        if (snpu_machine_charge(m, dev, SNPU_PAGE_HUGE, size_b, SNPU_MODULE_RUNTIME) == 0) {
            __atomic_store_n(&contexts[dev], 1, __ATOMIC_RELEASE);
        } else {
            rc = DRV_ERROR_OUT_OF_MEMORY;
        }
    }
    pthread_mutex_unlock(&join_lock);
    return rc;
}

void snpu__device_close(uint32_t dev)
{
    struct snpu_machine *m = snpu__machine();
    pthread_mutex_lock(&join_lock);
    if (contexts[dev]) {
        __atomic_store_n(&contexts[dev], 0, __ATOMIC_RELEASE);
        snpu_machine_uncharge(m, dev, SNPU_PAGE_HUGE, MS_ROUND_UP(settings.context_b, SNPU_HUGE_B),
                              SNPU_MODULE_RUNTIME);
    }
    pthread_mutex_unlock(&join_lock);
}

drvError_t snpu__charge(uint32_t place, enum snpu_page page, uint64_t size_b, uint32_t module_id)
{
    struct snpu_machine *m = snpu__machine();
    if (place == SNPU_ARENA_HOST) {
        snpu_machine_pin(m, (int64_t)size_b);
        return DRV_ERROR_NONE;
    }
    drvError_t rc = snpu__device_open(place);
    if (rc != DRV_ERROR_NONE || snpu_machine_charge(m, place, page, size_b, module_id) == 0) {
        return rc;
    }
    /* Memory that waited for its importers may be free by now. */
    bool retried = snpu__sweep_exports() && snpu_machine_charge(m, place, page, size_b, module_id) == 0;
    return retried ? DRV_ERROR_NONE : DRV_ERROR_OUT_OF_MEMORY;
}

void snpu__uncharge(uint32_t place, enum snpu_page page, uint64_t size_b, uint32_t module_id)
{
    struct snpu_machine *m = snpu__machine();
    if (place == SNPU_ARENA_HOST) {
        snpu_machine_pin(m, -(int64_t)size_b);
    } else {
        snpu_machine_uncharge(m, place, page, size_b, module_id);
    }
}

/* ---- hal_ext.h: configuration, clock, activity ---- */

const char *snpu_hal_message(void)
{
    snpu__machine();
    return messages[0] != '\0' ? messages : NULL;
}

uint32_t snpu_hal_device_count(void)
{
    return snpu_machine_config(snpu__machine())->devices;
}

uint64_t snpu_hal_capacity_b(uint32_t dev)
{
    return snpu__device_exists(dev) ? snpu_machine_config(snpu__machine())->capacity_b : 0;
}

const char *snpu_hal_soc_name(void)
{
    return snpu_machine_config(snpu__machine())->soc;
}

uint32_t snpu_hal_cores(void)
{
    return snpu__settings()->cores;
}

uint64_t snpu_hal_counter(void)
{
    return ms_clock_raw_ns() / 20;
}

struct snpu_activity *snpu_hal_activity(uint32_t dev)
{
    static struct snpu_activity nobodys;
    return snpu__device_exists(dev) ? snpu_machine_activity(snpu__machine(), dev) : &nobodys;
}

void snpu_hal_set_lost(uint32_t dev, bool lost)
{
    if (snpu__device_exists(dev)) {
        snpu_machine_set_lost(snpu__machine(), dev, lost);
    }
}

bool snpu_hal_lost(uint32_t dev)
{
    return snpu__device_exists(dev) && snpu_machine_lost(snpu__machine(), dev);
}
