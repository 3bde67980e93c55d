/* SPDX-License-Identifier: Apache-2.0 */
/* The collector: state shared by its threads.
 *
 *   main      event loop: channel, connections, process ends, requests; creates directories; never waits for a process
 *   sweeper   the drain thread: copies, validates, compresses, writes, nothing else
 *   export    a few threads at idle priority that tail the traces: model, files, reports; one more at normal
 *             priority for results that a caller waits for
 *
 * No thread waits for another: the sweeper and the export threads set words in the process and wake the main thread. */
#ifndef MS_COLLECT_COLLECTOR_H
#define MS_COLLECT_COLLECTOR_H

#include "collect/protocol/session.h"
#include "collect/recorded.h"
#include "collect/supervise/channel.h"
#include "collect/supervise/inbox.h"

#include <pthread.h>
#include <semaphore.h>

/* ---- console_queue.c: text for the console, from the export threads to the main thread. Lock-free: export threads run
 * at idle priority, and the main thread must not wait for a lock that one of them holds. ---- */

struct ms_console_text {
    struct ms_console_text *next;
    int stream; /* 1, 2; 3: stdout, information */
    size_t text_b;
    char text[];
};
struct ms_console_queue {
    struct ms_console_text *newest; /* atomic */
    size_t text_b;                  /* atomic: queued */
    int wake;                       /* eventfd that any thread uses to wake the main thread */
};
int ms_console_queue_open(struct ms_console_queue *queue);
void ms_console_queue_wake(struct ms_console_queue *queue);
void ms_console_queue_print(struct ms_console_queue *queue, int stream, const char *text, size_t text_b);
struct ms_console_text *ms_console_queue_take(
    struct ms_console_queue *queue); /* all, oldest first; the caller frees the list */

/* ---- sweeper.c ---- */

struct ms_sweeper {
    pthread_t thread;
    pthread_mutex_t lock; /* leaf: protects the fields below; shared with the main thread only */
    pthread_cond_t changed;
    struct ms_recorded *added;
    bool quit;
    struct ms_shm *asleep_shm; /* shared memory whose bell wakes the sweeper; NULL: not in ms_drain_sleep */
    struct ms_console_queue *console;
};
int ms_sweeper_start(struct ms_sweeper *sweeper, struct ms_console_queue *console);
void ms_sweeper_add(struct ms_sweeper *sweeper, struct ms_recorded *process); /* drain and writer are open */
void ms_sweeper_poke(struct ms_sweeper *sweeper);                             /* after setting `ended`, or for speed */
void ms_sweeper_stop(struct ms_sweeper *sweeper);                             /* once it has no process left */

/* ---- export_thread.c ---- */

#define MS_EXPORT_THREADS_MAX 8

struct ms_export_threads {
    pthread_t threads[MS_EXPORT_THREADS_MAX + 1];
    unsigned thread_count;
    struct ms_recorded *added; /* atomic: from the main thread */
    sem_t wake, wake_awaited;
    uint32_t quit;        /* atomic */
    pthread_mutex_t lock; /* protects queue; taken by export threads only */
    struct ms_recorded *queue;
    struct ms_console_queue *console;
};
int ms_export_threads_start(struct ms_export_threads *threads, struct ms_console_queue *console);
/* Before the sweeper gets the process. 0 or -errno. */
int ms_export_threads_add(struct ms_export_threads *threads, struct ms_recorded *process);
/* After setting `closed`, or for speed. */
void ms_export_threads_poke(struct ms_export_threads *threads, struct ms_recorded *process);
void ms_export_threads_stop(struct ms_export_threads *threads); /* once they have no process left */

/* ---- collector.c ---- */

struct ms_pending_request; /* request.c: a request waiting for its condition */

/* Images of processes that ended recently: the same process may have run another program before, and that registration
 * may arrive late. */
struct ms_process_image {
    uint64_t pid_namespace, start_time;
    uint32_t pid, exec_count;
};
#define MS_IMAGES_KEPT 64u

struct ms_collector {
    struct ms_session session;
    struct ms_settings settings;
    int output; /* O_PATH */
    bool output_is_new;
    int64_t offset_ns; /* file time - CLOCK_MONOTONIC, for all processes of the session */
    char boot_id[40], host[72];
    int listeners[MS_INBOX_LISTENERS];
    unsigned listener_count;

    struct ms_channel channel;
    bool supervised;
    uint32_t console;      /* atomic: printed text is visible to a user */
    struct ms_inbox inbox; /* open unless supervised */
    int epoll;
    struct ms_console_queue console_queue;
    struct ms_sweeper sweeper;
    struct ms_export_threads export_threads;
    struct ms_modules *modules;
    struct ms_recorded *processes;
    struct ms_process_image images[MS_IMAGES_KEPT];
    unsigned image_next;
    uint64_t next_serial; /* for processes that register directly with the collector */
    struct ms_pending_request *pending;
};

/* Prints on the supervisor's console; does nothing if there is none. Main thread only. */
void ms_collector_print(struct ms_collector *collector, int stream, const char *format, ...) MS_PRINTF(3, 4);
/* A warning or error about a process that has a directory: on the console, or in the log. */
void ms_collector_warn(struct ms_recorded *process, enum ms_log_level level, const char *format, ...) MS_PRINTF(3, 4);
static inline bool ms_collector_has_console(const struct ms_collector *collector)
{
    return __atomic_load_n(&collector->console, __ATOMIC_ACQUIRE) != 0;
}
void ms_collector_report_phase(struct ms_collector *collector, const struct ms_recorded *process,
                               enum ms_channel_kind kind);
void ms_collector_print_queued(struct ms_collector *collector); /* prints the text queued by export threads */
void ms_collector_poll_fd(struct ms_collector *collector, int fd, uint32_t events, void *what);
void ms_collector_close_fd(int *fd);

/* ---- processes.c ---- */

/* Handles a registration; takes ownership of both descriptors. name: of the directory it had before, or "". */
void ms_collector_add(struct ms_collector *collector, uint64_t serial, const char *hello_bytes, const char *name,
                      int memfd, int connection);
void ms_collector_turn(struct ms_collector *collector); /* advances every process as far as possible */
/* How long the event loop may sleep without polling; -1: no limit. */
int ms_collector_timeout_ms(const struct ms_collector *collector);
/* Creates the project directory with config.json, or opens the one it had. 0 or -errno. */
int ms_collector_open_directory(struct ms_collector *collector, struct ms_recorded *process);
void ms_collector_describe(struct ms_recorded *process); /* copies the settings into its identity */
bool ms_collector_has_published(const struct ms_recorded *process);
/* Starts recording a process in phase MS_PHASE_QUIET. 0, or -errno: it will not be recorded. */
int ms_collector_begin(struct ms_collector *collector, struct ms_recorded *process);

/* ---- request.c: API calls ---- */
void ms_request_take(struct ms_collector *collector, const struct ms_request *request, const char *text,
                     int connection);
void ms_request_turn(struct ms_collector *collector); /* replies to requests whose condition holds */
void ms_request_forget(struct ms_collector *collector, struct ms_recorded *process); /* the process is gone */

#endif
