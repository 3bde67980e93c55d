/* SPDX-License-Identifier: Apache-2.0 */
/* libprofapi.so: slots, commands, hash ids, type names, devices, the mstx tool.
 * Each test removes its callbacks; modules cannot be removed, so their handlers count only during a test. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "softnpu/profapi/profapi.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int32_t set(enum ProfileCallbackType type, void *fn)
{
    return MsprofRegisterProfileCallback(type, fn, sizeof(void *));
}

/* ---- records ---- */

static struct {
    int calls;
    uint32_t aging, len;
    const void *data;
} seen;

static int32_t on_api(uint32_t aging, const struct MsprofApi *api)
{
    seen.calls++;
    seen.aging = aging;
    seen.data = api;
    return 11;
}

static int32_t on_event(uint32_t aging, const struct MsprofEvent *event)
{
    seen.calls++;
    seen.data = event;
    return 12;
}

static int32_t on_info(uint32_t aging, const void *data, uint32_t len)
{
    seen.calls++;
    seen.aging = aging;
    seen.data = data;
    seen.len = len;
    return 0;
}

static int32_t on_info_too(uint32_t aging, const void *data, uint32_t len)
{
    return 99;
}

static void records_reach_the_slot(void **state)
{
    struct MsprofApi api = {0};
    struct MsprofEvent event = {0};
    struct MsprofCompactInfo compact = {0};
    struct MsprofAdditionalInfo more[3] = {0};

    /* without a callback */
    assert_int_equal(MsprofReportApi(1, &api), 0);
    assert_int_equal(MsprofReportEvent(1, &event), 0);
    assert_int_equal(MsprofReportCompactInfo(1, &compact, 64), 0);
    assert_int_equal(MsprofReportAdditionalInfo(1, more, 256), 0);
    assert_int_equal(MsprofReportApi(1, NULL), -1);

    assert_int_equal(set(PROFILE_REPORT_API_C_CALLBACK, on_api), 0);
    assert_int_equal(set(PROFILE_REPORT_EVENT_C_CALLBACK, on_event), 0);
    assert_int_equal(set(PROFILE_REPORT_COMPACT_CALLBACK, on_info), 0);
    assert_int_equal(set(PROFILE_REPORT_ADDITIONAL_CALLBACK, on_info), 0);
    memset(&seen, 0, sizeof(seen));
    assert_int_equal(MsprofReportApi(0, &api), 11);
    assert_true(seen.data == &api && seen.aging == 0 && seen.calls == 1);
    assert_int_equal(MsprofReportEvent(1, &event), 12);
    assert_true(seen.data == &event && seen.calls == 2);
    assert_int_equal(MsprofReportCompactInfo(1, &compact, 64), 0);
    assert_true(seen.data == &compact && seen.len == 64 && seen.aging == 1 && seen.calls == 3);
    assert_int_equal(MsprofReportAdditionalInfo(1, more, 256), 0);
    assert_true(seen.data == more && seen.len == 256 && seen.calls == 4);
    assert_int_equal(MsprofReportBatchAdditionalInfo(1, more, sizeof(more)), 0);
    assert_true(seen.data == &more[2] && seen.calls == 7);

    /* invalid records are refused */
    assert_int_equal(MsprofReportApi(1, NULL), -1);
    assert_int_equal(MsprofReportEvent(1, NULL), -1);
    assert_int_equal(MsprofReportCompactInfo(1, NULL, 64), -1);
    assert_int_equal(MsprofReportCompactInfo(1, &compact, 63), -1);
    assert_int_equal(MsprofReportAdditionalInfo(1, more, 257), -1);
    assert_int_equal(MsprofReportBatchAdditionalInfo(1, more, 300), -1);
    assert_int_equal(MsprofReportBatchAdditionalInfo(1, more, 0), -1);
    assert_int_equal(MsprofReportBatchAdditionalInfo(1, more, MsprofGetBatchReportMaxSize(0) + 256), -1);
    assert_int_equal(seen.calls, 7);

    /* the last registration wins, NULL empties the slot */
    set(PROFILE_REPORT_COMPACT_CALLBACK, on_info_too);
    assert_int_equal(MsprofReportCompactInfo(1, &compact, 64), 99);
    set(PROFILE_REPORT_COMPACT_CALLBACK, NULL);
    assert_int_equal(MsprofReportCompactInfo(1, &compact, 64), 0);
    set(PROFILE_REPORT_API_C_CALLBACK, NULL);
    set(PROFILE_REPORT_EVENT_C_CALLBACK, NULL);
    set(PROFILE_REPORT_ADDITIONAL_CALLBACK, NULL);
    MsprofReportApi(1, &api);
    assert_int_equal(seen.calls, 7);
}

