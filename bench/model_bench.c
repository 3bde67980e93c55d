/* SPDX-License-Identifier: Apache-2.0 */
/* The cost of a row from the decoded event to the file: model alone, with CSV, with a database; and the memory of a
 * model with many live blocks. The workload resembles a training step: pool allocations and frees in nearly stack
 * order, some driver memory, kernels. */
#include "bench.h"

#include "memscope/export/dump.h"
#include "memscope/model/model.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define EVENTS 1000000u
#define WINDOW 4096u /* live blocks */

static struct ms_event make_event(uint32_t i)
{
    struct ms_event e = {.index = i,
                         .time_ns = 1700000000000000000ull + i * 700ull,
                         .pid = 4711,
                         .tid = 4711 + i % 8,
                         .text.s = "",
                         .text2.s = ""};
    e.stream = e.tid;
    uint32_t slot = i / 2 % WINDOW;
    uint64_t addr = 0x124000000000ull + (uint64_t)slot * 0x400000;
    if (i < 2 * WINDOW || i % 2 == 1) {
        if (i < 2 * WINDOW && i % 2 == 0) {
            e.kind = MS_R_POOL_TOTAL;
            e.size_b = 1ull << 30;
        } else {
            e.kind = MS_R_POOL_ALLOC;
            e.addr = addr;
            e.size_b = 512u << slot % 12;
        }
    } else {
        e.kind = MS_R_POOL_FREE;
        e.addr = addr;
    }
    e.pool = MS_POOL_PTA;
    e.device = e.kind == MS_R_POOL_FREE ? MS_DEV_UNKNOWN : 0;
    return e;
}

static int count_row(void *self, const struct ms_row *row)
{
    (void)row;
    ++*(uint64_t *)self;
    return 0;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *ftw)
{
    (void)status;
    (void)type;
    (void)ftw;
    return remove(path);
}

/* CPU nanoseconds per row. format -1: the model alone. */
static double run(int format, const struct ms_event *events, double *bytes_per_row)
{
    char dir[] = "/tmp/model_bench.XXXXXX";
    struct ms_model *model;
    struct ms_dump *dump = NULL;
    uint64_t rows = 0;
    if (mkdtemp(dir) == NULL || ms_model_new(NULL, &model) != 0) {
        exit(1);
    }
    struct ms_consumer counter = {.self = &rows, .on_row = count_row};
    ms_model_add(model, &counter);
    if (format >= 0) {
        int dirfd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        struct ms_dump_options options = {.dirfd = dirfd, .dir = dir, .format = (enum ms_dump_format)format};
        if (ms_dump_open(&options, &dump) != 0) {
            exit(1);
        }
        close(dirfd);
        struct ms_consumer consumer = ms_dump_consumer(dump);
        ms_model_add(model, &consumer);
    }
    uint64_t start = ms_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    for (uint32_t i = 0; i < EVENTS; i++) {
        ms_model_feed(model, &events[i]);
    }
    ms_model_end(model);
    if (dump != NULL) {
        struct ms_dump_stats stats;
        ms_dump_flush(dump);
        ms_dump_stats(dump, &stats);
        *bytes_per_row = (double)stats.bytes / (double)stats.rows;
        ms_dump_close(dump);
    }
    double ns = (double)(ms_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - start) / (double)rows;
    ms_model_free(model);
    nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    return ns;
}

static void memory(void)
{
    struct ms_model *model;
    struct ms_model_stats stats;
    if (ms_model_new(NULL, &model) != 0) {
        exit(1);
    }
    for (uint32_t i = 0; i < EVENTS; i++) {
        struct ms_event e = make_event(1);
        e.addr = 0x124000000000ull + (uint64_t)i * 4096;
        e.time_ns += i;
        ms_model_feed(model, &e);
    }
    ms_model_stats(model, &stats);
    bench_figure("model: memory per live block", (double)stats.memory_b / EVENTS, "B", NULL, 0, NULL);
    uint64_t start = ms_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    uint64_t found = ms_model_find(model, MS_SPACE_PTA, 0, 0x124000000010ull) != NULL;
    uint64_t order_ns = ms_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - start;
    start = ms_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    for (uint32_t i = 0; i < EVENTS; i++) {
        uint64_t addr = 0x124000000000ull + (uint64_t)(i * 7919u % EVENTS) * 4096 + 16;
        found += addr % 4096 == 16 && ms_model_find(model, MS_SPACE_PTA, 0, addr) != NULL;
    }
    double find_ns = (double)(ms_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - start) / EVENTS;
    bench_figure("model: find the block around an address, 1 M live", find_ns, "ns", NULL, 0, NULL);
    bench_figure("model: making the order of addresses, per block", (double)order_ns / EVENTS, "ns", NULL, 0, NULL);
    if (found == 0) {
        exit(1);
    }
    ms_model_free(model);
}

int main(void)
{
    struct ms_event *events = malloc(EVENTS * sizeof(*events));
    if (events == NULL) {
        return 1;
    }
    for (uint32_t i = 0; i < EVENTS; i++) {
        events[i] = make_event(i);
    }
    double csv_b = 0, db_b = 0;
    double plain = run(-1, events, &csv_b);
    double csv = run(MS_DUMP_CSV, events, &csv_b);
    double db = run(MS_DUMP_DB, events, &db_b);
    bench_figure("model: CPU per row, no output", plain, "ns", NULL, 0, NULL);
    bench_figure("model + CSV: CPU per row", csv, "ns", "model alone", csv / plain, "<= 400 ns");
    bench_figure("model + database: CPU per row", db, "ns", "model + CSV", db / csv, "<= 1500 ns");
    bench_figure("CSV: bytes per row", csv_b, "B", NULL, 0, NULL);
    bench_figure("database: bytes per row", db_b, "B", NULL, 0, NULL);
    free(events);
    memory();
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    bench_figure("model bench: peak memory", (double)usage.ru_maxrss / 1024, "MiB", NULL, 0, NULL);
    return 0;
}
