/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the target process: state shared by the parts of the agent.
 *
 * The agent is preloaded into any program; it may be called before its constructor and after every destructor, from any
 * thread, under any lock and in signal handlers. Everything reachable from a hook obeys this: no allocation, no lock,
 * no system call, no symbol lookup, a bounded number of steps, except in the slow paths of recording (new process, new
 * thread, new chunk, new name) and at the first call of a real function. Results and errno of the real functions pass
 * through untouched. Nothing is printed, nothing runs at exit. */
#ifndef MS_AGENT_AGENT_H
#define MS_AGENT_AGENT_H

#include "base/macros.h"
#include "collect/protocol/session.h"
#include "trace/producer.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Reads the session from the environment and sets the recorder up, once. For code that may run before the
 * constructor. */
void ms_agent_init(void);

/* The session of this process; NULL: none. */
const struct ms_session *ms_agent_session(void);

/* Applies changed session settings to this process and to those forked from it. */
void ms_agent_reconfigured(const struct ms_session *changed);

/* For a program that was started without the agent, and again for libraries loaded since: joins a session (text; NULL:
 * the current one, or one of its own) and binds the hooks to everything loaded. Takes the loader's lock. Returns the
 * number of calls newly hooked, or -errno (-EALREADY: it belongs to another session). */
int ms_agent_attach(const char *text);

/* Writes a line to the collector's log. */
void ms_agent_log(const char *text);

/* Called when a process attaches, also after fork: state that was reported to the collector must be reported again. */
void ms_mstx_attached(void);
/* Sets the listener for sanitizer marks; NULL: none. */
void ms_mstx_listen(void (*listener)(const char *text, void *stream));
/* PyTorch's device pool reports itself through mstx. */
bool ms_mstx_reports_pta(void);

/* Driver's number of a device from the program's number (ASCEND_RT_VISIBLE_DEVICES). */
uint32_t ms_device_of_user(uint32_t user);
/* The calling thread's current device, in driver numbering; MS_DEV_UNKNOWN: none. */
uint32_t ms_device_current(void);
/* Id of a stream; -1: no stream, or unknown. */
int64_t ms_stream_id(void *stream);

/* ---- per-thread state ---- */

/* All thread-local storage that the agent uses besides the recorder's pointer. */
struct ms_self {
    uint64_t launch_frame : 48; /* frame of the outermost launch hook on this thread's stack; 0: none */
    uint64_t suppressed : 11;   /* nesting depth; the agent's own calls into the driver record nothing */
    uint64_t numbers : 3;       /* see numbers.h */
    uint64_t reporting : 1;     /* PyTorch is reporting a CPU tensor that is recorded */
    uint64_t walking : 1;       /* a stack is being walked */
};
extern __thread struct ms_self ms_self __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* ---- recording ---- */

/* The state (enum ms_trace_state) that applies to an event requested by any of the bits of `mask` (MS_WANT_*). */
static inline unsigned ms_wanted(uint32_t mask)
{
    const struct ms_shm *shm = ms_rec_shm();
    if (MS_UNLIKELY(shm == NULL)) {
        ms_rec_state_slow();
        shm = ms_rec_shm();
        if (shm == NULL) {
            return MS_STATE_OFF;
        }
    }
    unsigned state = __atomic_load_n(&shm->state, __ATOMIC_RELAXED);
    if (MS_LIKELY(state == MS_STATE_OFF)) {
        return MS_STATE_OFF;
    }
    bool wanted = (__atomic_load_n(&shm->event_mask, __ATOMIC_RELAXED) & mask) != 0 && ms_self.suppressed == 0;
    return wanted ? state : (unsigned)MS_STATE_OFF;
}

/* The same for events that are recorded only while tracing. */
static inline bool ms_tracing(void)
{
    return ms_rec_state() == MS_STATE_ON && ms_self.suppressed == 0;
}

/* Stacks of the caller as the session requests them: ids in *ids, or NULL if none. caller: the hook's return address,
 * which helps to recognise a stack. */
const struct ms_stack_ids *ms_stacks_take(struct ms_stack_ids *ids, uint32_t c_depth, uint32_t python_depth,
                                          void *caller);

static inline __attribute__((always_inline)) const struct ms_stack_ids *ms_stacks(unsigned state,
                                                                                  struct ms_stack_ids *ids)
{
    const struct ms_shm *shm = ms_rec_shm();
    uint32_t c_depth = __atomic_load_n(&shm->c_depth, __ATOMIC_RELAXED);
    uint32_t python_depth = __atomic_load_n(&shm->python_depth, __ATOMIC_RELAXED);
    if (MS_LIKELY((c_depth | python_depth) == 0) || state != MS_STATE_ON) {
        return NULL;
    }
    return ms_stacks_take(ids, c_depth, python_depth, __builtin_return_address(0));
}

/* Order and payload of each kind, from the table of records. */
enum {
#define X(number, name, payload, order, arg, meaning) MS_ORDER_OF_##name = MS_ORDER_##order,
    MS_RECORDS(X)
#undef X
};
#define X(number, name, payload, order, arg, meaning) typedef struct ms_p_##payload ms_payload_##name;
MS_RECORDS(X)
#undef X

static inline __attribute__((always_inline)) bool ms_record_put(enum ms_record_kind kind, unsigned order,
                                                                unsigned state, uint32_t arg,
                                                                const struct ms_stack_ids *stacks, const void *payload,
                                                                size_t payload_b)
{
    struct ms_slot slot;
    char *p = ms_rec_begin(&slot, payload_b + (stacks != NULL ? sizeof(*stacks) : 0), order);
    if (MS_UNLIKELY(p == NULL)) {
        return false;
    }
    uint64_t stamp = ms_rec_stamp(&slot); /* serialising read; keep little work before it */
    memcpy(p, payload, payload_b);
    uint8_t flags = ms_rec_flags(state);
    if (MS_UNLIKELY(stacks != NULL)) {
        memcpy(p + payload_b, stacks, sizeof(*stacks));
        flags |= MS_RECORD_STACKS;
    }
    ms_rec_commit(&slot, kind, flags, arg, stamp);
    return true;
}

/* Records an event of fixed size: MS_RECORD(HAL_FREE, state, arg, stacks, .addr = ...). False: lost, and counted. */
#define MS_RECORD(name, state, arg, stacks, ...)                                                                       \
    __extension__({                                                                                                    \
        const ms_payload_##name payload_ = {__VA_ARGS__};                                                              \
        ms_record_put(MS_R_##name, MS_ORDER_OF_##name, (state), (arg), (stacks), &payload_, sizeof(payload_));         \
    })

#endif
