/* SPDX-License-Identifier: Apache-2.0 */
/* The reporting half of compare: pairs of devices, the diff of their items, the CSV files, the summary. */
#include "memscope/analyze/compare_internal.h"

#include "base/buffer.h"
#include "base/parse.h"
#include "memscope/analyze/diff.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define BUFFER_B (64u * 1024)
#define SHOWN    8u
#define NAME_B   160

/* ---- pairs ---- */

static int by_number(const void *a, const void *b)
{
    uint32_t x = (*(struct ms_compare_device *const *)a)->device, y = (*(struct ms_compare_device *const *)b)->device;
    return x < y ? -1 : x > y;
}

static int add_pair(struct ms_compare *compare, struct ms_compare_device *base, struct ms_compare_device *other)
{
    struct ms_compare_pair *pairs = realloc(compare->pairs, (compare->pair_count + 1) * sizeof(*pairs));
    if (pairs == NULL) {
        return -ENOMEM;
    }
    compare->pairs = pairs;
    pairs[compare->pair_count++] = (struct ms_compare_pair){.of = {base, other}};
    return 0;
}

/* Pairs devices with the same number. If each side has exactly one, pairs these whatever their numbers (two ranks). */
static int make_pairs(struct ms_compare *compare)
{
    struct ms_compare_side *base = &compare->sides[MS_COMPARE_BASE], *other = &compare->sides[MS_COMPARE_OTHER];
    if (base->device_count == 1 && other->device_count == 1) {
        return add_pair(compare, base->devices[0], other->devices[0]);
    }
    qsort(base->devices, base->device_count, sizeof(struct ms_compare_device *), by_number);
    qsort(other->devices, other->device_count, sizeof(struct ms_compare_device *), by_number);
    size_t i = 0, j = 0;
    int rc = 0;
    while (rc == 0 && (i < base->device_count || j < other->device_count)) {
        uint32_t x = i < base->device_count ? base->devices[i]->device : UINT32_MAX;
        uint32_t y = j < other->device_count ? other->devices[j]->device : UINT32_MAX;
        rc = add_pair(compare, x <= y ? base->devices[i++] : NULL, y <= x ? other->devices[j++] : NULL);
    }
    return rc;
}

static uint32_t *names_of(const struct ms_compare_device *device)
{
    size_t count = device != NULL ? device->item_count : 0;
    uint32_t *names = malloc((count + 1) * sizeof(*names));
    for (size_t i = 0; names != NULL && i < count; i++) {
        names[i] = device->items[i].name;
    }
    return names;
}

static size_t count_of(const struct ms_compare_pair *pair, int side)
{
    return pair->of[side] != NULL ? pair->of[side]->item_count : 0;
}

static int match_items(struct ms_compare *compare, struct ms_compare_pair *pair)
{
    size_t count = count_of(pair, MS_COMPARE_BASE), other_count = count_of(pair, MS_COMPARE_OTHER);
    uint32_t *base = names_of(pair->of[MS_COMPARE_BASE]), *other = names_of(pair->of[MS_COMPARE_OTHER]);
    pair->match = malloc((count + 1) * sizeof(*pair->match));
    int rc = base != NULL && other != NULL && pair->match != NULL ? 0 : -ENOMEM;
    rc = rc != 0 ? rc : ms_diff(base, count, other, other_count, compare->names.count + 1, pair->match);
    for (size_t i = 0; rc == 0 && i < count; i++) {
        pair->both += pair->match[i] != MS_DIFF_NONE;
    }
    free(base);
    free(other);
    return rc;
}

