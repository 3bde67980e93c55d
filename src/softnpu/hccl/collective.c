/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives: contribute, (combine,) collect.
 *
 * Data passes through the staging area in chunks, two slots per rank. A rank writes only its own slots and publishes
 * each step in its phase counter; the only wait condition is "all ranks have published as many steps as this one".
 *
 *     exchange   for each chunk k:  contribute to slot k;  publish;  await all;  collect from slots k of the others
 *     reduction  for each chunk:    contribute to slot 0;  publish;  await all;  combine my share into slot 1;
 *                                   publish;  await all;  collect the shares from slots 1
 *
 * Why no slot is overwritten while it is read. Exchange: slot k+2 is written after all ranks have published k+1, which
 * they do after collecting k. Reduction: slot 0 is written again after all have published that they combined; slot 1
 * after all have published the next contribution, hence collected the previous one. At the end of an operation one slot
 * is known to have no reader (link->slot): the next operation starts with it, and uses the other one only after its
 * first await, which all ranks reach only after they have finished the previous operation.
 *
 * The first publication carries the claim: which operation this rank believes it takes part in. Claims are double
 * buffered by the same argument. They are compared after the first await, before anything but the own slot is written.
 *
 * Reductions fold in rank order, each element once, on one rank (or, for small ones, on every rank by the same code):
 * all ranks get the same bits, whatever the timing. A rank's own contribution to its own share is read from the send
 * buffer in place, which makes sendBuf == recvBuf work: a chunk of the send buffer is never read again after the same
 * chunk of the receive buffer was written. */
#include "softnpu/hccl/collective.h"

#include "base/macros.h"
#include "softnpu/hccl/copy.h"
#include "softnpu/hccl/dtype.h"

#include <string.h>

/* Up to this size every rank computes the whole reduction: one round instead of two, and the copies are in the
 * cache. */
#define SMALL_B (16u << 10)
#define ALIGN_B 64

static const struct {
    const char *function, *label;
    uint32_t vectors;
    bool reduces;
} kinds[] = {
#define KIND(id, function, label, vectors, reduces) {function, label, vectors, reduces},
    HCCL_COLLECTIVES(KIND)
#undef KIND
};

const char *hccl_kind_function(uint32_t kind)
{
    return kind < HCCL_KIND_COUNT ? kinds[kind].function : "nothing";
}

const char *hccl_kind_label(uint32_t kind)
{
    return kind < HCCL_KIND_COUNT ? kinds[kind].label : "";
}

uint32_t hccl_kind_vectors(uint32_t kind)
{
    return kind < HCCL_KIND_COUNT ? kinds[kind].vectors : 0;
}

bool hccl_kind_reduces(uint32_t kind)
{
    return kind < HCCL_KIND_COUNT && kinds[kind].reduces;
}

static uint64_t min_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static void move(char *to, const char *from, uint64_t at, uint64_t size_b)
{
    if (size_b != 0 && to != from + at) {
        memmove(to, from + at, size_b);
    }
}

/* ---- claims ---- */

static uint64_t vector_hash(const struct hccl_collective *op, uint32_t n)
{
    /* Only what must be equal on all ranks; addresses may differ. */
    bool common = op->kind == HCCL_KIND_ALL_GATHER_V || op->kind == HCCL_KIND_REDUCE_SCATTER_V;
    return common ? hccl_hash(1, op->vector[0], n * sizeof(uint64_t)) : 0;
}

static void write_claim(struct hccl_link *link, const struct hccl_collective *op)
{
    struct hccl_claim claim = {.index = link->index,
                               .kind = op->kind,
                               .dtype = op->dtype,
                               .reduce = op->reduce,
                               .root = op->root,
                               .count = op->count,
                               .vector_hash = vector_hash(op, link->n)};
    link->seg.ranks[link->rank].claim[link->index & 1] = claim;
}

static HcclResult compare_claims(struct hccl_run *run)
{
    struct hccl_link *link = run->link;
    const struct hccl_claim *mine = &link->seg.ranks[link->rank].claim[link->index & 1];
    for (uint32_t peer = 0; peer < link->n; peer++) {
        struct hccl_claim other = link->seg.ranks[peer].claim[link->index & 1];
        if (memcmp(&other, mine, sizeof(other)) == 0) {
            continue;
        }
        if (other.kind != mine->kind || other.index != mine->index) {
            return hccl_explain(run->why, HCCL_E_PARA, "collective %u is %s here and %s on rank %u", mine->index,
                                hccl_kind_function(mine->kind), hccl_kind_function(other.kind), peer);
        }
        return hccl_explain(run->why, HCCL_E_PARA,
                            "count %llu, type %s, reduction %s, root %u here; count %llu, %s, %s, root %u on rank %u%s",
                            (unsigned long long)mine->count, hccl_dtype_name(mine->dtype),
                            hccl_reduce_name(mine->reduce), mine->root, (unsigned long long)other.count,
                            hccl_dtype_name(other.dtype), hccl_reduce_name(other.reduce), other.root, peer,
                            other.vector_hash != mine->vector_hash ? "; the vectors of counts differ" : "");
    }
    return HCCL_SUCCESS;
}

