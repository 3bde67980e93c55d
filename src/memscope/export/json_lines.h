/* SPDX-License-Identifier: Apache-2.0 */
/* JSON, one object per line (docs/format/json.md): everything the model reports about a process, for programs. */
#ifndef MS_EXPORT_JSON_LINES_H
#define MS_EXPORT_JSON_LINES_H

#include "memscope/model/model.h"
#include "memscope/model/stacks.h"

struct ms_json_lines;

struct ms_json_lines_options {
    int fd; /* remains the caller's */
    uint32_t pid;
    const char *process; /* may be NULL */
    struct ms_stack_source stacks;
    struct ms_model *model;
};

int ms_json_lines_open(const struct ms_json_lines_options *options, struct ms_json_lines **out);
struct ms_consumer ms_json_lines_consumer(struct ms_json_lines *json);
int ms_json_lines_close(struct ms_json_lines *json); /* 0 or the first error; the last line is then written */

/* The attributes of a row as a JSON object: numbers are numbers, addresses "0x12", everything else strings. */
struct ms_buffer;
void ms_json_attrs(struct ms_buffer *out, const struct ms_row *row);

#endif
