/* SPDX-License-Identifier: Apache-2.0 */
/* See tree.h. All traversals are loops, so none depends on the stack. */
#include "tree.h"

#include "base/macros.h"

#include <stddef.h>

/* Marsaglia's xorshift32: full period, never 0. */
static uint32_t next_random(struct npool_tree *tree)
{
    uint32_t x = tree->random;
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    return tree->random = x;
}

void npool__tree_insert(struct npool_tree *tree, struct npool_node *node)
{
    node->priority = next_random(tree);
    struct npool_node **link = &tree->root;
    while (*link != NULL && (*link)->priority >= node->priority) {
        link = tree->order(node, *link) < 0 ? &(*link)->left : &(*link)->right;
    }
    /* The new key splits this subtree into the two children of the new node. */
    struct npool_node **less = &node->left, **greater = &node->right, *rest = *link;
    while (rest != NULL) {
        if (tree->order(rest, node) < 0) {
            *less = rest;
            less = &rest->right;
            rest = rest->right;
        } else {
            *greater = rest;
            greater = &rest->left;
            rest = rest->left;
        }
    }
    *less = *greater = NULL;
    *link = node;
}

void npool__tree_remove(struct npool_tree *tree, struct npool_node *node)
{
    struct npool_node **link = &tree->root;
    while (*link != node) {
        link = tree->order(node, *link) < 0 ? &(*link)->left : &(*link)->right;
    }
    struct npool_node *less = node->left, *greater = node->right;
    while (less != NULL && greater != NULL) {
        if (less->priority > greater->priority) {
            *link = less;
            link = &less->right;
            less = less->right;
        } else {
            *link = greater;
            link = &greater->left;
            greater = greater->left;
        }
    }
    *link = less != NULL ? less : greater;
}

struct npool_node *npool__tree_at_least(const struct npool_tree *tree, const struct npool_node *key)
{
    struct npool_node *best = NULL;
    for (struct npool_node *at = tree->root; at != NULL;) {
        if (tree->order(at, key) >= 0) {
            best = at;
            at = at->left;
        } else {
            at = at->right;
        }
    }
    return best;
}

struct npool_node *npool__tree_above(const struct npool_tree *tree, const struct npool_node *key)
{
    struct npool_node *best = NULL;
    for (struct npool_node *at = tree->root; at != NULL;) {
        if (tree->order(at, key) > 0) {
            best = at;
            at = at->left;
        } else {
            at = at->right;
        }
    }
    return best;
}

struct npool_node *npool__tree_below(const struct npool_tree *tree, const struct npool_node *key)
{
    struct npool_node *best = NULL;
    for (struct npool_node *at = tree->root; at != NULL;) {
        if (tree->order(at, key) < 0) {
            best = at;
            at = at->right;
        } else {
            at = at->left;
        }
    }
    return best;
}

struct npool_node *npool__tree_first(const struct npool_tree *tree)
{
    struct npool_node *at = tree->root;
    while (at != NULL && at->left != NULL) {
        at = at->left;
    }
    return at;
}

static const struct npool_piece *piece_of(const struct npool_node *node)
{
    return MS_CONTAINER_OF(node, const struct npool_piece, node);
}

int npool__pieces_by_address(const struct npool_node *a, const struct npool_node *b)
{
    return npool__compare((uintptr_t)piece_of(a)->ptr, (uintptr_t)piece_of(b)->ptr);
}

int npool__pieces_by_size(const struct npool_node *a, const struct npool_node *b)
{
    int order = npool__compare(piece_of(a)->size_b, piece_of(b)->size_b);
    return order != 0 ? order : npool__pieces_by_address(a, b);
}
