/* SPDX-License-Identifier: Apache-2.0 */
/* Requests from API calls. Those that must wait (START, STOP, STEP) are kept in a list that is checked every turn.
 * While one waits and there is progress, its client gets a keep-alive reply every second, so that it can tell slow from
 * stuck. */
#include "collect/collector.h"
#include "memscope/options/options.h"

#include "base/clock.h"
#include "base/macros.h"
#include "collect/supervise/output.h"
#include "collect/supervise/session_settings.h"
#include "memscope/export/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define KEEP_ALIVE_NS 1000000000ull

struct ms_pending_request {
    struct ms_pending_request *next;
    struct ms_recorded *process;
    int connection;
    uint32_t kind;
    uint64_t stamp;
    uint64_t reported_ns;
    uint64_t reported_events, reported_records;
};

static bool answer(int connection, int status, const char *text)
{
    size_t text_b = strlen(text);
    text_b = text_b < MS_REQUEST_TEXT_B ? text_b : MS_REQUEST_TEXT_B; /* a path may be longer */
    struct ms_reply reply = {.head = ms_message_head(MS_MESSAGE_REPLY, sizeof(reply) + text_b, 0),
                             .status = status,
                             .text_b = (uint32_t)text_b};
    struct iovec parts[2] = {{&reply, sizeof(reply)}, {(void *)(uintptr_t)text, text_b}};
    struct msghdr header = {.msg_iov = parts, .msg_iovlen = 2};
    return sendmsg(connection, &header, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0;
}

static void answer_with_file(int connection, int file)
{
    struct ms_reply reply = {.head = ms_message_head(MS_MESSAGE_REPLY, sizeof(reply), 0)};
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    memset(&control, 0, sizeof(control));
    struct iovec part = {&reply, sizeof(reply)};
    struct msghdr header = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
    control.head.cmsg_level = SOL_SOCKET;
    control.head.cmsg_type = SCM_RIGHTS;
    control.head.cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(&control.head), &file, sizeof(file));
    sendmsg(connection, &header, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void answer_and_close(int connection, int status, const char *text)
{
    answer(connection, status, text);
    close(connection);
}

/* The newest image of the calling process. */
static struct ms_recorded *find(struct ms_collector *c, uint32_t pid, uint32_t pid_here)
{
    struct ms_recorded *found = NULL;
    for (struct ms_recorded *process = c->processes; process != NULL; process = process->next) {
        bool same = process->identity.pid == pid && (pid_here == 0 || process->pid_here == pid_here);
        if (same && (process->phase == MS_PHASE_QUIET || process->phase == MS_PHASE_RECORDING) &&
            (found == NULL || process->serial > found->serial)) {
            found = process;
        }
    }
    return found;
}

/* Checked now rather than at the first file, so that config() reports an unusable directory immediately. */
static int check_output(const char *path, struct ms_why *why)
{
    bool is_new;
    int output = ms_output_open(path, &is_new);
    if (output < 0) {
        ms_refuse(why, "cannot write to %s: %s.", path, strerror(-output));
        return -EINVAL;
    }
    close(output);
    return 0;
}

static int change_settings(struct ms_collector *c, struct ms_recorded *process, const char *text, struct ms_why *why)
{
    struct ms_settings new = process->settings;
    int rc = ms_options_apply_text(&new, text, why);
    if (rc != 0) {
        return rc;
    }
    bool moved = strcmp(new.output, process->settings.output) != 0;
    if (process->in_memory || (process->phase == MS_PHASE_QUIET && (c->session.flags & MS_SESSION_API) != 0)) {
        rc = moved ? check_output(new.output, why) : 0; /* no file exists yet */
        process->settings = rc == 0 ? new : process->settings;
        return rc;
    }
    if (process->phase != MS_PHASE_QUIET && (moved || new.format != process->settings.format)) {
        ms_refuse(why, "output and data-format cannot be changed once recording has begun.");
        return -EBUSY;
    }
    if (moved) {
        ms_refuse(why, "the output directory is set by the session: %s.", process->settings.output);
        return -EBUSY;
    }
    process->settings = new;
    return process->phase == MS_PHASE_QUIET ? 0 : ms_config_json_write(process->dirfd, &process->settings);
}

static void wait_for(struct ms_collector *c, struct ms_recorded *process, const struct ms_request *request,
                     int connection)
{
    struct ms_pending_request *pending = calloc(1, sizeof(*pending));
    if (pending == NULL) {
        answer_and_close(connection, -ENOMEM, "");
        return;
    }
    *pending = (struct ms_pending_request){.next = c->pending,
                                           .process = process,
                                           .connection = connection,
                                           .kind = request->kind,
                                           .stamp = request->value,
                                           .reported_ns = ms_clock_raw_ns()};
    c->pending = pending;
    ms_export_threads_poke(&c->export_threads, process);
    ms_sweeper_poke(&c->sweeper);
}

/* Moves a recording from memory to files. The reply is sent once a checkpoint makes the files readable on their own. */
static int leave_memory(struct ms_collector *c, struct ms_recorded *process)
{
    int rc = ms_collector_open_directory(c, process);
    if (rc == 0) {
        ms_collector_describe(process);
        process->in_memory = false;
        __atomic_store_n(&process->to_files, 1, __ATOMIC_RELEASE);
    }
    return rc;
}

static void start(struct ms_collector *c, struct ms_recorded *process, const struct ms_request *request, int connection)
{
    int rc = process->phase == MS_PHASE_QUIET ? ms_collector_begin(c, process) : 0;
    if (rc == 0 && process->in_memory) {
        rc = leave_memory(c, process);
        if (rc == 0) {
            wait_for(c, process, request, connection);
            return;
        }
    } else if (rc == 0) {
        rc = ms_config_json_write(process->dirfd, &process->settings);
    }
    const char *output = process->settings.output;
    char text[sizeof(process->path) + 256] = "";
    if (rc != 0) {
        snprintf(text, sizeof(text), "[msmemscope] Error: cannot write to %s: %s.",
                 *output != '\0' ? output : "the working directory, which was deleted", strerror(-rc));
    }
    answer_and_close(connection, rc, text);
}

static void configure(struct ms_collector *c, struct ms_recorded *process, const char *lines, int connection)
{
    struct ms_why why = {"", ""};
    char text[MS_REQUEST_TEXT_B];
    /* Records published earlier belong to the earlier settings. */
    int rc =
        process->phase == MS_PHASE_QUIET && ms_collector_has_published(process) ? ms_collector_begin(c, process) : 0;
    rc = rc != 0 ? rc : change_settings(c, process, lines, &why);
    if (rc != 0) {
        answer_and_close(connection, rc, why.error);
        return;
    }
    struct ms_session session = c->session;
    ms_settings_to_session(&process->settings, &session);
    size_t length_b = ms_session_format(&session, text, sizeof(text));
    snprintf(text + length_b, length_b < sizeof(text) ? sizeof(text) - length_b : 0, "\n%s", why.warning);
    answer_and_close(connection, length_b < sizeof(text) ? 0 : -E2BIG, length_b < sizeof(text) ? text : "");
}

/* The target chooses the file name; the collector chooses the directory. */
static int open_watch_file(struct ms_recorded *process, uint64_t device, const char *name)
{
    char path[64];
    if (name[0] == '\0' || name[0] == '.' || strchr(name, '/') != NULL || strlen(name) > 255) {
        return -EINVAL;
    }
    int rc = ms_watch_directory(process->dirfd, (uint32_t)device, path, sizeof(path), NULL);
    int dir = rc == 0 ? openat(process->dirfd, path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : rc;
    if (dir < 0) {
        return rc != 0 ? rc : -errno;
    }
    int file = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    rc = file >= 0 ? file : -errno;
    close(dir);
    return rc;
}

static void give_watch_file(struct ms_collector *c, struct ms_recorded *process, const struct ms_request *request,
                            const char *name, int connection)
{
    int rc = process->phase == MS_PHASE_QUIET ? ms_collector_begin(c, process) : 0;
    rc = rc == 0 && process->in_memory ? -ENOENT : rc;
    int file = rc == 0 ? open_watch_file(process, request->value, name) : rc;
    if (file < 0) {
        answer_and_close(connection, file, "");
        return;
    }
    answer_with_file(connection, file);
    close(file);
    close(connection);
}

void ms_request_take(struct ms_collector *c, const struct ms_request *request, const char *text, int connection)
{
    char copy[MS_REQUEST_TEXT_B + 1];
    size_t text_b = request->text_b < sizeof(copy) ? request->text_b : sizeof(copy) - 1;
    memcpy(copy, text, text_b);
    copy[text_b] = '\0';
    uint32_t uid, pid_here = 0;
    ms_session_peer(connection, &uid, &pid_here);
    struct ms_recorded *process = find(c, request->pid, pid_here);
    if (process == NULL) {
        answer_and_close(connection, -ESRCH, "[msmemscope] Error: this process is not recorded.");
        return;
    }
    char info[sizeof(process->path) + 64];
    switch (request->kind) {
    case MS_REQUEST_START:
        start(c, process, request, connection);
        break;
    case MS_REQUEST_CONFIG:
        configure(c, process, copy, connection);
        break;
    case MS_REQUEST_INFO:
        snprintf(info, sizeof(info), "output=%s\n",
                 process->phase == MS_PHASE_QUIET || process->in_memory ? process->settings.output : process->path);
        answer_and_close(connection, 0, info);
        break;
    case MS_REQUEST_WATCH:
        give_watch_file(c, process, request, copy, connection);
        break;
    case MS_REQUEST_STOP:
    case MS_REQUEST_STEP:
        wait_for(c, process, request, connection);
        break;
    default:
        answer_and_close(connection, -EOPNOTSUPP, "[msmemscope] Error: unknown request.");
        break;
    }
}

/* Is everything before the request's stamp where it must be? */
static bool fulfilled(const struct ms_pending_request *pending)
{
    struct ms_recorded *process = pending->process;
    if (process->phase == MS_PHASE_QUIET) {
        return false; /* a record was written before the request: it will be found */
    }
    if (pending->kind == MS_REQUEST_START) {
        return __atomic_load_n(&process->reclaim.covered, __ATOMIC_ACQUIRE) > 0 ||
               __atomic_load_n(&process->exported, __ATOMIC_ACQUIRE) != 0 ||
               (__atomic_load_n(&process->to_files, __ATOMIC_ACQUIRE) == 2 && process->move_error != 0);
    }
    if (__atomic_load_n(&process->low_stamp, __ATOMIC_ACQUIRE) < pending->stamp) {
        return false;
    }
    return pending->kind == MS_REQUEST_STEP || process->settings.export_mode != MS_EXPORT_LIVE ||
           __atomic_load_n(&process->exported, __ATOMIC_ACQUIRE) != 0 ||
           __atomic_load_n(&process->exported_stamp, __ATOMIC_ACQUIRE) >= pending->stamp;
}

/* False: the client is gone. */
static bool send_keep_alive(struct ms_pending_request *pending)
{
    uint64_t now_ns = ms_clock_raw_ns();
    uint64_t events = __atomic_load_n(&pending->process->exported_events, __ATOMIC_ACQUIRE);
    uint64_t records = __atomic_load_n(&pending->process->records, __ATOMIC_ACQUIRE);
    bool moved = events != pending->reported_events || records != pending->reported_records;
    if (!moved || now_ns - pending->reported_ns < KEEP_ALIVE_NS) {
        return true;
    }
    pending->reported_ns = now_ns;
    pending->reported_events = events;
    pending->reported_records = records;
    return answer(pending->connection, EINPROGRESS, "");
}

/* Result of a fulfilled request: 0 or -errno, and the text of the reply. */
static int outcome(const struct ms_pending_request *pending, char *text, size_t text_b)
{
    const struct ms_recorded *process = pending->process;
    text[0] = '\0';
    if (pending->kind == MS_REQUEST_START && process->move_error != 0) {
        snprintf(text, text_b, "[msmemscope] Error: cannot write the trace.");
        return process->move_error;
    }
    if (pending->kind != MS_REQUEST_STOP) {
        return 0;
    }
    int error = __atomic_load_n(&process->export_error, __ATOMIC_ACQUIRE);
    if (error == 0 && __atomic_load_n(&process->early_end, __ATOMIC_ACQUIRE) != MS_ENDING_OPEN) {
        error = process->early_error;
    }
    if (error != 0) {
        snprintf(text, text_b, "[msmemscope] Error: results in %s are incomplete: %s.", process->path,
                 strerror(-error));
    } else {
        snprintf(text, text_b, "%s", process->suspects);
    }
    return error;
}

void ms_request_turn(struct ms_collector *c)
{
    char text[sizeof(c->pending->process->path) + 256];
    _Static_assert(sizeof(text) >= MS_SUSPECTS_B, "the reply to STOP holds them");
    for (struct ms_pending_request **link = &c->pending; *link != NULL;) {
        struct ms_pending_request *pending = *link;
        bool done = fulfilled(pending);
        if (done) {
            int rc = outcome(pending, text, sizeof(text));
            answer(pending->connection, rc, text);
        } else if (pending->process->phase == MS_PHASE_RECORDING) { /* an earlier wake-up may have come too soon */
            ms_sweeper_poke(&c->sweeper);
            if (pending->kind != MS_REQUEST_STEP) {
                ms_export_threads_poke(&c->export_threads, pending->process);
            }
        }
        if (done || !send_keep_alive(pending)) {
            *link = pending->next;
            close(pending->connection);
            free(pending);
        } else {
            link = &pending->next;
        }
    }
}

void ms_request_forget(struct ms_collector *c, struct ms_recorded *process)
{
    for (struct ms_pending_request **link = &c->pending; *link != NULL;) {
        struct ms_pending_request *pending = *link;
        if (pending->process == process) {
            *link = pending->next;
            answer_and_close(pending->connection, 0, "");
            free(pending);
        } else {
            link = &pending->next;
        }
    }
}
