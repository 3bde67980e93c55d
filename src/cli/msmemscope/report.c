/* SPDX-License-Identifier: Apache-2.0 */
/* msmemscope report DIR|FILE...: what memory was used for, and how to use less. */
#include "cli/msmemscope/recordings.h"
#include "cli/msmemscope/report_page.h"
#include "cli/msmemscope/report_read.h"

#include "memscope/analyze/report/report.h"
#include "base/macros.h"
#include "base/parse.h"
#include "memscope/render/report_json.h"
#include "memscope/render/report_text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_PARTIAL = 1, EXIT_WRONG = 2 };
#define PAGE_TOP 200u /* a page's tables can be searched */

struct wanted {
    struct report_inputs inputs;
    const char *page; /* --html */
    bool json, marks;
    struct ms_report_text_options text;
};

static int usage(void)
{
    puts(
        "usage: msmemscope report DIR|FILE... [options]\n\n"
        "Shows for each device when memory use was at its peak, what was live then and where it was allocated, how to\n"
        "save memory and how much, what every byte is used for, and what each step leaves allocated.\n"
        "Reads recordings and dumps (.csv, .db; from npuscope or msMemScope), of one process or many. For many, it\n"
        "compares the same step on all ranks and shows the first one that diverges.\n\n"
        "  --html FILE       a self-contained page with charts instead of text\n"
        "  --json            one JSON object instead of text (docs/format/report.md)\n"
        "  --steps=N[,N...]  only events of these steps (at most 5)\n"
        "  --device=D[,D...] only these devices: 0, npu:0, npu, cpu\n"
        "  --top N           entries per list (10; on a page 200)\n"
        "  --all             also advice that saves less than 1 % of the peak\n"
        "  --idle N          operators without an access before a block is idle (3000)\n"
        "  --marks           instead of the report, a CSV line for each block that is inefficient by msMemScope's\n"
        "                    definitions, whatever it would save\n\n"
        "Advice about use (freed too late, never used ...) requires accesses, source lines require call stacks:\n"
        "  msmemscope --events=alloc,free,access,launch --call-stack=c -- PROGRAM\n\n"
        "Exit status: 0; 1 if something could not be read (the report says that it is partial) or events were lost;\n"
        "2 for wrong options.");
    return 0;
}

static int wrong(const char *format, const char *what)
{
    fputs("msmemscope report: ", stderr);
    fprintf(stderr, format, what);
    fputs("; see msmemscope report --help\n", stderr);
    return EXIT_WRONG;
}

/* ---- options ---- */

static bool parse_steps(const char *text, struct ms_model_options *model)
{
    uint64_t steps[MS_MODEL_STEPS_MAX];
    size_t count;
    if (ms_parse_list(text, UINT32_MAX, steps, MS_MODEL_STEPS_MAX, &count) != 0 || count == 0) {
        return false;
    }
    model->step_count = (uint32_t)count;
    for (size_t i = 0; i < count; i++) {
        model->steps[i] = (uint32_t)steps[i];
    }
    return true;
}

static bool parse_devices(const char *text, struct ms_model_options *model)
{
    model->all_npu = model->cpu = false;
    model->npu_mask = 0;
    while (*text != '\0') {
        size_t length = strcspn(text, ",");
        char word[16];
        uint64_t number;
        snprintf(word, sizeof(word), "%.*s", (int)(length < sizeof(word) ? length : sizeof(word) - 1), text);
        if (strcmp(word, "cpu") == 0) {
            model->cpu = true;
        } else if (strcmp(word, "npu") == 0) {
            model->all_npu = true;
        } else if (ms_parse_u64(strncmp(word, "npu:", 4) == 0 ? word + 4 : word, 0, 63, &number) == 0) {
            model->npu_mask |= 1ull << number;
        } else {
            return false;
        }
        text += length + (text[length] == ',');
    }
    return model->all_npu || model->cpu || model->npu_mask != 0;
}

static bool parse_top(const char *text, struct wanted *wanted)
{
    uint64_t number;
    bool ok = ms_parse_u64(text, 1, 100000, &number) == 0;
    if (ok) {
        wanted->text.top = wanted->inputs.options.top = (uint32_t)number;
    }
    return ok;
}

static bool parse_page(const char *text, struct wanted *wanted)
{
    wanted->page = text;
    return text[0] != '\0';
}

static bool parse_idle(const char *text, struct wanted *wanted)
{
    uint64_t number;
    bool ok = ms_parse_u64(text, 1, UINT32_MAX, &number) == 0;
    if (ok) {
        wanted->inputs.options.idle_threshold = (uint32_t)number;
    }
    return ok;
}

static bool parse_steps_option(const char *text, struct wanted *wanted)
{
    return parse_steps(text, &wanted->inputs.model);
}

static bool parse_devices_option(const char *text, struct wanted *wanted)
{
    return parse_devices(text, &wanted->inputs.model);
}

static const struct {
    const char *name;
    bool (*parse)(const char *value, struct wanted *wanted);
} valued[] = {
    {"--steps", parse_steps_option}, {"--device", parse_devices_option}, {"--top", parse_top}, {"--idle", parse_idle},
    {"--html", parse_page},
};

/* The value of an option: "--top=5" or "--top 5"; NULL: another option, or none given. */
static const char *value_of(const char *name, int argc, char **argv, int *at)
{
    size_t length = strlen(name);
    if (strncmp(argv[*at], name, length) != 0) {
        return NULL;
    }
    if (argv[*at][length] == '=') {
        return argv[*at] + length + 1;
    }
    return argv[*at][length] == '\0' && *at + 1 < argc ? argv[++*at] : NULL;
}

