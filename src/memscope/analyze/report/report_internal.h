/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the report: the data collected for a process, and the memory that holds the results. */
#ifndef MS_REPORT_REPORT_INTERNAL_H
#define MS_REPORT_REPORT_INTERNAL_H

#include "memscope/analyze/report/detect.h"
#include "memscope/analyze/report/fragments.h"
#include "memscope/analyze/report/peak.h"
#include "memscope/analyze/report/series.h"
#include "memscope/analyze/report/step_table.h"

#define MS_GAPS_KEPT 100u

/* ---- memory for results: freed together ---- */

struct ms_arena {
    struct ms_arena_chunk *chunks;
    size_t left;
    char *at;
    bool failed; /* an allocation failed */
};
void *ms_arena_get(struct ms_arena *arena, size_t size_b); /* zeroed; NULL: out of memory */
const char *ms_arena_text(struct ms_arena *arena, const char *s, size_t length_b);
const char *ms_arena_print(struct ms_arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));
void ms_arena_free(struct ms_arena *arena);

/* ---- collected data ---- */

struct ms_op_entry { /* indexed by number of the name */
    uint64_t calls, allocations, allocated_b, rise_b, at_peak_b;
};

struct ms_device_parts {
    struct ms_curve curve;
    struct ms_series series;
    struct ms_peak peak;
    struct ms_step_table steps;
    struct ms_fragments fragments;
    struct ms_departures departures;
    struct ms_op_entry *ops;
    size_t op_room;
};

struct ms_collected { /* a process being read */
    struct ms_report_builder *builder;
    uint32_t pid;
    struct ms_model *model;
    struct ms_ledger ledger;
    struct ms_device_parts **devices; /* parallel to ledger.devices */
    uint32_t device_count;
    struct ms_detect detect;
    struct ms_findings findings;
    struct ms_report_gap gaps[MS_GAPS_KEPT]; /* absolute times */
    uint64_t gap_total;
    bool ended;
    int error;
    struct ms_report_note *notes;
    size_t note_count;
    /* Results. */
    struct ms_stack_source stacks;
    struct ms_arena *arena;
    uint32_t *site_of; /* site of the ledger -> index of the report's site + 1 */
    struct ms_report_site *sites;
    size_t site_count, site_room;
    struct ms_collected *next;
};

struct ms_report_builder {
    struct ms_report_options options;
    struct ms_arena arena;
    struct ms_collected *open;
    struct ms_report_process *processes;
    size_t process_count;
    struct ms_report_note *notes;
    size_t note_count;
    struct ms_report report;
    int error;
};

/* ---- building results: results.c, report_sites.c and finding_text.c ---- */

int ms__results(struct ms_collected *collected, struct ms_report_process *out);
/* from: site of the ledger. Returns its index in the report's sites. */
uint32_t ms__site(struct ms_collected *collected, uint32_t from);
const char *ms__text(struct ms_collected *collected, struct ms_text text);
const char *ms__model_text(struct ms_collected *collected, uint32_t id);
const char *ms__op_text(struct ms_collected *collected, uint32_t name); /* name: of ms_ledger.ops */
/* "aten.clone.default" */
const char *ms__short_op(const char *op);
/* After the last ms__site: sets the texts that are shown for sites. */
int ms__distinguish_sites(struct ms_collected *collected);
/* The last value from the driver has been stable until now_ns. */
void ms__settle_usage(struct ms_ledger_device *device, uint64_t now_ns);
int ms__findings(struct ms_collected *collected, uint32_t device_at, struct ms_report_device *out);
int ms__add_note(struct ms_arena *arena, struct ms_report_note **notes, size_t *count, enum ms_note_level level,
                 const char *text);

#endif
