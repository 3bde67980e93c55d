/* SPDX-License-Identifier: Apache-2.0 */
/* The drain thread. It sweeps all recorded processes, continuously while there is much to drain and at growing
 * intervals while there is little, and closes the traces of processes that have ended. It does nothing else: no model,
 * no export, and it waits for nothing but the disk.
 *
 * Interval: records in shared memory that are not yet in the trace are lost if process and collector die at the same
 * time; that is at most PAUSE_MAX_MS worth of records. */
#include "collect/collector.h"

#include "base/clock.h"
#include "base/macros.h"
#include "collect/overhead.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAUSE_MIN_MS 1
#define PAUSE_MAX_MS 100
/* After a sweep of more than BUSY_RECORDS the next follows immediately; after one of fewer than CALM_RECORDS the pause
 * doubles. A sweep by itself costs as much as 1,000 records. */
#define BUSY_RECORDS 4096
#define CALM_RECORDS 2048

#define MS_MIN(a, b) ((a) < (b) ? (a) : (b))
#define MS_MAX(a, b) ((a) > (b) ? (a) : (b))

struct sweep_work {
    struct ms_recorded **processes;
    struct ms_drain **drains;
    unsigned count, capacity;
};

/* Takes over new processes; waits while all of them are idle. False: quit. */
static bool take_added(struct ms_sweeper *sweeper, struct sweep_work *work)
{
    pthread_mutex_lock(&sweeper->lock);
    while (sweeper->added == NULL && work->count == 0 && !sweeper->quit) {
        pthread_cond_wait(&sweeper->changed, &sweeper->lock);
    }
    while (sweeper->added != NULL) {
        if (work->count == work->capacity) {
            unsigned capacity = work->capacity > 0 ? 2 * work->capacity : 16;
            struct ms_recorded **processes = realloc(work->processes, capacity * sizeof(*processes));
            work->processes = processes != NULL ? processes : work->processes;
            struct ms_drain **drains = realloc(work->drains, capacity * sizeof(*drains));
            work->drains = drains != NULL ? drains : work->drains;
            if (processes == NULL || drains == NULL) {
                break; /* retry later */
            }
            work->capacity = capacity;
        }
        struct ms_recorded *process = sweeper->added;
        sweeper->added = process->next_swept;
        work->processes[work->count] = process;
        work->drains[work->count++] = process->drain;
    }
    bool go_on = work->count > 0 || !sweeper->quit;
    pthread_mutex_unlock(&sweeper->lock);
    return go_on;
}

/* The process has ended: its trace is complete. */
static void close_trace(struct ms_recorded *process)
{
    ms_drain_close(process->drain);
    ms_writer_close(process->writer, MS_ENDING_PROCESS);
    process->drain = NULL;
    process->writer = NULL;
    __atomic_store_n(&process->closed, 1, __ATOMIC_RELEASE);
}

/* Passes on to the writer what the export thread no longer needs. */
static void apply_reclaim(struct ms_recorded *process)
{
    uint64_t covered = __atomic_load_n(&process->reclaim.covered, __ATOMIC_ACQUIRE);
    uint64_t freed_b = __atomic_load_n(&process->reclaim.freed_b, __ATOMIC_ACQUIRE);
    if (covered > 0) {
        ms_writer_covered(process->writer, covered);
    }
    if (freed_b != process->freed_b) {
        ms_writer_freed(process->writer, freed_b - process->freed_b);
        process->freed_b = freed_b;
    }
}

/* For the main thread: how far draining has got, and whether the trace had to end before the process. */
static void publish(struct ms_recorded *process, bool ended)
{
    struct ms_drain_stats stats;
    ms_drain_stats(process->drain, &stats);
    __atomic_store_n(&process->low_stamp, ended ? UINT64_MAX : stats.low_stamp, __ATOMIC_RELEASE);
    __atomic_store_n(&process->records, stats.records, __ATOMIC_RELEASE);
    process->buffers_b = MS_MAX(process->buffers_b, stats.chunks_in_use * MS_CHUNK_B);
    apply_reclaim(process);
    struct ms_writer_stats written;
    ms_writer_stats(process->writer, &written);
    if (written.ending != MS_ENDING_OPEN && process->early_end == MS_ENDING_OPEN) {
        process->early_error = written.error;
        __atomic_store_n(&process->early_end, written.ending, __ATOMIC_RELEASE);
        ms_console_queue_wake(&process->collector->console_queue);
    }
}

static void record_cost(struct ms_recorded *process)
{
    struct ms_p_recorder cost = {.buffers_b = process->buffers_b,
                                 .drain_ns = process->drain_ns,
                                 .record_ps = ms_overhead_record_ps(),
                                 .collector_b = ms_overhead_resident_b()};
    ms_drain_record(process->drain, MS_R_RECORDER, 0, &cost, sizeof(cost));
}