/* 0: continue; -1: done (help); otherwise an exit status. */
static int parse(int argc, char **argv, struct wanted *wanted)
{
    for (int i = 2; i < argc; i++) {
        const char *argument = argv[i], *value = NULL;
        size_t which = 0;
        if (strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0) {
            usage();
            return -1;
        }
        for (; which < MS_COUNT_OF(valued); which++) {
            value = value_of(valued[which].name, argc, argv, &i);
            if (value != NULL) {
                break;
            }
        }
        if (value != NULL) {
            if (!valued[which].parse(value, wanted)) {
                return wrong("invalid value '%s'", value);
            }
        } else if (strcmp(argument, "--json") == 0) {
            wanted->json = true;
        } else if (strcmp(argument, "--marks") == 0) {
            wanted->marks = true;
        } else if (strcmp(argument, "--all") == 0) {
            wanted->text.all = true;
        } else if (argument[0] != '-') {
            wanted->inputs.paths[wanted->inputs.count++] = argument;
        } else {
            return wrong("unexpected '%s'", argument);
        }
    }
    return wanted->inputs.count != 0 ? 0 : wrong("%s", "no directory or file given");
}

/* ---- marks ---- */

static void print_inefficient(void *argument, const struct ms_report_inefficient *block)
{
    char device[16], found[MS_INEFFICIENT_TEXT_B];
    (void)argument;
    snprintf(device, sizeof(device), block->device == MS_DEV_CPU ? "cpu" : "%u", block->device);
    printf("%u,%s,0x%016llx,%llu,%llu,%u,\"", block->pid, device, (unsigned long long)block->addr,
           (unsigned long long)block->malloc_ns, (unsigned long long)block->size_b, block->step);
    ms_inefficient_text(block->found, found);
    printf("%s\"\n", found);
}

/* ---- the command ---- */

static int show(const struct ms_report *report, const struct wanted *wanted)
{
    int rc = wanted->page != NULL ? report_page_write(report, wanted->page) : 0;
    if (rc == 0 && wanted->json) {
        struct ms_buffer out = {0};
        ms_report_json(report, &out);
        rc = out.failed ? -ENOMEM : ms_buffer_write(&out, STDOUT_FILENO);
        ms_buffer_free(&out);
    } else if (rc == 0 && wanted->page == NULL && !wanted->marks) {
        ms_report_text(report, &wanted->text, stdout);
    }
    rc = rc == 0 && fflush(stdout) != 0 ? -errno : rc;
    if (rc != 0 && rc != -EPIPE && wanted->page == NULL) {
        fprintf(stderr, "msmemscope: cannot write the report: %s\n", strerror(-rc));
    }
    return rc;
}

static int make(const struct wanted *wanted)
{
    const struct report_inputs *inputs = &wanted->inputs;
    struct ms_report_builder *builder = NULL, *again[2] = {NULL, NULL};
    struct report_origins origins = {0};
    struct ms_ranks *ranks = NULL;
    int rc = ms_report_begin(&inputs->options, &builder);
    rc = rc != 0 ? rc : report_read(inputs, builder, &origins);
    const struct ms_report *report = rc == 0 ? ms_report_finish(builder) : NULL;
    rc = report != NULL ? report_ranks(inputs, &origins, report, &ranks, again) : rc != 0 ? rc : -ENOMEM;
    int status = EXIT_PARTIAL;
    if (rc == 0) {
        struct ms_report whole = *report;
        whole.ranks = ranks;
        status = show(&whole, wanted) != 0 || report->partial || report->process_count == 0 ? EXIT_PARTIAL : 0;
    } else if (rc != -ENOENT && rc != -EPROTO) { /* those were reported */
        fprintf(stderr, "msmemscope: %s: %s\n", inputs->options.input, strerror(-rc));
    }
    ms_ranks_free(ranks);
    for (size_t i = 0; i < MS_COUNT_OF(again); i++) {
        ms_report_free(again[i]);
    }
    ms_report_free(builder);
    free(origins.list);
    return status;
}

/* All inputs in one line. */
static char *join(const char **paths, size_t count)
{
    size_t length = 1;
    for (size_t i = 0; i < count; i++) {
        length += strlen(paths[i]) + 2;
    }
    char *line = malloc(length);
    for (size_t i = 0, at = 0; line != NULL && i < count; i++) {
        at += (size_t)sprintf(line + at, "%s%s", i != 0 ? ", " : "", paths[i]);
    }
    return line;
}

int cmd_report(int argc, char **argv)
{
    struct wanted wanted = {0};
    wanted.inputs.paths = calloc((size_t)argc, sizeof(*wanted.inputs.paths));
    if (wanted.inputs.paths == NULL) {
        return EXIT_PARTIAL;
    }
    ms_report_model_options(&wanted.inputs.model);
    int status = parse(argc, argv, &wanted);
    if (status == 0 && wanted.page != NULL && !report_page_ready(wanted.page)) {
        status = EXIT_WRONG;
    }
    if (status == 0) {
        if (wanted.page != NULL && wanted.inputs.options.top == 0) {
            wanted.inputs.options.top = PAGE_TOP;
        }
        if (wanted.marks) {
            puts("Process Id,Device Id,Ptr,Timestamp(ns),size,step,inefficient_type");
            wanted.inputs.options.inefficient = print_inefficient;
        }
        char *input = join(wanted.inputs.paths, wanted.inputs.count);
        wanted.inputs.options.input = input != NULL ? input : "";
        status = make(&wanted);
        free(input);
    }
    free(wanted.inputs.paths);
    return status > 0 ? status : 0;
}