/* First publication of an operation. */
static HcclResult enter(struct hccl_run *run)
{
    hccl_publish(run->link);
    HcclResult result = hccl_await_all(run);
    return result == HCCL_SUCCESS ? compare_claims(run) : result;
}

static HcclResult step(struct hccl_run *run)
{
    hccl_publish(run->link);
    return hccl_await_all(run);
}

/* ---- exchange ---- */

/* Blocks sent between ranks. whole: a slot holds a chunk of one block that all ranks read (out[0], out_b[0]);
 * otherwise it is divided into n parts, one chunk for each reader. fold: received chunks are reduced, not stored. */
struct blocks {
    const char *out[HCCL_MAX_RANKS];
    uint64_t out_b[HCCL_MAX_RANKS];
    char *in[HCCL_MAX_RANKS];
    uint64_t in_b[HCCL_MAX_RANKS];
    uint64_t longest_b; /* largest block between any two ranks; determines the number of chunks */
    bool whole, fold;
};

static uint64_t chunk_of(const struct hccl_link *link, const struct blocks *b)
{
    return b->whole ? link->seg.slot_b : link->seg.slot_b / link->n / ALIGN_B * ALIGN_B;
}

static uint64_t part_b(uint64_t whole_b, uint64_t at, uint64_t chunk_b)
{
    return at < whole_b ? min_u64(whole_b - at, chunk_b) : 0;
}

static void contribute(struct hccl_link *link, const struct blocks *b, uint64_t k)
{
    uint64_t chunk = chunk_of(link, b), at = k * chunk;
    char *slot = hccl_staging(&link->seg, link->rank, (uint32_t)(link->slot + k));
    if (b->whole) {
        move(slot, b->out[0], at, part_b(b->out_b[0], at, chunk));
        return;
    }
    for (uint32_t to = 0; to < link->n; to++) {
        if (to != link->rank) {
            move(slot + to * chunk, b->out[to], at, part_b(b->out_b[to], at, chunk));
        }
    }
}

static const char *chunk_from(const struct hccl_link *link, const struct blocks *b, uint32_t from, uint64_t k)
{
    const char *slot = hccl_staging(&link->seg, from, (uint32_t)(link->slot + k));
    return b->whole ? slot : slot + link->rank * chunk_of(link, b);
}

static void collect(struct hccl_link *link, const struct blocks *b, uint64_t k)
{
    uint64_t chunk = chunk_of(link, b), at = k * chunk;
    for (uint32_t i = 0; i < link->n; i++) {
        uint32_t from = (link->rank + i) % link->n; /* spread the readers over the slots */
        uint64_t size = part_b(b->in_b[from], at, chunk);
        if (size == 0) {
            continue;
        }
        if (from == link->rank) {
            move(b->in[from] + at, b->out[b->whole ? 0 : from], at, size);
        } else {
            hccl_copy(b->in[from] + at, chunk_from(link, b, from, k), size);
        }
    }
}

static void collect_folded(struct hccl_link *link, const struct blocks *b, const struct hccl_collective *op, uint64_t k)
{
    uint64_t chunk = chunk_of(link, b), at = k * chunk;
    uint64_t size = part_b(b->in_b[0], at, chunk);
    if (size == 0) {
        return;
    }
    const void *src[HCCL_MAX_RANKS];
    for (uint32_t from = 0; from < link->n; from++) {
        src[from] = from != link->rank ? chunk_from(link, b, from, k) : b->out[b->whole ? 0 : from] + at;
    }
    hccl_reduce(op->dtype, op->reduce, src, link->n, size / hccl_dtype_size(op->dtype), b->in[0] + at, NULL);
}

/* entered: the claim has been published without a contribution. */
static HcclResult exchange(struct hccl_run *run, const struct hccl_collective *op, const struct blocks *b, bool entered)
{
    struct hccl_link *link = run->link;
    uint64_t chunk = chunk_of(link, b);
    uint64_t chunks = b->longest_b / chunk + (b->longest_b % chunk != 0);
    for (uint64_t k = 0; k < chunks || !entered; k++) {
        contribute(link, b, k);
        HcclResult result = entered ? step(run) : enter(run);
        if (result != HCCL_SUCCESS) {
            return result;
        }
        entered = true;
        if (b->fold) {
            collect_folded(link, b, op, k);
        } else {
            collect(link, b, k);
        }
    }
    link->slot = (uint32_t)(link->slot + chunks) & 1;
    return HCCL_SUCCESS;
}

