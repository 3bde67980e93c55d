/* SPDX-License-Identifier: Apache-2.0 */
/* Trace files: segments that can be read alone, a collector that takes over, damage, checkpoints, limits. */
#include "trace/aux.h"
#include "trace_rig.h"

#include "trace/writer_internal.h"

#include <sys/resource.h>

static uint64_t read_steps(struct rig *rig, uint64_t *gaps, uint64_t *damages)
{
    struct ms_trace *t;
    struct ms_event e;
    uint64_t steps = 0;
    *gaps = *damages = 0;
    if (ms_trace_open(rig->dir, "p", NULL, &t) != 0) {
        return 0;
    }
    while (ms_trace_next(t, &e) == MS_TRACE_EVENT) {
        steps += e.kind == MS_R_STEP;
        *gaps += e.kind == MS_R_GAP;
    }
    struct ms_trace_stats stats;
    ms_trace_stats(t, &stats);
    *damages = stats.damages;
    ms_trace_close(t);
    return steps;
}

static void record(struct rig *rig, uint64_t from, uint64_t count, bool sweep)
{
    for (uint64_t i = from; i < from + count; i++) {
        assert_true(rig_number(i));
        if (i % 50 == 0) {
            assert_true(rig_mark("a recurring text", true));
        }
        if (sweep && i % 500 == 499) {
            assert_true(ms_drain_sweep(rig->drain) >= 0);
        }
    }
}

/* Sweeps until everything recorded is final. */
static void settle(struct rig *rig)
{
    struct ms_drain_stats stats;
    uint64_t now = ms_drain_now(rig->drain);
    do {
        assert_true(ms_drain_sweep(rig->drain) >= 0);
        ms_drain_stats(rig->drain, &stats);
    } while (stats.low_stamp <= now);
}

static void test_each_segment_is_readable_alone(void **state)
{
    (void)state;
    struct rig rig;
    struct ms_writer_options options = {.segment_b = 4096};
    rig_begin(&rig, MS_CLOCK_MONOTONIC, 16u << 20);
    rig_open_trace(&rig, &options);
    record(&rig, 0, 20000, true);
    struct ms_writer_stats stats;
    ms_writer_stats(rig.writer, &stats);
    assert_true(stats.segment > 3);
    rig_finish(&rig);
    for (uint64_t i = 1; i <= stats.segment / 2; i++) {
        char name[32];
        snprintf(name, sizeof(name), "p.%06d.seg", (int)i);
        assert_int_equal(unlinkat(rig.dir, name, 0), 0);
    }
    struct ms_trace *t = rig_read(&rig, NULL);
    struct ms_event e;
    uint64_t last = 0, steps = 0, marks = 0;
    while (ms_trace_next(t, &e) == MS_TRACE_EVENT) {
        assert_int_not_equal(e.kind, MS_R_GAP); /* a deleted segment is not a loss */
        if (e.kind == MS_R_STEP) {
            assert_true(last == 0 || e.value == last + 1);
            last = e.value;
            steps++;
        } else if (e.kind == MS_R_MARK) {
            assert_int_equal(e.text.length_b, 16);
            marks++;
        }
    }
    assert_int_equal(last, 19999);
    assert_true(steps > 1000 && steps < 20000 && marks > 10);
    ms_trace_close(t);
    rig_end(&rig);
}

/* The collector dies silently, its last block half written; the next one continues. Nothing is lost or duplicated. */
static void test_a_new_collector_continues(void **state)
{
    (void)state;
    struct rig rig;
    uint64_t gaps, damages;
    rig_start(&rig, MS_CLOCK_MONOTONIC);
    record(&rig, 0, 3000, true);
    for (int i = 0; i < 3; i++) {
        rig_close_trace(&rig, MS_ENDING_OPEN);
        char name[32];
        struct stat status;
        snprintf(name, sizeof(name), "p.%06d.seg", i + 1);
        assert_int_equal(fstatat(rig.dir, name, &status, 0), 0);
        int fd = openat(rig.dir, name, O_WRONLY | O_APPEND);
        assert_int_equal(write(fd, "MSTBrubbish", 11), 11);
        close(fd);
        rig_open_trace(&rig, NULL);
        record(&rig, 3000u * (unsigned)(i + 1), 3000, i % 2 == 0);
    }
    rig_finish(&rig);
    assert_int_equal(read_steps(&rig, &gaps, &damages), 12000);
    assert_int_equal(gaps, 0);
    assert_int_equal(damages, 0);
    struct ms_writer *writer;
    assert_int_equal(ms_writer_open(rig.dir, &rig.process, NULL, &writer), -EALREADY);
    rig_end(&rig);
}

