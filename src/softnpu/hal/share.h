/* SPDX-License-Identifier: Apache-2.0 */
/* Memory shared with other processes (VMM handles, IPC memory), as this process sees it: what it exports, and the
 * memory files of others that it has opened. */
#ifndef SOFTNPU_HAL_SHARE_H
#define SOFTNPU_HAL_SHARE_H

#include "softnpu/hal/arena.h"
#include "softnpu/hal/process.h"

/* Publishes [base, base + size_b) of a block. The caller fills in the description in `share`; file and offset are
 * filled in here. */
drvError_t snpu__export(struct snpu_block *block, uintptr_t base, uint64_t size_b, struct snpu_share_desc *share,
                        uint64_t *token);

/* Withdraws a token. The memory may still be in use elsewhere. */
drvError_t snpu__unexport(uint64_t token);

/* Ends a block that the caller owns (TAKEN) and has not uncharged: uncharges it and returns it to its arena, at once
 * or, if other processes still use it, as soon as they do not. */
void snpu__block_end(struct snpu_block *block);

/* Ends the waiting blocks that other processes no longer use; true if there was one. */
bool snpu__sweep_exports(void);

/* A memory file of another process. */
struct snpu_peer_file;

struct snpu_import {
    uint64_t token;
    struct snpu_share_desc share;
    struct snpu_peer_file *file;
};
/* Opens what a token names; fails if it is not of `kind`. */
drvError_t snpu__import(uint64_t token, enum snpu_share_kind kind, struct snpu_import *out);
void snpu__import_end(struct snpu_import *import);
int snpu__import_fd(const struct snpu_import *import);

drvError_t snpu__share_error(int rc);

#endif
