/* SPDX-License-Identifier: Apache-2.0 */
/* Compares all ranks of a job: the same step on every process and device, how uneven it is, and which rank diverges
 * from the others first.
 *
 * A rank is an NPU of a process that has steps (the host counts only if no NPU has any). Its value is the peak of
 * `used` (memscope/analyze/report/report.h) in a finished step. For each step: smallest, median and largest value over
 * the ranks that have it.
 *
 * A rank diverges in the first step in which its change since the first step common to all ranks differs from the
 * median change by more than the tolerance: eight times the median absolute deviation (of this step, or on average so
 * far; jobs whose ranks naturally vary need this), at least 0.1 % of the median peak and 256 KiB; 1 % with two ranks.
 * Ranks that differ by design (pipeline stages) are uneven, but do not diverge until they change differently from the
 * others. Without such a step, a rank that already differs from the median in the first common step diverges "from
 * the start". Of several diverging ranks the one furthest from the median is named; of two ranks, the one that changed
 * more.
 *
 * The cause is found in a second pass over the recording that takes the live sets at two peaks: that of the rank in the
 * step in which it diverges, and that of a rank close to the median in the same step, or, for a rank that differs by
 * design, that of its own second step. The caller, which has the recording, builds both and passes them to
 * ms_ranks_explain. */
#ifndef MS_REPORT_RANKS_H
#define MS_REPORT_RANKS_H

#include "memscope/analyze/report/report.h"

#define MS_RANK_NONE      UINT64_MAX
#define MS_RANK_STEPS_MAX 400u /* steps shown; all are analysed */
#define MS_RANK_CAUSES    20u

struct ms_rank {
    uint32_t process, device; /* indexes in the report */
    uint32_t number;          /* of the device */
    uint32_t last_step;       /* the last step it finished */
    char *name;               /* "npu 3"; if several ranks have that number: "npu 3 of PID", or of the path */
    uint64_t *peaks;          /* per step; MS_RANK_NONE: the rank does not have this step */
};

struct ms_rank_step {
    uint32_t step, ranks; /* ranks: how many have it */
    uint64_t min_b, median_b, max_b;
    uint32_t min_rank, max_rank;
};

/* Bytes of one site at the two moments. */
struct ms_rank_cause {
    const char *owner, *label;
    const struct ms_report_frame *frames;
    size_t frame_count;
    uint64_t bytes, reference_b;
};

struct ms_ranks {
    struct ms_rank *ranks; /* sorted by device and process */
    size_t rank_count;
    struct ms_rank_step *steps;
    size_t step_count;
    size_t steps_left_out; /* not shown, because there are too many */

    bool diverges, from_start;
    uint32_t rank, step;
    uint32_t since;                     /* step */
    int64_t bytes;                      /* relative to the others, since that step */
    uint32_t reference, reference_step; /* what it is compared with: a rank and a step of it */
    struct ms_rank_cause *causes;       /* largest difference first */
    size_t cause_count;
};

/* *out is NULL if there are fewer than two ranks. 0 or -ENOMEM. */
int ms_ranks_find(const struct ms_report *report, struct ms_ranks **out);
void ms_ranks_free(struct ms_ranks *ranks);

/* A live set, and the process its sites belong to. Sites must be listed by owner, and completely. */
struct ms_rank_set {
    const struct ms_report_process *process;
    const struct ms_report_moment *moment;
};
/* Fills `causes`, largest difference first; their texts belong to the sets. 0 or -ENOMEM. */
int ms_ranks_explain(struct ms_ranks *ranks, struct ms_rank_set set, struct ms_rank_set reference);

/* One line: "8 ranks, 120 steps: ...", and a second line if a rank diverges. */
void ms_ranks_text(const struct ms_ranks *ranks, char *out, size_t out_b);
void ms_ranks_divergence_text(const struct ms_ranks *ranks, char *out, size_t out_b);

#endif
