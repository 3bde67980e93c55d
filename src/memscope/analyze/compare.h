/* SPDX-License-Identifier: Apache-2.0 */
/* Compares two recordings, or two steps: which operators and kernels occur on both sides, how much memory each of them
 * took, and which owners and call sites explain the difference.
 *
 * An item is an operator (from its START to its END row) or a kernel (what its thread did since the previous kernel).
 * Its net is what its thread allocated minus what it freed during the item; its peak is the maximum above the start,
 * including nested operators. Pool memory is counted if there is any, driver memory otherwise.
 *
 * Process one side after the other: a model per process with ms_compare_begin, or, for the number of the first
 * releases, rows in time order with ms_compare_legacy_rows. Then call ms_compare_finish and read the results. Memory:
 * about 80 bytes per item, plus the distinct names. Single-threaded. */
#ifndef MS_ANALYZE_COMPARE_H
#define MS_ANALYZE_COMPARE_H

#include "memscope/model/model.h"
#include "memscope/model/stacks.h"

#include <stdio.h>

struct ms_compare;

enum { MS_COMPARE_BASE, MS_COMPARE_OTHER, MS_COMPARE_SIDES };

struct ms_compare_options {
    bool legacy;
    uint32_t levels;                  /* MS_WANT_OP | MS_WANT_KERNEL */
    uint32_t steps[MS_COMPARE_SIDES]; /* 0: everything */
    const char *names[MS_COMPARE_SIDES];
};

int ms_compare_new(const struct ms_compare_options *options, struct ms_compare **out);
void ms_compare_free(struct ms_compare *compare);

/* The model options that compare requires. */
void ms_compare_model_options(struct ms_model_options *out);
/* Starts another process of that side; its model must live until the next begin or finish. */
int ms_compare_begin(struct ms_compare *compare, int side, struct ms_model *model, struct ms_stack_source stacks);
struct ms_consumer ms_compare_legacy_rows(struct ms_compare *compare, int side);

/* 0, -ENODATA: a side has no items (ms_compare_error says which), -EINVAL: two frameworks in one input (legacy),
 * -errno. */
int ms_compare_finish(struct ms_compare *compare);
const char *ms_compare_error(const struct ms_compare *compare);

/* Write memory_compare.csv as the original does, and a file with peaks, rows and steps of every item. 0 or -errno. */
int ms_compare_write(const struct ms_compare *compare, int fd);
int ms_compare_write_items(const struct ms_compare *compare, int fd);

void ms_compare_print(const struct ms_compare *compare, FILE *out);

struct ms_compare_result {
    uint64_t items[MS_COMPARE_SIDES], both;
    int64_t growth_b; /* of the peak or of the final use, whichever is larger; on the device that grew most */
};
void ms_compare_result(const struct ms_compare *compare, struct ms_compare_result *out);

#endif
