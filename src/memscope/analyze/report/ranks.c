/* SPDX-License-Identifier: Apache-2.0 */
/* See ranks.h. Works on the finished report alone: O(ranks * steps) memory and O(steps * ranks log ranks) time. Steps
 * of ranks are merged by number; a rank that lacks one has a hole there. */
#include "memscope/analyze/report/ranks.h"

#include "base/parse.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOLERANCE_LEAST_B (256u << 10)
#define NOISE_FACTOR      8u /* median absolute deviations: five standard deviations of a normal distribution */

static const struct ms_report_device *device_of(const struct ms_report *report, const struct ms_rank *rank)
{
    return &report->processes[rank->process].devices[rank->device];
}

/* ---- which devices are ranks ---- */

static uint32_t last_ended(const struct ms_report_device *device)
{
    for (size_t i = device->step_count; i-- > 0;) {
        if (device->steps[i].ended) {
            return device->steps[i].step;
        }
    }
    return 0;
}

static int by_device(const void *a, const void *b)
{
    const struct ms_rank *p = a, *q = b;
    return p->number != q->number ? (p->number < q->number ? -1 : 1)
                                  : (p->process > q->process) - (p->process < q->process);
}

/* host: include devices that are not NPUs. */
static int collect(const struct ms_report *report, bool host, struct ms_ranks *ranks)
{
    for (size_t p = 0; p < report->process_count; p++) {
        for (size_t d = 0; d < report->processes[p].device_count; d++) {
            const struct ms_report_device *device = &report->processes[p].devices[d];
            if ((device->device == MS_DEV_CPU) != host || last_ended(device) == 0) {
                continue;
            }
            struct ms_rank *grown = realloc(ranks->ranks, (ranks->rank_count + 1) * sizeof(*grown));
            if (grown == NULL) {
                return -ENOMEM;
            }
            ranks->ranks = grown;
            ranks->ranks[ranks->rank_count++] = (struct ms_rank){.process = (uint32_t)p,
                                                                 .device = (uint32_t)d,
                                                                 .number = device->device,
                                                                 .last_step = last_ended(device)};
        }
    }
    return 0;
}

static int name_ranks(const struct ms_report *report, struct ms_ranks *ranks)
{
    qsort(ranks->ranks, ranks->rank_count, sizeof(*ranks->ranks), by_device);
    for (size_t i = 0; i < ranks->rank_count; i++) {
        struct ms_rank *rank = &ranks->ranks[i];
        const struct ms_report_device *device = device_of(report, rank);
        const struct ms_report_process *process = &report->processes[rank->process];
        bool same = false, same_pid = false;
        for (size_t j = 0; j < ranks->rank_count; j++) {
            bool equal = j != i && ranks->ranks[j].number == rank->number;
            same = same || equal;
            same_pid = same_pid || (equal && report->processes[ranks->ranks[j].process].pid == process->pid);
        }
        int length = same_pid ? asprintf(&rank->name, "%s of %s", device->name, process->path)
                     : same   ? asprintf(&rank->name, "%s of %u", device->name, process->pid)
                              : asprintf(&rank->name, "%s", device->name);
        if (length < 0) {
            rank->name = NULL;
            return -ENOMEM;
        }
    }
    return 0;
}

/* ---- steps ---- */

static int by_number(const void *a, const void *b)
{
    uint32_t p = *(const uint32_t *)a, q = *(const uint32_t *)b;
    return (p > q) - (p < q);
}

/* All step numbers that any rank has finished, each once. */
static int merge_steps(const struct ms_report *report, struct ms_ranks *ranks)
{
    size_t total = 0, count = 0;
    for (size_t i = 0; i < ranks->rank_count; i++) {
        total += device_of(report, &ranks->ranks[i])->step_count;
    }
    uint32_t *numbers = malloc((total + 1) * sizeof(*numbers));
    if (numbers == NULL) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < ranks->rank_count; i++) {
        const struct ms_report_device *device = device_of(report, &ranks->ranks[i]);
        for (size_t j = 0; j < device->step_count; j++) {
            if (device->steps[j].ended) {
                numbers[count++] = device->steps[j].step;
            }
        }
    }
    qsort(numbers, count, sizeof(*numbers), by_number);
    ranks->steps = calloc(count + 1, sizeof(*ranks->steps));
    for (size_t i = 0; ranks->steps != NULL && i < count; i++) {
        if (i == 0 || numbers[i] != numbers[i - 1]) {
            ranks->steps[ranks->step_count++].step = numbers[i];
        }
    }
    free(numbers);
    return ranks->steps != NULL ? 0 : -ENOMEM;
}

