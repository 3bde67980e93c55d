/* SPDX-License-Identifier: Apache-2.0 */
/* Findings as advice: the saving, computed by replaying the curve of a device without the waste, and a sentence about
 * it. Most important first: out-of-memory errors, then by saving, then by bytes at stake. */
#include "memscope/analyze/report/report_internal.h"

#include "base/macros.h"
#include "base/parse.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FINDINGS_KEPT 100u
#define MINOR_PART    100u       /* minor below a hundredth of the peak */
#define SLACK_PART    20u        /* memory kept by pools: minor below a twentieth of what they hold, */
#define SLACK_B       (8u << 20) /* or below four of the smallest segments */
#define IDLE_PART     10u        /* idle blocks: a tenth of the peak is reported, wherever the peak lies */
#define NOISE_PART    10000u     /* not reported at all */

/* ---- savings ---- */

static bool covers(const struct ms_finding *finding, uint64_t at)
{
    for (size_t i = 0; i < finding->cut_count; i++) {
        if (finding->cuts[i].from <= at && at < finding->cuts[i].to) {
            return true;
        }
    }
    return false;
}

/* Patterns whose interval and bytes belong to one block each and never overlap: their savings can be combined. */
static bool is_single(enum ms_pattern_id pattern)
{
    return pattern == MS_PATTERN_EARLY || pattern == MS_PATTERN_LATE || pattern == MS_PATTERN_IDLE ||
           pattern == MS_PATTERN_UNUSED || pattern == MS_PATTERN_LEAK;
}

static int save_together(const struct ms_collected *collected, uint32_t device_at, uint64_t peak_b, uint64_t *saved_b)
{
    const struct ms_findings *findings = &collected->findings;
    size_t count = 0;
    for (size_t i = 0; i < findings->count; i++) {
        const struct ms_finding *finding = &findings->list[i];
        count += finding->device_at == device_at && is_single(finding->pattern) ? finding->cut_count : 0;
    }
    struct ms_cut *cuts = malloc((count + 1) * sizeof(*cuts));
    size_t at = 0;
    if (cuts == NULL) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < findings->count; i++) {
        const struct ms_finding *finding = &findings->list[i];
        if (finding->device_at == device_at && is_single(finding->pattern) && finding->cut_count != 0) {
            memcpy(cuts + at, finding->cuts, finding->cut_count * sizeof(*cuts));
            at += finding->cut_count;
        }
    }
    uint64_t lower;
    bool ok = ms_curve_cut(&collected->devices[device_at]->curve, cuts, count, &lower, NULL);
    free(cuts);
    *saved_b = ok && lower < peak_b ? peak_b - lower : 0;
    return ok ? 0 : -ENOMEM;
}

/* ---- sentences ---- */

struct wording {
    const struct ms_finding *finding;
    const struct ms_report_finding *result;
    char what[96];  /* "3 blocks (12.0 MiB)" */
    char gain[128]; /* "lowers the peak by 4.0 MiB (52 %)" */
    const char *op, *from, *to;
};

static const char *named(const char *op, const char *otherwise)
{
    return op[0] != '\0' ? ms__short_op(op) : otherwise;
}

static void size_text(uint64_t bytes, char out[16])
{
    ms_format_size(bytes, out);
}

static void prepare(struct wording *wording, uint64_t peak_b)
{
    const struct ms_finding *finding = wording->finding;
    const struct ms_report_finding *result = wording->result;
    char size[16], saved[16];
    size_text(finding->blocks == 1 ? finding->size_b : finding->bytes, size);
    if (finding->blocks == 1) {
        snprintf(wording->what, sizeof(wording->what), "1 block of %s", size);
    } else {
        snprintf(wording->what, sizeof(wording->what), "%llu blocks (%s in total)", (unsigned long long)finding->blocks,
                 size);
    }
    if (result->saves_peak_b != 0) {
        size_text(result->saves_peak_b, saved);
        snprintf(wording->gain, sizeof(wording->gain), "lowers the peak by %s (%.0f %%)", saved,
                 100.0 * (double)result->saves_peak_b / (double)(peak_b != 0 ? peak_b : 1));
    } else {
        size_text(result->at_stake_b, saved);
        snprintf(wording->gain, sizeof(wording->gain), "frees up to %s, but not at the peak", saved);
    }
    wording->op = named(result->op, "");
    wording->from = named(result->from_op, "its last use");
    wording->to = named(result->to_op, "its first use");
}

