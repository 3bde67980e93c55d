/* SPDX-License-Identifier: Apache-2.0 */
/* The analyses that run while recording. Each one is a consumer of the model in a file of its own, which ends with its
 * description (struct ms_analysis). trace/wanted.h lists them, and has the words of --analysis; the pipeline opens those
 * that apply. */
#ifndef MS_ANALYZE_ANALYSIS_H
#define MS_ANALYZE_ANALYSIS_H

#include "memscope/analyze/note.h"
#include "memscope/model/model.h"
#include "memscope/model/stacks.h"

#include <stdio.h>

/* What an analysis may use. Everything in it outlives the analysis. */
struct ms_analysis_context {
    struct ms_model *model;
    struct ms_stack_source stacks;
    bool immediate;          /* recorded from the start of the program */
    const char *watch_start; /* operator whose outputs are watched; empty: none */
    /* Collects the text that is printed when the process has ended. NULL without MS_WHEN_REPORTS. */
    FILE *report;
    /* Whole lines for the console, printed at once. */
    void (*print)(void *argument, const char *text, size_t text_b);
    ms_note_fn *log;
    void *argument; /* of print and log */
};

enum {
    MS_WHEN_ROWS = 1,      /* rows are written */
    MS_WHEN_REPORTS = 2,   /* reports are printed */
    MS_WHEN_ALL_STEPS = 4, /* no --steps */
};

struct ms_analysis {
    uint32_t bits; /* MS_ANALYSIS_*: runs if one of them is requested; 0: always */
    unsigned when; /* MS_WHEN_*: all of them must hold */
    int (*open)(const struct ms_analysis_context *context, void **self, struct ms_consumer *consumer); /* 0 or -errno */
    void (*close)(void *self);
    /* Blocks that seem to leak, see ms_leaks_suspects. NULL: does not look for leaks. */
    const char *(*suspects)(const void *self, uint64_t *stops);
};

/* In the order in which they receive events and write their reports; ends with NULL. */
extern const struct ms_analysis *const ms_analyses[];

#endif
