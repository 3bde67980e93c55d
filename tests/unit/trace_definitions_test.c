/* SPDX-License-Identifier: Apache-2.0 */
/* Definitions on the producing side: texts, C and Python stacks, and lost definitions. */
#include "trace_tally.h"

#define TEXTS 20000

static uint64_t marks_seen;
static void look_texts(struct ms_trace *t, const struct ms_event *e)
{
    (void)t;
    if (e->kind == MS_R_MARK) {
        char text[32];
        int length = snprintf(text, sizeof(text), "text number %d", (int)((marks_seen / 2) % TEXTS));
        assert_int_equal(e->text.length_b, length);
        assert_memory_equal(e->text.s, text, (size_t)length);
        marks_seen++;
    }
}

/* Five times more texts than a stream remembers, each twice in a row, in two rounds. */
static void test_texts_beyond_the_table(void **state)
{
    (void)state;
    struct rig rig;
    rig_start(&rig, MS_CLOCK_MONOTONIC);
    marks_seen = 0;
    for (int i = 0; i < 2 * TEXTS; i++) {
        char text[32];
        snprintf(text, sizeof(text), "text number %d", i % TEXTS);
        uint32_t id = ms_def_text(text, strlen(text));
        assert_in_range(id, 1, MS_DEFINITION_IDS);
        assert_int_equal(ms_def_text(text, strlen(text)), id);
        assert_true(rig_mark(text, true));
        assert_true(rig_mark(text, true));
        if (i % 1000 == 0) {
            assert_true(ms_drain_sweep(rig.drain) >= 0);
        }
    }
    finish_and_read(&rig, look_texts);
    assert_int_equal(marks_seen, 4 * TEXTS);
    rig_end(&rig);
}

static char long_text[20000];
static uint64_t long_seen;
static void look_long(struct ms_trace *t, const struct ms_event *e)
{
    (void)t;
    if (e->kind == MS_R_MARK) {
        assert_true(e->flags & MS_RECORD_CUT);
        assert_true(e->text.length_b >= 4096 && e->text.length_b < sizeof(long_text));
        assert_memory_equal(e->text.s, long_text, e->text.length_b);
        long_seen++;
    }
}

static void test_long_texts_are_truncated(void **state)
{
    (void)state;
    struct rig rig;
    rig_start(&rig, MS_CLOCK_MONOTONIC);
    memset(long_text, 'x', sizeof(long_text) - 1);
    long_seen = 0;
    for (int i = 0; i < 3; i++) {
        assert_true(rig_mark(long_text, false));
    }
    finish_and_read(&rig, look_long);
    assert_int_equal(long_seen, 3);
    rig_end(&rig);
}

/* A fake address space: modules of 64 KiB at each multiple of 1 MiB up to 16 MiB; nothing elsewhere. */
static int module_calls;
static const char *module_suffix = "";
static bool find_module(uintptr_t pc, struct ms_module_info *out)
{
    static char path[64];
    uintptr_t base = pc & ~(uintptr_t)0xfffff;
    module_calls++;
    assert_false(rig_number(99)); /* a hook called by the search records nothing */
    if (base == 0 || base > 16u << 20 || pc - base >= 65536) {
        return false;
    }
    snprintf(path, sizeof(path), "/lib/module%d%s.so", (int)(base >> 20), module_suffix);
    *out = (struct ms_module_info){.base = base, .size_b = 65536, .build_id = {1, 2, 3}, .build_id_b = 3, .path = path};
    return true;
}

static int code_calls;
static const char *code_suffix = "";
static bool describe_code(uintptr_t code, struct ms_code_info *out)
{
    static char name[64];
    code_calls++;
    snprintf(name, sizeof(name), "function_%d%s", (int)code, code_suffix);
    *out = (struct ms_code_info){
        .file = "/src/a.py",
        .file_b = 9,
        .name = name,
        .name_b = (uint32_t)strlen(name),
        .first_line = (uint32_t)code * 10,
        .version = 0x030b,
        .line_table = "\x01\x02\x03",
        .line_table_b = 3,
        .own = code == 7,
    };
    return code != 13;
}

