/* SPDX-License-Identifier: Apache-2.0 */
/* Call-stack formats: parsing of stack lines, the sites compared with a reference that copies the live blocks at every
 * peak, and the output for a small history. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "memscope/export/stacks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- lines ---- */

static void lines_are_parsed(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        bool python;
        const char *function, *file;
        uint32_t number;
    } cases[] = {
        {"/lib/x.so(f+0x10) [0x7f12] at src/f.c:39", false, "f", "src/f.c", 39},
        {"/lib/x.so(f+0x10) [0x7f12]", false, "f", "/lib/x.so", 0},
        {"x.so(ns::f(int, char)+0x1) [0x1]", false, "ns::f(int, char)", "x.so", 0},
        {"x.so(operator+(A)+0x1) [0x1] at C:/a.cc:7", false, "operator+(A)", "C:/a.cc", 7},
        {"/lib/x.so(+0x10) [0x7f12]", false, "x.so(+0x10)", "/lib/x.so", 0},
        {"x.so(f) [0x7f12]", false, "f", "x.so", 0},
        {"[0x7f12]", false, "[0x7f12]", "", 0},
        {"f [0x1]", false, "f", "", 0},
        {"f [0x", false, "f [0x", "", 0},
        {"f [0x1] at a.c", false, "f", "a.c", 0},
        {"f [0x1] at a.c:x", false, "f", "a.c", 0},
        {"f [0x1] at a.c:99999999999999999999", false, "f", "a.c", 0},
        {") [0x1]", false, ")", "", 0},
        {"( [0x1]", false, "(", "", 0},
        {"/a b/train.py(12): step", true, "step", "/a b/train.py", 12},
        {"a(1).py(12): <lambda>", true, "<lambda>", "a(1).py", 12},
        {"whatever", true, "whatever", "", 0},
        {"): f", true, "): f", "", 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct ms_text line = {.s = cases[i].line, .length_b = (uint32_t)strlen(cases[i].line)};
        struct ms_call call = ms_call_parse(line, cases[i].python);
        char function[128], file[128];
        snprintf(function, sizeof(function), "%.*s", (int)call.function.length_b, call.function.s);
        snprintf(file, sizeof(file), "%.*s", (int)call.file.length_b, call.file.length_b != 0 ? call.file.s : "");
        assert_string_equal(function, cases[i].function);
        assert_string_equal(file, cases[i].file);
        assert_int_equal(call.line, cases[i].number);
    }
}

/* ---- a history ---- */

static struct ms_text c_stack(void *self, uint32_t id)
{
    (void)self;
    static const char *const stacks[] = {
        "", "x.so(inner+0x1) [0x1] at x.c:300\nx.so(main+0x2) [0x2]\n", /* like 3, except for the address */
        "x.so(other;one+0x1) [0x9]\n\nx.so(main+0x2) [0x2]",
        "x.so(inner+0x5) [0x5] at x.c:300\nx.so(main+0x2) [0x2]\n"};
    const char *text = stacks[id < 4 ? id : 0];
    return (struct ms_text){.s = text, .length_b = (uint32_t)strlen(text)};
}

static struct ms_text python_stack(void *self, uint32_t id)
{
    (void)self;
    static const char text[] = "t.py(2): ste\xffp\nt.py(9): <module>\n";
    return id == 1 ? (struct ms_text){.s = text, .length_b = sizeof(text) - 1} : (struct ms_text){.s = ""};
}

struct history {
    struct ms_model *model;
    struct ms_sites *sites;
    struct ms_consumer consumer;
};

static void begin(struct history *h, int (*write)(void *argument, const struct ms_sites *sites), void *argument)
{
    struct ms_model_options options = MS_MODEL_OPTIONS_DEFAULT;
    struct ms_stack_source stacks = {.c_stack = c_stack, .python_stack = python_stack};
    assert_int_equal(ms_model_new(&options, &h->model), 0);
    assert_int_equal(ms_sites_open(h->model, stacks, write, argument, &h->sites), 0);
    h->consumer = ms_sites_consumer(h->sites);
}

static int end(struct history *h)
{
    int rc = h->consumer.on_close(h->sites);
    ms_sites_free(h->sites);
    ms_model_free(h->model);
    return rc;
}

static void give(struct history *h, const struct ms_block *block)
{
    assert_int_equal(h->consumer.on_malloc(h->sites, block, NULL), 0);
}

