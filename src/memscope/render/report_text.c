/* SPDX-License-Identifier: Apache-2.0 */
/* See report_text.h. Most important first: the peak, the advice, then the numbers behind it. Tables show MiB, so that
 * columns can be compared at a glance. */
#include "memscope/render/report_text.h"

#include "base/macros.h"
#include "base/parse.h"
#include "memscope/render/ranks.h"

#include <inttypes.h>
#include <string.h>

#define WIDTH       108u
#define PINNED_B    (8u << 20) /* free bytes in sparse segments that justify a table */
#define SITE_FRAMES 5u
#define RANKS_WHOLE 8u /* more ranks are shown as a table */
#define RANKS_SHOWN 64u
#define ASIDE_B     (1u << 20)
#define STEPS_ENDS  3u /* how many of the first and of the last steps are shown */

struct printer {
    FILE *out;
    const struct ms_report_text_options *options;
    size_t top;
    const struct ms_report_process *process;
};

static double mib(uint64_t bytes)
{
    return (double)bytes / 1048576.0;
}

static double percent(uint64_t part, uint64_t whole)
{
    return whole != 0 ? 100.0 * (double)part / (double)whole : 0;
}

static const char *short_op(const char *op)
{
    static const char prefix[] = "torch._ops.";
    return strncmp(op, prefix, sizeof(prefix) - 1) == 0 ? op + sizeof(prefix) - 1 : op;
}

static const char *label(const struct printer *printer, uint32_t site)
{
    return site < printer->process->site_count ? printer->process->sites[site].shown : "(other sites)";
}

/* Prints text in lines of at most 108 columns. */
static void print_wrapped(FILE *out, unsigned indent, const char *text)
{
    unsigned column = 0;
    while (*text != '\0') {
        size_t word = strcspn(text, " ");
        if (column == 0 || column + 1 + word > WIDTH) {
            fprintf(out, "%s%*s", column != 0 ? "\n" : "", (int)indent, "");
            column = indent;
        } else {
            fputc(' ', out);
            column++;
        }
        fprintf(out, "%.*s", (int)word, text);
        column += (unsigned)word;
        text += word + (text[word] == ' ');
    }
    fputc('\n', out);
}

/* ---- peak ---- */

static void print_moment(const struct printer *printer, const char *name, const struct ms_report_moment *moment,
                         bool place)
{
    FILE *out = printer->out;
    fprintf(out, "  %-5s %10.2f MiB in use", name, mib(moment->used_b));
    if (moment->reserved_b != 0) {
        fprintf(out, ", %.2f MiB reserved by pools", mib(moment->reserved_b));
    }
    if (moment->driver_b != 0) {
        fprintf(out, ", %.2f MiB from the driver", mib(moment->driver_b));
    }
    fprintf(out, ", %" PRIu64 " blocks\n", moment->blocks);
    if (place) {
        fprintf(out, "        at %.3f s", (double)moment->t_ns / 1e9);
        if (moment->step != 0) {
            fprintf(out, ", step %u", moment->step);
        }
        if (moment->op[0] != '\0') {
            fprintf(out, ", in %s", short_op(moment->op));
        }
        if (moment->site != MS_REPORT_NO_SITE && printer->process->sites[moment->site].frame_count != 0) {
            fprintf(out, ", by %s", label(printer, moment->site));
        }
        fputc('\n', out);
    }
}

/* ---- advice ---- */

static void print_frames(const struct printer *printer, const char *what, uint32_t site)
{
    if (site >= printer->process->site_count) {
        return;
    }
    const struct ms_report_site *at = &printer->process->sites[site];
    if (at->frame_count == 0) {
        return;
    }
    fprintf(printer->out, "     %s by %s\n", what, at->shown);
    for (size_t i = 0, shown = 0; i < at->frame_count && shown < SITE_FRAMES; i++) {
        if (at->frames[i].line != 0) {
            fprintf(printer->out, "       %s:%u  %s\n", at->frames[i].file, at->frames[i].line, at->frames[i].function);
            shown++;
        }
    }
}

