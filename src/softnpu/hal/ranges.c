/* SPDX-License-Identifier: Apache-2.0 */
#include "softnpu/hal/ranges.h"

#include <stddef.h>

/* A node's priority is a hash of its own address: it need not be stored and does not depend on the order of keys. */
static uint64_t priority(const struct snpu_node *node)
{
    uint64_t h = (uintptr_t)node;
    h = (h ^ (h >> 31)) * 0x7fb5d329728ea185u;
    return (h ^ (h >> 27)) * 0x81dadef4bc2dd44du;
}

void snpu_ranges_insert(struct snpu_ranges *set, struct snpu_node *node)
{
    struct snpu_node **link = &set->root;
    uint64_t node_priority = priority(node);
    while (*link != NULL && priority(*link) >= node_priority) {
        link = node->base < (*link)->base ? &(*link)->left : &(*link)->right;
    }
    /* The subtree at this link goes below the node, split at its base. */
    struct snpu_node *rest = *link, **left = &node->left, **right = &node->right;
    *link = node;
    while (rest != NULL) {
        if (rest->base < node->base) {
            *left = rest;
            left = &rest->right;
            rest = rest->right;
        } else {
            *right = rest;
            right = &rest->left;
            rest = rest->left;
        }
    }
    *left = *right = NULL;
}

void snpu_ranges_remove(struct snpu_ranges *set, struct snpu_node *node)
{
    struct snpu_node **link = &set->root;
    while (*link != node) {
        if (*link == NULL) {
            return;
        }
        link = node->base < (*link)->base ? &(*link)->left : &(*link)->right;
    }
    struct snpu_node *left = node->left, *right = node->right;
    while (left != NULL && right != NULL) {
        if (priority(left) >= priority(right)) {
            *link = left;
            link = &left->right;
            left = left->right;
        } else {
            *link = right;
            link = &right->left;
            right = right->left;
        }
    }
    *link = left != NULL ? left : right;
}

struct snpu_node *snpu_ranges_at_or_below(const struct snpu_ranges *set, uintptr_t addr)
{
    struct snpu_node *best = NULL;
    for (struct snpu_node *n = set->root; n != NULL;) {
        if (n->base <= addr) {
            best = n;
            n = n->right;
        } else {
            n = n->left;
        }
    }
    return best;
}

struct snpu_node *snpu_ranges_at_or_above(const struct snpu_ranges *set, uintptr_t addr)
{
    struct snpu_node *best = NULL;
    for (struct snpu_node *n = set->root; n != NULL;) {
        if (n->base >= addr) {
            best = n;
            n = n->left;
        } else {
            n = n->right;
        }
    }
    return best;
}

struct snpu_node *snpu_ranges_find(const struct snpu_ranges *set, uintptr_t addr)
{
    struct snpu_node *n = snpu_ranges_at_or_below(set, addr);
    return n != NULL && addr - n->base < n->size_b ? n : NULL;
}

bool snpu_ranges_overlap(const struct snpu_ranges *set, uintptr_t base, uint64_t size_b)
{
    if (size_b == 0) {
        return false;
    }
    /* The range below the last byte is the only candidate, because ranges do not overlap. */
    const struct snpu_node *n = snpu_ranges_at_or_below(set, base + (size_b - 1));
    return n != NULL && n->base + n->size_b > base;
}