static void take(struct history *h, const struct ms_block *block, enum ms_block_end how)
{
    assert_int_equal(h->consumer.on_free(h->sites, block, how, NULL, block->malloc_ns + 1), 0);
}

/* ---- against a reference ---- */

#define BLOCKS 4000
#define STACKS 5
#define OWNERS 3

static struct ms_block blocks[BLOCKS];
static bool is_live[BLOCKS], at_peak[2][BLOCKS];
static uint64_t now_b[2], peak_b[2];

/* A block counts for its last owner, in the set that it belonged to at the last peak of its device. */
static int compare_sites(void *argument, const struct ms_sites *sites)
{
    (void)argument;
    static struct ms_amount expected[2][STACKS][OWNERS][MS_MEASURE_COUNT];
    memset(expected, 0, sizeof(expected));
    for (size_t i = 0; i < BLOCKS; i++) {
        const struct ms_block *block = &blocks[i];
        struct ms_amount *amount = expected[block->device][block->c_stack][block->owner];
        bool counts[] = {[MS_MEASURE_ALLOCATED] = true,
                         [MS_MEASURE_PEAK] = at_peak[block->device][i],
                         [MS_MEASURE_END] = is_live[i]};
        for (unsigned m = 0; m < MS_MEASURE_COUNT; m++) {
            amount[m].objects += counts[m];
            amount[m].bytes += counts[m] ? block->size_b : 0;
        }
    }
    uint64_t sum[2] = {0};
    for (size_t i = 0; i < ms_sites_count(sites); i++) {
        const struct ms_site *site = ms_sites_at(sites, i);
        const struct ms_account *account = ms_sites_account(sites, site->account);
        assert_memory_equal(site->amount, expected[account->device][site->c_stack][site->owner], sizeof(site->amount));
        sum[account->device] += site->amount[MS_MEASURE_PEAK].bytes;
    }
    assert_int_equal(ms_sites_accounts(sites), 2);
    for (unsigned i = 0; i < 2; i++) {
        assert_true(sum[i] == peak_b[i] && peak_b[i] != 0);
    }
    return 0;
}

static void sites_agree_with_copies(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= 5; seed++) {
        struct history h;
        srandom(seed);
        memset(is_live, 0, sizeof(is_live));
        memset(at_peak, 0, sizeof(at_peak));
        memset(now_b, 0, sizeof(now_b));
        memset(peak_b, 0, sizeof(peak_b));
        begin(&h, compare_sites, NULL);
        for (size_t next = 0; next < BLOCKS;) {
            size_t at = next != 0 ? (size_t)random() % next : 0;
            struct ms_block *block = &blocks[at];
            /* more frees than allocations in the last third, so that the peak is not at the end */
            if (next == 0 || random() % 100 < (next < BLOCKS * 2 / 3 ? 40 : 20)) {
                block = &blocks[next];
                *block = (struct ms_block){.allocation_id = next + 1,
                                           .size_b = (uint64_t)(random() % 8 + 1),
                                           .device = (uint32_t)random() % 2,
                                           .c_stack = (uint32_t)random() % STACKS,
                                           .type = MS_TYPE_PTA,
                                           .malloc_ns = next + 1};
                give(&h, block);
                is_live[next++] = true;
                now_b[block->device] += block->size_b;
                if (now_b[block->device] > peak_b[block->device]) {
                    peak_b[block->device] = now_b[block->device];
                    for (size_t i = 0; i < BLOCKS; i++) {
                        at_peak[block->device][i] = is_live[i] && blocks[i].device == block->device;
                    }
                }
            } else if (random() % 3 == 0 && is_live[at]) {
                block->owner = (uint32_t)random() % OWNERS;
                assert_int_equal(h.consumer.on_late(h.sites, block), 0);
            } else if (is_live[at]) {
                take(&h, block, MS_END_FREE);
                is_live[at] = false;
                now_b[block->device] -= block->size_b;
            } else {
                take(&h, block, MS_END_FREE); /* of an unknown block */
                struct ms_block late = *block;
                late.owner = OWNERS - 1;
                assert_int_equal(h.consumer.on_late(h.sites, &late), 0);
            }
        }
        for (size_t i = 0; i < BLOCKS; i++) {
            if (is_live[i]) {
                take(&h, &blocks[i], MS_END_EXIT);
            }
        }
        assert_int_equal(end(&h), 0);
    }
}

/* ---- files ---- */

struct written {
    int (*write)(const struct ms_sites *sites, const char *process, int fd);
    char bytes[8192];
    size_t bytes_b;
};

