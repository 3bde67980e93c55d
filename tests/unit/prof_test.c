/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime's records, byte by byte, as a profiler receives them. The functions below replace the driver. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "softnpu/runtime/prof.h"
#include "toolchain/prof_api.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- fake driver: keeps one channel entry ---- */

static bool channel_on[64];
static struct {
    int count;
    uint32_t dev, channel, size_b;
    uint8_t bytes[64];
} pushed;

uint64_t snpu_hal_counter(void)
{
    return 0x1122334455667788;
}

bool snpu_hal_prof_on(uint32_t dev, uint32_t channel)
{
    return dev == 3 && channel_on[channel];
}

void snpu_hal_prof_push(uint32_t dev, uint32_t channel, const void *record, uint32_t size_b)
{
    pushed.count++;
    pushed.dev = dev;
    pushed.channel = channel;
    pushed.size_b = size_b;
    assert_true(size_b <= sizeof(pushed.bytes));
    memcpy(pushed.bytes, record, size_b);
}

/* ---- fake tool: keeps what it receives, in order ---- */

enum { MAX_SEEN = 16 };
static struct {
    enum { API, COMPACT } kind;
    uint32_t aging;
    uint8_t bytes[64];
} seen[MAX_SEEN];
static int seen_count, hash_calls;

static int32_t on_api(uint32_t aging, const struct MsprofApi *api)
{
    assert_true(seen_count < MAX_SEEN);
    seen[seen_count].kind = API;
    seen[seen_count].aging = aging;
    memcpy(seen[seen_count++].bytes, api, 40);
    return 0;
}

static int32_t on_compact(uint32_t aging, const void *data, uint32_t len)
{
    assert_true(seen_count < MAX_SEEN);
    assert_int_equal(len, 64);
    seen[seen_count].kind = COMPACT;
    seen[seen_count].aging = aging;
    memcpy(seen[seen_count++].bytes, data, 64);
    return 0;
}

/* Easily recognised ids: the length of the text. */
static uint64_t on_hash(const char *text, size_t len)
{
    hash_calls++;
    return 0x4800 + len;
}

static char names[4][64];

static int32_t on_type(uint16_t level, uint32_t type, const char *name, size_t len)
{
    static const struct {
        uint16_t level;
        uint32_t type;
    } wanted[] = {{5000, 66}, {5000, 1014}, {5500, 0x010001}};
    for (size_t i = 0; i < MS_COUNT_OF(wanted); i++) {
        if (level == wanted[i].level && type == wanted[i].type) {
            snprintf(names[i], sizeof(names[i]), "%s", name);
        }
    }
    if (level == 20000) {
        snprintf(names[3], sizeof(names[3]), "%s=%x", name, type);
    }
    return 0;
}

static void command(uint32_t type, uint64_t switches, uint32_t dev)
{
    struct MsprofCommandHandle c;
    memset(&c, 0, sizeof(c));
    c.profSwitch = switches;
    c.devNums = 1;
    c.devIdList[0] = dev;
    c.modelId = 0xffffffff;
    c.type = type;
    assert_int_equal(profSetProfCommand(&c, sizeof(c)), 0);
}

static void start(uint64_t switches)
{
    seen_count = 0;
    command(PROF_COMMANDHANDLE_TYPE_START, switches, 3);
}

static void stop(void)
{
    command(PROF_COMMANDHANDLE_TYPE_FINALIZE, 0, 3);
}

static uint64_t get(const void *bytes, size_t off, size_t size_b)
{
    uint64_t v = 0;
    memcpy(&v, (const char *)bytes + off, size_b);
    return v;
}

#define U8(i, off)  get(seen[i].bytes, off, 1)
#define U16(i, off) get(seen[i].bytes, off, 2)
#define U32(i, off) get(seen[i].bytes, off, 4)
#define U64(i, off) get(seen[i].bytes, off, 8)

