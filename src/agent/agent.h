/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the target process: what the parts of the agent share.
 *
 * The agent is preloaded into any program, may be called before its constructor and after every destructor, from any
 * thread, under any lock and in signal handlers. What a hook can reach keeps to this: no allocation, no lock, no system
 * call, no look-up of symbols, a bounded number of steps, except in the slow paths of recording (new process, new
 * thread, new chunk, new name) and of the first call of a real function. Results and errno of the real functions pass
 * through untouched. Nothing is printed, nothing runs at exit. */
#ifndef MS_AGENT_AGENT_H
#define MS_AGENT_AGENT_H

#include "base/macros.h"
#include "collect/protocol/session.h"
#include "trace/producer.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Reads the session from the environment and sets the recorder up, once. For everything that may run before the
 * constructor. */
void ms_agent_init(void);

/* The session this process belongs to; NULL: none. */
const struct ms_session *ms_agent_session(void);

/* The session's settings were changed: what this process, and those forked from it, need of them. */
void ms_agent_reconfigured(const struct ms_session *changed);

/* For a program that was started without us, and again for what it has loaded since: makes it part of a session (text;
 * NULL: the one that it is part of already, or one of its own) and binds the hooks to everything that is loaded. Takes
 * the loader's lock. Returns how many calls are hooked that were not before, or -errno (-EALREADY: it is part of
 * another session). */
int ms_agent_attach(const char *text);

/* A line for the collector's log. */
void ms_agent_log(const char *text);

/* Called when a process attaches, also a forked one: what was said to the collector before is to be said again. */
void ms_mstx_attached(void);
/* Who is told of marks for the sanitizer; NULL: nobody. */
void ms_mstx_listen(void (*listener)(const char *text, void *stream));
/* PyTorch's pool on the device has reported itself by mstx. */
bool ms_mstx_reports_pta(void);

/* Number of a device in the driver's counting for one in the program's (ASCEND_RT_VISIBLE_DEVICES). */
uint32_t ms_device_of_user(uint32_t user);
/* Device that is current in the calling thread, in the driver's counting; MS_DEV_UNKNOWN: none. */
uint32_t ms_device_current(void);
/* Number of a stream; -1: no stream, or not known. */
int64_t ms_stream_id(void *stream);

/* ---- per-thread state ---- */

/* All the thread-local storage that we take besides the recorder's pointer. */
struct ms_self {
    uint64_t launch_frame : 48; /* frame of the outermost launch hook that this thread is in; 0: none */
    uint64_t suppressed : 14;   /* our own calls into the driver record nothing */
    uint64_t reporting : 1;     /* PyTorch is reporting a CPU tensor that is recorded */
    uint64_t walking : 1;       /* a stack is being walked */
};
extern __thread struct ms_self ms_self __attribute__((tls_model("initial-exec"), visibility("hidden")));

/* ---- recording ---- */

/* What to do with an event that is wanted if one of the bits of `mask` (MS_WANT_*) is: enum ms_trace_state. */
static inline unsigned ms_wanted(uint32_t mask)
{
    const struct ms_shm *shm = ms_rec_session();
    if (MS_UNLIKELY(shm == NULL)) {
        ms_rec_state_slow();
        shm = ms_rec_session();
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

/* The same for what is recorded only while tracing. */
static inline bool ms_tracing(void)
{
    return ms_rec_state() == MS_STATE_ON && ms_self.suppressed == 0;
}

/* Stacks of the caller as the session asks for them: ids in *ids, or NULL for none. caller: where the hook was called
 * from, which helps to recognise a stack. */
const struct ms_stack_ids *ms_stacks_take(struct ms_stack_ids *ids, uint32_t c_depth, uint32_t python_depth,
                                          void *caller);

static inline __attribute__((always_inline)) const struct ms_stack_ids *ms_stacks(unsigned state,
                                                                                  struct ms_stack_ids *ids)
{
    const struct ms_shm *shm = ms_rec_session();
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
    uint64_t stamp = ms_rec_stamp(&slot); /* waits for all that stands before it: so little does */
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
