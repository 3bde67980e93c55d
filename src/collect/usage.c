/* SPDX-License-Identifier: Apache-2.0 */
/* See usage.h. One sampler thread per collector; its state is the list of processes. A removed entry is freed by the
 * thread, so ms_usage_remove never waits for a sample in progress. Devices that no listed process uses are checked once
 * a second, in case one starts to. */
#include "collect/usage.h"

#include "base/clock.h"
#include "collect/device_memory.h"
#include "collect/overhead.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <time.h>
#include <unistd.h>

#define PERIOD_NS 100000000ull
#define IDLE_NS   1000000000ull
#define SHARE     10 /* at most 1/SHARE of the time is spent querying */
#define KEPT_MAX  17 /* devices of one process, and the host */

struct sample {
    uint32_t device;
    struct ms_p_usage usage;
    bool changed; /* since it was recorded */
};

struct ms_usage_watch {
    struct ms_usage_watch *next;
    uint32_t pid;
    bool forgotten;       /* protected by the sampler's lock */
    pthread_mutex_t lock; /* leaf: protects the fields below */
    uint32_t news;        /* atomic: something has changed */
    unsigned count;
    struct sample samples[KEPT_MAX];
};

static struct {
    pthread_mutex_t lock; /* leaf: protects list, running, hurry */
    pthread_cond_t changed;
    struct ms_usage_watch *list;
    bool running, hurry;
} sampler = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

/* ---- samples of a process ---- */

static void learn(struct ms_usage_watch *watch, uint32_t device, struct ms_p_usage usage)
{
    pthread_mutex_lock(&watch->lock);
    unsigned i = 0;
    while (i < watch->count && watch->samples[i].device != device) {
        i++;
    }
    if (i < KEPT_MAX) {
        struct sample *sample = &watch->samples[i];
        bool new = i == watch->count;
        watch->count += new;
        if (new || memcmp(&sample->usage, &usage, sizeof(usage)) != 0) {
            *sample = (struct sample){device, usage, true};
            __atomic_store_n(&watch->news, 1, __ATOMIC_RELEASE);
        }
    }
    pthread_mutex_unlock(&watch->lock);
}

static bool uses(struct ms_usage_watch *watch, uint32_t device)
{
    bool found = false;
    pthread_mutex_lock(&watch->lock);
    for (unsigned i = 0; i < watch->count; i++) {
        found = found || watch->samples[i].device == device;
    }
    pthread_mutex_unlock(&watch->lock);
    return found;
}

void ms_usage_record(struct ms_usage_watch *watch, struct ms_drain *drain)
{
    if (watch == NULL || __atomic_load_n(&watch->news, __ATOMIC_ACQUIRE) == 0) {
        return;
    }
    struct sample samples[KEPT_MAX];
    pthread_mutex_lock(&watch->lock);
    unsigned count = watch->count;
    memcpy(samples, watch->samples, sizeof(samples));
    for (unsigned i = 0; i < count; i++) {
        watch->samples[i].changed = false;
    }
    __atomic_store_n(&watch->news, 0, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&watch->lock);
    for (unsigned i = 0; i < count; i++) {
        if (samples[i].changed) {
            ms_drain_record(drain, MS_R_USAGE, samples[i].device, &samples[i].usage, sizeof(samples[i].usage));
        }
    }
}

/* ---- querying ---- */

static void ask_about_host(struct ms_usage_watch *watch)
{
    char path[64], text[128];
    unsigned long long pages, resident;
    struct sysinfo host;
    snprintf(path, sizeof(path), "/proc/%u/statm", watch->pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return;
    }
    ssize_t n = read(fd, text, sizeof(text) - 1);
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    if (sscanf(text, "%llu %llu", &pages, &resident) != 2 || sysinfo(&host) != 0) {
        return;
    }
    /* Usage of the whole host changes constantly and appears in no row. */
    learn(watch, MS_DEV_CPU,
          (struct ms_p_usage){.process_used_b = resident * (uint64_t)sysconf(_SC_PAGESIZE),
                              .total_b = (uint64_t)host.totalram * host.mem_unit});
}

static void tell(struct ms_usage_watch *watch, const struct ms_device_memory *memory)
{
    bool found = uses(watch, memory->device);
    uint64_t used_b = 0;
    for (unsigned i = 0; i < memory->users; i++) {
        if (memory->user[i].pid == watch->pid) {
            found = true;
            used_b = memory->user[i].used_b;
        }
    }
    if (found) {
        learn(
            watch, memory->device,
            (struct ms_p_usage){.device_used_b = memory->used_b, .process_used_b = used_b, .total_b = memory->total_b});
    }
}

