/* SPDX-License-Identifier: Apache-2.0 */
/* Streams, events, timeouts, attributes, aborting. */
#include "check.h"

#include <semaphore.h>
#include <time.h>

struct gate {
    sem_t entered, open;
};

static void hold(void *data)
{
    struct gate *gate = data;
    sem_post(&gate->entered);
    sem_wait(&gate->open);
}

/* Nothing queued behind this runs before the gate is opened. */
static void close_gate(struct gate *gate, aclrtStream stream)
{
    sem_init(&gate->entered, 0, 0);
    sem_init(&gate->open, 0, 0);
    OK(aclrtLaunchHostFunc(stream, hold, gate));
    sem_wait(&gate->entered);
}

static void count(void *data)
{
    __atomic_fetch_add((int *)data, 1, __ATOMIC_SEQ_CST);
}

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void order_and_limits(void)
{
    aclrtStream a, b;
    struct gate gate;
    aclrtEvent event;
    aclrtStreamStatus status;
    aclrtEventRecordedStatus recorded;
    aclrtEventWaitStatus waited;
    int done = 0;
    OK(aclrtCreateStream(&a));
    OK(aclrtCreateStream(&b));
    OK(aclrtCreateEvent(&event));
    close_gate(&gate, a);
    OK(aclrtRecordEvent(event, a));
    OK(aclrtStreamWaitEvent(b, event));
    OK(aclrtLaunchHostFunc(b, count, &done));
    OK(aclrtStreamQuery(b, &status));
    EXPECT(status == ACL_STREAM_STATUS_NOT_READY);
    OK(aclrtQueryEventStatus(event, &recorded));
    EXPECT(recorded == ACL_EVENT_RECORDED_STATUS_NOT_READY);
    OK(aclrtQueryEventWaitStatus(event, &waited));
    EXPECT(waited == ACL_EVENT_WAIT_STATUS_NOT_READY);
    FAILS(507046, aclrtSynchronizeStreamWithTimeout(b, 20));
    FAILS(507047, aclrtSynchronizeEventWithTimeout(event, 20));
    FAILS(507046, aclrtSynchronizeDeviceWithTimeout(20));
    FAILS(107000, aclrtSynchronizeStreamWithTimeout(b, -2));
    EXPECT(__atomic_load_n(&done, __ATOMIC_SEQ_CST) == 0);
    sem_post(&gate.open);
    OK(aclrtSynchronizeStreamWithTimeout(b, -1));
    EXPECT(done == 1);
    OK(aclrtStreamQuery(b, &status));
    EXPECT(status == ACL_STREAM_STATUS_COMPLETE);
    OK(aclrtQueryEventStatus(event, &recorded));
    EXPECT(recorded == ACL_EVENT_RECORDED_STATUS_COMPLETE);

    /* A stream whose wait times out: the timeout is in seconds, and the next synchronize returns the stream's error. */
    close_gate(&gate, a);
    OK(aclrtRecordEvent(event, a));
    double begin = now_s();
    OK(aclrtStreamWaitEventWithTimeout(b, event, 1));
    FAILS(107019, aclrtSynchronizeStream(b));
    EXPECT(now_s() - begin > 0.9);
    sem_post(&gate.open);
    OK(aclrtSynchronizeDevice());
    FAILS(107000, aclrtStreamWaitEventWithTimeout(b, event, -1));
    OK(aclrtDestroyEvent(event));
    OK(aclrtDestroyStream(a));
    OK(aclrtDestroyStream(b));
    FAILS(107000, aclrtSynchronizeStream(b));
    FAILS(107000, aclrtSynchronizeEvent(event));
}

static void nap(void *ms)
{
    struct timespec t = {0, *(int *)ms * 1000000l};
    nanosleep(&t, NULL);
}

static void times(void)
{
    aclrtEvent start, end, silent;
    uint64_t from = 0, to = 0;
    float ms = 0;
    int thirty = 30;
    OK(aclrtCreateEvent(&start));
    OK(aclrtCreateEventWithFlag(&end, ACL_EVENT_TIME_LINE));
    OK(aclrtCreateEventWithFlag(&silent, ACL_EVENT_SYNC));
    OK(aclrtRecordEvent(start, NULL)); /* the default stream */
    OK(aclrtLaunchHostFunc(NULL, nap, &thirty));
    OK(aclrtRecordEvent(end, NULL));
    OK(aclrtSynchronizeStream(NULL));
    OK(aclrtEventElapsedTime(&ms, start, end));
    OK(aclrtEventGetTimestamp(start, &from));
    OK(aclrtEventGetTimestamp(end, &to));
    EXPECT(ms >= 29 && to - from >= 29000);
    OK(aclrtRecordEvent(silent, NULL));
    OK(aclrtSynchronizeStream(NULL));
    FAILS(107006, aclrtEventGetTimestamp(silent, &from));
    OK(aclrtDestroyEvent(start));
    OK(aclrtDestroyEvent(end));
    OK(aclrtDestroyEvent(silent));
}