static void some_types_are_accepted_and_ignored(void **state)
{
    static const int ignored[] = {0, 1, 2, 3, 6, 7, 8, 14};
    struct MsprofApi api = {0};
    memset(&seen, 0, sizeof(seen));
    for (size_t i = 0; i < MS_COUNT_OF(ignored); i++) {
        assert_int_equal(set(ignored[i], on_api), 0);
    }
    MsprofReportApi(1, &api);
    MsprofGetHashId("x", 1);
    MsprofRegTypeInfo(1, 1, "x");
    assert_int_equal(seen.calls, 0);
    assert_int_equal(set(-1, on_api), -1);
    assert_int_equal(set(17, on_api), -1);
    assert_int_equal(MsprofRegisterProfileCallback(9, on_api, 4), -1);
}

static int tap_calls;

static void tap_api(const struct MsprofApi *api)
{
    tap_calls++;
}

static void tap_compact(const struct MsprofCompactInfo *info)
{
    tap_calls += 100;
}

static void a_tap_does_not_replace_callbacks(void **state)
{
    static const struct snpu_prof_tap tap = {tap_api, tap_compact};
    struct MsprofApi api = {0};
    struct MsprofCompactInfo compact = {0};
    memset(&seen, 0, sizeof(seen));
    snpu_profapi_tap(&tap);
    assert_int_equal(MsprofReportApi(1, &api), 0);
    assert_int_equal(tap_calls, 1);
    set(PROFILE_REPORT_API_C_CALLBACK, on_api);
    assert_int_equal(MsprofReportApi(1, &api), 11);
    assert_int_equal(MsprofReportCompactInfo(1, &compact, 64), 0);
    assert_int_equal(tap_calls, 102);
    assert_int_equal(seen.calls, 1);
    snpu_profapi_tap(NULL);
    assert_int_equal(MsprofReportApi(1, &api), 11);
    assert_int_equal(tap_calls, 102);
    set(PROFILE_REPORT_API_C_CALLBACK, NULL);
}

/* ---- texts and names ---- */

static int hashed;
static char last_text[64];

static uint64_t on_hash(const char *text, size_t len)
{
    hashed++;
    snprintf(last_text, sizeof(last_text), "%.*s", (int)len, text);
    return 0x1234;
}

static void hash_ids(void **state)
{
    assert_int_equal(MsprofGetHashId("Add", 3), 0x0000E141001138D9);
    assert_int_equal(MsprofGetHashId("MatMul", 6), 0x626628205D1C5684);
    assert_int_equal(MsprofStr2Id("KERNEL_AICORE", 13), 0xFCBACC9F60F2381D);
    assert_int_equal(MsprofStr2Id("Addendum", 3), 0x0000E141001138D9); /* the length matters */
    assert_int_equal(MsprofStr2Id("Add", 1000), 0x0000E141001138D9);   /* but not beyond the terminator */
    assert_string_equal(MsprofId2Str(0x0000E141001138D9), "Add");
    assert_string_equal(MsprofId2Str(0xFCBACC9F60F2381D), "KERNEL_AICORE");
    assert_null(MsprofId2Str(0xdeadbeef));
    assert_int_equal(MsprofGetHashId(NULL, 3), 0);
    assert_int_equal(MsprofGetHashId("Add", 0), 0);
    assert_int_equal(MsprofStr2Id(NULL, 1), 0);
    assert_ptr_equal(MsprofId2Str(MsprofStr2Id("same", 4)), MsprofId2Str(MsprofStr2Id("same", 4)));
}