static const char *sentence(struct ms_arena *arena, const struct wording *t)
{
    const struct ms_finding *f = t->finding;
    char a[16], b[16], steps[64] = "";
    size_text(t->result->at_stake_b, a);
    size_text(f->reserved_b, b);
    const char *in = t->op[0] != '\0' ? " from " : "";
    bool one = f->blocks == 1;
    const char *are = one ? "is" : "are", *it = one ? "it" : "them";
    switch (f->pattern) {
    case MS_PATTERN_OOM:
        size_text(f->size_b, a);
        size_text(f->extra, b);
        if (f->first_step != 0) {
            snprintf(steps, sizeof(steps), " in step %u", f->first_step);
        }
        return ms_arena_print(arena, "A request of %s failed%s%s%s; %s were in use at the time.", a,
                              t->result->from_op[0] != '\0' ? " in " : "", named(t->result->from_op, ""), steps, b);
    case MS_PATTERN_LEAK:
        if (f->steps > 1) {
            snprintf(steps, sizeof(steps), "in %u of the steps %u to %u", f->steps, f->first_step, f->last_step);
        } else {
            snprintf(steps, sizeof(steps), "in step %u", f->first_step);
        }
        return ms_arena_print(arena, "%s%s%s, allocated %s, kept until exit; freeing after %s %s.", t->what, in, t->op,
                              steps, t->result->from_op[0] != '\0' ? t->from : "the step", t->gain);
    case MS_PATTERN_EARLY:
        return ms_arena_print(arena, "%s%s%s %s first used much later, in %s; allocating just before that %s.", t->what,
                              in, t->op, are, t->to, t->gain);
    case MS_PATTERN_LATE:
        return ms_arena_print(arena, "%s%s%s %s last used in %s; freeing after that %s.", t->what, in, t->op, are,
                              t->from, t->gain);
    case MS_PATTERN_IDLE:
        return ms_arena_print(arena, "%s%s%s %s idle between %s and %s; moving %s elsewhere in the meantime %s.",
                              t->what, in, t->op, are, t->from, t->to, it, t->gain);
    case MS_PATTERN_UNUSED:
        return ms_arena_print(arena, "%s%s%s %s never read or written; not allocating %s %s.", t->what, in, t->op, are,
                              it, t->gain);
    case MS_PATTERN_REDUNDANT:
        return ms_arena_print(arena, "%s%s%s could reuse blocks of equal size that were last used in %s; that %s.",
                              t->what, in, t->op, t->from, t->gain);
    case MS_PATTERN_DEAD_WRITE:
        return ms_arena_print(arena,
                              "%s%s%s %s written by %s and again by %s with no read in between; allocating for "
                              "the second write only %s.",
                              t->what, in, t->op, are, t->from, t->to, t->gain);
    case MS_PATTERN_OVERALLOCATION:
        return ms_arena_print(arena,
                              "Up to %s of the blocks%s%s are never accessed (%llu blocks); requesting only what is "
                              "used %s.",
                              a, in, t->op, (unsigned long long)f->blocks, t->gain);
    case MS_PATTERN_GROWING:
        size_text(f->extra, a);
        size_text(f->size_b, b);
        return ms_arena_print(arena, "Requests%s%s grow from %s to %s; keeping the size of the first one %s.", in,
                              t->op, a, b, t->gain);
    case MS_PATTERN_OVER_RESERVE:
        return ms_arena_print(
            arena, "%llu segment%s (%s) held no block from step %u to %u; emptying the cache returns %s to the driver.",
            (unsigned long long)f->blocks, f->blocks != 1 ? "s" : "", b, f->first_step, f->last_step, it);
    case MS_PATTERN_FRAGMENTATION:
        size_text(f->size_b, a);
        return ms_arena_print(arena,
                              "%llu segment%s kept by a few blocks, such as %s%s%s since step %u; without them, %s "
                              "could be returned to the driver.",
                              (unsigned long long)f->blocks, f->blocks != 1 ? "s are" : " is", a, in, t->op,
                              f->first_step, b);
    case MS_PATTERN_SPLIT_WASTE:
        return ms_arena_print(arena, "%s are free in pieces smaller than any request.", b);
    case MS_PATTERN_STREAM_BLOCKED:
        return ms_arena_print(arena, "%llu requests%s%s took new segments (%s) although a free range was large enough.",
                              (unsigned long long)f->blocks, in, t->op, b);
    case MS_PATTERN_COUNT:
        break;
    }
    return "";
}

/* ---- building findings ---- */

static const char *confidence_of(const struct ms_finding *finding, uint32_t ended_step)
{
    if (finding->pattern != MS_PATTERN_LEAK) {
        return "";
    }
    uint32_t possible = ended_step > finding->first_step ? ended_step - finding->first_step : 1;
    if (finding->steps >= 3 && finding->steps * 5 >= possible * 4) {
        return "high";
    }
    return finding->steps >= 2 ? "medium" : "low";
}

static bool is_minor(const struct ms_report_finding *finding, uint64_t peak_b, uint64_t reserved_b)
{
    if (finding->pattern == MS_PATTERN_OOM ||
        (finding->pattern == MS_PATTERN_LEAK && strcmp(finding->confidence, "low") != 0)) {
        return false;
    }
    if (finding->pattern == MS_PATTERN_IDLE && finding->at_stake_b * IDLE_PART >= peak_b) {
        return false;
    }
    bool slack = finding->saves_reserved_b < SLACK_B || finding->saves_reserved_b * SLACK_PART < reserved_b;
    return finding->saves_peak_b * MINOR_PART <= peak_b && slack;
}

