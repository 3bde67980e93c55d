/* SPDX-License-Identifier: Apache-2.0 */
/* Records: what a hook writes into its thread's stream. The one description that everything else uses.
 *
 * A record is a head of 16 bytes, a payload of whole 8-byte words, and a tail; little endian, without compiler padding.
 * The table below gives each kind its number, payload, order and shape; validation, id renumbering, encoding and
 * decoding use it. Numbers are part of the file format: never reuse one, add at the end.
 *
 *     X(number, NAME, payload struct, order, shape)
 *
 * order  ALLOC   stamped after the real call
 *        FREE    stamped and published before the real call, so that stamps order the lives of one address across threads
 *        PLAIN   neither
 *        DEVICE  the payload holds the device time of the event; the stamp is the time at which it became known
 *        DEF     defines an id of this stream
 *
 * shape  one letter per field:
 *        a  8 bytes, an address or handle
 *        q  8 bytes, a number
 *        k  8 bytes, ticks
 *        d  4 bytes, a number
 *        t  a text (struct ms_text_ref)
 *        f  4 bytes, number of frames in the tail
 *        l  4 bytes, number of bytes in the tail
 *
 * tail   the bytes of all inline texts in order, padded to 8; then frames (f) or bytes (l, padded to 8); then, with
 *        MS_RECORD_STACKS, one struct ms_stack_ids. */
#ifndef MS_TRACE_RECORDS_H
#define MS_TRACE_RECORDS_H

#include <stdint.h>

struct ms_record {
    uint8_t kind;   /* enum ms_record_kind */
    uint8_t flags;  /* MS_RECORD_* */
    uint16_t words; /* length of everything, head included, in 8-byte words */
    uint32_t arg;   /* small operand of the kind: device, pool and device, id that is defined ... */
    uint64_t stamp; /* ticks of the session clock; never smaller than the one before in the stream */
};

#define MS_RECORD_STACKS 0x01u /* the last word is struct ms_stack_ids */
#define MS_RECORD_SHADOW 0x02u /* recorded while not tracing: totals yes, rows no */
#define MS_RECORD_CUT    0x04u /* a text, a line table or a stack was longer than a record can be */
#define MS_RECORD_FLAGS  0x07u

#define MS_RECORD_MAX_B  16320u /* what a chunk holds */
#define MS_FRAMES_MAX    1000u  /* deepest stack that can be asked for; fits a record */

