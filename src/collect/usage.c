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

struct ms_usage_samples {
    struct ms_usage_samples *next;
    uint32_t pid;
    bool removed;         /* protected by the sampler's lock */
    pthread_mutex_t lock; /* leaf: protects the fields below */
    uint32_t news;        /* atomic: something has changed */
    unsigned count;
    struct sample samples[KEPT_MAX];
};

static struct {
    pthread_mutex_t lock; /* leaf: protects list, running, hurry */
    pthread_cond_t changed;
    struct ms_usage_samples *list;
    bool running, hurry;
} sampler = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

/* ---- samples of a process ---- */

static void set_sample(struct ms_usage_samples *process, uint32_t device, struct ms_p_usage usage)
{
    pthread_mutex_lock(&process->lock);
    unsigned i = 0;
    while (i < process->count && process->samples[i].device != device) {
        i++;
    }
    if (i < KEPT_MAX) {
        struct sample *sample = &process->samples[i];
        bool new = i == process->count;
        process->count += new;
        if (new || memcmp(&sample->usage, &usage, sizeof(usage)) != 0) {
            *sample = (struct sample){device, usage, true};
            __atomic_store_n(&process->news, 1, __ATOMIC_RELEASE);
        }
    }
    pthread_mutex_unlock(&process->lock);
}

static bool uses(struct ms_usage_samples *process, uint32_t device)
{
    bool found = false;
    pthread_mutex_lock(&process->lock);
    for (unsigned i = 0; i < process->count; i++) {
        found = found || process->samples[i].device == device;
    }
    pthread_mutex_unlock(&process->lock);
    return found;
}

void ms_usage_record(struct ms_usage_samples *process, struct ms_drain *drain)
{
    if (process == NULL || __atomic_load_n(&process->news, __ATOMIC_ACQUIRE) == 0) {
        return;
    }
    struct sample samples[KEPT_MAX];
    pthread_mutex_lock(&process->lock);
    unsigned count = process->count;
    memcpy(samples, process->samples, sizeof(samples));
    for (unsigned i = 0; i < count; i++) {
        process->samples[i].changed = false;
    }
    __atomic_store_n(&process->news, 0, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&process->lock);
    for (unsigned i = 0; i < count; i++) {
        if (samples[i].changed) {
            ms_drain_record(drain, MS_R_USAGE, samples[i].device, &samples[i].usage, sizeof(samples[i].usage));
        }
    }
}

/* ---- querying ---- */

static void query_host(struct ms_usage_samples *process)
{
    char path[64], text[128];
    unsigned long long pages, resident;
    struct sysinfo host;
    snprintf(path, sizeof(path), "/proc/%u/statm", process->pid);
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
    set_sample(process, MS_DEV_CPU,
               (struct ms_p_usage){.process_used_b = resident * (uint64_t)sysconf(_SC_PAGESIZE),
                                   .total_b = (uint64_t)host.totalram * host.mem_unit});
}

static void update(struct ms_usage_samples *process, const struct ms_device_memory *memory)
{
    bool found = uses(process, memory->device);
    uint64_t used_b = 0;
    for (unsigned i = 0; i < memory->users; i++) {
        if (memory->user[i].pid == process->pid) {
            found = true;
            used_b = memory->user[i].used_b;
        }
    }
    if (found) {
        set_sample(
            process, memory->device,
            (struct ms_p_usage){.device_used_b = memory->used_b, .process_used_b = used_b, .total_b = memory->total_b});
    }
}

/* The current list; entries stay valid until free_removed, since only this thread removes any. */
static struct ms_usage_samples *current_list(void)
{
    pthread_mutex_lock(&sampler.lock);
    struct ms_usage_samples *list = sampler.list;
    pthread_mutex_unlock(&sampler.lock);
    return list;
}

static void query_all(struct ms_device_memories *memories, bool everything)
{
    struct ms_usage_samples *list = current_list();
    for (struct ms_usage_samples *process = list; process != NULL; process = process->next) {
        query_host(process);
    }
    static struct ms_device_memory memory;
    bool wanted[MS_DEVICES_MAX] = {false};
    static uint32_t numbers[MS_DEVICES_MAX]; /* known after the first reply */
    static bool known[MS_DEVICES_MAX];
    for (unsigned i = 0; i < ms_device_memories_count(memories); i++) {
        wanted[i] = everything;
        for (struct ms_usage_samples *process = list; process != NULL && !wanted[i] && known[i];
             process = process->next) {
            wanted[i] = uses(process, numbers[i]);
        }
        if (!wanted[i] || !ms_device_memories_query(memories, i, &memory)) {
            continue;
        }
        known[i] = true;
        numbers[i] = memory.device;
        for (struct ms_usage_samples *process = list; process != NULL; process = process->next) {
            update(process, &memory);
        }
    }
}

static void free_removed(void)
{
    pthread_mutex_lock(&sampler.lock);
    for (struct ms_usage_samples **link = &sampler.list; *link != NULL;) {
        struct ms_usage_samples *process = *link;
        if (process->removed) {
            *link = process->next;
            pthread_mutex_destroy(&process->lock);
            free(process);
        } else {
            link = &process->next;
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
        query_all(memories, everything);
        free_removed();
        uint64_t took_ns = ms_clock_raw_ns() - begin_ns;
        hurry = pause_for(took_ns * SHARE > PERIOD_NS ? took_ns * SHARE : PERIOD_NS);
    }
    return NULL;
}

/* ---- interface ---- */

struct ms_usage_samples *ms_usage_add(uint32_t pid)
{
    struct ms_usage_samples *process = pid != 0 ? calloc(1, sizeof(*process)) : NULL;
    if (process == NULL) {
        return NULL;
    }
    process->pid = pid;
    pthread_mutex_init(&process->lock, NULL);
    pthread_mutex_lock(&sampler.lock);
    process->next = sampler.list;
    sampler.list = process;
    sampler.hurry = true;
    pthread_t thread;
    if (!sampler.running && pthread_create(&thread, NULL, sample_thread, NULL) == 0) {
        pthread_detach(thread); /* a library that hangs must not delay our exit */
        sampler.running = true;
    }
    pthread_cond_signal(&sampler.changed);
    pthread_mutex_unlock(&sampler.lock);
    return process;
}

void ms_usage_remove(struct ms_usage_samples *process)
{
    if (process != NULL) {
        pthread_mutex_lock(&sampler.lock);
        process->removed = true;
        pthread_mutex_unlock(&sampler.lock);
    }
}