static int by_weight(const void *a, const void *b)
{
    const struct ms_report_finding *x = a, *y = b;
    bool x_oom = x->pattern == MS_PATTERN_OOM, y_oom = y->pattern == MS_PATTERN_OOM;
    if (x_oom != y_oom) {
        return x_oom ? -1 : 1;
    }
    if (x->minor != y->minor) {
        return x->minor ? 1 : -1;
    }
    if (x->saves_peak_b != y->saves_peak_b) {
        return x->saves_peak_b > y->saves_peak_b ? -1 : 1;
    }
    if (x->saves_reserved_b != y->saves_reserved_b) {
        return x->saves_reserved_b > y->saves_reserved_b ? -1 : 1;
    }
    if (x->at_stake_b != y->at_stake_b) {
        return x->at_stake_b > y->at_stake_b ? -1 : 1;
    }
    return x->t_ns < y->t_ns ? -1 : x->t_ns > y->t_ns;
}

/* Reported however small: errors, and waste that accumulates. */
static bool is_always_reported(enum ms_pattern_id pattern)
{
    return pattern == MS_PATTERN_OOM || pattern == MS_PATTERN_LEAK;
}

static int build_finding(struct ms_collected *collected, const struct ms_finding *finding, uint64_t peak_b,
                         uint64_t peak_at, uint64_t reserved_b, struct ms_report_finding *out)
{
    const struct ms_curve *curve = &collected->devices[finding->device_at]->curve;
    uint64_t at_stake_b = finding->reserved_b;
    uint64_t lower = peak_b;
    if (finding->cut_count != 0) {
        uint64_t cut;
        if (!ms_curve_cut(curve, finding->cuts, finding->cut_count, &cut, &at_stake_b)) {
            return -ENOMEM;
        }
        lower = covers(finding, peak_at) && cut < peak_b ? cut : peak_b;
    }
    *out = (struct ms_report_finding){
        .pattern = finding->pattern,
        .site = ms__site(collected, finding->pattern == MS_PATTERN_OOM ? finding->asked_at : finding->site),
        .op = ms__model_text(collected, finding->op),
        .from_op = ms__op_text(collected, finding->from_op),
        .to_op = ms__op_text(collected, finding->to_op),
        .first_step = finding->first_step,
        .last_step = finding->last_step,
        .blocks = finding->blocks,
        .bytes = finding->bytes,
        .at_stake_b = at_stake_b,
        .saves_peak_b = peak_b - lower,
        .saves_reserved_b = finding->reserved_b,
        .t_ns = finding->time_ns > collected->ledger.begin_ns ? finding->time_ns - collected->ledger.begin_ns : 0,
        .addr = finding->addr,
        .size_b = finding->size_b,
        .confidence = confidence_of(finding, collected->ledger.devices[finding->device_at]->ended_step),
    };
    out->minor = is_minor(out, peak_b, reserved_b);
    struct wording wording = {.finding = finding, .result = out};
    prepare(&wording, peak_b);
    out->text = sentence(collected->arena, &wording);
    return 0;
}

int ms__findings(struct ms_collected *collected, uint32_t device_at, struct ms_report_device *out)
{
    struct ms_device_parts *parts = collected->devices[device_at];
    struct ms_findings *findings = &collected->findings;
    if (!ms_curve_index(&parts->curve)) {
        return -ENOMEM;
    }
    uint64_t peak_at, peak_b = ms_curve_peak(&parts->curve, &peak_at);
    uint64_t reserved_b = out->peak.reserved_b;
    for (size_t i = 0; i < out->point_count; i++) {
        reserved_b = out->points[i].reserved_b > reserved_b ? out->points[i].reserved_b : reserved_b;
    }
    struct ms_report_finding *results = calloc(findings->count + 1, sizeof(*results));
    size_t count = 0;
    int rc = results != NULL ? save_together(collected, device_at, peak_b, &out->saves_together_b) : -ENOMEM;
    for (size_t i = 0; rc == 0 && i < findings->count; i++) {
        struct ms_finding *finding = &findings->list[i];
        bool growing = finding->pattern == MS_PATTERN_GROWING;
        if (finding->device_at != device_at || (growing && !ms_detect_is_growing(&collected->detect, finding->site)) ||
            (!is_always_reported(finding->pattern) && finding->bytes * NOISE_PART < peak_b)) {
            continue;
        }
        finding->extra = growing ? collected->detect.requests[finding->site].first_b : finding->extra;
        rc = build_finding(collected, finding, peak_b, peak_at, reserved_b, &results[count]);
        count += rc == 0;
    }
    if (rc == 0) {
        qsort(results, count, sizeof(*results), by_weight);
        count = count < FINDINGS_KEPT ? count : FINDINGS_KEPT;
        struct ms_report_finding *kept = ms_arena_get(collected->arena, (count + 1) * sizeof(*kept));
        rc = kept != NULL ? 0 : -ENOMEM;
        if (rc == 0) {
            memcpy(kept, results, count * sizeof(*kept));
            out->findings = kept;
            out->finding_count = count;
        }
    }
    free(results);
    out->exact = parts->curve.shift == 0 && !findings->dropped;
    return rc;
}
