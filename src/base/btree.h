/* SPDX-License-Identifier: Apache-2.0 */
/* An ordered map from 64-bit keys to 32-bit values: finds the entry at or below an address, and those after it.
 *
 * All zeros is an empty tree. */
#ifndef MS_BASE_BTREE_H
#define MS_BASE_BTREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ms_btree_node;

struct ms_btree {
    struct ms_btree_node *root;
    unsigned height; /* levels above the leaves */
    size_t count, nodes;
};

/* Sets the value of a key; false: out of memory. */
bool ms_btree_put(struct ms_btree *tree, uint64_t key, uint32_t value);
bool ms_btree_remove(struct ms_btree *tree, uint64_t key);
void ms_btree_free(struct ms_btree *tree);
size_t ms_btree_memory(const struct ms_btree *tree);

/* Position of an entry; valid until the tree changes. */
struct ms_btree_place {
    const struct ms_btree_node *leaf;
    unsigned at;
    uint64_t key;
    uint32_t value;
};
/* floor: the greatest key <= key; ceiling: the smallest key >= key; next: the following entry. False: none. */
bool ms_btree_floor(const struct ms_btree *tree, uint64_t key, struct ms_btree_place *out);
bool ms_btree_ceiling(const struct ms_btree *tree, uint64_t key, struct ms_btree_place *out);
bool ms_btree_next(struct ms_btree_place *place);

#endif