int ms_compare_finish(struct ms_compare *compare)
{
    int rc = compare->error;
    for (int side = 0; rc == 0 && side < MS_COMPARE_SIDES; side++) {
        uint64_t items = 0;
        for (size_t i = 0; i < compare->sides[side].device_count; i++) {
            items += compare->sides[side].devices[i]->item_count;
        }
        if (items == 0) {
            bool op = (compare->options.levels & MS_WANT_OP) != 0;
            bool kernel = (compare->options.levels & MS_WANT_KERNEL) != 0;
            snprintf(compare->error_text, sizeof(compare->error_text), "%.150s has no %s%s%s%s",
                     compare->options.names[side], op ? "operators (rows ATEN_END, ATB_END)" : "",
                     op && kernel ? " and no " : "", kernel ? "kernels (rows KERNEL_LAUNCH)" : "",
                     compare->options.steps[side] != 0 ? " in that step" : "");
            rc = -ENODATA;
        }
    }
    rc = rc != 0 ? rc : make_pairs(compare);
    for (size_t i = 0; rc == 0 && i < compare->pair_count; i++) {
        struct ms_compare_pair *pair = &compare->pairs[i];
        uint64_t pools = 0;
        for (int side = 0; side < MS_COMPARE_SIDES; side++) {
            pools += pair->of[side] != NULL ? pair->of[side]->use[MS_LANE_POOLS].events : 0;
        }
        pair->lane = pools != 0 || compare->options.legacy ? MS_LANE_POOLS : MS_LANE_DRIVER;
        rc = match_items(compare, pair);
    }
    return rc;
}

const char *ms_compare_error(const struct ms_compare *compare)
{
    return compare->error_text;
}

/* ---- the files ---- */

/* Walks both sides of a pair in diff order: items only in the base come before items only in the other side. */
struct compare_walk {
    const struct ms_compare_pair *pair;
    size_t at[MS_COMPARE_SIDES];
};

/* Items at the same position; NULL: absent on that side. False: no more. */
static bool walk_next(struct compare_walk *walk, const struct ms_compare_item *items[MS_COMPARE_SIDES])
{
    const struct ms_compare_pair *pair = walk->pair;
    size_t base_count = count_of(pair, MS_COMPARE_BASE), other_count = count_of(pair, MS_COMPARE_OTHER);
    size_t *i = &walk->at[MS_COMPARE_BASE], *j = &walk->at[MS_COMPARE_OTHER];
    items[MS_COMPARE_BASE] = items[MS_COMPARE_OTHER] = NULL;
    if (*i == base_count && *j == other_count) {
        return false;
    }
    uint32_t match = *i < base_count ? pair->match[*i] : (uint32_t)other_count;
    if (*i < base_count && (match == MS_DIFF_NONE || match == *j)) {
        items[MS_COMPARE_BASE] = &pair->of[MS_COMPARE_BASE]->items[(*i)++];
        if (match == MS_DIFF_NONE) {
            return true;
        }
    }
    items[MS_COMPARE_OTHER] = &pair->of[MS_COMPARE_OTHER]->items[(*j)++];
    return true;
}

static void add_i64(struct ms_buffer *buffer, int64_t number)
{
    if (number < 0) {
        ms_buffer_char(buffer, '-');
    }
    ms_buffer_u64(buffer, number < 0 ? 0 - (uint64_t)number : (uint64_t)number);
}

static void add_cell(struct ms_buffer *buffer, struct ms_intern_text text)
{
    bool quote = false;
    for (uint32_t i = 0; i < text.length_b; i++) {
        quote = quote || strchr(",\"\n\r", text.s[i]) != NULL;
    }
    if (quote) {
        ms_buffer_char(buffer, '"');
        ms_buffer_csv(buffer, text.s, text.length_b);
        ms_buffer_char(buffer, '"');
    } else {
        ms_buffer_add(buffer, text.s, text.length_b);
    }
}

static void add_value(struct ms_buffer *buffer, const struct ms_compare_item *item, int64_t value)
{
    if (item != NULL) {
        add_i64(buffer, value);
    } else {
        MS_BUFFER_TEXT(buffer, "N/A");
    }
    ms_buffer_char(buffer, ',');
}

static void add_three(struct ms_buffer *buffer, const struct ms_compare_item *const items[], const int64_t values[])
{
    add_value(buffer, items[MS_COMPARE_BASE], values[MS_COMPARE_BASE]);
    add_value(buffer, items[MS_COMPARE_OTHER], values[MS_COMPARE_OTHER]);
    add_i64(buffer, values[MS_COMPARE_OTHER] - values[MS_COMPARE_BASE]);
}

static uint32_t device_number(const struct ms_compare_pair *pair)
{
    return pair->of[MS_COMPARE_BASE] != NULL ? pair->of[MS_COMPARE_BASE]->device : pair->of[MS_COMPARE_OTHER]->device;
}