/* The current list; entries stay valid until free_removed, since only this thread removes any. */
static struct ms_usage_watch *list_now(void)
{
    pthread_mutex_lock(&sampler.lock);
    struct ms_usage_watch *list = sampler.list;
    pthread_mutex_unlock(&sampler.lock);
    return list;
}

static void ask_all(struct ms_device_memories *memories, bool everything)
{
    struct ms_usage_watch *list = list_now();
    for (struct ms_usage_watch *watch = list; watch != NULL; watch = watch->next) {
        ask_about_host(watch);
    }
    static struct ms_device_memory memory;
    bool wanted[MS_DEVICES_MAX] = {false};
    static uint32_t numbers[MS_DEVICES_MAX]; /* known after the first reply */
    static bool known[MS_DEVICES_MAX];
    for (unsigned i = 0; i < ms_device_memories_count(memories); i++) {
        wanted[i] = everything;
        for (struct ms_usage_watch *watch = list; watch != NULL && !wanted[i] && known[i]; watch = watch->next) {
            wanted[i] = uses(watch, numbers[i]);
        }
        if (!wanted[i] || !ms_device_memories_ask(memories, i, &memory)) {
            continue;
        }
        known[i] = true;
        numbers[i] = memory.device;
        for (struct ms_usage_watch *watch = list; watch != NULL; watch = watch->next) {
            tell(watch, &memory);
        }
    }
}

static void take_forgotten(void)
{
    pthread_mutex_lock(&sampler.lock);
    for (struct ms_usage_watch **link = &sampler.list; *link != NULL;) {
        struct ms_usage_watch *watch = *link;
        if (watch->forgotten) {
            *link = watch->next;
            pthread_mutex_destroy(&watch->lock);
            free(watch);
        } else {
            link = &watch->next;
        }
    }
    pthread_mutex_unlock(&sampler.lock);
}

/* True: a process was added. Sleeps while the list is empty. */
static bool pause_for(uint64_t pause_ns)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    uint64_t ns = (uint64_t)until.tv_nsec + pause_ns;
    until.tv_sec += (time_t)(ns / 1000000000u);
    until.tv_nsec = (long)(ns % 1000000000u);
    pthread_mutex_lock(&sampler.lock);
    int rc = 0;
    while (!sampler.hurry && (rc == 0 || sampler.list == NULL)) {
        rc = sampler.list == NULL ? pthread_cond_wait(&sampler.changed, &sampler.lock)
                                  : pthread_cond_timedwait(&sampler.changed, &sampler.lock, &until);
    }
    bool hurry = sampler.hurry;
    sampler.hurry = false;
    pthread_mutex_unlock(&sampler.lock);
    return hurry;
}

static void *sample_thread(void *argument)
{
    (void)argument;
    ms_overhead_measure();
    struct ms_device_memories *memories = ms_device_memories_open();
    uint64_t everything_ns = 0;
    bool hurry = true;
    for (;;) {
        uint64_t begin_ns = ms_clock_raw_ns();
        bool everything = hurry || begin_ns - everything_ns >= IDLE_NS;
        everything_ns = everything ? begin_ns : everything_ns;
        ask_all(memories, everything);
        take_forgotten();
        uint64_t took_ns = ms_clock_raw_ns() - begin_ns;
        hurry = pause_for(took_ns * SHARE > PERIOD_NS ? took_ns * SHARE : PERIOD_NS);
    }
    return NULL;
}

/* ---- interface ---- */

struct ms_usage_watch *ms_usage_watch(uint32_t pid)
{
    struct ms_usage_watch *watch = pid != 0 ? calloc(1, sizeof(*watch)) : NULL;
    if (watch == NULL) {
        return NULL;
    }
    watch->pid = pid;
    pthread_mutex_init(&watch->lock, NULL);
    pthread_mutex_lock(&sampler.lock);
    watch->next = sampler.list;
    sampler.list = watch;
    sampler.hurry = true;
    pthread_t thread;
    if (!sampler.running && pthread_create(&thread, NULL, sample_thread, NULL) == 0) {
        pthread_detach(thread); /* a library that hangs must not delay our exit */
        sampler.running = true;
    }
    pthread_cond_signal(&sampler.changed);
    pthread_mutex_unlock(&sampler.lock);
    return watch;
}

void ms_usage_forget(struct ms_usage_watch *watch)
{
    if (watch != NULL) {
        pthread_mutex_lock(&sampler.lock);
        watch->forgotten = true;
        pthread_mutex_unlock(&sampler.lock);
    }
}
