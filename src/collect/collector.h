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

struct mail {
    struct mail *next;
    int stream; /* 1, 2; 3: stdout, information */
    size_t text_b;
    char text[];
};
struct mailbox {
    struct mail *newest; /* atomic */
    size_t text_b;       /* atomic: queued */
    int wake;            /* eventfd that any thread uses to wake the main thread */
};
int mailbox_open(struct mailbox *box);
void mailbox_wake(struct mailbox *box);
void mailbox_print(struct mailbox *box, int stream, const char *text, size_t text_b);
struct mail *mailbox_take(struct mailbox *box); /* all, oldest first; the caller frees the list */

/* ---- sweeper.c ---- */

struct sweeper {
    pthread_t thread;
    pthread_mutex_t lock; /* leaf: protects the fields below; shared with the main thread only */
    pthread_cond_t changed;
    struct recorded *added;
    bool quit;
    struct ms_shm *asleep_shm; /* shared memory whose bell wakes the sweeper; NULL: not in ms_drain_sleep */
    struct mailbox *mail;
};
int sweeper_start(struct sweeper *sweeper, struct mailbox *mail);
void sweeper_add(struct sweeper *sweeper, struct recorded *process); /* drain and writer are open */
void sweeper_poke(struct sweeper *sweeper);                          /* after setting `ended`, or to avoid a delay */
void sweeper_stop(struct sweeper *sweeper);                          /* once it has no process left */

/* ---- export_thread.c ---- */

#define EXPORTERS_MAX 8

struct exporter {
    pthread_t threads[EXPORTERS_MAX + 1];
    unsigned thread_count;
    struct recorded *added; /* atomic: from the main thread */
    sem_t wake, wake_awaited;
    uint32_t quit;        /* atomic */
    pthread_mutex_t lock; /* protects queue; taken by export threads only */
    struct recorded *queue;
    struct mailbox *mail;
};
int exporter_start(struct exporter *exporter, struct mailbox *mail);
int exporter_add(struct exporter *exporter, struct recorded *process);   /* before the sweeper gets it; 0 or -errno */
void exporter_poke(struct exporter *exporter, struct recorded *process); /* after setting `closed`, or to avoid a
                                                                          * delay */
void exporter_stop(struct exporter *exporter);                           /* once they have no process left */

/* ---- collector.c ---- */

struct pending; /* request.c: a request waiting for its condition */

/* Images of processes that ended recently: the same process may have run another program before, and that registration
 * may arrive late. */
struct image {
    uint64_t pid_namespace, start_time;
    uint32_t pid, exec_count;
};
#define IMAGES_KEPT 64u

struct collector {
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
    struct mailbox mail;
    struct sweeper sweeper;
    struct exporter exporter;
    struct ms_modules *modules;
    struct recorded *processes;
    struct image images[IMAGES_KEPT];
    unsigned image_next;
    uint64_t next_serial; /* for processes that register directly with the collector */
    struct pending *pending;
};

/* Prints on the supervisor's console; does nothing if there is none. Main thread only. */
void collector_tell(struct collector *collector, int stream, const char *format, ...) MS_PRINTF(3, 4);
/* A warning or error about a process that has a directory: on the console, or in the log. */
void collector_warn(struct recorded *process, enum ms_log_level level, const char *format, ...) MS_PRINTF(3, 4);
static inline bool collector_has_console(const struct collector *collector)
{
    return __atomic_load_n(&collector->console, __ATOMIC_ACQUIRE) != 0;
}
void collector_tell_phase(struct collector *collector, const struct recorded *process, enum ms_channel_kind kind);
void collector_print_mail(struct collector *collector); /* prints the text queued by export threads */
void collector_watch(struct collector *collector, int fd, uint32_t events, void *what);
void collector_close_fd(int *fd);

/* ---- processes.c ---- */

/* Handles a registration; takes ownership of both descriptors. name: of the directory it had before, or "". */
void collector_add(struct collector *collector, uint64_t serial, const char *hello_bytes, const char *name, int memfd,
                   int connection);
void collector_turn(struct collector *collector); /* advances every process as far as possible */
/* How long the event loop may sleep without polling; -1: no limit. */
int collector_patience_ms(const struct collector *collector);
/* Creates the project directory with config.json, or opens the one it had. 0 or -errno. */
int collector_open_directory(struct collector *collector, struct recorded *process);
void collector_describe(struct recorded *process); /* copies the settings into its identity */
bool collector_has_published(const struct recorded *process);
/* Starts recording a process in phase MS_RECORDED_QUIET. 0, or -errno: it will not be recorded. */
int collector_begin(struct collector *collector, struct recorded *process);

/* ---- request.c: API calls ---- */
void request_take(struct collector *collector, const struct ms_request *request, const char *text, int connection);
void request_turn(struct collector *collector);                             /* replies to requests whose condition
                                                                             * holds */
void request_forget(struct collector *collector, struct recorded *process); /* the process is gone */

#endif