static void check_compact(int i, uint16_t level, uint32_t type, uint32_t data_b)
{
    assert_int_equal(seen[i].kind, COMPACT);
    assert_int_equal(U16(i, 0), 0x5a5a);
    assert_int_equal(U16(i, 2), level);
    assert_int_equal(U32(i, 4), type);
    assert_int_equal(U32(i, 8), syscall(SYS_gettid));
    assert_int_equal(U32(i, 12), data_b);
    assert_true(U64(i, 16) != 0 && U64(i, 16) <= MsprofSysCycleTime());
}

static void check_api(int i, uint16_t level, uint32_t type, uint64_t item)
{
    assert_int_equal(seen[i].kind, API);
    assert_int_equal(seen[i].aging, 1);
    assert_int_equal(U16(i, 0), 0x5a5a);
    assert_int_equal(U16(i, 2), level);
    assert_int_equal(U32(i, 4), type);
    assert_int_equal(U32(i, 8), syscall(SYS_gettid));
    assert_int_equal(U32(i, 12), 0);
    assert_true(U64(i, 16) != 0 && U64(i, 16) <= U64(i, 24) && U64(i, 24) <= MsprofSysCycleTime());
    assert_int_equal(U64(i, 32), item);
}

/* ---- tests ---- */

static void switches(void **state)
{
    assert_false(snpu_prof_tracks_on(3));
    assert_false(snpu_prof_host_on(~0ull));
    start(0x800);
    assert_true(snpu_prof_tracks_on(3));
    assert_false(snpu_prof_tracks_on(2));
    assert_false(snpu_prof_host_on(SNPU_PROF_RT_CALLS));
    start(0x4000000); /* a second collection */
    assert_true(snpu_prof_host_on(SNPU_PROF_RT_CALLS));
    command(PROF_COMMANDHANDLE_TYPE_STOP, 0x800, 3);
    assert_true(snpu_prof_tracks_on(3));
    command(PROF_COMMANDHANDLE_TYPE_STOP, 0x4000000, 3);
    assert_false(snpu_prof_tracks_on(3));
    assert_false(snpu_prof_host_on(~0ull));
    static const uint64_t tracks[] = {0x2, 0x800, 0x4000000};
    for (size_t i = 0; i < MS_COUNT_OF(tracks); i++) {
        start(tracks[i]);
        assert_true(snpu_prof_tracks_on(3));
        stop();
        assert_false(snpu_prof_tracks_on(3));
    }
    start(0x1 | 0x20 | 0x80 | 0x100);
    assert_false(snpu_prof_tracks_on(3));
    stop();
    command(PROF_COMMANDHANDLE_TYPE_START, 0x800, 70); /* no such device */
    assert_false(snpu_prof_host_on(~0ull));
}

static void names_are_announced(void **state)
{
    assert_string_equal(names[0], "KERNEL_AIVEC");
    assert_string_equal(names[1], "DevMalloc");
    assert_string_equal(names[2], "master");
}

static void task_track(void **state)
{
    start(0x800);
    snpu_prof_task_track(3, 17, 0x00020005, SNPU_TASK_KERNEL_MIX_AIC, "MatMul", 24, 96);
    stop();
    assert_int_equal(seen_count, 1);
    assert_int_equal(seen[0].aging, 1);
    check_compact(0, 5000, 802, 40);
    assert_int_equal(U16(0, 24), 3);          /* device */
    assert_int_equal(U16(0, 26), 17);         /* stream */
    assert_int_equal(U32(0, 28), 0x00020005); /* task, low half as in the log */
    assert_int_equal(U64(0, 32), 108);        /* type */
    assert_int_equal(U64(0, 40), 0x4806);     /* name */
    assert_int_equal(U16(0, 48), 24);         /* blocks */
    assert_int_equal(U16(0, 50), 96);         /* size of the arguments */
    assert_int_equal(U32(0, 52), 0);
    assert_int_equal(U64(0, 56), 0);

    start(0x800);
    snpu_prof_task_track_captured(3, 17, 6, SNPU_TASK_KERNEL_AICORE, NULL, 1, 0);
    stop();
    assert_int_equal(seen_count, 1);
    assert_int_equal(seen[0].aging, 0); /* kept for replays */
    assert_int_equal(U64(0, 40), 0);    /* no name */
}

