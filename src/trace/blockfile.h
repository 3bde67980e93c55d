/* SPDX-License-Identifier: Apache-2.0 */
/* Walks a file block by block: checks heads, loads content on demand, finds the next valid block after damage. Works on
 * files that still grow: an incomplete block at the end is not reported yet. One thread. */
#ifndef MS_TRACE_BLOCKFILE_H
#define MS_TRACE_BLOCKFILE_H

#include "trace/block.h"

struct ms_blockfile {
    int fd;
    uint64_t offset; /* of the next block */
    struct ms_unpacker *unpacker;
    uint8_t *packed;
    size_t packed_room_b;
    uint8_t window[4096]; /* bytes of the file from window_at */
    uint64_t window_at;
    size_t window_b;
    int error; /* of the last read; 0: none */
};

/* Takes ownership of fd. 0 or -errno. */
int ms_blockfile_init(struct ms_blockfile *file, int fd);
void ms_blockfile_destroy(struct ms_blockfile *file);

enum ms_walk { MS_WALK_BLOCK = 1, MS_WALK_NO_MORE = 0, MS_WALK_DAMAGE = -1 };

/* The next block: its head, and its offset in *at. NO_MORE: the file ends here, or inside this block (*cut: bytes of
 * the incomplete block). DAMAGE: *reason; *at is where the damage begins, and the walk continues at the next valid
 * head. */
enum ms_walk ms_blockfile_next(struct ms_blockfile *file, struct ms_block_head *head, uint64_t *at, uint64_t *cut,
                               const char **reason);

/* Loads the content of the block at `at` into raw (head->raw_b + MS_BLOCK_SLACK_B bytes). NULL, or the reason why
 * not. */
const char *ms_blockfile_load(struct ms_blockfile *file, const struct ms_block_head *head, uint64_t at, void *raw);

uint64_t ms_blockfile_size(const struct ms_blockfile *file);

#endif
