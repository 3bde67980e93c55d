/* SPDX-License-Identifier: Apache-2.0 */
/* See leaks.h. While the program runs, only the last finished step of each device is remembered: at the end, the
 * model's live blocks contain everything needed, and blocks freed in the meantime are not among them.
 *
 * Confidence of a call site: high if it left blocks behind in at least 3 steps and in 4 of 5 steps since the first;
 * medium in at least 2 steps; low otherwise (a cache that is filled once looks like this). If the recording lost
 * events, all later results are uncertain, and the report says so. */
#include "memscope/analyze/leaks.h"

#include "base/map.h"
#include "memscope/analyze/analysis.h"
#include "memscope/analyze/note.h"
#include "memscope/analyze/pools.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define SITES_SHOWN     20u
#define HAL_LINES_SHOWN 20u
#define FRAMES_SHOWN    12u

struct device_steps {
    uint32_t device, ended;
};

struct leak { /* a copy, because the report sorts them */
    uint64_t addr, size_b, allocation_id;
    uint32_t device, step, kernel_index;
    uint8_t space;
};

enum site_kind { BY_STACK, BY_OWNER, BY_OP, BY_SIZE };

struct site {
    enum site_kind kind;
    uint32_t device;
    uint8_t space;
    uint32_t c_stack, python_stack, owner, op;
    uint64_t size_b, count, bytes;
    uint32_t first_step, last_step, steps;
};

struct ms_leaks {
    struct ms_leaks_options options;
    struct device_steps *devices;
    uint32_t device_count;
    bool any_step;
    struct leak *leaks, *hal;
    size_t leak_count, leak_room, hal_count, hal_room;
    struct site *sites;
    size_t site_count, site_room;
    struct ms_map site_of_key;
    struct ms_map pool_handles; /* handles mapped at addresses of pool blocks */
    uint64_t count, bytes;
    uint64_t segments, segments_b; /* HAL blocks that pools keep: not leaked */
    uint32_t pid;
    char suspects[MS_SUSPECTS_B];
    uint64_t stops;
};

/* ---- steps ---- */

static uint32_t *ended_of(struct ms_leaks *leaks, uint32_t device, bool make)
{
    for (uint32_t i = 0; i < leaks->device_count; i++) {
        if (leaks->devices[i].device == device) {
            return &leaks->devices[i].ended;
        }
    }
    struct device_steps *devices = make ? realloc(leaks->devices, (leaks->device_count + 1) * sizeof(*devices)) : NULL;
    if (devices == NULL) {
        return NULL;
    }
    leaks->devices = devices;
    devices[leaks->device_count] = (struct device_steps){.device = device};
    return &devices[leaks->device_count++].ended;
}

struct step_walk {
    struct ms_leaks *leaks;
    uint32_t device, step;
};

/* Newest first: blocks of the step that ended, then those of the previous step, which become suspects now. */
static int log_suspect(void *argument, const struct ms_block *block)
{
    const struct step_walk *walk = argument;
    const char *pool = ms_step_pool_name(block->space);
    if (block->device != walk->device || pool == NULL || block->state != MS_BLOCK_LIVE) {
        return 0;
    }
    if (block->step + 1 < walk->step) {
        return 1;
    }
    if (block->step + 1 == walk->step && block->step > 1) {
        ms_note(walk->leaks->options.log, walk->leaks->options.argument, 2,
                "[%s][step %u]: ptr: %" PRIx64 " has last for %u steps. Please check if there is leaks in %s.",
                ms_device_text("npu ", block->device).s, walk->step, block->addr, walk->step - block->step, pool);
    }
    return 0;
}

static int on_step(void *self, const struct ms_step_info *step)
{
    struct ms_leaks *leaks = self;
    leaks->any_step = true;
    if (step->begins) {
        return 0;
    }
    uint32_t *ended = ended_of(leaks, step->device, true);
    if (ended == NULL) {
        return -ENOMEM;
    }
    *ended = step->step;
    if (leaks->options.log != NULL) {
        struct step_walk walk = {leaks, step->device, step->step};
        ms_model_blocks(leaks->options.model, true, log_suspect, &walk);
    }
    return 0;
}

static bool is_suspect(struct ms_leaks *leaks, const struct ms_block *block)
{
    const uint32_t *ended = ended_of(leaks, block->device, false);
    return ended != NULL && block->step > 1 && *ended > block->step;
}

/* ---- when tracing stops ---- */

#define SUSPECTS_SHOWN 48u