static int write_file(void *argument, const struct ms_sites *sites)
{
    struct written *written = argument;
    FILE *file = tmpfile();
    assert_non_null(file);
    int rc = written->write(sites, "a \"b\"", fileno(file));
    rewind(file);
    written->bytes_b = fread(written->bytes, 1, sizeof(written->bytes) - 1, file);
    written->bytes[written->bytes_b] = 0;
    fclose(file);
    return rc;
}

/* Peak of npu 0: 1000 + 300 + 24; then 1000 are freed. */
static void write_history(struct written *written)
{
    struct history h;
    struct ms_block a = {.allocation_id = 1, .size_b = 1000, .c_stack = 1, .type = MS_TYPE_PTA, .malloc_ns = 5};
    struct ms_block b = {.allocation_id = 2, .size_b = 300, .c_stack = 2, .type = MS_TYPE_PTA, .malloc_ns = 6};
    struct ms_block c = {.allocation_id = 3, .size_b = 24, .c_stack = 3, .type = MS_TYPE_PTA, .malloc_ns = 7};
    struct ms_block d = {.allocation_id = 4, .size_b = 1, .python_stack = 1, .type = MS_TYPE_HOST, .malloc_ns = 8};
    struct ms_block e = {.allocation_id = 5, .size_b = 2, .type = MS_TYPE_HOST, .malloc_ns = 9};
    d.device = e.device = MS_DEV_CPU;
    e.python_stack = MS_STACK_NO_GIL;
    begin(&h, write_file, written);
    give(&h, &a);
    give(&h, &b);
    b.owner = 1; /* nothing remains of its first site */
    assert_int_equal(h.consumer.on_late(h.sites, &b), 0);
    give(&h, &c);
    give(&h, &d);
    give(&h, &e);
    take(&h, &a, MS_END_FREE);
    assert_int_equal(end(&h), 0);
}

static void collapsed(void **state)
{
    (void)state;
    struct written written = {.write = ms_collapsed_write};
    write_history(&written);
    assert_string_equal(written.bytes, "npu 0;PTA;main;inner 1024\n"
                                       "npu 0;PTA;main;other:one 300\n"
                                       "cpu;HOST;<module>;ste\xef\xbf\xbdp 1\n"
                                       "cpu;HOST;no call stack 2\n");
}

static void speedscope(void **state)
{
    (void)state;
    struct written written = {.write = ms_speedscope_write};
    write_history(&written);
    const char *parts[] = {
        "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",",
        "\"name\":\"a \\\"b\\\"\",\"activeProfileIndex\":0,\"profiles\":[",
        "\"name\":\"npu 0 PTA: live at the peak\",\"samples\":[[0,1],[0,2],[0,1]],\n\"weights\":[1000,300,24],"
        "\"endValue\":1324}",
        "\"name\":\"npu 0 PTA: live at the end\",\"samples\":[[0,2],[0,1]],\n\"weights\":[300,24],\"endValue\":324}",
        "\"name\":\"npu 0 PTA: allocated\",\"samples\":[[0,1],[0,2],[0,1]],\n\"weights\":[1000,300,24],",
        "\"name\":\"cpu HOST: live at the peak\",\"samples\":[[3,4],[5]],\n\"weights\":[1,2],\"endValue\":3}",
        "\"shared\":{\"frames\":[\n{\"name\":\"main\",\"file\":\"x.so\"},\n{\"name\":\"inner\",\"file\":\"x.c\","
        "\"line\":300},\n",
        "{\"name\":\"ste\xef\xbf\xbdp\",\"file\":\"t.py\",\"line\":2}",
    };
    const char *at = written.bytes;
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        const char *found = strstr(at, parts[i]);
        if (found == NULL) {
            fail_msg("missing or out of order: %s\nin %s", parts[i], written.bytes);
        }
        at = found + strlen(parts[i]);
    }
}

/* A decoder of the wire format that is independent of the writer. */
static uint64_t varint(const unsigned char **at, const unsigned char *end_of)
{
    uint64_t number = 0;
    for (unsigned shift = 0;; shift += 7) {
        assert_true(*at < end_of && shift < 64);
        number |= (uint64_t)(**at & 0x7f) << shift;
        if ((*(*at)++ & 0x80) == 0) {
            return number;
        }
    }
}

struct field {
    unsigned number;
    uint64_t value; /* or length */
    const unsigned char *bytes;
};

