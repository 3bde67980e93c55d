/* SPDX-License-Identifier: Apache-2.0 */
/* Records: what a hook writes into its thread's stream. Everything about a kind of record is described here, once:
 * payload structs, validation, id renumbering, encoding, decoding into events, and the tables of docs/format/trace.md
 * (written by scripts/trace-reference) come from the tables below.
 *
 * A record is a head of 16 bytes, a payload of whole 8-byte words, and a tail; little endian, without compiler padding.
 * Numbers are part of the file format: never reuse one, append at the end.
 *
 * A payload is a list of fields
 *
 *     #define MS_FIELDS_payload(F, R)  F(type, name, to, meaning) ...
 *
 * F fields are copied into the event: `to` names the member of struct ms_event. R fields (type, name, meaning) are not:
 * padding, and what only the reader itself uses. Types, with the letters of the shape (ms_record_spec.shape):
 *
 *        a   a      8 bytes, an address or handle
 *        q   q      8 bytes, a number
 *        i   q      8 bytes, a signed number
 *        k   k      8 bytes, ticks; becomes file time in the event (0 stays 0)
 *        d   d      4 bytes, a number
 *        t   t      a text (struct ms_text_ref)
 *        f   f      4 bytes, number of frames in the tail
 *        l   l      4 bytes, number of bytes in the tail
 *        b24 qqq    24 bytes
 *
 * A kind is a row
 *
 *     X(number, NAME, payload, order, arg, meaning)
 *
 * order  ALLOC   stamped after the real call
 *        FREE    stamped and published before the real call, so that stamps order the blocks at one address across
 *                threads
 *        PLAIN   neither
 *        DEVICE  the payload holds the device time of the event; the stamp is the time at which it became known
 *        DEF     defines an id of this stream
 *
 * arg    NONE    0
 *        DEVICE  device (MS_DEV_UNKNOWN: none is current in the thread)
 *        POOL    pool and device, see MS_POOL_ARG
 *        FLAG    a flag of the real call
 *        VALUE   a number, see the meaning of the kind
 *        SLICE   bits 0-7: 1 no start, 2 no end; from bit 8 on the thread of the call, 0: the thread of the stream
 *        ID      the id that is defined
 *
 * tail   the bytes of all inline texts in order, padded to 8; then frames (f) or bytes (l, padded to 8); then, with
 *        MS_RECORD_STACKS, one struct ms_stack_ids. */
#ifndef MS_TRACE_RECORDS_H
#define MS_TRACE_RECORDS_H

#include <stdint.h>

struct ms_record {
    uint8_t kind;   /* enum ms_record_kind */
    uint8_t flags;  /* MS_RECORD_* */
    uint16_t words; /* total length, head included, in 8-byte words */
    uint32_t arg;   /* small operand: device, pool and device, id that is defined ... */
    uint64_t stamp; /* ticks of the session clock; never smaller than the previous one in the stream */
};

#define MS_RECORD_STACKS 0x01u /* the last word is struct ms_stack_ids */
#define MS_RECORD_SHADOW 0x02u /* recorded while not tracing: counts in totals, makes no row */
#define MS_RECORD_CUT    0x04u /* a text, a line table or a stack was truncated to fit a record */
#define MS_RECORD_FLAGS  0x07u

#define MS_RECORD_MAX_B  16320u /* capacity of a chunk */
#define MS_FRAMES_MAX    1000u  /* deepest stack that can be requested; fits a record */

struct ms_stack_ids {
    uint32_t c;      /* 0: none */
    uint32_t python; /* 0: none; MS_STACK_NO_GIL: not available */
};
#define MS_STACK_NO_GIL 0xffffffffu

/* Pools: number, name. Besides those that mstx domains name, HOST (CPU tensors) and HAL (the driver), so that accesses
 * and labels can name blocks there. Part of `arg`: the pool in the low 8 bits, the device in the upper 24. */
