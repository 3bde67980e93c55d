/* SPDX-License-Identifier: Apache-2.0 */
/* The report on a trace of 1 M, 3 M and 10 M events: reading, modelling, all analyses, results. Time and memory are
 * those of a separate process.
 *
 * Workload: operators of a training job with a caching pool: begin, two accesses, an allocation, end, a free; steps of
 * 1000 operators; 20,000 live blocks of a few dozen sizes, most of them freed soon, some late. */
#include "bench_child.h"

#include "base/buffer.h"
#include "memscope/analyze/report/report.h"
#include "memscope/render/report_json.h"
#include "memscope/source/source.h"
#include "trace/definitions.h"
#include "trace/drain.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LIVE = 20000, OPS_PER_STEP = 1000, EVENTS_PER_OP = 6, SWEEP_EVERY = 512, NAMES = 40 };

static char directory[64];
static struct ms_shm *shm;

static struct ms_shm *attach(void)
{
    return shm;
}

static uint64_t next_random(void)
{
    static uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

/* ---- records, as hooks write them ---- */

static void mark(const char *text)
{
    struct ms_texts texts = {0};
    struct ms_slot slot;
    ms_texts_add(&texts, text, strlen(text), true);
    struct ms_p_mark *p = ms_rec_begin(&slot, sizeof(*p) + ms_texts_tail_b(&texts), MS_ORDER_PLAIN);
    if (p != NULL) {
        p->stream_id = -1;
        p->text = texts.ref[0];
        ms_texts_put(&texts, p + 1);
        ms_rec_commit(&slot, MS_R_MARK, texts.flags, 0, ms_rec_stamp(&slot));
    }
}

static void step(uint64_t number, bool begins)
{
    struct ms_texts texts = {0};
    struct ms_slot slot;
    if (!begins) {
        struct ms_p_range_end *p = ms_rec_begin(&slot, sizeof(*p), MS_ORDER_PLAIN);
        if (p != NULL) {
            p->range_id = number;
            ms_rec_commit(&slot, MS_R_RANGE_END, 0, 0, ms_rec_stamp(&slot));
        }
        return;
    }
    ms_texts_add(&texts, "step start", 10, true);
    struct ms_p_range_start *p = ms_rec_begin(&slot, sizeof(*p) + ms_texts_tail_b(&texts), MS_ORDER_PLAIN);
    if (p != NULL) {
        *p = (struct ms_p_range_start){.range_id = number, .stream_id = -1, .text = texts.ref[0]};
        ms_texts_put(&texts, p + 1);
        ms_rec_commit(&slot, MS_R_RANGE_START, texts.flags, 0, ms_rec_stamp(&slot));
    }
}

static void use(uint64_t addr, uint64_t size_b, uint32_t type, const char *name)
{
    struct ms_texts texts = {0};
    struct ms_slot slot;
    ms_texts_add(&texts, name, strlen(name), true);
    ms_texts_add(&texts, "", 0, true);
    struct ms_p_access *p = ms_rec_begin(&slot, sizeof(*p) + ms_texts_tail_b(&texts), MS_ORDER_PLAIN);
    if (p != NULL) {
        *p = (struct ms_p_access){
            .addr = addr, .size_b = size_b, .type = type, .name = texts.ref[0], .attributes = texts.ref[1]};
        ms_texts_put(&texts, p + 1);
        ms_rec_commit(&slot, MS_R_ACCESS, texts.flags, MS_POOL_ARG(MS_POOL_PTA, 0), ms_rec_stamp(&slot));
    }
}

static void allocate(uint64_t addr, uint64_t size_b)
{
    struct ms_slot slot;
    struct ms_p_pool_alloc *p = ms_rec_begin(&slot, sizeof(*p), MS_ORDER_ALLOC);
    if (p != NULL) {
        *p = (struct ms_p_pool_alloc){.addr = addr, .size_b = size_b};
        ms_rec_commit(&slot, MS_R_POOL_ALLOC, 0, MS_POOL_ARG(MS_POOL_PTA, 0), ms_rec_stamp(&slot));
    }
}

static void release(uint64_t addr)
{
    struct ms_slot slot;
    struct ms_p_pool_free *p = ms_rec_begin(&slot, sizeof(*p), MS_ORDER_FREE);
    if (p != NULL) {
        p->addr = addr;
        ms_rec_commit(&slot, MS_R_POOL_FREE, 0, MS_POOL_ARG(MS_POOL_PTA, 0), ms_rec_stamp(&slot));
    }
}

struct block {
    uint64_t addr, size_b;
};
static struct block live[LIVE];

static void operate(uint64_t number)
{
    char begin[64], end[64], name[32];
    snprintf(name, sizeof(name), "torch._ops.aten.op%u", (unsigned)(number % NAMES));
    snprintf(begin, sizeof(begin), "memscope-aten-b: name=%s", name);
    snprintf(end, sizeof(end), "memscope-aten-e: name=%s", name);
    uint64_t random = next_random();
    /* Most freed blocks are young: the last entries of the table are reused faster. */
    uint32_t at = random % 8 != 0 ? LIVE - 1 - (uint32_t)(random >> 8) % 64 : (uint32_t)(random >> 8) % LIVE;
    struct block *block = &live[at], *input = &live[LIVE - 1 - (uint32_t)(random >> 40) % 64];
    if (block->size_b != 0) {
        release(block->addr);
    }
    mark(begin);
    if (input->size_b != 0 && input != block) {
        use(input->addr, input->size_b, MS_ACCESS_READ, name);
    }
    *block =
        (struct block){0x124080000000u + (uint64_t)at * (1u << 22), 512 * (1 + (random >> 20) % 48) << (random % 8)};
    allocate(block->addr, block->size_b);
    use(block->addr, block->size_b, MS_ACCESS_WRITE, name);
    mark(end);
}

static void make_trace(uint64_t events)
{
    char command[256];
    int memfd;
    struct ms_writer *writer;
    struct ms_drain *drain;
    snprintf(command, sizeof(command), "rm -rf %s && mkdir %s", directory, directory);
    int dir = system(command) == 0 ? open(directory, O_RDONLY | O_DIRECTORY) : -1;
    shm = ms_shm_create(MS_SHM_USUAL_B, (uint32_t)getpid(), MS_CLOCK_MONOTONIC, &memfd);
    struct ms_process process = {.name = "bench", .pid = (uint32_t)getpid(), .clock_kind = MS_CLOCK_MONOTONIC};
    if (dir < 0 || shm == NULL || ms_writer_open(dir, &process, NULL, &writer) != 0 ||
        ms_drain_open(memfd, writer, &drain) != 0) {
        perror("report_bench");
        exit(1);
    }
    shm->state = MS_STATE_ON;
    ms_producer_setup(attach);
    ms_producer_forked();
    memset(live, 0, sizeof(live));
    for (uint64_t i = 0; i < events / EVENTS_PER_OP; i++) {
        if (i % OPS_PER_STEP == 0) {
            step(i / OPS_PER_STEP + 1, true);
        }
        operate(i);
        if (i % OPS_PER_STEP == OPS_PER_STEP - 1) {
            step(i / OPS_PER_STEP + 1, false);
        }
        if (i % SWEEP_EVERY == 0) {
            ms_drain_sweep(drain);
        }
    }
    ms_drain_finish(drain);
    ms_drain_close(drain);
    ms_writer_close(writer, MS_ENDING_PROCESS);
    ms_producer_forked();
    munmap(shm, shm->size_b);
    close(memfd);
    close(dir);
}

/* ---- the report ---- */

struct reading {
    struct ms_report_builder *builder;
    struct ms_source *source;
};

static int begin_process(void *argument, uint32_t pid, struct ms_model *model)
{
    return ms_report_process_begin(((struct reading *)argument)->builder, pid, model);
}

static int end_process(void *argument, uint32_t pid, struct ms_model *model)
{
    (void)pid;
    struct reading *reading = argument;
    return ms_report_process_end(reading->builder, model, ms_source_stacks(reading->source), "bench", directory,
                                 "trace");
}

static void make_report(const void *argument)
{
    uint64_t events = *(const uint64_t *)argument;
    struct reading reading = {0};
    struct ms_report_options options = {.input = directory};
    struct ms_model_options model;
    struct ms_source_listener listener = {.argument = &reading, .begin = begin_process, .end = end_process};
    ms_report_model_options(&model);
    if (ms_report_begin(&options, &reading.builder) != 0 || ms_source_open(directory, NULL, &reading.source) != 0 ||
        ms_source_feed(reading.source, 0, &model, &listener) != 0) {
        fprintf(stderr, "report_bench: the trace could not be read\n");
        exit(1);
    }
    const struct ms_report *report = ms_report_finish(reading.builder);
    struct ms_buffer json = {0};
    if (report == NULL || report->process_count != 1 || report->partial ||
        report->processes[0].events < events * 9 / 10) {
        fprintf(stderr, "report_bench: events are missing\n");
        exit(1);
    }
    ms_report_json(report, &json);
    if (json.failed) {
        exit(1);
    }
    ms_buffer_free(&json);
    ms_report_free(reading.builder);
    ms_source_close(reading.source);
}

static double measure(uint64_t events, bool goal, double before_ns)
{
    char figure[64];
    make_trace(events);
    struct bench_cost cost = bench_in_child(make_report, &events);
    double each_ns = cost.cpu_s * 1e9 / (double)events;
    snprintf(figure, sizeof(figure), "report on %llu M events", (unsigned long long)(events / 1000000));
    bench_figure(figure, cost.wall_s, "s", before_ns != 0 ? "CPU per event, 1 M" : NULL,
                 before_ns != 0 ? each_ns / before_ns : 0, goal ? "<= 15 s" : NULL);
    bench_figure("... memory", cost.memory_mib, "MiB", NULL, 0, goal ? "<= 1024 MiB" : NULL);
    return each_ns;
}

int main(int argc, char **argv)
{
    snprintf(directory, sizeof(directory), "/tmp/report_bench.%d", (int)getpid());
    double first_ns = measure(1000000, false, 0);
    if (argc < 2 || strcmp(argv[1], "--short") != 0) {
        measure(3000000, false, first_ns);
        measure(10000000, true, first_ns);
    }
    char command[256];
    snprintf(command, sizeof(command), "rm -rf %s", directory);
    return system(command) != 0;
}
