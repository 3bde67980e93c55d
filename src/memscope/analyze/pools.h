/* SPDX-License-Identifier: Apache-2.0 */
/* Names that reports use for the pools that are analysed per step. */
#ifndef MS_ANALYZE_POOLS_H
#define MS_ANALYZE_POOLS_H

#include "memscope/model/model.h"

#include <stdio.h>

/* NULL: this space is not analysed per step (workspaces have no defined lifetime, HAL has its own report). */
static inline const char *ms_step_pool_name(unsigned space)
{
    switch (space) {
    case MS_SPACE_PTA:
        return "Pytorch Caching memory pool";
    case MS_SPACE_ATB:
        return "ATB memory pool";
    case MS_SPACE_MINDSPORE:
        return "Mindspore memory pool";
    case MS_SPACE_HOST:
        return "CPU tensor memory";
    default:
        return NULL;
    }
}

/* A device number with a prefix, or "cpu". */
struct ms_device_text {
    char s[24];
};

static inline struct ms_device_text ms_device_text(const char *before, uint32_t device)
{
    struct ms_device_text text = {"cpu"};
    if (device != MS_DEV_CPU) {
        snprintf(text.s, sizeof(text.s), "%s%u", before, device);
    }
    return text;
}

#define MS_MB(size_b) ((double)(size_b) / 1048576.0)

#endif
