/* SPDX-License-Identifier: Apache-2.0 */
/* See diff.h. Ranges still to be compared are kept on an explicit stack, so no input can exhaust the thread's stack.
 * Matches come only from equal ends of a range and from anchors. */
#include "memscope/analyze/diff.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define COST_MIN     256
#define ANCHOR_MIN   8 /* fewer unique numbers prove nothing */
#define ANCHOR_DEPTH 6 /* how often a range between anchors is searched for further anchors */

struct diff_range {
    int32_t a0, a1, b0, b1;
    int8_t anchors; /* remaining anchor searches */
};

struct diff {
    const uint32_t *a, *b; /* elements that may match */
    uint32_t *match;       /* per element of a: index in b */
    struct diff_range *stack;
    size_t depth, room;
    uint32_t *count_a, *count_b, *place_b; /* by number */
    int32_t *forward, *backward;           /* furthest a, by diagonal */
    int32_t cost_max;
    int error;
};

static void push(struct diff *d, struct diff_range range)
{
    if (range.a0 == range.a1 || range.b0 == range.b1) {
        return;
    }
    if (d->depth == d->room) {
        size_t room = d->room != 0 ? d->room * 2 : 256;
        struct diff_range *stack = realloc(d->stack, room * sizeof(*stack));
        if (stack == NULL) {
            d->error = -ENOMEM;
            return;
        }
        d->stack = stack;
        d->room = room;
    }
    d->stack[d->depth++] = range;
}

static void trim(struct diff *d, struct diff_range *r)
{
    while (r->a0 < r->a1 && r->b0 < r->b1 && d->a[r->a0] == d->b[r->b0]) {
        d->match[r->a0++] = (uint32_t)r->b0++;
    }
    while (r->a0 < r->a1 && r->b0 < r->b1 && d->a[r->a1 - 1] == d->b[r->b1 - 1]) {
        d->match[--r->a1] = (uint32_t)--r->b1;
    }
}

/* ---- anchors ---- */

struct anchor {
    int32_t a, b;
    int32_t before; /* index of its predecessor in the chain, -1: none */
};