/* start() was called for a process that was recorded in memory only. */
static void go_on_in_files(struct ms_recorded *process)
{
    if (__atomic_load_n(&process->to_files, __ATOMIC_ACQUIRE) == 1) {
        process->move_error = ms_writer_to_files(process->writer, process->tracefd, process->identity.settings);
        ms_drain_mark(process->drain);
        __atomic_store_n(&process->to_files, 2, __ATOMIC_RELEASE);
    }
}

static uint64_t sweep_all(struct ms_sweeper *sweeper, struct sweep_work *work)
{
    uint64_t records = 0;
    for (unsigned i = 0; i < work->count;) {
        struct ms_recorded *process = work->processes[i];
        bool ended = __atomic_load_n(&process->ended, __ATOMIC_ACQUIRE) != 0;
        go_on_in_files(process);
        ms_usage_record(process->usage, process->drain);
        uint64_t begin_ns = ms_clock_ns(CLOCK_THREAD_CPUTIME_ID);
        if (ended) {
            record_cost(process);
        }
        int64_t n = ended ? ms_drain_finish(process->drain) : ms_drain_sweep(process->drain);
        process->drain_ns += ms_clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns;
        records += n > 0 ? (uint64_t)n : 0;
        publish(process, ended && n >= 0);
        if (ended && n >= 0) {
            work->processes[i] = work->processes[--work->count];
            work->drains[i] = work->drains[work->count];
            close_trace(process);
            ms_console_queue_wake(sweeper->console);
            continue;
        }
        i++;
    }
    return records;
}

static void pause_sweeping(struct ms_sweeper *sweeper, struct sweep_work *work, unsigned pause_ms)
{
    pthread_mutex_lock(&sweeper->lock);
    bool sleep = sweeper->added == NULL && work->count > 0;
    for (unsigned i = 0; i < work->count; i++) {
        sleep = sleep && __atomic_load_n(&work->processes[i]->ended, __ATOMIC_ACQUIRE) == 0;
    }
    sweeper->asleep_shm = sleep ? ms_drain_shm(work->drains[0]) : NULL;
    pthread_mutex_unlock(&sweeper->lock);
    if (!sleep) {
        return;
    }
    ms_drain_sleep(work->drains, work->count, pause_ms);
    pthread_mutex_lock(&sweeper->lock);
    sweeper->asleep_shm = NULL;
    pthread_mutex_unlock(&sweeper->lock);
}

static void *sweep_thread(void *argument)
{
    struct ms_sweeper *sweeper = argument;
    struct sweep_work work = {0};
    unsigned pause_ms = PAUSE_MIN_MS;
    while (take_added(sweeper, &work)) {
        uint64_t records = sweep_all(sweeper, &work);
        if (records > BUSY_RECORDS) {
            pause_ms = PAUSE_MIN_MS;
            continue;
        }
        pause_ms = records > CALM_RECORDS ? MS_MAX(pause_ms / 2, PAUSE_MIN_MS) : MS_MIN(2 * pause_ms, PAUSE_MAX_MS);
        pause_sweeping(sweeper, &work, pause_ms);
    }
    free(work.processes);
    free(work.drains);
    return NULL;
}

int ms_sweeper_start(struct ms_sweeper *sweeper, struct ms_console_queue *console)
{
    memset(sweeper, 0, sizeof(*sweeper));
    pthread_mutex_init(&sweeper->lock, NULL);
    pthread_cond_init(&sweeper->changed, NULL);
    sweeper->console = console;
    return -pthread_create(&sweeper->thread, NULL, sweep_thread, sweeper);
}

/* Call with the lock held. The bell is in the shared memory of a process whose drain stays open while asleep_shm is
 * set. A poke just before ms_drain_sleep reads the bell is lost; the main thread pokes again while it waits. */
static void wake(struct ms_sweeper *sweeper)
{
    pthread_cond_signal(&sweeper->changed);
    if (sweeper->asleep_shm != NULL) {
        __atomic_add_fetch(&sweeper->asleep_shm->bell, 1, __ATOMIC_RELEASE);
        syscall(SYS_futex, &sweeper->asleep_shm->bell, FUTEX_WAKE, 1, NULL, NULL, 0);
    }
}

void ms_sweeper_add(struct ms_sweeper *sweeper, struct ms_recorded *process)
{
    pthread_mutex_lock(&sweeper->lock);
    process->next_swept = sweeper->added;
    sweeper->added = process;
    wake(sweeper);
    pthread_mutex_unlock(&sweeper->lock);
}

void ms_sweeper_poke(struct ms_sweeper *sweeper)
{
    pthread_mutex_lock(&sweeper->lock);
    wake(sweeper);
    pthread_mutex_unlock(&sweeper->lock);
}

void ms_sweeper_stop(struct ms_sweeper *sweeper)
{
    pthread_mutex_lock(&sweeper->lock);
    sweeper->quit = true;
    wake(sweeper);
    pthread_mutex_unlock(&sweeper->lock);
    pthread_join(sweeper->thread, NULL);
}
