/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the report: what is collected of a process, and the memory that results live in. */
#ifndef MS_REPORT_REPORT_INTERNAL_H
#define MS_REPORT_REPORT_INTERNAL_H

#include "memscope/analyze/report/detect.h"
#include "memscope/analyze/report/fragments.h"
#include "memscope/analyze/report/peak.h"
#include "memscope/analyze/report/series.h"
#include "memscope/analyze/report/step_table.h"

#define MS_GAPS_KEPT 100u

/* ---- memory of results: freed all at once ---- */

struct ms_arena {
    struct ms_arena_chunk *chunks;
    size_t left;
    char *at;
    bool failed; /* there was no memory */
};
void *ms_arena_get(struct ms_arena *arena, size_t size_b); /* zeroed; NULL: no memory */
const char *ms_arena_text(struct ms_arena *arena, const char *s, size_t length_b);
const char *ms_arena_print(struct ms_arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));
void ms_arena_free(struct ms_arena *arena);

/* ---- what is collected ---- */

struct ms_op_entry { /* by number of the name */
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

struct ms_collected { /* a process that is being read */
    struct ms_report_builder *builder;
    uint32_t pid;
    struct ms_model *model;
    struct ms_ledger ledger;
    struct ms_device_parts **devices; /* as ledger.devices */
    uint32_t device_count;
    struct ms_detect detect;
    struct ms_findings findings;
    struct ms_report_gap gaps[MS_GAPS_KEPT]; /* times absolute */
    uint64_t gap_total;
    bool ended;
    int error;
    struct ms_report_note *notes;
    size_t note_count;
    /* Results. */
    struct ms_stack_source stacks;
    struct ms_arena *arena;
    uint32_t *site_of; /* place: site of the report + 1 */
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

/* ---- making results, results.c, report_sites.c and finding_text.c ---- */

int ms__results(struct ms_collected *collected, struct ms_report_process *out);
uint32_t ms__site(struct ms_collected *collected, uint32_t place); /* index of the report's sites */
const char *ms__text(struct ms_collected *collected, struct ms_text text);
const char *ms__model_text(struct ms_collected *collected, uint32_t id);
const char *ms__op_text(struct ms_collected *collected, uint32_t name); /* of ms_ledger.ops */
/* "aten.clone.default" */
const char *ms__short_op(const char *op);
/* After the last ms__site: sites get what is shown of them. */
int ms__distinguish_sites(struct ms_collected *collected);
/* What the driver said last has stood until now. */
void ms__settle_usage(struct ms_ledger_device *device, uint64_t now_ns);
int ms__findings(struct ms_collected *collected, uint32_t device_at, struct ms_report_device *out);
int ms__add_note(struct ms_arena *arena, struct ms_report_note **notes, size_t *count, enum ms_note_level level,
                 const char *text);

#endif