/* Finds the longest subsequence of the anchors (sorted by a) that is also sorted by b; chain[] gets their indexes. */
static size_t longest_order(struct anchor *anchors, size_t count, int32_t *chain)
{
    size_t length = 0; /* chain[n]: the anchor with the smallest b that ends a subsequence of n + 1 */
    for (size_t i = 0; i < count; i++) {
        size_t low = 0, high = length;
        while (low < high) {
            size_t middle = (low + high) / 2;
            if (anchors[chain[middle]].b < anchors[i].b) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        anchors[i].before = low > 0 ? chain[low - 1] : -1;
        chain[low] = (int32_t)i;
        length += low == length;
    }
    int32_t at = length > 0 ? chain[length - 1] : -1;
    for (size_t n = length; n-- > 0; at = anchors[at].before) {
        chain[n] = at;
    }
    return length;
}

/* Do the anchors agree on the order, and do the ranges between them have similar lengths on both sides? */
static bool is_trusted(const struct diff_range *r, const struct anchor *anchors, const int32_t *chain, size_t length,
                       size_t candidates)
{
    int64_t shift = 0, uneven = 0;
    for (size_t i = 0; i < length; i++) {
        const struct anchor *anchor = &anchors[chain[i]];
        int64_t now = (anchor->a - r->a0) - (anchor->b - r->b0);
        uneven += llabs(now - shift);
        shift = now;
    }
    return length >= ANCHOR_MIN && length * 4 >= candidates * 3 && uneven * 4 <= (r->a1 - r->a0) + (r->b1 - r->b0);
}

/* Splits the range at its anchors; false: there are none. */
static bool split_at_anchors(struct diff *d, const struct diff_range *r)
{
    size_t count = 0;
    for (int32_t i = r->a0; i < r->a1; i++) {
        d->count_a[d->a[i]]++;
    }
    for (int32_t i = r->b0; i < r->b1; i++) {
        d->count_b[d->b[i]]++;
        d->place_b[d->b[i]] = (uint32_t)i;
    }
    for (int32_t i = r->a0; i < r->a1; i++) {
        count += d->count_a[d->a[i]] == 1 && d->count_b[d->a[i]] == 1;
    }
    struct anchor *anchors = count != 0 ? malloc(count * sizeof(*anchors)) : NULL;
    int32_t *chain = count != 0 ? malloc(count * sizeof(*chain)) : NULL;
    size_t used = 0;
    for (int32_t i = r->a0; anchors != NULL && i < r->a1; i++) {
        if (d->count_a[d->a[i]] == 1 && d->count_b[d->a[i]] == 1) {
            anchors[used++] = (struct anchor){.a = i, .b = (int32_t)d->place_b[d->a[i]]};
        }
    }
    for (int32_t i = r->a0; i < r->a1; i++) {
        d->count_a[d->a[i]] = 0;
    }
    for (int32_t i = r->b0; i < r->b1; i++) {
        d->count_b[d->b[i]] = 0;
    }
    if (count != 0 && (anchors == NULL || chain == NULL)) {
        d->error = -ENOMEM;
        used = 0;
    }
    size_t length = used >= ANCHOR_MIN ? longest_order(anchors, used, chain) : 0;
    length = is_trusted(r, anchors, chain, length, used) ? length : 0;
    struct diff_range gap = {.a0 = r->a0, .b0 = r->b0, .anchors = (int8_t)(r->anchors - 1)};
    for (size_t i = 0; i < length; i++) {
        const struct anchor *anchor = &anchors[chain[i]];
        d->match[anchor->a] = (uint32_t)anchor->b;
        gap.a1 = anchor->a;
        gap.b1 = anchor->b;
        push(d, gap);
        gap.a0 = anchor->a + 1;
        gap.b0 = anchor->b + 1;
    }
    if (length != 0) {
        gap.a1 = r->a1;
        gap.b1 = r->b1;
        push(d, gap);
    }
    free(anchors);
    free(chain);
    return length != 0;
}

/* ---- Myers ---- */

static int32_t smaller(int32_t x, int32_t y)
{
    return x < y ? x : y;
}

static int32_t larger(int32_t x, int32_t y)
{
    return x > y ? x : y;
}

/* Too expensive: returns the furthest point reached, from the front or from the back. */
static void best_so_far(const struct diff *d, const struct diff_range *r, int32_t f_min, int32_t f_max, int32_t b_min,
                        int32_t b_max, int32_t *a, int32_t *b)
{
    int32_t f_best = -1, f_a = r->a0, b_best = INT32_MAX, b_a = r->a1;
    for (int32_t k = f_min; k <= f_max; k += 2) {
        int32_t x = smaller(d->forward[k], r->a1), y = x - k;
        if (y > r->b1) {
            y = r->b1;
            x = y + k;
        }
        if (x + y > f_best) {
            f_best = x + y;
            f_a = x;
        }
    }
    for (int32_t k = b_min; k <= b_max; k += 2) {
        int32_t x = larger(d->backward[k], r->a0), y = x - k;
        if (y < r->b0) {
            y = r->b0;
            x = y + k;
        }
        if (x + y < b_best) {
            b_best = x + y;
            b_a = x;
        }
    }
    bool front = f_best - (r->a0 + r->b0) > (r->a1 + r->b1) - b_best;
    *a = front ? f_a : b_a;
    *b = front ? f_best - f_a : b_best - b_a;
}

/* Finds a point on a shortest edit path through a range whose ends differ: searches from both sides, one difference at
 * a time, until the paths meet on a diagonal (a - b). False: too expensive, the point is the best so far. */
static bool middle(struct diff *d, const struct diff_range *r, int32_t *a, int32_t *b)
{
    const int32_t k_min = r->a0 - r->b1, k_max = r->a1 - r->b0; /* diagonals of the range */
    const int32_t f_mid = r->a0 - r->b0, b_mid = r->a1 - r->b1;
    const bool odd = ((f_mid - b_mid) & 1) != 0;
    int32_t f_min = f_mid, f_max = f_mid, b_min = b_mid, b_max = b_mid;
    d->forward[f_mid] = r->a0;
    d->backward[b_mid] = r->a1;
    for (int32_t cost = 1;; cost++) {
        if (f_min > k_min) {
            d->forward[--f_min - 1] = -1;
        } else {
            f_min++;
        }
        if (f_max < k_max) {
            d->forward[++f_max + 1] = -1;
        } else {
            f_max--;
        }
        for (int32_t k = f_max; k >= f_min; k -= 2) {
            int32_t low = d->forward[k - 1], high = d->forward[k + 1];
            int32_t x = low < high ? high : low + 1, y = x - k;
            while (x < r->a1 && y < r->b1 && d->a[x] == d->b[y]) {
                x++;
                y++;
            }
            d->forward[k] = x;
            if (odd && b_min <= k && k <= b_max && d->backward[k] <= x) {
                *a = x;
                *b = y;
                return true;
            }
        }
        if (b_min > k_min) {
            d->backward[--b_min - 1] = INT32_MAX;
        } else {
            b_min++;
        }
        if (b_max < k_max) {
            d->backward[++b_max + 1] = INT32_MAX;
        } else {
            b_max--;
        }
        for (int32_t k = b_max; k >= b_min; k -= 2) {
            int32_t low = d->backward[k - 1], high = d->backward[k + 1];
            int32_t x = low < high ? low : high - 1, y = x - k;
            while (r->a0 < x && r->b0 < y && d->a[x - 1] == d->b[y - 1]) {
                x--;
                y--;
            }
            d->backward[k] = x;
            if (!odd && f_min <= k && k <= f_max && x <= d->forward[k]) {
                *a = x;
                *b = y;
                return true;
            }
        }
        if (cost >= d->cost_max) {
            best_so_far(d, r, f_min, f_max, b_min, b_max, a, b);
            return false;
        }
    }
}

static void run(struct diff *d)
{
    while (d->depth != 0 && d->error == 0) {
        struct diff_range r = d->stack[--d->depth];
        trim(d, &r);
        if (r.a0 == r.a1 || r.b0 == r.b1) {
            continue;
        }
        int32_t a, b;
        if (!middle(d, &r, &a, &b) && r.anchors > 0 && split_at_anchors(d, &r)) {
            continue;
        }
        push(d, (struct diff_range){r.a0, a, r.b0, b, 0});
        push(d, (struct diff_range){a, r.a1, b, r.b1, 0});
    }
}

/* ---- interface ---- */

/* Keeps the elements of a that also occur in b; place[] gets their original indexes. */
static size_t keep_common(const uint32_t *a, size_t count, const uint32_t *count_b, uint32_t *kept, uint32_t *place)
{
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        if (count_b[a[i]] != 0) {
            kept[n] = a[i];
            place[n++] = (uint32_t)i;
        }
    }
    return n;
}

