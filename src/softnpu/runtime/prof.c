/* SPDX-License-Identifier: Apache-2.0 */
/* What the runtime reports to profilers: see prof.h for who calls what; the layouts are those of toolchain/prof_api.h
 * (host records) and abi/stars.h (device channels).
 *
 * Collection is switched by commands that libprofapi delivers to on_command. The switches are kept per device, as the
 * union of what was started and not stopped; the hot paths read one word. Record functions fill a record on the stack
 * and report it at once; nothing is queued here.
 *
 * Hash ids: getting the id of a text from libprofapi may call a tool, so the result is cached per name (struct
 * prof_name). It is requested again after every start command, because a tool that came with that command learns the
 * text from the request. Entries are found by the address of the name and confirmed by its text: if a name was freed
 * and its address now holds another text, that is a different entry. At most NAMES_MAX names are cached.
 *
 * Threads: any. Switches are atomics written under `switch_lock`. Entries of the name table never move and are never
 * freed; they are inserted by compare-and-swap. `acl_lock` serialises the allocation of type numbers. Both locks are
 * leaves; no tool is called under them.
 * Failure: a record that cannot be created is dropped; profiling never fails a call. */
#include "softnpu/runtime/prof.h"

#include "abi/stars.h"
#include "toolchain/prof_api.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    MODULE_RUNTIME = 7, /* the runtime's module number, as in the log */
    NAME_BUCKETS = 1024,
    NAMES_MAX = 16384,
    /* Types of level 5500: a collective's task on the caller's stream, or on one of the library's own. */
    HCCL_MASTER_TYPE = 0x010001,
    HCCL_SLAVE_TYPE = 0x010002,
};

uint64_t snpu_prof_switches[SNPU_MAX_DEVICES + 1];

static pthread_mutex_t switch_lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t generation = 1; /* changes with every start of a collection */

/* ---- switching ---- */

static void set_switches(uint32_t dev, uint64_t value)
{
    __atomic_store_n(&snpu_prof_switches[dev], value, __ATOMIC_RELAXED);
}

static int32_t on_command(uint32_t type, void *data, uint32_t len)
{
    const struct MsprofCommandHandle *c = data;
    if (type != PROF_CTRL_SWITCH || c == NULL || len < sizeof(*c) || c->devNums > MSPROF_MAX_DEV_NUM) {
        return -1;
    }
    pthread_mutex_lock(&switch_lock);
    for (uint32_t i = 0; i < c->devNums; i++) {
        uint32_t dev = c->devIdList[i];
        if (dev >= SNPU_MAX_DEVICES) {
            continue;
        }
        if (c->type == PROF_COMMANDHANDLE_TYPE_START) {
            set_switches(dev, snpu_prof_switches[dev] | c->profSwitch);
        } else if (c->type == PROF_COMMANDHANDLE_TYPE_STOP) {
            set_switches(dev, snpu_prof_switches[dev] & ~c->profSwitch);
        }
    }
    uint64_t all = 0;
    for (uint32_t dev = 0; dev < SNPU_MAX_DEVICES; dev++) {
        if (c->type == PROF_COMMANDHANDLE_TYPE_FINALIZE) {
            set_switches(dev, 0);
        }
        all |= snpu_prof_switches[dev];
    }
    set_switches(SNPU_MAX_DEVICES, all);
    if (c->type == PROF_COMMANDHANDLE_TYPE_START) {
        __atomic_add_fetch(&generation, 1, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&switch_lock);
    return 0;
}

static const struct {
    uint16_t level;
    uint32_t type;
    const char *name;
} type_names[] = {{MSPROF_REPORT_RUNTIME_LEVEL, RT_PROFILE_TYPE_MEMCPY_INFO, "memcpy_info"},
                  {MSPROF_REPORT_RUNTIME_LEVEL, RT_PROFILE_TYPE_TASK_TRACK, "task_track"},
                  {MSPROF_REPORT_RUNTIME_LEVEL, RT_PROFILE_TYPE_STREAM_SQ_INFO, "stream_sq_info"},
                  {MSPROF_REPORT_RUNTIME_LEVEL, RT_PROFILE_TYPE_MEMSET_INFO, "memset_info"},
                  {MSPROF_REPORT_RUNTIME_LEVEL, RT_PROFILE_TYPE_MEM_MNG_INFO, "mem_mng_info"},
                  {MSPROF_REPORT_NODE_LEVEL, MSPROF_REPORT_NODE_BASIC_INFO_TYPE, "node_basic_info"},
                  {MSPROF_REPORT_NODE_LEVEL, MSPROF_REPORT_NODE_LAUNCH_TYPE, "launch"},
                  {MSPROF_REPORT_NODE_LEVEL, MSPROF_REPORT_NODE_HCCL_OP_INFO_TYPE, "hccl_op_info"},
                  {MSPROF_REPORT_HCCL_NODE_LEVEL, HCCL_MASTER_TYPE, "master"},
                  {MSPROF_REPORT_HCCL_NODE_LEVEL, HCCL_SLAVE_TYPE, "slave"},
#define TASK(id, number, name) {MSPROF_REPORT_RUNTIME_LEVEL, number, name},
#define CALL(id, number, name) {MSPROF_REPORT_RUNTIME_LEVEL, RT_PROFILE_TYPE_API_BEGIN + number, name},
                  SNPU_PROF_TASK_TYPES(TASK) SNPU_PROF_RT_APIS(CALL)
#undef TASK
#undef CALL
};

static void init_once(void)
{
    for (size_t i = 0; i < MS_COUNT_OF(type_names); i++) {
        MsprofRegTypeInfo(type_names[i].level, type_names[i].type, type_names[i].name);
    }
    MsprofRegisterCallback(MODULE_RUNTIME, on_command);
}

void snpu_prof_init(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, init_once);
}

