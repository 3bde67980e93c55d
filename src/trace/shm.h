/* SPDX-License-Identifier: Apache-2.0 */
/* The memory that a recording process shares with its collector: one sparse memfd per process.
 *
 *     header | stream heads | chunk table | chunks
 *
 * A chunk belongs to one stream at a time:  FREE -> OWNED (by a stream) -> FULL -> FREE. Producers take and fill
 * chunks, only the collector frees them. A thread's records are in its chunks in the order of their sequence
 * numbers; the reader determines the order between threads.
 *
 * All of this is written by a process that may be killed at any instruction, and a bug of the program may overwrite
 * it: the collector trusts nothing that it has not checked on a copy, and producers check every index they read
 * here. Atomics are lock-free 32- and 64-bit words, so both sides may be different builds. */
#ifndef MS_TRACE_SHM_H
#define MS_TRACE_SHM_H

#include "trace/wanted.h"

#include <stddef.h>
#include <stdint.h>

#define MS_SHM_MAGIC    0x0031706f6373756eull /* "nuscop1" */
#define MS_SHM_VERSION  1u

#define MS_CHUNK_B      (16u * 1024)
#define MS_CHUNK_HEAD_B 64u
#define MS_CHUNK_DATA_B (MS_CHUNK_B - MS_CHUNK_HEAD_B)
#define MS_STREAMS_MAX  16384u
#define MS_CHUNKS_MAX   65536u

enum ms_trace_state { MS_STATE_OFF = 0, MS_STATE_SHADOW = 1, MS_STATE_ON = 2 };

enum ms_clock_kind { MS_CLOCK_MONOTONIC = 1, MS_CLOCK_TSC = 2, MS_CLOCK_CNTVCT = 3, MS_CLOCK_KINDS = 4 };

/* Losses that no GAP record reports yet. */
struct ms_lost {
    uint64_t since_stamp; /* of the first one; 0: nothing was lost */
    uint64_t records, allocs, frees;
    uint32_t cause; /* of the first one; enum ms_gap_cause */
    uint32_t reserved;
};

/* One per recording thread; heads are pooled and outlive threads. Written by the owner, read by the collector. reserved
 * != committed: a record is between its stamp and its publication. */
struct ms_stream_head {
    uint64_t reserved;   /* records begun: stored before the stamp is taken */
    uint64_t committed;  /* records published: release-stored after everything else of the record */
    uint64_t last_stamp; /* of the last committed record */
    uint32_t tid;        /* owner now; 0: in the pool */
    uint32_t generation; /* counts owners */
    uint32_t chunk;      /* index of the OWNED chunk + 1, 0: none */
    uint32_t clock_kind; /* of the stamps */
    uint64_t unused[3];

    struct ms_lost lost; /* second cache line: only touched when something is lost */
    uint64_t unused2[3];
};

enum ms_chunk_state { MS_CHUNK_FREE = 0, MS_CHUNK_OWNED = 1, MS_CHUNK_FULL = 2, MS_CHUNK_STATE = 3 };

/* Table entry; the low 2 bits of `state` are enum ms_chunk_state, the rest counts changes. */
struct ms_chunk_entry {
    uint32_t state;
    uint32_t next; /* of the free stack: index + 1 */
};

struct ms_chunk {
    uint32_t stream;     /* index of its stream head */
    uint32_t generation; /* of that stream */
    uint64_t first_seq;  /* sequence number of the first record */
    uint32_t tid;        /* of the thread that took it */
    uint32_t clock_kind; /* of its first record, unless that is a CLOCK */
    uint32_t used_b;     /* committed bytes of data; release-stored after each record */
    uint32_t reserved[9];
    unsigned char data[MS_CHUNK_DATA_B];
};

struct ms_shm {
    /* written once, before the collector sees it */
    uint64_t magic;
    uint32_t version;
    uint32_t chunk_b;
    uint32_t stream_max, chunk_max;
    uint64_t streams_off, table_off, chunks_off, size_b;
    uint32_t pid;
    uint32_t reserved;

    /* ---- words of the collector, read by producers (own cache lines) ---- */
    _Alignas(128) uint32_t state; /* enum ms_trace_state */
    uint32_t event_mask;          /* MS_WANT_* */
    uint32_t c_depth, python_depth;
    uint32_t clock_kind;       /* enum ms_clock_kind to stamp with; streams follow at their next chunk */
    uint32_t config_version;   /* changes with the words above */
    uint32_t backlog_max;      /* FULL chunks that make a producer wait */
    uint32_t full_wait_ms;     /* for how long; 0: drop at once */
    uint32_t attached;         /* 1: a collector has mapped this memory */
    uint32_t collector_asleep; /* 1: wake it through `bell` */

    /* ---- words of both ---- */
    _Alignas(128) uint64_t free_top; /* free stack: tag in the upper half, index + 1 in the lower */
    uint32_t fresh;                  /* chunks [fresh, chunk_max) were never used */
    uint32_t full_chunks;            /* FULL now */
    uint32_t streams_used;           /* stream heads ever used */
    uint32_t bell;                   /* futex of the collector */
    uint32_t progress;               /* changes when chunks are freed; futex of producers that wait for space */
    uint32_t waiting;                /* producers in that wait */
    struct ms_lost lost;             /* of threads that have no stream */
    uint64_t lost_total[8];          /* records of all threads by enum ms_gap_cause; never decreases */
};

_Static_assert(sizeof(struct ms_stream_head) == 128, "two cache lines");
_Static_assert(sizeof(struct ms_chunk) == MS_CHUNK_B, "chunk");
_Static_assert(offsetof(struct ms_chunk, data) == MS_CHUNK_HEAD_B, "chunk head");

static inline struct ms_stream_head *ms_shm_stream(const struct ms_shm *shm, uint32_t i)
{
    return (struct ms_stream_head *)(void *)((char *)(uintptr_t)shm + shm->streams_off) + i;
}

static inline struct ms_chunk_entry *ms_shm_entry(const struct ms_shm *shm, uint32_t i)
{
    return (struct ms_chunk_entry *)(void *)((char *)(uintptr_t)shm + shm->table_off) + i;
}

static inline struct ms_chunk *ms_shm_chunk(const struct ms_shm *shm, uint32_t i)
{
    return (struct ms_chunk *)(void *)((char *)(uintptr_t)shm + shm->chunks_off + (uint64_t)i * MS_CHUNK_B);
}

/* Formats fresh zeroed memory of size_b bytes, state OFF; the caller sets the collector's words from the session.
 * Returns the size used (at most size_b), 0 if size_b is too small. */
size_t ms_shm_format(void *memory, size_t size_b, uint32_t pid, uint32_t clock_kind);

/* Smallest and usual size of the memory, in bytes. */
#define MS_SHM_MIN_B   (8u << 20)
#define MS_SHM_USUAL_B (1ull << 30)

/* A sealed memfd of (at most) size_b bytes, formatted and mapped; takes less if RLIMIT_FSIZE or RLIMIT_AS require it.
 * *fd receives the descriptor, which the caller sends to the collector and closes. NULL with errno when not even
 * MS_SHM_MIN_B is available. Raw system calls only, so it can be used in the attach function of a producer. */
struct ms_shm *ms_shm_create(size_t size_b, uint32_t pid, uint32_t clock_kind, int *fd);

#endif