static void a_hash_callback_decides_and_catches_up(void **state)
{
    MsprofStr2Id("before", 6);
    hashed = 0;
    set(PROFILE_REPORT_GET_HASH_ID_C_CALLBACK, on_hash);
    int earlier = hashed; /* gets what was hashed before it registered */
    assert_true(earlier >= 4);
    assert_int_equal(MsprofGetHashId("Relu", 4), 0x1234);
    assert_int_equal(hashed, earlier + 1);
    assert_string_equal(last_text, "Relu");
    assert_int_not_equal(MsprofStr2Id("Relu", 4), 0x1234); /* own table */
    assert_int_equal(hashed, earlier + 1);
    assert_int_equal(MsprofGetHashId(NULL, 4), 0);
    set(PROFILE_REPORT_GET_HASH_ID_C_CALLBACK, NULL);
    assert_int_equal(MsprofGetHashId("Relu", 4), MsprofStr2Id("Relu", 4));
}

static int types_reported;
static char type_name[64];

static int32_t on_type(uint16_t level, uint32_t type, const char *name, size_t len)
{
    if (level == 5000 && type == 4711) {
        types_reported++;
        assert_int_equal(strlen(name), len);
        snprintf(type_name, sizeof(type_name), "%s", name);
    }
    return 0;
}

static void type_names(void **state)
{
    assert_int_equal(MsprofRegTypeInfo(5000, 4711, "Early"), 0);
    assert_int_equal(MsprofRegTypeInfo(5000, 4711, NULL), -1);
    set(PROFILE_REPORT_REG_TYPE_INFO_C_CALLBACK, on_type);
    assert_int_equal(types_reported, 1); /* registered late, gets it too */
    assert_string_equal(type_name, "Early");
    assert_int_equal(MsprofRegTypeInfo(5000, 4711, "Again"), 0);
    assert_int_equal(types_reported, 2);
    assert_string_equal(type_name, "Again");
    set(PROFILE_REPORT_REG_TYPE_INFO_C_CALLBACK, NULL);
    assert_string_equal(snpu_profapi_type_name(5000, 4711), "Again");
    assert_null(snpu_profapi_type_name(5001, 4711));
    assert_int_equal(MsprofRegDataFormat(5000, 1, "u8"), 0);
    assert_int_equal(MsprofRegDataFormat(5000, 1, NULL), -1);
}

static void *hash_many(void *arg)
{
    char text[32];
    for (int i = 0; i < 2000; i++) {
        int n = snprintf(text, sizeof(text), "kernel_%d", i);
        uint64_t id = MsprofStr2Id(text, (size_t)n);
        if (strcmp(MsprofId2Str(id), text) != 0) {
            return (void *)1;
        }
    }
    return NULL;
}

static void many_threads_hash_the_same_texts(void **state)
{
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, hash_many, NULL), 0);
    }
    for (int i = 0; i < 4; i++) {
        void *bad;
        pthread_join(threads[i], &bad);
        assert_null(bad);
    }
}

static void the_store_is_bounded(void **state)
{
    size_t len = 1 << 20;
    char *text = malloc(len + 1);
    assert_non_null(text);
    memset(text, 'a', len);
    text[len] = '\0';
    uint64_t last = 0;
    for (int i = 0; i < 20; i++) { /* 20 MiB into a store of 16 */
        text[0] = (char)('A' + i);
        last = MsprofStr2Id(text, len);
        assert_int_not_equal(last, 0);
    }
    assert_null(MsprofId2Str(last));
    free(text);
    assert_int_equal(MsprofStr2Id("Add", 3), 0x0000E141001138D9);
}

/* ---- commands ---- */

static struct {
    int calls;
    uint32_t type, len;
    struct MsprofCommandHandle command;
} got[3];

static int32_t receive(int who, uint32_t type, void *data, uint32_t len)
{
    got[who].calls++;
    got[who].type = type;
    got[who].len = len;
    memcpy(&got[who].command, data, sizeof(got[who].command));
    memset(data, 0xff, len); /* must not affect the others */
    return -5;
}

