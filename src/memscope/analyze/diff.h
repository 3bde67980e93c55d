/* SPDX-License-Identifier: Apache-2.0 */
/* Difference of two sequences of numbers (interned names): which elements of one match which elements of the other.
 * Built for sequences of millions with many differences:
 *
 *  1. elements that occur on one side only are set aside: they cannot match;
 *  2. Myers' algorithm in linear space gives the optimal result as long as its cost stays within a bound;
 *  3. beyond that, numbers that occur once on each side and in the same order are anchors (patience diff), provided
 *     that most unique numbers agree on the order; if they do not, they are merely rare names and would split the
 *     range badly;
 *  4. without anchors, the range is split at the furthest point reached. The result is then not always the longest
 *     possible, but the cost stays nearly linear.
 *
 * Memory: about 40 bytes per element. */
#ifndef MS_ANALYZE_DIFF_H
#define MS_ANALYZE_DIFF_H

#include <stddef.h>
#include <stdint.h>

#define MS_DIFF_NONE UINT32_MAX

/* match_of_a[i]: the index in b that a[i] matches, or MS_DIFF_NONE; increasing. All numbers must be less than `numbers`
 * (the size of the tables). 0, -ENOMEM, or -E2BIG: more than 2^31 elements. */
int ms_diff(const uint32_t *a, size_t a_count, const uint32_t *b, size_t b_count, uint32_t numbers,
            uint32_t *match_of_a);

#endif
