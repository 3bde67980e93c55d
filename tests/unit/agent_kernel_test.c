/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels: launches by every entry point, executions from the device log, and coexistence with another profiler. */
#include "agent_fixture.h"

#include "acl/acl.h"
#include "ascend_hal.h"
#include "runtime/rt.h"
#include "toolchain/prof_api.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define OK(call) assert_int_equal((call), 0)
enum { WANTED = MS_WANT_ALLOC | MS_WANT_FREE | MS_WANT_LAUNCH | MS_WANT_KERNEL };

static struct process *self;
static aclrtFuncHandle nothing;
static struct seen seen[100000];

static void load(void)
{
    char path[1024];
    snprintf(path, sizeof(path), "%s/tests/unit/rt_kernels.so", getenv("NPUSCOPE_BUILD"));
    aclrtBinHandle binary;
    OK(aclrtBinaryLoadFromFile(path, NULL, &binary));
    OK(aclrtBinaryGetFunction(binary, "nothing", &nothing));
}

static int set_up(void **state)
{
    OK(aclInit(NULL));
    OK(aclrtSetDevice(0));
    self = own_process();
    load();
    return 0;
}

/* Number of records of a kind on a device with a stamp after `since`. */
static unsigned count_of(enum ms_record_kind kind, uint32_t device, uint64_t since)
{
    unsigned found = 0;
    size_t count = records_of(self, seen, 100000);
    for (size_t i = 0; i < count; i++) {
        found += seen[i].record->kind == kind && seen[i].record->arg == device && seen[i].record->stamp > since;
    }
    return found;
}

/* Stamp of the last record. */
static uint64_t now(void)
{
    size_t count = records_of(self, seen, 100000);
    return count > 0 ? seen[count - 1].record->stamp : 0;
}

/* Waits until there are that many. */
static void wait_for(enum ms_record_kind kind, uint32_t device, uint64_t since, unsigned wanted)
{
    for (unsigned i = 0; i < 10000 && count_of(kind, device, since) < wanted; i++) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    assert_int_equal(count_of(kind, device, since), wanted);
}

static unsigned threads(void)
{
    unsigned n = 0;
    DIR *dir = opendir("/proc/self/task");
    while (readdir(dir) != NULL) {
        n++;
    }
    closedir(dir);
    return n;
}

static void off_costs_nothing(void **state)
{
    self->shm->event_mask = MS_WANT_ALLOC | MS_WANT_FREE | MS_WANT_LAUNCH;
    OK(aclrtLaunchKernel(nothing, 1, NULL, 0, NULL));
    OK(aclrtSynchronizeStream(NULL));
    unsigned before = threads();
    for (unsigned i = 0; i < 100; i++) {
        OK(aclrtLaunchKernel(nothing, 1, NULL, 0, NULL));
    }
    OK(aclrtSynchronizeStream(NULL));
    assert_int_equal(threads(), before);
    assert_int_equal(count_of(MS_R_KERNEL_LAUNCH, 0, 0), 0);
    self->shm->event_mask = WANTED;
}

