/* SPDX-License-Identifier: Apache-2.0 */
/* Export threads: a few threads at idle priority that take turns with the processes, a slice of events each. They tail
 * the trace files like any reader and delay no one. If a program leaves no processor idle they may get hardly any time,
 * so one more thread, at normal priority, handles processes that a caller waits for (stop(), process end) or that lag
 * far behind.
 *
 * A process is either in the queue or owned by one thread; its `pipeline` belongs to that thread. */
#include "collect/collector.h"

#include "base/clock.h"

#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SLICE_EVENTS 4000          /* few: a thread starved of processor time must not hold a process for seconds */
#define LAG_MAX_B    (16ull << 20) /* of the trace: a few seconds of work */
#define PAUSE_MIN_MS 5
#define PAUSE_MAX_MS 200
#define LOOK_MS      1000 /* poll interval for lagging processes */

/* ---- output of the pipeline ---- */

/* Without a console (a program that records itself, or whose launcher has exited) a report is written to a file. The
 * program never prints it: its output stays its own. */
static void print_text(void *argument, int stream, bool info, const char *text, size_t text_b)
{
    struct ms_recorded *process = argument;
    if (ms_collector_has_console(process->collector)) {
        ms_console_queue_print(&process->collector->console_queue, info ? 3 : stream, text, text_b);
    } else if (stream == 1 && !info) {
        int rc = ms_project_write(process->dirfd, MS_REPORT_FILE, text, text_b);
        ms_log_write(&process->log, rc == 0 ? MS_LOG_INFO : MS_LOG_ERROR, "collector", 0,
                     rc == 0 ? "leaks and fluctuation: see " MS_REPORT_FILE : MS_REPORT_FILE " could not be written");
    }
}

static void log_line(void *argument, int level, const char *line)
{
    struct ms_recorded *process = argument;
    if (ms_log_write(&process->log, (enum ms_log_level)level, "model", 0, line)) {
        char text[sizeof(process->path) + 128];
        int n = snprintf(text, sizeof(text), "[msmemscope] Info: logging into file %s/%s\n", process->path,
                         process->log.name);
        print_text(process, 1, true, text, (size_t)n);
    }
}

static void complain(struct ms_recorded *process, const char *format, ...) MS_PRINTF(2, 3);
static void complain(struct ms_recorded *process, const char *format, ...)
{
    char text[2 * sizeof(process->path) + 256];
    static const char prefix[] = "[msmemscope] Error: ";
    va_list args;
    va_start(args, format);
    int n = snprintf(text, sizeof(text), "%sresults in %s are incomplete: ", prefix, process->path);
    n += vsnprintf(text + n, sizeof(text) - (size_t)n, format, args);
    va_end(args);
    n = n < (int)sizeof(text) - 1 ? n : (int)sizeof(text) - 2;
    if (ms_collector_has_console(process->collector)) {
        text[n++] = '\n';
        ms_console_queue_print(&process->collector->console_queue, 2, text, (size_t)n);
    } else {
        ms_log_write(&process->log, MS_LOG_ERROR, "collector", 0, text + sizeof(prefix) - 1);
    }
}

static void complain_error(struct ms_recorded *process, int error)
{
    __atomic_store_n(&process->export_error, error, __ATOMIC_RELEASE);
    bool cut = __atomic_load_n(&process->early_end, __ATOMIC_ACQUIRE) != MS_ENDING_OPEN;
    if (cut) {
        complain(process, "%s. The trace is incomplete too; reports are complete unless marked \"uncertain\".",
                 strerror(-error));
    } else {
        complain(process, "%s. The trace is complete: run 'msmemscope export %s'", strerror(-error), process->path);
    }
}

/* Data we have just written cannot be read back: rare, but must always be reported. */
static void complain_damage(struct ms_recorded *process)
{
    struct ms_pipeline_stats stats;
    ms_pipeline_stats(process->pipeline, &stats);
    if (stats.damages > 0) {
        complain(process, "%llu parts of the trace are unreadable, see 'msmemscope info %s'.",
                 (unsigned long long)stats.damages, process->path);
    }
}

/* ---- one turn ---- */

static struct ms_pipeline_options pipeline_options(struct ms_recorded *process, struct ms_writer *writer)
{
    const struct ms_settings *s = &process->settings;
    bool files = process->has_files && !process->tracking && s->export_mode != MS_EXPORT_NONE;
    return (struct ms_pipeline_options){
        .tracefd = process->tracefd,
        .name = process->identity.name,
        .outfd = process->dirfd,
        .out = process->path,
        .format = files ? ms_pipeline_format(s) : NULL,
        .settings = s,
        .writer = writer,
        .memory = !process->has_files,
        .files = process->files,
        .reclaim = writer != NULL ? &process->reclaim : NULL,
        .replace = process->resumed,
        .reports = process->has_files && !process->tracking,
        .print = print_text,
        .log = log_line,
        .argument = process,
    };
}

/* Opens the pipeline: writes files while the process runs, or only checkpoints first and files later if requested.
 * writer: the sweeper's, which must not have started yet; NULL if the trace is complete. */