static int32_t square_root(size_t n)
{
    int32_t root = 1;
    for (; (size_t)root * (size_t)root < n; root *= 2) {
    }
    return root;
}

int ms_diff(const uint32_t *a, size_t a_count, const uint32_t *b, size_t b_count, uint32_t numbers,
            uint32_t *match_of_a)
{
    if (a_count >= INT32_MAX / 2 || b_count >= INT32_MAX / 2) {
        return -E2BIG;
    }
    memset(match_of_a, 0xff, a_count * sizeof(*match_of_a));
    size_t diagonals = a_count + b_count + 3;
    struct diff d = {.count_a = calloc(numbers + 1u, sizeof(uint32_t)),
                     .count_b = calloc(numbers + 1u, sizeof(uint32_t)),
                     .place_b = malloc((numbers + 1u) * sizeof(uint32_t))};
    uint32_t *kept = malloc((a_count + b_count + 1) * sizeof(*kept));
    uint32_t *place = malloc((a_count + b_count + 1) * sizeof(*place));
    uint32_t *match = malloc((a_count + 1) * sizeof(*match));
    int32_t *forward = malloc(diagonals * sizeof(*forward)), *backward = malloc(diagonals * sizeof(*backward));
    if (d.count_a == NULL || d.count_b == NULL || d.place_b == NULL || kept == NULL || place == NULL || match == NULL ||
        forward == NULL || backward == NULL) {
        d.error = -ENOMEM;
    } else {
        for (size_t i = 0; i < a_count; i++) {
            d.count_a[a[i]]++;
        }
        for (size_t i = 0; i < b_count; i++) {
            d.count_b[b[i]]++;
        }
        size_t a_kept = keep_common(a, a_count, d.count_b, kept, place);
        size_t b_kept = keep_common(b, b_count, d.count_a, kept + a_kept, place + a_kept);
        memset(d.count_a, 0, (numbers + 1u) * sizeof(uint32_t));
        memset(d.count_b, 0, (numbers + 1u) * sizeof(uint32_t));
        memset(match, 0xff, a_count * sizeof(*match));
        d.a = kept;
        d.b = kept + a_kept;
        d.match = match;
        d.forward = forward + b_kept + 1; /* diagonals range from -b_kept - 1 to a_kept + 1 */
        d.backward = backward + b_kept + 1;
        d.cost_max = larger(COST_MIN, square_root(a_kept + b_kept));
        push(&d, (struct diff_range){0, (int32_t)a_kept, 0, (int32_t)b_kept, ANCHOR_DEPTH});
        run(&d);
        for (size_t i = 0; i < a_kept; i++) {
            if (match[i] != MS_DIFF_NONE) {
                match_of_a[place[i]] = place[a_kept + match[i]];
            }
        }
    }
    free(d.count_a);
    free(d.count_b);
    free(d.place_b);
    free(d.stack);
    free(kept);
    free(place);
    free(match);
    free(forward);
    free(backward);
    return d.error;
}