/* ---- damage ---- */

static void test_mutations(void **state)
{
    (void)state;
    struct rig rig;
    uint64_t gaps, damages, seed = 42;
    rig_start(&rig, MS_CLOCK_MONOTONIC);
    record(&rig, 0, 4000, true);
    rig_finish(&rig);
    int fd = openat(rig.dir, "p.000001.seg", O_RDWR);
    struct stat status;
    assert_int_equal(fstat(fd, &status), 0);
    size_t size_b = (size_t)status.st_size;
    uint8_t *good = malloc(size_b), *bad = malloc(size_b);
    assert_int_equal(pread(fd, good, size_b, 0), (ssize_t)size_b);
    for (int i = 0; i < 400; i++) {
        memcpy(bad, good, size_b);
        size_t length_b = i % 4 == 0 ? rig_random(&seed) % size_b : size_b;
        for (int k = i % 4 == 0 ? 0 : 1 + i % 7; k > 0; k--) {
            bad[rig_random(&seed) % size_b] ^= (uint8_t)(1u << rig_random(&seed) % 8);
        }
        assert_int_equal(ftruncate(fd, 0), 0);
        assert_int_equal(pwrite(fd, bad, length_b, 0), (ssize_t)length_b);
        uint64_t steps = read_steps(&rig, &gaps, &damages);
        assert_true(steps <= 4000); /* whatever is readable, and no crash */
        if (steps < 4000 && i % 4 != 0 && damages == 0) {
            fail_msg("mutation %d lost %d steps without any report", i, (int)(4000 - steps));
        }
    }
    free(good);
    free(bad);
    close(fd);
    rig_end(&rig);
}

/* ---- checkpoints ---- */

static int checkpoint_of(struct ms_aux *aux, const struct ms_position *position, const void *payload, size_t payload_b,
                         const uint32_t *ids, size_t count)
{
    struct iovec piece = {(void *)(uintptr_t)payload, payload_b};
    return ms_aux_checkpoint(aux, position, &piece, 1, ids, count);
}

static void test_checkpoint(void **state)
{
    (void)state;
    struct rig rig;
    struct ms_writer_options options = {.segment_b = 8192};
    rig_begin(&rig, MS_CLOCK_MONOTONIC, 16u << 20);
    rig_open_trace(&rig, &options);
    record(&rig, 0, 10000, true);
    settle(&rig); /* a position is where everything before it is final */
    record(&rig, 10000, 10000, true);
    rig_finish(&rig);
    struct ms_trace *t = rig_read(&rig, NULL);
    struct ms_aux *aux;
    struct ms_event e;
    struct ms_position position;
    uint64_t events = 0, at = 0;
    uint32_t text = 0;
    assert_int_equal(ms_aux_open(t, &aux), 0);
    while (ms_trace_next(t, &e) == MS_TRACE_EVENT) {
        events++;
        text = e.kind == MS_R_MARK ? e.text.id : text;
        if (events > 8000 && at == 0 && ms_trace_position(t, &position)) {
            assert_int_equal(checkpoint_of(aux, &position, "model", 5, &text, 1), 0);
            at = events;
        }
    }
    assert_int_equal(ms_aux_symbol(aux, 7, 0x123, "main (a.c:5)", 12), 0);
    ms_aux_close(aux);
    ms_trace_close(t);
    assert_true(at > 8000);
    struct ms_trace_options from = {.from_latest = true};
    struct ms_checkpoint checkpoint;
    struct ms_text found;
    t = rig_read(&rig, &from);
    assert_true(ms_trace_checkpoint(t, &checkpoint));
    assert_int_equal(checkpoint.payload_b, 5);
    assert_memory_equal(checkpoint.payload, "model", 5);
    assert_true(ms_trace_text(t, text, &found));
    assert_int_equal(found.length_b, 16);
    uint64_t index = at;
    while (ms_trace_next(t, &e) == MS_TRACE_EVENT) {
        assert_int_equal(e.index, index++);
    }
    assert_int_equal(index, events);
    assert_true(ms_trace_symbol(t, 7, 0x123, &found));
    assert_memory_equal(found.s, "main (a.c:5)", 12);
    ms_trace_close(t);
    rig_end(&rig);
}

