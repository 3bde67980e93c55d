/* The transport of the collectives, without streams and devices: ranks are threads or processes that call the
 * algorithms directly. Every collective is compared bit by bit with its naive description. */
#include "hccl_ref.h"

#include "base/clock.h"
#include "base/macros.h"
#include "softnpu/hccl/p2p.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

/* ---- a world of ranks ---- */

typedef int (*rank_fn)(struct hccl_link *link, void *arg);

struct world {
    char path[HCCL_PATH_B];
    uint8_t cookie[16];
    int maker_fd;
    uint32_t n;
    int64_t timeout_ms;
    rank_fn fn;
    void *arg;
};

struct member {
    struct world *world;
    uint32_t rank;
    int result;
};

static void world_open(struct world *w, uint32_t n, rank_fn fn, void *arg)
{
    struct hccl_seed seed = {.name = "test"};
    char what[64];
    memset(w, 0, sizeof(*w));
    hccl_random(seed.cookie, sizeof(seed.cookie));
    memcpy(w->cookie, seed.cookie, sizeof(w->cookie));
    uint64_t tag;
    memcpy(&tag, seed.cookie, sizeof(tag));
    snprintf(what, sizeof(what), "test-%llx", (unsigned long long)tag);
    hccl_segment_path(w->path, what);
    w->n = n;
    w->fn = fn;
    w->arg = arg;
    w->timeout_ms = 20000;
    w->maker_fd = hccl_segment_create(w->path, &seed, true);
    assert_true(w->maker_fd >= 0);
}

static void world_close(struct world *w)
{
    close(w->maker_fd);
    assert_int_equal(access(w->path, F_OK), -1); /* the name is gone once all have joined */
}

static HcclResult join(struct world *w, uint32_t rank, struct hccl_segment *segment, char *why)
{
    int fd = hccl_segment_open(w->path);
    if (fd < 0) {
        return hccl_explain(why, HCCL_E_NOT_FOUND, "no %s", w->path);
    }
    return hccl_segment_join(segment, fd, w->path, w->cookie, 0, w->n, rank, why);
}

static void *member_main(void *arg)
{
    struct member *m = arg;
    struct hccl_segment segment;
    struct hccl_link link;
    char why[HCCL_WHY_B] = "";
    m->result = 101;
    HcclResult result = join(m->world, m->rank, &segment, why);
    if (result == HCCL_SUCCESS) {
        result = hccl_segment_gather(&segment, 20000, why);
        if (result != HCCL_SUCCESS) {
            hccl_segment_leave(&segment);
        }
    }
    if (result != HCCL_SUCCESS) {
        fprintf(stderr, "rank %u: %d %s\n", m->rank, result, why);
        return NULL;
    }
    hccl_link_open(&link, &segment, m->world->timeout_ms);
    m->result = m->world->fn(&link, m->world->arg);
    hccl_link_close(&link);
    return NULL;
}

static void run_threads(uint32_t n, rank_fn fn, void *arg)
{
    struct world w;
    struct member m[16];
    pthread_t threads[16];
    world_open(&w, n, fn, arg);
    for (uint32_t r = 0; r < n; r++) {
        m[r] = (struct member){&w, r, 0};
        assert_int_equal(pthread_create(&threads[r], NULL, member_main, &m[r]), 0);
    }
    for (uint32_t r = 0; r < n; r++) {
        pthread_join(threads[r], NULL);
        assert_int_equal(m[r].result, 0);
    }
    world_close(&w);
}

static pid_t start_process(struct world *w, uint32_t rank)
{
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        close(w->maker_fd);
        struct member m = {w, rank, 0};
        member_main(&m);
        _exit(m.result);
    }
    assert_true(pid > 0);
    return pid;
}