static int32_t module_a(uint32_t type, void *data, uint32_t len)
{
    return receive(0, type, data, len);
}

static int32_t module_b(uint32_t type, void *data, uint32_t len)
{
    return receive(1, type, data, len);
}

static int32_t module_late(uint32_t type, void *data, uint32_t len)
{
    return receive(2, type, data, len);
}

static int32_t command(uint32_t type, uint64_t switches, uint32_t devs, uint32_t first)
{
    struct MsprofCommandHandle c;
    memset(&c, 0, sizeof(c));
    c.profSwitch = switches;
    c.devNums = devs;
    for (uint32_t i = 0; i < devs; i++) {
        c.devIdList[i] = first + i;
    }
    c.modelId = 0xffffffff;
    c.type = type;
    strcpy(c.params.path, "/tmp/result");
    return profSetProfCommand(&c, sizeof(c));
}

static void commands_reach_every_module(void **state)
{
    assert_int_equal(sizeof(struct MsprofCommandHandle), 5424);
    assert_int_equal(MsprofRegisterCallback(7, NULL), -1);
    assert_int_equal(MsprofRegisterCallback(7, module_a), 0);
    assert_int_equal(MsprofRegisterCallback(48, module_b), 0);
    assert_int_equal(MsprofRegisterCallback(48, module_b), 0); /* known already */
    assert_int_equal(got[0].calls + got[1].calls, 0);

    assert_int_equal(command(PROF_COMMANDHANDLE_TYPE_INIT, 0, 0, 0), 0);
    assert_int_equal(command(PROF_COMMANDHANDLE_TYPE_START, 0x4000800, 1, 3), 0);
    for (int who = 0; who < 2; who++) {
        assert_int_equal(got[who].calls, 2);
        assert_int_equal(got[who].type, PROF_CTRL_SWITCH);
        assert_int_equal(got[who].len, 5424);
        assert_int_equal(got[who].command.profSwitch, 0x4000800);
        assert_int_equal(got[who].command.devIdList[0], 3);
        assert_int_equal(got[who].command.type, 1);
    }
    assert_string_equal(MsprofGetPath(), "/tmp/result");

    /* another tool, other devices; then a module that registers late gets both */
    assert_int_equal(command(PROF_COMMANDHANDLE_TYPE_START, 0x1, 2, 5), 0);
    assert_int_equal(MsprofRegisterCallback(3, module_late), 0);
    assert_int_equal(got[2].calls, 2);
    assert_int_equal(got[2].command.type, PROF_COMMANDHANDLE_TYPE_START);
    assert_int_equal(got[2].command.profSwitch, 0x1);
    assert_int_equal(got[2].command.devNums, 2);
    assert_int_equal(got[2].command.devIdList[0], 5);
    assert_int_equal(got[2].command.devIdList[1], 6);
    assert_int_equal(got[2].command.modelId, 0xffffffff);

    assert_int_equal(command(PROF_COMMANDHANDLE_TYPE_STOP, 0x4000801, 64, 0), 0);
    assert_int_equal(got[2].command.type, PROF_COMMANDHANDLE_TYPE_STOP);
    assert_int_equal(command(PROF_COMMANDHANDLE_TYPE_FINALIZE, 0, 0, 0), 0);
    assert_int_equal(got[0].calls, 5);
    assert_null(MsprofGetPath());
}

static int after_stop_calls;

static int32_t module_after_stop(uint32_t type, void *data, uint32_t len)
{
    after_stop_calls++;
    return 0;
}

static void nothing_to_catch_up_after_a_stop(void **state)
{
    command(PROF_COMMANDHANDLE_TYPE_START, 0x800, 2, 0);
    command(PROF_COMMANDHANDLE_TYPE_STOP, 0x800, 2, 0);
    assert_int_equal(MsprofRegisterCallback(9, module_after_stop), 0);
    assert_int_equal(after_stop_calls, 0);
}