struct largest {
    struct ms_leaks *leaks;
    struct ms_block block[SUSPECTS_SHOWN]; /* copies, largest first */
    uint32_t count;
};

static int keep_largest(void *argument, const struct ms_block *block)
{
    struct largest *largest = argument;
    bool full = largest->count == SUSPECTS_SHOWN;
    if (block->state != MS_BLOCK_LIVE || ms_step_pool_name(block->space) == NULL ||
        !is_suspect(largest->leaks, block) || (full && block->size_b <= largest->block[largest->count - 1].size_b)) {
        return 0;
    }
    uint32_t at = full ? largest->count - 1 : largest->count++;
    for (; at > 0 && largest->block[at - 1].size_b < block->size_b; at--) {
        largest->block[at] = largest->block[at - 1];
    }
    largest->block[at] = *block;
    return 0;
}

static int on_stop(void *self)
{
    struct ms_leaks *leaks = self;
    struct largest largest = {.leaks = leaks};
    size_t used = 0;
    leaks->suspects[0] = '\0';
    leaks->stops++;
    int rc = ms_model_blocks(leaks->options.model, false, keep_largest, &largest);
    for (uint32_t i = 0; i < largest.count && used < sizeof(leaks->suspects); i++) {
        const struct ms_block *block = &largest.block[i];
        size_t length_b = (size_t)snprintf(leaks->suspects + used, sizeof(leaks->suspects) - used,
                                           "0x%" PRIx64 " %" PRIu64 " %s %u\n", block->addr, block->size_b,
                                           ms_device_text("npu:", block->device).s, block->step);
        if (used + length_b >= sizeof(leaks->suspects)) {
            leaks->suspects[used] = '\0'; /* no partial line */
        }
        used += length_b;
    }
    return rc;
}

const char *ms_leaks_suspects(const struct ms_leaks *leaks, uint64_t *stops)
{
    *stops = leaks->stops;
    return leaks->suspects;
}

/* ---- collecting at the end ---- */

static bool add_leak(struct leak **leaks, size_t *count, size_t *room, const struct ms_block *block)
{
    if (*count == *room) {
        size_t bigger = *room != 0 ? *room * 2 : 256;
        struct leak *moved = realloc(*leaks, bigger * sizeof(*moved));
        if (moved == NULL) {
            return false;
        }
        *leaks = moved;
        *room = bigger;
    }
    (*leaks)[(*count)++] = (struct leak){.addr = block->addr,
                                         .size_b = block->size_b,
                                         .allocation_id = block->allocation_id,
                                         .device = block->device,
                                         .step = block->step,
                                         .kernel_index = block->kernel_index,
                                         .space = block->space};
    return true;
}

static int stop_at_first(void *argument, const struct ms_block *block)
{
    (void)block;
    *(bool *)argument = true;
    return 1;
}

/* Physical handles hold pool memory through the ranges they are mapped into. */
static int keep_handle(void *argument, const struct ms_segment *segment)
{
    struct ms_leaks *leaks = argument;
    if (segment->mapped && segment->pool_blocks != 0) {
        return ms_map_put(&leaks->pool_handles, segment->handle, 1) != NULL ? 0 : -ENOMEM;
    }
    return 0;
}

static bool holds_pool(struct ms_leaks *leaks, const struct ms_block *block)
{
    bool found = false;
    if (block->space == MS_SPACE_HAL) {
        ms_model_blocks_in(leaks->options.model, block->addr, block->size_b, stop_at_first, &found);
    } else {
        found = ms_map_get(&leaks->pool_handles, block->addr) != NULL;
    }
    return found;
}