/* Larger than a block; if one of its blocks is damaged, the previous checkpoint is used. */
static void test_large_checkpoint(void **state)
{
    (void)state;
    enum { LARGE_B = (33 << 20) + 5 };
    struct rig rig;
    struct ms_writer_options options = {.segment_b = 8192};
    rig_begin(&rig, MS_CLOCK_MONOTONIC, 16u << 20);
    rig_open_trace(&rig, &options);
    record(&rig, 0, 5000, true);
    settle(&rig);
    record(&rig, 5000, 13000, true);
    settle(&rig);
    record(&rig, 18000, 2000, true);
    rig_finish(&rig);
    uint32_t random = 1;
    char *large = malloc(LARGE_B);
    assert_non_null(large);
    for (size_t i = 0; i < LARGE_B; i++) { /* incompressible, so that it exceeds a block when packed, too */
        random = random * 1664525 + 1013904223;
        large[i] = (char)(random >> 24);
    }
    struct ms_trace *t = rig_read(&rig, NULL);
    struct ms_aux *aux;
    struct ms_event e;
    struct ms_position position, positions[2];
    unsigned made = 0;
    uint64_t events = 0;
    assert_int_equal(ms_aux_open(t, &aux), 0);
    while (ms_trace_next(t, &e) == MS_TRACE_EVENT) {
        events++;
        if (made < 2 && events > 4000 && ms_trace_position(t, &position) &&
            (made == 0 || position.segment > positions[0].segment)) {
            int rc = made == 0 ? checkpoint_of(aux, &position, "model", 5, NULL, 0)
                               : checkpoint_of(aux, &position, large, LARGE_B, NULL, 0);
            assert_int_equal(rc, 0);
            positions[made++] = position;
        }
    }
    assert_int_equal(made, 2);
    ms_aux_close(aux);
    ms_trace_close(t);

    struct ms_trace_options from = {.from_latest = true};
    struct ms_checkpoint checkpoint;
    t = rig_read(&rig, &from);
    assert_true(ms_trace_checkpoint(t, &checkpoint));
    assert_int_equal(checkpoint.payload_b, LARGE_B);
    assert_int_equal(memcmp(checkpoint.payload, large, LARGE_B), 0);
    uint64_t index = positions[1].index;
    while (ms_trace_next(t, &e) == MS_TRACE_EVENT) {
        assert_int_equal(e.index, index++);
    }
    assert_int_equal(index, events);
    ms_trace_close(t);

    char name[64];
    snprintf(name, sizeof(name), "p.%06u.aux", (unsigned)positions[1].segment);
    int fd = openat(rig.dir, name, O_RDWR);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, large + 100, 8, lseek(fd, 0, SEEK_END) / 16 * 8), 8);
    close(fd);
    t = rig_read(&rig, &from);
    assert_true(ms_trace_checkpoint(t, &checkpoint));
    assert_int_equal(checkpoint.payload_b, 5);
    assert_memory_equal(checkpoint.payload, "model", 5);
    ms_trace_close(t);
    free(large);
    rig_end(&rig);
}

struct seen_event {
    uint64_t index, time_ns, value;
};

/* Everything from some event on; `all` holds the events of a complete reading. */
static void compare_rest(struct ms_trace *t, const struct seen_event *all, uint64_t index, uint64_t count)
{
    struct ms_event e;
    int rc;
    while ((rc = ms_trace_next(t, &e)) == MS_TRACE_EVENT) {
        assert_true(index < count);
        assert_int_equal(e.index, all[index].index);
        assert_int_equal(e.time_ns, all[index].time_ns);
        assert_int_equal(e.value, all[index].value);
        index++;
    }
    assert_int_equal(rc, MS_TRACE_END);
    assert_int_equal(index, count);
}

/* Segments in the middle, then also those at the beginning, are deleted: reading continues from a checkpoint, and the
 * events are the same, times included. */