static bool record_with_stacks(uint32_t c, uint32_t python)
{
    struct ms_slot slot;
    struct {
        struct ms_p_hal_alloc alloc;
        struct ms_stack_ids stacks;
    } *p = ms_rec_begin(&slot, sizeof(*p), MS_ORDER_ALLOC);
    if (p == NULL) {
        return false;
    }
    p->alloc = (struct ms_p_hal_alloc){.addr = 1, .size_b = 2, .flag = 3};
    p->stacks = (struct ms_stack_ids){.c = c, .python = python};
    ms_rec_commit(&slot, MS_R_HAL_ALLOC, MS_RECORD_STACKS, 0, ms_rec_stamp(&slot));
    return true;
}

static int stacks_seen;
static uint32_t first_c_stack, first_python_stack;
static void look_stacks(struct ms_trace *t, const struct ms_event *e)
{
    const struct ms_frame *frames;
    struct ms_module module;
    struct ms_code code;
    uint32_t cut;
    if (e->kind != MS_R_HAL_ALLOC) {
        return;
    }
    switch (stacks_seen++) {
    case 0:
    case 1:
        assert_int_equal(ms_trace_c_stack(t, e->c_stack, &frames, &cut), 3);
        assert_int_equal(cut, 2);
        assert_int_equal(frames[0].offset, 0x1234);
        assert_true(ms_trace_module(t, frames[0].in, &module));
        assert_int_equal(module.base, 3u << 20);
        assert_int_equal(module.path.length_b, strlen("/lib/module3.so"));
        assert_memory_equal(module.path.s, "/lib/module3.so", module.path.length_b);
        assert_int_equal(module.build_id_b, 3);
        assert_memory_equal(module.build_id, "\1\2\3", 3);
        assert_int_equal(frames[1].in, 0);
        assert_int_equal(frames[1].offset, 0x7f0000001000);
        assert_int_equal(frames[2].in, frames[0].in);
        assert_int_equal(frames[2].offset, 0x10);
        assert_int_equal(ms_trace_python_stack(t, e->python_stack, &frames, &cut), 2);
        assert_int_equal(cut, 0);
        assert_true(ms_trace_code(t, frames[0].in, &code));
        assert_int_equal(code.name.length_b, strlen("function_5"));
        assert_memory_equal(code.name.s, "function_5", code.name.length_b);
        assert_memory_equal(code.file.s, "/src/a.py", 9);
        assert_int_equal(code.first_line, 50);
        assert_int_equal(code.version, 0x030b);
        assert_int_equal(code.line_table_b, 3);
        assert_memory_equal(code.line_table, "\1\2\3", 3);
        assert_int_equal(frames[0].offset, 77);
        assert_int_equal(frames[1].in, 0); /* not describable: the code's address */
        assert_int_equal(frames[1].offset, 13);
        assert_true(stacks_seen == 1 ||
                    e->python_stack == first_python_stack); /* with or without frames of the recorder */
        first_c_stack = e->c_stack;
        first_python_stack = e->python_stack;
        break;
    case 2: /* module and code were replaced by others at the same addresses */
        assert_int_not_equal(e->c_stack, first_c_stack);
        assert_int_equal(ms_trace_c_stack(t, e->c_stack, &frames, NULL), 3);
        assert_true(ms_trace_module(t, frames[0].in, &module));
        assert_memory_equal(module.path.s, "/lib/module3new.so", module.path.length_b);
        assert_int_not_equal(e->python_stack, first_python_stack);
        assert_int_equal(ms_trace_python_stack(t, e->python_stack, &frames, NULL), 2);
        assert_true(ms_trace_code(t, frames[0].in, &code));
        assert_memory_equal(code.name.s, "function_5new", code.name.length_b);
        break;
    case 3:
        assert_int_equal(ms_trace_c_stack(t, e->c_stack, &frames, &cut), MS_FRAMES_MAX);
        assert_int_equal(cut, 500);
        assert_int_equal(e->python_stack, MS_STACK_NO_GIL);
        break;
    case 4: /* the same stack from another stream has the same id */
        assert_int_equal(e->c_stack, first_c_stack);
        break;
    default:
        fail();
    }
}

