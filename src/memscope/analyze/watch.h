/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the operation that overwrites a watched tensor: the first operator (or kernel, if kernels are watched) after
 * which the content differs although the operator does not write the tensor.
 *
 * Each tensor is hashed before and after every operator. A change
 *   - between the two hashes of an operator that declares the tensor as output is expected;
 *   - between the two hashes of another operator is attributed to it, or to the kernel inside it that was observed;
 *   - between the end of one operator and the start of the next is attributed to an unannounced write after the
 *     first of the two.
 * An operator of another thread may write the tensor at the same time: a change is then held back until one of them
 * declares it, or until none is running. A freed tensor is no longer checked. One report per tensor. Memory: O(watched
 * tensors). */
#ifndef MS_ANALYZE_WATCH_H
#define MS_ANALYZE_WATCH_H

#include "memscope/model/model.h"

struct ms_watch_report;

struct ms_watch_report_options {
    const struct ms_model *model;
    const char *start; /* operator whose outputs are watched; empty: none; used to report that it never ran */
    /* Complete lines for the console: each report as soon as it is certain, the summary at the end. */
    void (*print)(void *argument, const char *text, size_t text_b);
    void *argument;
};

int ms_watch_report_new(const struct ms_watch_report_options *options, struct ms_watch_report **out);
struct ms_consumer ms_watch_report_consumer(struct ms_watch_report *report);
void ms_watch_report_free(struct ms_watch_report *report);

/* Number of tensors that were overwritten. */
uint64_t ms_watch_report_count(const struct ms_watch_report *report);

#endif
