/* SPDX-License-Identifier: Apache-2.0 */
/* What the recorded program does, in tight loops: the shapes in which the original was measured. */
#ifndef NPUSCOPE_BENCH_WORK_H
#define NPUSCOPE_BENCH_WORK_H

enum work_kind {
    WORK_HAL,    /* pairs of halMemAlloc and halMemFree; two events */
    WORK_POOL,   /* pairs of a region of torch_npu's caching pool; two events */
    WORK_PLACES, /* like WORK_HAL, from a different place each time: no stack is recognised, all are walked */
    WORK_LAUNCH, /* rtKernelLaunch */
    WORK_KINDS
};

/* Runs turns of the work from `frames` functions further down; returns the processor time of the thread, in ns. */
__attribute__((visibility("default"))) double work_run(int kind, unsigned turns, unsigned frames);

#endif
