/* SPDX-License-Identifier: Apache-2.0 */
/* One kernel launch, whichever function requested it. */
#ifndef SOFTNPU_RUNTIME_LAUNCH_H
#define SOFTNPU_RUNTIME_LAUNCH_H

#include "softnpu/runtime/kernel.h"

/* When the kernel runs, the address of the argument bytes at data_off is stored at addr_off. Same layout as
 * rtHostInputInfo_t, rtPlaceHolderInfo_t and aclrtPlaceHolderInfo. */
struct snpu_patch {
    uint32_t addr_off, data_off;
};

struct snpu_launch {
    const char *function; /* for messages */
    struct snpu_func *func;
    uint32_t blocks;
    void *stream;
    const void *args; /* copied in the call; device memory is read when the kernel runs */
    size_t args_b;
    const struct snpu_patch *patches;
    size_t patch_count;
    struct snpu_patch tiling; /* one more patch, if has_tiling */
    bool has_tiling;
    bool vector;         /* run on vector cores, whatever the binary says */
    uint64_t timeout_us; /* 0: none */
};

int32_t snpu__launch(const struct snpu_launch *launch);

#endif