static void a_wrapped_id_is_announced(void **state)
{
    start(0x800);
    snpu_prof_task_track(3, 1, 0, SNPU_TASK_KERNEL_AICORE, "Add", 1, 0); /* the first id is not a wrap */
    assert_int_equal(seen_count, 1);
    snpu_prof_task_track(3, 1, 0x10000, SNPU_TASK_KERNEL_AICORE, "Add", 1, 0);
    stop();
    assert_int_equal(seen_count, 3);
    check_compact(1, 5000, 802, 40);
    assert_int_equal(U32(1, 28), 0x10000);
    assert_int_equal(U64(1, 32), 98);
    assert_int_equal(U64(1, 40), 0);
    assert_int_equal(U64(2, 32), 0);
}

static void names_are_hashed_once_per_collection(void **state)
{
    static const char name[] = "OnceOnly";
    char moved[16] = "OnceOnly";
    start(0x800);
    int before = hash_calls;
    for (int i = 0; i < 5; i++) {
        snpu_prof_task_track(3, 1, 1, 0, name, 1, 0);
    }
    assert_int_equal(hash_calls, before + 1);
    snpu_prof_task_track(3, 1, 1, 0, moved, 1, 0); /* another address */
    assert_int_equal(hash_calls, before + 2);
    strcpy(moved, "Longer one"); /* the same address, another text */
    snpu_prof_task_track(3, 1, 1, 0, moved, 1, 0);
    assert_int_equal(hash_calls, before + 3);
    assert_int_equal(U64(6, 40), 0x480a);
    start(0x800); /* a tool that came with this start must learn the name */
    snpu_prof_task_track(3, 1, 1, 0, name, 1, 0);
    assert_int_equal(hash_calls, before + 4);
    stop();
}

static void memory_records(void **state)
{
    snpu_prof_memcpy(3, 7, 4096, 1); /* off */
    snpu_prof_memset(3, 7, 4096, 1);
    snpu_prof_mem_mng(3, 7, 1, 1, SNPU_PROF_MEM_DEVICE, SNPU_PROF_FREE);
    start(0x100);
    snpu_prof_memcpy(3, 7, 0x123456789a, 2);
    snpu_prof_memset(3, SNPU_PROF_NO_STREAM, 4096, 0xab);
    snpu_prof_mem_mng(3, SNPU_PROF_NO_STREAM, 0x120000000000, 8192, SNPU_PROF_MEM_DEVICE, SNPU_PROF_FREE);
    stop();
    assert_int_equal(seen_count, 3);
    check_compact(0, 5000, 801, 16);
    assert_int_equal(U64(0, 24), 0x123456789a);
    assert_int_equal(U16(0, 32), 2); /* kind */
    assert_int_equal(U16(0, 34), 3); /* device */
    assert_int_equal(U32(0, 36), 7); /* stream */
    check_compact(1, 5000, 811, 24);
    assert_int_equal(U64(1, 24), 4096);
    assert_int_equal(U32(1, 32), 0xab);
    assert_int_equal(U32(1, 36), 0xffffffff);
    assert_int_equal(U16(1, 40), 3);
    check_compact(2, 5000, 812, 32);
    assert_int_equal(U64(2, 24), 0x120000000000);
    assert_int_equal(U64(2, 32), 8192);
    assert_int_equal(U32(2, 40), 2); /* device memory */
    assert_int_equal(U16(2, 44), 1); /* free */
    assert_int_equal(U16(2, 46), 3);
    assert_int_equal(U32(2, 48), 0xffffffff);
}

