/* SPDX-License-Identifier: Apache-2.0 */
/* The transport under failure: ranks that disagree, die or never join; gathering. */
#include "hccl_world.h"

/* ---- failures ---- */

static int expect_failure(struct hccl_link *link, const struct hccl_collective *op, HcclResult want, const char *text)
{
    struct hccl_run run = {.link = link, .waiter = &hccl_plain_waiter};
    HcclResult result = hccl_collective_run(&run, op);
    if (result != want || (text != NULL && strstr(run.why, text) == NULL)) {
        fprintf(stderr, "rank %u: result %d instead of %d: %s\n", link->rank, result, want, run.why);
        return 1;
    }
    return hccl_link_error(link) != want; /* and the error persists */
}

static int disagree(struct hccl_link *link, void *arg)
{
    float send[64] = {0}, recv[64];
    memset(recv, 0x5a, sizeof(recv));
    struct hccl_collective op = {
        .kind = HCCL_KIND_ALL_REDUCE, .dtype = HCCL_DATA_TYPE_FP32, .count = 16, .send = send, .recv = recv};
    switch (*(int *)arg) {
    case 0:
        op.count += link->rank;
        break;
    case 1:
        op.kind = link->rank == 0 ? HCCL_KIND_ALL_REDUCE : HCCL_KIND_BROADCAST;
        break;
    case 2:
        op.dtype = link->rank == 0 ? HCCL_DATA_TYPE_FP32 : HCCL_DATA_TYPE_INT32;
        break;
    default:
        op.reduce = link->rank == 0 ? HCCL_REDUCE_SUM : HCCL_REDUCE_MAX;
        break;
    }
    int bad = expect_failure(link, &op, HCCL_E_PARA, NULL);
    for (int i = 0; i < 64; i++) {
        bad += memcmp(&recv[i], "ZZZZ", 4) != 0; /* untouched */
    }
    return bad + expect_failure(link, &op, HCCL_E_PARA, NULL);
}

static int disagree_on_vectors(struct hccl_link *link, void *arg)
{
    float send[64] = {0}, recv[64];
    uint64_t v[4][2] = {{4, 4}, {0, 8}, {4, 4}, {0, 8}};
    v[0][1] += link->rank == 0; /* rank 0 sends one more than rank 1 expects */
    struct hccl_collective op = {.kind = HCCL_KIND_ALL_TO_ALL_V,
                                 .dtype = HCCL_DATA_TYPE_FP32,
                                 .send = send,
                                 .recv = recv,
                                 .vector = {v[0], v[1], v[2], v[3]}};
    struct hccl_run run = {.link = link, .waiter = &hccl_plain_waiter};
    return hccl_collective_run(&run, &op) != HCCL_E_PARA;
}

static int disagree_on_message(struct hccl_link *link, void *arg)
{
    float data[16] = {0};
    struct hccl_transfer t = {.receive = link->rank,
                              .peer = !link->rank,
                              .dtype = HCCL_DATA_TYPE_FP32,
                              .count = 8 + link->rank,
                              .buffer = data};
    return p2p(link, &t, 1, NULL) != HCCL_E_PARA;
}

static void disagreement_is_reported(void **state)
{
    for (int what = 0; what < 4; what++) {
        run_threads(2, disagree, &what);
        run_processes(2, disagree, &what);
    }
    run_threads(2, disagree_on_vectors, NULL);
    run_threads(2, disagree_on_message, NULL);
}

/* Rank 1 fails the communicator and leaves just before rank 0 sleeps, so nothing wakes rank 0. */
static int leaves_with_a_word(struct hccl_link *link, void *arg)
{
    static pid_t sleeper;
    char path[64], line[256];
    float data[16] = {0};
    struct hccl_collective op = {
        .kind = HCCL_KIND_ALL_REDUCE, .dtype = HCCL_DATA_TYPE_FP32, .count = 16, .send = data, .recv = data};
    if (link->rank == 0) {
        __atomic_store_n(&sleeper, gettid(), __ATOMIC_RELEASE);
        return expect_failure(link, &op, HCCL_E_PARA, "another rank ended the communicator");
    }
    const char *state = NULL;
    uint64_t deadline = ms_clock_raw_ns() + 20000000000ull;
    while (state == NULL || state[2] != 'S') {
        pid_t tid = __atomic_load_n(&sleeper, __ATOMIC_ACQUIRE);
        snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
        FILE *f = tid != 0 ? fopen(path, "r") : NULL;
        state = f != NULL && fgets(line, sizeof(line), f) != NULL ? strrchr(line, ')') : NULL;
        if (f != NULL) {
            fclose(f);
        }
        if (ms_clock_raw_ns() > deadline) {
            return 3;
        }
    }
    __atomic_store_n(&link->seg.head->error, (uint32_t)HCCL_E_PARA, __ATOMIC_SEQ_CST);
    return 0;
}