static HcclResult barrier(struct hccl_run *run, const struct hccl_collective *op)
{
    return enter(run);
}

static HcclResult broadcast(struct hccl_run *run, const struct hccl_collective *op)
{
    struct blocks b = {.whole = true};
    b.longest_b = op->count * hccl_dtype_size(op->dtype);
    if (run->link->rank == op->root) {
        b.out[0] = op->send;
        b.out_b[0] = b.longest_b;
    } else {
        b.in[op->root] = op->recv;
        b.in_b[op->root] = b.longest_b;
    }
    return exchange(run, op, &b, false);
}

static HcclResult scatter(struct hccl_run *run, const struct hccl_collective *op)
{
    struct hccl_link *link = run->link;
    struct blocks b = {.longest_b = op->count * hccl_dtype_size(op->dtype)};
    for (uint32_t to = 0; to < link->n && link->rank == op->root; to++) {
        b.out[to] = (const char *)op->send + to * b.longest_b;
        b.out_b[to] = b.longest_b;
    }
    b.in[op->root] = op->recv;
    b.in_b[op->root] = b.longest_b;
    return exchange(run, op, &b, false);
}

static HcclResult all_gather(struct hccl_run *run, const struct hccl_collective *op)
{
    uint32_t size = hccl_dtype_size(op->dtype);
    bool v = op->kind == HCCL_KIND_ALL_GATHER_V;
    struct blocks b = {.whole = true};
    for (uint32_t r = 0; r < run->link->n; r++) {
        b.in_b[r] = (v ? op->vector[0][r] : op->count) * size;
        b.in[r] = (char *)op->recv + (v ? op->vector[1][r] * size : r * b.in_b[r]);
        b.longest_b = b.in_b[r] > b.longest_b ? b.in_b[r] : b.longest_b;
    }
    b.out[0] = op->send;
    b.out_b[0] = b.in_b[run->link->rank];
    return exchange(run, op, &b, false);
}

static HcclResult reduce_scatter(struct hccl_run *run, const struct hccl_collective *op)
{
    uint32_t size = hccl_dtype_size(op->dtype);
    bool v = op->kind == HCCL_KIND_REDUCE_SCATTER_V;
    struct blocks b = {.fold = true};
    for (uint32_t r = 0; r < run->link->n; r++) {
        b.out_b[r] = (v ? op->vector[0][r] : op->count) * size;
        b.out[r] = (const char *)op->send + (v ? op->vector[1][r] * size : r * b.out_b[r]);
        b.longest_b = b.out_b[r] > b.longest_b ? b.out_b[r] : b.longest_b;
    }
    b.in[0] = op->recv;
    b.in_b[0] = b.out_b[run->link->rank];
    return exchange(run, op, &b, false);
}

static HcclResult all_to_all(struct hccl_run *run, const struct hccl_collective *op)
{
    struct blocks b = {.longest_b = op->count * hccl_dtype_size(op->dtype)};
    for (uint32_t r = 0; r < run->link->n; r++) {
        b.out_b[r] = b.in_b[r] = b.longest_b;
        b.out[r] = (const char *)op->send + r * b.longest_b;
        b.in[r] = (char *)op->recv + r * b.longest_b;
    }
    return exchange(run, op, &b, false);
}

/* Ranks know only their own counts: they publish them first, and mismatches are found on the way. */
static HcclResult all_to_all_v(struct hccl_run *run, const struct hccl_collective *op)
{
    struct hccl_link *link = run->link;
    uint32_t size = hccl_dtype_size(op->dtype);
    uint64_t *row = hccl_counts(&link->seg, link->index, link->rank);
    struct blocks b = {0};
    for (uint32_t r = 0; r < link->n; r++) {
        row[r] = b.out_b[r] = op->vector[0][r] * size;
        b.out[r] = (const char *)op->send + op->vector[1][r] * size;
        b.in_b[r] = op->vector[2][r] * size;
        b.in[r] = (char *)op->recv + op->vector[3][r] * size;
    }
    HcclResult result = enter(run);
    if (result != HCCL_SUCCESS) {
        return result;
    }
    for (uint32_t from = 0; from < link->n; from++) {
        const uint64_t *sent = hccl_counts(&link->seg, link->index, from);
        if (sent[link->rank] != b.in_b[from]) {
            return hccl_explain(run->why, HCCL_E_PARA, "rank %u sends %llu bytes where this rank expects %llu", from,
                                (unsigned long long)sent[link->rank], (unsigned long long)b.in_b[from]);
        }
        for (uint32_t to = 0; to < link->n; to++) {
            b.longest_b = sent[to] > b.longest_b ? sent[to] : b.longest_b;
        }
    }
    return exchange(run, op, &b, true);
}

