/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that order rows: sorting, selection by rank, unique values.
 *
 * Elements become unsigned keys whose order is that of the values, NaN last; a radix sort orders keys and indices, so
 * equal values keep their order. A slot of scratch memory serves several rows, one after the other; slots are what
 * blocks divide. */
#include "softnpu/aclnn/kernels/op_kernel.h"

#include "softnpu/aclnn/kernels/op_wide.h"

enum { SMALL = 48, DIGITS = 256 };

static const uint64_t sign = (uint64_t)1 << 63;

/* Keys of double: also exact for the narrower floats. -0 equals 0. */
static uint64_t real_key(double v)
{
    uint64_t bits;
    v = v == 0 ? 0 : v;
    memcpy(&bits, &v, sizeof bits);
    return v != v ? UINT64_MAX : bits & sign ? ~bits : bits | sign;
}

static bool is_real(int64_t type)
{
    return type == TK_FLOAT || type == TK_FLOAT16 || type == TK_BF16 || type == TK_DOUBLE;
}

static void make_keys(uint64_t *keys, const char *x, int64_t step, int64_t type, uint64_t n, bool descending)
{
    const bool real = is_real(type);
    for (uint64_t done = 0; done < n; done += TK_CHUNK) {
        struct tk_chunk chunk;
        const uint64_t part = n - done < TK_CHUNK ? n - done : TK_CHUNK;
        tk_chunk_load(&chunk, op_element(x, (int64_t)done * step, type), step, type, part);
        for (uint64_t i = 0; i < part; i++) {
            const uint64_t key = real                ? real_key(chunk.real[i])
                                 : type == TK_UINT64 ? chunk.u64[i]
                                                     : chunk.u64[i] ^ sign;
            keys[done + i] = descending ? ~key : key;
        }
    }
}

/* The scratch memory of a slot: keys and indices, twice. */
struct sorter {
    uint64_t *keys, *other_keys;
    uint32_t *index, *other_index;
};

static void insertion_sort(struct sorter *s, uint64_t n)
{
    for (uint64_t i = 1; i < n; i++) {
        const uint64_t key = s->keys[i];
        const uint32_t index = s->index[i];
        uint64_t j = i;
        for (; j > 0 && s->keys[j - 1] > key; j--) {
            s->keys[j] = s->keys[j - 1];
            s->index[j] = s->index[j - 1];
        }
        s->keys[j] = key;
        s->index[j] = index;
    }
}

/* One pass per byte that differs between keys. */
static void sort_keys(struct sorter *s, uint64_t n)
{
    uint64_t differing = 0;
    for (uint64_t i = 0; i < n; i++) {
        s->index[i] = (uint32_t)i;
        differing |= s->keys[i] ^ s->keys[0];
    }
    if (n <= SMALL) {
        insertion_sort(s, n);
        return;
    }
    for (int shift = 0; shift < 64; shift += 8) {
        if ((differing >> shift & (DIGITS - 1)) == 0) {
            continue;
        }
        uint64_t start[DIGITS] = {0}, total = 0;
        for (uint64_t i = 0; i < n; i++) {
            start[s->keys[i] >> shift & (DIGITS - 1)]++;
        }
        for (int d = 0; d < DIGITS; d++) {
            const uint64_t count = start[d];
            start[d] = total;
            total += count;
        }
        for (uint64_t i = 0; i < n; i++) {
            const uint64_t to = start[s->keys[i] >> shift & (DIGITS - 1)]++;
            s->other_keys[to] = s->keys[i];
            s->other_index[to] = s->index[i];
        }
        struct sorter turned = {s->other_keys, s->keys, s->other_index, s->index};
        *s = turned;
    }
}

static struct sorter slot_of(void *scratch, uint64_t slot, uint64_t n)
{
    uint64_t *keys = (uint64_t *)scratch + slot * 3 * n;
    uint32_t *index = (uint32_t *)(keys + 2 * n);
    return (struct sorter){keys, keys + n, index, index + n};
}

/* Offset of a row in an operand whose last dimension is the row. */
static int64_t row_offset(const struct op_operand *at, uint64_t row)
{
    int64_t offset = 0;
    for (uint64_t d = at->rank - 1; d-- > 0; row /= at->dims[d]) {
        offset += (int64_t)(row % at->dims[d]) * at->steps[d];
    }
    return offset;
}

static void copy_element(char *to, const char *from, uint64_t element_b)
{
    memcpy(to, from, element_b);
}

