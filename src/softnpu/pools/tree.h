/* SPDX-License-Identifier: Apache-2.0 */
/* Ordered sets of objects that carry their own node (a treap: a search tree by key and a heap by a random priority,
 * which keeps it balanced in expectation without any rebalancing code). Keys must be unique. No locks, no allocation.
 */
#ifndef NPUPOOL_TREE_H
#define NPUPOOL_TREE_H

#include <stddef.h>
#include <stdint.h>

struct npool_node {
    struct npool_node *left, *right;
    uint32_t priority;
};

/* Order of two objects by their nodes: < 0, 0, > 0. */
typedef int (*npool_order)(const struct npool_node *a, const struct npool_node *b);

struct npool_tree {
    npool_order order;
    struct npool_node *root;
    uint32_t random;
};

#define NPOOL_TREE(order_)                                                                                             \
    {                                                                                                                  \
        .order = (order_), .random = 2463534242u                                                                       \
    }

void npool__tree_insert(struct npool_tree *tree, struct npool_node *node);
void npool__tree_remove(struct npool_tree *tree, struct npool_node *node);

/* Smallest element not below / above the key, largest below it; NULL if none. The key need not be in the tree.
 */
struct npool_node *npool__tree_at_least(const struct npool_tree *tree, const struct npool_node *key);
struct npool_node *npool__tree_above(const struct npool_tree *tree, const struct npool_node *key);
struct npool_node *npool__tree_below(const struct npool_tree *tree, const struct npool_node *key);
struct npool_node *npool__tree_first(const struct npool_tree *tree);

/* ---- a piece of memory in a tree ---- */

struct npool_piece {
    struct npool_node node;
    char *ptr;
    size_t size_b;
};

static inline int npool__compare(uintptr_t a, uintptr_t b)
{
    return a < b ? -1 : a > b;
}

int npool__pieces_by_address(const struct npool_node *a, const struct npool_node *b);
int npool__pieces_by_size(const struct npool_node *a, const struct npool_node *b); /* then by address */

#endif