static void streams(void **state)
{
    start(0x800);
    snpu_prof_stream(3, 9, true);
    snpu_prof_stream(3, 9, false);
    snpu_prof_stream(2, 9, true); /* not collected */
    stop();
    assert_int_equal(seen_count, 2);
    check_compact(0, 5000, 807, 16);
    assert_int_equal(U16(0, 24), 1);
    assert_int_equal(U32(0, 28), 9);
    assert_int_equal(U16(0, 32), 9);
    assert_int_equal(U16(0, 34), 3);
    assert_int_equal(U16(0, 36), 0);
    assert_int_equal(U16(1, 24), 0);
}

static void task_log(void **state)
{
    pushed.count = 0;
    snpu_prof_task_begin(3, 5, 0x30007, SNPU_TASK_KERNEL_AIVEC);
    assert_int_equal(pushed.count, 0);
    channel_on[50] = true;
    snpu_prof_task_begin(3, 5, 0x30007, SNPU_TASK_KERNEL_AIVEC);
    snpu_prof_task_begin(2, 5, 1, SNPU_TASK_KERNEL_AIVEC); /* off on that device */
    assert_true(pushed.count == 1 && pushed.dev == 3 && pushed.channel == 50 && pushed.size_b == 64);
    uint8_t begin[64] = {0, 0, 0, 0, 5, 0, 7, 0, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11};
    begin[18] = 0x40; /* queue 5 in bits 6-15: 0x0140 */
    begin[19] = 0x01;
    assert_memory_equal(pushed.bytes, begin, 64);
    snpu_prof_task_end(3, 2047, 0xffff, SNPU_TASK_MEMCPY_ASYNC);
    assert_int_equal(pushed.count, 2);
    assert_int_equal(get(pushed.bytes, 0, 4), 1 | 11 << 10); /* end; copy engine */
    assert_int_equal(get(pushed.bytes, 4, 2), 2047);
    assert_int_equal(get(pushed.bytes, 6, 2), 0xffff);
    snpu_prof_task_end(3, 1, 1, SNPU_TASK_EVENT_WAIT);
    assert_int_equal(get(pushed.bytes, 0, 4), 1 | 5 << 10);
    snpu_prof_task_end(3, 1, 1, SNPU_TASK_HOSTFUNC_CALLBACK);
    assert_int_equal(get(pushed.bytes, 0, 4), 1 | 3 << 10);
    channel_on[50] = false;
}

static void step_trace(void **state)
{
    pushed.count = 0;
    snpu_prof_step_trace(3, 5, 6, 1, 2, 11);
    assert_int_equal(pushed.count, 0);
    channel_on[44] = true;
    snpu_prof_step_trace(3, 5, 0x10006, 0xa1, 0xb2, 11);
    channel_on[44] = false;
    assert_true(pushed.count == 1 && pushed.channel == 44 && pushed.size_b == 40);
    const uint8_t expected[40] = {0,    10,   40,   0,    0,    0,    0,    0,    /* mode, type, size */
                                  0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, /* counter */
                                  0xa1, 0,    0,    0,    0,    0,    0,    0,    /* index */
                                  0xb2, 0,    0,    0,    0,    0,    0,    0,    /* model */
                                  5,    0,    6,    0,    11,   0,    0,    0};   /* stream, task, tag */
    assert_memory_equal(pushed.bytes, expected, 40);
}

static int call_runtime(int x)
{
    SNPU_PROF_RT_CALL(DEV_MALLOC);
    return x > 0 ? x + 1 : -1; /* every return path is reported */
}

static int call_acl(const char *name)
{
    SNPU_PROF_ACL_CALL(name);
    return call_runtime(1);
}