struct ms_stack_ids {
    uint32_t c;      /* 0: none */
    uint32_t python; /* 0: none; MS_STACK_NO_GIL: not to be had */
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

/* A text: an id of this stream, or id 0 and so many bytes in the tail. Texts of one record stand there in order of
 * their references. An id comes with length 0. */
struct ms_text_ref {
    uint32_t id;
    uint32_t length_b;
};

/* ---- payloads ---- */
struct ms_p_none { /* nothing */
};
struct ms_p_addr {
    uint64_t addr;
};
struct ms_p_hal_alloc { /* arg: 0 */
    uint64_t addr, size_b, flag;
};
struct ms_p_hal_create { /* arg: device */
    uint64_t handle, size_b;
    uint32_t side, module_id, page_type, mem_type;
};
struct ms_p_range {
    uint64_t addr, size_b;
};
struct ms_p_map {
    uint64_t addr, size_b, offset_b, handle;
};
struct ms_p_host_register { /* arg: flag */
    uint64_t addr, size_b;
};
struct ms_p_oom { /* arg: device */
    uint64_t size_b, flag;
    uint32_t function; /* enum ms_oom_function */
    uint32_t reserved;
};
enum ms_oom_function { MS_OOM_MEM_ALLOC = 1, MS_OOM_MEM_CREATE = 2 };
struct ms_p_pool_total { /* arg: pool and device */
    uint64_t total_b;
};
struct ms_p_pool_alloc { /* arg: pool and device */
    uint64_t addr, size_b;
};
struct ms_p_pool_free { /* arg: pool and device */
    uint64_t addr;
};
struct ms_p_heap { /* arg: pool and device; ATB: adds to or takes from the total */
    uint64_t addr, size_b;
};
struct ms_p_mark { /* arg: device (MS_DEV_UNKNOWN if none is current) */
    int64_t stream_id;
    struct ms_text_ref text;
};
struct ms_p_range_start { /* arg: device */
    uint64_t range_id;
    int64_t stream_id;
    struct ms_text_ref text;
};
struct ms_p_range_end { /* arg: device */
    uint64_t range_id;
};
struct ms_p_device { /* arg: device */
    int64_t result;
};
struct ms_p_kernel_launch { /* arg: device */
    uint32_t stream_id, task_id;
    struct ms_text_ref name;
};
struct ms_p_kernel_execute { /* arg: device */
    uint64_t counter;        /* device clock */
    uint32_t stream_id, task_id;
    uint32_t end; /* 0 begin, 1 end */
    uint32_t reserved;
    struct ms_text_ref name;
};
struct ms_p_device_clock { /* arg: device; the stamp is the middle of the query */
    uint64_t counter;
    uint64_t khz;
    uint64_t uncertainty; /* ticks between the readings around the query */
};
struct ms_p_op { /* arg: device; ATB operator or kernel, begin or end */
    uint64_t workspace_ptr, workspace_b;
    struct ms_text_ref name, path;
};
struct ms_p_access { /* arg: pool and device */
    uint64_t addr, size_b;
    uint32_t type; /* enum ms_access */
    uint32_t reserved;
    struct ms_text_ref name, attributes;
};
enum { MS_STOP_GOES_ON = 1 }; /* arg of STOP: nothing ends, but files are completed up to here */

enum ms_access { MS_ACCESS_UNKNOWN, MS_ACCESS_READ, MS_ACCESS_WRITE };
struct ms_p_snapshot { /* arg: device */
    uint64_t reserved_b, max_reserved_b, allocated_b, max_allocated_b, total_b, free_b;
    struct ms_text_ref name;
};
struct ms_p_label { /* arg: level */
    struct ms_text_ref label;
};
struct ms_p_addr_label { /* arg: level */
    uint64_t addr;
    struct ms_text_ref label;
};
struct ms_p_slice { /* one call of a Python trace; arg: what is missing (1 start, 2 end), and from bit 8 on the thread
                     * whose call it is, if not that of the stream */
    uint64_t start_stamp, end_stamp;
    struct ms_text_ref text;
};
struct ms_p_thread { /* arg: tid */
    struct ms_text_ref name;
};
struct ms_p_number {
    uint64_t value;
};
struct ms_p_text { /* DEF_TEXT: arg is the id */
    struct ms_text_ref text;
};
/* Frames are (module id, offset in it) for C, (code id, instruction) for Python; innermost first; behind the payload.
 */
struct ms_p_stack { /* arg: id */
    uint32_t frames;
    uint32_t cut; /* frames beyond the depth that was asked for */
};
struct ms_frame {
    uint32_t in; /* module or code id of this stream; 0: none, then offset is an address */
    uint32_t reserved;
    uint64_t offset;
};
struct ms_p_module { /* arg: id */
    uint64_t base, size_b;
    uint8_t build_id[24]; /* its first bytes */
    uint32_t build_id_b;
    uint32_t reserved;
    struct ms_text_ref path;
};
struct ms_p_code { /* arg: id; a Python code object */
    uint32_t first_line;
    uint32_t line_table_b; /* behind file and name, in the interpreter's own encoding */
    uint32_t version;      /* 0x030b: tells the encoding */
    uint32_t reserved;
    struct ms_text_ref file, name;
};

struct ms_p_gap { /* what could not be recorded; stamp: when recording went on */
    uint64_t since_stamp;
    uint64_t lost; /* records of all kinds */
    uint64_t lost_alloc, lost_free;
    uint32_t cause; /* enum ms_gap_cause */
    uint32_t reserved;
};
enum ms_gap_cause {
    MS_GAP_FULL = 1,      /* the collector did not keep up */
    MS_GAP_NO_ROOM = 2,   /* shared memory or stream heads are used up */
    MS_GAP_REENTERED = 3, /* a signal handler interrupted the recorder and had something to record */
    MS_GAP_TOO_LONG = 4,  /* does not fit a record */
    MS_GAP_DAMAGED = 5,   /* found unreadable by the collector */
    MS_GAP_DISK = 6,      /* could not be written */
    MS_GAP_UNMATCHED = 7, /* no gap: reports of a device about tasks whose launch was not seen; counted only */
    MS_GAP_CAUSES = 8,
};
struct ms_p_usage { /* by the collector; arg: device, MS_DEV_CPU: host memory */
    uint64_t device_used_b, process_used_b, total_b;
};
struct ms_p_recorder {    /* by the collector, at the end: what recording cost */
    uint64_t buffers_b;   /* shared memory in use at most */
    uint64_t drain_ns;    /* processor time of draining */
    uint64_t record_ps;   /* per record in the program, measured on this machine, without stacks; 0: unknown */
    uint64_t collector_b; /* resident memory of the collector, with all its processes */
};
struct ms_p_watch { /* arg: device; content of a watched tensor in front of or behind an operator or kernel */
    uint64_t addr, size_b;
    uint64_t hash;                  /* see agent/watch.h; 0 with MS_WATCH_UNREADABLE */
    uint32_t index;                 /* of the output */
    uint32_t flags;                 /* MS_WATCH_* */
    struct ms_text_ref point, name; /* operator with its thread and count; what is watched */
};
enum {
    MS_WATCH_AFTER = 1,       /* behind the operator, else in front of it */
    MS_WATCH_FULL = 2,        /* its bytes are in a file */
    MS_WATCH_UNREADABLE = 4,  /* they could not be read */
    MS_WATCH_WRITTEN = 8,     /* the operator says that it writes it */
    MS_WATCH_KERNEL = 16,     /* a kernel, not an operator */
    MS_WATCH_IN_OP = 32,      /* inside of an operator of its thread */
    MS_WATCH_CONCURRENT = 64, /* an operator of another thread is under way */
    MS_WATCH_FIRST = 128,     /* it is watched from here on */
    MS_WATCH_LAST = 256,      /* it is watched up to here */
};
struct ms_p_clock {  /* arg: enum ms_clock_kind of this stamp and those that follow */
    uint64_t before; /* last stamp in the clock before */
};

#define MS_DEV_UNKNOWN 9999u
#define MS_DEV_CPU     10000u

/* clang-format off */
#define MS_RECORDS(X)                                                          \
    X( 1, HAL_ALLOC,          struct ms_p_hal_alloc,      ALLOC,  "aqq")       \
    X( 2, HAL_FREE,           struct ms_p_addr,           FREE,   "a")         \
    X( 3, HAL_FREE_FAILED,    struct ms_p_addr,           PLAIN,  "a")         \
    X( 4, HAL_CREATE,         struct ms_p_hal_create,     ALLOC,  "aqdddd")    \
    X( 5, HAL_RELEASE,        struct ms_p_addr,           FREE,   "a")         \
    X( 6, HAL_RELEASE_FAILED, struct ms_p_addr,           PLAIN,  "a")         \
    X( 7, RESERVE,            struct ms_p_range,          ALLOC,  "aq")        \
    X( 8, ADDRESS_FREE,       struct ms_p_addr,           FREE,   "a")         \
    X( 9, MAP,                struct ms_p_map,            ALLOC,  "aqqa")      \
    X(10, UNMAP,              struct ms_p_addr,           FREE,   "a")         \
    X(11, HOST_REGISTER,      struct ms_p_host_register,  ALLOC,  "aq")        \
    X(12, HOST_UNREGISTER,    struct ms_p_addr,           FREE,   "a")         \
    X(13, OOM,                struct ms_p_oom,            PLAIN,  "qqdd")      \
    X(14, POOL_TOTAL,         struct ms_p_pool_total,     PLAIN,  "q")         \
    X(15, POOL_ALLOC,         struct ms_p_pool_alloc,     ALLOC,  "aq")        \
    X(16, POOL_FREE,          struct ms_p_pool_free,      FREE,   "a")         \
    X(17, HEAP_ADD,           struct ms_p_heap,           PLAIN,  "aq")        \
    X(18, HEAP_SUB,           struct ms_p_heap,           PLAIN,  "aq")        \
    X(19, MARK,               struct ms_p_mark,           PLAIN,  "qt")        \
    X(20, RANGE_START,        struct ms_p_range_start,    PLAIN,  "qqt")       \
    X(21, RANGE_END,          struct ms_p_range_end,      PLAIN,  "q")         \
    X(22, ACL_INIT,           struct ms_p_none,           PLAIN,  "")          \
    X(23, ACL_FINI,           struct ms_p_none,           PLAIN,  "")          \
    X(24, SET_DEVICE,         struct ms_p_device,         PLAIN,  "q")         \
    X(25, KERNEL_LAUNCH,      struct ms_p_kernel_launch,  PLAIN,  "ddt")       \
    X(26, KERNEL_EXECUTE,     struct ms_p_kernel_execute, DEVICE, "qddddt")    \
    X(27, DEVICE_CLOCK,       struct ms_p_device_clock,   PLAIN,  "qqq")       \
    X(28, OP_START,           struct ms_p_op,             PLAIN,  "aqtt")      \
    X(29, OP_END,             struct ms_p_op,             PLAIN,  "aqtt")      \
    X(30, OP_KERNEL_START,    struct ms_p_op,             PLAIN,  "aqtt")      \
    X(31, OP_KERNEL_END,      struct ms_p_op,             PLAIN,  "aqtt")      \
    X(32, ACCESS,             struct ms_p_access,         PLAIN,  "aqddtt")    \
    X(33, SNAPSHOT,           struct ms_p_snapshot,       PLAIN,  "qqqqqqt")   \
    X(34, STEP,               struct ms_p_number,         PLAIN,  "q")         \
    X(35, START,              struct ms_p_none,           PLAIN,  "")          \
    X(36, STOP,               struct ms_p_none,           PLAIN,  "")          \
    X(37, CONFIG,             struct ms_p_text,           PLAIN,  "t")         \
    X(38, LABEL_PUSH,         struct ms_p_label,          PLAIN,  "t")         \
    X(39, LABEL_POP,          struct ms_p_label,          PLAIN,  "t")         \
    X(40, ADDR_LABEL,         struct ms_p_addr_label,     PLAIN,  "at")        \
    X(41, SLICE,              struct ms_p_slice,          PLAIN,  "kkt")       \
    X(42, THREAD,             struct ms_p_thread,         PLAIN,  "t")         \
    X(43, GAP,                struct ms_p_gap,            PLAIN,  "kqqqdd")    \
    X(44, LOG,                struct ms_p_text,           PLAIN,  "t")         \
    X(45, USAGE,              struct ms_p_usage,          PLAIN,  "qqq")       \
    X(46, CLOCK,              struct ms_p_clock,          PLAIN,  "q")         \
    X(47, UNMAP_FAILED,       struct ms_p_addr,           PLAIN,  "a")         \
    X(48, ADDRESS_FREE_FAILED, struct ms_p_addr,          PLAIN,  "a")         \
    X(49, HOST_UNREGISTER_FAILED, struct ms_p_addr,       PLAIN,  "a")         \
    X(50, RECORDER,           struct ms_p_recorder,       PLAIN,  "qqqq")      \
    X(51, WATCH,              struct ms_p_watch,          PLAIN,  "aqqddtt")   \
    X(64, DEF_TEXT,           struct ms_p_text,           DEF,    "t")         \
    X(65, DEF_STACK,          struct ms_p_stack,          DEF,    "fd")        \
    X(66, DEF_PYSTACK,        struct ms_p_stack,          DEF,    "fd")        \
    X(67, DEF_MODULE,         struct ms_p_module,         DEF,    "aqqqqddt")  \
    X(68, DEF_CODE,           struct ms_p_code,           DEF,    "dlddtt")
/* clang-format on */

enum ms_record_kind {
    MS_R_NONE = 0, /* also what unwritten memory reads */
#define X(number, name, payload, order, shape) MS_R_##name = number,
    MS_RECORDS(X)
#undef X
        MS_R_LIMIT = 96, /* above every number; more is for versions to come */
};

enum ms_record_order { MS_ORDER_NONE, MS_ORDER_ALLOC, MS_ORDER_FREE, MS_ORDER_PLAIN, MS_ORDER_DEVICE, MS_ORDER_DEF };

_Static_assert(sizeof(struct ms_record) == 16, "record head");
#define X(number, name, payload, order, shape) _Static_assert(sizeof(payload) % 8 == 0, "payload of " #name);
MS_RECORDS(X)
#undef X

#define MS_WIDE_FIELDS 4

struct ms_record_spec {
    const char *name; /* NULL: there is no kind of that number */
    const char *shape;
    uint16_t payload_b;
    uint8_t order;  /* enum ms_record_order */
    uint8_t fields; /* letters of the shape */
    uint8_t plain;  /* 1: numbers only, no tail */
    uint8_t wide;   /* 1: besides, all of them are a or q, and few: the payload is an array of words */
};
extern const struct ms_record_spec ms_record_specs[MS_R_LIMIT];

/* Description of a kind; NULL if there is none of that number. */
static inline const struct ms_record_spec *ms_record_spec(unsigned kind)
{
    return kind < MS_R_LIMIT && ms_record_specs[kind].name != 0 ? &ms_record_specs[kind] : 0;
}

#endif