static void add_line(struct ms_buffer *buffer, const struct ms_compare *compare, const struct ms_compare_pair *pair,
                     const struct ms_compare_item *const items[], bool detail)
{
    const struct ms_compare_item *any =
        items[MS_COMPARE_BASE] != NULL ? items[MS_COMPARE_BASE] : items[MS_COMPARE_OTHER];
    int64_t net[MS_COMPARE_SIDES] = {0}, peak[MS_COMPARE_SIDES] = {0};
    const char *event = ms_event_name(any->event);
    ms_buffer_add(buffer, event, strlen(event));
    ms_buffer_char(buffer, ',');
    add_cell(buffer, ms_intern_get(&compare->names, any->name));
    ms_buffer_char(buffer, ',');
    ms_buffer_u64(buffer, device_number(pair));
    ms_buffer_char(buffer, ',');
    for (int side = 0; side < MS_COMPARE_SIDES; side++) {
        if (items[side] != NULL) {
            net[side] = items[side]->net[pair->lane];
            peak[side] = items[side]->peak[pair->lane];
        }
    }
    for (int side = 0; detail && side < MS_COMPARE_SIDES; side++) {
        add_value(buffer, items[side], items[side] != NULL ? (int64_t)items[side]->row : 0);
        add_value(buffer, items[side], items[side] != NULL ? items[side]->step : 0);
    }
    add_three(buffer, items, net);
    if (detail) {
        ms_buffer_char(buffer, ',');
        add_three(buffer, items, peak);
    }
    ms_buffer_char(buffer, '\n');
}

static int write_pairs(const struct ms_compare *compare, int fd, struct ms_buffer *buffer, bool detail)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < compare->pair_count; i++) {
        struct compare_walk walk = {.pair = &compare->pairs[i]};
        const struct ms_compare_item *items[MS_COMPARE_SIDES];
        while (rc == 0 && walk_next(&walk, items)) {
            add_line(buffer, compare, walk.pair, items, detail);
            if (buffer->used >= BUFFER_B) {
                rc = ms_buffer_write(buffer, fd);
            }
        }
    }
    rc = rc != 0 ? rc : ms_buffer_write(buffer, fd);
    ms_buffer_free(buffer);
    return rc;
}

int ms_compare_write(const struct ms_compare *compare, int fd)
{
    struct ms_buffer buffer = {0};
    MS_BUFFER_TEXT(&buffer, ",,,Base,Compare\n"
                            "Event,Name,Device Id,Allocated Memory(byte),Allocated Memory(byte),Diff Memory(byte)\n");
    return write_pairs(compare, fd, &buffer, false);
}

int ms_compare_write_items(const struct ms_compare *compare, int fd)
{
    struct ms_buffer buffer = {0};
    MS_BUFFER_TEXT(&buffer, "Event,Name,Device Id,Base ID,Base Step,Compare ID,Compare Step,"
                            "Base Net(byte),Compare Net(byte),Diff Net(byte),"
                            "Base Peak(byte),Compare Peak(byte),Diff Peak(byte)\n");
    return write_pairs(compare, fd, &buffer, true);
}

/* ---- the summary ---- */

struct compare_change { /* of an owner, a call site or a name */
    uint32_t name;
    int64_t of[MS_COMPARE_SIDES];
    uint64_t count; /* items that changed */
};

struct compare_changes {
    struct compare_change *list;
    size_t count, room;
    struct ms_map of_name;
};

static struct compare_change *change_of(struct compare_changes *changes, uint32_t name)
{
    bool added;
    uint64_t *index = ms_map_at(&changes->of_name, name, changes->count, &added);
    if (index != NULL && added) {
        if (changes->count == changes->room) {
            size_t room = changes->room != 0 ? changes->room * 2 : 64;
            struct compare_change *list = realloc(changes->list, room * sizeof(*list));
            if (list == NULL) {
                ms_map_remove(&changes->of_name, name, NULL);
                return NULL;
            }
            changes->list = list;
            changes->room = room;
        }
        changes->list[changes->count++] = (struct compare_change){.name = name};
    }
    return index != NULL ? &changes->list[*index] : NULL;
}

static int64_t difference(const struct compare_change *change)
{
    return change->of[MS_COMPARE_OTHER] - change->of[MS_COMPARE_BASE];
}