static int open_pipeline(struct ms_recorded *process, struct ms_writer *writer)
{
    const struct ms_settings *s = &process->settings;
    process->tracking = writer != NULL && s->export_mode != MS_EXPORT_LIVE && s->ring;
    struct ms_pipeline_options options = pipeline_options(process, writer);
    return ms_pipeline_open(&options, &process->pipeline);
}

/* start() was called for a process that was recorded in memory only. */
static void go_on_in_files(struct ms_recorded *process)
{
    if (!process->has_files && __atomic_load_n(&process->to_files, __ATOMIC_ACQUIRE) != 0) {
        process->has_files = true;
        struct ms_pipeline_options options = pipeline_options(process, NULL);
        int rc = ms_pipeline_to_files(process->pipeline, &options);
        if (rc != 0) {
            complain_error(process, rc);
        }
    }
}

static void publish(struct ms_recorded *process)
{
    struct ms_pipeline_stats stats;
    ms_pipeline_stats(process->pipeline, &stats);
    uint64_t stops;
    const char *suspects = ms_pipeline_suspects(process->pipeline, &stops);
    if (stops != process->suspects_of) {
        process->suspects_of = stops;
        snprintf(process->suspects, sizeof(process->suspects), "%s", suspects);
    }
    if (stats.error != 0) {
        __atomic_store_n(&process->export_error, stats.error, __ATOMIC_RELAXED);
    }
    __atomic_store_n(&process->exported_stamp, stats.done_stamp, __ATOMIC_RELEASE);
    __atomic_store_n(&process->exported_events, stats.events, __ATOMIC_RELEASE);
    process->lag_b = stats.bytes_total > stats.bytes_read ? stats.bytes_total - stats.bytes_read : 0;
    uint64_t per_mille = stats.bytes_total > 0 ? stats.bytes_read * 1000 / stats.bytes_total : 0;
    __atomic_store_n(&process->per_mille, (uint32_t)(per_mille < 1000 ? per_mille : 1000), __ATOMIC_RELEASE);
}

