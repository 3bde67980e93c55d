/* SPDX-License-Identifier: Apache-2.0 */
/* An event as the reader releases it: a record, decoded, at its place in the total order, with texts resolved.
 *
 * Order of release within a process: (stamp, frees before allocations, stream, sequence); it is the same live, after
 * a kill and on every re-read. `index` numbers the events in that order without holes. `time_ns` is file time
 * (realtime nanoseconds) and strictly increases with index, except for events of device time (MS_R_KERNEL_EXECUTE),
 * which carry the time on the device.
 *
 * One flat structure for all kinds: a member that a kind does not fill is 0 (device: MS_DEV_UNKNOWN, texts: empty).
 * The tables of records.h say which kind fills which member. An allocation from a dump has its owner as text.
 *
 * Definitions and clock changes are consumed by the reader and never appear. A GAP whose cause is DAMAGED or DISK
 * may come from the collector or from the reader itself; its stream is the one that lost records. */
#ifndef MS_TRACE_EVENT_H
#define MS_TRACE_EVENT_H

#include "trace/records.h"

#include <stdbool.h>
#include <stdint.h>

/* Not always terminated by 0; valid until the next call of the reader. */
struct ms_text {
    const char *s;
    uint32_t length_b;
    uint32_t id; /* of the process, 0: the text was inline; equal ids mean equal texts */
};

struct ms_event_gap {
    uint64_t since_ns; /* the gap is (since_ns, time_ns] */
    uint64_t lost;     /* records of all kinds; 0: unknown */
    uint64_t lost_alloc, lost_free;
    uint32_t cause; /* enum ms_gap_cause */
};

struct ms_event_snapshot {
    uint64_t reserved_b, max_reserved_b, allocated_b, max_allocated_b; /* by the framework */
    uint64_t total_b, free_b;                                          /* of the device */
};

struct ms_event_recorder {
    uint64_t buffers_b, drain_ns, record_ps, collector_b;
};

struct ms_event {
    uint64_t index;   /* 0, 1, 2 ... within the process */
    uint64_t time_ns; /* file time */
    uint64_t stamp;   /* raw ticks, for START <= stamp < STOP */
    uint64_t seq;     /* within the stream */
    uint32_t stream;
    uint32_t tid;
    uint32_t pid;
    uint8_t kind;  /* enum ms_record_kind */
    uint8_t order; /* enum ms_record_order */
    uint8_t flags; /* MS_RECORD_SHADOW, MS_RECORD_CUT */
    uint8_t pool;  /* enum ms_pool */
    uint32_t device;
    uint32_t c_stack, python_stack; /* ids of the process; 0: none; python MS_STACK_NO_GIL */

    union {
        uint64_t addr, slice_start_ns;
    };
    union {
        uint64_t size_b, slice_end_ns, pool_total_b, device_used_b;
    };
    union {
        uint64_t flag, offset_b, range_id, counter, process_used_b, hash;
    };
    union {
        uint64_t handle, value, total_b, watch_flags; /* watch_flags: MS_WATCH_* */
    };
    int64_t stream_id;
    union {
        uint32_t task_id, output;
    };
    union {
        uint32_t type, function, end, side; /* enum ms_access, enum ms_oom_function, KERNEL_EXECUTE, HAL_CREATE */
    };
    uint32_t module_id, page_type, mem_type;
    union {
        struct ms_text text, name;
    };
    union {
        struct ms_text text2, path, attributes, watched;
    };
    union {
        struct ms_event_gap gap;
        struct ms_event_snapshot snapshot;
        struct ms_event_recorder recorder;
    };
};

/* ---- decoded definitions ---- */

struct ms_module {
    uint64_t base, size_b;
    const uint8_t *build_id;
    uint32_t build_id_b;
    struct ms_text path;
};
struct ms_code {
    struct ms_text file, name;
    uint32_t first_line, version;
    const uint8_t *line_table;
    uint32_t line_table_b;
    bool cut; /* the line table is truncated */
};

#endif