static int by_difference(const void *a, const void *b)
{
    int64_t x = llabs(difference(a)), y = llabs(difference(b));
    const struct compare_change *p = a, *q = b;
    return x != y ? (x > y ? -1 : 1) : p->name < q->name ? -1 : p->name > q->name;
}

static const char *signed_size(int64_t size_b, char out[24])
{
    char size[16];
    ms_format_size(size_b < 0 ? 0 - (uint64_t)size_b : (uint64_t)size_b, size);
    snprintf(out, 24, "%s%s", size_b < 0 ? "-" : size_b > 0 ? "+" : "", size);
    return out;
}

static const char *plain_size(int64_t size_b, char out[24])
{
    signed_size(size_b, out);
    return out[0] == '+' ? out + 1 : out;
}

static void put_name(const struct ms_compare *compare, FILE *out, uint32_t id)
{
    struct ms_intern_text name = ms_intern_get(&compare->names, id);
    int shown = name.length_b < NAME_B ? (int)name.length_b : NAME_B;
    fprintf(out, "%.*s%s", shown, name.s, (int)name.length_b > shown ? "..." : "");
}

static void print_changes(const struct ms_compare *compare, FILE *out, struct compare_changes *changes,
                          const char *title, bool counts)
{
    size_t differing = 0;
    for (size_t i = 0; i < changes->count; i++) {
        differing += difference(&changes->list[i]) != 0;
    }
    if (differing != 0) {
        qsort(changes->list, changes->count, sizeof(*changes->list), by_difference);
        fprintf(out, "  %s\n", title);
    }
    for (size_t i = 0; i < differing && i < SHOWN; i++) {
        const struct compare_change *change = &changes->list[i];
        char sum[24], base[24], other[24];
        fprintf(out, "    %12s  ", signed_size(difference(change), sum));
        put_name(compare, out, change->name);
        if (counts) {
            fprintf(out, "  (in %" PRIu64 " places)\n", change->count);
        } else {
            fprintf(out, "  (%s -> %s)\n", plain_size(change->of[MS_COMPARE_BASE], base),
                    plain_size(change->of[MS_COMPARE_OTHER], other));
        }
    }
    if (differing > SHOWN) {
        fprintf(out, "    ... and %zu more\n", differing - SHOWN);
    }
    free(changes->list);
    ms_map_free(&changes->of_name);
    *changes = (struct compare_changes){0};
}

static void print_groups(const struct ms_compare *compare, const struct ms_compare_pair *pair, FILE *out,
                         enum ms_compare_group_kind kind, const char *title)
{
    struct compare_changes changes = {0};
    for (int side = 0; side < MS_COMPARE_SIDES; side++) {
        const struct ms_compare_device *device = pair->of[side];
        for (size_t i = 0; device != NULL && i < device->group_count; i++) {
            const struct ms_compare_group *group = &device->groups[i];
            struct compare_change *change =
                group->kind == kind && group->lane == pair->lane ? change_of(&changes, group->name) : NULL;
            if (change != NULL) {
                change->of[side] += ms__at_peak(device, group);
            }
        }
    }
    print_changes(compare, out, &changes, title, false);
}

static void print_items(const struct ms_compare *compare, const struct ms_compare_pair *pair, FILE *out)
{
    struct compare_changes changes = {0};
    struct compare_walk walk = {.pair = pair};
    const struct ms_compare_item *items[MS_COMPARE_SIDES];
    while (walk_next(&walk, items)) {
        int64_t net[MS_COMPARE_SIDES] = {0};
        for (int side = 0; side < MS_COMPARE_SIDES; side++) {
            net[side] = items[side] != NULL ? items[side]->net[pair->lane] : 0;
        }
        if (net[MS_COMPARE_BASE] == net[MS_COMPARE_OTHER]) {
            continue;
        }
        struct compare_change *change = change_of(&changes, (items[0] != NULL ? items[0] : items[1])->name);
        if (change != NULL) {
            change->of[MS_COMPARE_BASE] += net[MS_COMPARE_BASE];
            change->of[MS_COMPARE_OTHER] += net[MS_COMPARE_OTHER];
            change->count++;
        }
    }
    print_changes(compare, out, &changes, "operators and kernels whose memory changed most", true);
}

