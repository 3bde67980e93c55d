/* SPDX-License-Identifier: Apache-2.0 */
/* An event as the reader releases it: a record, decoded, in its place of the total order, with texts resolved.
 *
 * Order of release within a process: (stamp, ends of lives before beginnings, stream, sequence); it is the same live,
 * after a kill and on every re-read. `index` numbers the events in that order without holes. `time_ns` is file time
 * (realtime nanoseconds) and strictly increases with index, except for events of device time (MS_R_KERNEL_EXECUTE),
 * which carry the time at which the device did it.
 *
 * One flat structure for all kinds: a field that a kind does not have is 0 (device: MS_DEV_UNKNOWN, texts: empty).
 * Which kind fills what, beyond time, thread, device and stacks:
 *
 *   HAL_ALLOC addr size_b flag           HAL_FREE[_FAILED] addr                 (device: MS_DEV_UNKNOWN, see flag)
 *   HAL_CREATE addr(handle) size_b side module_id page_type mem_type            HAL_RELEASE[_FAILED] addr(handle)
 *   RESERVE addr size_b                  ADDRESS_FREE[_FAILED] addr
 *   MAP addr size_b offset_b handle      UNMAP[_FAILED] addr
 *   HOST_REGISTER addr size_b flag       HOST_UNREGISTER[_FAILED] addr
 *   OOM function size_b flag
 *   POOL_TOTAL pool size_b(total)        POOL_ALLOC pool addr size_b            POOL_FREE pool addr
 *   HEAP_ADD, HEAP_SUB pool addr size_b
 *   MARK stream_id text                  RANGE_START range_id stream_id text    RANGE_END range_id
 *   SET_DEVICE value(result)             ACL_INIT, ACL_FINI, START, STOP nothing
 *   KERNEL_LAUNCH stream_id task_id text(name)
 *   KERNEL_EXECUTE counter end stream_id task_id text(name)                     (time_ns: device time)
 *   DEVICE_CLOCK counter value(kHz)
 *   OP_*, OP_KERNEL_* text(name) text2(path) addr(workspace) size_b(workspace)
 *   ACCESS pool addr size_b type text(name) text2(attributes)
 *   SNAPSHOT memory[6] text(name)
 *   STOP value(MS_STOP_*)
 *   STEP value                           CONFIG text                            LOG text
 *   LABEL_PUSH, LABEL_POP value(level) text      ADDR_LABEL value(level) addr text
 *   SLICE slice_start_ns slice_end_ns value(1: no start, 2: no end) text
 *   THREAD text(name)
 *   GAP gap                              USAGE size_b(device used) process_used_b total_b (device MS_DEV_CPU: host
 * memory)
 *
 * An allocation that comes from a dump has its owner as text.
 *
 *   WATCH addr size_b flag(hash) value(MS_WATCH_*) task_id(index) text(point) text2(name)
 *   RECORDER memory[0 .. 3]: bytes of buffers at most, ns of draining, ps per record, bytes of the collector
 *
 * Definitions and clock changes are consumed by the reader and never appear. A GAP whose cause is DAMAGED or DISK may
 * be made by the collector or by the reader itself; its stream is then where the loss was. */
#ifndef MS_TRACE_EVENT_H
#define MS_TRACE_EVENT_H

#include "trace/records.h"

#include <stdbool.h>
#include <stdint.h>

/* Not terminated by 0 in general; valid until the next call of the reader. */
struct ms_text {
    const char *s;
    uint32_t length_b;
    uint32_t id; /* of the process, 0: the text stood in the record itself; equal ids are equal texts */
};

struct ms_event_gap {
    uint64_t since_ns; /* the gap is (since_ns, time_ns] */
    uint64_t lost;     /* records of all kinds; 0: unknown */
    uint64_t lost_alloc, lost_free;
    uint32_t cause; /* enum ms_gap_cause */
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
        uint64_t size_b, slice_end_ns;
    };
    union {
        uint64_t flag, offset_b, range_id, counter, process_used_b;
    };
    union {
        uint64_t handle, value, total_b;
    };
    int64_t stream_id;
    uint32_t task_id;
    union {
        uint32_t type, function, end, side; /* enum ms_access, enum ms_oom_function, KERNEL_EXECUTE, HAL_CREATE */
    };
    uint32_t module_id, page_type, mem_type;
    struct ms_text text, text2;
    union {
        struct ms_event_gap gap;
        uint64_t memory[6]; /* SNAPSHOT: reserved, max reserved, allocated, max allocated, total, free */
    };
};

#endif
