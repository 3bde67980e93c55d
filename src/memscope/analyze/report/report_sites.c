/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of the report: names of operators and of allocation sites. A site is described when the first result refers to
 * it; the text of its call stack is kept at that time, because stacks are freed with the process. */
#include "memscope/analyze/report/report_internal.h"

#include "memscope/analyze/site.h"
#include "memscope/model/calls.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FRAMES_KEPT 32u

/* ---- texts ---- */

const char *ms__text(struct ms_collected *collected, struct ms_text text)
{
    return ms_arena_text(collected->arena, text.s, text.length_b);
}

const char *ms__model_text(struct ms_collected *collected, uint32_t id)
{
    return id != 0 ? ms__text(collected, ms_model_text(collected->model, id)) : "";
}

const char *ms__op_text(struct ms_collected *collected, uint32_t name)
{
    struct ms_intern_text text = ms_intern_get(&collected->ledger.ops, name);
    return name != 0 ? ms_arena_text(collected->arena, text.s, text.length_b) : "";
}

const char *ms__short_op(const char *op)
{
    static const char prefix[] = "torch._ops.";
    return strncmp(op, prefix, sizeof(prefix) - 1) == 0 ? op + sizeof(prefix) - 1 : op;
}

/* ---- sites ---- */

static void add_frames(struct ms_collected *collected, struct ms_text stack, bool python,
                       struct ms_report_frame *frames, size_t *count)
{
    bool inside = false; /* inside the program: plumbing is omitted only before it */
    for (struct ms_text line; *count < FRAMES_KEPT && ms_stack_line(&stack, &line);) {
        inside = inside || python || !ms_site_is_plumbing(line);
        if (inside) {
            struct ms_call call = ms_call_parse(line, python);
            frames[(*count)++] = (struct ms_report_frame){.python = python,
                                                          .function = ms__text(collected, call.function),
                                                          .file = ms__text(collected, call.file),
                                                          .line = call.line};
        }
    }
}

static void describe_site(struct ms_collected *collected, const struct ms_ledger_site *from,
                          struct ms_report_site *site)
{
    struct ms_report_frame frames[FRAMES_KEPT];
    size_t count = 0, label_b = 0;
    char label[512];
    const struct ms_stack_source *stacks = &collected->stacks;
    if (from->python_stack != 0 && stacks->python_stack != NULL) {
        struct ms_text stack = stacks->python_stack(stacks->self, from->python_stack);
        add_frames(collected, stack, true, frames, &count);
        label_b = ms_site_text(stack, true, label, sizeof(label));
    }
    if (from->c_stack != 0 && stacks->c_stack != NULL) {
        struct ms_text stack = stacks->c_stack(stacks->self, from->c_stack);
        add_frames(collected, stack, false, frames, &count);
        label_b = label_b != 0 ? label_b : ms_site_text(stack, false, label, sizeof(label));
    }
    site->op = ms__model_text(collected, from->op);
    struct ms_report_frame *kept = count != 0 ? ms_arena_get(collected->arena, count * sizeof(*kept)) : NULL;
    if (kept != NULL) {
        memcpy(kept, frames, count * sizeof(*kept));
        site->frames = kept;
        site->frame_count = count;
        site->label = ms_arena_text(collected->arena, label, label_b);
    } else if (site->op[0] != '\0') {
        site->label = ms_arena_print(collected->arena, "in %s", ms__short_op(site->op));
    } else if (from->size_b != 0) {
        site->label = ms_arena_print(collected->arena, "%s blocks of %llu bytes", ms_space_title(from->space),
                                     (unsigned long long)from->size_b);
    } else {
        site->label = ms_arena_print(collected->arena, "%s blocks", ms_space_title(from->space));
    }
}

uint32_t ms__site(struct ms_collected *collected, uint32_t from)
{
    if (from >= collected->ledger.site_count) {
        return MS_REPORT_NO_SITE;
    }
    if (collected->site_of == NULL) {
        collected->site_of = calloc(collected->ledger.site_count, sizeof(*collected->site_of));
    }
    if (collected->site_of == NULL) {
        collected->error = -ENOMEM;
        return MS_REPORT_NO_SITE;
    }
    if (collected->site_of[from] == 0) {
        if (collected->site_count == collected->site_room) {
            size_t room = collected->site_room != 0 ? collected->site_room * 2 : 64;
            struct ms_report_site *sites = realloc(collected->sites, room * sizeof(*sites));
            if (sites == NULL) {
                collected->error = -ENOMEM;
                return MS_REPORT_NO_SITE;
            }
            collected->sites = sites;
            collected->site_room = room;
        }
        struct ms_report_site *site = &collected->sites[collected->site_count++];
        *site = (struct ms_report_site){0};
        describe_site(collected, &collected->ledger.sites[from], site);
        collected->site_of[from] = (uint32_t)collected->site_count;
    }
    return collected->site_of[from] - 1;
}

/* ---- distinguishing sites ---- */

static int by_label(const void *a, const void *b)
{
    const struct ms_report_site *const *x = a, *const *y = b;
    int order = strcmp((*x)->label, (*y)->label);
    return order != 0 ? order : *x < *y ? -1 : *x > *y;
}

static bool same_frame(const struct ms_report_site *a, const struct ms_report_site *b, size_t at)
{
    if (at >= a->frame_count || at >= b->frame_count) {
        return false;
    }
    const struct ms_report_frame *x = &a->frames[at], *y = &b->frames[at];
    return x->line == y->line && strcmp(x->function, y->function) == 0 && strcmp(x->file, y->file) == 0;
}

static const char *frame_text(struct ms_collected *collected, const struct ms_report_frame *frame)
{
    const char *slash = strrchr(frame->file, '/'), *file = slash != NULL ? slash + 1 : frame->file;
    return frame->line != 0 ? ms_arena_print(collected->arena, "%s:%u", file, frame->line) : frame->function;
}

/* Sites with the same label get the first frame in which they differ as suffix, or else their operator. */
static int distinguish(struct ms_collected *collected, struct ms_report_site **sites, size_t count)
{
    size_t at = 0;
    bool agree = true;
    while (agree && at < FRAMES_KEPT) {
        for (size_t i = 1; i < count && agree; i++) {
            agree = same_frame(sites[0], sites[i], at);
        }
        at += agree;
    }
    for (size_t i = 0; i < count; i++) {
        const char *more =
            at < sites[i]->frame_count ? frame_text(collected, &sites[i]->frames[at]) : ms__short_op(sites[i]->op);
        sites[i]->shown = more[0] != '\0' && strstr(sites[i]->label, more) == NULL
                              ? ms_arena_print(collected->arena, "%s (%s)", sites[i]->label, more)
                              : sites[i]->label;
        if (sites[i]->shown == NULL) {
            return -ENOMEM;
        }
    }
    return 0;
}

int ms__distinguish_sites(struct ms_collected *collected)
{
    struct ms_report_site **sorted = calloc(collected->site_count + 1, sizeof(*sorted));
    if (sorted == NULL) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < collected->site_count; i++) {
        sorted[i] = &collected->sites[i];
        sorted[i]->shown = sorted[i]->label;
    }
    qsort(sorted, collected->site_count, sizeof(*sorted), by_label);
    int rc = 0;
    for (size_t from = 0, end; rc == 0 && from < collected->site_count; from = end) {
        for (end = from + 1; end < collected->site_count && strcmp(sorted[from]->label, sorted[end]->label) == 0;) {
            end++;
        }
        rc = end - from > 1 ? distinguish(collected, sorted + from, end - from) : 0;
    }
    free(sorted);
    return rc;
}