#define MS_POOLS(X)                                                                                                    \
    X(1, PTA)                                                                                                          \
    X(2, PTA_WORKSPACE)                                                                                                \
    X(3, ATB)                                                                                                          \
    X(4, MINDSPORE)                                                                                                    \
    X(5, HOST)                                                                                                         \
    X(6, HAL)

enum ms_pool {
    MS_POOL_NONE = 0,
#define X(number, name) MS_POOL_##name = (number),
    MS_POOLS(X)
#undef X
};
#define MS_POOL_ARG(pool, dev) ((uint32_t)(pool) | (uint32_t)(dev) << 8)
#define MS_ARG_POOL(arg)       ((arg)&0xffu)
#define MS_ARG_DEVICE(arg)     ((arg) >> 8)

#define MS_DEV_UNKNOWN         9999u
#define MS_DEV_CPU             10000u

/* A text: an id of this stream with length 0, or id 0 and the length of the bytes in the tail. The texts of a record
 * are in the tail in the order of their references. */
struct ms_text_ref {
    uint32_t id;
    uint32_t length_b;
};

/* Frames are (module id, offset in it) for C, (code id, instruction) for Python; innermost first; in the tail. */
struct ms_frame {
    uint32_t in; /* module or code id of this stream; 0: none, then offset is an address */
    uint32_t reserved;
    uint64_t offset;
};

/* ---- values of fields ---- */

enum ms_oom_function { MS_OOM_MEM_ALLOC = 1, MS_OOM_MEM_CREATE = 2 };
enum ms_access { MS_ACCESS_UNKNOWN, MS_ACCESS_READ, MS_ACCESS_WRITE };
enum { MS_STOP_GOES_ON = 1 }; /* arg of STOP: recording continues, but files are completed up to here */

/* Why records are missing: number, name, title, meaning. */
#define MS_GAP_CAUSE_TABLE(X)                                                                                          \
    X(1, FULL, "recorder too slow", "the collector did not keep up")                                                   \
    X(2, NO_ROOM, "no shared memory left", "no free chunk or stream head")                                             \
    X(3, REENTERED, "in signal handlers", "a signal handler interrupted the recorder and had something to record")     \
    X(4, TOO_LONG, "too long", "did not fit a record")                                                                 \
    X(5, DAMAGED, "damaged", "found unreadable by the collector or a reader")                                          \
    X(6, DISK, "disk full", "could not be written")                                                                    \
    X(7, UNMATCHED, "unknown", "not a gap: device reports about tasks whose launch was not seen; counted only")

enum ms_gap_cause {
#define X(number, name, title, meaning) MS_GAP_##name = (number),
    MS_GAP_CAUSE_TABLE(X)
#undef X
        MS_GAP_CAUSES = 8,
};

/* Bits of WATCH: value, name, meaning. */
#define MS_WATCH_FLAGS(X)                                                                                              \
    X(1, AFTER, "after the operator; not set: before it")                                                              \
    X(2, FULL, "the bytes are in a file")                                                                              \
    X(4, UNREADABLE, "the bytes could not be read; hash is 0")                                                         \
    X(8, WRITTEN, "the operator declares that it writes the tensor")                                                   \
    X(16, KERNEL, "a kernel, not an operator")                                                                         \
    X(32, IN_OP, "inside an operator of its thread")                                                                   \
    X(64, CONCURRENT, "an operator of another thread is running")                                                      \
    X(128, FIRST, "watching starts here")                                                                              \
    X(256, LAST, "watching ends here")

#define MS_WATCH_OP_B 255u /* longest name of an operator in --watch */

enum ms_watch_flag {
#define X(value, name, meaning) MS_WATCH_##name = (value),
    MS_WATCH_FLAGS(X)
#undef X
};

/* ---- payloads ---- */

