/* SPDX-License-Identifier: Apache-2.0 */
/* The data that queries run on: records of each table, and their texts.
 *
 * Records are kept in memory while there are few, then in an unnamed mapped file that the system can write back, so the
 * size of a recording is limited by the disk only ($TMPDIR, /var/tmp or /tmp). Texts (names, owners, call stacks) are
 * kept in memory, once each. A pointer to a record is valid until the next record is added to its table. */
#ifndef MS_QUERY_STORE_H
#define MS_QUERY_STORE_H

#include "base/intern.h"
#include "memscope/query/schema.h"

#include <stdbool.h>

struct ms_records {
    char *base;
    size_t used_b, room_b;
    int fd; /* 0: in memory */
};

void *ms_records_add(struct ms_records *records, size_t bytes); /* zeroed; NULL: out of memory or disk, see errno */
void ms_records_free(struct ms_records *records);

/* What statements need, determined before anything is read. */
enum {
    MS_NEED_CALLS = 1,       /* stack texts */
    MS_NEED_ATTR = 2,        /* of events */
    MS_NEED_BLOCKS = 4,      /* block numbers in events */
    MS_NEED_INEFFICIENT = 8, /* of blocks */
};

struct ms_store {
    struct ms_records tables[MS_TABLE_COUNT];
    struct ms_records attrs; /* bytes */
    struct ms_intern texts;
    uint32_t wanted; /* bit per table */
    uint32_t needs;  /* MS_NEED_* */
    uint32_t processes;
    int (*stopped)(void *argument); /* polled during long operations; nonzero: abort. May be NULL */
    void *argument;
};

static inline uint64_t ms_store_count(const struct ms_store *store, enum ms_query_table table)
{
    return store->tables[table].used_b / ms_query_schemas[table].record_b;
}

static inline void *ms_store_at(const struct ms_store *store, enum ms_query_table table, uint64_t at)
{
    return store->tables[table].base + at * ms_query_schemas[table].record_b;
}

/* Text of a block's call site: from its stack, or else its operator. */
static inline uint32_t ms_store_site(const struct ms_store *store, const struct ms_block_record *block)
{
    const struct ms_stack_record *stack =
        block->stack != 0 ? ms_store_at(store, MS_TABLE_STACKS, block->stack - 1) : NULL;
    return stack != NULL && stack->site != 0 ? stack->site : block->op;
}

static inline bool ms_store_wants(const struct ms_store *store, enum ms_query_table table)
{
    return (store->wanted >> table & 1) != 0;
}

static inline void *ms_store_add(struct ms_store *store, enum ms_query_table table)
{
    return ms_records_add(&store->tables[table], ms_query_schemas[table].record_b);
}

void ms_store_free(struct ms_store *store);

#endif
