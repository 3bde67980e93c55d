/* SPDX-License-Identifier: Apache-2.0 */
/* The words of the output, in one place: events and their types, columns, attribute keys.
 *
 * The CSV header, the SQLite schema, the rows, the readers of dumps and the reference page all come from these
 * tables. Insight reads the columns by position and the attributes by name: append, never reorder. */
#ifndef MS_MODEL_COLUMNS_H
#define MS_MODEL_COLUMNS_H

#include <stddef.h>
#include <stdint.h>

/* Columns of memscope_dump: name, SQL type. */
#define MS_DUMP_COLUMNS(X)                                                                                             \
    X(ID, "ID", "INTEGER")                                                                                             \
    X(EVENT, "Event", "TEXT")                                                                                          \
    X(TYPE, "Event Type", "TEXT")                                                                                      \
    X(NAME, "Name", "TEXT")                                                                                            \
    X(TIME, "Timestamp(ns)", "INTEGER")                                                                                \
    X(PID, "Process Id", "INTEGER")                                                                                    \
    X(TID, "Thread Id", "INTEGER")                                                                                     \
    X(DEVICE, "Device Id", "TEXT")                                                                                     \
    X(PTR, "Ptr", "TEXT")                                                                                              \
    X(ATTR, "Attr", "TEXT")                                                                                            \
    X(PYTHON_STACK, "Call Stack(Python)", "TEXT")                                                                      \
    X(C_STACK, "Call Stack(C)", "TEXT")

/* Columns of python_trace. */
#define MS_SLICE_COLUMNS(X)                                                                                            \
    X(FUNCTION, "FuncInfo", "TEXT")                                                                                    \
    X(START, "StartTime(ns)", "TEXT")                                                                                  \
    X(END, "EndTime(ns)", "TEXT")                                                                                      \
    X(TID, "Thread Id", "INTEGER")                                                                                     \
    X(PID, "Process Id", "INTEGER")

#define MS_EVENTS(X)                                                                                                   \
    X(SYSTEM, "SYSTEM")                                                                                                \
    X(MALLOC, "MALLOC")                                                                                                \
    X(FREE, "FREE")                                                                                                    \
    X(ACCESS, "ACCESS")                                                                                                \
    X(OP_LAUNCH, "OP_LAUNCH")                                                                                          \
    X(KERNEL_LAUNCH, "KERNEL_LAUNCH")                                                                                  \
    X(MSTX, "MSTX")                                                                                                    \
    X(SNAPSHOT, "SNAPSHOT")                                                                                            \
    X(OOM_DETAIL, "OOM_DETAIL")

/* Types: event (MEMORY: MALLOC and FREE), text, meaning. */
#define MS_EVENT_TYPES(X)                                                                                              \
    X(SYSTEM, ACL_INIT, "ACL_INIT", "aclInit returned")                                                                \
    X(SYSTEM, ACL_FINI, "ACL_FINI", "aclFinalize returned")                                                            \
    X(SYSTEM, START_TRACE, "START_TRACE", "start() of the Python API")                                                 \
    X(SYSTEM, STOP_TRACE, "STOP_TRACE", "stop() of the Python API")                                                    \
    X(SYSTEM, STEP, "STEP", "step() of the Python API; Name is its number")                                            \
    X(MEMORY, HAL, "HAL", "memory of the driver")                                                                      \
    X(MEMORY, PTA, "PTA", "torch_npu's caching pool")                                                                  \
    X(MEMORY, PTA_WORKSPACE, "PTA_WORKSPACE", "torch_npu's workspace pool")                                            \
    X(MEMORY, ATB, "ATB", "pool of the transformer boost library")                                                     \
    X(MEMORY, MINDSPORE, "MINDSPORE", "MindSpore's pool")                                                              \
    X(MEMORY, HOST_PINNED, "HOST_PINNED", "pinned host memory")                                                        \
    X(MEMORY, HOST, "HOST", "memory of CPU tensors")                                                                   \
    X(ACCESS, READ, "READ", "a tensor was read")                                                                       \
    X(ACCESS, WRITE, "WRITE", "a tensor was written")                                                                  \
    X(ACCESS, UNKNOWN, "UNKNOWN", "a tensor was read or written")                                                      \
    X(OP_LAUNCH, ATEN_START, "ATEN_START", "an ATen operator begins")                                                  \
    X(OP_LAUNCH, ATEN_END, "ATEN_END", "an ATen operator ends")                                                        \
    X(OP_LAUNCH, ATB_START, "ATB_START", "an ATB operator begins")                                                     \
    X(OP_LAUNCH, ATB_END, "ATB_END", "an ATB operator ends")                                                           \
    X(KERNEL_LAUNCH, KERNEL_LAUNCH, "KERNEL_LAUNCH", "the host enqueues a kernel")                                     \
    X(KERNEL_LAUNCH, KERNEL_EXECUTE_START, "KERNEL_EXECUTE_START", "the device begins it (device time)")               \
    X(KERNEL_LAUNCH, KERNEL_EXECUTE_END, "KERNEL_EXECUTE_END", "the device has done it (device time)")                 \
    X(KERNEL_LAUNCH, KERNEL_START, "KERNEL_START", "an ATB kernel begins")                                             \
    X(KERNEL_LAUNCH, KERNEL_END, "KERNEL_END", "an ATB kernel ends")                                                   \
    X(MSTX, MARK, "Mark", "mstxMarkA")                                                                                 \
    X(MSTX, RANGE_START, "Range_start", "mstxRangeStartA")                                                             \
    X(MSTX, RANGE_END, "Range_end", "mstxRangeEnd")                                                                    \
    X(SNAPSHOT, SNAPSHOT, "SNAPSHOT", "take_snapshot, or made at an out-of-memory error")                              \
    X(OOM_DETAIL, OOM_TRIGGER, "OOM_TRIGGER", "the driver has no memory left")                                         \
    X(OOM_DETAIL, OOM_RECENT_ALLOC, "OOM_RECENT_ALLOC", "one of the most recent live blocks then")                     \
    X(OOM_DETAIL, OOM_TOP_ALLOC, "OOM_TOP_ALLOC", "one of the largest live blocks then")