static int64_t use_of(const struct ms_compare_pair *pair, int side, bool peak)
{
    const struct ms_compare_device *device = pair->of[side];
    return device == NULL ? 0 : peak ? device->use[pair->lane].peak : device->use[pair->lane].total;
}

static void print_use(const struct ms_compare_pair *pair, FILE *out, bool peak, const char *title)
{
    char base[24], other[24], change[24];
    int64_t b = use_of(pair, MS_COMPARE_BASE, peak), o = use_of(pair, MS_COMPARE_OTHER, peak);
    fprintf(out, "  %-24s %12s -> %-12s %s\n", title, plain_size(b, base), plain_size(o, other),
            signed_size(o - b, change));
}

static void print_peak_place(const struct ms_compare *compare, const struct ms_compare_pair *pair, FILE *out, int side)
{
    static const char *const names[] = {"base", "compare"};
    const struct ms_compare_use *use = pair->of[side] != NULL ? &pair->of[side]->use[pair->lane] : NULL;
    if (use == NULL || (use->peak_step == 0 && use->peak_op == 0)) {
        return;
    }
    fprintf(out, "    peak of %s:", names[side]);
    if (use->peak_step != 0) {
        fprintf(out, " in step %u", use->peak_step);
    }
    if (use->peak_op != 0) {
        fputs(" in ", out);
        put_name(compare, out, use->peak_op);
    }
    fputc('\n', out);
}

static void print_title(const struct ms_compare_pair *pair, FILE *out)
{
    const struct ms_compare_device *base = pair->of[MS_COMPARE_BASE], *other = pair->of[MS_COMPARE_OTHER];
    fprintf(out, "device %u", device_number(pair));
    if (base != NULL && other != NULL && base->device != other->device) {
        fprintf(out, " compared with device %u", other->device);
    }
    fprintf(out, ": %" PRIu64 " items on both sides, %" PRIu64 " only in base, %" PRIu64 " only in compare\n",
            pair->both, count_of(pair, MS_COMPARE_BASE) - pair->both, count_of(pair, MS_COMPARE_OTHER) - pair->both);
}

void ms_compare_print(const struct ms_compare *compare, FILE *out)
{
    bool steps = compare->options.steps[0] != 0;
    for (int side = 0; side < MS_COMPARE_SIDES; side++) {
        fprintf(out, "%-8s %s", side == MS_COMPARE_BASE ? "base:" : "compare:", compare->options.names[side]);
        fprintf(out, steps ? ", step %u\n" : "\n", compare->options.steps[side]);
    }
    for (size_t i = 0; i < compare->pair_count; i++) {
        const struct ms_compare_pair *pair = &compare->pairs[i];
        print_title(pair, out);
        if (!compare->options.legacy) {
            fprintf(out, "  %s\n",
                    pair->lane == MS_LANE_POOLS ? "pool memory" : "driver memory (no pool reported any)");
            print_use(pair, out, true, steps ? "peak above the start" : "peak");
            print_use(pair, out, false, steps ? "left at the end" : "in use at the end");
            print_peak_place(compare, pair, out, MS_COMPARE_BASE);
            print_peak_place(compare, pair, out, MS_COMPARE_OTHER);
            print_groups(compare, pair, out, MS_GROUP_BY_OWNER, "at the peak, by owner");
            print_groups(compare, pair, out, MS_GROUP_BY_SITE, "at the peak, by call site");
        }
        print_items(compare, pair, out);
    }
}

void ms_compare_result(const struct ms_compare *compare, struct ms_compare_result *out)
{
    *out = (struct ms_compare_result){0};
    for (size_t i = 0; i < compare->pair_count; i++) {
        const struct ms_compare_pair *pair = &compare->pairs[i];
        for (int side = 0; side < MS_COMPARE_SIDES; side++) {
            out->items[side] += count_of(pair, side);
        }
        out->both += pair->both;
        for (int peak = 0; peak < 2; peak++) {
            int64_t growth_b = use_of(pair, MS_COMPARE_OTHER, peak) - use_of(pair, MS_COMPARE_BASE, peak);
            out->growth_b = out->growth_b > growth_b ? out->growth_b : growth_b;
        }
    }
}
