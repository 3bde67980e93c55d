/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the drain. */
#ifndef MS_TRACE_DRAIN_INTERNAL_H
#define MS_TRACE_DRAIN_INTERNAL_H

#include "trace/codec.h"
#include "trace/drain.h"
#include "trace/writer_internal.h"

#define MS_NO_STREAM UINT32_MAX

/* ---- outgoing: records and definitions become blocks (drain_out.c) ---- */

struct ms_outgoing {
    struct ms_writer *writer;
    struct ms_catalog *catalog;
    uint64_t *damage; /* by enum ms_damage_cause */
    uint8_t *block;   /* runs of the next RECORDS block */
    uint8_t *block_at;
    uint8_t *block_end; /* a record that begins before this fits the block */
    uint32_t runs, records;
    uint64_t first_stamp, last_stamp; /* of the block; first > last: empty */
    bool run_open;
    struct ms_encoder encoder;
    struct ms_blob definitions; /* of the next DEFINITIONS block */
    uint32_t definition_items;
    uint64_t max_stamp; /* of all blocks */
    struct ms_drain_observer observer;
};

int ms__out_init(struct ms_outgoing *out, struct ms_writer *writer, uint64_t *damage);
void ms__out_destroy(struct ms_outgoing *out);

/* A record of a stream, checked except for its ids, in writable memory. */
int ms__out_record(struct ms_outgoing *out, const struct ms_run *where, struct ms_record *record);
/* Ends the run; the next record begins a new one. */
void ms__out_break(struct ms_outgoing *out);
/* Packs pending records and definitions into blocks of the writer. */
int ms__out_flush(struct ms_outgoing *out);
/* Adds a SWEEP block, or a CLOCK block, of which only the anchor is used. */
int ms__out_sweep(struct ms_outgoing *out, enum ms_block_kind kind, const struct ms_sweep *sweep);

/* ---- shared memory (drain_pool.c) ---- */

/* What the drain knows about a chunk, copied when it first saw the chunk with its current owner. */
struct ms_chunk_view {
    uint64_t next_seq; /* of the next record to take */
    uint32_t taken_b;
    uint32_t stream;
    uint32_t tid;
    uint32_t clock_kind;
    bool known;  /* seen since it was last freed */
    bool bad;    /* damaged: nothing more is taken from it */
    bool old;    /* existed when the drain was opened: may repeat records that the trace already has */
    bool waited; /* for an earlier chunk, during one walk */
};

struct ms_drain {
    struct ms_shm *shm;
    size_t size_b;
    int memfd; /* -1: memory of this process */
    struct ms_writer *writer;
    struct ms_outgoing out;
    struct ms_drain_stats stats;

    /* copies of the header, so that they cannot change */
    uint32_t stream_max, chunk_max;
    struct ms_stream_head *heads;
    struct ms_chunk_entry *table;
    struct ms_chunk *chunks;

    struct ms_chunk_view *view;
    struct ms_found *found;
    uint32_t found_count;
    uint32_t *emptied; /* FULL chunks to be freed once everything is written */
    uint32_t emptied_count;
    struct ms_in_flight *in_flight; /* per stream: since when it has been in flight */
    uint64_t allocated_b;           /* of the memfd, ahead of the producers */
    uint64_t *copy;                 /* of one chunk's data */

    uint64_t swept_ns;  /* when the last SWEEP was written */
    uint64_t sweep_low; /* ... and its low */
    struct ms_anchor anchor;
    uint32_t other_clock; /* clock kind that some stream still uses after a change; 0: none */
    bool opened_again;    /* the trace had records when the drain was opened */
    bool first_look_done;
};

/* A chunk with records to take. */
struct ms_found {
    uint64_t first_seq;
    uint32_t stream;
    uint32_t chunk;
};

struct ms_in_flight {
    uint64_t reserved;
    uint64_t since_ns;
};

/* Smallest stamp that may still arrive, according to the stream heads. */
uint64_t ms__pool_low(struct ms_drain *drain, const struct ms_anchor *now);
/* Fills drain->found, in the order in which the chunks must be taken. */
void ms__pool_look(struct ms_drain *drain);
/* Copies committed records that were not taken yet from a chunk; returns their length in bytes. *full: nothing will
 * follow. */
uint32_t ms__pool_copy(struct ms_drain *drain, uint32_t chunk, bool *full);
/* Returns the emptied chunks to the producers and wakes those that wait. */
void ms__pool_free_emptied(struct ms_drain *drain);
/* Allocates memory ahead of the producers. */
void ms__pool_prepare(struct ms_drain *drain);

#endif