static void print_steps_of(const struct printer *printer, const struct ms_report_finding *finding)
{
    if (finding->last_step == 0) {
        return;
    }
    if (finding->first_step == finding->last_step) {
        fprintf(printer->out, ", step %u", finding->first_step);
    } else {
        fprintf(printer->out, ", steps %u to %u", finding->first_step, finding->last_step);
    }
}

static void print_finding(const struct printer *printer, size_t number, const struct ms_report_finding *finding,
                          uint64_t peak_b)
{
    FILE *out = printer->out;
    fprintf(out, "%4zu. %s", number, ms_patterns[finding->pattern].title);
    print_steps_of(printer, finding);
    if (finding->saves_peak_b != 0) {
        fprintf(out, ": peak -%.2f MiB (%.0f %%)", mib(finding->saves_peak_b), percent(finding->saves_peak_b, peak_b));
    } else if (finding->saves_reserved_b != 0) {
        fprintf(out, ": reserved -%.2f MiB", mib(finding->saves_reserved_b));
    }
    if (finding->confidence[0] != '\0') {
        fprintf(out, ", confidence %s", finding->confidence);
    }
    fputc('\n', out);
    print_wrapped(out, 5, finding->text);
    print_frames(printer, finding->pattern == MS_PATTERN_OOM ? "requested" : "allocated", finding->site);
    print_wrapped(out, 5, ms_patterns[finding->pattern].remedy);
}

static void print_advice(const struct printer *printer, const struct ms_report_device *device)
{
    size_t major = 0, shown = 0;
    for (size_t i = 0; i < device->finding_count; i++) {
        major += !device->findings[i].minor;
    }
    size_t wanted = printer->options->all ? device->finding_count : major;
    fputs("\n  What to do", printer->out);
    if (wanted == 0) {
        fputs(printer->process->accesses != 0 ? "\n     Nothing found that would save more than 1 % of the peak.\n"
                                              : "\n     Nothing found.\n",
              printer->out);
    } else if (device->saves_together_b != 0 && major > 1) {
        fprintf(printer->out, " (all together: peak %s%.2f MiB)\n", device->exact ? "-" : "at least -",
                mib(device->saves_together_b));
    } else {
        fputc('\n', printer->out);
    }
    for (size_t i = 0; i < wanted && shown < printer->top; i++) {
        print_finding(printer, ++shown, &device->findings[i], device->peak.used_b);
    }
    if (wanted > shown) {
        fprintf(printer->out, "     ... and %zu more (--top %zu)\n", wanted - shown, wanted);
    }
    if (!printer->options->all && device->finding_count > major) {
        fprintf(printer->out, "     %zu findings that save less than 1 %% are not shown (--all).\n",
                device->finding_count - major);
    }
}

/* ---- live set ---- */

static void print_amounts(const struct printer *printer, const char *title, const struct ms_report_amount *amounts,
                          size_t count, uint64_t whole_b, bool owners)
{
    if (count == 0) {
        return;
    }
    fprintf(printer->out, "\n  %s\n           MiB      %%  blocks\n", title);
    for (size_t i = 0; i < count && i <= printer->top; i++) {
        bool both = !owners && amounts[i].owner[0] != '\0';
        fprintf(printer->out, "    %10.2f %6.1f %7" PRIu64 "  %s%s%s\n", mib(amounts[i].bytes),
                percent(amounts[i].bytes, whole_b), amounts[i].blocks,
                owners ? amounts[i].owner : label(printer, amounts[i].site), both ? ", " : "",
                both ? amounts[i].owner : "");
    }
}

static void print_blocks(const struct printer *printer, const struct ms_report_moment *moment)
{
    if (moment->top_count == 0) {
        return;
    }
    fputs("\n  Largest blocks at the peak\n           MiB   step  address           where\n", printer->out);
    for (size_t i = 0; i < moment->top_count && i < printer->top; i++) {
        const struct ms_report_block *block = &moment->top[i];
        fprintf(printer->out, "    %10.2f %6u  %-16" PRIx64 "  %s, %s\n", mib(block->size_b), block->step, block->addr,
                label(printer, block->site), block->owner);
    }
}

/* ---- account ---- */

static void account_line(const struct printer *printer, const char *name, const char *detail, uint64_t peak_b,
                         uint64_t end_b)
{
    char text[64];
    snprintf(text, sizeof(text), "%s%s", name, detail);
    fprintf(printer->out, "    %-40s %10.2f %10.2f\n", text, mib(peak_b), mib(end_b));
}

