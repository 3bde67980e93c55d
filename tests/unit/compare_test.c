/* SPDX-License-Identifier: Apache-2.0 */
/* Comparison of dumps: memory of operators and steps, and what explains a difference. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "memscope/analyze/compare.h"
#include "memscope/source/source.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HEADER                                                                                                         \
    "ID,Event,Event Type,Name,Timestamp(ns),Process Id,Thread Id,Device Id,Ptr,Attr,Call Stack(Python),Call Stack(C)\n"

/* ---- small dumps ---- */

static char *rows;
static size_t rows_b;
static FILE *rows_file;
static unsigned next_id;

static void begin_dump(void)
{
    rows_file = open_memstream(&rows, &rows_b);
    fputs(HEADER, rows_file);
    next_id = 0;
}

static void row(const char *event, const char *type, const char *name, unsigned tid, const char *ptr, const char *attr,
                const char *stack)
{
    next_id++;
    fprintf(rows_file, "%u,%s,%s,%s,%u,7,%u,0,%s,\"%s\",,\"%s\"\n", next_id, event, type, name, next_id * 10, tid, ptr,
            attr, stack);
}

static void alloc(unsigned addr, unsigned size, unsigned tid, const char *owner, const char *stack)
{
    char ptr[32], attr[128];
    snprintf(ptr, sizeof(ptr), "0x%016x", addr);
    snprintf(attr, sizeof(attr), "{allocation_id:%u,addr:%s,size:%u,owner:%s}", addr, ptr, size, owner);
    row("MALLOC", "PTA", "N/A", tid, ptr, attr, stack);
}

static void release(unsigned addr, unsigned tid)
{
    char ptr[32];
    snprintf(ptr, sizeof(ptr), "0x%016x", addr);
    row("FREE", "PTA", "N/A", tid, ptr, "{}", "");
}

static void op(const char *name, unsigned tid, bool start)
{
    row("OP_LAUNCH", start ? "ATEN_START" : "ATEN_END", name, tid, "N/A", "", "");
}

static void kernel(const char *name, unsigned tid)
{
    row("KERNEL_LAUNCH", "KERNEL_LAUNCH", name, tid, "N/A", "", "");
}

static void step(bool start)
{
    static unsigned range;
    char end[64];
    range = start && next_id == 0 ? 1 : range + start;
    snprintf(end, sizeof(end), "Range end from id %u", range);
    row("MSTX", start ? "Range_start" : "Range_end", start ? "step start" : end, 1, "N/A", "", "");
}

static void end_dump(char path[64])
{
    fclose(rows_file);
    snprintf(path, 64, "/tmp/compare_test.XXXXXX.csv");
    int fd = mkstemps(path, 4);
    assert_true(fd >= 0 && write(fd, rows, rows_b) == (ssize_t)rows_b);
    close(fd);
    free(rows);
}

/* ---- running ---- */

struct reading {
    struct ms_compare *compare;
    struct ms_source *source;
    int side;
};

static int begin_model(void *argument, uint32_t pid, struct ms_model *model)
{
    struct reading *reading = argument;
    (void)pid;
    return ms_compare_begin(reading->compare, reading->side, model, ms_source_stacks(reading->source));
}

static struct ms_compare *start_compare(uint32_t levels, bool legacy, uint32_t base_step, uint32_t other_step)
{
    struct ms_compare_options options = {
        .legacy = legacy, .levels = levels, .steps = {base_step, other_step}, .names = {"one", "two"}};
    struct ms_compare *compare;
    assert_int_equal(ms_compare_new(&options, &compare), 0);
    return compare;
}

static void read_side(struct ms_compare *compare, int side, const char *path, bool legacy)
{
    struct reading reading = {.compare = compare, .side = side};
    assert_int_equal(ms_source_open(path, NULL, &reading.source), 0);
    if (legacy) {
        struct ms_consumer consumer = ms_compare_legacy_rows(compare, side);
        assert_int_equal(ms_source_rows(reading.source, 0, MS_ORDER_TIME, &consumer), 0);
    } else {
        struct ms_source_listener listener = {.argument = &reading, .begin = begin_model};
        struct ms_model_options options;
        ms_compare_model_options(&options);
        assert_int_equal(ms_source_feed(reading.source, 0, &options, &listener), 0);
    }
    ms_source_close(reading.source);
}

static char *written(struct ms_compare *compare, int (*write_to)(const struct ms_compare *compare, int fd))
{
    char path[] = "/tmp/compare_test.XXXXXX";
    int fd = mkstemp(path);
    unlink(path);
    assert_int_equal(write_to(compare, fd), 0);
    off_t size = lseek(fd, 0, SEEK_END);
    char *text = calloc(1, (size_t)size + 1);
    assert_int_equal(pread(fd, text, (size_t)size, 0), size);
    close(fd);
    return text;
}

