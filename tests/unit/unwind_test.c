/* SPDX-License-Identifier: Apache-2.0 */
/* Unwind tables: those written by this system's compilers are understood, at every kind of position. agent_stack_test.c
 * compares the resulting stacks with the C library's. */
#include "agent/unwind_table.h"

#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
// cmocka needs the headers above
#include <cmocka.h>

struct counts {
    unsigned modules, functions, places, ends, by_frame_pointer;
};

/* Several positions in every function: at its start, where its frame is being set up, and further on. */
static void look_at_table(const uint8_t *table, struct counts *counts)
{
    uint32_t count;
    memcpy(&count, table + 8, sizeof(count));
    for (uint32_t i = 0; i < count; i++) {
        int32_t pair[2]; /* its start, and its entry: length, back pointer, start, length of the function */
        uint32_t entry[4];
        memcpy(pair, table + 12 + 8 * i, sizeof(pair));
        memcpy(entry, table + pair[1], sizeof(entry));
        int32_t begin = pair[0], end = pair[0] + (int32_t)(entry[3] < 4096 ? entry[3] : 4096);
        counts->functions++;
        for (int32_t at = begin; at < end; at += at < begin + 32 ? 1 : 61) {
            struct ms_unwind_rule rule = ms_unwind_table_look(table, (uintptr_t)(table + at) + 1);
            assert_true(rule.known);
            counts->places++;
            counts->ends += rule.last;
            counts->by_frame_pointer += rule.uses_fp;
        }
    }
}

static int look_at_module(struct dl_phdr_info *info, size_t info_b, void *counts)
{
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type == PT_GNU_EH_FRAME) {
            ((struct counts *)counts)->modules++;
            look_at_table((const uint8_t *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr), counts);
        }
    }
    return 0;
}

static void every_function_is_understood(void **state)
{
    struct counts counts = {0};
    dl_iterate_phdr(look_at_module, &counts);
    assert_true(counts.modules >= 3 && counts.functions > 1000);
    assert_true(counts.by_frame_pointer > 0);
    print_message("%u functions, %u places, %u of them ends\n", counts.functions, counts.places, counts.ends);
    assert_true(counts.ends < counts.places / 200); /* first frames of threads, and linkage tables */
}

static void no_table_no_rule(void **state)
{
    static const uint8_t none[64] = {1, 0x1b, 0x03, 0x3b}, other[64] = {2, 0x1b, 0x03, 0x3b},
                         absolute[64] = {1, 0x1b, 0x03, 0x04};
    assert_true(ms_unwind_table_look(NULL, 4711).last);
    assert_true(ms_unwind_table_look(none, (uintptr_t)none + 8).last);
    assert_true(ms_unwind_table_look(other, (uintptr_t)other + 8).last);
    assert_true(ms_unwind_table_look(absolute, (uintptr_t)absolute + 8).last);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_function_is_understood),
        cmocka_unit_test(no_table_no_rule),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