/* ---- names ---- */

struct prof_name {
    struct prof_name *next;
    const char *name; /* address where it was seen; compared, never dereferenced */
    const char *text; /* libprofapi's copy */
    uint64_t hash;    /* valid in this generation */
    uint32_t generation;
    uint32_t acl_type; /* level 20000; 0: not allocated yet */
};

static struct prof_name *name_buckets[NAME_BUCKETS];
static uint32_t name_count;

/* The entry of a name, created on first use; NULL if the table or libprofapi's store is full. */
static struct prof_name *name_entry(const char *name)
{
    struct prof_name **bucket = &name_buckets[((uintptr_t)name >> 3 ^ (uintptr_t)name >> 13) % NAME_BUCKETS];
    struct prof_name *first = __atomic_load_n(bucket, __ATOMIC_ACQUIRE);
    for (struct prof_name *k = first; k != NULL; k = k->next) {
        if (k->name == name && strcmp(k->text, name) == 0) {
            return k;
        }
    }
    const char *text = MsprofId2Str(MsprofStr2Id(name, strlen(name)));
    if (text == NULL || strcmp(text, name) != 0 || __atomic_load_n(&name_count, __ATOMIC_RELAXED) >= NAMES_MAX) {
        return NULL; /* strcmp: two texts may share an id, and only the first is kept */
    }
    struct prof_name *k = calloc(1, sizeof(*k));
    if (k == NULL) {
        return NULL;
    }
    k->name = name;
    k->text = text;
    __atomic_add_fetch(&name_count, 1, __ATOMIC_RELAXED);
    do {
        k->next = first; /* a duplicate inserted concurrently by another thread is harmless */
    } while (!__atomic_compare_exchange_n(bucket, &first, k, false, __ATOMIC_RELEASE, __ATOMIC_ACQUIRE));
    return k;
}