static char *printed(const struct ms_compare *compare)
{
    char *text;
    size_t text_b;
    FILE *out = open_memstream(&text, &text_b);
    ms_compare_print(compare, out);
    fclose(out);
    return text;
}

/* ---- cases ---- */

static void make_base(char path[64])
{
    begin_dump();
    alloc(1, 4096, 1, "PTA@model@weight", "/lib/libx.so(load+0x10) [0x7f01]\n");
    op("aten.mm", 1, true);
    alloc(2, 1000, 1, "PTA", "/a/app(f+0x1) [0x5501]\n"); /* its result ... */
    alloc(3, 500, 1, "PTA", "");                          /* ... and a temporary block */
    alloc(9, 77, 2, "PTA", "");                           /* of another thread */
    release(3, 1);
    op("aten.mm", 1, false);
    op("aten.add", 1, true);
    release(2, 1);
    op("aten.add", 1, false);
    op("only, base", 1, true);
    op("only, base", 1, false);
    end_dump(path);
}

static void make_other(char path[64])
{
    begin_dump();
    alloc(1, 4096, 1, "PTA@model@weight", "/lib/libx.so(load+0x10) [0x7e01]\n");
    op("aten.mm", 1, true);
    alloc(2, 3000, 1, "PTA", "/b/app(f+0x1) [0x6601]\n");
    alloc(3, 500, 1, "PTA", "");
    release(3, 1);
    op("aten.mm", 1, false);
    op("aten.add", 1, true);
    op("aten.add", 1, false);
    op("new", 1, true);
    op("new", 1, false);
    end_dump(path);
}

static void test_operators(void **state)
{
    (void)state;
    char base[64], other[64];
    make_base(base);
    make_other(other);
    struct ms_compare *compare = start_compare(MS_WANT_OP, false, 0, 0);
    read_side(compare, MS_COMPARE_BASE, base, false);
    read_side(compare, MS_COMPARE_OTHER, other, false);
    assert_int_equal(ms_compare_finish(compare), 0);
    char *csv = written(compare, ms_compare_write);
    assert_string_equal(csv, ",,,Base,Compare\n"
                             "Event,Name,Device Id,Allocated Memory(byte),Allocated Memory(byte),Diff Memory(byte)\n"
                             "OP_LAUNCH,aten.mm,0,1000,3000,2000\n"
                             "OP_LAUNCH,aten.add,0,-1000,0,1000\n"
                             "OP_LAUNCH,\"only, base\",0,0,N/A,0\n"
                             "OP_LAUNCH,new,0,N/A,0,0\n");
    free(csv);
    csv = written(compare, ms_compare_write_items);
    assert_non_null(strstr(csv, "OP_LAUNCH,aten.mm,0,7,0,6,0,1000,3000,2000,1500,3500,2000\n"));
    free(csv);
    char *text = printed(compare);
    assert_non_null(strstr(text, "device 0: 2 items on both sides, 1 only in base, 1 only in compare\n"));
    assert_non_null(strstr(text, "app f  (1000 B -> 2.9 KiB)")); /* the same site in another run */
    assert_null(strstr(text, "load"));                           /* unchanged groups are not shown */
    free(text);
    struct ms_compare_result result;
    ms_compare_result(compare, &result);
    assert_int_equal(result.both, 2);
    assert_int_equal(result.growth_b, 3000 - 77); /* in use at the end */
    ms_compare_free(compare);
    unlink(base);
    unlink(other);
}

/* Kernels: what the thread did since the previous one. First releases: the next size, whatever it is. */
static void test_kernels(void **state)
{
    (void)state;
    char path[64];
    begin_dump();
    alloc(1, 100, 1, "PTA", "");
    kernel("A", 1);
    alloc(2, 50, 1, "PTA", "");
    release(1, 1);
    kernel("B", 1);
    kernel("C", 1);
    end_dump(path);
    for (int legacy = 0; legacy < 2; legacy++) {
        struct ms_compare *compare = start_compare(MS_WANT_KERNEL, legacy, 0, 0);
        read_side(compare, MS_COMPARE_BASE, path, legacy);
        read_side(compare, MS_COMPARE_OTHER, path, legacy);
        assert_int_equal(ms_compare_finish(compare), 0);
        char *csv = written(compare, ms_compare_write);
        assert_non_null(strstr(csv, legacy ? "KERNEL_LAUNCH,A,0,50,50,0\nKERNEL_LAUNCH,B,0,0,0,0\n"
                                           : "KERNEL_LAUNCH,A,0,100,100,0\nKERNEL_LAUNCH,B,0,-50,-50,0\n"));
        free(csv);
        ms_compare_free(compare);
    }
    unlink(path);
}

