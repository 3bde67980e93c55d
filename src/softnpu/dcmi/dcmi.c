/* SPDX-License-Identifier: Apache-2.0 */
/* libdcmi.so: health and utilisation of the devices, for monitors. Card i has only device i.
 *
 * It observes the machine file and never joins: a monitor does not use a device. Until a process has created the
 * machine, the devices are those that the environment describes, idle and empty.
 *
 * Values that a software device does not have are derived from those it has: utilisation is the share of time in
 * which streams were executing since the last sample (at least WINDOW_NS ago), and temperature and power follow from
 * it.
 *
 * Locks: `lock` guards opening and the last samples. */
#include "dcmi_interface_api.h"

#include "base/clock.h"
#include "base/macros.h"
#include "softnpu/hal/derived.h"
#include "softnpu/hal/machine.h"
#include "softnpu/hal/soc.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define WINDOW_NS   10000000u
#define MIB         ((uint64_t)1 << 20)
#define PROCESS_MAX 64 /* capacity of the caller's array */
#define CENTIVOLTS  80

enum { OK = 0, BAD_ARGUMENT = -1, NO_DEVICE = -2, NOT_SUPPORTED = -3 };
enum { HEALTHY = 0, CRITICAL = 3 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct snpu_machine *machine; /* NULL: not created yet */
static struct snpu_settings settings;
static struct snpu_process processes[SNPU_MAX_PROCESSES]; /* scratch, under lock */
static struct busy_sample {
    uint64_t time_ns, busy_ns;
    unsigned percent;
} samples[SNPU_MAX_DEVICES];

/* Lock held. */
static const struct snpu_config *config(void)
{
    if (settings.config.devices == 0) {
        snpu_settings_read(&settings, NULL, 0);
    }
    if (machine == NULL) {
        snpu_machine_observe(settings.machine, &machine);
    }
    /* The next process reconfigures an unused machine from its environment, which is assumed to be the same as this
     * one. */
    return machine != NULL && snpu_machine_in_use(machine) ? snpu_machine_config(machine) : &settings.config;
}

/* Locks; unlocks again if it returns an error. */
static int enter(int card, int device, const void *out)
{
    if (out == NULL) {
        return BAD_ARGUMENT;
    }
    pthread_mutex_lock(&lock);
    if (card < 0 || (uint32_t)card >= config()->devices || device != 0) {
        pthread_mutex_unlock(&lock);
        return NO_DEVICE;
    }
    return OK;
}

static int leave(int rc)
{
    pthread_mutex_unlock(&lock);
    return rc;
}

/* Lock held. */
static size_t list_processes(void)
{
    size_t n = machine != NULL ? snpu_machine_processes(machine, processes, MS_COUNT_OF(processes)) : 0;
    return n < MS_COUNT_OF(processes) ? n : MS_COUNT_OF(processes);
}

static uint64_t used_of(const struct snpu_process_device *d)
{
    return d->used_b[SNPU_PAGE_NORMAL] + d->used_b[SNPU_PAGE_HUGE] + d->used_b[SNPU_PAGE_GIANT];
}

/* Lock held. */
static uint64_t used_b(uint32_t dev)
{
    uint64_t used[SNPU_PAGE_TYPES] = {0};
    if (machine != NULL) {
        snpu_machine_used(machine, dev, used);
    }
    return used[SNPU_PAGE_NORMAL] + used[SNPU_PAGE_HUGE] + used[SNPU_PAGE_GIANT];
}

/* Lock held. Percentage of the time since the last sample in which the device was busy. */
static unsigned utilisation(uint32_t dev)
{
    struct busy_sample *last = &samples[dev];
    uint64_t now_ns = ms_clock_raw_ns(), busy_ns = 0;
    if (last->time_ns != 0 && now_ns - last->time_ns < WINDOW_NS) {
        return last->percent;
    }
    size_t n = list_processes();
    for (size_t i = 0; i < n; i++) {
        busy_ns += processes[i].device[dev].activity.busy_ns;
    }
    /* The sum drops when a process ends, and concurrent streams add up to more than the elapsed time. */
    uint64_t more_ns = busy_ns > last->busy_ns ? busy_ns - last->busy_ns : 0;
    uint64_t percent = last->time_ns != 0 ? more_ns * 100 / (now_ns - last->time_ns) : 0;
    *last =
        (struct busy_sample){.time_ns = now_ns, .busy_ns = busy_ns, .percent = percent < 100 ? (unsigned)percent : 100};
    return last->percent;
}

/* ---- cards ---- */

int dcmi_init(void)
{
    pthread_mutex_lock(&lock);
    config();
    return leave(OK);
}

int dcmi_get_driver_version(char *driver_ver, unsigned int len)
{
    static const char version[] = "25.0.0-softnpu";
    if (driver_ver == NULL || len < sizeof(version)) {
        return BAD_ARGUMENT;
    }
    memcpy(driver_ver, version, sizeof(version));
    return OK;
}

int dcmi_get_card_list(int *card_num, int *card_list, int list_len)
{
    if (card_num == NULL || card_list == NULL || list_len <= 0) {
        return BAD_ARGUMENT;
    }
    pthread_mutex_lock(&lock);
    int n = (int)config()->devices < list_len ? (int)config()->devices : list_len;
    for (int i = 0; i < n; i++) {
        card_list[i] = i;
    }
    *card_num = n;
    return leave(OK);
}

int dcmi_get_card_num_list(int *card_num, int *card_list, int list_len)
{
    return dcmi_get_card_list(card_num, card_list, list_len);
}

int dcmi_get_device_num_in_card(int card_id, int *device_num)
{
    int rc = enter(card_id, 0, device_num);
    if (rc != OK) {
        return rc;
    }
    *device_num = 1;
    return leave(OK);
}

int dcmi_get_device_id_in_card(int card_id, int *device_id_max, int *mcu_id, int *cpu_id)
{
    if (mcu_id == NULL || cpu_id == NULL) {
        return BAD_ARGUMENT;
    }
    int rc = enter(card_id, 0, device_id_max);
    if (rc != OK) {
        return rc;
    }
    *device_id_max = 1;
    *mcu_id = *cpu_id = -1; /* none */
    return leave(OK);
}

int dcmi_get_device_logic_id(int *device_logic_id, int card_id, int device_id)
{
    int rc = enter(card_id, device_id, device_logic_id);
    if (rc != OK) {
        return rc;
    }
    *device_logic_id = card_id;
    return leave(OK);
}

/* ---- memory ---- */

int dcmi_get_device_hbm_info(int card_id, int device_id, struct dcmi_hbm_info *hbm_info)
{
    int rc = enter(card_id, device_id, hbm_info);
    if (rc != OK) {
        return rc;
    }
    unsigned percent = utilisation((uint32_t)card_id);
    memset(hbm_info, 0, sizeof(*hbm_info));
    hbm_info->memory_size = config()->capacity_b / MIB;
    hbm_info->freq = SNPU_HBM_MHZ;
    hbm_info->memory_usage = used_b((uint32_t)card_id) / MIB;
    hbm_info->temp = snpu_celsius(percent);
    hbm_info->bandwith_util_rate = percent / 2;
    return leave(OK);
}

int dcmi_get_npu_proc_mem_info(int card_id, int device_id, struct dcmi_proc_mem_info *proc_info, int *proc_num)
{
    if (proc_num == NULL) {
        return BAD_ARGUMENT;
    }
    int rc = enter(card_id, device_id, proc_info);
    if (rc != OK) {
        return rc;
    }
    int filled = 0;
    size_t n = list_processes();
    for (size_t i = 0; i < n && filled < PROCESS_MAX; i++) {
        const struct snpu_process_device *d = &processes[i].device[card_id];
        if (used_of(d) > 0 || d->activity.streams > 0) {
            proc_info[filled].proc_id = processes[i].pid;
            proc_info[filled].proc_mem_usage = used_of(d);
            filled++;
        }
    }
    *proc_num = filled;
    return leave(OK);
}

/* ---- health ---- */

int dcmi_get_device_health(int card_id, int device_id, unsigned int *health)
{
    int rc = enter(card_id, device_id, health);
    if (rc != OK) {
        return rc;
    }
    *health = HEALTHY;
    size_t n = list_processes();
    for (size_t i = 0; i < n; i++) {
        if (processes[i].device[card_id].lost) {
            *health = CRITICAL;
        }
    }
    return leave(OK);
}

int dcmi_get_device_temperature(int card_id, int device_id, int *temperature)
{
    int rc = enter(card_id, device_id, temperature);
    if (rc != OK) {
        return rc;
    }
    *temperature = snpu_celsius(utilisation((uint32_t)card_id));
    return leave(OK);
}

int dcmi_get_device_power_info(int card_id, int device_id, int *power)
{
    int rc = enter(card_id, device_id, power);
    if (rc != OK) {
        return rc;
    }
    *power = snpu_deciwatt(utilisation((uint32_t)card_id));
    return leave(OK);
}

int dcmi_get_device_voltage(int card_id, int device_id, unsigned int *voltage)
{
    int rc = enter(card_id, device_id, voltage);
    if (rc != OK) {
        return rc;
    }
    *voltage = CENTIVOLTS;
    return leave(OK);
}

int dcmi_get_device_utilization_rate(int card_id, int device_id, int input_type, unsigned int *utilization_rate)
{
    int rc = enter(card_id, device_id, utilization_rate);
    if (rc != OK) {
        return rc;
    }
    uint32_t dev = (uint32_t)card_id;
    switch (input_type) {
    case DCMI_UTILIZATION_RATE_AICORE:
    case DCMI_UTILIZATION_RATE_VECTORCORE:
    case DCMI_UTILIZATION_RATE_NPU:
    case DCMI_UTILIZATION_RATE_AICUBE:
        *utilization_rate = utilisation(dev);
        break;
    case DCMI_UTILIZATION_RATE_HBM:
        *utilization_rate = (unsigned)(used_b(dev) / (config()->capacity_b / 100));
        break;
    default:
        rc = NOT_SUPPORTED;
    }
    return leave(rc);
}

int dcmi_get_device_frequency(int card_id, int device_id, int input_type, unsigned int *frequency)
{
    int rc = enter(card_id, device_id, frequency);
    if (rc != OK) {
        return rc;
    }
    const struct snpu_soc *soc = snpu_soc_find(config()->soc);
    if (input_type == DCMI_FREQ_AICORE_CURRENT && soc != NULL) {
        *frequency = soc->frequency_mhz;
    } else {
        rc = NOT_SUPPORTED;
    }
    return leave(rc);
}

int dcmi_get_device_errorcode_v2(int card_id, int device_id, int *error_count, unsigned int *error_code_list,
                                 unsigned int list_len)
{
    int rc = enter(card_id, device_id, error_count);
    if (rc != OK) {
        return rc;
    }
    *error_count = 0;
    return leave(error_code_list != NULL && list_len > 0 ? OK : BAD_ARGUMENT);
}