static struct site *site_of(struct ms_leaks *leaks, const struct ms_block *block)
{
    struct site site = {.device = block->device, .space = block->space};
    uint64_t key = ms_hash_u64((uint64_t)block->device << 8 | block->space);
    bool python = block->python_stack != 0 && block->python_stack != MS_STACK_NO_GIL;
    if (block->c_stack != 0 || python) {
        site.kind = BY_STACK;
        site.c_stack = block->c_stack;
        site.python_stack = python ? block->python_stack : 0;
        key ^= ms_hash_u64((uint64_t)site.c_stack << 32 | site.python_stack);
    } else if (block->owner != 0) {
        site.kind = BY_OWNER;
        site.owner = block->owner;
        key ^= ms_hash_u64((uint64_t)block->owner << 3 | BY_OWNER);
    } else if (block->op != 0) {
        site.kind = BY_OP;
        site.op = block->op;
        key ^= ms_hash_u64((uint64_t)block->op << 3 | BY_OP);
    } else {
        site.kind = BY_SIZE;
        site.size_b = block->size_b;
        key ^= ms_hash_u64(block->size_b << 3 | BY_SIZE);
    }
    for (;; key++) { /* two sites collide on a key about once in 2^32 */
        bool added;
        uint64_t *index = ms_map_at(&leaks->site_of_key, key, leaks->site_count, &added);
        if (index == NULL) {
            return NULL;
        }
        if (added) {
            break;
        }
        struct site *there = &leaks->sites[*index];
        if (there->kind == site.kind && there->device == site.device && there->space == site.space &&
            there->c_stack == site.c_stack && there->python_stack == site.python_stack && there->owner == site.owner &&
            there->op == site.op && (site.kind != BY_SIZE || there->size_b == site.size_b)) {
            return there;
        }
    }
    if (leaks->site_count == leaks->site_room) {
        size_t room = leaks->site_room != 0 ? leaks->site_room * 2 : 64;
        struct site *sites = realloc(leaks->sites, room * sizeof(*sites));
        if (sites == NULL) {
            return NULL;
        }
        leaks->sites = sites;
        leaks->site_room = room;
    }
    leaks->sites[leaks->site_count] = site;
    return &leaks->sites[leaks->site_count++];
}

/* The original's line for the log; it knows no segments of pools. */
static void log_hal(struct ms_leaks *leaks, const struct ms_block *block)
{
    ms_note(leaks->options.log, leaks->options.argument, 2,
            "[client %u][device: %u]: Leak memory in Malloc operator, addr: 0x%" PRIx64, leaks->pid, block->device,
            block->addr);
}

static int collect(void *argument, const struct ms_block *block)
{
    struct ms_leaks *leaks = argument;
    if (block->state != MS_BLOCK_LIVE &&
        block->state != MS_BLOCK_SHADOW_FREE) { /* freed after stop(): not freed in time */
        return 0;
    }
    bool pool = ms_step_pool_name(block->space) != NULL;
    bool hal = block->type == MS_TYPE_HAL;
    if (pool) {
        bool suspect = is_suspect(leaks, block);
        if (suspect && !add_leak(&leaks->leaks, &leaks->leak_count, &leaks->leak_room, block)) {
            return -ENOMEM;
        }
        if (!suspect && leaks->any_step) {
            return 0;
        }
    } else if (hal && leaks->options.hal) {
        log_hal(leaks, block);
        if (block->of_pool || holds_pool(leaks, block)) {
            leaks->segments++;
            leaks->segments_b += block->size_b;
            return 0;
        }
        if (!add_leak(&leaks->hal, &leaks->hal_count, &leaks->hal_room, block)) {
            return -ENOMEM;
        }
    } else {
        return 0;
    }
    struct site *site = site_of(leaks, block);
    if (site == NULL) {
        return -ENOMEM;
    }
    if (site->count == 0) {
        site->first_step = block->step;
    }
    site->steps += site->count == 0 || block->step != site->last_step;
    site->last_step = block->step;
    site->count++;
    site->bytes += block->size_b;
    return 0;
}

/* ---- the original's lines ---- */

static int by_device_and_step(const void *a, const void *b)
{
    const struct leak *x = a, *y = b;
    if (x->device != y->device) {
        return x->device < y->device ? -1 : 1;
    }
    if (x->step != y->step) {
        return x->step < y->step ? -1 : 1;
    }
    return x->allocation_id < y->allocation_id ? -1 : x->allocation_id > y->allocation_id;
}

static size_t end_of_device(const struct leak *leaks, size_t from, size_t count)
{
    size_t end = from;
    while (end < count && leaks[end].device == leaks[from].device) {
        end++;
    }
    return end;
}

