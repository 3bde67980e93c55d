/* SPDX-License-Identifier: Apache-2.0 */
/* The collecting side: takes published records out of a process's shared memory and passes them to a writer.
 *
 * A sweep reads the clock (T), looks at all streams, copies what is committed, checks the copy, renumbers
 * definitions by content, writes, frees the FULL chunks, and marks in the trace how far the order is final: low =
 * min(T - 1 ms, last committed stamp of every stream that has a record in flight).
 *
 * Shared memory is hostile: only sealed memfds are accepted, nothing is read twice, every index is checked, damage
 * is counted by cause and costs at most the rest of a chunk.
 *
 * Threads: a drain is used by one thread at a time, without synchronisation with the producers. Producers may wait
 * (bounded) for the collector while the application holds any lock, so the collector must never wait for producers. */
#ifndef MS_TRACE_DRAIN_H
#define MS_TRACE_DRAIN_H

#include "trace/clock.h"
#include "trace/shm.h"
#include "trace/event.h"
#include "trace/writer.h"

struct ms_drain;

/* Why something in shared memory was rejected. */
#define MS_DAMAGES(X)                                                                                                  \
    X(HEAD, "a stream head contradicts its chunks")                                                                    \
    X(CHUNK, "a chunk names a stream that does not exist")                                                             \
    X(SEQUENCE, "sequence numbers are missing")                                                                        \
    X(KIND, "unknown kind of record")                                                                                  \
    X(LENGTH, "a record is too short, too long, or ends after the committed bytes")                                    \
    X(STAMP, "a stamp decreases, or is in the future")                                                                 \
    X(REFERENCE, "an undefined id")                                                                                    \
    X(TABLE, "the table of chunks is inconsistent")
enum ms_damage_cause {
#define X(name, text) MS_DAMAGE_##name,
    MS_DAMAGES(X)
#undef X
        MS_DAMAGE_CAUSES
};
const char *ms_damage_text(enum ms_damage_cause cause);

struct ms_drain_stats {
    uint64_t sweeps, records, bytes; /* bytes of records taken out of shared memory */
    uint64_t low_stamp;              /* of the last sweep */
    uint64_t lost[MS_GAP_CAUSES];    /* reported by producers, and found */
    uint64_t damage[MS_DAMAGE_CAUSES];
    uint64_t chunks_in_use, streams; /* now */
    uint64_t backlog;                /* FULL chunks now */
    uint64_t duplicates;             /* skipped after a restart */
};

/* memfd of a process: checked (seals, size, header), mapped, not closed. The writer must outlive the drain. 0 or -errno
 * (-EPERM: not sealed; -EPROTO: not a recorder's memory). */
int ms_drain_open(int memfd, struct ms_writer *writer, struct ms_drain **out);

/* The same for memory mapped in this process: producers and drain as threads of one process (tests, TSan). */
int ms_drain_open_memory(struct ms_shm *shm, size_t size_b, struct ms_writer *writer, struct ms_drain **out);

/* One sweep. Returns the number of records taken, or -errno of the writer (nothing is freed then; try again). */
int64_t ms_drain_sweep(struct ms_drain *drain);

/* The process is dead: takes everything, final at once. Returns the same as ms_drain_sweep. */
int64_t ms_drain_finish(struct ms_drain *drain);

/* A stamp above everything published before this call: stop() waits until stats.low_stamp reaches it. */
uint64_t ms_drain_now(const struct ms_drain *drain);

/* The next sweep writes a mark into the trace even if none is due. */
void ms_drain_mark(struct ms_drain *drain);

/* A record of the collector itself (USAGE, LOG, CONFIG, GAP ...): stamped now, in a stream of its own. tail_b: bytes
 * after the payload. 0 or -errno. */
int ms_drain_record(struct ms_drain *drain, enum ms_record_kind kind, uint32_t arg, const void *payload,
                    size_t payload_b);

/* The collector's words in shared memory: state, masks, depths, limits. Never NULL. */
struct ms_shm *ms_drain_shm(struct ms_drain *drain);

/* Reports the producers' definitions as soon as they are known, once each: files may be gone by the time their names
 * are needed. Called in the draining thread, so it must not block. */
struct ms_drain_observer {
    void (*module)(void *argument, const struct ms_module *module);
    void (*generated)(void *argument, uint64_t pc); /* a frame outside any module; for each new stack */
    void *argument;
};
void ms_drain_observe(struct ms_drain *drain, const struct ms_drain_observer *observer);

void ms_drain_stats(const struct ms_drain *drain, struct ms_drain_stats *out);
void ms_drain_close(struct ms_drain *drain);

/* Sleeps until a producer of one of the drains rings, or for timeout_ms. The usual loop sweeps at once while there is
 * much to do, and sleeps 1, 2, 4 ... 100 ms while there is nothing. */
void ms_drain_sleep(struct ms_drain *const *drains, unsigned count, unsigned timeout_ms);

#endif