static const uintptr_t pcs[] = {(3u << 20) + 0x1234, 0x7f0000001000, (3u << 20) + 0x10};
static const struct ms_py_frame py_frames[] = {{.code = 5, .instruction = 77}, {.code = 13, .instruction = 1}};
static const struct ms_py_frame with_own[] = {{.code = 7, .instruction = 1},
                                              {.code = 5, .instruction = 77},
                                              {.code = 7, .instruction = 2},
                                              {.code = 13, .instruction = 1}};

static void *record_stack_elsewhere(void *argument)
{
    (void)argument;
    module_suffix = "";
    require(record_with_stacks(ms_def_c_stack(pcs, 3, 2, find_module, NULL, NULL), 0));
    return NULL;
}

static void test_stacks(void **state)
{
    (void)state;
    struct rig rig;
    rig_start(&rig, MS_CLOCK_MONOTONIC);
    stacks_seen = module_calls = code_calls = 0;
    module_suffix = code_suffix = "";
    struct ms_scratch *scratch = ms_def_scratch();
    assert_non_null(scratch);
    memset(scratch, 0xff, sizeof(*scratch));
    uint32_t c = ms_def_c_stack(pcs, 3, 2, find_module, NULL, NULL);
    uint32_t python = ms_def_python_stack(py_frames, 2, 0, describe_code);
    assert_true(record_with_stacks(c, python));
    assert_int_equal(ms_def_c_stack(pcs, 3, 2, find_module, NULL, NULL), c);
    assert_int_equal(ms_def_python_stack(py_frames, 2, 0, describe_code), python);
    assert_int_equal(module_calls, 2); /* once per stack and module, and for the address without one */
    assert_int_equal(code_calls, 2);
    assert_true(record_with_stacks(c, ms_def_python_stack(with_own, 4, 0, describe_code)));
    assert_int_equal(ms_def_python_stack(with_own, 1, 0, describe_code), 0); /* no frames remain */
    module_suffix = code_suffix = "new";
    ms_def_forget_modules();
    ms_def_forget_code(5);
    assert_true(record_with_stacks(ms_def_c_stack(pcs, 3, 2, find_module, NULL, NULL),
                                   ms_def_python_stack(py_frames, 2, 0, describe_code)));
    for (uintptr_t i = 0; i < MS_FRAMES_MAX; i++) {
        scratch->pcs[i] = (1u << 20) * (1 + i % 15) + i;
    }
    static uintptr_t deep[MS_FRAMES_MAX + 500];
    memcpy(deep, scratch->pcs, sizeof(scratch->pcs));
    assert_true(
        record_with_stacks(ms_def_c_stack(deep, MS_COUNT_OF(deep), 0, find_module, NULL, NULL), MS_STACK_NO_GIL));
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, record_stack_elsewhere, NULL), 0);
    pthread_join(thread, NULL);
    finish_and_read(&rig, look_stacks);
    assert_int_equal(stacks_seen, 5);
    rig_end(&rig);
}

/* Definitions that could not be written are not remembered. */
static uint64_t undefined_seen;
static void look_defined(struct ms_trace *t, const struct ms_event *e)
{
    (void)t;
    if (e->kind == MS_R_MARK) {
        assert_int_equal(e->text.length_b, 4);
        assert_memory_equal(e->text.s, "once", 4);
        undefined_seen++;
    }
}

static void test_lost_definitions(void **state)
{
    (void)state;
    struct rig rig;
    rig_start(&rig, MS_CLOCK_MONOTONIC);
    rig.shm->backlog_max = 1;
    rig.shm->full_wait_ms = 0;
    undefined_seen = 0;
    while (rig_number(1)) {
    }
    assert_int_equal(ms_def_text("once", 4), 0);
    assert_false(rig_mark("once", true));
    assert_true(ms_drain_sweep(rig.drain) > 0);
    assert_true(rig_mark("once", true));
    assert_true(rig_mark("once", true));
    finish_and_read(&rig, look_defined);
    assert_int_equal(undefined_seen, 2);
    rig_end(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts_beyond_the_table),
        cmocka_unit_test(test_long_texts_are_truncated),
        cmocka_unit_test(test_stacks),
        cmocka_unit_test(test_lost_definitions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
