/* SPDX-License-Identifier: Apache-2.0 */
/* Everything concurrently, for a short time: threads with their own streams and shared events record, wait, abort,
 * destroy, capture and replay in random order. Nothing may hang or crash, and sanitizers must stay silent. */
#include "rt_test.h"

#define THREADS 4
#define EVENTS  6

static int rounds = 400; /* RT_STRESS_ROUNDS */

static aclrtEvent events[EVENTS];
static aclrtNotify notify;

struct worker {
    unsigned seed;
    int unexpected; /* results that no correct program can get */
    int executed;
};

static int roll(struct worker *w, int sides)
{
    return (int)(rand_r(&w->seed) % (unsigned)sides);
}

static void expect(struct worker *w, aclError got, const aclError *allowed, size_t count)
{
    bool fine = got == ACL_SUCCESS;
    for (size_t i = 0; i < count; i++) {
        fine |= got == allowed[i];
    }
    if (!fine) {
        fprintf(stderr, "unexpected %d: %s\n", got, aclGetRecentErrMsg());
        w->unexpected++;
    }
}

/* Waits fail if another thread aborted the record they wait for; aborted streams return errors. */
#define EXPECT(call, ...)                                                                                              \
    do {                                                                                                               \
        const aclError allowed_[] = {ACL_ERROR_RT_STREAM_ABORT, ACL_ERROR_RT_WAIT_TIMEOUT, __VA_ARGS__};               \
        expect(w, (call), allowed_, sizeof(allowed_) / sizeof(allowed_[0]));                                           \
    } while (0)

static void replay(struct worker *w, aclrtStream stream, aclrtStream side)
{
    aclmdlRI model = NULL;
    aclrtEvent fork, join;
    EXPECT(aclrtCreateEvent(&fork));
    EXPECT(aclrtCreateEvent(&join));
    EXPECT(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED));
    EXPECT(aclrtRecordEvent(fork, stream));
    EXPECT(aclrtStreamWaitEvent(side, fork));
    EXPECT(aclrtLaunchHostFunc(side, count_up, &w->executed));
    EXPECT(aclrtRecordEvent(join, side));
    EXPECT(aclrtStreamWaitEvent(stream, join));
    EXPECT(aclmdlRICaptureEnd(stream, &model));
    EXPECT(aclmdlRIExecuteAsync(model, stream));
    EXPECT(aclmdlRIExecute(model, -1));
    EXPECT(aclrtSynchronizeStream(stream));
    EXPECT(aclmdlRIDestroy(model));
    EXPECT(aclrtDestroyEvent(fork));
    EXPECT(aclrtDestroyEvent(join));
}

static void *work(void *arg)
{
    struct worker *w = arg;
    aclrtStream stream[2];
    EXPECT(aclrtSetDevice(0));
    for (int i = 0; i < 2; i++) {
        EXPECT(aclrtCreateStream(&stream[i]));
    }
    for (int round = 0; round < rounds; round++) {
        int s = roll(w, 2), e = roll(w, EVENTS);
        aclrtEventStatus status;
        switch (roll(w, 14)) {
        case 0:
        case 1:
        case 2:
            EXPECT(aclrtRecordEvent(events[e], stream[s]));
            break;
        case 3:
        case 4:
        case 5:
            EXPECT(aclrtStreamWaitEvent(stream[s], events[e]));
            break;
        case 6:
            EXPECT(aclrtQueryEvent(events[e], &status));
            break;
        case 7:
            EXPECT(aclrtSynchronizeEventWithTimeout(events[e], 1), ACL_ERROR_RT_EVENT_SYNC_TIMEOUT);
            break;
        case 8:
            EXPECT(aclrtSynchronizeStream(stream[s]));
            break;
        case 9:
            EXPECT(aclrtStreamAbort(stream[s]));
            break;
        case 10:
            EXPECT(roll(w, 2) ? aclrtDestroyStream(stream[s]) : aclrtDestroyStreamForce(stream[s]));
            EXPECT(aclrtCreateStream(&stream[s]));
            break;
        case 11:
            if (roll(w, 8) == 0) {
                EXPECT(aclrtSynchronizeStream(stream[0]));
                EXPECT(aclrtSynchronizeStream(stream[1]));
                replay(w, stream[0], stream[1]);
            }
            break;
        case 12:
            EXPECT(aclrtRecordNotify(notify, stream[s]));
            EXPECT(aclrtWaitAndResetNotify(notify, stream[s], 1)); /* another thread may take it first */
            EXPECT(aclrtRecordNotify(notify, stream[s]));
            break;
        default:
            EXPECT(aclrtLaunchHostFunc(stream[s], count_up, &w->executed));
            break;
        }
    }
    for (int i = 0; i < 2; i++) {
        EXPECT(aclrtStreamAbort(stream[i]));
        EXPECT(aclrtDestroyStream(stream[i]));
    }
    EXPECT(aclrtResetDevice(0));
    return NULL;
}

static void everything_concurrently(void **state)
{
    struct worker workers[THREADS];
    pthread_t threads[THREADS];
    for (int i = 0; i < EVENTS; i++) {
        OK(aclrtCreateEventExWithFlag(&events[i], ACL_EVENT_SYNC));
    }
    OK(aclrtCreateNotify(&notify, 0));
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.seed = 4711u + (unsigned)i};
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(workers[i].unexpected, 0);
    }
    for (int i = 0; i < EVENTS; i++) {
        OK(aclrtDestroyEvent(events[i]));
    }
    OK(aclrtDestroyNotify(notify));
    uint32_t left = 0;
    OK(aclrtGetStreamAvailableNum(&left));
    assert_int_equal(left, 1983); /* nothing leaked */
    OK(aclrtGetEventAvailNum(&left));
    assert_int_equal(left, 65536);
}

int main(void)
{
    const char *wanted = getenv("RT_STRESS_ROUNDS");
    rounds = wanted != NULL ? atoi(wanted) : rounds;
    own_machine();
    alarm(120);
    const struct CMUnitTest tests[] = {cmocka_unit_test(everything_concurrently)};
    return cmocka_run_group_tests(tests, on_device, off_device);
}