static void reason_survives_its_rank(void **state)
{
    run_threads(2, leaves_with_a_word, NULL);
}

/* Rank 1 of 3 leaves after *arg collectives. */
static int one_dies(struct hccl_link *link, void *arg)
{
    static float data[100000];
    struct hccl_collective op = {
        .kind = HCCL_KIND_ALL_REDUCE, .dtype = HCCL_DATA_TYPE_FP32, .count = 100000, .send = data, .recv = data};
    struct hccl_run run = {.link = link, .waiter = &hccl_plain_waiter};
    for (int i = 0; i < *(int *)arg; i++) {
        if (hccl_collective_run(&run, &op) != HCCL_SUCCESS) {
            return 2;
        }
    }
    if (link->rank == 1) {
        kill(getpid(), SIGKILL);
    }
    return expect_failure(link, &op, HCCL_E_REMOTE, NULL);
}

static int receiver_dies(struct hccl_link *link, void *arg)
{
    static float data[1 << 20];
    if (link->rank == 1) {
        kill(getpid(), SIGKILL);
    }
    struct hccl_transfer t = {.peer = 1, .dtype = HCCL_DATA_TYPE_FP32, .count = 1 << 20, .buffer = data};
    return p2p(link, &t, 1, NULL) != HCCL_E_REMOTE;
}

static void dead_peer_is_detected(void **state)
{
    for (int after = 0; after < 2; after++) {
        struct world w;
        pid_t pids[3];
        uint64_t start = ms_clock_raw_ns();
        world_open(&w, 3, one_dies, &after);
        for (uint32_t r = 0; r < 3; r++) {
            pids[r] = start_process(&w, r);
        }
        assert_int_equal(wait_process(pids[1]), 1000 + SIGKILL);
        assert_int_equal(wait_process(pids[0]), 0);
        assert_int_equal(wait_process(pids[2]), 0);
        assert_true(ms_clock_raw_ns() - start < 10000000000ull);
        world_close(&w);
    }
    struct world w;
    pid_t pids[2];
    world_open(&w, 2, receiver_dies, NULL);
    pids[0] = start_process(&w, 0);
    pids[1] = start_process(&w, 1);
    assert_int_equal(wait_process(pids[0]), 0);
    assert_int_equal(wait_process(pids[1]), 1000 + SIGKILL);
    world_close(&w);
}

/* Rank 1 is alive but does not participate. */
static int nobody_comes(struct hccl_link *link, void *arg)
{
    if (link->rank == 1) {
        while (hccl_link_error(link) == HCCL_SUCCESS) {
            hccl_bell_sleep(&link->seg.ranks[1].door, hccl_bell_read(&link->seg.ranks[1].door), &hccl_plain_waiter, 50);
        }
        return hccl_link_error(link) != HCCL_E_TIMEOUT;
    }
    link->exec_timeout_ms = 300;
    struct hccl_collective op = {.kind = HCCL_KIND_BARRIER};
    return expect_failure(link, &op, HCCL_E_TIMEOUT, "rank 1");
}

/* A send ends when it is received, however small it is: a card has no buffer for it. */
static int nobody_receives(struct hccl_link *link, void *arg)
{
    if (link->rank == 1) {
        return nobody_comes(link, NULL);
    }
    link->exec_timeout_ms = 300;
    char byte = 1;
    struct hccl_transfer t = {.peer = 1, .dtype = HCCL_DATA_TYPE_INT8, .count = 1, .buffer = &byte};
    return p2p(link, &t, 1, NULL) != HCCL_E_TIMEOUT;
}