static int fill_peaks(const struct ms_report *report, struct ms_ranks *ranks)
{
    for (size_t i = 0; i < ranks->rank_count; i++) {
        struct ms_rank *rank = &ranks->ranks[i];
        const struct ms_report_device *device = device_of(report, rank);
        rank->peaks = malloc((ranks->step_count + 1) * sizeof(*rank->peaks));
        if (rank->peaks == NULL) {
            return -ENOMEM;
        }
        for (size_t s = 0, j = 0; s < ranks->step_count; s++) {
            while (j < device->step_count && device->steps[j].step < ranks->steps[s].step) {
                j++;
            }
            bool has =
                j < device->step_count && device->steps[j].step == ranks->steps[s].step && device->steps[j].ended;
            rank->peaks[s] = has ? device->steps[j].peak_b : MS_RANK_NONE;
        }
    }
    return 0;
}

static int by_value(const void *a, const void *b)
{
    int64_t p = *(const int64_t *)a, q = *(const int64_t *)b;
    return (p > q) - (p < q);
}

/* With an even count, the mean of the two middle values. */
static int64_t median_of(int64_t *values, size_t count)
{
    qsort(values, count, sizeof(*values), by_value);
    return count % 2 != 0 ? values[count / 2] : values[count / 2 - 1] + (values[count / 2] - values[count / 2 - 1]) / 2;
}

static void spread(struct ms_ranks *ranks, int64_t *scratch)
{
    for (size_t s = 0; s < ranks->step_count; s++) {
        struct ms_rank_step *step = &ranks->steps[s];
        step->min_b = UINT64_MAX;
        for (size_t i = 0; i < ranks->rank_count; i++) {
            uint64_t peak_b = ranks->ranks[i].peaks[s];
            if (peak_b == MS_RANK_NONE) {
                continue;
            }
            if (peak_b < step->min_b) {
                step->min_b = peak_b;
                step->min_rank = (uint32_t)i;
            }
            if (step->ranks == 0 || peak_b > step->max_b) {
                step->max_b = peak_b;
                step->max_rank = (uint32_t)i;
            }
            scratch[step->ranks++] = (int64_t)peak_b;
        }
        step->median_b = (uint64_t)median_of(scratch, step->ranks);
    }
}

/* ---- divergence ---- */

static uint64_t distance(int64_t a, int64_t b)
{
    return a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a;
}

/* How far ranks usually are from each other, learned step by step. */
struct noise {
    uint64_t sum_b, steps;
};

/* Sorts values. With two ranks, noise and change cannot be distinguished, so the tolerance is larger. */
static uint64_t tolerance(const struct ms_rank_step *step, int64_t *values, size_t count, int64_t median,
                          struct noise *noise)
{
    uint64_t most_b = step->median_b / 1000 > TOLERANCE_LEAST_B ? step->median_b / 1000 : TOLERANCE_LEAST_B;
    if (count <= 2) {
        return step->median_b / 100 > most_b ? step->median_b / 100 : most_b;
    }
    for (size_t i = 0; i < count; i++) {
        values[i] = (int64_t)distance(values[i], median);
    }
    uint64_t now_b = (uint64_t)median_of(values, count);
    noise->sum_b += now_b;
    noise->steps++;
    uint64_t usual_b = noise->sum_b / noise->steps;
    uint64_t noise_b = NOISE_FACTOR * (now_b > usual_b ? now_b : usual_b);
    return noise_b > most_b ? noise_b : most_b;
}

/* Finds the rank whose value is furthest from the median, if it exceeds the tolerance; among equals, the one that
 * changed more. values: INT64_MIN if absent. */