static bool next_field(const unsigned char **at, const unsigned char *end_of, struct field *out)
{
    if (*at == end_of) {
        return false;
    }
    uint64_t tag = varint(at, end_of);
    *out = (struct field){.number = (unsigned)(tag >> 3), .value = varint(at, end_of)};
    assert_true((tag & 7) == 0 || (tag & 7) == 2);
    if ((tag & 7) == 2) {
        assert_true(out->value <= (uint64_t)(end_of - *at));
        out->bytes = *at;
        *at += out->value;
    }
    return true;
}

static void pprof(void **state)
{
    (void)state;
    static const uint64_t expected[][6] = {/* alloc, inuse, peak: objects and bytes */
                                           {1, 1000, 0, 0, 1, 1000},
                                           {1, 300, 1, 300, 1, 300},
                                           {1, 24, 1, 24, 1, 24},
                                           {1, 1, 1, 1, 1, 1},
                                           {1, 2, 1, 2, 1, 2}};
    static const uint64_t locations[][3] = {{1, 2}, {3, 2}, {1, 2}, {4, 5}, {6}}; /* innermost first */
    static const char *const names[] = {"inner", "main", "other;one", "ste\xef\xbf\xbdp", "<module>", "no call stack"};
    struct written written = {.write = ms_pprof_write};
    write_history(&written);
    const unsigned char *at = (const unsigned char *)written.bytes, *end_of = at + written.bytes_b;
    char strings[64][128] = {{0}};
    unsigned samples = 0, string_count = 0, function_names[16] = {0}, functions = 0, location_count = 0;
    struct field field, inner;
    while (next_field(&at, end_of, &field)) {
        const unsigned char *in = field.bytes, *in_end = in + field.value;
        if (field.number == 6) {
            snprintf(strings[string_count++], 128, "%.*s", (int)field.value, (const char *)field.bytes);
        }
        location_count += field.number == 4;
        while ((field.number == 2 || field.number == 5) && next_field(&in, in_end, &inner)) {
            const unsigned char *packed = inner.bytes;
            for (unsigned i = 0; field.number == 2 && inner.number <= 2 && packed < inner.bytes + inner.value; i++) {
                uint64_t number = varint(&packed, inner.bytes + inner.value);
                assert_int_equal(number, inner.number == 1 ? locations[samples][i] : expected[samples][i]);
            }
            if (field.number == 5 && inner.number == 2) {
                function_names[functions++] = (unsigned)inner.value;
            }
        }
        samples += field.number == 2;
    }
    assert_int_equal(samples, 5);
    assert_int_equal(location_count, 6);
    assert_int_equal(functions, 6);
    assert_string_equal(strings[0], "");
    for (unsigned i = 0; i < functions; i++) {
        assert_string_equal(strings[function_names[i]], names[i]);
    }
}

static void nothing_happened(void **state)
{
    (void)state;
    int (*const writers[])(const struct ms_sites *, const char *, int) = {ms_collapsed_write, ms_speedscope_write,
                                                                          ms_pprof_write};
    for (unsigned i = 0; i < 3; i++) {
        struct written written = {.write = writers[i]};
        struct history h;
        begin(&h, write_file, &written);
        assert_int_equal(end(&h), 0);
        assert_true((written.bytes_b == 0) == (i == 0));
    }
}

static int write_full(void *argument, const struct ms_sites *sites)
{
    struct written *written = argument;
    FILE *full = fopen("/dev/full", "w");
    assert_non_null(full);
    int rc = written->write(sites, NULL, fileno(full));
    fclose(full);
    return rc;
}

static void disk_is_full(void **state)
{
    (void)state;
    int (*const writers[])(const struct ms_sites *, const char *, int) = {ms_collapsed_write, ms_speedscope_write,
                                                                          ms_pprof_write};
    for (unsigned i = 0; i < 3; i++) {
        struct written written = {.write = writers[i]};
        struct ms_block block = {.allocation_id = 1, .size_b = 1, .type = MS_TYPE_PTA, .malloc_ns = 1};
        struct history h;
        begin(&h, write_full, &written);
        give(&h, &block);
        assert_int_equal(end(&h), -ENOSPC);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_parsed),
        cmocka_unit_test(sites_agree_with_copies),
        cmocka_unit_test(collapsed),
        cmocka_unit_test(speedscope),
        cmocka_unit_test(pprof),
        cmocka_unit_test(nothing_happened),
        cmocka_unit_test(disk_is_full),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