static uint64_t hash_of(const char *name)
{
    if (name == NULL || *name == '\0') {
        return 0;
    }
    struct prof_name *k = name_entry(name);
    if (k == NULL) {
        return MsprofGetHashId(name, strlen(name));
    }
    uint32_t now = __atomic_load_n(&generation, __ATOMIC_ACQUIRE);
    if (__atomic_load_n(&k->generation, __ATOMIC_ACQUIRE) != now) {
        __atomic_store_n(&k->hash, MsprofGetHashId(name, strlen(name)), __ATOMIC_RELAXED);
        __atomic_store_n(&k->generation, now, __ATOMIC_RELEASE);
    }
    return __atomic_load_n(&k->hash, __ATOMIC_RELAXED);
}

/* ---- records ---- */

static uint32_t thread_id(void)
{
    static __thread uint32_t id;
    if (MS_UNLIKELY(id == 0)) {
        id = (uint32_t)syscall(SYS_gettid);
    }
    return id;
}

uint64_t snpu_prof_now(void)
{
    uint64_t t = MsprofSysCycleTime();
    return t != 0 ? t : 1;
}

/* The head of a compact record; the caller fills data. A task recorded into a model is persistent: flag 0. */
static struct MsprofCompactInfo compact(uint16_t level, uint32_t type, uint32_t data_b, uint64_t time)
{
    struct MsprofCompactInfo info;
    memset(&info, 0, sizeof(info)); /* padding included */
    info.magicNumber = MSPROF_REPORT_DATA_MAGIC_NUM;
    info.level = level;
    info.type = type;
    info.threadId = thread_id();
    info.dataLen = data_b;
    info.timeStamp = time;
    return info;
}

static void report_compact(uint32_t non_persistent, struct MsprofCompactInfo *info)
{
    MsprofReportCompactInfo(non_persistent, info, sizeof(*info));
}

static void report_api(uint16_t level, uint32_t type, uint64_t begin, uint64_t item_id)
{
    struct MsprofApi api = {
        .magicNumber = MSPROF_REPORT_DATA_MAGIC_NUM,
        .level = level,
        .type = type,
        .threadId = thread_id(),
        .beginTime = begin,
        .endTime = snpu_prof_now(),
        .itemId = item_id,
    };
    MsprofReportApi(1, &api);
}

/* ---- tasks ---- */

static void report_track(uint32_t non_persistent, uint32_t dev, uint32_t stream_id, uint32_t task_id,
                         uint32_t task_type, uint64_t kernel_hash, uint16_t blocks, uint16_t args_b)
{
    struct MsprofCompactInfo info = compact(MSPROF_REPORT_RUNTIME_LEVEL, RT_PROFILE_TYPE_TASK_TRACK,
                                            sizeof(info.data.runtimeTrack), snpu_prof_now());
    struct MsprofRuntimeTrack *t = &info.data.runtimeTrack;
    t->deviceId = (uint16_t)dev;
    t->streamId = (uint16_t)stream_id;
    t->taskId = task_id; /* high half: how often the id has wrapped */
    t->taskType = task_type;
    t->kernelName = kernel_hash;
    t->extInfo.kernelInfo.numBlocks = blocks;
    t->extInfo.kernelInfo.argsSize = args_b;
    report_compact(non_persistent, &info);
}

static void track(uint32_t non_persistent, uint32_t dev, uint32_t stream_id, uint32_t task_id, uint32_t task_type,
                  const char *kernel_name, uint16_t blocks, uint16_t args_b)
{
    if (task_id != 0 && (task_id & 0xffff) == 0) {
        report_track(1, dev, stream_id, task_id, SNPU_TASK_FLIP, 0, 0, 0);
    }
    report_track(non_persistent, dev, stream_id, task_id, task_type, hash_of(kernel_name), blocks, args_b);
}

void snpu_prof_task_track(uint32_t dev, uint32_t stream_id, uint32_t task_id, uint32_t task_type,
                          const char *kernel_name, uint16_t blocks, uint16_t args_b)
{
    track(1, dev, stream_id, task_id, task_type, kernel_name, blocks, args_b);
}