static void calls(void **state)
{
    seen_count = 0;
    assert_int_equal(call_acl("aclrtMalloc"), 2);
    assert_int_equal(seen_count, 0);

    start(0x100);
    assert_int_equal(call_runtime(-5), -1);
    assert_int_equal(call_acl("aclrtMalloc"), 2);
    stop();
    assert_int_equal(seen_count, 2);
    check_api(0, 5000, 1014, 0);
    check_api(1, 5000, 1014, 0);

    start(0x1);
    call_acl("aclrtMalloc");
    call_acl("aclnnAdd");
    call_acl("aclrtMalloc");
    stop();
    assert_int_equal(seen_count, 3);
    check_api(0, 20000, (uint32_t)U32(0, 4), 0);
    assert_int_equal(U32(0, 4) >> 16, 3); /* runtime functions */
    assert_int_equal(U32(1, 4) >> 16, 5); /* operators */
    assert_int_equal(U32(2, 4), U32(0, 4));
    char announced[64];
    snprintf(announced, sizeof(announced), "aclnnAdd=%x", (unsigned)U32(1, 4));
    assert_string_equal(names[3], announced);
}

static void operators(void **state)
{
    assert_int_equal(snpu_prof_node_begin(), 0);
    seen_count = 0;
    snpu_prof_node_end(0, "x", "y", 0, 0);
    assert_int_equal(seen_count, 0);
    start(0x801);
    uint64_t begin = snpu_prof_node_begin();
    assert_int_not_equal(begin, 0);
    snpu_prof_task_track(3, 1, 2, SNPU_TASK_KERNEL_AIVEC, "Axpy", 8, 0);
    snpu_prof_node_end(begin, "aclnnAdd_Axpy", "Axpy", SNPU_TASK_KERNEL_AIVEC, 8);
    stop();
    assert_int_equal(seen_count, 3);
    check_compact(1, 10000, 0, 28);
    assert_int_equal(U64(1, 24), 0x480d);
    assert_int_equal(U32(1, 32), 66);
    assert_int_equal(U64(1, 36), 0x4804);
    assert_int_equal(U32(1, 44), 8);
    check_api(2, 10000, 5, 0x480d);
    /* The task is inside the launch. */
    assert_true(U64(2, 16) == begin && U64(0, 16) >= begin && U64(0, 16) <= U64(2, 24));
}

static void collectives(void **state)
{
    struct snpu_prof_hccl_op op = {"hcom_allReduce_", "group_name_0", "MESH-RING", 0x1234, 4};
    assert_int_equal(snpu_prof_hccl_begin(), 0);
    seen_count = 0;
    snpu_prof_hccl_op(0, &op);
    snpu_prof_hccl_task(0, "Memcpy", true);
    assert_int_equal(seen_count, 0);
    start(0x4000821);
    uint64_t begin = snpu_prof_hccl_begin();
    uint64_t task = snpu_prof_hccl_begin();
    snpu_prof_task_track(3, 1, 2, SNPU_TASK_MEMCPY_ASYNC, "MEMCPY_ASYNC", 0, 0);
    snpu_prof_hccl_task(task, "Memcpy", true);
    snpu_prof_hccl_task(task, "Notify_Wait", false);
    snpu_prof_hccl_op(begin, &op);
    stop();
    assert_int_equal(seen_count, 5);
    check_api(1, 5500, 0x010001, 0x4806);
    check_api(2, 5500, 0x010002, 0x480b);
    check_compact(3, 10000, 10, 26);
    assert_int_equal(U8(3, 24), 0);       /* flags */
    assert_int_equal(U8(3, 25), 4);       /* float32 */
    assert_int_equal(U64(3, 26), 0x4809); /* algorithm */
    assert_int_equal(U64(3, 34), 0x1234); /* count */
    assert_int_equal(U64(3, 42), 0x480c); /* group */
    check_api(4, 10000, 5, 0x480f);
    /* launch > op info, launch > collective task > track */
    assert_true(U64(4, 16) <= U64(3, 16) && U64(3, 16) <= U64(4, 24));
    assert_true(U64(4, 16) <= U64(1, 16) && U64(1, 24) <= U64(4, 24));
    assert_true(U64(1, 16) <= U64(0, 16) && U64(0, 16) <= U64(1, 24));
}

