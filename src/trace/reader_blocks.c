/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks whose records are not all released yet. When their content exceeds the cache, the content of the latest ones
 * is dropped, because it is needed last, and read again when it is needed: a thread that is stopped for an hour costs
 * time, not memory. */
#include "trace/reader_internal.h"

#include <stdlib.h>

static void drop(struct ms_trace *t, struct ms_pending_block *block)
{
    if (block->raw != NULL) {
        free(block->raw);
        block->raw = NULL;
        t->blocks_b -= block->head.raw_b;
    }
}

static void keep_limit(struct ms_trace *t, const struct ms_pending_block *except)
{
    for (struct ms_pending_block *b = t->blocks_last; b != NULL && t->blocks_b > t->options.cache_b; b = b->before) {
        if (b->pins == 0 && b != except && b->segment != 0) {
            drop(t, b);
        }
    }
}

struct ms_pending_block *ms__block_add(struct ms_trace *t, const struct ms_block_head *head, uint64_t offset,
                                       uint8_t *raw)
{
    struct ms_pending_block *b = calloc(1, sizeof(*b));
    if (b == NULL) {
        return NULL;
    }
    b->head = *head;
    b->segment = t->segment;
    b->offset = offset;
    b->raw = raw;
    b->runs_left = 1; /* the caller that adds the runs holds one until it is done */
    b->before = t->blocks_last;
    *(t->blocks_last != NULL ? &t->blocks_last->after : &t->blocks) = b;
    t->blocks_last = b;
    t->blocks_b += head->raw_b;
    keep_limit(t, b);
    return b;
}

static const char *load_again(struct ms_trace *t, struct ms_pending_block *b)
{
    if (t->again_segment != b->segment) {
        ms_blockfile_destroy(&t->again);
        t->again_segment = 0;
        int fd = ms__files_open(t, b->segment, ".seg");
        if (fd < 0 || ms_blockfile_init(&t->again, fd) != 0) {
            return "the segment is gone";
        }
        t->again_segment = b->segment;
    }
    b->raw = malloc(b->head.raw_b + MS_BLOCK_SLACK_B);
    if (b->raw == NULL) {
        return "out of memory";
    }
    const char *reason = ms_blockfile_load(&t->again, &b->head, b->offset, b->raw);
    if (reason != NULL) {
        free(b->raw);
        b->raw = NULL;
        return reason;
    }
    t->blocks_b += b->head.raw_b;
    keep_limit(t, b);
    return NULL;
}

const uint8_t *ms__block_pin(struct ms_trace *t, struct ms_pending_block *b)
{
    if (b->raw == NULL) {
        const char *reason = load_again(t, b);
        if (reason != NULL) {
            ms__damage(t, b->segment, b->offset, reason);
            return NULL;
        }
    }
    b->pins++;
    return b->raw;
}

void ms__block_unpin(struct ms_trace *t, struct ms_pending_block *b)
{
    (void)t;
    b->pins--;
}

void ms__block_run_done(struct ms_trace *t, struct ms_pending_block *b)
{
    if (--b->runs_left != 0) {
        return;
    }
    drop(t, b);
    *(b->before != NULL ? &b->before->after : &t->blocks) = b->after;
    *(b->after != NULL ? &b->after->before : &t->blocks_last) = b->before;
    free(b);
}
