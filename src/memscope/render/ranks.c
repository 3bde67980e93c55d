/* SPDX-License-Identifier: Apache-2.0 */
/* See ranks.h. */
#include "memscope/render/ranks.h"

#include "base/parse.h"
#include "memscope/render/report_json.h"

#include <string.h>

#define TEXT_B 1024u

/* ---- JSON ---- */

#define COLUMN(json, key, ranks, field)                                                                                \
    do {                                                                                                               \
        ms_json_array(json, key);                                                                                      \
        for (size_t column_i = 0; column_i < (ranks)->step_count; column_i++) {                                        \
            ms_json_number(json, NULL, (ranks)->steps[column_i].field);                                                \
        }                                                                                                              \
        ms_json_close(json);                                                                                           \
    } while (0)

static void put_rank(const struct ms_ranks *ranks, const struct ms_rank *rank, struct ms_json *json)
{
    ms_json_object(json, NULL);
    ms_json_text(json, "name", rank->name);
    ms_json_number(json, "process", rank->process);
    ms_json_number(json, "device", rank->device);
    ms_json_number(json, "last_step", rank->last_step);
    ms_json_array(json, "peak_b");
    for (size_t i = 0; i < ranks->step_count; i++) {
        if (rank->peaks[i] == MS_RANK_NONE) {
            ms_json_null(json, NULL);
        } else {
            ms_json_number(json, NULL, rank->peaks[i]);
        }
    }
    ms_json_close(json);
    ms_json_close(json);
}

static void put_cause(const struct ms_rank_cause *cause, struct ms_json *json)
{
    ms_json_object(json, NULL);
    ms_json_text(json, "owner", cause->owner);
    ms_json_text(json, "label", cause->label);
    ms_frames_json(cause->frames, cause->frame_count, json);
    ms_json_number(json, "bytes", cause->bytes);
    ms_json_number(json, "reference_b", cause->reference_b);
    ms_json_close(json);
}

static void put_departure(const struct ms_ranks *ranks, struct ms_json *json)
{
    char text[TEXT_B];
    if (!ranks->diverges) {
        ms_json_null(json, "departure");
        return;
    }
    ms_ranks_divergence_text(ranks, text, sizeof(text));
    ms_json_object(json, "departure");
    ms_json_number(json, "rank", ranks->rank);
    ms_json_number(json, "step", ranks->step);
    ms_json_signed(json, "bytes", ranks->bytes);
    ms_json_bool(json, "from_start", ranks->from_start);
    ms_json_number(json, "reference", ranks->reference);
    ms_json_number(json, "reference_step", ranks->reference_step);
    ms_json_text(json, "text", text);
    ms_json_array(json, "causes");
    for (size_t i = 0; i < ranks->cause_count; i++) {
        put_cause(&ranks->causes[i], json);
    }
    ms_json_close(json);
    ms_json_close(json);
}

void ms_ranks_json(const struct ms_ranks *ranks, struct ms_json *json)
{
    char text[TEXT_B];
    if (ranks == NULL) {
        ms_json_null(json, "ranks");
        return;
    }
    ms_json_object(json, "ranks");
    ms_ranks_text(ranks, text, sizeof(text));
    ms_json_text(json, "text", text);
    ms_json_array(json, "ranks");
    for (size_t i = 0; i < ranks->rank_count; i++) {
        put_rank(ranks, &ranks->ranks[i], json);
    }
    ms_json_close(json);
    COLUMN(json, "steps", ranks, step);
    COLUMN(json, "min_b", ranks, min_b);
    COLUMN(json, "median_b", ranks, median_b);
    COLUMN(json, "max_b", ranks, max_b);
    COLUMN(json, "min_rank", ranks, min_rank);
    COLUMN(json, "max_rank", ranks, max_rank);
    ms_json_number(json, "steps_left_out", ranks->steps_left_out);
    put_departure(ranks, json);
    ms_json_close(json);
}

/* ---- text ---- */

#define STEPS_SHOWN  12u
#define CAUSES_SHOWN 5u

static void print_steps(const struct ms_ranks *ranks, FILE *out)
{
    size_t width = 6;
    for (size_t i = 0; i < ranks->rank_count; i++) {
        width = strlen(ranks->ranks[i].name) > width ? strlen(ranks->ranks[i].name) : width;
    }
    size_t every = (ranks->step_count + STEPS_SHOWN - 1) / STEPS_SHOWN;
    fprintf(out, "  %6s  %11s  %11s  %11s  %-*s  %6s\n", "step", "smallest", "median", "largest", (int)width, "of",
            "ranks");
    for (size_t i = 0; i < ranks->step_count; i++) {
        const struct ms_rank_step *step = &ranks->steps[i];
        if (i % every != 0 && i + 1 != ranks->step_count && !(ranks->diverges && step->step == ranks->step)) {
            continue;
        }
        char least[16], middle[16], most[16];
        ms_format_size(step->min_b, least);
        ms_format_size(step->median_b, middle);
        ms_format_size(step->max_b, most);
        fprintf(out, "  %6u  %11s  %11s  %11s  %-*s  %6u%s\n", step->step, least, middle, most, (int)width,
                ranks->ranks[step->max_rank].name, step->ranks,
                ranks->diverges && step->step == ranks->step ? "  <" : "");
    }
}

static void print_causes(const struct ms_ranks *ranks, FILE *out)
{
    for (size_t i = 0; i < ranks->cause_count && i < CAUSES_SHOWN; i++) {
        const struct ms_rank_cause *cause = &ranks->causes[i];
        char now[16], then[16], change[16];
        bool more = cause->bytes >= cause->reference_b;
        ms_format_size(cause->bytes, now);
        ms_format_size(cause->reference_b, then);
        ms_format_size(more ? cause->bytes - cause->reference_b : cause->reference_b - cause->bytes, change);
        fprintf(out, "    %c%-11s %s%s%s  (%s against %s)\n", more ? '+' : '-', change, cause->label,
                cause->owner[0] != '\0' ? ", " : "", cause->owner, now, then);
    }
}

void ms_ranks_print(const struct ms_ranks *ranks, FILE *out)
{
    char text[TEXT_B];
    if (ranks == NULL) {
        return;
    }
    ms_ranks_text(ranks, text, sizeof(text));
    fprintf(out, "\nall ranks\n  %s\n\n", text);
    print_steps(ranks, out);
    if (ranks->diverges) {
        ms_ranks_divergence_text(ranks, text, sizeof(text));
        fprintf(out, "\n  %s\n", text);
        print_causes(ranks, out);
    }
}
