/* SPDX-License-Identifier: Apache-2.0 */
/* See btree.h. A B+ tree. Entries are in the leaves, which are linked; an inner node holds the lowest key that each of
 * its children may contain. A leaf that becomes empty is removed, but leaves are never merged: live sets of memory
 * shrink and grow again, and later insertions fill a sparse leaf. Full nodes are split on the way down, so an insertion
 * never walks back up. */
#include "base/btree.h"

#include <stdlib.h>
#include <string.h>

#define FANOUT     32
#define HEIGHT_MAX 16

struct ms_btree_node {
    uint32_t count;
    bool leaf;
    struct ms_btree_node *prev, *next; /* leaves only */
    uint64_t keys[FANOUT];             /* inner nodes: keys[0] is not read */
    union {
        uint32_t values[FANOUT];
        struct ms_btree_node *children[FANOUT];
    };
};

/* Index of the last key <= key. Inner nodes: at least 0. Leaves: -1 if all keys are greater. */
static int last_not_above(const struct ms_btree_node *node, uint64_t key)
{
    unsigned low = node->leaf ? 0 : 1, high = node->count;
    while (low < high) {
        unsigned middle = (low + high) / 2;
        if (node->keys[middle] <= key) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return (int)low - 1;
}

static struct ms_btree_node *new_node(struct ms_btree *tree, bool leaf)
{
    struct ms_btree_node *node = malloc(sizeof(*node));
    if (node != NULL) {
        node->count = 0;
        node->leaf = leaf;
        node->prev = node->next = NULL;
        tree->nodes++;
    }
    return node;
}

static void drop_node(struct ms_btree *tree, struct ms_btree_node *node)
{
    free(node);
    tree->nodes--;
}

static void open_gap(struct ms_btree_node *node, unsigned at)
{
    memmove(&node->keys[at + 1], &node->keys[at], (node->count - at) * sizeof(node->keys[0]));
    if (node->leaf) {
        memmove(&node->values[at + 1], &node->values[at], (node->count - at) * sizeof(node->values[0]));
    } else {
        memmove(&node->children[at + 1], &node->children[at], (node->count - at) * sizeof(node->children[0]));
    }
    node->count++;
}

static void close_gap(struct ms_btree_node *node, unsigned at)
{
    node->count--;
    memmove(&node->keys[at], &node->keys[at + 1], (node->count - at) * sizeof(node->keys[0]));
    if (node->leaf) {
        memmove(&node->values[at], &node->values[at + 1], (node->count - at) * sizeof(node->values[0]));
    } else {
        memmove(&node->children[at], &node->children[at + 1], (node->count - at) * sizeof(node->children[0]));
    }
}

/* Splits the full child `at` of a parent that has a free slot. Insertions in ascending order (usual for addresses)
 * leave full nodes behind: the new node then starts with the last entry only. */
static bool split_child(struct ms_btree *tree, struct ms_btree_node *parent, unsigned at, uint64_t key)
{
    struct ms_btree_node *left = parent->children[at];
    struct ms_btree_node *right = new_node(tree, left->leaf);
    if (right == NULL) {
        return false;
    }
    bool ascending = key > left->keys[FANOUT - 1] && at + 1 == parent->count;
    unsigned keep = ascending ? FANOUT - 1 : FANOUT / 2;
    right->count = FANOUT - keep;
    memcpy(right->keys, &left->keys[keep], right->count * sizeof(right->keys[0]));
    if (left->leaf) {
        memcpy(right->values, &left->values[keep], right->count * sizeof(right->values[0]));
        right->prev = left;
        right->next = left->next;
        if (right->next != NULL) {
            right->next->prev = right;
        }
        left->next = right;
    } else {
        memcpy(right->children, &left->children[keep], right->count * sizeof(right->children[0]));
    }
    left->count = keep;
    open_gap(parent, at + 1);
    parent->keys[at + 1] = right->keys[0];
    parent->children[at + 1] = right;
    return true;
}

bool ms_btree_put(struct ms_btree *tree, uint64_t key, uint32_t value)
{
    if (tree->root == NULL) {
        tree->root = new_node(tree, true);
        if (tree->root == NULL) {
            return false;
        }
    }
    if (tree->root->count == FANOUT) {
        if (tree->height + 1 == HEIGHT_MAX) {
            return false;
        }
        struct ms_btree_node *root = new_node(tree, false);
        if (root == NULL) {
            return false;
        }
        root->count = 1;
        root->keys[0] = 0;
        root->children[0] = tree->root;
        if (!split_child(tree, root, 0, key)) {
            drop_node(tree, root);
            return false;
        }
        tree->root = root;
        tree->height++;
    }
    struct ms_btree_node *node = tree->root;
    while (!node->leaf) {
        unsigned at = (unsigned)last_not_above(node, key);
        if (node->children[at]->count == FANOUT) {
            if (!split_child(tree, node, at, key)) {
                return false;
            }
            at = (unsigned)last_not_above(node, key);
        }
        node = node->children[at];
    }
    int at = last_not_above(node, key);
    if (at >= 0 && node->keys[at] == key) {
        node->values[at] = value;
        return true;
    }
    open_gap(node, (unsigned)(at + 1));
    node->keys[at + 1] = key;
    node->values[at + 1] = value;
    tree->count++;
    return true;
}

bool ms_btree_remove(struct ms_btree *tree, uint64_t key)
{
    struct ms_btree_node *path[HEIGHT_MAX];
    unsigned steps[HEIGHT_MAX];
    unsigned depth = 0;
    struct ms_btree_node *node = tree->root;
    if (node == NULL) {
        return false;
    }
    while (!node->leaf) {
        unsigned at = (unsigned)last_not_above(node, key);
        path[depth] = node;
        steps[depth++] = at;
        node = node->children[at];
    }
    int at = last_not_above(node, key);
    if (at < 0 || node->keys[at] != key) {
        return false;
    }
    close_gap(node, (unsigned)at);
    tree->count--;
    while (node->count == 0) {
        if (node->leaf) {
            if (node->prev != NULL) {
                node->prev->next = node->next;
            }
            if (node->next != NULL) {
                node->next->prev = node->prev;
            }
        }
        drop_node(tree, node);
        if (depth == 0) {
            tree->root = NULL;
            tree->height = 0;
            return true;
        }
        node = path[--depth];
        close_gap(node, steps[depth]);
    }
    while (!tree->root->leaf && tree->root->count == 1) {
        struct ms_btree_node *root = tree->root;
        tree->root = root->children[0];
        tree->height--;
        drop_node(tree, root);
    }
    return true;
}

static bool found(const struct ms_btree_node *leaf, unsigned at, struct ms_btree_place *out)
{
    *out = (struct ms_btree_place){.leaf = leaf, .at = at, .key = leaf->keys[at], .value = leaf->values[at]};
    return true;
}

bool ms_btree_floor(const struct ms_btree *tree, uint64_t key, struct ms_btree_place *out)
{
    const struct ms_btree_node *node = tree->root;
    if (node == NULL) {
        return false;
    }
    while (!node->leaf) {
        node = node->children[last_not_above(node, key)];
    }
    int at = last_not_above(node, key);
    if (at >= 0) {
        return found(node, (unsigned)at, out);
    }
    return node->prev != NULL && found(node->prev, node->prev->count - 1, out);
}

bool ms_btree_next(struct ms_btree_place *place)
{
    if (place->at + 1 < place->leaf->count) {
        return found(place->leaf, place->at + 1, place);
    }
    return place->leaf->next != NULL && found(place->leaf->next, 0, place);
}

bool ms_btree_ceiling(const struct ms_btree *tree, uint64_t key, struct ms_btree_place *out)
{
    if (ms_btree_floor(tree, key, out)) {
        return out->key == key || ms_btree_next(out);
    }
    const struct ms_btree_node *node = tree->root;
    if (node == NULL) {
        return false;
    }
    while (!node->leaf) {
        node = node->children[0];
    }
    return found(node, 0, out);
}

static void free_below(struct ms_btree_node *node)
{
    if (!node->leaf) {
        for (unsigned i = 0; i < node->count; i++) {
            free_below(node->children[i]);
        }
    }
    free(node);
}

void ms_btree_free(struct ms_btree *tree)
{
    if (tree->root != NULL) {
        free_below(tree->root);
    }
    *tree = (struct ms_btree){0};
}

size_t ms_btree_memory(const struct ms_btree *tree)
{
    return tree->nodes * sizeof(struct ms_btree_node);
}