static bool farthest(const struct ms_ranks *ranks, const int64_t *values, int64_t median, uint64_t least,
                     uint32_t *rank)
{
    uint64_t far = least;
    bool found = false;
    for (size_t i = 0; i < ranks->rank_count; i++) {
        if (values[i] == INT64_MIN) {
            continue;
        }
        uint64_t away = distance(values[i], median);
        /* the mean of two values may be one byte closer to one of them */
        bool more = away > far + 1, equal = found && away + 1 >= far && away <= far + 1;
        if ((!found && away > least) || (found && more) ||
            (equal && distance(values[i], 0) > distance(values[*rank], 0))) {
            far = away;
            found = true;
            *rank = (uint32_t)i;
        }
    }
    return found;
}

/* The rank closest to the median of the step, other than this one. */
static uint32_t middle(const struct ms_ranks *ranks, size_t s, uint32_t but)
{
    uint32_t best = but;
    uint64_t near = UINT64_MAX;
    for (size_t i = 0; i < ranks->rank_count; i++) {
        uint64_t peak_b = ranks->ranks[i].peaks[s];
        if (i != but && peak_b != MS_RANK_NONE && distance((int64_t)peak_b, (int64_t)ranks->steps[s].median_b) < near) {
            near = distance((int64_t)peak_b, (int64_t)ranks->steps[s].median_b);
            best = (uint32_t)i;
        }
    }
    return best;
}

/* Changes of all ranks from one step to another (from = to: the peaks themselves), INT64_MIN if absent, and their
 * median; scratch gets the values that exist. Returns their number. */
static size_t changes(const struct ms_ranks *ranks, size_t from, size_t to, int64_t *values, int64_t *scratch,
                      int64_t *median)
{
    size_t count = 0;
    for (size_t i = 0; i < ranks->rank_count; i++) {
        const uint64_t *peaks = ranks->ranks[i].peaks;
        bool known = peaks[from] != MS_RANK_NONE && peaks[to] != MS_RANK_NONE;
        values[i] = known ? (int64_t)peaks[to] - (from == to ? 0 : (int64_t)peaks[from]) : INT64_MIN;
        if (known) {
            scratch[count++] = values[i];
        }
    }
    *median = count != 0 ? median_of(scratch, count) : 0;
    return count;
}

/* Relative to the others: with two ranks the median lies between them. */
static int64_t against(const struct ms_ranks *ranks, uint32_t rank, const int64_t *values, size_t count, int64_t median)
{
    for (size_t i = 0; count == 2 && i < ranks->rank_count; i++) {
        if (i != rank && values[i] != INT64_MIN) {
            return values[rank] - values[i];
        }
    }
    return values[rank] - median;
}

static void depart(struct ms_ranks *ranks, int64_t *values, int64_t *scratch)
{
    size_t first = 0;
    while (first < ranks->step_count && ranks->steps[first].ranks < ranks->rank_count) {
        first++;
    }
    struct noise noise = {0};
    for (size_t s = first; s < ranks->step_count; s++) {
        int64_t median;
        uint32_t rank = 0;
        size_t count = changes(ranks, first, s, values, scratch, &median);
        uint64_t least_b = count >= 2 ? tolerance(&ranks->steps[s], scratch, count, median, &noise) : 0;
        if (s == first) {
            noise = (struct noise){0}; /* differences by design are not noise */
        }
        if (count < 2 || !farthest(ranks, values, median, least_b, &rank)) {
            continue;
        }
        /* the first step does initialisation, so the second one is a better reference */
        const uint64_t *peaks = ranks->ranks[rank].peaks;
        size_t base = s > first + 1 && peaks[first + 1] != MS_RANK_NONE ? first + 1 : first;
        uint64_t middle_b = ranks->steps[first].median_b; /* within 1 % in the first step: equal by design */
        bool alike = distance((int64_t)peaks[first], (int64_t)middle_b) <= TOLERANCE_LEAST_B + middle_b / 100;
        ranks->diverges = true;
        ranks->from_start = s == first;
        ranks->rank = rank;
        ranks->step = ranks->steps[s].step;
        ranks->since = ranks->steps[base].step;
        ranks->reference = s == first || alike ? middle(ranks, s, rank) : rank;
        ranks->reference_step = ranks->reference != rank ? ranks->step : ranks->since;
        count = changes(ranks, base, s, values, scratch, &median);
        ranks->bytes = against(ranks, rank, values, count, median);
        if (s != first) {
            return; /* a change is more informative than a difference that was always there */
        }
    }
}

