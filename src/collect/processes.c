/* SPDX-License-Identifier: Apache-2.0 */
/* The recorded processes: registration, phases (recorded.h), end. Owned by the collector's main thread. An error about
 * one process ends the recording of that process only. */
#include "collect/collector.h"
#include "collect/supervise/output.h"
#include "memscope/options/options.h"

#include "base/clock.h"
#include "base/macros.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define RING_PARTS  8
#define SEGMENT_B   (64ull << 20)
#define PIECE_B     (8ull << 20)
#define QUIET_TURNS 100 /* fast polls of a new process before backing off */
#define WAITING_MS  2   /* poll interval while an API call waits */

static void free_process(struct ms_recorded *process)
{
    int fds[] = {process->memfd, process->connection, process->pidfd, process->dirfd, process->tracefd};
    for (size_t i = 0; i < MS_COUNT_OF(fds); i++) {
        if (fds[i] >= 0) {
            close(fds[i]);
        }
    }
    ms_usage_remove(process->usage);
    ms_log_close(&process->log);
    ms_process_modules_free(process->files);
    free(process);
}

/* Has the process published anything? Reads through the file, so nothing has to be mapped or trusted; if that read
 * fails, assume it has. */
bool ms_collector_has_published(const struct ms_recorded *process)
{
    uint32_t streams = 0;
    return pread(process->memfd, &streams, sizeof(streams), offsetof(struct ms_shm, streams_used)) !=
               (ssize_t)sizeof(streams) ||
           streams != 0;
}

static void set_done(struct ms_collector *c, struct ms_recorded *process)
{
    ms_collector_print_queued(c); /* its reports must precede DONE */
    process->phase = MS_PHASE_DONE;
    ms_collector_report_phase(c, process, MS_CH_DONE);
}

static void set_ended(struct ms_collector *c, struct ms_recorded *process)
{
    if (process->pidfd >= 0) {
        epoll_ctl(c->epoll, EPOLL_CTL_DEL, process->pidfd, NULL);
    }
    ms_collector_report_phase(c, process, MS_CH_DEAD);
    process->phase = MS_PHASE_ENDED;
    __atomic_store_n(&process->ended, 1, __ATOMIC_RELEASE);
    ms_sweeper_poke(&c->sweeper);
}

static int find_or_make_project(struct ms_recorded *process, int output)
{
    int rc = -ENOENT;
    if (process->name[0] != '\0') {
        rc = ms_project_open(output, process->name, &process->dirfd, &process->tracefd);
        process->resumed = rc == 0;
    }
    return rc == 0 ? 0
                   : ms_project_make(output, process->identity.pid, process->name, &process->dirfd, &process->tracefd);
}

/* The output directory is the session's; with the API, the one currently configured. If another recording found the
 * directory empty and removed it, it is created again. */
int ms_collector_open_directory(struct ms_collector *c, struct ms_recorded *process)
{
    bool api = (c->session.flags & MS_SESSION_API) != 0;
    int rc = api ? -ENOENT : find_or_make_project(process, c->output);
    if (rc == -ENOENT) {
        bool is_new;
        int output = ms_output_open(process->settings.output, &is_new);
        rc = output < 0 ? output : find_or_make_project(process, output);
        if (output >= 0) {
            close(output);
        }
    }
    if (rc != 0) {
        return rc;
    }
    /* Before any file is created in it: a successor collector must find the same directory. */
    ms_channel_send(&c->channel, MS_CH_NAMED, process->serial, 0, process->name, strlen(process->name), NULL, 0);
    snprintf(process->path, sizeof(process->path), "%s/%s", process->settings.output, process->name);
    ms_log_init(&process->log, process->dirfd, ms_settings_log_level(&process->settings));
    if (!process->resumed) {
        rc = ms_config_json_write(process->dirfd, &process->settings);
        if (rc == 0) {
            ms_collector_print(c, 3, "[msmemscope] Info: Config into file %s/config.json\n", process->path);
        }
    }
    return rc;
}

/* Sizes of the trace files. A ring discards whole segments; so does a process that is not traced yet, or only in some
 * steps. */