static void test_steps(void **state)
{
    (void)state;
    char path[64];
    begin_dump();
    alloc(100, 10000, 1, "PTA", "");
    for (unsigned n = 1; n <= 4; n++) {
        step(true);
        kernel("A", 1);
        alloc(n, 100 * n, 1, "PTA@model@activation", "");
        kernel("B", 1);
        if (n != 4) { /* not freed */
            release(n, 1);
        }
        kernel("C", 1);
        step(false);
        kernel("between", 1);
    }
    end_dump(path);
    struct ms_compare *compare = start_compare(MS_WANT_KERNEL, false, 3, 4);
    read_side(compare, MS_COMPARE_BASE, path, false);
    read_side(compare, MS_COMPARE_OTHER, path, false);
    assert_int_equal(ms_compare_finish(compare), 0);
    char *csv = written(compare, ms_compare_write);
    assert_non_null(
        strstr(csv, "KERNEL_LAUNCH,A,0,0,0,0\nKERNEL_LAUNCH,B,0,300,400,100\nKERNEL_LAUNCH,C,0,-300,0,300\n"));
    assert_null(strstr(csv, "between"));
    free(csv);
    struct ms_compare_result result;
    ms_compare_result(compare, &result);
    assert_int_equal(result.growth_b, 400);
    char *text = printed(compare);
    assert_non_null(strstr(text, "+100 B  PTA@model@activation  (300 B -> 400 B)"));
    free(text);
    ms_compare_free(compare);

    /* the first step does not include what happened before it */
    compare = start_compare(MS_WANT_KERNEL, false, 1, 2);
    read_side(compare, MS_COMPARE_BASE, path, false);
    read_side(compare, MS_COMPARE_OTHER, path, false);
    assert_int_equal(ms_compare_finish(compare), 0);
    csv = written(compare, ms_compare_write);
    assert_non_null(strstr(csv, "KERNEL_LAUNCH,A,0,0,0,0\nKERNEL_LAUNCH,B,0,100,200,100\n"));
    free(csv);
    ms_compare_result(compare, &result);
    assert_int_equal(result.growth_b, 100);
    ms_compare_free(compare);

    compare = start_compare(MS_WANT_KERNEL, false, 1, 9);
    read_side(compare, MS_COMPARE_BASE, path, false);
    read_side(compare, MS_COMPARE_OTHER, path, false);
    assert_int_equal(ms_compare_finish(compare), -ENODATA);
    assert_string_equal(ms_compare_error(compare), "two has no kernels (rows KERNEL_LAUNCH) in that step");
    ms_compare_free(compare);
    unlink(path);
}

static uint64_t seed = 42;

static unsigned next_random(unsigned below)
{
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)(seed >> 33) % below;
}

/* No byte is lost: kernels of one thread add up to the bytes in use at the last of them. */
static void test_bytes_are_kept(void **state)
{
    (void)state;
    for (int round = 0; round < 20; round++) {
        char path[64];
        unsigned size_of[64] = {0};
        long long used = 0;
        begin_dump();
        for (int i = 0; i < 400; i++) {
            unsigned addr = 1 + next_random(63);
            if (i % 50 == 10 || i % 50 == 40) {
                step(i % 50 == 10);
            } else if (next_random(4) == 0) {
                kernel("K", 1);
            } else if (size_of[addr] == 0) {
                size_of[addr] = 1 + next_random(1000);
                used += size_of[addr];
                alloc(addr, size_of[addr], 1, "PTA", "");
            } else {
                used -= size_of[addr];
                size_of[addr] = 0;
                release(addr, 1);
            }
        }
        kernel("K", 1);
        end_dump(path);
        struct ms_compare *compare = start_compare(MS_WANT_KERNEL, false, 0, 0);
        read_side(compare, MS_COMPARE_BASE, path, false);
        read_side(compare, MS_COMPARE_OTHER, path, false);
        assert_int_equal(ms_compare_finish(compare), 0);
        char *csv = written(compare, ms_compare_write);
        long long sum = 0, base, other, diff;
        for (const char *at = csv; (at = strstr(at, "KERNEL_LAUNCH,K,0,")) != NULL; at++) {
            assert_int_equal(sscanf(at, "KERNEL_LAUNCH,K,0,%lld,%lld,%lld", &base, &other, &diff), 3);
            assert_true(base == other && diff == 0);
            sum += base;
        }
        assert_true(sum == used);
        free(csv);
        ms_compare_free(compare);
        unlink(path);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_operators), cmocka_unit_test(test_kernels),
                                       cmocka_unit_test(test_steps), cmocka_unit_test(test_bytes_are_kept)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