/* ---- causes ---- */

static size_t add_causes(struct ms_rank_cause *causes, size_t count, struct ms_rank_set set, bool reference)
{
    for (size_t i = 0; i < set.moment->site_count; i++) {
        const struct ms_report_amount *amount = &set.moment->sites[i];
        const struct ms_report_site *site =
            amount->site < set.process->site_count ? &set.process->sites[amount->site] : NULL;
        causes[count++] = (struct ms_rank_cause){
            .owner = amount->owner != NULL ? amount->owner : "",
            .label = site != NULL ? site->label : "all other sites",
            .frames = site != NULL ? site->frames : NULL,
            .frame_count = site != NULL ? site->frame_count : 0,
            .bytes = reference ? 0 : amount->bytes,
            .reference_b = reference ? amount->bytes : 0,
        };
    }
    return count;
}

static int by_place(const void *a, const void *b)
{
    const struct ms_rank_cause *p = a, *q = b;
    int order = strcmp(p->label, q->label);
    return order != 0 ? order : strcmp(p->owner, q->owner);
}

static int by_difference(const void *a, const void *b)
{
    const struct ms_rank_cause *p = a, *q = b;
    uint64_t x = distance((int64_t)p->bytes, (int64_t)p->reference_b);
    uint64_t y = distance((int64_t)q->bytes, (int64_t)q->reference_b);
    return x != y ? (x < y ? 1 : -1) : by_place(a, b);
}

int ms_ranks_explain(struct ms_ranks *ranks, struct ms_rank_set set, struct ms_rank_set reference)
{
    size_t room = set.moment->site_count + reference.moment->site_count + 1, merged = 0;
    struct ms_rank_cause *causes = malloc(room * sizeof(*causes));
    if (causes == NULL) {
        return -ENOMEM;
    }
    size_t count = add_causes(causes, add_causes(causes, 0, set, false), reference, true);
    qsort(causes, count, sizeof(*causes), by_place);
    for (size_t i = 0; i < count; i++) { /* merges equal sites */
        if (merged != 0 && by_place(&causes[merged - 1], &causes[i]) == 0) {
            causes[merged - 1].bytes += causes[i].bytes;
            causes[merged - 1].reference_b += causes[i].reference_b;
        } else {
            causes[merged++] = causes[i];
        }
    }
    qsort(causes, merged, sizeof(*causes), by_difference);
    while (merged != 0 && (merged > MS_RANK_CAUSES || causes[merged - 1].bytes == causes[merged - 1].reference_b)) {
        merged--;
    }
    free(ranks->causes);
    ranks->causes = causes;
    ranks->cause_count = merged;
    return 0;
}

/* ---- text ---- */

/* Drops steps evenly, but keeps the last one and the one that matters. */
static void thin_out(struct ms_ranks *ranks)
{
    size_t every = (ranks->step_count + MS_RANK_STEPS_MAX - 1) / MS_RANK_STEPS_MAX, kept = 0;
    if (every <= 1) {
        return;
    }
    for (size_t s = 0; s < ranks->step_count; s++) {
        bool matters =
            ranks->diverges && (ranks->steps[s].step == ranks->step || ranks->steps[s].step == ranks->reference_step);
        if (s % every != 0 && s + 1 != ranks->step_count && !matters) {
            continue;
        }
        ranks->steps[kept] = ranks->steps[s];
        for (size_t i = 0; i < ranks->rank_count; i++) {
            ranks->ranks[i].peaks[kept] = ranks->ranks[i].peaks[s];
        }
        kept++;
    }
    ranks->steps_left_out = ranks->step_count - kept;
    ranks->step_count = kept;
}

