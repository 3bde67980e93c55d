/* Python stacks of a program that calls the driver from Python: the right functions, described once. */
#include "agent_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char script[] =
    "import ctypes\n"
    "driver = ctypes.CDLL('libascend_hal.so')\n"
    "hooked = ctypes.CDLL(None)\n"
    "def inner():\n"
    "    p = ctypes.c_void_p()\n"
    "    assert hooked.halMemAlloc(ctypes.byref(p), ctypes.c_ulonglong(4096), ctypes.c_ulonglong(0x4400)) == 0\n"
    "def gr\u00f6\u00dfer():\n"
    "    inner()\n"
    "class Model:\n"
    "    def step(self):\n"
    "        for _ in range(3):\n"
    "            gr\u00f6\u00dfer()\n"
    "Model().step()\n"
    "inner()\n";

static struct seen seen[10000];

static const struct ms_record *definition(struct process *process, enum ms_record_kind kind, uint32_t id)
{
    size_t count = records_of(process, seen, 10000);
    for (size_t i = 0; i < count; i++) {
        if (seen[i].record->kind == kind && seen[i].record->arg == id) {
            return seen[i].record;
        }
    }
    fail_msg("%s %u is missing", ms_record_spec(kind)->name, id);
    return NULL;
}

/* Names of the frames, innermost first, separated by blanks; with the numbers of their first lines. */
static void frames_of(struct process *process, uint32_t id, unsigned version, char *out, size_t out_b)
{
    const struct ms_p_stack *stack = (const void *)(definition(process, MS_R_DEF_PYSTACK, id) + 1);
    const struct ms_frame *frames = (const void *)(stack + 1);
    size_t used = 0;
    out[0] = '\0';
    for (uint32_t i = 0; i < stack->frames; i++) {
        const struct ms_record *code = definition(process, MS_R_DEF_CODE, frames[i].in);
        const struct ms_p_code *p = (const void *)(code + 1);
        const struct ms_text_ref refs[2] = {p->file, p->name};
        assert_string_equal(text_of(process, code, refs, 0), "<string>");
        assert_int_equal(p->version, version);
        assert_true(p->line_table_b > 0);
        used += (size_t)snprintf(out + used, out_b - used, "%s:%u ", text_of(process, code, refs, 1), p->first_line);
    }
}

/* Version of the interpreter, as in records: 0x030b. */
static unsigned version_of(const char *python)
{
    char version[64];
    char *argv[] = {(char *)(uintptr_t)python, "-c",
                    "import sys; print(sys.version_info[0] * 256 + sys.version_info[1])", NULL};
    assert_int_equal(run_program("", NULL, argv, version, sizeof(version)), 0);
    return (unsigned)atoi(version);
}

static void check(const char *python)
{
    enum { OLDEST = 0x0309, QUALIFIED = 0x030b, NEWEST = 0x030d };
    unsigned version = version_of(python);
    char printed[4096], frames[1024];
    char *argv[] = {(char *)(uintptr_t)python, "-c", (char *)(uintptr_t)script, NULL};
    if (run_program(preload_list("ascend_kernel_hook"), session_text(), argv, printed, sizeof(printed)) != 0) {
        fail_msg("%s: %s", python, printed);
    }
    struct process *process = session_wait();
    uint32_t ids[4];
    for (unsigned i = 0; i < 4; i++) {
        const struct ms_record *r;
        next_record(process, MS_R_HAL_ALLOC, &r);
        assert_true((r->flags & MS_RECORD_STACKS) != 0);
        ids[i] =
            ((const struct ms_stack_ids *)(const void *)((const uint64_t *)(const void *)r + r->words - 1))->python;
    }
    if (version < OLDEST || version > NEWEST) {
        assert_int_equal(ids[0], MS_STACK_NO_GIL);
        return;
    }
    assert_int_equal(ids[0], ids[1]);
    assert_int_equal(ids[0], ids[2]);
    assert_int_not_equal(ids[0], ids[3]);
    frames_of(process, ids[0], version, frames, sizeof(frames));
    assert_string_equal(frames, version >= QUALIFIED ? "inner:4 gr\u00f6\u00dfer:7 Model.step:10 <module>:1 "
                                                     : "inner:4 gr\u00f6\u00dfer:7 step:10 <module>:1 ");
    frames_of(process, ids[3], version, frames, sizeof(frames));
    assert_string_equal(frames, "inner:4 <module>:1 ");
}

/* AGENT_TEST_PYTHONS: paths of interpreters, separated by blanks. */
static void names_and_lines(void **state)
{
    static char list[4096];
    const char *others = getenv("AGENT_TEST_PYTHONS");
    snprintf(list, sizeof(list), "%s", others != NULL ? others : "/usr/bin/python3");
    for (char *python = strtok(list, " "); python != NULL; python = strtok(NULL, " ")) {
        check(python);
    }
}

static void configure(struct ms_session *session)
{
    session->python_depth = 20;
}

int main(int argc, char **argv)
{
    session_begin(argv, configure);
    const struct CMUnitTest tests[] = {cmocka_unit_test(names_and_lines)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