#define MS_DECLARE_a(name)                    uint64_t name;
#define MS_DECLARE_q(name)                    uint64_t name;
#define MS_DECLARE_i(name)                    int64_t name;
#define MS_DECLARE_k(name)                    uint64_t name;
#define MS_DECLARE_d(name)                    uint32_t name;
#define MS_DECLARE_t(name)                    struct ms_text_ref name;
#define MS_DECLARE_f(name)                    uint32_t name;
#define MS_DECLARE_l(name)                    uint32_t name;
#define MS_DECLARE_b24(name)                  uint8_t name[24];
#define MS_DECLARE_F(type, name, to, meaning) MS_DECLARE_##type(name)
#define MS_DECLARE_R(type, name, meaning)     MS_DECLARE_##type(name)
#define MS_PAYLOAD(payload)                                                                                            \
    struct ms_p_##payload {                                                                                            \
        MS_FIELDS_##payload(MS_DECLARE_F, MS_DECLARE_R)                                                                \
    };                                                                                                                 \
    _Static_assert(sizeof(struct ms_p_##payload) % 8 == 0, "payload " #payload)

/* clang-format off */
#define MS_FIELDS_none(F, R)
MS_PAYLOAD(none);

#define MS_FIELDS_addr(F, R)                                                                                           \
    F(a, addr, addr, "address or handle")
MS_PAYLOAD(addr);

#define MS_FIELDS_hal_alloc(F, R)                                                                                      \
    F(a, addr, addr, "address")                                                                                        \
    F(q, size_b, size_b, "bytes")                                                                                      \
    F(q, flag, flag, "flag of the call; holds the device")
MS_PAYLOAD(hal_alloc);

#define MS_FIELDS_hal_create(F, R)                                                                                     \
    F(a, handle, addr, "handle")                                                                                       \
    F(q, size_b, size_b, "bytes")                                                                                      \
    F(d, side, side, "enum drv_mem_side")                                                                              \
    F(d, module_id, module_id, "module of CANN")                                                                       \
    F(d, page_type, page_type, "enum drv_mem_pg_type")                                                                 \
    F(d, mem_type, mem_type, "enum drv_mem_type")
MS_PAYLOAD(hal_create);

#define MS_FIELDS_range(F, R)                                                                                          \
    F(a, addr, addr, "address")                                                                                        \
    F(q, size_b, size_b, "bytes")
MS_PAYLOAD(range);

#define MS_FIELDS_map(F, R)                                                                                            \
    F(a, addr, addr, "address")                                                                                        \
    F(q, size_b, size_b, "bytes")                                                                                      \
    F(q, offset_b, offset_b, "offset in the handle")                                                                   \
    F(a, handle, handle, "handle")
MS_PAYLOAD(map);

#define MS_FIELDS_host_register(F, R)                                                                                  \
    F(a, addr, addr, "address")                                                                                        \
    F(q, size_b, size_b, "bytes")
MS_PAYLOAD(host_register);

#define MS_FIELDS_oom(F, R)                                                                                            \
    F(q, size_b, size_b, "bytes requested")                                                                            \
    F(q, flag, flag, "flag of the call")                                                                               \
    F(d, function, function, "1 halMemAlloc, 2 halMemCreate")                                                          \
    R(d, reserved, "0")
MS_PAYLOAD(oom);

#define MS_FIELDS_pool_total(F, R)                                                                                     \
    F(q, total_b, pool_total_b, "bytes that the pool has reserved")
MS_PAYLOAD(pool_total);

#define MS_FIELDS_pool_alloc(F, R)                                                                                     \
    F(a, addr, addr, "address")                                                                                        \
    F(q, size_b, size_b, "bytes")
MS_PAYLOAD(pool_alloc);

#define MS_FIELDS_pool_free(F, R)                                                                                      \
    F(a, addr, addr, "address")
MS_PAYLOAD(pool_free);

#define MS_FIELDS_heap(F, R)                                                                                           \
    F(a, addr, addr, "address")                                                                                        \
    F(q, size_b, size_b, "bytes")
MS_PAYLOAD(heap);

#define MS_FIELDS_mark(F, R)                                                                                           \
    F(i, stream_id, stream_id, "stream, or -1")                                                                        \
    F(t, text, text, "message")
MS_PAYLOAD(mark);

#define MS_FIELDS_range_start(F, R)                                                                                    \
    F(q, range_id, range_id, "id of the range")                                                                        \
    F(i, stream_id, stream_id, "stream, or -1")                                                                        \
    F(t, text, text, "message")
MS_PAYLOAD(range_start);

#define MS_FIELDS_range_end(F, R)                                                                                      \
    F(q, range_id, range_id, "id of the range")
MS_PAYLOAD(range_end);

#define MS_FIELDS_device(F, R)                                                                                         \
    F(i, result, value, "result of the call")
MS_PAYLOAD(device);

#define MS_FIELDS_kernel_launch(F, R)                                                                                  \
    F(d, stream_id, stream_id, "stream")                                                                               \
    F(d, task_id, task_id, "task")                                                                                     \
    F(t, name, name, "kernel")
MS_PAYLOAD(kernel_launch);

#define MS_FIELDS_kernel_execute(F, R)                                                                                 \
    F(q, counter, counter, "device clock")                                                                             \
    F(d, stream_id, stream_id, "stream")                                                                               \
    F(d, task_id, task_id, "task")                                                                                     \
    F(d, end, end, "0 begin, 1 end")                                                                                   \
    R(d, reserved, "0")                                                                                                \
    F(t, name, name, "kernel")
MS_PAYLOAD(kernel_execute);

#define MS_FIELDS_device_clock(F, R)                                                                                   \
    F(q, counter, counter, "device clock")                                                                             \
    F(q, khz, value, "nominal frequency")                                                                              \
    R(q, uncertainty, "ticks between the readings before and after the query")
MS_PAYLOAD(device_clock);

#define MS_FIELDS_op(F, R)                                                                                             \
    F(a, workspace_ptr, addr, "workspace")                                                                             \
    F(q, workspace_b, size_b, "bytes of the workspace")                                                                \
    F(t, name, name, "operator or kernel")                                                                             \
    F(t, path, path, "path in the operator tree")
MS_PAYLOAD(op);

#define MS_FIELDS_access(F, R)                                                                                         \
    F(a, addr, addr, "address")                                                                                        \
    F(q, size_b, size_b, "bytes")                                                                                      \
    F(d, type, type, "0 unknown, 1 read, 2 write")                                                                     \
    R(d, reserved, "0")                                                                                                \
    F(t, name, name, "operator")                                                                                       \
    F(t, attributes, attributes, "`key:value,...` for the row")
MS_PAYLOAD(access);

#define MS_FIELDS_snapshot(F, R)                                                                                       \
    F(q, reserved_b, snapshot.reserved_b, "bytes reserved by the framework; 2^64 - 1 here and below: unknown")         \
    F(q, max_reserved_b, snapshot.max_reserved_b, "their maximum")                                                     \
    F(q, allocated_b, snapshot.allocated_b, "bytes allocated by the framework")                                        \
    F(q, max_allocated_b, snapshot.max_allocated_b, "their maximum")                                                   \
    F(q, total_b, snapshot.total_b, "bytes of the device")                                                             \
    F(q, free_b, snapshot.free_b, "of which free")                                                                     \
    F(t, name, name, "name given by the caller")
MS_PAYLOAD(snapshot);

#define MS_FIELDS_number(F, R)                                                                                         \
    F(q, value, value, "number")
MS_PAYLOAD(number);

#define MS_FIELDS_text(F, R)                                                                                           \
    F(t, text, text, "text")
MS_PAYLOAD(text);

#define MS_FIELDS_label(F, R)                                                                                          \
    F(t, label, text, "label")
MS_PAYLOAD(label);

#define MS_FIELDS_addr_label(F, R)                                                                                     \
    F(a, addr, addr, "address")                                                                                        \
    F(t, label, text, "label")
MS_PAYLOAD(addr_label);

#define MS_FIELDS_slice(F, R)                                                                                          \
    F(k, start_stamp, slice_start_ns, "start of the call; 0: unknown")                                                 \
    F(k, end_stamp, slice_end_ns, "end of the call; 0: unknown")                                                       \
    F(t, text, text, "function, file and line")
MS_PAYLOAD(slice);

#define MS_FIELDS_thread(F, R)                                                                                         \
    F(t, name, name, "name of the thread")
MS_PAYLOAD(thread);

#define MS_FIELDS_gap(F, R)                                                                                            \
    F(k, since_stamp, gap.since_ns, "the gap begins after this stamp; 0: at the start")                                \
    F(q, lost, gap.lost, "records of all kinds; 0: unknown")                                                           \
    F(q, lost_alloc, gap.lost_alloc, "of which of order ALLOC")                                                        \
    F(q, lost_free, gap.lost_free, "of which of order FREE")                                                           \
    F(d, cause, gap.cause, "see below")                                                                                \
    R(d, reserved, "0")
MS_PAYLOAD(gap);

#define MS_FIELDS_usage(F, R)                                                                                          \
    F(q, device_used_b, device_used_b, "bytes in use by all processes")                                                \
    F(q, process_used_b, process_used_b, "bytes in use by this process")                                               \
    F(q, total_b, total_b, "bytes of the device")
MS_PAYLOAD(usage);

#define MS_FIELDS_recorder(F, R)                                                                                       \
    F(q, buffers_b, recorder.buffers_b, "peak of shared memory in use")                                                \
    F(q, drain_ns, recorder.drain_ns, "processor time of draining")                                                    \
    F(q, record_ps, recorder.record_ps, "cost of a record without stacks in the program; 0: unknown")                  \
    F(q, collector_b, recorder.collector_b, "resident memory of the collector, for all its processes")
MS_PAYLOAD(recorder);

#define MS_FIELDS_watch(F, R)                                                                                          \
    F(a, addr, addr, "address")                                                                                        \
    F(q, size_b, size_b, "bytes")                                                                                      \
    F(q, hash, hash, "of the content, see `src/agent/watch.h`")                                                        \
    F(d, index, output, "index of the output")                                                                         \
    F(d, flags, watch_flags, "see below")                                                                              \
    F(t, point, text, "operator with its thread and count")                                                            \
    F(t, name, watched, "what is watched")
MS_PAYLOAD(watch);

#define MS_FIELDS_clock(F, R)                                                                                          \
    R(q, before, "last stamp of the previous clock")
MS_PAYLOAD(clock);

#define MS_FIELDS_stack(F, R)                                                                                          \
    R(f, frames, "number of frames in the tail")                                                                       \
    R(d, cut, "frames beyond the requested depth")
MS_PAYLOAD(stack);

#define MS_FIELDS_module(F, R)                                                                                         \
    R(a, base, "load address")                                                                                         \
    R(q, size_b, "bytes in memory")                                                                                    \
    R(b24, build_id, "first bytes of the build id")                                                                    \
    R(d, build_id_b, "length of the build id, at most 24")                                                             \
    R(d, reserved, "0")                                                                                                \
    R(t, path, "path")
MS_PAYLOAD(module);

#define MS_FIELDS_code(F, R)                                                                                           \
    R(d, first_line, "first line")                                                                                     \
    R(l, line_table_b, "bytes of the line table, after file and name, in the interpreter's encoding")                  \
    R(d, version, "of the interpreter, 0x030b: 3.11; selects the encoding")                                            \
    R(d, reserved, "0")                                                                                                \
    R(t, file, "file")                                                                                                 \
    R(t, name, "qualified name")
MS_PAYLOAD(code);

/* ---- kinds ---- */

#define MS_RECORDS(X)                                                                                                  \
    X( 1, HAL_ALLOC,              hal_alloc,      ALLOC,  NONE,   "halMemAlloc")                                       \
    X( 2, HAL_FREE,               addr,           FREE,   NONE,   "halMemFree")                                        \
    X( 3, HAL_FREE_FAILED,        addr,           PLAIN,  NONE,   "the recorded halMemFree failed")                    \
    X( 4, HAL_CREATE,             hal_create,     ALLOC,  DEVICE, "halMemCreate")                                      \
    X( 5, HAL_RELEASE,            addr,           FREE,   NONE,   "halMemRelease")                                     \
    X( 6, HAL_RELEASE_FAILED,     addr,           PLAIN,  NONE,   "the recorded halMemRelease failed")                 \
    X( 7, RESERVE,                range,          ALLOC,  NONE,   "halMemAddressReserve")                              \
    X( 8, ADDRESS_FREE,           addr,           FREE,   NONE,   "halMemAddressFree")                                 \
    X( 9, MAP,                    map,            ALLOC,  NONE,   "halMemMap")                                         \
    X(10, UNMAP,                  addr,           FREE,   NONE,   "halMemUnmap")                                       \
    X(11, HOST_REGISTER,          host_register,  ALLOC,  FLAG,   "host memory is pinned")                             \
    X(12, HOST_UNREGISTER,        addr,           FREE,   NONE,   "host memory is unpinned")                           \
    X(13, OOM,                    oom,            PLAIN,  DEVICE, "the driver is out of memory")                       \
    X(14, POOL_TOTAL,             pool_total,     PLAIN,  POOL,   "a pool reports its size")                           \
    X(15, POOL_ALLOC,             pool_alloc,     ALLOC,  POOL,   "a pool allocates a block")                          \
    X(16, POOL_FREE,              pool_free,      FREE,   POOL,   "a pool frees a block")                              \
    X(17, HEAP_ADD,               heap,           PLAIN,  POOL,   "ATB: adds to the size of the pool")                 \
    X(18, HEAP_SUB,               heap,           PLAIN,  POOL,   "ATB: subtracts from the size of the pool")          \
    X(19, MARK,                   mark,           PLAIN,  DEVICE, "mstxMarkA")                                         \
    X(20, RANGE_START,            range_start,    PLAIN,  DEVICE, "mstxRangeStartA")                                   \
    X(21, RANGE_END,              range_end,      PLAIN,  DEVICE, "mstxRangeEnd")                                      \
    X(22, ACL_INIT,               none,           PLAIN,  NONE,   "aclInit returned")                                  \
    X(23, ACL_FINI,               none,           PLAIN,  NONE,   "aclFinalize returned")                              \
    X(24, SET_DEVICE,             device,         PLAIN,  DEVICE, "a thread selects a device")                         \
    X(25, KERNEL_LAUNCH,          kernel_launch,  PLAIN,  DEVICE, "the host enqueues a kernel")                        \
    X(26, KERNEL_EXECUTE,         kernel_execute, DEVICE, DEVICE, "the device begins or ends a kernel")                \
    X(27, DEVICE_CLOCK,           device_clock,   PLAIN,  DEVICE, "device clock; stamp: middle of the query")          \
    X(28, OP_START,               op,             PLAIN,  DEVICE, "an ATB operator begins")                            \
    X(29, OP_END,                 op,             PLAIN,  DEVICE, "an ATB operator ends")                              \
    X(30, OP_KERNEL_START,        op,             PLAIN,  DEVICE, "an ATB kernel begins")                              \
    X(31, OP_KERNEL_END,          op,             PLAIN,  DEVICE, "an ATB kernel ends")                                \
    X(32, ACCESS,                 access,         PLAIN,  POOL,   "an operator accesses a tensor")                     \
    X(33, SNAPSHOT,               snapshot,       PLAIN,  DEVICE, "take_snapshot of the Python API")                   \
    X(34, STEP,                   number,         PLAIN,  NONE,   "step() of the Python API; 0: no number")            \
    X(35, START,                  none,           PLAIN,  NONE,   "tracing starts")                                    \
    X(36, STOP,                   none,           PLAIN,  VALUE,  "tracing stops; arg 1: only flush files")            \
    X(37, CONFIG,                 text,           PLAIN,  NONE,   "new settings: lines `option=value`")                \
    X(38, LABEL_PUSH,             label,          PLAIN,  VALUE,  "a thread sets a label; arg: level")                 \
    X(39, LABEL_POP,              label,          PLAIN,  VALUE,  "a thread removes a label; arg: level")              \
    X(40, ADDR_LABEL,             addr_label,     PLAIN,  VALUE,  "labels the block at an address; arg: level")        \
    X(41, SLICE,                  slice,          PLAIN,  SLICE,  "a call in a Python trace")                          \
    X(42, THREAD,                 thread,         PLAIN,  VALUE,  "a thread starts to record; arg: tid")               \
    X(43, GAP,                    gap,            PLAIN,  NONE,   "records were lost; stamp: recording resumed")       \
    X(44, LOG,                    text,           PLAIN,  NONE,   "a line for the log")                                \
    X(45, USAGE,                  usage,          PLAIN,  DEVICE, "memory of a device or the host (10000)")            \
    X(46, CLOCK,                  clock,          PLAIN,  VALUE,  "the clock changes; arg: its kind from here on")     \
    X(47, UNMAP_FAILED,           addr,           PLAIN,  NONE,   "the recorded halMemUnmap failed")                   \
    X(48, ADDRESS_FREE_FAILED,    addr,           PLAIN,  NONE,   "the recorded halMemAddressFree failed")             \
    X(49, HOST_UNREGISTER_FAILED, addr,           PLAIN,  NONE,   "host memory could not be unpinned")                 \
    X(50, RECORDER,               recorder,       PLAIN,  NONE,   "cost of recording, at the end")                     \
    X(51, WATCH,                  watch,          PLAIN,  DEVICE, "content of a watched tensor")                       \
    X(64, DEF_TEXT,               text,           DEF,    ID,     "a text")                                            \
    X(65, DEF_STACK,              stack,          DEF,    ID,     "a C stack")                                         \
    X(66, DEF_PYSTACK,            stack,          DEF,    ID,     "a Python stack")                                    \
    X(67, DEF_MODULE,             module,         DEF,    ID,     "a loaded file")                                     \
    X(68, DEF_CODE,               code,           DEF,    ID,     "a Python code object")
/* clang-format on */

enum ms_record_kind {
    MS_R_NONE = 0, /* also the value of unwritten memory */
#define X(number, name, payload, order, arg, meaning) MS_R_##name = number,
    MS_RECORDS(X)
#undef X
        MS_R_LIMIT = 96, /* above every number; the rest is for later versions */
};

enum ms_record_order { MS_ORDER_NONE, MS_ORDER_ALLOC, MS_ORDER_FREE, MS_ORDER_PLAIN, MS_ORDER_DEVICE, MS_ORDER_DEF };

_Static_assert(sizeof(struct ms_record) == 16, "record head");

#define MS_WIDE_FIELDS 4

struct ms_record_spec {
    const char *name; /* NULL: no kind has this number */
    const char *shape;
    uint16_t payload_b;
    uint8_t order;  /* enum ms_record_order */
    uint8_t fields; /* letters of the shape */
    uint8_t plain;  /* 1: numbers only, no tail */
    uint8_t wide;   /* 1: also, all fields are a or q, and at most MS_WIDE_FIELDS: the payload is an array of words */
};
extern const struct ms_record_spec ms_record_specs[MS_R_LIMIT];

/* Description of a kind; NULL if no kind has this number. */
static inline const struct ms_record_spec *ms_record_spec(unsigned kind)
{
    return kind < MS_R_LIMIT && ms_record_specs[kind].name != 0 ? &ms_record_specs[kind] : 0;
}

#endif