static void invalid_commands_are_refused(void **state)
{
    struct MsprofCommandHandle c = {0};
    int before = got[0].calls;
    assert_int_equal(profSetProfCommand(NULL, sizeof(c)), -1);
    assert_int_equal(profSetProfCommand(&c, sizeof(c) - 1), -1);
    c.type = 4;
    assert_int_equal(profSetProfCommand(&c, sizeof(c)), -1);
    c.type = 1;
    c.devNums = 65;
    assert_int_equal(profSetProfCommand(&c, sizeof(c)), -1);
    assert_int_equal(got[0].calls, before);
}

/* ---- devices ---- */

static int device_calls;
static struct ProfSetDevPara device;

static int32_t on_device(void *para, uint32_t len)
{
    device_calls++;
    assert_int_equal(len, 12);
    memcpy(&device, para, sizeof(device));
    return 0;
}

static void devices_are_announced(void **state)
{
    assert_int_equal(MsprofNotifySetDevice(0, 2, true), 0);
    set(PROFILE_DEVICE_STATE_C_CALLBACK, on_device);
    assert_int_equal(device_calls, 1); /* open already */
    assert_true(device.deviceId == 2 && device.isOpen);
    MsprofNotifySetDevice(1, 3, true);
    assert_true(device_calls == 2 && device.chipId == 1 && device.deviceId == 3 && device.isOpen);
    MsprofNotifySetDevice(0, 2, false);
    assert_true(device_calls == 3 && device.deviceId == 2 && !device.isOpen);
    set(PROFILE_DEVICE_STATE_C_CALLBACK, NULL);
    MsprofNotifySetDevice(1, 3, false);
    assert_int_equal(device_calls, 3);
    assert_int_equal(profRegDeviceStateCallback(on_device), 0); /* older name of the same slot */
    assert_int_equal(device_calls, 3);
    MsprofNotifySetDevice(0, 0, true);
    MsprofNotifySetDevice(0, 0, false);
    assert_int_equal(device_calls, 5);
    profRegDeviceStateCallback(NULL);
    assert_int_equal(MsprofNotifySetDevice(0, 64, true), -1);
}

/* ---- clock ---- */

static int freq_queries;
static int8_t freq_answer;

static int8_t on_freq(void)
{
    freq_queries++;
    return freq_answer;
}

static uint64_t raw_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC_RAW, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static bool clock_is_ns(void)
{
    uint64_t before = raw_ns(), now = MsprofSysCycleTime(), after = raw_ns();
    return before <= now && now <= after;
}

static void the_clock_follows_the_tool(void **state)
{
    assert_true(clock_is_ns());
    freq_answer = 0;
    set(PROFILE_HOST_FREQ_IS_ENABLE_C_CALLBACK, on_freq);
    assert_true(clock_is_ns());
    assert_true(clock_is_ns());
    assert_int_equal(freq_queries, 1); /* not per record */
    freq_answer = 1;
    command(PROF_COMMANDHANDLE_TYPE_START, 0x800, 1, 0); /* queried again */
    uint64_t a = MsprofSysCycleTime(), b = MsprofSysCycleTime();
    assert_true(a <= b);
#if defined(__x86_64__)
    uint64_t low = __builtin_ia32_rdtsc(), now = MsprofSysCycleTime(), high = __builtin_ia32_rdtsc();
    assert_true(low <= now && now <= high);
#endif
    assert_int_equal(freq_queries, 2);
    command(PROF_COMMANDHANDLE_TYPE_STOP, 0x800, 1, 0);
    set(PROFILE_HOST_FREQ_IS_ENABLE_C_CALLBACK, NULL);
    assert_true(clock_is_ns());
}

/* ---- mstx ---- */

enum { TOOLS = 3 };
static struct {
    int marks, range_ends, creates, destroys, domain_marks;
    const void *domain;
} tool[TOOLS];
static char tool_domain[TOOLS];

