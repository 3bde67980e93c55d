/* SPDX-License-Identifier: Apache-2.0 */
/* The state file: lines of words; a configuration is a length and its bytes.
 *
 *   dynolog-state 1 BOOT-ID
 *   process JOB PID HOST_PID UID START INDEX CLIENT POLLS STAGE COMMAND TRACE_ID COMMANDED DELIVERED DURATION N PID...
 *   trace STATUS CURRENT START STOP AT SINCE ACTIVE
 *   monitor STATUS CURRENT START STOP AT SINCE ACTIVE
 *   pending LENGTH
 *   (LENGTH bytes and a newline)
 *
 * Times are CLOCK_MONOTONIC, which survives the daemon but not a restart of the machine, hence the boot id. Processes
 * outside our pid namespace cannot be recognised again and are not saved.
 * Failure policy: reading stops at the first malformed line; what was read before it is used. */
#include "monitor/daemon/persist.h"

#include "base/macros.h"
#include "monitor/daemon/logger.h"
#include "monitor/daemon/state.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_MAX_B = 64 << 20, LINE_MAX_B = 1024, WORDS_MAX = 40 };

static void boot_id(char out[64])
{
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, out, 63) : 0;
    if (fd >= 0) {
        close(fd);
    }
    out[n > 0 ? n : 0] = '\0';
    out[strcspn(out, "\n ")] = '\0';
    if (out[0] == '\0') {
        memcpy(out, "-", 2);
    }
}

static void put_line(struct ms_buffer *out, const char *format, ...) MS_PRINTF(2, 3);
static void put_line(struct ms_buffer *out, const char *format, ...)
{
    char line[LINE_MAX_B];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    ms_buffer_add(out, line, (size_t)n);
}

static void put_report(struct ms_buffer *out, const char *name, const struct mon_report *report)
{
    if (report->at_ns != 0) {
        put_line(out, "%s %d %d %d %d %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", name, report->status,
                 report->current_step, report->start_step, report->stop_step, report->at_ns, report->since_ns,
                 report->active_ns);
    }
}

static void put_process(struct ms_buffer *out, const struct mon_process *p)
{
    put_line(
        out,
        "process %" PRId64 " %d %d %u %" PRIu64 " %d %d %d %d %d %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %u",
        p->job, p->pid, p->host_pid, p->uid, p->start_ticks, p->index, (int)p->client, (int)p->polls, (int)p->stage,
        (int)p->command, p->trace_id, p->commanded_ns, p->delivered_ns, p->duration_ns, p->pid_count);
    for (unsigned i = 0; i < p->pid_count; i++) {
        put_line(out, " %d", p->pids[i]);
    }
    ms_buffer_char(out, '\n');
    put_report(out, "trace", &p->trace);
    put_report(out, "monitor", &p->monitor);
    if (p->pending != NULL) {
        put_line(out, "pending %zu\n", p->pending_b);
        ms_buffer_add(out, p->pending, p->pending_b);
        ms_buffer_char(out, '\n');
    }
}

void mon_persist_write(const struct mon_registry *registry, const char *boot, struct ms_buffer *out)
{
    put_line(out, "dynolog-state 1 %s\n", boot);
    for (const struct mon_process *p = mon_registry_first(registry); p != NULL; p = mon_registry_next(registry, p)) {
        if (p->host_pid != 0 && p->start_ticks != 0) {
            put_process(out, p);
        }
    }
}

int mon_persist_save(const struct mon_registry *registry, const char *path)
{
    char boot[64], temporary[PATH_MAX];
    struct ms_buffer text = {NULL, 0, 0, false};
    boot_id(boot);
    mon_persist_write(registry, boot, &text);
    if (text.failed || snprintf(temporary, sizeof(temporary), "%s.new", path) >= (int)sizeof(temporary)) {
        ms_buffer_free(&text);
        return text.failed ? -ENOMEM : -ENAMETOOLONG;
    }
    unlink(temporary);
    int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    int result = fd < 0 ? -errno : ms_buffer_write(&text, fd);
    if (fd >= 0) {
        close(fd);
    }
    if (result == 0 && rename(temporary, path) != 0) {
        result = -errno;
    }
    ms_buffer_free(&text);
    return result;
}

/* ---- reading ---- */

struct state_reader {
    struct mon_registry *registry;
    const char *at, *end;
    struct mon_process *process; /* the process the lines belong to; NULL: it has ended, skip them */
    int restored;
};

/* Parses the next number of a line; false if it is missing or out of range. */
static bool take(char **at, int64_t min, uint64_t max, void *out, size_t out_b)
{
    char *end;
    errno = 0;
    bool negative = **at == '-';
    int64_t number = negative ? strtoll(*at, &end, 10) : 0;
    uint64_t magnitude = negative ? 0 : strtoull(*at, &end, 10);
    if (end == *at || errno != 0 || (*end != ' ' && *end != '\0') || (negative ? number < min : magnitude > max)) {
        return false;
    }
    if (negative) {
        magnitude = (uint64_t)number;
    }
    memcpy(out, &magnitude, out_b); /* little-endian hosts only, like the fabric */
    *at = *end == ' ' ? end + 1 : end;
    return true;
}

#define TAKE_I32(at, variable) take(at, INT32_MIN, INT32_MAX, &(variable), 4)
#define TAKE_U64(at, variable) take(at, 0, UINT64_MAX, &(variable), 8)

static bool take_choice(char **at, unsigned count, unsigned *out)
{
    int32_t value;
    if (!TAKE_I32(at, value) || value < 0 || (unsigned)value >= count) {
        return false;
    }
    *out = (unsigned)value;
    return true;
}