static void set_sizes(const struct ms_settings *s, struct ms_writer_options *options)
{
    const char *small = getenv("MSMEMSCOPE_TEST_SEGMENT_B"); /* small segments keep tests fast */
    uint64_t segment_b = s->collect_mode == MS_COLLECT_DEFERRED || s->step_count > 0 ? PIECE_B : SEGMENT_B;
    options->max_b = ms_settings_trace_limit(s);
    options->ring = s->ring;
    options->segment_b = s->ring && options->max_b / RING_PARTS < segment_b ? options->max_b / RING_PARTS : segment_b;
    if (small != NULL) {
        options->segment_b = strtoull(small, NULL, 10);
        options->max_b = options->max_b > 0 ? RING_PARTS * options->segment_b : 0;
    }
}

/* A trace records its own settings. */
void ms_collector_describe(struct ms_recorded *process)
{
    char *text = process->identity.settings;
    if (ms_options_format(&process->settings, text, sizeof(process->identity.settings)) >=
        sizeof(process->identity.settings)) {
        text[0] = '\0';
    }
}

static int open_trace(struct ms_recorded *process)
{
    const struct ms_settings *s = &process->settings;
    struct ms_writer_options options = {.sync_ms = s->sync ? 1000 : 0, .memory = process->in_memory};
    set_sizes(s, &options);
    process->trace_max_b = options.max_b;
    ms_collector_describe(process);
    int rc = ms_writer_open(process->tracefd, &process->identity, &options, &process->writer);
    if (rc != 0) {
        return rc;
    }
    rc = ms_drain_open(process->memfd, process->writer, &process->drain);
    if (rc != 0) {
        ms_writer_close(process->writer, MS_ENDING_OPEN);
        process->writer = NULL;
        return rc;
    }
    if (process->files != NULL) {
        struct ms_drain_observer watch = ms_process_modules_observer(process->files);
        ms_drain_observe(process->drain, &watch);
    }
    return 0;
}

/* MS_PHASE_QUIET -> MS_PHASE_RECORDING */
int ms_collector_begin(struct ms_collector *c, struct ms_recorded *process)
{
    /* With the API, a process leaves no files before its first start(). */
    process->in_memory = (c->session.flags & MS_SESSION_API) != 0 && process->name[0] == '\0';
    int rc = process->in_memory ? 0 : ms_collector_open_directory(c, process);
    if (rc == 0) {
        rc = open_trace(process);
    }
    if (rc == -EALREADY) { /* its trace is complete; its export files may not be */
        __atomic_store_n(&process->closed, 1, __ATOMIC_RELEASE);
        rc = 0;
    }
    if (rc != 0) {
        ms_collector_print(c, 2, "[msmemscope] Error: process %u is not recorded: %s.\n", process->identity.pid,
                           rc == -EPERM || rc == -EPROTO ? "its shared memory is invalid" : strerror(-rc));
        ms_collector_report_phase(c, process, MS_CH_DEAD);
        set_done(c, process);
        return rc;
    }
    ms_collector_close_fd(&process->memfd); /* mapped; nor is the connection needed if there are other signs of life */
    if (process->pidfd >= 0 || process->pid_here != 0) {
        ms_collector_close_fd(&process->connection);
    }
    const struct ms_settings *s = &process->settings;
    bool wanted = s->export_mode != MS_EXPORT_NONE || s->ring || s->c_stack;
    if (!wanted || ms_export_threads_add(&c->export_threads, process) != 0) {
        __atomic_store_n(&process->exported, 1, __ATOMIC_RELEASE);
    }
    process->phase = MS_PHASE_RECORDING;
    if (process->drain != NULL) {
        process->usage = ms_usage_add(process->pid_here);
        ms_sweeper_add(&c->sweeper, process);
    }
    return 0;
}

static struct ms_process_image image_of(const struct ms_process *p)
{
    return (struct ms_process_image){p->pid_namespace, p->start_time, p->pid, p->exec_count};
}

