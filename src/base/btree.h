/* SPDX-License-Identifier: Apache-2.0 */
/* An ordered map from 64-bit keys to 32-bit values: which entry is at or below an address, and the ones after it.
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

/* Sets the value of a key; false: no memory. */
bool ms_btree_put(struct ms_btree *tree, uint64_t key, uint32_t value);
bool ms_btree_remove(struct ms_btree *tree, uint64_t key);
void ms_btree_free(struct ms_btree *tree);
size_t ms_btree_memory(const struct ms_btree *tree);

/* Where an entry stands; good until the tree changes. */
struct ms_btree_place {
    const struct ms_btree_node *leaf;
    unsigned at;
    uint64_t key;
    uint32_t value;
};
/* The greatest key <= key; the smallest >= key; false: none. Then the next one upwards. */
bool ms_btree_floor(const struct ms_btree *tree, uint64_t key, struct ms_btree_place *out);
bool ms_btree_ceiling(const struct ms_btree *tree, uint64_t key, struct ms_btree_place *out);
bool ms_btree_next(struct ms_btree_place *place);

#endif