void snpu_prof_task_track_captured(uint32_t dev, uint32_t stream_id, uint32_t task_id, uint32_t task_type,
                                   const char *kernel_name, uint16_t blocks, uint16_t args_b)
{
    track(0, dev, stream_id, task_id, task_type, kernel_name, blocks, args_b);
}

/* Type of the hardware queue entry that carries a task. */
static uint32_t queue_entry_type(uint32_t task_type)
{
    switch (task_type) {
    case SNPU_TASK_KERNEL_AICORE:
    case SNPU_TASK_KERNEL_AIVEC:
    case SNPU_TASK_KERNEL_MIX_AIC:
    case SNPU_TASK_KERNEL_MIX_AIV:
    case SNPU_TASK_KERNEL_FUSION:
        return 0;
    case SNPU_TASK_KERNEL_AICPU:
        return 1;
    case SNPU_TASK_EVENT_RECORD:
        return 4;
    case SNPU_TASK_EVENT_WAIT:
        return 5;
    case SNPU_TASK_NOTIFY_RECORD:
        return 6;
    case SNPU_TASK_NOTIFY_WAIT:
        return 7;
    case SNPU_TASK_WRITE_VALUE:
        return 8;
    case SNPU_TASK_MEMCPY_ASYNC:
        return 11; /* copy engine */
    default:
        return 3; /* placeholder: handled by the task scheduler itself */
    }
}

/* An entry of the task log in plain encoding: a stream number below 2048, no flag bits. */
static void log_task(uint32_t function, uint32_t dev, uint32_t stream_id, uint32_t task_id, uint32_t task_type)
{
    struct StarsSocLog log = {
        .funcType = (uint16_t)(function & 0x3f),
        .sqeType = (uint16_t)(queue_entry_type(task_type) & 0x3f),
        .streamId = (uint16_t)stream_id,
        .taskId = (uint16_t)task_id,
        .timestamp = snpu_hal_counter(),
        .acsqId = (uint16_t)(stream_id & 0x3ff),
    };
    snpu_hal_prof_push(dev, SNPU_CHANNEL_STARS, &log, sizeof(log));
}

void snpu_prof_task_begin(uint32_t dev, uint32_t stream_id, uint32_t task_id, uint32_t task_type)
{
    if (MS_UNLIKELY(snpu_hal_prof_on(dev, SNPU_CHANNEL_STARS))) {
        log_task(STARS_FUNC_TASK_BEGIN, dev, stream_id, task_id, task_type);
    }
}

void snpu_prof_task_end(uint32_t dev, uint32_t stream_id, uint32_t task_id, uint32_t task_type)
{
    if (MS_UNLIKELY(snpu_hal_prof_on(dev, SNPU_CHANNEL_STARS))) {
        log_task(STARS_FUNC_TASK_END, dev, stream_id, task_id, task_type);
    }
}

void snpu_prof_step_trace(uint32_t dev, uint32_t stream_id, uint32_t task_id, uint64_t index_id, uint64_t model_id,
                          uint16_t tag_id)
{
    if (!snpu_hal_prof_on(dev, SNPU_CHANNEL_TSFW)) {
        return;
    }
    struct StepTrace mark = {
        .tsTraceHead = {.rptType = TS_RPT_STEP_TRACE, .bufSize = sizeof(mark)},
        .timestamp = snpu_hal_counter(),
        .indexId = index_id,
        .modelId = model_id,
        .streamId = (uint16_t)stream_id,
        .taskId = (uint16_t)task_id,
        .tagId = tag_id,
    };
    snpu_hal_prof_push(dev, SNPU_CHANNEL_TSFW, &mark, sizeof(mark));
}

/* ---- memory, streams, devices ---- */

void snpu_prof_memcpy(uint32_t dev, uint32_t stream_id, uint64_t size_b, uint16_t kind)
{
    if (snpu_prof_on(dev, SNPU_PROF_TRACKS | SNPU_PROF_RT_CALLS)) {
        struct MsprofCompactInfo info = compact(MSPROF_REPORT_RUNTIME_LEVEL, RT_PROFILE_TYPE_MEMCPY_INFO,
                                                sizeof(info.data.memcpyInfo), snpu_prof_now());
        info.data.memcpyInfo.bytes = size_b;
        info.data.memcpyInfo.copyKind = kind;
        info.data.memcpyInfo.deviceId = (uint16_t)dev;
        info.data.memcpyInfo.streamId = stream_id;
        report_compact(1, &info);
    }
}

