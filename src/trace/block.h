/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks: segment and aux files are sequences of them, each beginning at a multiple of 8 bytes.
 *
 * A block can be checked and skipped by itself; unknown kinds are skipped. Layout: docs/format/trace.md. */
#ifndef MS_TRACE_BLOCK_H
#define MS_TRACE_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MS_BLOCK_MAGIC   0x4254534du /* "MSTB" */
#define MS_BLOCK_VERSION 1u
#define MS_BLOCK_RAW_B   (256u << 10) /* target size of a block */
#define MS_BLOCK_MAX_B   (64u << 20)  /* raw; only checkpoints come close */
#define MS_BLOCK_SLACK_B 128u         /* memory for content must be longer by this: decoders read ahead */

enum ms_block_kind {
    MS_BLOCK_PROCESS = 1,     /* first of each segment */
    MS_BLOCK_STREAMS = 2,     /* second: position and ids of each stream */
    MS_BLOCK_DEFINITIONS = 3, /* before the records that use them */
    MS_BLOCK_RECORDS = 4,
    MS_BLOCK_SWEEP = 5,
    MS_BLOCK_CLOCK = 6,
    MS_BLOCK_END = 7,
    MS_BLOCK_CHECKPOINT = 8, /* aux files */
    MS_BLOCK_SYMBOLS = 9,    /* aux files */
};

enum ms_block_packing { MS_PACKING_NONE = 0, MS_PACKING_ZSTD = 1 };

#define MS_STREAM_MANY 0xffffffffu

struct ms_block_head {
    uint32_t magic;
    uint32_t head_check; /* low half of xxh3 of the rest of the head */
    uint8_t version;
    uint8_t kind;    /* enum ms_block_kind */
    uint8_t packing; /* enum ms_block_packing */
    uint8_t reserved;
    uint32_t items; /* records, definitions ... */
    uint32_t raw_b, packed_b;
    uint32_t stream; /* of all records; MS_STREAM_MANY: see the runs */
    uint32_t runs;
    uint64_t first_seq, last_seq;     /* if one stream; else 0 */
    uint64_t first_stamp, last_stamp; /* smallest and largest */
    uint64_t check;                   /* xxh3 of the packed bytes */
};
_Static_assert(sizeof(struct ms_block_head) == 72, "block head");

/* ---- packing ---- */

struct ms_packer; /* a compressor and its buffers; one thread */
struct ms_packer *ms_packer_new(void);
void ms_packer_free(struct ms_packer *packer);

/* Upper bound of the size of a packed block of raw_b bytes, head and padding included. */
size_t ms_block_bound(size_t raw_b);

/* Writes head (the caller fills kind, stream, runs, items, first_*, last_*) and packed bytes to `to`, which has
 * ms_block_bound bytes. Returns the total length, a multiple of 8. */
size_t ms_block_pack(struct ms_packer *packer, struct ms_block_head *head, const void *raw, size_t raw_b, void *to);

/* ---- reading ---- */

/* Why a block cannot be used; NULL: the head is valid. */
const char *ms_block_check_head(const struct ms_block_head *head);

static inline uint64_t ms_block_length_b(const struct ms_block_head *head)
{
    return (sizeof(*head) + (uint64_t)head->packed_b + 7) & ~(uint64_t)7;
}

struct ms_unpacker;
struct ms_unpacker *ms_unpacker_new(void);
void ms_unpacker_free(struct ms_unpacker *unpacker);
/* Unpacks packed (head->packed_b bytes) to raw (head->raw_b bytes and the slack, which is zeroed). NULL, or the reason
 * why not. */
const char *ms_block_unpack(struct ms_unpacker *unpacker, const struct ms_block_head *head, const void *packed,
                            void *raw);

#endif
