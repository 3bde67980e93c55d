/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the tests of the transport: a set of ranks, threads or processes, that call the algorithms directly. */
#ifndef HCCL_WORLD_H
#define HCCL_WORLD_H

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

static inline void world_open(struct world *w, uint32_t n, rank_fn fn, void *arg)
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

static inline void world_close(struct world *w)
{
    close(w->maker_fd);
    assert_int_equal(access(w->path, F_OK), -1); /* the name is removed once all have joined */
}

static inline HcclResult join(struct world *w, uint32_t rank, struct hccl_segment *segment, char *why)
{
    int fd = hccl_segment_open(w->path);
    if (fd < 0) {
        return hccl_explain(why, HCCL_E_NOT_FOUND, "no %s", w->path);
    }
    return hccl_segment_join(segment, fd, w->path, w->cookie, 0, w->n, rank, why);
}

static inline void *member_main(void *arg)
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

static inline void run_threads(uint32_t n, rank_fn fn, void *arg)
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

static inline pid_t start_process(struct world *w, uint32_t rank)
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

static inline int wait_process(pid_t pid)
{
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static inline void run_processes(uint32_t n, rank_fn fn, void *arg)
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

/* A free channel is enough where a rank runs one list at a time. */
struct free_turn {
    bool busy[2][HCCL_MAX_RANKS];
};

static inline bool free_take(void *arg, const struct hccl_transfer *t)
{
    bool *busy = &((struct free_turn *)arg)->busy[t->receive][t->peer];
    bool taken = !*busy;
    *busy = true;
    return taken;
}

static inline void free_give(void *arg, const struct hccl_transfer *t)
{
    ((struct free_turn *)arg)->busy[t->receive][t->peer] = false;
}

static inline HcclResult p2p(struct hccl_link *link, struct hccl_transfer *list, uint32_t n, char *why)
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
#endif