static int wait_process(pid_t pid)
{
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static void run_processes(uint32_t n, rank_fn fn, void *arg)
{
    struct world w;
    pid_t pids[16];
    world_open(&w, n, fn, arg);
    for (uint32_t r = 0; r < n; r++) {
        pids[r] = start_process(&w, r);
    }
    for (uint32_t r = 0; r < n; r++) {
        assert_int_equal(wait_process(pids[r]), 0);
    }
    world_close(&w);
}

/* ---- folding ---- */

/* The vector conversions (whatever this processor has) agree with the scalar ones. */
static void folding_matches_description(void **state)
{
    enum { N = 5, COUNT = 5003 };
    char *src[N];
    for (uint32_t dtype = 0; dtype < 20; dtype++) {
        if (!hccl_dtype_reduces(dtype)) {
            continue;
        }
        uint32_t size = hccl_dtype_size(dtype);
        for (uint32_t op = 0; op < 4; op++) {
            struct ref_case c = {.dtype = dtype, .reduce = op, .n = N};
            char *out = malloc(COUNT * size), *copy = malloc(COUNT * size);
            for (int r = 0; r < N; r++) {
                src[r] = malloc(COUNT * size);
                ref_fill(dtype, src[r], COUNT, 11 + (uint64_t)r);
            }
            char *want = malloc(COUNT * size);
            for (uint64_t i = 0; i < COUNT; i++) {
                ref_reduce(&c, src, i, want + i * size);
            }
            hccl_reduce(dtype, op, (const void *const *)src, N, COUNT, out, copy);
            assert_memory_equal(out, want, COUNT * size);
            assert_memory_equal(copy, want, COUNT * size);
            hccl_reduce(dtype, op, (const void *const *)src, N, COUNT, src[3], NULL); /* over one of the sources */
            assert_memory_equal(src[3], want, COUNT * size);
            for (int r = 0; r < N; r++) {
                free(src[r]);
            }
            free(out);
            free(copy);
            free(want);
        }
    }
}

/* ---- collectives ---- */

static int run_case(struct hccl_link *link, const struct ref_case *c, bool in_place)
{
    uint32_t size = hccl_dtype_size(c->dtype);
    struct ref_op o;
    struct hccl_run run = {.link = link, .waiter = &hccl_plain_waiter};
    ref_op_make(c, link->rank, &o);
    char *send = ref_input(c, link->rank);
    size_t recv_b = o.recv_count * size;
    char *recv = malloc(recv_b + 16), *want = malloc(recv_b + 16);
    char *owned = recv;
    memset(recv, 0xa5, recv_b + 16);
    if (in_place) {
        if (c->kind == HCCL_KIND_ALL_GATHER) { /* the own block stands where it will be received */
            memcpy(recv + link->rank * c->count * size, send, c->count * size);
            free(send);
            send = recv + link->rank * c->count * size;
        } else {
            memcpy(recv, send, o.send_count * size < recv_b ? o.send_count * size : recv_b);
            recv = send;
        }
    }
    o.op.send = send;
    o.op.recv = recv;
    if (c->kind == HCCL_KIND_BROADCAST && link->rank == c->root) {
        o.op.recv = send;
        recv = send;
    }
    memcpy(want, recv, recv_b);
    ref_expect(c, link->rank, want);
    HcclResult result = hccl_collective_run(&run, &o.op);
    int bad = result != HCCL_SUCCESS || memcmp(recv, want, recv_b) != 0;
    if (bad) {
        fprintf(stderr, "rank %u/%u: %s %s %s count %llu%s: result %d %s\n", link->rank, link->n,
                hccl_kind_function(c->kind), hccl_dtype_name(c->dtype), hccl_reduce_name(c->reduce),
                (unsigned long long)c->count, in_place ? " in place" : "", result, run.why);
    }
    if (send < owned || send >= owned + recv_b + 16) {
        free(send);
    }
    free(owned);
    free(want);
    return bad;
}

static int all_collectives(struct hccl_link *link, void *arg)
{
    static const uint64_t counts[] = {1, 7, 500, 9000}; /* the last is no small reduction for any type but bytes */
    const uint32_t of_each_size = 1u << HCCL_DATA_TYPE_FP8E4M3 | 1u << HCCL_DATA_TYPE_BFP16 |
                                  1u << HCCL_DATA_TYPE_INT32 | 1u << HCCL_DATA_TYPE_FP64 | 1u << HCCL_DATA_TYPE_INT128;
    int bad = 0;
    uint64_t seed = 1;
    for (uint32_t kind = 0; kind < HCCL_KIND_COUNT; kind++) {
        bool reduces = hccl_kind_reduces(kind);
        for (uint32_t dtype = 0; dtype < 18; dtype++) {
            /* Where nothing is computed, only the size of the type matters. */
            if (reduces ? !hccl_dtype_reduces(dtype) : (1u << dtype & of_each_size) == 0) {
                continue;
            }
            for (uint32_t reduce = 0; reduce < (reduces ? 4 : 1); reduce++) {
                struct ref_case c = {kind, dtype, reduce, (uint32_t)(seed % link->n), counts[seed % 4], link->n, seed};
                bad += run_case(link, &c, false);
                seed++;
            }
        }
    }
    return bad != 0;
}

/* Chunks: at and above the size of a slot, for shapes whose chunk is a whole slot or a part of it. Wide types, because
 * what costs time here is the description, by the element. */
static int big_collectives(struct hccl_link *link, void *arg)
{
    static const struct {
        uint32_t kind, dtype;
    } cases[] = {
        {HCCL_KIND_BROADCAST, HCCL_DATA_TYPE_INT128},    {HCCL_KIND_SCATTER, HCCL_DATA_TYPE_INT128},
        {HCCL_KIND_ALL_GATHER, HCCL_DATA_TYPE_INT128},   {HCCL_KIND_ALL_GATHER_V, HCCL_DATA_TYPE_INT128},
        {HCCL_KIND_ALL_TO_ALL, HCCL_DATA_TYPE_INT128},   {HCCL_KIND_ALL_TO_ALL_V, HCCL_DATA_TYPE_INT128},
        {HCCL_KIND_ALL_REDUCE, HCCL_DATA_TYPE_FP64},     {HCCL_KIND_REDUCE, HCCL_DATA_TYPE_FP64},
        {HCCL_KIND_REDUCE_SCATTER, HCCL_DATA_TYPE_FP64},
    };
    int bad = 0;
    for (size_t k = 0; k < MS_COUNT_OF(cases); k++) {
        uint64_t slot = link->seg.slot_b / hccl_dtype_size(cases[k].dtype);
        const uint64_t counts[] = {slot, 2 * slot + 5, slot / link->n + 1};
        for (size_t i = 0; i < MS_COUNT_OF(counts); i++) {
            struct ref_case c = {
                cases[k].kind, cases[k].dtype, HCCL_REDUCE_SUM, (uint32_t)(i % link->n), counts[i], link->n, i};
            bad += run_case(link, &c, false);
        }
    }
    return bad != 0;
}

static int in_place_collectives(struct hccl_link *link, void *arg)
{
    static const uint32_t kinds[] = {HCCL_KIND_ALL_GATHER,     HCCL_KIND_ALL_REDUCE, HCCL_KIND_REDUCE,
                                     HCCL_KIND_REDUCE_SCATTER, HCCL_KIND_ALL_TO_ALL, HCCL_KIND_SCATTER};
    const uint64_t counts[] = {3, 5000, link->seg.slot_b / 8 + 3};
    int bad = 0;
    for (size_t k = 0; k < MS_COUNT_OF(kinds); k++) {
        for (size_t i = 0; i < MS_COUNT_OF(counts); i++) {
            /* Scatter in place makes sense where the send buffer is: on the root. */
            uint32_t root = (uint32_t)(i % link->n);
            bool here = kinds[k] != HCCL_KIND_SCATTER || link->rank == root;
            struct ref_case c = {kinds[k], HCCL_DATA_TYPE_INT64, HCCL_REDUCE_PROD, root, counts[i], link->n, i};
            bad += run_case(link, &c, here);
        }
    }
    return bad != 0;
}

static void collectives_between_threads(void **state)
{
    for (uint32_t n = 1; n <= 5; n += n == 3 ? 2 : 1) {
        run_threads(n, all_collectives, NULL);
    }
}

static void collectives_between_processes(void **state)
{
    run_processes(2, all_collectives, NULL);
    run_processes(5, all_collectives, NULL);
}

static void large_counts(void **state)
{
    run_processes(2, big_collectives, NULL);
    run_processes(3, big_collectives, NULL);
}

static void in_place(void **state)
{
    run_threads(3, in_place_collectives, NULL);
    run_processes(2, in_place_collectives, NULL);
}

/* ---- send and receive ---- */

/* A free channel is enough where a rank runs one list at a time. */
struct free_turn {
    bool busy[2][HCCL_MAX_RANKS];
};

static bool free_take(void *arg, const struct hccl_transfer *t)
{
    bool *busy = &((struct free_turn *)arg)->busy[t->receive][t->peer];
    bool taken = !*busy;
    *busy = true;
    return taken;
}

static void free_give(void *arg, const struct hccl_transfer *t)
{
    ((struct free_turn *)arg)->busy[t->receive][t->peer] = false;
}

static HcclResult p2p(struct hccl_link *link, struct hccl_transfer *list, uint32_t n, char *why)
{
    struct free_turn held = {0};
    struct hccl_turn turn = {free_take, free_give, &held};
    struct hccl_run run = {.link = link, .waiter = &hccl_plain_waiter};
    HcclResult result = hccl_p2p_run(&run, list, n, &turn);
    if (why != NULL) {
        memcpy(why, run.why, HCCL_WHY_B);
    }
    return result;
}

/* Every rank sends to every rank, itself included, several messages of different sizes, listed in different orders. */
static int everyone_to_everyone(struct hccl_link *link, void *arg)
{
    enum { MESSAGES = 4 };
    const uint64_t counts[MESSAGES] = {1, link->seg.mail_b / 4 + 1, 0, link->seg.mail_b};
    uint32_t n = link->n, total = 2 * n * MESSAGES;
    struct hccl_transfer *list = calloc(total, sizeof(*list));
    int bad = 0;
    for (uint32_t i = 0; i < total; i++) {
        uint32_t pair = link->rank % 2 ? i / MESSAGES : (total - 1 - i) / MESSAGES, m = i % MESSAGES;
        struct hccl_transfer *t = &list[i];
        t->receive = pair % 2;
        t->peer = pair / 2;
        t->dtype = HCCL_DATA_TYPE_FP32;
        t->count = counts[m];
        t->buffer = calloc(t->count + 1, 4);
        if (!t->receive) {
            ref_fill(t->dtype, t->buffer, t->count, m * 100 + link->rank * 10 + t->peer);
        }
    }
    char why[HCCL_WHY_B];
    HcclResult result = p2p(link, list, total, why);
    if (result != HCCL_SUCCESS) {
        fprintf(stderr, "rank %u: %s\n", link->rank, why);
        bad++;
    }
    for (uint32_t i = 0; i < total; i++) {
        struct hccl_transfer *t = &list[i];
        if (t->receive) {
            float *want = calloc(t->count + 1, 4);
            ref_fill(t->dtype, want, t->count, i % MESSAGES * 100 + t->peer * 10 + link->rank);
            bad += memcmp(want, t->buffer, t->count * 4) != 0;
            free(want);
        }
        free(t->buffer);
    }
    free(list);
    return bad != 0;
}

static void batches(void **state)
{
    run_threads(3, everyone_to_everyone, NULL);
    run_processes(4, everyone_to_everyone, NULL);
}

/* ---- things that go wrong ---- */

static int expect_failure(struct hccl_link *link, const struct hccl_collective *op, HcclResult want, const char *text)
{
    struct hccl_run run = {.link = link, .waiter = &hccl_plain_waiter};
    HcclResult result = hccl_collective_run(&run, op);
    if (result != want || (text != NULL && strstr(run.why, text) == NULL)) {
        fprintf(stderr, "rank %u: result %d instead of %d: %s\n", link->rank, result, want, run.why);
        return 1;
    }
    return hccl_link_error(link) != want; /* and it stays so */
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

/* Rank 1 fails the communicator and leaves while rank 0 is on its way into a sleep, so that nothing wakes rank 0. */
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

static void reason_outlives_whoever_gave_it(void **state)
{
    run_threads(2, leaves_with_a_word, NULL);
}

/* Rank 1 of 3 goes away; *arg says after how many collectives. */
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

static void dead_peer_is_noticed(void **state)
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

/* Rank 1 lives but does not take part. */
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

/* A send ends when it is received, however small it is: a card has nowhere to put it. */
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

static int suspend_and_resume(struct hccl_link *link, void *arg)
{
    struct hccl_collective op = {.kind = HCCL_KIND_BARRIER};
    struct hccl_run run = {.link = link, .waiter = &hccl_plain_waiter};
    char why[HCCL_WHY_B];
    int bad = hccl_collective_run(&run, &op) != HCCL_SUCCESS;
    if (link->rank == 0) { /* out of step: it waits for the others alone, and disagrees with them on the count */
        link->exec_timeout_ms = 250;
        bad += hccl_collective_run(&run, &op) != HCCL_E_TIMEOUT;
        link->exec_timeout_ms = 20000;
    } else {
        while (hccl_link_error(link) == HCCL_SUCCESS) {
            usleep(1000);
        }
    }
    hccl_link_stop(link, HCCL_E_SUSPENDING);
    bad += hccl_collective_run(&run, &op) != HCCL_E_SUSPENDING;
    bad += hccl_link_resume(link, 20000, why) != HCCL_SUCCESS;
    bad += hccl_link_error(link) != HCCL_SUCCESS;
    return bad + all_collectives(link, NULL) + everyone_to_everyone(link, NULL);
}

static void resumed_ranks_start_over(void **state)
{
    run_threads(3, suspend_and_resume, NULL);
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
    assert_int_equal(join(&w, 1, &second, why), HCCL_E_NOT_FOUND); /* over for everyone */
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

    /* The same seen by one who was there before. */
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

static void maker_of_root_info_dies(void **state)
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

static void rubbish_is_swept_away(void **state)
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
        cmocka_unit_test(folding_matches_description),
        cmocka_unit_test(collectives_between_threads),
        cmocka_unit_test(collectives_between_processes),
        cmocka_unit_test(large_counts),
        cmocka_unit_test(in_place),
        cmocka_unit_test(batches),
        cmocka_unit_test(disagreement_is_reported),
        cmocka_unit_test(reason_outlives_whoever_gave_it),
        cmocka_unit_test(dead_peer_is_noticed),
        cmocka_unit_test(absent_peer_times_out),
        cmocka_unit_test(resumed_ranks_start_over),
        cmocka_unit_test(wrong_joins_are_refused),
        cmocka_unit_test(member_that_dies_while_gathering),
        cmocka_unit_test(maker_of_root_info_dies),
        cmocka_unit_test(rubbish_is_swept_away),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
