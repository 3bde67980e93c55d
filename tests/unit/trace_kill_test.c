/* SPDX-License-Identifier: Apache-2.0 */
/* A producer killed at each labelled point, and overwritten memory: committed records are read, and the rest does no
 * harm. Built with MS_TESTPOINTS. */
#include "trace_rig.h"

static const char *const labels[] = {
    "reserved", "stamped", "filled", "used", "committed", "filling", "counted", "full", "popped", "headed", "owned",
};

static const char *kill_label;
static int kill_after;

static void kill_here(const char *label)
{
    if (strcmp(label, kill_label) == 0 && kill_after-- == 0) {
        kill(getpid(), SIGKILL);
    }
}

/* In the child: records until it is killed, and counts committed records. */
static void produce_until_killed(struct rig *rig, uint64_t *committed, const char *label, int after)
{
    rig_current = rig;
    ms_producer_setup(rig_attach);
    ms_producer_forked();
    kill_label = label;
    kill_after = after;
    ms_testpoint_hook = kill_here;
    for (uint64_t i = 0; i < 100000; i++) {
        if (!rig_number(i)) {
            _exit(1);
        }
        __atomic_store_n(committed, i + 1, __ATOMIC_RELEASE);
    }
    _exit(2);
}

/* Number of records: in order, and none missing in between. */
static uint64_t steps_of(struct rig *rig)
{
    struct ms_trace *t = rig_read(rig, NULL);
    struct ms_event e;
    uint64_t steps = 0;
    while (ms_trace_next(t, &e) == MS_TRACE_EVENT) {
        assert_int_not_equal(e.kind, MS_R_GAP);
        if (e.kind == MS_R_STEP) {
            assert_int_equal(e.value, steps++);
        }
    }
    ms_trace_close(t);
    return steps;
}

static void kill_at(const char *label, int after)
{
    struct rig rig = {.clock_kind = MS_CLOCK_MONOTONIC, .memfd = -1};
    rig_directory(&rig);
    rig.shm = ms_shm_create(64u << 20, 1, MS_CLOCK_MONOTONIC, &rig.memfd);
    assert_non_null(rig.shm);
    rig.shm->state = MS_STATE_ON;
    uint64_t *committed = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t pid = fork();
    if (pid == 0) {
        produce_until_killed(&rig, committed, label, after);
    }
    assert_int_equal(ms_writer_open(rig.dir, &rig.process, NULL, &rig.writer), 0);
    assert_int_equal(ms_drain_open(rig.memfd, rig.writer, &rig.drain), 0); /* another mapping, as in a collector */
    int status = 0;
    while (waitpid(pid, &status, WNOHANG) == 0) {
        assert_true(ms_drain_sweep(rig.drain) >= 0);
    }
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    rig_finish(&rig);
    uint64_t steps = steps_of(&rig);
    assert_in_range(steps, *committed, *committed + 1);
    munmap(committed, 4096);
    rig_end(&rig);
}

/* ---- producers that continue during a walk ---- */

static uint64_t number_next;
static int walk_left; /* table entries until records are written */

static void make_records(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        assert_true(rig_number(number_next++));
    }
}

static void record_while_walking(const char *label)
{
    if (strcmp(label, "walking") == 0 && walk_left-- == 0) {
        make_records(4000); /* several chunks: some before the walk's position, some after it */
    }
}

static void test_chunks_filled_after_the_walk_passed(void **state)
{
    (void)state;
    struct rig rig;
    struct ms_drain_stats stats;
    rig_start(&rig, MS_CLOCK_MONOTONIC);
    number_next = 0;
    for (int round = 0; round < 60; round++) {
        make_records(8000);
        walk_left = round % 12;
        ms_testpoint_hook = record_while_walking;
        assert_true(ms_drain_sweep(rig.drain) >= 0);
        ms_testpoint_hook = NULL;
    }
    ms_drain_stats(rig.drain, &stats);
    for (unsigned i = 0; i < MS_DAMAGE_CAUSES; i++) {
        assert_int_equal(stats.damage[i], 0);
    }
    rig_finish(&rig);
    assert_int_equal(steps_of(&rig), number_next);
    rig_end(&rig);
}

static void test_killed_anywhere(void **state)
{
    (void)state;
    for (unsigned i = 0; i < MS_COUNT_OF(labels); i++) {
        kill_at(labels[i], 0);
        kill_at(labels[i], i >= 5 ? 3 : 2500); /* the later ones are reached once per chunk */
    }
}

/* ---- hostile memory ---- */

static void test_overwritten_memory(void **state)
{
    (void)state;
    uint64_t seed = 4711;
    for (int round = 0; round < 60; round++) {
        struct rig rig;
        rig_begin(&rig, MS_CLOCK_MONOTONIC, 16u << 20);
        rig_open_trace(&rig, NULL);
        for (uint64_t i = 0; i < 3000; i++) {
            rig_number(i);
            rig_mark(i % 3 == 0 ? "abc" : "def", true);
        }
        char *memory = (char *)rig.shm;
        for (int k = 0; k < 200; k++) { /* anything but the part that was checked on opening */
            uint64_t chunks_off = rig.shm->chunks_off, from = k % 4 == 0 ? rig.shm->streams_off : chunks_off;
            uint64_t span = k % 4 == 0 ? 4096 : k % 4 == 1 ? 64 : 16u * MS_CHUNK_B;
            uint64_t at = from + rig_random(&seed) % span;
            memory[at] = (char)rig_random(&seed);
        }
        for (int k = 0; k < 20; k++) {
            memory[rig.shm->table_off + rig_random(&seed) % 256] ^= (char)(1 << rig_random(&seed) % 8);
        }
        assert_true(ms_drain_sweep(rig.drain) >= 0);
        assert_true(ms_drain_sweep(rig.drain) >= 0);
        rig_finish(&rig);
        struct ms_trace *t = rig_read(&rig, NULL);
        struct ms_event e;
        int rc;
        while ((rc = ms_trace_next(t, &e)) == MS_TRACE_EVENT) {
        }
        assert_int_equal(rc, MS_TRACE_END);
        struct ms_trace_stats stats;
        ms_trace_stats(t, &stats);
        assert_int_equal(stats.damages, 0); /* in any case the file is valid */
        ms_trace_close(t);
        rig_end(&rig);
    }
}

static void test_foreign_memory(void **state)
{
    (void)state;
    struct rig rig;
    struct ms_drain *drain;
    rig_start(&rig, MS_CLOCK_MONOTONIC);
    int fd = memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    assert_int_equal(ftruncate(fd, 1 << 20), 0);
    assert_int_equal(ms_drain_open(fd, rig.writer, &drain), -EPERM);
    assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL), 0);
    assert_int_equal(ms_drain_open(fd, rig.writer, &drain), -EPROTO); /* zeros */
    close(fd);
    fd = memfd_create("odd", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    assert_int_equal(ftruncate(fd, 4097), 0);
    assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL), 0);
    assert_int_equal(ms_drain_open(fd, rig.writer, &drain), -EPROTO);
    close(fd);
    assert_int_equal(ms_drain_open(rig.dir, rig.writer, &drain), -EPERM);
    rig_end(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chunks_filled_after_the_walk_passed),
        cmocka_unit_test(test_killed_anywhere),
        cmocka_unit_test(test_overwritten_memory),
        cmocka_unit_test(test_foreign_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