/* Clears `awaited`, unless another request arrived meanwhile. */
static void answer_waiters(struct ms_recorded *process, uint32_t awaited)
{
    __atomic_compare_exchange_n(&process->awaited, &awaited, 0, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

/* True: it needs another turn; false: done. */
static bool take_turn(struct ms_recorded *process)
{
    uint32_t awaited = __atomic_load_n(&process->awaited, __ATOMIC_ACQUIRE);
    bool closed = __atomic_load_n(&process->closed, __ATOMIC_ACQUIRE) != 0;
    if (process->only_at_end && !closed) {
        process->due_ns = UINT64_MAX;
        answer_waiters(process, awaited);
        return true;
    }
    if (closed) {
        ms_pipeline_trace_closed(process->pipeline);
    }
    go_on_in_files(process);
    int rc = ms_pipeline_run(process->pipeline, SLICE_EVENTS);
    publish(process);
    if (rc == MS_PIPELINE_MORE) {
        process->pause_ms = PAUSE_MIN_MS;
        process->due_ns = 0;
        return true;
    }
    if (rc == MS_PIPELINE_AGAIN) {
        answer_waiters(process, awaited);
        process->pause_ms = process->pause_ms < PAUSE_MAX_MS / 2 ? 2 * process->pause_ms : PAUSE_MAX_MS;
        process->due_ns = ms_clock_raw_ns() + (closed ? 1 : process->pause_ms) * 1000000ull;
        return true;
    }
    if (rc < 0) {
        complain_error(process, rc);
    } else {
        complain_damage(process);
    }
    ms_pipeline_close(process->pipeline);
    process->pipeline = NULL;
    if (process->settings.ring) { /* the trace may have grown faster than we could read it */
        ms_trace_trim(process->tracefd, process->identity.name, process->trace_max_b,
                      __atomic_load_n(&process->reclaim.covered, __ATOMIC_ACQUIRE));
    }
    if (!process->tracking || process->settings.export_mode == MS_EXPORT_NONE) {
        return false;
    }
    rc = open_pipeline(process, NULL);
    if (rc != 0) {
        complain_error(process, rc);
    }
    process->due_ns = 0;
    return rc == 0;
}

/* ---- threads ---- */

static bool is_awaited(const struct ms_recorded *process)
{
    return __atomic_load_n(&process->awaited, __ATOMIC_ACQUIRE) != 0 ||
           __atomic_load_n(&process->closed, __ATOMIC_ACQUIRE) != 0 ||
           (process->lag_b > LAG_MAX_B && !process->only_at_end);
}

/* The process that has been due longest; if none is due, *wait_ms is the time until one is. */
static struct ms_recorded *next_process(struct ms_export_threads *threads, bool awaited_only, unsigned *wait_ms)
{
    pthread_mutex_lock(&threads->lock);
    for (struct ms_recorded *added = __atomic_exchange_n(&threads->added, NULL, __ATOMIC_ACQUIRE); added != NULL;) {
        struct ms_recorded *process = added;
        added = process->next_export;
        process->next_export = threads->queue;
        threads->queue = process;
    }
    uint64_t now_ns = ms_clock_raw_ns(), best_ns = UINT64_MAX;
    struct ms_recorded **best = NULL;
    for (struct ms_recorded **link = &threads->queue; *link != NULL; link = &(*link)->next_export) {
        uint64_t due_ns = __atomic_load_n(&(*link)->awaited, __ATOMIC_ACQUIRE) != 0 ? 0 : (*link)->due_ns;
        if ((best == NULL || due_ns < best_ns) && (!awaited_only || is_awaited(*link))) {
            best = link;
            best_ns = due_ns;
        }
    }
    struct ms_recorded *process = best != NULL && best_ns <= now_ns ? *best : NULL;
    if (process != NULL) {
        *best = process->next_export;
    }
    uint64_t wait_ns = best_ns > now_ns ? best_ns - now_ns : 0;
    unsigned most_ms = awaited_only ? LOOK_MS : PAUSE_MAX_MS;
    *wait_ms = wait_ns < most_ms * 1000000ull ? (unsigned)(wait_ns / 1000000) + 1 : most_ms;
    pthread_mutex_unlock(&threads->lock);
    return process;
}

static void wait_a_while(sem_t *wake, unsigned wait_ms)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += (long)wait_ms * 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    sem_timedwait(wake, &until);
}

static void work(struct ms_export_threads *threads, bool awaited_only, sem_t *wake)
{
    while (__atomic_load_n(&threads->quit, __ATOMIC_ACQUIRE) == 0) {
        unsigned wait_ms;
        struct ms_recorded *process = next_process(threads, awaited_only, &wait_ms);
        if (process == NULL) {
            wait_a_while(wake, wait_ms);
        } else if (take_turn(process)) {
            bool pass_on = !awaited_only && is_awaited(process);
            pthread_mutex_lock(&threads->lock);
            process->next_export = threads->queue;
            threads->queue = process;
            pthread_mutex_unlock(&threads->lock);
            if (pass_on) {
                sem_post(&threads->wake_awaited);
            }
        } else {
            __atomic_store_n(&process->exported, 1, __ATOMIC_RELEASE);
            ms_console_queue_wake(threads->console);
        }
    }
}

static void *idle_thread(void *argument)
{
    struct ms_export_threads *threads = argument;
    sched_setscheduler(0, SCHED_IDLE, &(struct sched_param){0}); /* this thread only; if refused: normal priority */
    work(threads, false, &threads->wake);
    return NULL;
}

static void *awaited_thread(void *argument)
{
    struct ms_export_threads *threads = argument;
    work(threads, true, &threads->wake_awaited);
    return NULL;
}

int ms_export_threads_start(struct ms_export_threads *threads, struct ms_console_queue *console)
{
    memset(threads, 0, sizeof(*threads));
    pthread_mutex_init(&threads->lock, NULL);
    sem_init(&threads->wake, 0, 0);
    sem_init(&threads->wake_awaited, 0, 0);
    threads->console = console;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    unsigned idle = cores < 4 ? 1 : cores / 2 > MS_EXPORT_THREADS_MAX ? MS_EXPORT_THREADS_MAX : (unsigned)(cores / 2);
    while (threads->thread_count < idle + 1) {
        void *(*role)(void *) = threads->thread_count < idle ? idle_thread : awaited_thread;
        int error = pthread_create(&threads->threads[threads->thread_count], NULL, role, threads);
        if (error != 0) {
            return threads->thread_count > 0 ? 0 : -error;
        }
        threads->thread_count++;
    }
    return 0;
}

int ms_export_threads_add(struct ms_export_threads *threads, struct ms_recorded *process)
{
    process->has_files = !process->in_memory;
    int rc = open_pipeline(process, process->writer);
    if (rc != 0) {
        complain_error(process, rc);
        return rc;
    }
    process->pause_ms = PAUSE_MIN_MS;
    process->only_at_end = process->settings.export_mode == MS_EXPORT_END && !process->tracking;
    process->next_export = __atomic_load_n(&threads->added, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&threads->added, &process->next_export, process, true, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED)) {
    }
    sem_post(&threads->wake);
    return 0;
}

void ms_export_threads_poke(struct ms_export_threads *threads, struct ms_recorded *process)
{
    __atomic_add_fetch(&process->awaited, 1, __ATOMIC_RELEASE);
    sem_post(&threads->wake);
    sem_post(&threads->wake_awaited);
}

void ms_export_threads_stop(struct ms_export_threads *threads)
{
    __atomic_store_n(&threads->quit, 1, __ATOMIC_RELEASE);
    sem_post(&threads->wake_awaited);
    for (unsigned i = 0; i < threads->thread_count; i++) {
        sem_post(&threads->wake);
    }
    for (unsigned i = 0; i < threads->thread_count; i++) {
        pthread_join(threads->threads[i], NULL);
    }
}
