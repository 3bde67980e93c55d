/* SPDX-License-Identifier: Apache-2.0 */
/* The collector: what its threads share.
 *
 *   main      event loop: channel, connections, deaths, requests; makes directories; never waits for a process
 *   sweeper   the drain thread: copies, validates, compresses, writes, nothing else
 *   exporters a few threads at idle priority that tail the traces: model, files, reports; one of normal priority for
 *             what somebody waits for
 *
 * Nobody waits for another one: the sweeper and the exporters set words in the process and wake the main thread. */
#ifndef MS_COLLECT_COLLECTOR_H
#define MS_COLLECT_COLLECTOR_H

#include "collect/protocol/session.h"
#include "collect/recorded.h"
#include "collect/supervise/channel.h"
#include "collect/supervise/inbox.h"

#include <pthread.h>
#include <semaphore.h>

/* ---- mailbox.c: texts for the console, from the exporters to the main thread. Lock-free: exporters run at idle
 * priority, and nobody shall wait for a lock that one of them holds. ---- */

struct mail {
    struct mail *next;
    int stream; /* 1, 2; 3 stdout, information */
    size_t text_b;
    char text[];
};
struct mailbox {
    struct mail *newest; /* atomic */
    size_t text_b;       /* atomic: waiting */
    int wake;            /* eventfd of the main thread, for everybody */
};
int mailbox_open(struct mailbox *box);
void mailbox_wake(struct mailbox *box);
void mailbox_print(struct mailbox *box, int stream, const char *text, size_t text_b);
struct mail *mailbox_take(struct mailbox *box); /* all, oldest first, a list to be freed */

/* ---- sweeper.c ---- */

struct sweeper {
    pthread_t thread;
    pthread_mutex_t lock; /* protects the rest; leaf, shared with the main thread alone */
    pthread_cond_t changed;
    struct recorded *added;
    bool quit;
    struct ms_shm *asleep_shm; /* a memory whose bell wakes it; NULL: not in ms_drain_sleep */
    struct mailbox *mail;
};
int sweeper_start(struct sweeper *sweeper, struct mailbox *mail);
void sweeper_add(struct sweeper *sweeper, struct recorded *process); /* drain and writer are open */
void sweeper_poke(struct sweeper *sweeper);                          /* after setting `ended`, or for haste */
void sweeper_stop(struct sweeper *sweeper);                          /* when it has nothing any more */

/* ---- exporter.c ---- */

#define EXPORTERS_MAX 8

struct exporter {
    pthread_t threads[EXPORTERS_MAX + 1];
    unsigned thread_count;
    struct recorded *added; /* atomic: from the main thread */
    sem_t wake, wake_awaited;
    uint32_t quit;        /* atomic */
    pthread_mutex_t lock; /* protects queue; among exporters only */
    struct recorded *queue;
    struct mailbox *mail;
};
int exporter_start(struct exporter *exporter, struct mailbox *mail);
int exporter_add(struct exporter *exporter, struct recorded *process);   /* before the sweeper gets it; 0 or -errno */
void exporter_poke(struct exporter *exporter, struct recorded *process); /* after setting `closed`, or for haste */
void exporter_stop(struct exporter *exporter);                           /* when it has nothing any more */

/* ---- collector.c ---- */

struct pending; /* request.c: a request that waits for its condition */

/* What a process was, of those that ended last: it may have been another program before, and that be announced late. */
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
    uint32_t console;      /* atomic: somebody sees what is printed */
    struct ms_inbox inbox; /* open unless supervised */
    int epoll;
    struct mailbox mail;
    struct sweeper sweeper;
    struct exporter exporter;
    struct ms_modules *modules;
    struct recorded *processes;
    struct image images[IMAGES_KEPT];
    unsigned image_next;
    uint64_t next_serial; /* of those that register with us directly */
    struct pending *pending;
};

/* Console of whoever supervises; nothing otherwise. From the main thread. */
void collector_tell(struct collector *collector, int stream, const char *format, ...) MS_PRINTF(3, 4);
/* A warning or an error about a process that has a directory: on the console, or in the log. */
void collector_warn(struct recorded *process, enum ms_log_level level, const char *format, ...) MS_PRINTF(3, 4);
static inline bool collector_has_console(const struct collector *collector)
{
    return __atomic_load_n(&collector->console, __ATOMIC_ACQUIRE) != 0;
}
void collector_tell_phase(struct collector *collector, const struct recorded *process, enum ms_channel_kind kind);
void collector_print_mail(struct collector *collector); /* what exporters want to say */
void collector_watch(struct collector *collector, int fd, uint32_t events, void *what);
void collector_close_fd(int *fd);

/* ---- processes.c ---- */

/* A registration; takes both descriptors. name: of its directory, if it had one before. */
void collector_add(struct collector *collector, uint64_t serial, const char *hello_bytes, const char *name, int memfd,
                   int connection);
void collector_turn(struct collector *collector); /* every process as far as it can go */
/* How long nothing can happen that nobody tells us about; -1: for ever. */
int collector_patience_ms(const struct collector *collector);
/* Makes the project directory with config.json, or finds the one it had. 0 or -errno. */
int collector_open_directory(struct collector *collector, struct recorded *process);
void collector_describe(struct recorded *process); /* settings into its identity */
bool collector_has_published(const struct recorded *process);
/* Begins to record a process that is QUIET. 0 or -errno: it will not be recorded. */
int collector_begin(struct collector *collector, struct recorded *process);

/* ---- request.c: API calls ---- */
void request_take(struct collector *collector, const struct ms_request *request, const char *text, int connection);
void request_turn(struct collector *collector);                             /* answers those whose condition holds */
void request_forget(struct collector *collector, struct recorded *process); /* it is gone */

#endif
