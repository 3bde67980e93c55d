/* SPDX-License-Identifier: Apache-2.0 */
/* See oom.h. The rows of one refusal arrive in sequence: snapshot, trigger, recent blocks, largest blocks. They are
 * turned into text on arrival, because the blocks they name are live then but perhaps not at the end. Memory: that
 * text, at most REPORTS times. */
#include "memscope/analyze/oom.h"

#include "memscope/analyze/analysis.h"
#include "memscope/analyze/pools.h"
#include "memscope/analyze/site.h"
#include "memscope/model/calls.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define REPORTS      4u
#define FRAMES_SHOWN 16u
#define SITE_MAX_B   512u

struct ms_oom_report {
    struct ms_oom_options options;
    FILE *text;
    char *bytes;
    size_t bytes_b;
    uint64_t refused, largest_b; /* of all refusals, shown or not */
    uint32_t shown;              /* reports that are final in the text */
    long mark;                   /* offset of the last report in the text */
    bool open;                   /* the last trigger is in the text */
    uint32_t device;             /* of the last trigger */
    uint64_t free_b, total_b;    /* of the device, from the last snapshot; total 0: unknown */
    uint8_t list;                /* row type of the list being written; 0: none */
    uint32_t number;             /* position in that list */
};

static uint64_t number_of(const struct ms_row *row, enum ms_attr_key key)
{
    for (uint32_t i = 0; i < row->attr_count; i++) {
        if (row->attr[i].key == key) {
            return row->attr[i].number;
        }
    }
    return 0;
}

static struct ms_text text_of(const struct ms_row *row, enum ms_attr_key key)
{
    for (uint32_t i = 0; i < row->attr_count; i++) {
        if (row->attr[i].key == key) {
            return row->attr[i].text;
        }
    }
    return (struct ms_text){.s = ""};
}

static struct ms_text stack_of(const struct ms_oom_report *report, uint32_t id, bool python)
{
    const struct ms_stack_source *stacks = &report->options.stacks;
    if (id == 0 || id == MS_STACK_NO_GIL || (python ? stacks->python_stack : stacks->c_stack) == NULL) {
        return (struct ms_text){.s = ""};
    }
    return python ? stacks->python_stack(stacks->self, id) : stacks->c_stack(stacks->self, id);
}

/* ---- the refused request ---- */

static void print_frames(FILE *out, struct ms_text stack)
{
    struct ms_text line;
    unsigned count = 0;
    for (; count < FRAMES_SHOWN && ms_stack_line(&stack, &line); count++) {
        fprintf(out, "        %.*s\n", (int)line.length_b, line.s);
    }
    if (count == FRAMES_SHOWN && ms_stack_line(&stack, &line)) {
        fputs("        ...\n", out);
    }
}

static void print_held(struct ms_oom_report *report)
{
    struct ms_pool_state state;
    const char *before = "In use at the time: ";
    for (enum ms_space space = 0; space < MS_SPACE_COUNT; space++) {
        if (MS_SPACE_IS_POOL(space) && ms_model_pool(report->options.model, space, report->device, &state) &&
            state.live_blocks != 0) {
            fprintf(report->text, "%s%f Mb(s) in %" PRIu64 " block(s) of %s", before, MS_MB(state.used_b),
                    state.live_blocks, ms_space_title(space));
            if (state.total_b != 0) {
                fprintf(report->text, " (%f reserved)", MS_MB(state.total_b));
            }
            before = "; ";
        }
    }
    if (ms_model_pool(report->options.model, MS_SPACE_HAL, report->device, &state)) {
        fprintf(report->text, "%s%f Mb(s) from the driver", before, MS_MB(state.used_b));
        before = "; ";
    }
    if (report->total_b != 0) {
        fprintf(report->text, "%s%f of %f Mb(s) of the device were free", before, MS_MB(report->free_b),
                MS_MB(report->total_b));
        before = "; ";
    }
    fputs(before[0] == ';' ? ".\n" : "", report->text);
}

/* Allocators retry immediately: a refusal without details is counted, but only shown if it is the first. */
static void settle(struct ms_oom_report *report)
{
    if (report->open && report->list == 0 && report->shown != 0) {
        fseek(report->text, report->mark, SEEK_SET);
    } else if (report->open) {
        report->shown++;
    }
    report->open = false;
}

static void on_trigger(struct ms_oom_report *report, const struct ms_row *row)
{
    uint64_t size_b = number_of(row, MS_ATTR_REQ_SIZE);
    settle(report);
    report->refused++;
    report->largest_b = size_b > report->largest_b ? size_b : report->largest_b;
    report->device = row->device;
    report->list = 0;
    report->open = report->shown < REPORTS;
    if (!report->open) {
        return;
    }
    report->mark = ftell(report->text);
    struct ms_text function = text_of(row, MS_ATTR_FUNC);
    struct ms_text op = ms_model_op(report->options.model, row->tid);
    uint32_t step = ms_model_step(report->options.model, row->device);
    fprintf(report->text, "%.*s of %f Mb(s) was refused on device %s", (int)function.length_b, function.s,
            MS_MB(size_b), ms_device_text("", row->device).s);
    if (step != 0) {
        fprintf(report->text, ", step %u", step);
    }
    if (op.length_b != 0) {
        fprintf(report->text, ", in %.*s", (int)op.length_b, op.s);
    }
    struct ms_text python = stack_of(report, row->python_stack, true), c = stack_of(report, row->c_stack, false);
    fprintf(report->text, "%s\n", python.length_b + c.length_b != 0 ? ", called by" : ".");
    print_frames(report->text, python);
    print_frames(report->text, c);
}

