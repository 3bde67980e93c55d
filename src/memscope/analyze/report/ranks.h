/* SPDX-License-Identifier: Apache-2.0 */
/* All ranks of a job side by side: the same step on every process and device, how uneven it is, and which one departs
 * from the others first.
 *
 * A rank is an NPU of a process that has steps (the host counts only where no NPU has any). Its figure is the peak of
 * `used` (memscope/analyze/report/report.h) in a step that has ended. Of a step: smallest, median and largest over the ranks that have
 * it.
 *
 * A rank departs in the first step in which its change since the first step that all have differs from the median of
 * all changes by more than the tolerance: eight times the median distance from that median (of this step, or on average
 * so far), so that jobs whose ranks vary by nature are not blamed for it, at least 0.1 % of the median peak and 256
 * KiB; of two ranks 1 %. So ranks that are different by design (stages of a pipeline) are uneven, but do not depart
 * until they change in another way than the others. Without such a step, a rank that differs from the median in that
 * first step already departs "from the start". Of several the farthest is named; between two ranks, the one that
 * changed more.
 *
 * Where it comes from is found by a second look at the recording: the live sets at two peaks, that of the step in which
 * the rank departs, and that of a rank in the middle in the same step, or, for a rank that is different by design, that
 * of its own second step. Whoever has the recording makes both and gives them to ms_ranks_explain. */
#ifndef MS_REPORT_RANKS_H
#define MS_REPORT_RANKS_H

#include "memscope/analyze/report/report.h"

#define MS_RANK_NONE      UINT64_MAX
#define MS_RANK_STEPS_MAX 400u /* steps that are shown; all are looked at */
#define MS_RANK_CAUSES    20u

struct ms_rank {
    uint32_t process, device; /* indexes in the report */
    uint32_t number;          /* of the device */
    uint32_t last_step;       /* that it ended */
    char *name;               /* "npu 3"; where several have that number, "npu 3 of PID", or of the path */
    uint64_t *peaks;          /* of the steps; MS_RANK_NONE: it has no such step */
};

struct ms_rank_step {
    uint32_t step, ranks; /* how many have it */
    uint64_t min_b, median_b, max_b;
    uint32_t min_rank, max_rank;
};

/* Bytes of one place at the two moments. */
struct ms_rank_cause {
    const char *owner, *label;
    const struct ms_report_frame *frames;
    size_t frame_count;
    uint64_t bytes, reference_b;
};

struct ms_ranks {
    struct ms_rank *ranks; /* by device and process */
    size_t rank_count;
    struct ms_rank_step *steps;
    size_t step_count;
    size_t steps_left_out; /* not shown, because they are many */

    bool departs, from_start;
    uint32_t rank, step;
    uint32_t since;                     /* step */
    int64_t bytes;                      /* against the others, since that step */
    uint32_t reference, reference_step; /* what it is compared with: a rank, and its step */
    struct ms_rank_cause *causes;       /* largest difference first */
    size_t cause_count;
};

/* NULL in *out: there are less than two ranks. 0 or -ENOMEM. */
int ms_ranks_find(const struct ms_report *report, struct ms_ranks **out);
void ms_ranks_free(struct ms_ranks *ranks);

/* A live set, and the process that its sites are of. Sites must be told by owner, and as many as there are. */
struct ms_rank_set {
    const struct ms_report_process *process;
    const struct ms_report_moment *moment;
};
/* Fills `causes`, whose texts are those of the sets: largest difference first. 0 or -ENOMEM. */
int ms_ranks_explain(struct ms_ranks *ranks, struct ms_rank_set set, struct ms_rank_set reference);

/* One line: "8 ranks, 120 steps: ...", and, if one departs, another: "npu 3 departs in step 17: ...". */
void ms_ranks_text(const struct ms_ranks *ranks, char *out, size_t out_b);
void ms_ranks_departure_text(const struct ms_ranks *ranks, char *out, size_t out_b);

#endif