static bool read_process(struct state_reader *reader, char *words)
{
    static const struct mon_report none = {
        .status = MON_STATE_UNINITIALIZED, .current_step = -1, .start_step = -1, .stop_step = -1};
    struct mon_process saved = {.trace = none, .monitor = none};
    unsigned client, polls, stage, command;
    bool good = take(&words, INT64_MIN, INT64_MAX, &saved.job, 8) && TAKE_I32(&words, saved.pid) &&
                TAKE_I32(&words, saved.host_pid) && take(&words, 0, UINT32_MAX, &saved.uid, 4) &&
                TAKE_U64(&words, saved.start_ticks) && TAKE_I32(&words, saved.index) &&
                take_choice(&words, MON_CLIENT_NPU_STEPS + 1, &client) && take_choice(&words, 2, &polls) &&
                take_choice(&words, MON_COMMAND_CANCELLED + 1, &stage) &&
                take_choice(&words, MON_REQUEST_NPU_MONITOR + 1, &command) && TAKE_U64(&words, saved.trace_id) &&
                TAKE_U64(&words, saved.commanded_ns) && TAKE_U64(&words, saved.delivered_ns) &&
                TAKE_U64(&words, saved.duration_ns) && take_choice(&words, MON_FABRIC_PIDS_MAX + 1, &saved.pid_count);
    for (unsigned i = 0; good && i < saved.pid_count; i++) {
        good = TAKE_I32(&words, saved.pids[i]);
    }
    if (!good || saved.pid <= 0 || saved.pid_count == 0) {
        return false;
    }
    saved.client = (enum mon_client)client;
    saved.polls = polls != 0;
    /* a pending command is restored only if its text follows */
    saved.stage = stage == MON_COMMAND_PENDING ? MON_COMMAND_CANCELLED : (enum mon_command_stage)stage;
    saved.command = (enum mon_request_kind)command;
    reader->process = mon_registry_restore(reader->registry, &saved);
    reader->restored += reader->process != NULL;
    return true;
}

static bool read_report(struct state_reader *reader, char *words, bool trace)
{
    struct mon_report report;
    if (!(TAKE_I32(&words, report.status) && TAKE_I32(&words, report.current_step) &&
          TAKE_I32(&words, report.start_step) && TAKE_I32(&words, report.stop_step) && TAKE_U64(&words, report.at_ns) &&
          TAKE_U64(&words, report.since_ns) && TAKE_U64(&words, report.active_ns))) {
        return false;
    }
    if (reader->process != NULL) {
        *(trace ? &reader->process->trace : &reader->process->monitor) = report;
    }
    return true;
}

static bool read_pending(struct state_reader *reader, char *words)
{
    uint64_t length;
    if (!TAKE_U64(&words, length) || length > MON_REGISTRY_CONFIG_B + 64 ||
        (size_t)(reader->end - reader->at) < length + 1 || reader->at[length] != '\n') {
        return false;
    }
    struct mon_process *process = reader->process;
    if (process != NULL && process->pending == NULL && (process->pending = malloc(length + 1)) != NULL) {
        memcpy(process->pending, reader->at, length);
        process->pending_b = length;
        process->stage = MON_COMMAND_PENDING;
    }
    reader->at += length + 1;
    return true;
}

/* Copies the next line without its newline; false at the end of the text. */
static bool next_line(struct state_reader *reader, char line[LINE_MAX_B])
{
    const char *end = reader->at < reader->end ? memchr(reader->at, '\n', (size_t)(reader->end - reader->at)) : NULL;
    if (end == NULL || end - reader->at >= LINE_MAX_B) {
        return false;
    }
    memcpy(line, reader->at, (size_t)(end - reader->at));
    line[end - reader->at] = '\0';
    reader->at = end + 1;
    return true;
}

int mon_persist_read(struct mon_registry *registry, const char *boot, const char *text, size_t text_b)
{
    struct state_reader reader = {registry, text, text + text_b, NULL, 0};
    char line[LINE_MAX_B], expected[96];
    snprintf(expected, sizeof(expected), "dynolog-state 1 %s", boot);
    if (!next_line(&reader, line) || strncmp(line, "dynolog-state 1 ", 16) != 0) {
        return -EBADMSG;
    }
    if (strcmp(line, expected) != 0) {
        return 0; /* from before the last boot */
    }
    while (next_line(&reader, line)) {
        char *words = strchr(line, ' ');
        if (words == NULL) {
            break;
        }
        *words++ = '\0';
        bool good = strcmp(line, "process") == 0   ? read_process(&reader, words)
                    : strcmp(line, "trace") == 0   ? read_report(&reader, words, true)
                    : strcmp(line, "monitor") == 0 ? read_report(&reader, words, false)
                    : strcmp(line, "pending") == 0 ? read_pending(&reader, words)
                                                   : false;
        if (!good) {
            break;
        }
    }
    return reader.at == reader.end ? reader.restored : -EBADMSG;
}

int mon_persist_load(struct mon_registry *registry, const char *path)
{
    char boot[64];
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0) {
        return -errno;
    }
    int result = fstat(fd, &st) != 0 ? -errno : 0;
    if (result == 0 && (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 022) != 0)) {
        result = -EPERM; /* another user could have written it */
    }
    if (result == 0 && st.st_size > FILE_MAX_B) {
        result = -EFBIG;
    }
    char *text = result == 0 ? malloc((size_t)st.st_size + 1) : NULL;
    if (text != NULL) {
        ssize_t n = read(fd, text, (size_t)st.st_size);
        boot_id(boot);
        result = n < 0 ? -errno : mon_persist_read(registry, boot, text, (size_t)n);
    } else if (result == 0) {
        result = -ENOMEM;
    }
    free(text);
    close(fd);
    return result;
}