static size_t append(char *out, size_t out_b, size_t used, const char *text)
{
    int more = used < out_b ? snprintf(out + used, out_b - used, "%s", text) : 0;
    return used + (more > 0 ? (size_t)more : 0);
}

void ms_ranks_text(const struct ms_ranks *ranks, char *out, size_t out_b)
{
    char line[256], least[16], most[16];
    const struct ms_rank_step *worst = NULL;
    double ratio = 0;
    for (size_t s = 0; s < ranks->step_count; s++) {
        const struct ms_rank_step *step = &ranks->steps[s];
        double now = step->min_b != 0 ? (double)step->max_b / (double)step->min_b : 1;
        if (step->ranks > 1 && (worst == NULL || now > ratio)) {
            worst = step;
            ratio = now;
        }
    }
    snprintf(line, sizeof(line), "%zu ranks, %zu steps", ranks->rank_count, ranks->step_count + ranks->steps_left_out);
    size_t used = append(out, out_b, 0, line);
    if (worst != NULL && worst->max_b != worst->min_b) {
        ms_format_size(worst->min_b, least);
        ms_format_size(worst->max_b, most);
        used = append(out, out_b, used, ": most uneven in step ");
        snprintf(line, sizeof(line), "%u, from %s (", worst->step, least);
        used = append(out, out_b, used, line);
        used = append(out, out_b, used, ranks->ranks[worst->min_rank].name);
        snprintf(line, sizeof(line), ") to %s (", most);
        used = append(out, out_b, used, line);
        used = append(out, out_b, used, ranks->ranks[worst->max_rank].name);
        append(out, out_b, used, ").");
    } else {
        append(out, out_b, used, ", all equal.");
    }
}

void ms_ranks_divergence_text(const struct ms_ranks *ranks, char *out, size_t out_b)
{
    if (!ranks->diverges) {
        snprintf(out, out_b, "%s", "");
        return;
    }
    char amount[16];
    ms_format_size(distance(ranks->bytes, 0), amount);
    const char *name = ranks->ranks[ranks->rank].name, *side = ranks->bytes >= 0 ? "more" : "less";
    if (ranks->from_start) {
        snprintf(out, out_b, "%s differs from the start (step %u): it uses %s %s than %s.", name, ranks->step, amount,
                 side, ranks->rank_count > 2 ? "the median" : "the other");
    } else {
        snprintf(out, out_b, "%s is the first to diverge, in step %u: since step %u it has grown by %s %s than %s.",
                 name, ranks->step, ranks->since, amount, side, ranks->rank_count > 2 ? "the others" : "the other");
    }
}

/* ---- interface ---- */

int ms_ranks_find(const struct ms_report *report, struct ms_ranks **out)
{
    *out = NULL;
    struct ms_ranks *ranks = calloc(1, sizeof(*ranks));
    if (ranks == NULL) {
        return -ENOMEM;
    }
    int rc = collect(report, false, ranks);
    if (rc == 0 && ranks->rank_count == 0) {
        rc = collect(report, true, ranks);
    }
    if (rc != 0 || ranks->rank_count < 2) {
        ms_ranks_free(ranks);
        return rc;
    }
    int64_t *values = malloc(2 * ranks->rank_count * sizeof(*values));
    rc = values != NULL ? name_ranks(report, ranks) : -ENOMEM;
    rc = rc != 0 ? rc : merge_steps(report, ranks);
    rc = rc != 0 ? rc : fill_peaks(report, ranks);
    if (rc == 0) {
        spread(ranks, values);
        depart(ranks, values, values + ranks->rank_count);
        thin_out(ranks);
        *out = ranks;
    } else {
        ms_ranks_free(ranks);
    }
    free(values);
    return rc;
}

void ms_ranks_free(struct ms_ranks *ranks)
{
    if (ranks == NULL) {
        return;
    }
    for (size_t i = 0; i < ranks->rank_count; i++) {
        free(ranks->ranks[i].name);
        free(ranks->ranks[i].peaks);
    }
    free(ranks->ranks);
    free(ranks->steps);
    free(ranks->causes);
    free(ranks);
}