#define TOOL(n)                                                                                                        \
    static void mark_##n(const char *message, void *stream)                                                            \
    {                                                                                                                  \
        tool[n].marks++;                                                                                               \
    }                                                                                                                  \
    static uint64_t start_##n(const char *message, void *stream)                                                       \
    {                                                                                                                  \
        return 100 + n;                                                                                                \
    }                                                                                                                  \
    static void end_##n(uint64_t id)                                                                                   \
    {                                                                                                                  \
        tool[n].range_ends++;                                                                                          \
    }                                                                                                                  \
    static void *create_##n(const char *name)                                                                          \
    {                                                                                                                  \
        tool[n].creates++;                                                                                             \
        return &tool_domain[n];                                                                                        \
    }                                                                                                                  \
    static void destroy_##n(void *domain)                                                                              \
    {                                                                                                                  \
        tool[n].destroys++;                                                                                            \
    }                                                                                                                  \
    static void domain_mark_##n(void *domain, const char *message, void *stream)                                       \
    {                                                                                                                  \
        tool[n].domain_marks++;                                                                                        \
        tool[n].domain = domain;                                                                                       \
    }                                                                                                                  \
    static int init_##n(mstxGetModuleFuncTableFunc get)                                                                \
    {                                                                                                                  \
        mstxFuncTable table;                                                                                           \
        unsigned int size;                                                                                             \
        assert_int_equal(get(3, &table, &size), 1); /* no memory functions here */                                     \
        assert_int_equal(get(1, &table, &size), 0);                                                                    \
        assert_int_equal(size, 6); /* four functions, slot 0 and the sentinel */                                       \
        *table[1] = (mstxFuncPointer)mark_##n;                                                                         \
        *table[2] = (mstxFuncPointer)start_##n;                                                                        \
        *table[3] = (mstxFuncPointer)end_##n;                                                                          \
        assert_int_equal(get(2, &table, &size), 0);                                                                    \
        assert_int_equal(size, 7);                                                                                     \
        *table[1] = (mstxFuncPointer)create_##n;                                                                       \
        *table[2] = (mstxFuncPointer)destroy_##n;                                                                      \
        *table[3] = (mstxFuncPointer)domain_mark_##n;                                                                  \
        return 0;                                                                                                      \
    }
TOOL(1)
TOOL(2)

/* A front end with tables of a chosen size. */
static mstxFuncPointer front[3][8];
static unsigned int front_size[3];

static int front_tables(int module, mstxFuncTable *out, unsigned int *size)
{
    static mstxFuncPointer *table[3][8];
    if (module < 1 || module > 2 || front_size[module] == 0) {
        return 1;
    }
    for (int i = 0; i < 8; i++) {
        table[module][i] = &front[module][i];
    }
    *out = table[module];
    *size = front_size[module];
    return 0;
}

static void two_modules_share_mstx(void **state)
{
    assert_int_equal(InitInjectionMstx(NULL), 1);
    front_size[1] = 5, front_size[2] = 6;
    assert_int_equal(InitInjectionMstx(front_tables), 0);
    void (*mark)(const char *, void *) = (void (*)(const char *, void *))front[1][1];
    uint64_t (*start)(const char *, void *) = (uint64_t(*)(const char *, void *))front[1][2];
    void (*end)(uint64_t) = (void (*)(uint64_t))front[1][3];
    void (*tool_id)(uint64_t *) = (void (*)(uint64_t *))front[1][4];
    void *(*create)(const char *) = (void *(*)(const char *))front[2][1];
    void (*destroy)(void *) = (void (*)(void *))front[2][2];
    void (*domain_mark)(void *, const char *, void *) = (void (*)(void *, const char *, void *))front[2][3];
    uint64_t (*domain_start)(void *, const char *, void *) = (uint64_t(*)(void *, const char *, void *))front[2][4];

    /* without a module */
    mark("x", NULL);
    assert_int_equal(start("x", NULL), 0);
    void *early = create("early");
    domain_mark(early, "x", NULL);
    uint64_t id = 0;
    tool_id(&id);
    assert_int_equal(id, 0x1000);
    tool_id(NULL);

    ProfRegisterMstxFunc(NULL, PROF_MODULE_MSPROF);
    ProfRegisterMstxFunc(init_1, 3);
    ProfRegisterMstxFunc(init_1, PROF_MODULE_MSPROF);
    ProfRegisterMstxFunc(init_2, PROF_MODULE_MSPTI);
    mark("x", NULL); /* msprof is enabled by default */
    assert_true(tool[1].marks == 1 && tool[2].marks == 0);
    assert_int_equal(start("x", NULL), 101);
    domain_mark(early, "x", NULL); /* created before the module registered */
    assert_true(tool[1].creates == 1 && tool[1].domain == &tool_domain[1]);

    void *domain = create("late");
    assert_non_null(domain);
    assert_ptr_equal(create("late"), domain);
    assert_int_equal(tool[1].creates, 2);
    ProfEnableMstxFunc(PROF_MODULE_MSPTI);
    ProfEnableMstxFunc(77);
    mark("x", NULL);
    end(5);
    assert_true(tool[1].marks == 1 && tool[2].marks == 1 && tool[2].range_ends == 1);
    assert_int_equal(tool[2].creates, 0);
    domain_mark(domain, "x", NULL); /* each module sees its own handle */
    assert_true(tool[2].creates == 1 && tool[2].domain == &tool_domain[2]);
    assert_int_equal(domain_start(domain, "x", NULL), 0); /* not registered */
    domain_mark(NULL, "x", NULL);                         /* the global domain */
    assert_true(tool[2].domain_marks == 2 && tool[2].domain == NULL);

    destroy(domain); /* both had a handle */
    assert_true(tool[1].destroys == 1 && tool[2].destroys == 1);
    domain_mark(domain, "x", NULL);
    destroy(domain);
    domain_mark((void *)0x10, "x", NULL); /* invalid handle */
    destroy(&tool);
    destroy(NULL);
    assert_true(tool[2].domain_marks == 2 && tool[2].destroys == 1);
    assert_null(create(NULL));
    destroy(early);
    ProfEnableMstxFunc(PROF_MODULE_MSPROF);
}