void snpu_prof_memset(uint32_t dev, uint32_t stream_id, uint64_t size_b, uint32_t value)
{
    if (snpu_prof_on(dev, SNPU_PROF_TRACKS | SNPU_PROF_RT_CALLS)) {
        struct MsprofCompactInfo info = compact(MSPROF_REPORT_RUNTIME_LEVEL, RT_PROFILE_TYPE_MEMSET_INFO,
                                                sizeof(info.data.memsetInfo), snpu_prof_now());
        info.data.memsetInfo.bytes = size_b;
        info.data.memsetInfo.value = value;
        info.data.memsetInfo.streamId = stream_id;
        info.data.memsetInfo.deviceId = (uint16_t)dev;
        report_compact(1, &info);
    }
}

void snpu_prof_mem_mng(uint32_t dev, uint32_t stream_id, uint64_t address, uint64_t size_b,
                       enum snpu_prof_memory memory, enum snpu_prof_mem_op op)
{
    if (snpu_prof_on(dev, SNPU_PROF_TRACKS | SNPU_PROF_RT_CALLS)) {
        struct MsprofCompactInfo info = compact(MSPROF_REPORT_RUNTIME_LEVEL, RT_PROFILE_TYPE_MEM_MNG_INFO,
                                                sizeof(info.data.memMngInfo), snpu_prof_now());
        info.data.memMngInfo.address = address;
        info.data.memMngInfo.size = size_b;
        info.data.memMngInfo.memoryType = memory;
        info.data.memMngInfo.memMngType = (uint16_t)op;
        info.data.memMngInfo.deviceId = (uint16_t)dev;
        info.data.memMngInfo.streamId = stream_id;
        report_compact(1, &info);
    }
}

void snpu_prof_stream(uint32_t dev, uint32_t stream_id, bool created)
{
    if (snpu_prof_tracks_on(dev)) {
        struct MsprofCompactInfo info = compact(MSPROF_REPORT_RUNTIME_LEVEL, RT_PROFILE_TYPE_STREAM_SQ_INFO,
                                                sizeof(info.data.streamSqInfo), snpu_prof_now());
        info.data.streamSqInfo.streamStatus = created;
        info.data.streamSqInfo.streamId = stream_id;
        info.data.streamSqInfo.rtsqId = (uint16_t)stream_id; /* every stream has the queue with its own number */
        info.data.streamSqInfo.deviceId = (uint16_t)dev;
        report_compact(0, &info);
    }
}

void snpu_prof_device(uint32_t dev, bool open)
{
    MsprofNotifySetDevice(0, dev, open);
}

/* ---- calls ---- */

void snpu_prof_rt_report(const struct snpu_prof_scope *scope)
{
    report_api(MSPROF_REPORT_RUNTIME_LEVEL, RT_PROFILE_TYPE_API_BEGIN + scope->api, scope->begin, 0);
}

/* First type number of a family of functions. */
static uint32_t acl_base_type(const char *name)
{
    static const struct {
        const char *prefix;
        uint32_t base;
    } families[] = {
        {"aclnn", 0x050000},
        {"aclop", MSPROF_REPORT_ACL_OP_BASE_TYPE},
        {"aclmdl", MSPROF_REPORT_ACL_MODEL_BASE_TYPE},
        {"aclrt", MSPROF_REPORT_ACL_RUNTIME_BASE_TYPE},
        {"Hccl", 0x070000},
    };
    for (size_t i = 0; i < MS_COUNT_OF(families); i++) {
        if (strncmp(name, families[i].prefix, strlen(families[i].prefix)) == 0) {
            return families[i].base;
        }
    }
    return MSPROF_REPORT_ACL_OTHERS_BASE_TYPE;
}