static void print_leaks(struct ms_leaks *leaks, struct leak *list, size_t count, bool hal)
{
    FILE *out = leaks->options.out;
    size_t shown_max = !hal                                ? SIZE_MAX
                       : leaks->options.hal_lines_max != 0 ? leaks->options.hal_lines_max
                                                           : HAL_LINES_SHOWN;
    if (count != 0) {
        qsort(list, count, sizeof(*list), by_device_and_step);
    }
    for (size_t from = 0, end; from < count; from = end) {
        end = end_of_device(list, from, count);
        uint64_t bytes = 0;
        if (out != NULL) {
            fprintf(out, "====== ERROR: Detected %smemory leaks on device %s ======\n", hal ? "HAL " : "",
                    ms_device_text("", list[from].device).s);
        }
        for (size_t i = from; i < end; i++) {
            bytes += list[i].size_b;
            if (out != NULL && i - from < shown_max) {
                fprintf(out, "Direct %s leak of %f Mb(s) at 0x%" PRIx64 " in kernel_%u at step %u.\n",
                        hal ? "HAL memory" : ms_step_pool_name(list[i].space), MS_MB(list[i].size_b), list[i].addr,
                        list[i].kernel_index, list[i].step);
            }
        }
        if (out != NULL && end - from > shown_max) {
            fprintf(out, "... and %zu more, all of them in the log file.\n", end - from - shown_max);
        }
        if (out != NULL) {
            fprintf(out, "====== SUMMARY: %g Mb(s) leaked in %zu allocation(s) ======\n", MS_MB(bytes), end - from);
        }
        leaks->count += end - from;
        leaks->bytes += bytes;
    }
}

/* ---- npuscope's summary ---- */

static int by_bytes(const void *a, const void *b)
{
    const struct site *x = a, *y = b;
    return x->bytes > y->bytes ? -1 : x->bytes < y->bytes;
}

static void print_frames(FILE *out, struct ms_text text)
{
    const char *at = text.s, *end = text.s + text.length_b;
    for (unsigned i = 0; at < end && i < FRAMES_SHOWN; i++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *line_end = newline != NULL ? newline : end;
        fprintf(out, "        %.*s\n", (int)(line_end - at), at);
        at = newline != NULL ? newline + 1 : end;
    }
    if (at < end) {
        fputs("        ...\n", out);
    }
}

static const char *confidence(const struct site *site, uint32_t possible_steps)
{
    if (site->steps >= 3 && site->steps * 5 >= possible_steps * 4) {
        return "high";
    }
    return site->steps >= 2 ? "medium" : "low";
}

static void print_site(struct ms_leaks *leaks, size_t number, const struct site *site)
{
    FILE *out = leaks->options.out;
    const struct ms_stack_source *stacks = &leaks->options.stacks;
    const char *pool = ms_step_pool_name(site->space);
    fprintf(out, "%3zu. %f Mb(s) in %" PRIu64 " allocation(s), %s of device %s", number, MS_MB(site->bytes),
            site->count, pool != NULL ? pool : "HAL memory", ms_device_text("", site->device).s);
    const uint32_t *ended = ended_of(leaks, site->device, false);
    if (pool != NULL && ended != NULL && *ended > site->first_step) {
        uint32_t possible = *ended - site->first_step; /* the last step may still free its own blocks */
        fprintf(out, ", since step %u, %f Mb(s) per step, confidence %s", site->first_step,
                MS_MB(site->bytes) / possible, confidence(site, possible));
    } else if (pool == NULL && site->steps > 1) {
        fprintf(out, ", steps %u to %u", site->first_step, site->last_step);
    }
    fputc('\n', out);
    struct ms_text text;
    switch (site->kind) {
    case BY_STACK:
        if (site->python_stack != 0 && stacks->python_stack != NULL) {
            print_frames(out, stacks->python_stack(stacks->self, site->python_stack));
        }
        if (site->c_stack != 0 && stacks->c_stack != NULL) {
            print_frames(out, stacks->c_stack(stacks->self, site->c_stack));
        }
        break;
    case BY_OWNER:
        text = ms_model_owner(leaks->options.model, site->owner);
        fprintf(out, "        owner %.*s\n", (int)text.length_b, text.s);
        break;
    case BY_OP:
        text = ms_model_text(leaks->options.model, site->op);
        fprintf(out, "        operator %.*s\n", (int)text.length_b, text.s);
        break;
    default:
        fprintf(out, "        blocks of %" PRIu64 " bytes\n", site->size_b);
        break;
    }
}

static void print_sites(struct ms_leaks *leaks)
{
    FILE *out = leaks->options.out;
    if (out == NULL || leaks->site_count == 0) {
        return;
    }
    size_t most = leaks->options.sites_max != 0 ? leaks->options.sites_max : SITES_SHOWN;
    bool stacks = false;
    for (size_t i = 0; i < leaks->site_count; i++) {
        stacks = stacks || leaks->sites[i].kind == BY_STACK;
    }
    qsort(leaks->sites, leaks->site_count, sizeof(*leaks->sites), by_bytes);
    fprintf(out, "====== %s by %s ======\n", leaks->any_step ? "Leaks" : "Memory live at exit (no steps were marked)",
            stacks ? "call site" : "owner, operator or size");
    for (size_t i = 0; i < leaks->site_count && i < most; i++) {
        print_site(leaks, i + 1, &leaks->sites[i]);
    }
    if (leaks->site_count > most) {
        fprintf(out, "     ... and %zu more.\n", leaks->site_count - most);
    }
    if (!stacks) {
        fputs("     Record with --call-stack=c or --call-stack=python to see where it was allocated.\n", out);
    }
}

