/* SPDX-License-Identifier: Apache-2.0 */
/* Who overwrites a watched tensor: the first operator (or, if kernels are watched, kernel) after which its content is
 * another one although the operator does not write it.
 *
 * Each tensor is noted in front of and behind every operator. A change
 *   - between the two notes of an operator that says it writes the tensor is as it should be;
 *   - between the two notes of another operator: this operator did it, or the kernel inside of it that was seen to;
 *   - between the end of one operator and the beginning of the next: something that nobody announces did, after the
 *     first of the two.
 * Operators of other threads may write it meanwhile: a change is then held back until one of them says so, or until
 * nobody runs. What was freed is not judged any more. One report per tensor. Memory: O(tensors that are watched). */
#ifndef MS_ANALYZE_WATCH_H
#define MS_ANALYZE_WATCH_H

#include "memscope/model/model.h"

struct ms_watch_report;

struct ms_watch_report_options {
    const struct ms_model *model;
    const char *start; /* operator whose outputs are watched; empty: none; for saying that it never came */
    /* Whole lines for the console: each report when it is certain, the summary at the end. */
    void (*print)(void *argument, const char *text, size_t text_b);
    void *argument;
};

int ms_watch_report_new(const struct ms_watch_report_options *options, struct ms_watch_report **out);
struct ms_consumer ms_watch_report_consumer(struct ms_watch_report *report);
void ms_watch_report_free(struct ms_watch_report *report);

/* Tensors that were overwritten. */
uint64_t ms_watch_report_count(const struct ms_watch_report *report);

#endif
