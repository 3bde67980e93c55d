/* SPDX-License-Identifier: Apache-2.0 */
/* An ordered set of address ranges that do not overlap, embedded in the objects they describe: finds the range that
 * contains an address, the one before and the one after, each in O(log n). A treap, because it stays balanced
 * without rotations. No lock of its own. */
#ifndef SOFTNPU_HAL_RANGES_H
#define SOFTNPU_HAL_RANGES_H

#include <stdbool.h>
#include <stdint.h>

struct snpu_node {
    uintptr_t base;
    uint64_t size_b;
    struct snpu_node *left, *right;
};

struct snpu_ranges {
    struct snpu_node *root;
};

/* The node's base and size are set and must not overlap another range. */
void snpu_ranges_insert(struct snpu_ranges *set, struct snpu_node *node);
void snpu_ranges_remove(struct snpu_ranges *set, struct snpu_node *node);

/* The range with the greatest base <= addr; NULL if all are above. */
struct snpu_node *snpu_ranges_at_or_below(const struct snpu_ranges *set, uintptr_t addr);
/* The range with the smallest base >= addr. */
struct snpu_node *snpu_ranges_at_or_above(const struct snpu_ranges *set, uintptr_t addr);
/* The range that contains addr. */
struct snpu_node *snpu_ranges_find(const struct snpu_ranges *set, uintptr_t addr);
/* True if [base, base + size_b) overlaps a range. */
bool snpu_ranges_overlap(const struct snpu_ranges *set, uintptr_t base, uint64_t size_b);

#endif