/* True: `new` is a later image of the same process. */
static bool follows(struct ms_process_image old, struct ms_process *new)
{
    struct ms_process_image next = image_of(new);
    bool same = old.pid == next.pid && old.pid_namespace == next.pid_namespace && old.start_time == next.start_time &&
                next.start_time != 0;
    if (same && old.exec_count >= new->exec_count) {
        new->exec_count = old.exec_count + 1;
    }
    return same;
}

/* The same process registered before: it has exec'd another program since. Registrations arrive in order; a short-lived
 * image may by now be known only from `images`. */
static void end_former_image(struct ms_collector *c, struct ms_recorded *process)
{
    for (unsigned i = 0; i < MS_IMAGES_KEPT; i++) {
        follows(c->images[i], &process->identity);
    }
    for (struct ms_recorded *former = c->processes; former != NULL; former = former->next) {
        if (former != process && follows(image_of(&former->identity), &process->identity)) {
            former->dead = true;
        }
    }
}

static void copy_text(char *out, size_t out_b, const char *text, size_t text_b)
{
    size_t n = text_b < out_b - 1 ? text_b : out_b - 1;
    for (size_t i = 0; i < n; i++) {
        out[i] = text[i] != '\0' ? text[i] : ' '; /* arguments are separated by NUL bytes */
    }
    while (n > 0 && out[n - 1] == ' ') {
        n--;
    }
    out[n] = '\0';
}

/* Takes ownership of both descriptors. */
void ms_collector_add(struct ms_collector *c, uint64_t serial, const char *hello_bytes, const char *name, int memfd,
                      int connection)
{
    struct ms_hello hello;
    memcpy(&hello, hello_bytes, sizeof(hello));
    struct ms_recorded *process = calloc(1, sizeof(*process));
    if (process == NULL) {
        ms_collector_print(c, 2, "[msmemscope] Error: process %u is not recorded: %s.\n", hello.pid, strerror(ENOMEM));
        close(memfd);
        close(connection);
        if (c->supervised) {
            ms_channel_send(&c->channel, MS_CH_DEAD, serial, 0, NULL, 0, NULL, 0);
            ms_channel_send(&c->channel, MS_CH_DONE, serial, 0, NULL, 0, NULL, 0);
        }
        return;
    }
    process->collector = c;
    process->serial = serial;
    process->settings = c->settings;
    process->memfd = memfd;
    process->connection = connection;
    process->pidfd = process->dirfd = process->tracefd = -1;
    process->keeps_socket = (hello.head.flags & MS_HELLO_KEEPS_SOCKET) != 0;
    ms_log_init(&process->log, -1, MS_LOG_ERROR);
    uint32_t uid = hello.uid;
    if (connection >= 0) {
        ms_session_peer(connection, &uid, &process->pid_here);
    }
    snprintf(process->name, sizeof(process->name), "%s", ms_project_name_ok(name) ? name : "");

    struct ms_process *who = &process->identity;
    snprintf(who->name, sizeof(who->name), "p%u", hello.pid);
    who->pid = hello.pid;
    who->ppid = hello.ppid;
    who->uid = uid;
    who->pid_namespace = hello.pid_namespace;
    who->offset_ns = c->offset_ns;
    who->start_ns = ms_clock_ns(CLOCK_MONOTONIC) + (uint64_t)c->offset_ns;
    who->clock_kind = hello.clock_kind;
    memcpy(who->boot_id, c->boot_id, sizeof(who->boot_id));
    memcpy(who->host, c->host, sizeof(who->host));
    copy_text(who->exe, sizeof(who->exe), hello_bytes + sizeof(hello), hello.exe_b);
    copy_text(who->command, sizeof(who->command), hello_bytes + sizeof(hello) + hello.exe_b, hello.command_b);

    bool living = ms_liveness_begin(process, hello.start_time);
    process->files = ms_process_modules_new(c->modules, process->pid_here, hello.pid);
    struct ms_recorded **last = &c->processes; /* by registration, as are the directories of one pid */
    while (*last != NULL) {
        last = &(*last)->next;
    }
    *last = process;
    end_former_image(c, process);
    process->dead = !living;
    if (living && process->pidfd >= 0) {
        ms_collector_poll_fd(c, process->pidfd, EPOLLIN, process);
    }
}