static void an_older_front_end_gets_what_fits(void **state)
{
    memset(front, 0, sizeof(front));
    front_size[1] = 3, front_size[2] = 0; /* mark and range start; no domains */
    assert_int_equal(InitInjectionMstx(front_tables), 0);
    assert_true(front[1][1] != NULL && front[1][2] != NULL);
    for (int i = 3; i < 8; i++) {
        assert_true(front[1][i] == NULL && front[2][i] == NULL);
    }
}

static void the_rest_returns(void **state)
{
    assert_int_equal(MsprofInit(0, NULL, 0), 0);
    assert_int_equal(MsprofFinalize(), 0);
    assert_int_equal(MsprofStart(0, NULL, 0), -1);
    assert_int_equal(MsprofStop(0, NULL, 0), -1);
    assert_int_equal(MsprofSetConfig(1, NULL, 0), -1);
    assert_int_equal(MsprofSetConfig(1, "x", 1), 0);
    assert_int_equal(MsprofReportData(7, 0, NULL, 0), 0);
    assert_int_equal(MsprofReportData(7, 0, NULL, 8), -1);
    assert_int_equal(MsprofSetDeviceIdByGeModelIdx(1, 0), 0);
    assert_int_equal(MsprofUnsetDeviceIdByGeModelIdx(1, 64), -1);
    assert_false(MsprofCheckOpSwitch(0, "Add", 3));
    assert_int_equal(profSetStepInfo(1, 2, NULL), -1); /* no runtime in this process */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_reach_the_slot),
        cmocka_unit_test(some_types_are_accepted_and_ignored),
        cmocka_unit_test(a_tap_does_not_replace_callbacks),
        cmocka_unit_test(hash_ids),
        cmocka_unit_test(a_hash_callback_decides_and_catches_up),
        cmocka_unit_test(type_names),
        cmocka_unit_test(many_threads_hash_the_same_texts),
        cmocka_unit_test(the_store_is_bounded),
        cmocka_unit_test(commands_reach_every_module),
        cmocka_unit_test(nothing_to_catch_up_after_a_stop),
        cmocka_unit_test(invalid_commands_are_refused),
        cmocka_unit_test(devices_are_announced),
        cmocka_unit_test(the_clock_follows_the_tool),
        cmocka_unit_test(two_modules_share_mstx),
        cmocka_unit_test(an_older_front_end_gets_what_fits),
        cmocka_unit_test(the_rest_returns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