static void test_jump(void **state)
{
    (void)state;
    static struct seen_event all[30000];
    struct rig rig;
    struct ms_writer_options options = {.segment_b = 2048};
    rig_begin(&rig, ms_clock_choose(), 16u << 20);
    rig_open_trace(&rig, &options);
    for (uint64_t i = 0; i < 25; i++) {
        record(&rig, i * 1000, 1000, true);
        settle(&rig);
    }
    struct ms_writer_stats stats;
    ms_writer_stats(rig.writer, &stats);
    assert_true(stats.segment >= 8);
    rig_finish(&rig);
    struct ms_trace *t = rig_read(&rig, NULL);
    struct ms_aux *aux;
    struct ms_event e;
    struct ms_position position;
    struct ms_checkpoint checkpoint;
    uint64_t count = 0, made[64], checkpoints = 0;
    assert_int_equal(ms_aux_open(t, &aux), 0);
    while (ms_trace_next(t, &e) == MS_TRACE_EVENT) {
        all[count++] = (struct seen_event){e.index, e.time_ns, e.value};
        if (checkpoints < 64 && ms_trace_position(t, &position) &&
            (checkpoints == 0 || position.segment > made[checkpoints - 1])) {
            assert_int_equal(checkpoint_of(aux, &position, &count, sizeof(count), NULL, 0), 0);
            made[checkpoints++] = position.segment;
        }
    }
    ms_aux_close(aux);
    ms_trace_close(t);
    assert_true(checkpoints >= 6);
    uint64_t middle = made[checkpoints / 2], later = made[checkpoints / 2 + 1];
    for (uint64_t i = made[2]; i < middle; i++) {
        assert_true(ms__segment_delete(rig.dir, "p", i) > 0);
    }
    t = rig_read(&rig, NULL);
    uint64_t before = 0, payload;
    int rc;
    while ((rc = ms_trace_next(t, &e)) == MS_TRACE_EVENT) {
        assert_int_equal(e.time_ns, all[before].time_ns);
        before++;
    }
    assert_int_equal(rc, MS_TRACE_JUMP);
    assert_true(ms_trace_checkpoint(t, &checkpoint));
    assert_int_equal(checkpoint.position.segment, middle);
    memcpy(&payload, checkpoint.payload, sizeof(payload));
    assert_int_equal(payload, checkpoint.position.index);
    assert_true(before > 0 && before < payload);
    compare_rest(t, all, payload, count);
    ms_trace_close(t);

    for (uint64_t i = 1; i < made[2]; i++) {
        assert_true(ms__segment_delete(rig.dir, "p", i) > 0);
    }
    t = rig_read(&rig, NULL);
    assert_true(ms_trace_checkpoint(t, &checkpoint));
    compare_rest(t, all, payload, count);
    ms_trace_close(t);

    assert_int_equal(ms_trace_trim(rig.dir, "p", 1, later), 0);
    t = rig_read(&rig, NULL);
    assert_true(ms_trace_checkpoint(t, &checkpoint));
    assert_int_equal(checkpoint.position.segment, later);
    compare_rest(t, all, checkpoint.position.index, count);
    ms_trace_close(t);
    rig_end(&rig);
}

/* ---- limits ---- */

/* A trace that soon reaches its size limit, and the writer's own reader. */
static struct ms_trace *begin_limited(struct rig *rig)
{
    struct ms_writer_options options = {.segment_b = 4096, .max_b = 16384};
    rig_begin(rig, MS_CLOCK_MONOTONIC, 16u << 20);
    rig_open_trace(rig, &options);
    struct ms_trace_options live = {.live = true, .overflow = ms_writer_overflow(rig->writer)};
    return rig_read(rig, &live);
}

static void test_size_limit(void **state)
{
    (void)state;
    struct rig rig;
    struct ms_trace *t = begin_limited(&rig);
    record(&rig, 0, 40000, true);
    struct ms_writer_stats stats;
    ms_writer_stats(rig.writer, &stats);
    assert_int_equal(stats.ending, MS_ENDING_LIMIT);
    assert_true(stats.bytes < 32768);
    rig_finish(&rig);
    uint64_t steps = 0;
    struct ms_event e;
    while (ms_trace_next(t, &e) == MS_TRACE_EVENT) { /* the files ended; the rest came through memory */
        steps += e.kind == MS_R_STEP;
    }
    assert_int_equal(steps, 40000);
    ms_trace_close(t);
    uint64_t gaps, damages;
    steps = read_steps(&rig, &gaps, &damages);
    assert_true(steps > 1000 && steps < 40000 && damages == 0);
    assert_int_equal(gaps, 1); /* at the end: the files alone are incomplete */
    rig_end(&rig);
}

