/* SPDX-License-Identifier: Apache-2.0 */
/* Processor time and memory of registered processes, from /proc. */
#ifndef MON_METRICS_PROCESS_H
#define MON_METRICS_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mon_process_target {
    int32_t pid;          /* in our pid namespace */
    uint64_t start_ticks; /* of the registered process, to detect a reused pid; 0: unknown */
    int64_t job;
    int32_t rank; /* INT32_MIN: unknown */
    bool helper;  /* may be a helper process that the training process forked to talk to us, as torch_npu does */
};

/* Appends the training processes behind helpers, with the helper's job and rank: the helper's parent, if it runs the
 * same command line (it forked and did not exec), is not a target itself, and is not the parent of another helper
 * (otherwise it is a launcher). Returns the new count, at most room. */
size_t mon_process_add_parents(const char *root, struct mon_process_target *targets, size_t count, size_t room);

/* Samples some of the targets; returns how many exist. root: see kernel_file.h. */
size_t mon_process_sample(const char *root, const struct mon_process_target *targets, size_t count);
/* After a round over all targets: removes series without a value since the mark; their processes have ended. */
void mon_process_sweep(uint64_t mark);

/* The value of the label `rank`: "" for an unknown rank, else its number. */
void mon_rank_text(int32_t rank, char out[16]);

#endif