/* ---- what was live ---- */

static const struct ms_block *block_of(struct ms_model *model, struct ms_text pool, uint32_t device, uint64_t addr,
                                       uint64_t size_b)
{
    for (unsigned space = 0; space < MS_SPACE_COUNT; space++) {
        const struct ms_block *block = ms_model_find(model, space, device, addr);
        const char *name = block != NULL ? ms_type_name(block->type) : "";
        if (block != NULL && block->addr == addr && block->size_b == size_b && strlen(name) == pool.length_b &&
            memcmp(name, pool.s, pool.length_b) == 0) {
            return block;
        }
    }
    return NULL;
}

static void on_detail(struct ms_oom_report *report, const struct ms_row *row)
{
    FILE *out = report->text;
    if (!report->open) {
        return;
    }
    if (report->list == 0) { /* the first row of details */
        print_held(report);
    }
    if (report->list != row->type) {
        report->list = row->type;
        report->number = 0;
        fputs(row->type == MS_TYPE_OOM_RECENT_ALLOC ? "Most recent live blocks:\n" : "Largest live blocks:\n", out);
    }
    struct ms_text pool = text_of(row, MS_ATTR_POOL);
    uint64_t addr = number_of(row, MS_ATTR_PTR), size_b = number_of(row, MS_ATTR_SIZE);
    fprintf(out, "%3u. %f Mb(s) at 0x%" PRIx64 ", %.*s", ++report->number, MS_MB(size_b), addr, (int)pool.length_b,
            pool.s);
    const struct ms_block *block = block_of(report->options.model, pool, row->device, addr, size_b);
    if (block != NULL && block->step != 0) {
        fprintf(out, ", step %u", block->step);
    }
    struct ms_text op = block != NULL ? ms_model_text(report->options.model, block->op) : (struct ms_text){.s = ""};
    if (op.length_b != 0) {
        fprintf(out, ", %.*s", (int)op.length_b, op.s);
    }
    uint64_t since_ns = number_of(row, MS_ATTR_TIMESTAMP);
    fprintf(out, ", %.3f ms before\n", since_ns < row->time_ns ? (double)(row->time_ns - since_ns) / 1e6 : 0.0);
    char site[SITE_MAX_B];
    if (ms_site_text(stack_of(report, row->python_stack, true), true, site, sizeof(site)) != 0) {
        fprintf(out, "        %s\n", site);
    }
    if (ms_site_text(stack_of(report, row->c_stack, false), false, site, sizeof(site)) != 0) {
        fprintf(out, "        %s\n", site);
    }
}

static int on_row(void *self, const struct ms_row *row)
{
    struct ms_oom_report *report = self;
    if (row->event == MS_EV_SNAPSHOT) {
        report->free_b = number_of(row, MS_ATTR_FREE);
        report->total_b = number_of(row, MS_ATTR_TOTAL);
    } else if (row->event == MS_EV_OOM_DETAIL && row->type == MS_TYPE_OOM_TRIGGER) {
        on_trigger(report, row);
    } else if (row->event == MS_EV_OOM_DETAIL) {
        on_detail(report, row);
    }
    return ferror(report->text) ? -ENOMEM : 0;
}

static int on_end(void *self)
{
    struct ms_oom_report *report = self;
    FILE *out = report->options.out;
    settle(report);
    if (report->refused == 0 || out == NULL || fflush(report->text) != 0) {
        return 0;
    }
    fprintf(out, "====== ERROR: Out of memory ======\n%.*s", (int)report->bytes_b, report->bytes);
    if (report->refused > report->shown) {
        fprintf(out, "... and %" PRIu64 " more, all of them in the dump.\n", report->refused - report->shown);
    }
    fprintf(out, "====== SUMMARY: %" PRIu64 " request(s) refused, the largest of %g Mb(s) ======\n", report->refused,
            MS_MB(report->largest_b));
    return fflush(out) != 0 ? -errno : 0;
}

/* ---- interface ---- */

int ms_oom_report_new(const struct ms_oom_options *options, struct ms_oom_report **out)
{
    if (options->model == NULL) {
        return -EINVAL;
    }
    struct ms_oom_report *report = calloc(1, sizeof(*report));
    if (report == NULL) {
        return -ENOMEM;
    }
    report->options = *options;
    report->text = open_memstream(&report->bytes, &report->bytes_b);
    if (report->text == NULL) {
        free(report);
        return -ENOMEM;
    }
    *out = report;
    return 0;
}

struct ms_consumer ms_oom_report_consumer(struct ms_oom_report *report)
{
    return (struct ms_consumer){.self = report, .on_row = on_row, .on_end = on_end};
}

void ms_oom_report_free(struct ms_oom_report *report)
{
    if (report != NULL) {
        fclose(report->text);
        free(report->bytes);
        free(report);
    }
}

static int open_analysis(const struct ms_analysis_context *context, void **self, struct ms_consumer *consumer)
{
    struct ms_oom_options options = {.model = context->model, .stacks = context->stacks, .out = context->report};
    struct ms_oom_report *report;
    int rc = ms_oom_report_new(&options, &report);
    if (rc == 0) {
        *self = report;
        *consumer = ms_oom_report_consumer(report);
    }
    return rc;
}

static void close_analysis(void *self)
{
    ms_oom_report_free(self);
}

const struct ms_analysis ms_oom_analysis = {
    .bits = MS_ANALYSIS_OOM, .when = MS_WHEN_REPORTS, .open = open_analysis, .close = close_analysis};
