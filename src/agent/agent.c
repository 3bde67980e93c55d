/* SPDX-License-Identifier: Apache-2.0 */
/* Lifecycle of the agent in a process: set up once, attached at the first event to be recorded.
 *
 * Set-up reads the session string and resolves the real functions of loaded libraries, nothing else; a process without
 * events costs its collector nothing. Attaching creates the shared memory, sends it to the collector in one message,
 * and waits for nothing: the collector may read it after this process is gone. No descriptor stays open. A forked child
 * attaches again.
 *
 * Threads: several may enter set-up at once (constructor, early hooks); one does it, the others go unrecorded until it
 * is done. Attaching runs under the recorder's lock with signals blocked, using raw system calls.
 * Failure policy: a process preloaded without a session, or whose collector is gone, starts its own collector; if that
 * fails, it does not record. */
#include "agent/glibc_floor.h"
#include "agent/agent.h"

#include "agent/got.h"
#include "agent/hooks.h"
#include "agent/kernel.h"
#include "agent/own_collector.h"
#include "agent/python_trace.h"
#include "agent/stacks.h"
#include "agent/watch.h"
#include "trace/definitions.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

__thread struct ms_self ms_self;

static struct ms_session session;
static bool have_session;

const struct ms_session *ms_agent_session(void)
{
    return have_session ? &session : NULL;
}

void ms_agent_reconfigured(const struct ms_session *changed)
{
    const uint64_t role = MS_SESSION_API | MS_SESSION_CONTROL;
    session.event_mask = changed->event_mask;
    session.c_depth = changed->c_depth;
    session.python_depth = changed->python_depth;
    session.full_wait_ms = changed->full_wait_ms;
    session.analysis = changed->analysis;
    session.npu_mask = changed->npu_mask;
    session.flags = (session.flags & role) | (changed->flags & ~role);
    memcpy(session.watch, changed->watch, sizeof(session.watch));
}

void ms_agent_log(const char *text)
{
    struct ms_texts line = {0};
    struct ms_slot slot;
    ms_texts_add(&line, text, strlen(text), false);
    struct ms_p_text *p = ms_rec_begin(&slot, sizeof(*p) + ms_texts_tail_b(&line), MS_ORDER_PLAIN);
    if (p != NULL) {
        p->text = line.ref[0];
        ms_texts_put(&line, p + 1);
        ms_rec_commit(&slot, MS_R_LOG, line.flags, 0, ms_rec_stamp(&slot));
    }
}

/* ---- attaching ---- */

/* Registers with the collector or, if there is none (any more), starts our own, as the session describes it. */
static int registered(int memfd, size_t size_b)
{
    int rc = session.socket[0] != '\0' ? ms_session_register(&session, memfd, size_b, (uint32_t)session.clock_kind)
                                       : -ECONNREFUSED;
    bool alone = rc == -ECONNREFUSED || rc == -ENOENT;
    if (!alone || (session.output[0] == '\0' && (session.flags & MS_SESSION_API) == 0)) {
        return rc;
    }
    rc = ms_own_collector_start(&session);
    return rc != 0 ? rc : ms_session_register(&session, memfd, size_b, (uint32_t)session.clock_kind);
}

static struct ms_shm *attach(void)
{
    int memfd = -1;
    uint32_t pid = (uint32_t)syscall(SYS_getpid);
    if (session.only_pid != 0 && session.only_pid != pid) {
        return NULL;
    }
    struct ms_shm *shm = ms_shm_create((size_t)session.memory_mb << 20, pid, (uint32_t)session.clock_kind, &memfd);
    if (shm == NULL) {
        return NULL;
    }
    shm->state = (uint32_t)session.state;
    shm->event_mask = (uint32_t)session.event_mask;
    shm->c_depth = (uint32_t)session.c_depth;
    shm->python_depth = (uint32_t)session.python_depth;
    shm->backlog_max = (uint32_t)session.backlog_max;
    shm->full_wait_ms = (uint32_t)session.full_wait_ms;
    size_t size_b = shm->size_b;
    int failed = registered(memfd, size_b);
    syscall(SYS_close, memfd);
    if (failed) {
        munmap(shm, size_b);
        return NULL;
    }
    ms_mstx_attached();
    ms_kernel_attached();
    ms_watch_attached();
    return shm;
}

/* ---- set-up ---- */

/* Preloaded by hand: allocations are recorded from the first event on, so that start() knows them; no file is
 * created. */
static void begin_alone(void)
{
    ms_session_init(&session);
    session.state = MS_STATE_SHADOW;
    session.flags = MS_SESSION_API;
    have_session = true;
}

void ms_agent_init(void)
{
    static unsigned started;
    if (__atomic_load_n(&started, __ATOMIC_ACQUIRE) != 0 || __atomic_exchange_n(&started, 1, __ATOMIC_ACQ_REL) != 0) {
        return;
    }
    int error = errno;
    /* Without a valid session there is nothing to attach to: the recorder's closed gate returns OFF permanently. The
     * same holds for a process on an old system that has neither libdl nor libpthread. */
    const char *text = getenv(MS_SESSION_ENV), *shadow = getenv("MSMEMSCOPE_SHADOW");
    have_session = ms_session_parse(text, &session) == 0;
    if (text == NULL && (shadow == NULL || strcmp(shadow, "0") != 0)) {
        begin_alone();
    }
    if (have_session) {
        ms_watch_configure(session.watch);
    }
    if (have_session && pthread_key_create != NULL) {
        ms_producer_setup(attach); /* also if the session is off: start() may switch it on */
    }
    errno = error;
}

/* Lets an OOM record carry a stack, even if stacks are off otherwise. */
static void load_stacks(bool late)
{
    ms_stack_c_load(session.c_depth > 0, (session.flags & MS_SESSION_FRAME_POINTERS) != 0);
    ms_stack_python_load(late);
}

int ms_agent_attach(const char *text)
{
    struct ms_session new;
    struct ms_got_result got;
    ms_agent_init();
    bool elsewhere = have_session && session.socket[0] != '\0';
    if (text != NULL && elsewhere) {
        return -EALREADY;
    }
    if (text != NULL || !have_session) {
        if (text == NULL || pthread_key_create == NULL || ms_session_parse(text, &new) != 0) {
            return -EINVAL;
        }
        session = new;
        have_session = true;
        ms_watch_configure(session.watch);
        int rc = ms_producer_setup(attach);
        if (rc != 0) {
            return rc;
        }
    }
    load_stacks(true);
    ms_got_bind(&got);
    if (got.refused > 0) {
        ms_agent_log("some driver calls are not recorded: the program's GOT pages cannot be made writable");
    }
    return (int)got.bound;
}

static __attribute__((constructor)) void agent_loaded(int argc, char **argv)
{
    ms_session_own_arguments(argc, argv);
    ms_agent_init();
    ms_own_collector_find();
    ms_resolve_loaded(false);
    if (have_session) {
        load_stacks(false);
    }
    if (have_session && (session.event_mask & MS_WANT_TRACEBACK) != 0) {
        ms_python_trace_await();
    }
    if (have_session && (session.flags & MS_SESSION_CONTROL) != 0) {
        ms_rec_state(); /* attaches: recording may be switched on later */
    }
}