static struct ProfSetDevPara last_device;

static int32_t on_device(void *para, uint32_t len)
{
    memcpy(&last_device, para, sizeof(last_device));
    if (last_device.isOpen) { /* what msPTI does */
        command(PROF_COMMANDHANDLE_TYPE_START, 0x800, last_device.deviceId);
    }
    return 0;
}

static void a_tool_may_start_when_a_device_opens(void **state)
{
    MsprofRegisterProfileCallback(PROFILE_DEVICE_STATE_C_CALLBACK, on_device, 8);
    snpu_prof_device(5, true);
    assert_true(last_device.deviceId == 5 && last_device.isOpen);
    assert_true(snpu_prof_tracks_on(5));
    snpu_prof_device(5, false);
    assert_false(last_device.isOpen);
    MsprofRegisterProfileCallback(PROFILE_DEVICE_STATE_C_CALLBACK, NULL, 8);
    stop();
    assert_false(snpu_prof_tracks_on(5));
}

static void *launch_many(void *arg)
{
    char *name = arg;
    for (int i = 0; i < 1000; i++) {
        snpu_prof_task_track(3, 1, (uint32_t)i + 1, 0, name, 1, 0);
    }
    return NULL;
}

static int counted;

static int32_t count_compact(uint32_t aging, const void *data, uint32_t len)
{
    __atomic_add_fetch(&counted, 1, __ATOMIC_RELAXED);
    return 0;
}

static uint64_t true_hash(const char *text, size_t len)
{
    return MsprofStr2Id(text, len);
}

static void many_threads(void **state)
{
    pthread_t threads[4];
    char thread_names[4][16];
    MsprofRegisterProfileCallback(PROFILE_REPORT_COMPACT_CALLBACK, count_compact, 8);
    MsprofRegisterProfileCallback(PROFILE_REPORT_GET_HASH_ID_C_CALLBACK, true_hash, 8);
    start(0x800);
    for (int i = 0; i < 4; i++) {
        snprintf(thread_names[i], sizeof(thread_names[i]), "kernel_%d", i / 2);
        assert_int_equal(pthread_create(&threads[i], NULL, launch_many, thread_names[i]), 0);
    }
    for (int i = 0; i < 10; i++) {
        start(0x800); /* generations change meanwhile */
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
    }
    stop();
    assert_int_equal(counted, 4000);
}

static int listen(void **state)
{
    snpu_prof_init();
    snpu_prof_init();
    MsprofRegisterProfileCallback(PROFILE_REPORT_API_C_CALLBACK, on_api, 8);
    MsprofRegisterProfileCallback(PROFILE_REPORT_COMPACT_CALLBACK, on_compact, 8);
    MsprofRegisterProfileCallback(PROFILE_REPORT_GET_HASH_ID_C_CALLBACK, on_hash, 8);
    MsprofRegisterProfileCallback(PROFILE_REPORT_REG_TYPE_INFO_C_CALLBACK, on_type, 8);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(switches),
        cmocka_unit_test(names_are_announced),
        cmocka_unit_test(task_track),
        cmocka_unit_test(a_wrapped_id_is_announced),
        cmocka_unit_test(names_are_hashed_once_per_collection),
        cmocka_unit_test(memory_records),
        cmocka_unit_test(streams),
        cmocka_unit_test(task_log),
        cmocka_unit_test(step_trace),
        cmocka_unit_test(calls),
        cmocka_unit_test(operators),
        cmocka_unit_test(collectives),
        cmocka_unit_test(a_tool_may_start_when_a_device_opens),
        cmocka_unit_test(many_threads),
    };
    return cmocka_run_group_tests(tests, listen, NULL);
}
