/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of the model as text files: events in, rows and reports out. See tests/model/README.md for the syntax. */
#ifndef MODEL_CASE_H
#define MODEL_CASE_H

#include "memscope/export/dump.h"
#include "memscope/model/model.h"

#define CASE_EVENTS_MAX   4096
#define CASE_SECTIONS_MAX 16

struct case_section { /* what is expected */
    char name[64];
    char *text;
};

struct model_case {
    char path[512];
    struct ms_model_options options;
    struct ms_event *events;
    size_t event_count;
    struct case_section sections[CASE_SECTIONS_MAX];
    size_t section_count;
    char *source; /* texts of events point in here */
    char *head;   /* everything before the first expected section, verbatim */
};

/* Reads a case; on failure prints the reason and returns -1. */
int case_read(const char *path, struct model_case *out);
void case_free(struct model_case *c);

/* Output of a run. */
struct case_result {
    char dir[256]; /* temporary project directory, with the dump */
    char *report;  /* of leaks and gap */
    char *log;
    struct ms_model_stats stats;
};
/* split: after this many events the model is saved and restored into a new one; SIZE_MAX: never. *split_done: whether
 * that was possible. */
int case_run(const struct model_case *c, enum ms_dump_format format, size_t split, struct case_result *out);
void case_result_free(struct case_result *result); /* removes the directory */

/* The text to compare with the case's section: "device_0" and so on is the dump without its header, "report", "log",
 * "stats". Freed by the caller; NULL: there is none. */
char *case_actual(const struct case_result *result, const char *section);

#endif
