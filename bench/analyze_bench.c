/* SPDX-License-Identifier: Apache-2.0 */
/* The analyses: check_leaks and check_inefficient on CSV dumps of 1, 3 and 10 million events, and leaks and inefficient
 * together in the model, on as many events. Each runs in a separate process, so its memory can be measured. */
#include "bench_child.h"
#include "dump.h"

#include "memscope/analyze/api.h"
#include "memscope/analyze/inefficient_online.h"
#include "memscope/analyze/leaks.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[64];
static unsigned events_now;

#define LIVE_BLOCKS 20000u

/* Driver allocations and frees between marks: 20,000 blocks are live at all times. As in the original's dumps, the rows
 * of a block are adjacent, in order of frees. */
static void make_hal_dump(unsigned events)
{
    FILE *file = bench_dump(path);
    unsigned blocks = events / 2;
    for (unsigned i = 0; i < blocks; i++) {
        unsigned long long addr = 0x120000000000ull + i % (LIVE_BLOCKS + 7) * 2097152ull;
        for (unsigned row = 0; row < 2; row++) {
            unsigned id = row == 0 ? 2 * i + 10 : 2 * (i + LIVE_BLOCKS) + 11;
            fprintf(file,
                    "%u,%s,HAL,N/A,%llu,7,7,0,0x%016llx,\"{allocation_id:%u,addr:0x%016llx,size:2097152,"
                    "page_type:normal,alloc_type:alloc}\",,\n",
                    id, row == 0 ? "MALLOC" : "FREE", 1794772362546442612ull + id * 1000ull, addr, i + 1, addr);
        }
        if (i % (blocks / 4) == 0) {
            fprintf(file, "%u,MSTX,Mark,\"mark\",%llu,7,7,0,N/A,,,\n", 2 * i + 11,
                    1794772362546442612ull + (2 * i + 11) * 1000ull);
        }
    }
    fclose(file);
}

/* Operators of six rows: start, allocation, two accesses, free of an older block, end. Sorted, like npuscope's
 * dumps. */
static void make_pool_dump(unsigned events)
{
    FILE *file = bench_dump(path);
    for (unsigned id = 0; id < events; id++) {
        unsigned op = id / 6, part = id % 6, old = op > 500 ? op - 500 : 0;
        unsigned block = part == 1 || part == 2 ? op : part == 3 ? (op > 40 ? op - 40 : 0) : old;
        unsigned long long time_ns = 1794772362546442612ull + id * 1000ull, addr = 0x124000000000ull + block * 4096ull;
        if (part == 0 || part == 5) {
            fprintf(file, "%u,OP_LAUNCH,ATEN_%s,torch._ops.aten.add.Tensor,%llu,7,7,0,N/A,,,\n", id,
                    part == 0 ? "START" : "END", time_ns);
        } else if (part == 2 || part == 3) {
            fprintf(file,
                    "%u,ACCESS,READ,torch._ops.aten.add.Tensor,%llu,7,7,0,0x%016llx,\"{allocation_id:%u,addr:0x%016llx,"
                    "size:4096,type:PTA,dtype:torch.float16,shape:torch.Size([32, 64])}\",,\n",
                    id, time_ns, addr, block + 1, addr);
        } else {
            fprintf(file,
                    "%u,%s,PTA,N/A,%llu,7,7,0,0x%016llx,\"{allocation_id:%u,addr:0x%016llx,size:4096,"
                    "total:1073741824,used:512}\",,\n",
                    id, part == 1 ? "MALLOC" : "FREE", time_ns, addr, block + 1, addr);
        }
    }
    fclose(file);
}

static void run_leaks(const void *unused)
{
    (void)unused;
    char why[MS_ANALYZE_WHY_B];
    struct ms_check_leaks_result result;
    if (ms_check_leaks(path, "mark", 1, NULL, &result, why, sizeof(why)) != 0 || result.devices != 1) {
        fprintf(stderr, "analyze_bench: %s\n", why);
        _exit(1);
    }
}

static void run_inefficient(const void *unused)
{
    (void)unused;
    char why[MS_ANALYZE_WHY_B];
    struct ms_check_inefficient_result result;
    if (ms_check_inefficient(path, 0, MS_CHECK_ALL, 3000, NULL, &result, why, sizeof(why)) != 0 ||
        result.rows_changed == 0) {
        fprintf(stderr, "analyze_bench: %s\n", why);
        _exit(1);
    }
    unlink(result.kept);
}

static int count_late(void *self, const struct ms_block *block)
{
    *(uint64_t *)self += block->inefficient != 0;
    return 0;
}

