/* SPDX-License-Identifier: Apache-2.0 */
/* The differences of two sequences of numbers (names, made numbers): which elements of one stand for which of the
 * other. Meant for sequences of millions with many differences:
 *
 *  1. what stands on one side only is put aside: it cannot match;
 *  2. Myers' algorithm in linear space, as far as it gets within a bounded cost: that is the best there is;
 *  3. beyond, numbers that stand once on each side and in the same order are anchors (patience), if most of those that
 *     stand once agree on the order; names that merely happen to be rare do not, and would tear the rest apart;
 *  4. without anchors the point that was reached furthest divides the range. The result is then not always the longest
 *     possible, but the cost stays near linear.
 *
 * Memory: about 40 bytes per element. */
#ifndef MS_ANALYZE_DIFF_H
#define MS_ANALYZE_DIFF_H

#include <stddef.h>
#include <stdint.h>

#define MS_DIFF_NONE UINT32_MAX

/* match_of_a[i]: the element of b that a[i] stands for, or MS_DIFF_NONE; increasing. Numbers must be below `numbers`
 * (the tables have that size). 0, -ENOMEM, or -E2BIG: more than 2^31 elements. */
int ms_diff(const uint32_t *a, size_t a_count, const uint32_t *b, size_t b_count, uint32_t numbers,
            uint32_t *match_of_a);

#endif