static const struct ms_report_pool *pool_of(const struct ms_report_account *account, unsigned space)
{
    for (size_t i = 0; i < account->pool_count; i++) {
        if (account->pools[i].space == space) {
            return &account->pools[i];
        }
    }
    static const struct ms_report_pool none = {0};
    return &none;
}

static uint64_t module_of(const struct ms_report_account *account, const char *name)
{
    for (size_t i = 0; i < account->module_count; i++) {
        if (strcmp(account->modules[i].name, name) == 0) {
            return account->modules[i].bytes;
        }
    }
    return 0;
}

static void print_modules(const struct printer *printer, const struct ms_report_account *peak,
                          const struct ms_report_account *end)
{
    for (size_t i = 0; i < peak->module_count; i++) {
        account_line(printer, "  outside pools: ", peak->modules[i].name, peak->modules[i].bytes,
                     module_of(end, peak->modules[i].name));
    }
    for (size_t i = 0; i < end->module_count; i++) {
        if (module_of(peak, end->modules[i].name) == 0) {
            account_line(printer, "  outside pools: ", end->modules[i].name, 0, end->modules[i].bytes);
        }
    }
}

static void print_account(const struct printer *printer, const struct ms_report_device *device)
{
    const struct ms_report_account *peak = &device->peak.account, *end = &device->end.account;
    if (device->device == MS_DEV_CPU) {
        return;
    }
    fprintf(printer->out, "\n  %-40s %12s %10s\n", "Memory account (MiB)", "at the peak", "at the end");
    account_line(printer, "from the driver", "", peak->driver_b, end->driver_b);
    if (peak->segment_b != 0 || end->segment_b != 0) {
        account_line(printer, "  pool segments", "", peak->segment_b, end->segment_b);
    }
    for (unsigned space = 0; space < MS_SPACE_COUNT; space++) {
        const struct ms_report_pool *a = pool_of(peak, space), *b = pool_of(end, space);
        if (a->name == NULL && b->name == NULL) {
            continue;
        }
        const char *name = a->name != NULL ? a->name : b->name;
        char head[40];
        snprintf(head, sizeof(head), "    %s", name);
        account_line(printer, head, " reserved", a->reserved_b, b->reserved_b);
        account_line(printer, "      allocated", "", a->used_b, b->used_b);
        account_line(printer, "      free", "", a->reserved_b > a->used_b ? a->reserved_b - a->used_b : 0,
                     b->reserved_b > b->used_b ? b->reserved_b - b->used_b : 0);
    }
    print_modules(printer, peak, end);
    if (peak->usage_known || end->usage_known) {
        account_line(printer, "process total, from the driver", "", peak->process_used_b, end->process_used_b);
        account_line(printer, "  not allocated by the program", "", peak->rest_b, end->rest_b);
        account_line(printer, "device total in use", "", peak->device_used_b, end->device_used_b);
    }
    if (device->device != MS_DEV_CPU && (mib(peak->pinned_b) >= 0.005 || mib(end->pinned_b) >= 0.005)) {
        account_line(printer, "pinned host memory", "", peak->pinned_b, end->pinned_b);
    }
}

/* ---- fragmentation ---- */

static void print_fragmentation(const struct printer *printer, const struct ms_report_device *device)
{
    const struct ms_report_fragmentation *f = &device->fragmentation;
    if (f->worst_pinned_free_b < PINNED_B) {
        return;
    }
    fprintf(printer->out, "\n  Segments kept by a few blocks: %" PRIu64 ", %.2f MiB free in them (at %.3f s)\n",
            f->pin_total, mib(f->worst_pinned_free_b), (double)f->worst_t_ns / 1e9);
    fputs("      size MiB   used MiB  blocks  largest block inside\n", printer->out);
    for (size_t i = 0; i < f->pin_count && i < printer->top; i++) {
        const struct ms_report_pin *pin = &f->pins[i];
        fprintf(printer->out, "    %10.2f %10.2f %7" PRIu64 "  %.2f MiB of step %u, %s\n", mib(pin->size_b),
                mib(pin->used_b), pin->blocks, mib(pin->largest.size_b), pin->largest.step,
                label(printer, pin->largest.site));
    }
}