static void launches_and_executions(void **state)
{
    aclrtStream stream;
    int32_t stream_id = -1;
    OK(aclrtCreateStream(&stream));
    OK(aclrtStreamGetId(stream, &stream_id));
    uint64_t since = now();
    for (unsigned i = 0; i < 3; i++) {
        OK(aclrtLaunchKernel(nothing, 2, NULL, 0, stream));
    }
    char here[256] = {0};
    void *there = NULL;
    OK(aclrtMalloc(&there, sizeof(here), ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMemcpyAsync(there, sizeof(here), here, sizeof(here), ACL_MEMCPY_HOST_TO_DEVICE, stream));
    OK(aclrtSynchronizeStream(stream));
    assert_int_equal(count_of(MS_R_KERNEL_LAUNCH, 0, since), 3); /* each once, without the copy */
    wait_for(MS_R_KERNEL_EXECUTE, 0, since, 6);
    wait_for(MS_R_DEVICE_CLOCK, 0, 0, 1);

    uint32_t tasks[3] = {0};
    uint64_t counter = 0;
    unsigned launches = 0, ends = 0;
    size_t count = records_of(self, seen, 100000);
    for (size_t i = 0; i < count; i++) {
        const struct ms_record *r = seen[i].record;
        if (r->stamp <= since) {
            continue;
        }
        if (r->kind == MS_R_KERNEL_LAUNCH) {
            const struct ms_p_kernel_launch *p = (const void *)(r + 1);
            assert_int_equal(p->stream_id, stream_id);
            tasks[launches++] = p->task_id;
        } else if (r->kind == MS_R_KERNEL_EXECUTE) {
            const struct ms_p_kernel_execute *p = (const void *)(r + 1);
            assert_int_equal(p->stream_id, stream_id);
            assert_int_equal(p->task_id, tasks[ends]);
            assert_true(p->counter >= counter);
            counter = p->counter;
            ends += p->end;
        } else if (r->kind == MS_R_DEVICE_CLOCK) {
            const struct ms_p_device_clock *p = (const void *)(r + 1);
            assert_int_equal(p->khz, 50000);
            assert_true(p->counter > 0);
        }
    }
    assert_int_equal(ends, 3);
    for (size_t i = 0; i < count; i++) { /* names; text_of uses the same array */
        const struct ms_record *r = seen[i].record;
        if (r->kind == MS_R_KERNEL_LAUNCH) {
            assert_string_equal(text_of(self, r, &((const struct ms_p_kernel_launch *)(const void *)(r + 1))->name, 0),
                                "nothing");
        }
        if (r->kind == MS_R_KERNEL_EXECUTE) {
            assert_string_equal(text_of(self, r, &((const struct ms_p_kernel_execute *)(const void *)(r + 1))->name, 0),
                                "nothing");
        }
    }
    OK(aclrtFree(there));
    OK(aclrtDestroyStream(stream));
}

static void each_entry_point_counts_once(void **state)
{
    uint64_t since = now();
    aclrtLaunchKernelCfg cfg = {0};
    OK(aclrtLaunchKernelV2(nothing, 1, NULL, 0, &cfg, NULL));
    OK(aclrtLaunchKernelWithHostArgs(nothing, 1, NULL, &cfg, NULL, 0, NULL, 0));
    OK(aclrtSynchronizeStream(NULL));
    unsigned seen_now = count_of(MS_R_KERNEL_LAUNCH, 0, since);
    assert_int_equal(seen_now, 2);
    wait_for(MS_R_KERNEL_EXECUTE, 0, since, 4);
}

static void second_device(void **state)
{
    OK(aclrtSetDevice(1));
    uint64_t since = now();
    for (unsigned i = 0; i < 5; i++) {
        OK(aclrtLaunchKernel(nothing, 1, NULL, 0, NULL));
    }
    OK(aclrtSynchronizeStream(NULL));
    assert_int_equal(count_of(MS_R_KERNEL_LAUNCH, 1, since), 5);
    wait_for(MS_R_KERNEL_EXECUTE, 1, since, 10);
    wait_for(MS_R_DEVICE_CLOCK, 1, 0, 1);
    OK(aclrtSetDevice(0));
}

/* ---- another profiler ---- */

static unsigned others_tasks, others_names;

static int32_t others_compact(uint32_t aging, const void *data, uint32_t length_b)
{
    const struct MsprofCompactInfo *info = data;
    others_tasks += info->level == MSPROF_REPORT_RUNTIME_LEVEL && info->type == RT_PROFILE_TYPE_TASK_TRACK;
    return 0;
}

static uint64_t others_hash(const char *text, size_t length_b)
{
    uint32_t a = 0, b = 0;
    for (size_t i = 0; i < length_b; i++) {
        a = a * 29u + (uint32_t)text[i];
        b = b * 131u + (uint32_t)text[i];
    }
    others_names += strcmp(text, "nothing") == 0;
    return (uint64_t)a << 32 | b;
}

static void others_command(uint32_t type, uint64_t switches)
{
    static struct MsprofCommandHandle command;
    command = (struct MsprofCommandHandle){.profSwitch = switches, .devNums = 1, .type = type, .modelId = 0xffffffff};
    OK(profSetProfCommand(&command, sizeof(command)));
}

static void another_profiler(void **state)
{
    OK(MsprofRegisterProfileCallback(PROFILE_REPORT_COMPACT_CALLBACK, (void *)others_compact, sizeof(void *)));
    OK(MsprofRegisterProfileCallback(PROFILE_REPORT_GET_HASH_ID_C_CALLBACK, (void *)others_hash, sizeof(void *)));
    assert_true(others_names > 0); /* received the names announced earlier */
    others_command(PROF_COMMANDHANDLE_TYPE_START, 0x800);
    uint32_t config[9] = {1};
    struct prof_start_para para = {
        .sample_period = 20, .real_time = 1, .user_data = config, .user_data_size = sizeof(config)};
    OK(prof_drv_start(0, CHANNEL_STARS_SOC_LOG_BUFFER, &para));

    uint64_t since = now();
    for (unsigned i = 0; i < 4; i++) {
        OK(aclrtLaunchKernel(nothing, 1, NULL, 0, NULL));
    }
    OK(aclrtSynchronizeStream(NULL));
    assert_true(others_tasks >= 4);
    assert_int_equal(count_of(MS_R_KERNEL_LAUNCH, 0, since), 4);
    static char buffer[65536];
    int got, total = 0;
    while ((got = prof_channel_read(0, CHANNEL_STARS_SOC_LOG_BUFFER, buffer, sizeof(buffer))) > 0) {
        total += got;
    }
    assert_true(total >= 8 * 64);               /* they got all of it, */
    wait_for(MS_R_KERNEL_EXECUTE, 0, since, 8); /* and so did we */

    OK(prof_stop(0, CHANNEL_STARS_SOC_LOG_BUFFER));
    others_command(PROF_COMMANDHANDLE_TYPE_STOP, 0x800);
    OK(MsprofRegisterProfileCallback(PROFILE_REPORT_COMPACT_CALLBACK, NULL, sizeof(void *)));
    since = now();
    unsigned theirs = others_tasks;
    OK(aclrtLaunchKernel(nothing, 1, NULL, 0, NULL));
    OK(aclrtSynchronizeStream(NULL));
    assert_int_equal(others_tasks, theirs);
    assert_int_equal(count_of(MS_R_KERNEL_LAUNCH, 0, since), 1); /* it did not disable ours */
    wait_for(MS_R_KERNEL_EXECUTE, 0, since, 2);
}

/* Everything the device has executed by then is recorded in aclFinalize. */
static void finalize_drains_the_log(void **state)
{
    uint64_t since = now();
    for (unsigned i = 0; i < 500; i++) {
        OK(aclrtLaunchKernel(nothing, 1, NULL, 0, NULL));
    }
    OK(aclrtSynchronizeStream(NULL));
    OK(aclFinalize());
    assert_int_equal(count_of(MS_R_KERNEL_LAUNCH, 0, since), 500);
    assert_int_equal(count_of(MS_R_KERNEL_EXECUTE, 0, since), 1000);
    OK(aclInit(NULL));
    OK(aclrtSetDevice(0));
    load();
    since = now();
    OK(aclrtLaunchKernel(nothing, 1, NULL, 0, NULL));
    OK(aclrtSynchronizeStream(NULL));
    wait_for(MS_R_KERNEL_EXECUTE, 0, since, 2);
    OK(aclFinalize());
}

static void configure(struct ms_session *session)
{
    session->event_mask = WANTED;
}

int main(int argc, char **argv)
{
    session_begin(argv, configure);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(off_costs_nothing),
        cmocka_unit_test(launches_and_executions),
        cmocka_unit_test(each_entry_point_counts_once),
        cmocka_unit_test(second_device),
        cmocka_unit_test(another_profiler),
        cmocka_unit_test(finalize_drains_the_log),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