/* The same operators as events, directly into the model. */
static void run_model(const void *unused)
{
    (void)unused;
    struct ms_model_options options = MS_MODEL_OPTIONS_DEFAULT;
    options.analysis = MS_ANALYSIS_LEAKS | MS_ANALYSIS_INEFFICIENT;
    struct ms_model *model;
    struct ms_leaks *leaks;
    struct ms_inefficient_online *online;
    uint64_t found = 0;
    if (ms_model_new(&options, &model) != 0) {
        _exit(1);
    }
    struct ms_leaks_options of_leaks = {.model = model};
    if (ms_leaks_new(&of_leaks, &leaks) != 0 || ms_inefficient_online_new(model, &online) != 0) {
        _exit(1);
    }
    struct ms_consumer consumers[] = {
        ms_leaks_consumer(leaks), ms_inefficient_online_consumer(online), {.self = &found, .on_late = count_late}};
    for (size_t i = 0; i < sizeof(consumers) / sizeof(consumers[0]); i++) {
        ms_model_add(model, &consumers[i]);
    }
    static const char start[] = "memscope-aten-b: name=torch._ops.aten.add.Tensor",
                      end[] = "memscope-aten-e: name=torch._ops.aten.add.Tensor";
    for (unsigned id = 0; id < events_now; id++) {
        unsigned op = id / 6, part = id % 6, old = op > 500 ? op - 500 : 0;
        unsigned block = part == 1 || part == 2 ? op : part == 3 ? (op > 40 ? op - 40 : 0) : old;
        struct ms_event event = {.index = id,
                                 .time_ns = 1794772362546442612ull + id * 1000ull,
                                 .pid = 7,
                                 .tid = 7,
                                 .device = 0,
                                 .pool = MS_POOL_PTA,
                                 .addr = 0x124000000000ull + block * 4096ull,
                                 .size_b = 4096,
                                 .text = {.s = ""},
                                 .text2 = {.s = ""}};
        static const uint8_t kinds[] = {MS_R_MARK,   MS_R_POOL_ALLOC, MS_R_ACCESS,
                                        MS_R_ACCESS, MS_R_POOL_FREE,  MS_R_MARK};
        event.kind = kinds[part];
        event.order = ms_record_specs[event.kind].order;
        if (part == 0 || part == 5) {
            event.text = part == 0 ? (struct ms_text){.s = start, .length_b = sizeof(start) - 1}
                                   : (struct ms_text){.s = end, .length_b = sizeof(end) - 1};
        }
        ms_model_feed(model, &event);
    }
    ms_model_end(model);
    if (found == 0) {
        fprintf(stderr, "analyze_bench: nothing was found\n");
        _exit(1);
    }
    ms_inefficient_online_free(online);
    ms_leaks_free(leaks);
    ms_model_free(model);
}

struct subject {
    const char *name;
    void (*make)(unsigned events);
    void (*work)(const void *);
    unsigned goal_events;
    const char *goal, *memory_goal, *original;
};

int main(int argc, char **argv)
{
    static const struct subject subjects[] = {
        {"check_leaks of a CSV dump", make_hal_dump, run_leaks, 1000000, "<= 1 s", NULL, "64 s for 0.1 M"},
        {"check_inefficient of a CSV dump", make_pool_dump, run_inefficient, 1000000, "<= 1.5 s", "<= 200 MB",
         "32 s, 2.1 GB"},
        {"leaks and inefficient in the model", NULL, run_model, 10000000, "<= 10 s", "<= 1024 MiB", NULL},
    };
    unsigned largest = argc > 1 ? (unsigned)atoi(argv[1]) : 10;
    static const unsigned sizes[] = {1, 3, 10};
    snprintf(path, sizeof(path), "/var/tmp/analyze_bench.%d.csv", (int)getpid());
    for (size_t i = 0; i < sizeof(subjects) / sizeof(subjects[0]); i++) {
        const struct subject *s = &subjects[i];
        double first_ns = 0;
        for (size_t j = 0; j < sizeof(sizes) / sizeof(sizes[0]) && sizes[j] <= largest; j++) {
            events_now = sizes[j] * 1000000u;
            if (s->make != NULL) {
                s->make(events_now);
            }
            struct bench_cost cost = bench_in_child(s->work, NULL);
            bool goal = events_now == s->goal_events;
            char figure[96];
            snprintf(figure, sizeof(figure), "%s, %u M events", s->name, sizes[j]);
            bench_row(&(struct bench_row){.figure = figure,
                                          .value = cost.wall_s,
                                          .unit = "s",
                                          .against = "CPU time",
                                          .ratio = cost.wall_s / cost.cpu_s,
                                          .goal = goal ? s->goal : NULL,
                                          .original = goal ? s->original : NULL});
            double per_event_ns = cost.cpu_s * 1e9 / events_now;
            first_ns = j == 0 ? per_event_ns : first_ns;
            bench_figure("... CPU per event", per_event_ns, "ns", "at 1 M", per_event_ns / first_ns, NULL);
            bench_figure("... memory", cost.memory_mib, "MiB", NULL, 0, goal ? s->memory_goal : NULL);
        }
    }
    unlink(path);
    return 0;
}