/* ---- steps ---- */

static void print_step(const struct printer *printer, const struct ms_report_step *step)
{
    fprintf(printer->out, "    %6u %10.2f %10.2f %+10.2f %12.2f %10" PRIu64 "%s\n", step->step, mib(step->peak_b),
            mib(step->end_b), ((double)step->end_b - (double)step->begin_b) / 1048576.0, mib(step->survivor_b),
            step->allocations, step->ended ? "" : "  (not ended)");
}

static void print_steps(const struct printer *printer, const struct ms_report_device *device)
{
    if (device->step_count == 0) {
        return;
    }
    size_t highest = 0;
    for (size_t i = 1; i < device->step_count; i++) {
        highest = device->steps[i].peak_b > device->steps[highest].peak_b ? i : highest;
    }
    fputs("\n  Steps    peak MiB    end MiB     growth  left behind     allocs\n", printer->out);
    bool gap = false;
    for (size_t i = 0; i < device->step_count; i++) {
        bool shown = i < STEPS_ENDS || i + STEPS_ENDS >= device->step_count || i == highest;
        if (!shown && !gap) {
            fputs("       ...\n", printer->out);
        }
        gap = !shown;
        if (shown) {
            print_step(printer, &device->steps[i]);
        }
    }
    if (device->growth.known) {
        fprintf(printer->out, "    steps %u to %u: %+.2f MiB in total, %+.3f MiB per step\n", device->growth.from_step,
                device->growth.to_step, (double)device->growth.bytes / 1048576.0,
                (double)device->growth.per_step_b / 1048576.0);
    }
}

/* ---- operators ---- */

static void print_ops(const struct printer *printer, const struct ms_report_device *device)
{
    if (device->op_count == 0 || device->ops[0].rise_b == 0) {
        return;
    }
    fputs("\n  Operators      rise MiB  live at peak      calls\n", printer->out);
    for (size_t i = 0; i < device->op_count && i < printer->top && device->ops[i].rise_b != 0; i++) {
        const struct ms_report_op *op = &device->ops[i];
        fprintf(printer->out, "              %10.2f %13.2f %10" PRIu64 "  %s\n", mib(op->rise_b), mib(op->at_peak_b),
                op->calls, short_op(op->name));
    }
}

/* ---- devices and processes ---- */

static void print_notes(FILE *out, const struct ms_report_note *notes, size_t count)
{
    static const char *const words[] = {
        [MS_NOTE_REMARK] = "note", [MS_NOTE_WARNING] = "warning", [MS_NOTE_PARTIAL] = ""};
    for (size_t i = 0; i < count; i++) {
        fprintf(out, "  %s%s%s\n", words[notes[i].level], notes[i].level == MS_NOTE_PARTIAL ? "" : ": ", notes[i].text);
    }
}

/* Next to an NPU, a few host buffers do not deserve a section. */
static bool is_aside(const struct printer *printer, const struct ms_report_device *device)
{
    bool major = false;
    for (size_t i = 0; i < device->finding_count; i++) {
        major = major || !device->findings[i].minor;
    }
    return device->device == MS_DEV_CPU && device->peak.used_b < ASIDE_B && printer->process->device_count > 1 &&
           !major && !printer->options->all;
}

static void print_device(const struct printer *printer, const struct ms_report_device *device)
{
    if (is_aside(printer, device)) {
        fprintf(printer->out, "\n%s\n  peak  %10.2f MiB in use, %" PRIu64 " blocks (--device=cpu shows more)\n",
                device->name, mib(device->peak.used_b), device->peak.blocks);
        return;
    }
    fprintf(printer->out, "\n%s\n", device->name);
    print_moment(printer, "peak", &device->peak, true);
    print_moment(printer, "end", &device->end, false);
    if (device->device != MS_DEV_CPU || device->finding_count != 0) {
        print_advice(printer, device);
    }
    print_amounts(printer, "Live at the peak, by owner", device->peak.owners, device->peak.owner_count,
                  device->peak.used_b, true);
    print_amounts(printer, "Live at the peak, by call site", device->peak.sites, device->peak.site_count,
                  device->peak.used_b, false);
    print_blocks(printer, &device->peak);
    print_account(printer, device);
    print_fragmentation(printer, device);
    print_steps(printer, device);
    print_ops(printer, device);
}

