/* SPDX-License-Identifier: Apache-2.0 */
/* The tables that can be queried, defined once: virtual tables, `msmemscope query --schema` and docs/guide/query.md are
 * generated from it. A table is an array of records; a column gives the offset in the record and the form of the
 * value. */
#ifndef MS_QUERY_SCHEMA_H
#define MS_QUERY_SCHEMA_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum ms_query_table {
    MS_TABLE_PROCESSES,
    MS_TABLE_DEVICES,
    MS_TABLE_STEPS,
    MS_TABLE_STEP_POOLS,
    MS_TABLE_BLOCKS,
    MS_TABLE_EVENTS,
    MS_TABLE_OPERATORS,
    MS_TABLE_STACKS,
    MS_TABLE_COUNT
};

/* ---- records ---- */

/* Texts are numbers in the store's text table; 0 is the empty text. A time of 0 is unknown. */

struct ms_process_record {
    uint64_t first_ns, last_ns, events, blocks, lost;
    uint32_t process, pid, name, path, kind, complete;
};

struct ms_device_record { /* a pool of a device */
    uint64_t allocated_b, peak_b, peak_ns, reserved_peak_b, end_b, blocks, end_blocks;
    uint32_t process, device, pool, peak_step;
};

struct ms_step_record {
    uint64_t begin_ns, end_ns;
    uint32_t process, device, step;
};

struct ms_step_pool_record {
    uint64_t begin_b, end_b, peak_b, allocated_b, blocks;
    uint32_t process, device, step, pool;
};

struct ms_block_record {
    uint64_t allocation_id, addr, size_b, malloc_ns, free_ns, first_access_ns, last_access_ns;
    uint32_t process, device, tid, step, op, owner, stack, accesses;
    uint8_t pool, end, inefficient, at_peak, module_id, page_type;
};

struct ms_event_record {
    uint64_t id, time_ns, addr, size_b, used_b, reserved_b, attr;
    uint32_t process, attr_b, name, tid, device, step, stack, block;
    uint8_t event, type, has; /* MS_EVENT_HAS_* */
};
enum { MS_EVENT_HAS_ADDR = 1, MS_EVENT_HAS_SIZE = 2, MS_EVENT_HAS_USED = 4, MS_EVENT_HAS_RESERVED = 8 };

struct ms_operator_record {
    uint64_t begin_ns, end_ns, allocated_b, blocks;
    uint32_t process, tid, device, name, depth, kind;
};

struct ms_stack_record {
    uint32_t process, site, python, c;
};

/* ---- columns ---- */

enum ms_query_form {
    MS_QUERY_NUMBER, /* number of the record, from 1 on */
    MS_QUERY_U64,
    MS_QUERY_U64_OR_NULL, /* 0 is NULL */
    MS_QUERY_U32,
    MS_QUERY_U32_OR_NULL,
    MS_QUERY_TEXT,   /* number of a text; the empty text is NULL */
    MS_QUERY_DEVICE, /* number, 'cpu' or NULL */
    MS_QUERY_POOL,   /* u8, enum ms_row_type */
    MS_QUERY_POOL32, /* the same in 32 bits */
    MS_QUERY_HEX,    /* 0x and 16 digits */
    MS_QUERY_FLAG,   /* u8: 0 or 1 */
    MS_QUERY_CALLS,  /* a text that is expensive to build: call stacks */
    /* used by a single table */
    MS_QUERY_BLOCK_END,
    MS_QUERY_BLOCK_SITE, /* of its stack, or else its operator */
    MS_QUERY_BLOCK_INEFFICIENT,
    MS_QUERY_BLOCK_MODULE, /* for HAL blocks */
    MS_QUERY_EVENT_EVENT,
    MS_QUERY_EVENT_ADDR,
    MS_QUERY_EVENT_SIZE,
    MS_QUERY_EVENT_USED,
    MS_QUERY_EVENT_RESERVED,
    MS_QUERY_EVENT_BLOCK,
    MS_QUERY_EVENT_ATTR,
};

struct ms_query_column {
    const char *name, *help;
    enum ms_query_form form;
    size_t offset;
};

struct ms_query_schema {
    const char *name, *help;
    size_t record_b;
    const struct ms_query_column *columns;
    size_t column_count;
};
extern const struct ms_query_schema ms_query_schemas[MS_TABLE_COUNT];

struct ms_query_view {
    const char *name, *help, *sql;
};
extern const struct ms_query_view ms_query_views[]; /* the last has no name */

void ms_query_schema_print(FILE *file); /* tables, views and their columns, for users */

#endif
