/* SPDX-License-Identifier: Apache-2.0 */
/* The events that can be requested (--events) and the analyses that run while recording (--analysis): words, bits,
 * and the events that each of them needs. Parser, formatter, help, model, agent, session string and the Python API
 * all use these tables. The bits are part of config.json, of the session string and of shared memory: they never
 * change. */
#ifndef MS_TRACE_WANTED_H
#define MS_TRACE_WANTED_H

#include <stdint.h>

/* X(NAME, word, bit, events that it implies) */
#define MS_WANTED_EVENTS(X)                                                                                            \
    X(ALLOC, "alloc", 1, MS_WANT_FREE)                                                                                 \
    X(FREE, "free", 2, MS_WANT_ALLOC)                                                                                  \
    X(LAUNCH, "launch", 4, 0)                                                                                          \
    X(ACCESS, "access", 8, MS_WANT_ALLOC | MS_WANT_FREE)                                                               \
    X(TRACEBACK, "traceback", 16, 0)

/* X(NAME, word, bit, events that it needs, argument as help shows it) */
#define MS_ANALYSES(X)                                                                                                 \
    X(LEAKS, "leaks", 1, MS_WANT_ALLOC | MS_WANT_FREE, "")                                                             \
    X(DECOMPOSE, "decompose", 2, MS_WANT_ALLOC | MS_WANT_FREE | MS_WANT_ACCESS, "")                                    \
    X(INEFFICIENT, "inefficient", 4, MS_WANT_ALLOC | MS_WANT_FREE | MS_WANT_ACCESS | MS_WANT_LAUNCH, "")               \
    X(OOM, "oom", 8, MS_WANT_ALLOC | MS_WANT_FREE, "[:K]")

/* The analyses in the order in which they receive events and write their reports: ms_<name>_analysis in
 * memscope/analyze. Several may run for one word of --analysis; watch depends on --watch and on the program. */
#define MS_ANALYSIS_ORDER(X) X(inefficient_online) X(watch) X(oom) X(leaks) X(fluctuation)

enum {
#define X(NAME, word, bit, implied) MS_WANT_##NAME = bit,
    MS_WANTED_EVENTS(X)
#undef X
};

/* The other bits of event_mask. */
enum {
    MS_WANT_KERNEL = 32, /* level kernel */
    MS_WANT_OP = 64,     /* level op */
    MS_WANT_CPU = 128,   /* CPU tensors (device cpu); NPU events are recorded for all devices, wanted or not */
};

enum {
#define X(NAME, word, bit, needed, argument) MS_ANALYSIS_##NAME = bit,
    MS_ANALYSES(X)
#undef X
};

/* The events that must be collected for `events` and the analyses; they are also written, unless --events-only is
 * set. */
static inline uint32_t ms_events_implied(uint32_t events, uint32_t analysis)
{
#define X(NAME, word, bit, needed, argument) events |= (analysis & (bit)) != 0 ? (needed) : 0u;
    MS_ANALYSES(X)
#undef X
#define X(NAME, word, bit, implied) events |= (events & (bit)) != 0 ? (implied) : 0u;
    MS_WANTED_EVENTS(X)
#undef X
    return events;
}

#endif