/* Only beside a leak: a program without any is not bothered with it. */
static void print_segments(const struct ms_leaks *leaks)
{
    if (leaks->options.out != NULL && leaks->segments != 0 && leaks->site_count != 0) {
        fprintf(leaks->options.out,
                "     Memory pools keep %f Mb(s) in %" PRIu64
                " HAL allocation(s) until the program ends: not leaked.\n",
                MS_MB(leaks->segments_b), leaks->segments);
    }
}

static int on_end(void *self)
{
    struct ms_leaks *leaks = self;
    struct ms_model_stats stats;
    ms_model_stats(leaks->options.model, &stats);
    leaks->pid = stats.pid;
    int rc = leaks->options.hal ? ms_model_segments(leaks->options.model, keep_handle, leaks) : 0;
    int blocks_rc = ms_model_blocks(leaks->options.model, false, collect, leaks);
    rc = rc != 0 ? rc : blocks_rc;
    print_leaks(leaks, leaks->leaks, leaks->leak_count, false);
    if (leaks->options.hal) {
        if (leaks->hal_count + leaks->segments == 0) {
            ms_note(leaks->options.log, leaks->options.argument, 1, "[client %u]: There is no hal leak memory.",
                    stats.pid);
        }
        print_leaks(leaks, leaks->hal, leaks->hal_count, true);
    }
    print_sites(leaks);
    print_segments(leaks);
    if (leaks->options.out != NULL) {
        if (stats.uncertain_since_ns != 0) {
            fprintf(leaks->options.out,
                    "[msmemscope] Warn: %" PRIu64 " events were lost (%" PRIu64
                    " allocations and frees), results are uncertain since %" PRIu64 " ns.\n",
                    stats.lost, stats.lost_memory, stats.uncertain_since_ns);
        }
        fflush(leaks->options.out);
    }
    return rc;
}

/* ---- interface ---- */

int ms_leaks_new(const struct ms_leaks_options *options, struct ms_leaks **out)
{
    if (options->model == NULL) {
        return -EINVAL;
    }
    struct ms_leaks *leaks = calloc(1, sizeof(*leaks));
    if (leaks == NULL) {
        return -ENOMEM;
    }
    leaks->options = *options;
    *out = leaks;
    return 0;
}

struct ms_consumer ms_leaks_consumer(struct ms_leaks *leaks)
{
    return (struct ms_consumer){.self = leaks, .on_step = on_step, .on_stop = on_stop, .on_end = on_end};
}

uint64_t ms_leaks_count(const struct ms_leaks *leaks, uint64_t *bytes)
{
    if (bytes != NULL) {
        *bytes = leaks->bytes;
    }
    return leaks->count;
}

void ms_leaks_free(struct ms_leaks *leaks)
{
    if (leaks != NULL) {
        free(leaks->devices);
        free(leaks->leaks);
        free(leaks->hal);
        free(leaks->sites);
        ms_map_free(&leaks->site_of_key);
        ms_map_free(&leaks->pool_handles);
        free(leaks);
    }
}

static int open_analysis(const struct ms_analysis_context *context, void **self, struct ms_consumer *consumer)
{
    struct ms_leaks_options options = {.model = context->model,
                                       .stacks = context->stacks,
                                       .hal = context->immediate,
                                       .out = context->report,
                                       .log = context->log,
                                       .argument = context->argument};
    struct ms_leaks *leaks;
    int rc = ms_leaks_new(&options, &leaks);
    if (rc == 0) {
        *self = leaks;
        *consumer = ms_leaks_consumer(leaks);
    }
    return rc;
}

static void close_analysis(void *self)
{
    ms_leaks_free(self);
}

static const char *suspects_of(const void *self, uint64_t *stops)
{
    return ms_leaks_suspects(self, stops);
}

const struct ms_analysis ms_leaks_analysis = {.bits = MS_ANALYSIS_LEAKS | MS_ANALYSIS_OOM,
                                              .when = MS_WHEN_REPORTS | MS_WHEN_ALL_STEPS,
                                              .open = open_analysis,
                                              .close = close_analysis,
                                              .suspects = suspects_of};
