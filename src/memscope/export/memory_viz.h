/* SPDX-License-Identifier: Apache-2.0 */
/* PyTorch memory snapshots, as torch.cuda.memory._dump_snapshot writes them and pytorch.org/memory_viz and MindStudio
 * Insight open them: device_traces (the events) and segments (the final state).
 *
 * A segment is memory obtained from the driver; a block is a part of it allocated by a pool. Driver memory that no pool
 * uses is a block as large as its segment, so the timeline shows all device memory, and nothing twice:
 *  - a driver allocation is held back until its thread allocates again (or 64 events have passed): if a pool block
 *  appears
 *    in it by then, it is a segment; if a pool block appears later, the block shown in its place ends then;
 *  - virtual memory handles have no device address; they become segments at the address they are mapped to once a pool
 *    block is there, and use the handle's number as address until then;
 *  - a pool block outside of known memory (CPU tensors; dumps contain no mappings) gets its own segment;
 *  - a block inside a block of another pool is omitted and counted.
 * Device n is entry n of device_traces; host memory and memory without a device follow the last one. */
#ifndef MS_EXPORT_MEMORY_VIZ_H
#define MS_EXPORT_MEMORY_VIZ_H

#include "memscope/model/model.h"
#include "memscope/model/stacks.h"

struct ms_memory_viz;

struct ms_memory_viz_options {
    int fd; /* remains the caller's */
    uint32_t pid;
    const char *process; /* may be NULL */
    struct ms_stack_source stacks;
    struct ms_model *model; /* its live blocks exist from the beginning */
};

int ms_memory_viz_open(const struct ms_memory_viz_options *options, struct ms_memory_viz **out);
struct ms_consumer ms_memory_viz_consumer(struct ms_memory_viz *viz);
int ms_memory_viz_close(struct ms_memory_viz *viz); /* 0 or the first error; the file is then complete */

#endif
