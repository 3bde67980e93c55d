/* SPDX-License-Identifier: Apache-2.0 */
/* Reading and comparing dumps: bytes per second of the CSV reader, and two dumps in which a tenth of the kernels have
 * different names (names that only one side has, and names that occur elsewhere on the other side), at several
 * sizes. */
#include "bench_child.h"
#include "dump.h"

#include "memscope/analyze/compare.h"
#include "memscope/source/source.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char paths[2][64];

/* Rows as the original writes them: allocation, free, two kernels; ids are shuffled within `shuffle` rows. */
static void make_dump(const char *path, unsigned rows, unsigned seed, unsigned shuffle)
{
    static const char *const names[] = {"Add", "LayerNormV3", "FlashAttentionScore", "Cast", "TransData", "MatMulV2"};
    FILE *file = bench_dump(path);
    uint64_t random = seed;
    for (unsigned n = 0; n < rows; n++) {
        unsigned i = n / shuffle * shuffle + (shuffle - 1 - n % shuffle);
        random = random * 6364136223846793005ull + 1442695040888963407ull;
        unsigned block = i / 4, changed = (unsigned)(random >> 40) % 10, which = (unsigned)(random >> 33) % 50000;
        unsigned long long time_ns = 1794772362546442612ull + i * 1000ull,
                           addr = 0x124000000000ull + block % 5000 * 4096ull;
        if (i % 4 < 2) {
            fprintf(file,
                    "%u,%s,PTA,N/A,%llu,1,1,0,0x%016llx,\"{allocation_id:%u,addr:0x%016llx,size:%u,total:1073741824,"
                    "used:512}\",,\n",
                    i, i % 4 == 0 ? "MALLOC" : "FREE", time_ns, addr, block + 1, addr, 512 * (block % 7 + 1));
        } else {
            char name[64];
            snprintf(name, sizeof(name), changed == 0 ? "%s_%u" : "%s", names[i % 6], which);
            fprintf(file, "%u,KERNEL_LAUNCH,KERNEL_LAUNCH,%s,%llu,1,1,0,N/A,\"{streamId:3,taskId:%u}\",,\n", i, name,
                    time_ns, i % 65536);
        }
    }
    fclose(file);
}

static int begin_model(void *argument, uint32_t pid, struct ms_model *model)
{
    (void)pid;
    struct ms_compare **compare = argument;
    static int side;
    return ms_compare_begin(*compare, side++, model, (struct ms_stack_source){0});
}

static void compare_dumps(const void *unused)
{
    (void)unused;
    struct ms_compare *compare;
    struct ms_compare_options options = {.levels = MS_WANT_KERNEL, .names = {paths[0], paths[1]}};
    if (ms_compare_new(&options, &compare) != 0) {
        exit(1);
    }
    for (int side = 0; side < 2; side++) {
        struct ms_source *source;
        struct ms_source_listener listener = {.argument = &compare, .begin = begin_model};
        struct ms_model_options model;
        ms_compare_model_options(&model);
        if (ms_source_open(paths[side], NULL, &source) != 0 || ms_source_feed(source, 0, &model, &listener) != 0) {
            exit(1);
        }
        ms_source_close(source);
    }
    struct ms_compare_result result;
    int out = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (ms_compare_finish(compare) != 0 || ms_compare_write(compare, out) != 0) {
        exit(1);
    }
    ms_compare_result(compare, &result);
    if (result.both < result.items[0] * 78 / 100) { /* 81 in 100 have equal names in the same position */
        fprintf(stderr, "compare_bench: only %llu of %llu items were found on both sides\n",
                (unsigned long long)result.both, (unsigned long long)result.items[0]);
        exit(1);
    }
    ms_compare_free(compare);
    close(out);
}

static void measure(unsigned rows, bool goal)
{
    char figure[96];
    for (unsigned side = 0; side < 2; side++) {
        make_dump(paths[side], rows, side + 1, 1);
    }
    struct bench_cost cost = bench_in_child(compare_dumps, NULL);
    snprintf(figure, sizeof(figure), "compare of %u k rows each, 10 %% other names", rows / 1000);
    bench_figure(figure, cost.wall_s, "s", "CPU time", cost.wall_s / cost.cpu_s, goal ? "<= 10 s" : NULL);
    bench_figure("... memory", cost.memory_mib, "MiB", NULL, 0, goal ? "<= 476 MiB" : NULL);
}

static int count_row(void *self, const struct ms_row *row)
{
    *(uint64_t *)self += row->id;
    return 0;
}

struct reading {
    enum ms_source_order order;
};

static void read_dump(void *argument)
{
    const struct reading *reading = argument;
    struct ms_source *source;
    uint64_t sum = 0;
    struct ms_consumer consumer = {.self = &sum, .on_row = count_row};
    if (ms_source_open(paths[0], NULL, &source) != 0 || ms_source_rows(source, 0, reading->order, &consumer) != 0) {
        exit(1);
    }
    ms_source_close(source);
}

static void measure_reading(void)
{
    struct stat st;
    for (unsigned shuffle = 1; shuffle <= 1000; shuffle *= 1000) {
        make_dump(paths[0], 1000000, 1, shuffle);
        stat(paths[0], &st);
        struct reading written = {MS_ORDER_AS_WRITTEN}, sorted = {MS_ORDER_ID};
        double plain_ns = bench_best_ns(read_dump, &written, 2);
        double sorted_ns = bench_best_ns(read_dump, &sorted, 2);
        if (shuffle == 1) {
            bench_figure("reading a CSV dump", (double)st.st_size / plain_ns * 1e3, "MB/s", NULL, 0, "100 MB/s");
        }
        bench_figure(shuffle == 1 ? "... in order of ids, which it has" : "... in order of ids, sorted",
                     (double)st.st_size / sorted_ns * 1e3, "MB/s", "as written", sorted_ns / plain_ns, NULL);
    }
}

int main(void)
{
    for (int side = 0; side < 2; side++) {
        snprintf(paths[side], sizeof(paths[side]), "/tmp/compare_bench.%d.%d.csv", (int)getpid(), side);
    }
    measure_reading();
    measure(300000, false);
    measure(1000000, true);
    measure(3000000, false);
    unlink(paths[0]);
    unlink(paths[1]);
    return 0;
}
