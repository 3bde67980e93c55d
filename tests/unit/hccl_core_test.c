/* SPDX-License-Identifier: Apache-2.0 */
/* The transport of the collectives, without streams and devices. Every collective is compared bit by bit with a naive
 * reference. */
#include "hccl_world.h"

/* ---- folding ---- */

/* The vector conversions of this processor agree with the scalar ones. */
static void folding_matches_reference(void **state)
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
        if (c->kind == HCCL_KIND_ALL_GATHER) { /* the own block is already where it will be received */
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
    static const uint64_t counts[] = {1, 7, 500, 9000}; /* the last one is a small reduction only for bytes */
    const uint32_t of_each_size = 1u << HCCL_DATA_TYPE_FP8E4M3 | 1u << HCCL_DATA_TYPE_BFP16 |
                                  1u << HCCL_DATA_TYPE_INT32 | 1u << HCCL_DATA_TYPE_FP64 | 1u << HCCL_DATA_TYPE_INT128;
    int bad = 0;
    uint64_t seed = 1;
    for (uint32_t kind = 0; kind < HCCL_KIND_COUNT; kind++) {
        bool reduces = hccl_kind_reduces(kind);
        for (uint32_t dtype = 0; dtype < 18; dtype++) {
            /* Without arithmetic, only the size of the type matters. */
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
 * the reference takes time per element. */
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

/* ---- restart ---- */

static int suspend_and_resume(struct hccl_link *link, void *arg)
{
    struct hccl_collective op = {.kind = HCCL_KIND_BARRIER};
    struct hccl_run run = {.link = link, .waiter = &hccl_plain_waiter};
    char why[HCCL_WHY_B];
    int bad = hccl_collective_run(&run, &op) != HCCL_SUCCESS;
    if (link->rank == 0) { /* out of step: it alone waits for the others, and its count differs from theirs */
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

static void resumed_ranks_restart(void **state)
{
    run_threads(3, suspend_and_resume, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(folding_matches_reference),
        cmocka_unit_test(collectives_between_threads),
        cmocka_unit_test(collectives_between_processes),
        cmocka_unit_test(large_counts),
        cmocka_unit_test(in_place),
        cmocka_unit_test(batches),
        cmocka_unit_test(resumed_ranks_restart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