/* Values of the attribute inefficient_type: number, name. A number fits two bits, see struct ms_block. */
#define MS_EARLY_ALLOCATION   "early_allocation"
#define MS_LATE_DEALLOCATION  "late_deallocation"
#define MS_TEMPORARY_IDLENESS "temporary_idleness"
#define MS_INEFFICIENT_TYPES(X)                                                                                        \
    X(1, EARLY, MS_EARLY_ALLOCATION)                                                                                   \
    X(2, LATE, MS_LATE_DEALLOCATION)                                                                                   \
    X(3, IDLE, MS_TEMPORARY_IDLENESS)

/* Attribute keys, in the order of a row. */
#define MS_ATTR_KEYS(X)                                                                                                \
    X(ALLOCATION_ID, "allocation_id")                                                                                  \
    X(ADDR, "addr")                                                                                                    \
    X(SIZE, "size")                                                                                                    \
    X(PINNED, "pinned")                                                                                                \
    X(TOTAL, "total")                                                                                                  \
    X(USED, "used")                                                                                                    \
    X(PROCESS_USED, "process_used")                                                                                    \
    X(DEVICE_USED, "device_used")                                                                                      \
    X(SHADOW, "shadow")                                                                                                \
    X(TYPE, "type")                                                                                                    \
    X(DTYPE, "dtype")                                                                                                  \
    X(FORMAT, "format")                                                                                                \
    X(SHAPE, "shape")                                                                                                  \
    X(OWNER, "owner")                                                                                                  \
    X(INEFFICIENT_TYPE, "inefficient_type")                                                                            \
    X(PAGE_TYPE, "page_type")                                                                                          \
    X(ALLOC_TYPE, "alloc_type")                                                                                        \
    X(PATH, "path")                                                                                                    \
    X(WORKSPACE_PTR, "workspace_ptr")                                                                                  \
    X(WORKSPACE_SIZE, "workspace_size")                                                                                \
    X(STREAM_ID, "streamId")                                                                                           \
    X(TASK_ID, "taskId")                                                                                               \
    X(RESERVED, "reserved")                                                                                            \
    X(MAX_RESERVED, "max_reserved")                                                                                    \
    X(ALLOCATED, "allocated")                                                                                          \
    X(MAX_ALLOCATED, "max_allocated")                                                                                  \
    X(FREE, "free")                                                                                                    \
    X(DEVICE_RATE, "device_rate")                                                                                      \
    X(RESERVED_RATE, "reserved_rate")                                                                                  \
    X(TOTAL_MEM, "total_mem")                                                                                          \
    X(FREE_MEM, "free_mem")                                                                                            \
    X(PEAK_RESERVED, "peak_reserved")                                                                                  \
    X(PEAK_ALLOCATED, "peak_allocated")                                                                                \
    X(DEVICE_UTILIZATION, "device_utilization")                                                                        \
    X(PT_UTILIZATION, "pt_utilization")                                                                                \
    X(FUNC, "func")                                                                                                    \
    X(REQ_SIZE, "req_size")                                                                                            \
    X(FLAG, "flag")                                                                                                    \
    X(POOL, "pool")                                                                                                    \
    X(PTR, "ptr")                                                                                                      \
    X(TIMESTAMP, "timestamp")

enum ms_dump_column {
#define X(name, text, sql) MS_COL_##name,
    MS_DUMP_COLUMNS(X)
#undef X
        MS_DUMP_COLUMN_COUNT
};

enum ms_slice_column {
#define X(name, text, sql) MS_SLICE_COL_##name,
    MS_SLICE_COLUMNS(X)
#undef X
        MS_SLICE_COLUMN_COUNT
};

enum ms_row_event {
#define X(name, text) MS_EV_##name,
    MS_EVENTS(X)
#undef X
        MS_EV_COUNT
};

enum ms_row_type {
#define X(event, name, text, meaning) MS_TYPE_##name,
    MS_EVENT_TYPES(X)
#undef X
        MS_TYPE_COUNT
};

enum ms_attr_key {
#define X(name, text) MS_ATTR_##name,
    MS_ATTR_KEYS(X)
#undef X
        MS_ATTR_KEY_COUNT,
    MS_ATTR_OTHER = 255 /* the attribute carries its key as a text */
};

enum ms_inefficient_type {
#define X(number, name, text) MS_INEFFICIENT_##name = (number),
    MS_INEFFICIENT_TYPES(X)
#undef X
};

/* Texts of the tables; "UNKNOWN" for a number out of range. */
const char *ms_event_name(unsigned event);
const char *ms_type_name(unsigned type);
const char *ms_attr_name(unsigned key);
const char *ms_inefficient_name(unsigned type); /* "early_allocation"; "" if out of range */
const char *ms_gap_cause_name(unsigned cause);  /* enum ms_gap_cause: why events are missing */

/* The types in `found` (two bits each, as in struct ms_block) as a text, separated by commas. Returns its length. */
#define MS_INEFFICIENT_TEXT_B 64u
size_t ms_inefficient_text(uint8_t found, char out[MS_INEFFICIENT_TEXT_B]);

#endif
