/* SPDX-License-Identifier: Apache-2.0 */
/* PyTorch memory snapshots, as torch.cuda.memory._dump_snapshot writes them and pytorch.org/memory_viz and MindStudio
 * Insight open them: device_traces (what happened) and segments (what there is at the end).
 *
 * A segment is memory that the driver gave out; a block is what a pool made of it. Driver memory that no pool uses is a
 * block as large as its segment, so that the timeline shows all of the device's memory and nothing twice:
 *  - an allocation of the driver waits until its thread allocates again (or 64 events have passed): if a pool's block
 *    appears in it by then, it is a segment; if that comes later, the block it was shown as ends then;
 *  - handles of virtual memory have no address of the device; they are segments at the address that they are mapped to
 *    once a pool's block is there, until then at the number of the handle;
 *  - a pool's block in no known memory (CPU tensors; dumps do not tell of maps) has a segment of its own;
 *  - a block inside a block of another pool is left out and counted.
 * Device number n is entry n of device_traces; host memory and what has no device follow the last one. */
#ifndef MS_EXPORT_MEMORY_VIZ_H
#define MS_EXPORT_MEMORY_VIZ_H

#include "memscope/model/model.h"
#include "memscope/model/stacks.h"

struct ms_memory_viz;

struct ms_memory_viz_options {
    int fd; /* stays the caller's */
    uint32_t pid;
    const char *process; /* may be NULL */
    struct ms_stack_source stacks;
    struct ms_model *model; /* blocks that live in it already are there from the beginning */
};

int ms_memory_viz_open(const struct ms_memory_viz_options *options, struct ms_memory_viz **out);
struct ms_consumer ms_memory_viz_consumer(struct ms_memory_viz *viz);
int ms_memory_viz_close(struct ms_memory_viz *viz); /* 0 or the first error; the file is complete then */

#endif
