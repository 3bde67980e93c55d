/* SPDX-License-Identifier: Apache-2.0 */
/* Leaks, online: blocks that outlive the step in which they were allocated.
 *
 * Suspect: a live pool block (PTA, ATB, MindSpore, CPU tensors) of step s > 1, at the end of a step N > s of its
 * device. The report at exit lists suspects that are still live, and live HAL blocks; a suspect that was freed later is
 * not a leak. The original's lines come first, followed by npuscope's summary by call site (stack) or, without stacks,
 * by owner or operator: bytes, blocks, growth per step, first step, confidence. */
#ifndef MS_ANALYZE_LEAKS_H
#define MS_ANALYZE_LEAKS_H

#include "memscope/analyze/note.h"
#include "memscope/model/model.h"
#include "memscope/model/stacks.h"

#include <stdio.h>

struct ms_leaks;

struct ms_leaks_options {
    struct ms_model *model;        /* its live blocks are read at the end */
    struct ms_stack_source stacks; /* functions may be NULL */
    bool hal;                      /* report HAL blocks too: collect mode immediate */
    FILE *out;                     /* the report; NULL: only ms_leaks_count */
    uint32_t hal_lines_max;        /* per device; 0: 20 (pool segments are HAL blocks too) */
    uint32_t sites_max;            /* sites in the summary; 0: 20 */
    ms_note_fn *log;               /* may be NULL */
    void *argument;
};

int ms_leaks_new(const struct ms_leaks_options *options, struct ms_leaks **out);
struct ms_consumer ms_leaks_consumer(struct ms_leaks *leaks); /* writes the report in on_end */
void ms_leaks_free(struct ms_leaks *leaks);

/* The largest suspects at the time tracing was last stopped: lines of address, bytes, device and step. The text is
 * valid until the next stop; *stops counts stops. */
const char *ms_leaks_suspects(const struct ms_leaks *leaks, uint64_t *stops);
#define MS_SUSPECTS_B 3072u

/* After on_end: number and bytes of the reported leaks. */
uint64_t ms_leaks_count(const struct ms_leaks *leaks, uint64_t *bytes);

#endif