/* ---- once per turn: advance every process as far as possible ---- */

static void complain_early_end(struct ms_recorded *process)
{
    uint32_t ending = __atomic_load_n(&process->early_end, __ATOMIC_ACQUIRE);
    if (ending == MS_ENDING_OPEN || process->complained) {
        return;
    }
    process->complained = true;
    if (ending == MS_ENDING_LIMIT) {
        ms_collector_warn(process, MS_LOG_WARN, "the trace in %s has reached its size limit and ends here.",
                          process->path);
    } else {
        ms_collector_warn(process, MS_LOG_ERROR, "the trace in %s can no longer be written: %s.", process->path,
                          strerror(-process->early_error));
    }
}

static void advance(struct ms_collector *c, struct ms_recorded *process)
{
    if (!process->dead && (process->phase == MS_PHASE_QUIET || process->phase == MS_PHASE_RECORDING)) {
        process->dead = ms_liveness_dead(process, __atomic_load_n(&process->records, __ATOMIC_ACQUIRE));
    }
    if (process->phase == MS_PHASE_QUIET) {
        process->quiet_turns++;
        /* In this order: a process publishes before it dies. */
        if (ms_collector_has_published(process)) {
            ms_collector_begin(c, process);
        } else if (process->dead) {
            ms_collector_report_phase(c, process, MS_CH_DEAD);
            set_done(c, process);
        }
    }
    if (process->phase == MS_PHASE_RECORDING) {
        complain_early_end(process);
        if (process->dead || process->drain == NULL) {
            set_ended(c, process);
        }
    }
    if (process->phase == MS_PHASE_ENDED) {
        ms_sweeper_poke(&c->sweeper);
        if (__atomic_load_n(&process->closed, __ATOMIC_ACQUIRE) != 0) {
            complain_early_end(process);
            process->phase = MS_PHASE_CLOSED;
            ms_export_threads_poke(&c->export_threads, process);
        }
    }
    if (process->phase == MS_PHASE_CLOSED && __atomic_load_n(&process->exported, __ATOMIC_ACQUIRE) != 0) {
        set_done(c, process);
    }
}

static void send_progress(struct ms_collector *c)
{
    uint64_t sum = 0, count = 0;
    for (struct ms_recorded *process = c->processes; process != NULL; process = process->next) {
        if (process->phase == MS_PHASE_ENDED || process->phase == MS_PHASE_CLOSED) {
            sum += __atomic_load_n(&process->per_mille, __ATOMIC_ACQUIRE);
            count++;
        }
    }
    if (count > 0 && c->supervised) {
        ms_channel_send(&c->channel, MS_CH_PROGRESS, 0, sum / count, NULL, 0, NULL, 0);
    }
}

int ms_collector_timeout_ms(const struct ms_collector *c)
{
    int ms = -1;
    for (const struct ms_recorded *process = c->processes; process != NULL; process = process->next) {
        bool soon = process->phase == MS_PHASE_ENDED ||
                    (process->phase == MS_PHASE_QUIET && process->quiet_turns < QUIET_TURNS);
        bool later = process->phase == MS_PHASE_QUIET || process->phase == MS_PHASE_CLOSED || process->pidfd < 0;
        int wish = soon ? 10 : later ? 100 : -1;
        ms = wish > 0 && (ms < 0 || wish < ms) ? wish : ms;
    }
    return c->pending != NULL && (ms < 0 || ms > WAITING_MS) ? WAITING_MS : ms;
}

void ms_collector_turn(struct ms_collector *c)
{
    ms_collector_print_queued(c);
    for (struct ms_recorded *process = c->processes; process != NULL; process = process->next) {
        advance(c, process);
    }
    ms_request_turn(c);
    for (struct ms_recorded **link = &c->processes; *link != NULL;) {
        struct ms_recorded *process = *link;
        if (process->phase == MS_PHASE_DONE) {
            *link = process->next;
            c->images[c->image_next++ % MS_IMAGES_KEPT] = image_of(&process->identity);
            ms_request_forget(c, process);
            free_process(process);
        } else {
            link = &process->next;
        }
    }
    send_progress(c);
}
