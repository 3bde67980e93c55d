/* SPDX-License-Identifier: Apache-2.0 */
/* Processor time and memory of registered processes, from /proc. */
#ifndef MON_METRICS_PROCESS_H
#define MON_METRICS_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mon_process_target {
    int32_t pid;          /* as we see it */
    uint64_t start_ticks; /* of the process that registered; 0: unknown. Another one under its pid is left out. */
    int64_t job;
    int32_t rank; /* INT32_MIN: unknown */
    bool helper;  /* may be a helper that the training process forked to talk to us, as torch_npu does */
};

/* Appends the training processes behind helpers, with job and rank of the helper: the parent, if it runs the same
 * command line (it was forked, not started), is not among the targets itself and is the parent of no other helper (then
 * it is a launcher). Returns the new count, at most room. */
size_t mon_process_add_parents(const char *root, struct mon_process_target *targets, size_t count, size_t room);

/* Looks at some of them; returns how many were there. root as in kernel_file.h. */
size_t mon_process_sample(const char *root, const struct mon_process_target *targets, size_t count);
/* After a round over all of them: series that got nothing since the mark go away, their processes have ended. */
void mon_process_sweep(uint64_t mark);

/* "" for an unknown rank, else its number: the label. */
void mon_rank_text(int32_t rank, char out[16]);

#endif