static void print_process(struct printer *printer, const struct ms_report_process *process)
{
    FILE *out = printer->out;
    printer->process = process;
    fprintf(out, "\nprocess %u, %s (%s): %.3f s, %" PRIu64 " events, %" PRIu64 " blocks\n", process->pid, process->name,
            process->source, (double)process->duration_ns / 1e9, process->events, process->blocks);
    print_notes(out, process->notes, process->note_count);
    for (size_t i = 0; i < process->device_count; i++) {
        print_device(printer, &process->devices[i]);
    }
    if (process->device_count == 0) {
        fputs("  No allocation was recorded.\n", out);
    }
}

/* ---- many ranks: one line each, and full sections for the most relevant ---- */

static const struct ms_report_device *device_of(const struct ms_report *report, const struct ms_rank *rank)
{
    return &report->processes[rank->process].devices[rank->device];
}

static void print_rank(const struct printer *printer, const struct ms_report *report, const struct ms_rank *rank,
                       int width)
{
    const struct ms_report_device *device = device_of(report, rank);
    const struct ms_report_finding *first = device->finding_count != 0 ? &device->findings[0] : NULL;
    char peak[16];
    ms_format_size(device->peak.used_b, peak);
    fprintf(printer->out, "  %-*s  %11s  %6u  %-32s  %s%s\n", width, rank->name, peak, device->peak.step,
            short_op(device->peak.op), first != NULL && !first->minor ? ms_patterns[first->pattern].title : "-",
            report->processes[rank->process].note_count != 0 ? "  (see its notes)" : "");
}

static void print_many(struct printer *printer, const struct ms_report *report)
{
    const struct ms_ranks *ranks = report->ranks;
    size_t width = 6, highest = 0, count = ranks->rank_count;
    for (size_t i = 0; i < count; i++) {
        width = strlen(ranks->ranks[i].name) > width ? strlen(ranks->ranks[i].name) : width;
        bool higher =
            device_of(report, &ranks->ranks[i])->peak.used_b > device_of(report, &ranks->ranks[highest])->peak.used_b;
        highest = higher ? i : highest;
    }
    fprintf(printer->out, "\n  %-*s  %11s  %6s  %-32s  %s\n", (int)width, "rank", "peak", "step", "in", "top advice");
    for (size_t i = 0; i < count && i < RANKS_SHOWN; i++) {
        print_rank(printer, report, &ranks->ranks[i], (int)width);
    }
    if (count > RANKS_SHOWN) {
        fprintf(printer->out, "  ... and %zu more\n", count - RANKS_SHOWN);
    }
    fprintf(printer->out,
            "\n  Shown below: %s, which has the highest peak%s%s. For the others use --all, or name one directory.\n",
            ranks->ranks[highest].name, ranks->diverges && ranks->rank != highest ? ", and the first to diverge, " : "",
            ranks->diverges && ranks->rank != highest ? ranks->ranks[ranks->rank].name : "");
    print_process(printer, &report->processes[ranks->ranks[highest].process]);
    if (ranks->diverges && ranks->ranks[ranks->rank].process != ranks->ranks[highest].process) {
        print_process(printer, &report->processes[ranks->ranks[ranks->rank].process]);
    }
}

void ms_report_text(const struct ms_report *report, const struct ms_report_text_options *options, FILE *out)
{
    struct printer printer = {.out = out, .options = options, .top = options->top != 0 ? options->top : 10};
    fprintf(out, "%s%s\n", report->input, report->partial ? "   PARTIAL: based on what could be read" : "");
    print_notes(out, report->notes, report->note_count);
    ms_ranks_print(report->ranks, out);
    if (report->ranks != NULL && report->ranks->rank_count > RANKS_WHOLE && !options->all) {
        print_many(&printer, report);
        return;
    }
    for (size_t i = 0; i < report->process_count; i++) {
        print_process(&printer, &report->processes[i]);
    }
    if (report->process_count == 0) {
        fputs("  No events of any process.\n", out);
    }
}