/* Type number of an ACL function, allocated and announced on first use. 0 if there are none left. */
static uint32_t acl_type(const char *name)
{
    static pthread_mutex_t acl_lock = PTHREAD_MUTEX_INITIALIZER;
    static struct {
        const char *text;
        uint32_t type;
    } given[2048];
    static uint32_t count;

    struct prof_name *k = name_entry(name);
    if (k == NULL) {
        return 0;
    }
    uint32_t type = __atomic_load_n(&k->acl_type, __ATOMIC_ACQUIRE);
    if (MS_LIKELY(type != 0)) {
        return type;
    }
    pthread_mutex_lock(&acl_lock);
    for (uint32_t i = 0; i < count && type == 0; i++) {
        type = given[i].text == k->text ? given[i].type : 0; /* copies are unique: same text, same address */
    }
    if (type == 0 && count < MS_COUNT_OF(given)) {
        type = acl_base_type(name) + ++count;
        given[count - 1].text = k->text;
        given[count - 1].type = type;
    }
    pthread_mutex_unlock(&acl_lock);
    if (type != 0) {
        /* Outside the lock: a tool that receives it may call ACL itself. Announcing it twice from two threads is
         * harmless. */
        MsprofRegTypeInfo(MSPROF_REPORT_ACL_LEVEL, type, name);
        __atomic_store_n(&k->acl_type, type, __ATOMIC_RELEASE);
    }
    return type;
}

void snpu_prof_acl_report(const struct snpu_prof_scope *scope)
{
    uint32_t type = acl_type(scope->name);
    if (type != 0) {
        report_api(MSPROF_REPORT_ACL_LEVEL, type, scope->begin, 0);
    }
}

/* ---- operators and collectives ---- */

void snpu_prof_node_end(uint64_t begin, const char *op_name, const char *op_type, uint32_t task_type, uint32_t blocks)
{
    if (begin == 0) {
        return;
    }
    uint64_t name = hash_of(op_name);
    struct MsprofCompactInfo info = compact(MSPROF_REPORT_NODE_LEVEL, MSPROF_REPORT_NODE_BASIC_INFO_TYPE,
                                            sizeof(info.data.nodeBasicInfo), begin + 1);
    info.data.nodeBasicInfo.opName = name;
    info.data.nodeBasicInfo.taskType = task_type;
    info.data.nodeBasicInfo.opType = hash_of(op_type);
    info.data.nodeBasicInfo.blockDim = blocks;
    report_compact(1, &info);
    report_api(MSPROF_REPORT_NODE_LEVEL, MSPROF_REPORT_NODE_LAUNCH_TYPE, begin, name);
}

void snpu_prof_hccl_task(uint64_t begin, const char *name, bool master)
{
    if (begin != 0) {
        report_api(MSPROF_REPORT_HCCL_NODE_LEVEL, master ? HCCL_MASTER_TYPE : HCCL_SLAVE_TYPE, begin, hash_of(name));
    }
}

void snpu_prof_hccl_op(uint64_t begin, const struct snpu_prof_hccl_op *op)
{
    if (begin == 0) {
        return;
    }
    /* Inside the launch by time: that is where profilers look for it. */
    struct MsprofCompactInfo info = compact(MSPROF_REPORT_NODE_LEVEL, MSPROF_REPORT_NODE_HCCL_OP_INFO_TYPE,
                                            sizeof(info.data.hcclopInfo), begin + 1);
    info.data.hcclopInfo.dataType = op->data_type;
    info.data.hcclopInfo.algType = hash_of(op->alg);
    info.data.hcclopInfo.count = op->count;
    info.data.hcclopInfo.groupName = hash_of(op->group);
    report_compact(1, &info);
    report_api(MSPROF_REPORT_NODE_LEVEL, MSPROF_REPORT_NODE_LAUNCH_TYPE, begin, hash_of(op->name));
}