/* ---- reduction ---- */

static HcclResult reduce_small(struct hccl_run *run, const struct hccl_collective *op, bool wanted)
{
    uint64_t size = op->count * hccl_dtype_size(op->dtype);
    struct blocks b = {.whole = true, .fold = true, .longest_b = size};
    b.out[0] = op->send;
    b.out_b[0] = size;
    b.in[0] = op->recv;
    b.in_b[0] = wanted ? size : 0;
    return exchange(run, op, &b, false);
}

static HcclResult reduce(struct hccl_run *run, const struct hccl_collective *op)
{
    struct hccl_link *link = run->link;
    uint32_t size = hccl_dtype_size(op->dtype);
    bool wanted = op->kind == HCCL_KIND_ALL_REDUCE || link->rank == op->root;
    if (op->count * size <= SMALL_B) {
        return reduce_small(run, op, wanted);
    }
    uint64_t chunk = link->seg.slot_b / size;
    for (uint64_t at = 0; at < op->count; at += chunk) {
        const char *send = (const char *)op->send + at * size;
        char *recv = wanted ? (char *)op->recv + at * size : NULL;
        uint64_t n = min_u64(op->count - at, chunk);
        uint64_t share = MS_ROUND_UP(MS_ROUND_UP(n, link->n) / link->n, ALIGN_B); /* in elements */
        uint64_t first = min_u64(link->rank * share, n);
        uint64_t last = min_u64(first + share, n);
        char *mine = hccl_staging(&link->seg, link->rank, link->slot);
        hccl_copy(mine, send, first * size); /* all but this rank's own share, which is read in place */
        hccl_copy(mine + last * size, send + last * size, (n - last) * size);
        HcclResult result = at == 0 ? enter(run) : step(run);
        if (result != HCCL_SUCCESS) {
            return result;
        }
        const void *src[HCCL_MAX_RANKS];
        for (uint32_t r = 0; r < link->n; r++) {
            src[r] = (r == link->rank ? send : hccl_staging(&link->seg, r, link->slot)) + first * size;
        }
        if (last > first) {
            hccl_reduce(op->dtype, op->reduce, src, link->n, last - first, wanted ? recv + first * size : NULL,
                        hccl_staging(&link->seg, link->rank, link->slot + 1));
        }
        if ((result = step(run)) != HCCL_SUCCESS) {
            return result;
        }
        for (uint32_t i = 1; i < link->n && wanted; i++) {
            uint32_t r = (link->rank + i) % link->n;
            uint64_t r_first = min_u64(r * share, n), r_last = min_u64(r_first + share, n);
            hccl_copy(recv + r_first * size, hccl_staging(&link->seg, r, link->slot + 1), (r_last - r_first) * size);
        }
    }
    return HCCL_SUCCESS;
}

/* ---- entry ---- */

typedef HcclResult (*collective_fn)(struct hccl_run *run, const struct hccl_collective *op);

static const collective_fn functions[HCCL_KIND_COUNT] = {
    [HCCL_KIND_BARRIER] = barrier,
    [HCCL_KIND_BROADCAST] = broadcast,
    [HCCL_KIND_SCATTER] = scatter,
    [HCCL_KIND_ALL_GATHER] = all_gather,
    [HCCL_KIND_ALL_GATHER_V] = all_gather,
    [HCCL_KIND_ALL_REDUCE] = reduce,
    [HCCL_KIND_REDUCE] = reduce,
    [HCCL_KIND_REDUCE_SCATTER] = reduce_scatter,
    [HCCL_KIND_REDUCE_SCATTER_V] = reduce_scatter,
    [HCCL_KIND_ALL_TO_ALL] = all_to_all,
    [HCCL_KIND_ALL_TO_ALL_V] = all_to_all_v,
    [HCCL_KIND_ALL_TO_ALL_VC] = all_to_all_v,
};

HcclResult hccl_collective_run(struct hccl_run *run, const struct hccl_collective *op)
{
    struct hccl_link *link = run->link;
    HcclResult result = hccl_link_error(link);
    if (result != HCCL_SUCCESS) {
        return hccl_explain(run->why, result, "the communicator has failed or is suspended");
    }
    write_claim(link, op);
    result = functions[op->kind](run, op);
    link->index++;
    return hccl_run_failed(run, result);
}