static void absent_peer_times_out(void **state)
{
    run_threads(2, nobody_comes, NULL);
    run_threads(2, nobody_receives, NULL);
}

/* ---- gathering ---- */

static void wrong_joins_are_refused(void **state)
{
    struct world w;
    struct hccl_segment first, second;
    char why[HCCL_WHY_B];
    world_open(&w, 2, NULL, NULL);
    assert_int_equal(join(&w, 0, &first, why), HCCL_SUCCESS);
    assert_int_equal(join(&w, 0, &second, why), HCCL_E_PARA);
    assert_non_null(strstr(why, "rank 0"));
    w.n = 3;
    assert_int_equal(join(&w, 1, &second, why), HCCL_E_PARA);
    w.n = 2;
    w.cookie[0]++;
    assert_int_equal(join(&w, 1, &second, why), HCCL_E_PARA);
    w.cookie[0]--;
    assert_int_equal(hccl_segment_gather(&first, 300, why), HCCL_E_TIMEOUT);
    assert_non_null(strstr(why, "1 of 2"));
    assert_int_equal(join(&w, 1, &second, why), HCCL_E_NOT_FOUND); /* ended for all ranks */
    hccl_segment_leave(&first);
    world_close(&w);
}

static int quiet_fn(struct hccl_link *link, void *arg)
{
    return 0;
}

static void member_that_dies_while_gathering(void **state)
{
    struct world w;
    struct hccl_segment mine;
    char why[HCCL_WHY_B];
    world_open(&w, 3, quiet_fn, NULL);
    pid_t pid = fork();
    if (pid == 0) {
        struct hccl_segment s;
        _exit(join(&w, 1, &s, why) == HCCL_SUCCESS ? 0 : 1);
    }
    assert_int_equal(wait_process(pid), 0);
    /* By root info: the gathering cannot become complete. */
    assert_int_equal(join(&w, 0, &mine, why), HCCL_E_AGAIN);
    world_close(&w);

    /* The same for a rank that had joined before. */
    world_open(&w, 3, quiet_fn, NULL);
    assert_int_equal(join(&w, 0, &mine, why), HCCL_SUCCESS);
    pid = fork();
    if (pid == 0) {
        struct hccl_segment s;
        _exit(join(&w, 1, &s, why) == HCCL_SUCCESS ? 0 : 1);
    }
    assert_int_equal(wait_process(pid), 0);
    assert_int_equal(hccl_segment_gather(&mine, 20000, why), HCCL_E_REMOTE);
    assert_non_null(strstr(why, "rank 1"));
    hccl_segment_leave(&mine);
    world_close(&w);
}

static void creator_of_root_info_dies(void **state)
{
    struct world w;
    struct hccl_segment s;
    char why[HCCL_WHY_B];
    world_open(&w, 2, quiet_fn, NULL);
    assert_int_equal(join(&w, 0, &s, why), HCCL_SUCCESS);
    close(w.maker_fd);
    assert_int_equal(hccl_segment_gather(&s, 20000, why), HCCL_E_REMOTE);
    hccl_segment_leave(&s);
    assert_int_equal(access(w.path, F_OK), -1);
}

static void stale_files_are_removed(void **state)
{
    struct world held, lost;
    world_open(&held, 2, NULL, NULL);
    world_open(&lost, 2, NULL, NULL);
    const struct timespec old[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
    assert_int_equal(futimens(held.maker_fd, old), 0);
    assert_int_equal(futimens(lost.maker_fd, old), 0);
    close(lost.maker_fd);
    hccl_segment_sweep();
    assert_int_equal(access(lost.path, F_OK), -1);
    assert_int_equal(access(held.path, F_OK), 0);
    unlink(held.path);
    world_close(&held);
}
int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(disagreement_is_reported),  cmocka_unit_test(reason_survives_its_rank),
        cmocka_unit_test(dead_peer_is_detected),     cmocka_unit_test(absent_peer_times_out),
        cmocka_unit_test(wrong_joins_are_refused),   cmocka_unit_test(member_that_dies_while_gathering),
        cmocka_unit_test(creator_of_root_info_dies), cmocka_unit_test(stale_files_are_removed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