/* The position in the sorted row of what a median or the k-th value chooses. */
static uint64_t chosen(const struct op_call *a, const uint64_t *keys, uint64_t n)
{
    uint64_t numbers = n;
    if (is_real(a->at[0].type)) {
        while (numbers > 0 && keys[numbers - 1] == UINT64_MAX) {
            numbers--;
        }
    }
    switch (a->whole[4]) {
    case OP_SORT_MEDIAN:
        return numbers < n ? numbers : (n - 1) / 2; /* NaN if there is one */
    case OP_SORT_NAN_MEDIAN:
        return numbers == 0 ? 0 : (numbers - 1) / 2;
    default:
        return (uint64_t)a->whole[2];
    }
}

/* Operands: x, values, indices (either may be missing), scratch, indices of x or missing; rows are the last dimension.
 * Numbers: slots, descending, first rank to store, ranks to store, enum op_sort. */
static void sort_rows(const struct op_call *a, uint32_t block, uint32_t num_blocks)
{
    const struct op_operand *x = &a->at[0];
    const uint64_t n = x->dims[x->rank - 1], rows = n > 0 ? x->count / n : 0, element_b = op_type_b(x->type);
    const uint64_t slots = (uint64_t)a->whole[0];
    if (a->data[0] == NULL || a->data[3] == NULL) {
        return;
    }
    const struct tk_range mine = tk_share(slots, 1, block, num_blocks);
    for (uint64_t slot = mine.begin; slot < mine.end; slot++) {
        struct sorter s = slot_of(a->data[3], slot, n);
        for (uint64_t row = slot; row < rows; row += slots) {
            const int64_t step = x->steps[x->rank - 1];
            const char *from = op_element(a->data[0], row_offset(x, row), x->type);
            make_keys(s.keys, from, step, x->type, n, a->whole[1] != 0);
            sort_keys(&s, n);
            const uint64_t first = chosen(a, s.keys, n);
            for (uint64_t i = 0; i < (uint64_t)a->whole[3] && first + i < n; i++) {
                const int64_t index = s.index[first + i];
                if (a->data[1] != NULL) {
                    const struct op_operand *z = &a->at[1];
                    copy_element((char *)op_element(a->data[1], row_offset(z, row) + (int64_t)i * z->steps[z->rank - 1],
                                                    z->type),
                                 op_element(from, index * step, x->type), element_b);
                }
                if (a->data[2] != NULL) {
                    const struct op_operand *z = &a->at[2], *given = &a->at[4];
                    int64_t value = index;
                    if (a->data[4] != NULL) {
                        value = *op_load_i64(&value,
                                             op_element(a->data[4],
                                                        row_offset(given, row) + index * given->steps[given->rank - 1],
                                                        given->type),
                                             1, given->type, 1);
                    }
                    op_store_i64(&value,
                                 (char *)op_element(a->data[2], row_offset(z, row) + (int64_t)i * z->steps[z->rank - 1],
                                                    z->type),
                                 1, z->type, 1);
                }
            }
        }
    }
}

OP_KERNEL(Sort, op_call)
{
    sort_rows(a, block, num_blocks);
}

OP_KERNEL(TopKV2, op_call)
{
    sort_rows(a, block, num_blocks);
}

OP_KERNEL(KthValue, op_call)
{
    sort_rows(a, block, num_blocks);
}

/* Operands: x (dense vector), values, inverse, counts (dense, the last two may be missing), number of values (int64),
 * scratch. Numbers: consecutive. One block does the work. */
OP_KERNEL(UniqueWithCountsAndSorting, op_call)
{
    const uint64_t n = a->at[0].count, element_b = op_type_b(a->at[0].type);
    int64_t *inverse = a->data[2], *counts = a->data[3], *found = a->data[4];
    if (block != 0 || a->data[0] == NULL || a->data[1] == NULL || found == NULL || a->data[5] == NULL) {
        return;
    }
    struct sorter s = slot_of(a->data[5], 0, n);
    make_keys(s.keys, a->data[0], 1, a->at[0].type, n, false);
    if (a->whole[0] != 0) {
        for (uint64_t i = 0; i < n; i++) {
            s.index[i] = (uint32_t)i;
        }
    } else {
        sort_keys(&s, n);
    }
    const bool real = is_real(a->at[0].type);
    int64_t last = -1;
    for (uint64_t i = 0; i < n; i++) {
        /* NaN differs from every value. */
        if (i == 0 || s.keys[i] != s.keys[i - 1] || (real && s.keys[i] == UINT64_MAX)) {
            last++;
            copy_element((char *)a->data[1] + (uint64_t)last * element_b,
                         (const char *)a->data[0] + s.index[i] * element_b, element_b);
            if (counts != NULL) {
                counts[last] = 0;
            }
        }
        if (counts != NULL) {
            counts[last]++;
        }
        if (inverse != NULL) {
            inverse[s.index[i]] = last;
        }
    }
    *found = last + 1;
}