static void values(void)
{
    aclrtStream a, b;
    uint64_t *word;
    int done = 0;
    OK(aclrtCreateStream(&a));
    OK(aclrtCreateStream(&b));
    OK(aclrtMalloc((void **)&word, sizeof(*word), ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMemset(word, sizeof(*word), 0, sizeof(*word)));
    OK(aclrtValueWait(word, 100, ACL_STREAM_WAIT_VALUE_EQ, a));
    OK(aclrtLaunchHostFunc(a, count, &done));
    FAILS(507046, aclrtSynchronizeStreamWithTimeout(a, 20));
    OK(aclrtValueWrite(word, 100, 0, b));
    OK(aclrtSynchronizeStream(a));
    EXPECT(done == 1);
    aclrtNotify notify;
    OK(aclrtCreateNotify(&notify, ACL_NOTIFY_DEFAULT));
    OK(aclrtWaitAndResetNotify(notify, a, 0));
    OK(aclrtLaunchHostFunc(a, count, &done));
    FAILS(507046, aclrtSynchronizeStreamWithTimeout(a, 20));
    OK(aclrtRecordNotify(notify, b));
    OK(aclrtSynchronizeStream(a));
    EXPECT(done == 2);
    OK(aclrtDestroyNotify(notify));
    OK(aclrtFree(word));
    OK(aclrtDestroyStream(a));
    OK(aclrtDestroyStream(b));
}

static int states[3];

static void on_state(aclrtStream stream, aclrtStreamState state, void *args)
{
    EXPECT(stream != NULL && args == states);
    __atomic_fetch_add(&states[(int)state < 3 ? (int)state : 0], 1, __ATOMIC_SEQ_CST);
}

static void attributes(void)
{
    aclrtStream stream;
    uint32_t before = 0, with = 0, flags = 0, priority = 9, on = 9;
    int32_t id = -1;
    OK(aclrtRegStreamStateCallback("streams.c", on_state, states));
    OK(aclrtGetStreamAvailableNum(&before));
    aclrtStreamConfigHandle *config = aclrtCreateStreamConfigHandle();
    EXPECT(config != NULL);
    size_t fast = ACL_STREAM_FAST_LAUNCH;
    OK(aclrtSetStreamConfigOpt(config, ACL_RT_STREAM_FLAG, &fast, sizeof(fast)));
    priority = 3;
    OK(aclrtSetStreamConfigOpt(config, ACL_RT_STREAM_PRIORITY, &priority, sizeof(priority)));
    OK(aclrtCreateStreamV2(&stream, config));
    OK(aclrtDestroyStreamConfigHandle(config));
    OK(aclrtGetStreamAvailableNum(&with));
    EXPECT(with + 1 == before);
    OK(aclrtStreamGetId(stream, &id));
    OK(aclrtStreamGetFlags(stream, &flags));
    OK(aclrtStreamGetPriority(stream, &priority));
    EXPECT(id >= 0 && (flags & ACL_STREAM_FAST_LAUNCH) != 0 && priority == 3);
    OK(aclrtSetStreamOverflowSwitch(stream, 1));
    OK(aclrtGetStreamOverflowSwitch(stream, &on));
    EXPECT(on == 1);
    aclrtStreamAttrValue value = {.userCustomTag = 77}, have = {0};
    OK(aclrtSetStreamAttribute(stream, ACL_STREAM_ATTR_USER_CUSTOM_TAG, &value));
    OK(aclrtGetStreamAttribute(stream, ACL_STREAM_ATTR_USER_CUSTOM_TAG, &have));
    EXPECT(have.userCustomTag == 77);
    OK(aclrtDestroyStream(stream));
    EXPECT(states[1] == 1 && states[2] == 1);
    OK(aclrtRegStreamStateCallback("streams.c", NULL, NULL));
}

static void aborting(void)
{
    aclrtStream stream;
    aclrtNotify never;
    int done = 0;
    OK(aclrtCreateNotify(&never, 0));
    OK(aclrtCreateStream(&stream));
    OK(aclrtWaitAndResetNotify(never, stream, 0)); /* never recorded */
    OK(aclrtLaunchHostFunc(stream, count, &done));
    OK(aclrtStreamAbort(stream));
    (void)aclrtSynchronizeStream(stream); /* may report the abort */
    EXPECT(done == 0);
    OK(aclrtDestroyStreamForce(stream));
    OK(aclrtCreateStream(&stream));
    OK(aclrtWaitAndResetNotify(never, stream, 0));
    OK(aclrtLaunchHostFunc(stream, count, &done));
    OK(aclrtDestroyStreamForce(stream));
    EXPECT(done == 0);
    OK(aclrtDestroyNotify(never));
}

int main(void)
{
    OK(aclInit(NULL));
    OK(aclrtSetDevice(0));
    order_and_limits();
    times();
    values();
    attributes();
    aborting();
    OK(aclrtResetDevice(0));
    OK(aclFinalize());
    puts("streams: all good");
    return 0;
}