/* Limits the size of all files until *before is restored. */
static void limit_files(rlim_t size_b, struct rlimit *before)
{
    assert_int_equal(getrlimit(RLIMIT_FSIZE, before), 0);
    struct rlimit limit = {size_b, before->rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* Not even for the few bytes that say why it ends. */
static void test_file_size_limit(void **state)
{
    (void)state;
    struct rig rig;
    struct rlimit before;
    struct ms_writer_stats written;
    struct ms_trace_stats read;
    struct ms_event e;
    rig_start(&rig, MS_CLOCK_MONOTONIC);
    record(&rig, 0, 5000, true);
    settle(&rig);
    ms_writer_stats(rig.writer, &written);
    limit_files((rlim_t)written.bytes + 1, &before);
    record(&rig, 5000, 1000, true);
    rig_finish(&rig);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    struct ms_trace *t = rig_read(&rig, NULL);
    uint64_t steps = 0, lost = 0;
    while (ms_trace_next(t, &e) == MS_TRACE_EVENT) {
        steps += e.kind == MS_R_STEP;
        lost += e.kind == MS_R_GAP ? e.gap.lost : 0;
    }
    ms_trace_stats(t, &read);
    assert_int_equal(read.ending, MS_ENDING_DISK);
    assert_int_equal(steps, 5000);
    assert_int_equal(lost, 1000 + 1000 / 50);
    ms_trace_close(t);
    rig_end(&rig);
}

/* The files have ended and then memory is full too: no record follows that would show the hole at the end, and it must
 * be reported nevertheless. */
static void test_loss_at_the_end_is_reported(void **state)
{
    (void)state;
    struct rig rig;
    struct ms_trace *t = begin_limited(&rig);
    record(&rig, 0, 20000, true);
    settle(&rig);
    struct rlimit before;
    limit_files(0, &before);
    record(&rig, 20000, 1000, true);
    rig_finish(&rig);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    ms_trace_writer_closed(t);
    uint64_t steps = 0, last_ns = 0;
    struct ms_event e, gap = {0};
    while (ms_trace_next(t, &e) == MS_TRACE_EVENT) {
        assert_int_equal(gap.kind, 0); /* nothing follows it */
        gap = e.kind == MS_R_GAP ? e : gap;
        last_ns = e.kind == MS_R_GAP ? last_ns : e.time_ns;
        steps += e.kind == MS_R_STEP;
    }
    assert_int_equal(steps, 20000);
    assert_int_equal(gap.kind, MS_R_GAP);
    assert_int_equal(gap.gap.lost, 1000 + 1000 / 50);
    assert_int_equal(gap.gap.lost_alloc, gap.gap.lost);
    assert_int_equal(gap.gap.cause, MS_GAP_DISK);
    assert_true(gap.time_ns > last_ns && gap.gap.since_ns != 0 && gap.gap.since_ns <= gap.time_ns);
    assert_int_equal(ms_trace_next(t, &e), MS_TRACE_END);
    ms_trace_close(t);
    rig_end(&rig);
}

static struct ms_trace *begin_in_memory(struct rig *rig)
{
    struct ms_writer_options options = {.memory = true};
    rig_begin(rig, MS_CLOCK_MONOTONIC, 16u << 20);
    rig_open_trace(rig, &options);
    struct ms_trace_options live = {.live = true, .overflow = ms_writer_overflow(rig->writer), .memory = true};
    struct ms_trace *t;
    assert_int_equal(ms_trace_open(-1, "p", &live, &t), 0);
    return t;
}

/* A trace that begins in memory, invisible to other readers, and continues in files; the files alone are usable from
 * their first checkpoint on. */
static void test_from_memory_to_files(void **state)
{
    (void)state;
    struct rig rig;
    struct ms_trace *t = begin_in_memory(&rig);
    struct ms_aux *aux;
    struct ms_event e;
    struct ms_position position;
    uint64_t steps = 0, events = 0, at = 0;
    record(&rig, 0, 5000, true);
    settle(&rig);
    while (ms_trace_next(t, &e) == MS_TRACE_EVENT) {
        steps += e.kind == MS_R_STEP;
        events++;
    }
    assert_int_equal(steps, 5000);
    assert_false(ms_trace_position(t, &position));
    assert_int_equal(ms_writer_to_files(rig.writer, rig.dir, ""), 0);
    assert_int_equal(ms_trace_next(t, &e), MS_TRACE_AGAIN); /* the directory is unknown */
    assert_int_equal(ms_trace_follow(t, rig.dir), 0);
    record(&rig, 5000, 1000, true);
    settle(&rig);
    while (ms_trace_next(t, &e) == MS_TRACE_EVENT) {
        steps += e.kind == MS_R_STEP;
        events++;
    }
    assert_int_equal(steps, 6000);
    assert_true(ms_trace_position(t, &position));
    assert_int_equal(position.segment, 2);
    assert_int_equal(ms_aux_open(t, &aux), 0);
    assert_int_equal(checkpoint_of(aux, &position, "x", 1, NULL, 0), 0);
    at = position.index;
    record(&rig, 6000, 1000, true);
    rig_finish(&rig);
    while (ms_trace_next(t, &e) == MS_TRACE_EVENT) {
        steps += e.kind == MS_R_STEP;
        events++;
    }
    assert_int_equal(steps, 7000);
    ms_aux_close(aux);
    ms_trace_close(t);
    struct ms_checkpoint checkpoint;
    t = rig_read(&rig, NULL);
    assert_true(ms_trace_checkpoint(t, &checkpoint));
    while (ms_trace_next(t, &e) == MS_TRACE_EVENT) {
        assert_int_equal(e.index, at++);
        assert_int_not_equal(e.kind, MS_R_GAP);
    }
    assert_int_equal(at, events);
    ms_trace_close(t);
    rig_end(&rig);
}

static struct ms_trace *waiting; /* reads on whenever a segment is about to be created */
static bool refused;

int openat(int dir, const char *path, int flags, ...) /* instead of the C library's */
{
    va_list rest;
    va_start(rest, flags);
    mode_t mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    if (waiting != NULL && (flags & O_CREAT) != 0 && strstr(path, ".seg") != NULL) {
        struct ms_event e;
        assert_int_equal(ms_trace_next(waiting, &e), MS_TRACE_AGAIN);
        if (refused) {
            errno = EMFILE;
            return -1;
        }
    }
    return (int)syscall(SYS_openat, dir, path, flags, mode);
}

/* A reader that waits for the files looks for them as soon as it is notified, so they must exist by then; if they
 * cannot be created, everything continues in memory. */
static void test_files_exist_when_the_reader_is_notified(void **state)
{
    (void)state;
    struct rig rig;
    struct ms_trace *t = begin_in_memory(&rig);
    struct ms_event e;
    uint64_t steps = 0;
    assert_int_equal(ms_trace_follow(t, rig.dir), 0);
    for (uint64_t i = 0; i < 3; i++) {
        refused = i < 2;
        waiting = t;
        assert_int_equal(ms_writer_to_files(rig.writer, rig.dir, ""), refused ? -EMFILE : 0);
        waiting = NULL;
        record(&rig, i * 1000, 1000, true);
        settle(&rig);
        while (ms_trace_next(t, &e) == MS_TRACE_EVENT) {
            steps += e.kind == MS_R_STEP;
        }
        assert_int_equal(steps, (i + 1) * 1000);
    }
    rig_finish(&rig);
    ms_trace_close(t);
    rig_end(&rig);
}

/* A caller that waits for a stamp must not be notified while earlier events are still unread. */
static void test_released_stamp_excludes_unread_events(void **state)
{
    (void)state;
    struct rig rig;
    struct ms_event e;
    struct ms_trace_stats stats;
    rig_begin(&rig, MS_CLOCK_MONOTONIC, 16u << 20);
    rig_open_trace(&rig, NULL);
    struct ms_trace_options live = {.live = true, .overflow = ms_writer_overflow(rig.writer)};
    struct ms_trace *t;
    assert_int_equal(ms_trace_open(rig.dir, "p", &live, &t), 0);
    record(&rig, 0, 1000, true);
    uint64_t last = 0;
    settle(&rig);
    while (ms_trace_next(t, &e) == MS_TRACE_EVENT) {
        ms_trace_stats(t, &stats);
        assert_true(stats.released_below_stamp <= e.stamp);
        last = e.stamp;
    }
    ms_trace_stats(t, &stats);
    assert_true(stats.released_below_stamp > last);
    rig_finish(&rig);
    ms_trace_close(t);
    rig_end(&rig);
}

static unsigned syncs;
int fdatasync(int fd) /* instead of the C library's */
{
    syncs += fd >= 0;
    return 0;
}

static void test_sync(void **state)
{
    (void)state;
    struct rig rig;
    for (int sync_ms = 0; sync_ms <= 1; sync_ms++) {
        struct ms_writer_options options = {.sync_ms = sync_ms};
        rig_begin(&rig, MS_CLOCK_MONOTONIC, 16u << 20);
        rig_open_trace(&rig, &options);
        syncs = 0;
        for (uint64_t i = 0; i < 3; i++) {
            record(&rig, i * 1000, 1000, true);
            settle(&rig); /* a millisecond passes */
        }
        assert_true(sync_ms == 0 ? syncs == 0 : syncs >= 3);
        rig_finish(&rig);
        rig_end(&rig);
    }
}

static void test_ring(void **state)
{
    (void)state;
    struct rig rig;
    struct ms_writer_options options = {.segment_b = 4096, .max_b = 16384, .ring = true};
    rig_begin(&rig, MS_CLOCK_MONOTONIC, 16u << 20);
    rig_open_trace(&rig, &options);
    record(&rig, 0, 20000, true);
    struct ms_writer_stats stats;
    ms_writer_stats(rig.writer, &stats);
    assert_int_equal(stats.first_segment, 1); /* no checkpoint covers it yet */
    ms_writer_covered(rig.writer, stats.segment);
    record(&rig, 20000, 1000, true);
    ms_writer_stats(rig.writer, &stats);
    assert_true(stats.first_segment > 1 && stats.bytes < 32768);
    rig_finish(&rig);
    uint64_t gaps, damages;
    assert_true(read_steps(&rig, &gaps, &damages) > 1000);
    assert_int_equal(gaps + damages, 0);
    rig_end(&rig);
}

static void test_not_a_trace(void **state)
{
    (void)state;
    struct rig rig;
    struct ms_trace *t;
    rig = (struct rig){.clock_kind = MS_CLOCK_MONOTONIC, .memfd = -1};
    rig_directory(&rig);
    assert_int_equal(ms_trace_open(rig.dir, NULL, NULL, &t), -ENOENT);
    assert_int_equal(ms_trace_open(rig.dir, "p", NULL, &t), -ENOENT);
    assert_int_equal(ms_trace_open(rig.dir, "../p", NULL, &t), -EINVAL);
    int fd = openat(rig.dir, "p.000001.seg", O_CREAT | O_WRONLY, 0644);
    assert_int_equal(write(fd, rig.path, sizeof(rig.path)), sizeof(rig.path));
    close(fd);
    assert_int_equal(ms_trace_open(rig.dir, "p", NULL, &t), -EPROTO);
    rig_end(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_segment_is_readable_alone),
        cmocka_unit_test(test_a_new_collector_continues),
        cmocka_unit_test(test_mutations),
        cmocka_unit_test(test_checkpoint),
        cmocka_unit_test(test_large_checkpoint),
        cmocka_unit_test(test_jump),
        cmocka_unit_test(test_size_limit),
        cmocka_unit_test(test_file_size_limit),
        cmocka_unit_test(test_loss_at_the_end_is_reported),
        cmocka_unit_test(test_from_memory_to_files),
        cmocka_unit_test(test_files_exist_when_the_reader_is_notified),
        cmocka_unit_test(test_released_stamp_excludes_unread_events),
        cmocka_unit_test(test_sync),
        cmocka_unit_test(test_ring),
        cmocka_unit_test(test_not_a_trace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