/* Slices of a tensor [outer, slices, inner] as rows of keys. */
struct slices {
    const uint64_t *keys;
    uint64_t outer, count, inner;
};

/* < 0, 0, > 0 in the order of their elements. */
static int compare_slices(const struct slices *s, uint64_t a, uint64_t b)
{
    for (uint64_t o = 0; o < s->outer; o++) {
        const uint64_t *x = s->keys + (o * s->count + a) * s->inner, *y = s->keys + (o * s->count + b) * s->inner;
        for (uint64_t i = 0; i < s->inner; i++) {
            if (x[i] != y[i]) {
                return x[i] < y[i] ? -1 : 1;
            }
        }
    }
    return 0;
}

/* Merges from the bottom up; returns the array with the result. */
static int64_t *sort_slices(const struct slices *s, int64_t *order, int64_t *other)
{
    for (uint64_t width = 1; width < s->count; width *= 2) {
        for (uint64_t begin = 0; begin < s->count; begin += 2 * width) {
            const uint64_t middle = begin + width < s->count ? begin + width : s->count;
            const uint64_t end = begin + 2 * width < s->count ? begin + 2 * width : s->count;
            uint64_t left = begin, right = middle;
            for (uint64_t to = begin; to < end; to++) {
                const bool take_left = left < middle && (right >= end || compare_slices(s, (uint64_t)order[left],
                                                                                        (uint64_t)order[right]) <= 0);
                other[to] = take_left ? order[left++] : order[right++];
            }
        }
        int64_t *turned = order;
        order = other;
        other = turned;
    }
    return order;
}

/* Operands: x (dense, [outer, slices, inner]), values (dense), inverse, counts (dense vectors, may be missing), shape of
 * the values, number of different slices, keys, order (two per slice). Numbers: consecutive, rank, axis, sizes of x.
 * One block does the work. */
OP_KERNEL(UniqueDim, op_call)
{
    const struct slices s = {a->data[6], a->at[0].dims[0], a->at[0].dims[1], a->at[0].dims[2]};
    int64_t *inverse = a->data[2], *counts = a->data[3], *dims = a->data[4], *found = a->data[5], *order = a->data[7];
    const uint64_t element_b = op_type_b(a->at[0].type);
    if (block != 0 || a->data[0] == NULL || a->data[1] == NULL || s.keys == NULL || dims == NULL || found == NULL ||
        order == NULL || s.count == 0) {
        return;
    }
    make_keys(a->data[6], a->data[0], 1, a->at[0].type, a->at[0].count, false);
    for (uint64_t i = 0; i < s.count; i++) {
        order[i] = (int64_t)i;
    }
    int64_t *first = order + s.count;
    if (a->whole[0] == 0) {
        int64_t *sorted = sort_slices(&s, order, first);
        first = sorted == order ? first : order;
        order = sorted;
    }
    /* first[u]: the slice that stands for value u; written behind what is read. */
    int64_t last = -1;
    for (uint64_t i = 0; i < s.count; i++) {
        if (i == 0 || compare_slices(&s, (uint64_t)order[i], (uint64_t)order[i - 1]) != 0) {
            first[++last] = order[i];
            if (counts != NULL) {
                counts[last] = 0;
            }
        }
        if (counts != NULL) {
            counts[last]++;
        }
        if (inverse != NULL) {
            inverse[order[i]] = last;
        }
    }
    *found = last + 1;
    for (int64_t i = 0; i < a->whole[1]; i++) {
        dims[i] = i == a->whole[2] ? *found : a->whole[3 + i];
    }
    const uint64_t slice_b = s.inner * element_b;
    for (uint64_t o = 0; o < s.outer; o++) {
        for (uint64_t u = 0; u < (uint64_t)*found; u++) {
            memcpy((char *)a->data[1] + (o * (uint64_t)*found + u) * slice_b,
                   (const char *)a->data[0] + (o * s.count + (uint64_t)first[u]) * slice_b, slice_b);
        }
    }
}
