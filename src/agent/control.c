/* SPDX-License-Identifier: Apache-2.0 */
/* See control.h.
 *
 * An event belongs to an interval by its stamp. start: the collector prepares, the state word is switched, then START
 * is stamped, so everything from START on is recorded in full. stop: the state word is switched, then STOP is stamped;
 * the collector is asked for everything below that stamp, including records of threads that are between stamp and
 * publication.
 *
 * Threads: one call at a time. The agent writes the words in shared memory on the collector's behalf, after it has
 * agreed. */
#include "agent/control.h"

#include "agent/agent.h"
#include "agent/stacks.h"
#include "agent/torch.h"
#include "agent/watch.h"
#include "trace/definitions.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

/* A collector that dies is restarted; requests are retried for about two seconds in all. */
#define ATTEMPTS     12
#define PAUSE_MS     10
#define PAUSE_MAX_MS 250

static pid_t busy; /* pid of the process in a call: after a fork the thread that made it is in the parent */
static uint64_t steps;

static bool enter(void)
{
    pid_t here = getpid(), before = __atomic_load_n(&busy, __ATOMIC_RELAXED);
    return before != here &&
           __atomic_compare_exchange_n(&busy, &before, here, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static int leave(int rc)
{
    __atomic_store_n(&busy, 0, __ATOMIC_RELEASE);
    return rc;
}

static int reply_with(char *why, size_t why_b, int rc, const char *text)
{
    if (why_b > 0) {
        snprintf(why, why_b, "%s", text);
    }
    return rc;
}

/* The memory that this process records into; NULL: none. */
static struct ms_shm *memory(void)
{
    ms_agent_init();
    ms_rec_state();
    struct ms_shm *shm = ms_gate->shm;
    return shm != NULL && shm->magic == MS_SHM_MAGIC ? shm : NULL;
}

static int send_request(enum ms_request_kind kind, uint64_t value, const char *text, char *answer, size_t answer_b)
{
    int rc = ms_session_request(ms_agent_session(), kind, value, text, answer, answer_b);
    int pause_ms = PAUSE_MS;
    for (int i = 1; i < ATTEMPTS && (rc == -EPIPE || rc == -ECONNREFUSED); i++) {
        poll(NULL, 0, pause_ms);
        pause_ms = pause_ms * 2 < PAUSE_MAX_MS ? pause_ms * 2 : PAUSE_MAX_MS;
        rc = ms_session_request(ms_agent_session(), kind, value, text, answer, answer_b);
    }
    return rc;
}

/* Writes a control record; returns its stamp, 0 if it could not be written. */
static uint64_t record(enum ms_record_kind kind, uint32_t arg, const void *payload, size_t payload_b)
{
    struct ms_slot slot;
    void *p = ms_rec_begin(&slot, payload_b, MS_ORDER_PLAIN);
    if (p == NULL) {
        return 0;
    }
    if (payload_b > 0) {
        memcpy(p, payload, payload_b);
    }
    uint64_t stamp = ms_rec_stamp(&slot);
    stamp = stamp < slot.ctx->last_stamp ? slot.ctx->last_stamp : stamp;
    ms_rec_commit(&slot, kind, 0, arg, stamp);
    return stamp;
}

static void set_state(struct ms_shm *shm, enum ms_trace_state state)
{
    __atomic_store_n(&shm->state, (uint32_t)state, __ATOMIC_RELEASE);
    __atomic_fetch_add(&shm->config_version, 1, __ATOMIC_RELEASE);
    ms_torch_update();
}

static int not_recorded(char *why, size_t why_b)
{
    return reply_with(why, why_b, -ENOTCONN, "[msmemscope] Error: no collector records this process.");
}

static int buffers_full(char *why, size_t why_b)
{
    return reply_with(why, why_b, -ENOBUFS, "[msmemscope] Error: cannot record the call: the buffers are full.");
}

/* ---- calls ---- */

static int start(char *why, size_t why_b)
{
    struct ms_shm *shm = memory();
    if (shm == NULL) {
        return not_recorded(why, why_b);
    }
    int rc = send_request(MS_REQUEST_START, 0, NULL, why, why_b);
    if (rc != 0) {
        return rc;
    }
    set_state(shm, MS_STATE_ON);
    return record(MS_R_START, 0, NULL, 0) != 0 ? 0 : buffers_full(why, why_b);
}

static int stop(char *why, size_t why_b)
{
    struct ms_shm *shm = memory();
    if (shm == NULL) {
        return not_recorded(why, why_b);
    }
    uint32_t wanted = __atomic_load_n(&shm->event_mask, __ATOMIC_RELAXED);
    set_state(shm, (wanted & (MS_WANT_ALLOC | MS_WANT_FREE)) != 0 ? MS_STATE_SHADOW : MS_STATE_OFF);
    uint64_t stamp = record(MS_R_STOP, 0, NULL, 0);
    return stamp != 0 ? send_request(MS_REQUEST_STOP, stamp + 1, NULL, why, why_b) : buffers_full(why, why_b);
}

/* A process without events is not queried: that would start recording it. */
static int suspects(char *why, size_t why_b)
{
    if (ms_rec_shm() == NULL) {
        return not_recorded(why, why_b);
    }
    if (__atomic_load_n(&ms_rec_shm()->fresh, __ATOMIC_RELAXED) == 0) {
        return 0; /* nothing was recorded: writing a record would create a directory */
    }
    uint64_t stamp = record(MS_R_STOP, MS_STOP_GOES_ON, NULL, 0);
    return stamp != 0 ? send_request(MS_REQUEST_STOP, stamp + 1, NULL, why, why_b) : buffers_full(why, why_b);
}

/* Applies the parts of a new session string that concern the agent. */
static void use(struct ms_shm *shm, const char *text)
{
    struct ms_session session;
    if (ms_session_parse(text, &session) != 0) {
        return;
    }
    if (session.c_depth > 0) {
        ms_stack_c_load(true, (session.flags & MS_SESSION_FRAME_POINTERS) != 0);
    }
    if (session.python_depth > 0) {
        ms_stack_python_load(true);
    }
    ms_watch_configure(session.watch);
    __atomic_store_n(&shm->event_mask, (uint32_t)session.event_mask, __ATOMIC_RELAXED);
    __atomic_store_n(&shm->c_depth, (uint32_t)session.c_depth, __ATOMIC_RELAXED);
    __atomic_store_n(&shm->python_depth, (uint32_t)session.python_depth, __ATOMIC_RELAXED);
    __atomic_store_n(&shm->full_wait_ms, (uint32_t)session.full_wait_ms, __ATOMIC_RELAXED);
    __atomic_fetch_add(&shm->config_version, 1, __ATOMIC_RELEASE);
    ms_agent_reconfigured(&session);
    ms_torch_update();
}

static int config(const char *lines, char *why, size_t why_b)
{
    static struct {
        struct ms_p_text head;
        char text[MS_REQUEST_TEXT_B];
    } change; /* one call at a time */
    char answer[MS_REQUEST_TEXT_B + 1] = "";
    struct ms_shm *shm = memory();
    size_t length_b = strlen(lines);
    if (shm == NULL) {
        return not_recorded(why, why_b);
    }
    if (length_b > sizeof(change.text)) {
        return reply_with(why, why_b, -E2BIG, "[msmemscope] Error: the configuration is too long.");
    }
    int rc = send_request(MS_REQUEST_CONFIG, 0, lines, answer, sizeof(answer));
    char *warning = strchr(answer, '\n');
    if (rc != 0 || warning == NULL) {
        return reply_with(why, why_b, rc, answer);
    }
    *warning++ = '\0';
    use(shm, answer);
    memset(&change, 0, sizeof(change));
    change.head.text.length_b = (uint32_t)length_b;
    memcpy(change.text, lines, length_b);
    bool written = record(MS_R_CONFIG, 0, &change, sizeof(change.head) + MS_ROUND_UP(length_b, 8)) != 0;
    return written ? reply_with(why, why_b, 0, warning) : buffers_full(why, why_b);
}

static int begin_files(char *why, size_t why_b)
{
    const struct ms_shm *shm = memory();
    if (shm == NULL) {
        return not_recorded(why, why_b);
    }
    bool tracing = __atomic_load_n(&shm->state, __ATOMIC_RELAXED) == MS_STATE_ON;
    return tracing ? 0 : send_request(MS_REQUEST_START, 0, NULL, why, why_b);
}

static int busy_now(char *why, size_t why_b)
{
    return reply_with(why, why_b, -EBUSY,
                      "[msmemscope] Error: another thread is starting, stopping or configuring the recording.");
}

int ms_control_start(char *why, size_t why_b)
{
    reply_with(why, why_b, 0, "");
    return enter() ? leave(start(why, why_b)) : busy_now(why, why_b);
}

int ms_control_stop(char *why, size_t why_b)
{
    reply_with(why, why_b, 0, "");
    return enter() ? leave(stop(why, why_b)) : busy_now(why, why_b);
}

int ms_control_suspects(char *why, size_t why_b)
{
    reply_with(why, why_b, 0, "");
    return enter() ? leave(suspects(why, why_b)) : busy_now(why, why_b);
}

int ms_control_config(const char *lines, char *why, size_t why_b)
{
    reply_with(why, why_b, 0, "");
    return enter() ? leave(config(lines, why, why_b)) : busy_now(why, why_b);
}

int ms_control_begin_files(char *why, size_t why_b)
{
    reply_with(why, why_b, 0, "");
    return enter() ? leave(begin_files(why, why_b)) : busy_now(why, why_b);
}

int ms_control_step(char *why, size_t why_b)
{
    reply_with(why, why_b, 0, "");
    if (memory() == NULL) {
        return not_recorded(why, why_b);
    }
    struct ms_p_number step = {__atomic_add_fetch(&steps, 1, __ATOMIC_RELAXED)};
    return record(MS_R_STEP, 0, &step, sizeof(step)) != 0 ? 0 : buffers_full(why, why_b);
}

int ms_control_output(char *path, size_t path_b)
{
    char answer[MS_REQUEST_TEXT_B + 1] = "";
    if (memory() == NULL) {
        return -ENOTCONN;
    }
    int rc = send_request(MS_REQUEST_INFO, 0, NULL, answer, sizeof(answer));
    char *value = strncmp(answer, "output=", 7) == 0 ? answer + 7 : answer;
    value[strcspn(value, "\n")] = '\0';
    return reply_with(path, path_b, rc, value);
}
