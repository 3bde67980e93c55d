/* SPDX-License-Identifier: Apache-2.0 */
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

enum { OLDEST = 0x0309, QUALIFIED = 0x030b, NEWEST = 0x030e }; /* in 3.9 the line table of a single line is empty */

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

/* A stack as text: "name:first line:line ..." innermost first, the line only if the code has no line table. */
static void frames_of(struct process *process, uint32_t id, char *out, size_t out_b, unsigned *version)
{
    const struct ms_p_stack *stack = (const void *)(definition(process, MS_R_DEF_PYSTACK, id) + 1);
    const struct ms_frame *frames = (const void *)(stack + 1);
    size_t used = 0;
    out[0] = '\0';
    for (uint32_t i = 0; i < stack->frames; i++) {
        const struct ms_record *code = definition(process, MS_R_DEF_CODE, frames[i].in);
        const struct ms_p_code *p = (const void *)(code + 1);
        const struct ms_text_ref refs[2] = {p->file, p->name};
        char file[64];
        snprintf(file, sizeof(file), "%s", text_of(process, code, refs, 0));
        *version = p->version;
        assert_true(p->version == 0 ? p->line_table_b == 0 : p->line_table_b > 0 || p->version == OLDEST);
        used += (size_t)snprintf(
            out + used, out_b - used, "%s%s:%lu ", strcmp(file, "<string>") == 0 ? "" : strcat(file, "/"),
            text_of(process, code, refs, 1), (unsigned long)(p->version != 0 ? p->first_line : frames[i].offset));
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

static struct process *run_python(const char *python, const char *source)
{
    char printed[4096];
    char *argv[] = {(char *)(uintptr_t)python, "-c", (char *)(uintptr_t)source, NULL};
    if (run_program(preload_list("ascend_kernel_hook"), session_text(), argv, printed, sizeof(printed)) != 0) {
        fail_msg("%s: %s", python, printed);
    }
    return session_wait();
}

static uint32_t next_stack(struct process *process)
{
    const struct ms_record *r;
    next_record(process, MS_R_HAL_ALLOC, &r);
    assert_true((r->flags & MS_RECORD_STACKS) != 0);
    return ((const struct ms_stack_ids *)(const void *)((const uint64_t *)(const void *)r + r->words - 1))->python;
}

/* AGENT_TEST_PYTHONS: paths of interpreters, separated by blanks. */
static void with_each(void (*check)(const char *python, unsigned version))
{
    static char list[4096];
    const char *others = getenv("AGENT_TEST_PYTHONS");
    snprintf(list, sizeof(list), "%s", others != NULL ? others : "/usr/bin/python3");
    for (char *python = strtok(list, " "); python != NULL; python = strtok(NULL, " ")) {
        check(python, version_of(python));
    }
}

static const char *deep(unsigned version)
{
    return version >= QUALIFIED ? "inner:4 gr\u00f6\u00dfer:7 Model.step:10 <module>:1 "
                                : "inner:4 gr\u00f6\u00dfer:7 step:10 <module>:1 ";
}

static void check_names(const char *python, unsigned version)
{
    struct process *process = run_python(python, script);
    char frames[1024];
    uint32_t ids[4];
    unsigned found;
    for (unsigned i = 0; i < 4; i++) {
        ids[i] = next_stack(process);
    }
    if (version < OLDEST || version > NEWEST) {
        assert_int_equal(ids[0], MS_STACK_NO_GIL);
        return;
    }
    assert_int_equal(ids[1], ids[2]); /* the first may precede the interpreter's reports about code objects */
    assert_int_not_equal(ids[1], ids[3]);
    for (unsigned i = 0; i < 2; i++) {
        frames_of(process, ids[i], frames, sizeof(frames), &found);
        assert_string_equal(frames, deep(version));
        assert_int_equal(found, version);
    }
    frames_of(process, ids[3], frames, sizeof(frames), &found);
    assert_string_equal(frames, "inner:4 <module>:1 ");
}

static void names_and_lines(void **state)
{
    with_each(check_names);
}

/* ---- interpreters that do not match their version ---- */

static const char *replaced(const char *text, const char *old, const char *new)
{
    static char out[4096];
    const char *at = strstr(text, old);
    assert_non_null(at);
    snprintf(out, sizeof(out), "%.*s%s%s", (int)(at - text), text, new, at + strlen(old));
    return out;
}

static void check_unknown(const char *python, unsigned version)
{
    static const char *const kinds[] = {"unknown", "moved", "wild"};
    if (version < OLDEST || version > NEWEST) {
        return;
    }
    for (unsigned i = 0; i < 3; i++) {
        char frames[1024];
        unsigned found;
        setenv("MSMEMSCOPE_TEST_PYTHON", kinds[i], 1);
        struct process *process = run_python(python, script); /* calls without the GIL */
        assert_int_equal(next_stack(process), MS_STACK_NO_GIL);
        process = run_python(python, replaced(script, "CDLL(None)", "PyDLL(None)"));
        frames_of(process, next_stack(process), frames, sizeof(frames), &found);
        assert_int_equal(found, 0);
        assert_string_equal(frames, version >= QUALIFIED ? "inner:6 gr\u00f6\u00dfer:8 Model.step:12 <module>:13 "
                                                         : "inner:6 gr\u00f6\u00dfer:8 step:12 <module>:13 ");
        unsetenv("MSMEMSCOPE_TEST_PYTHON");
    }
}

static void unknown_layouts(void **state)
{
    with_each(check_unknown);
}

/* Objects have the right types, but instructions are elsewhere: only the comparison with the interpreter's own
 * functions can detect that. */
static void check_comparison(const char *python, unsigned version)
{
    if (version < QUALIFIED || version > NEWEST) {
        return;
    }
    unsigned found = 1;
    char frames[1024];
    setenv("MSMEMSCOPE_TEST_PYTHON", "late", 1);
    struct process *process = run_python(python, replaced(script, "CDLL(None)", "PyDLL(None)"));
    unsetenv("MSMEMSCOPE_TEST_PYTHON");
    next_record(process, MS_R_HAL_ALLOC, NULL); /* before the main thread could compare: any stack, or none */
    next_record(process, MS_R_LOG, NULL);
    for (unsigned i = 0; i < 2; i++) {
        frames_of(process, next_stack(process), frames, sizeof(frames), &found);
        assert_int_equal(found, 0);
    }
    assert_non_null(strstr(frames, "gr\u00f6\u00dfer:8"));
}

static void comparison_with_functions(void **state)
{
    with_each(check_comparison);
}

/* ---- short-lived code objects, interpreter exit ---- */

enum { GENERATIONS = 60, CALLS = 2 }; /* the second call is of a known code object */

static const char short_lived[] =
    "import ctypes, atexit\n"
    "driver = ctypes.CDLL('libascend_hal.so')\n"
    "hooked = ctypes.CDLL(None)\n"
    "def call():\n"
    "    p = ctypes.c_void_p()\n"
    "    hooked.halMemAlloc(ctypes.byref(p), ctypes.c_ulonglong(4096), ctypes.c_ulonglong(0x4400))\n"
    "atexit.register(call)\n"
    "addresses = set()\n"
    "for i in range(60):\n"
    "    code = compile('call(); call()', 'file%02d' % i, 'exec')\n"
    "    addresses.add(id(code))\n"
    "    exec(code)\n"
    "    del code\n"
    "assert len(addresses) < 50, len(addresses)\n";

static void check_addresses(const char *python, const char *source)
{
    struct process *process = run_python(python, source);
    for (unsigned i = 0; i < GENERATIONS * CALLS; i++) {
        char frames[1024], expected[64];
        unsigned found;
        frames_of(process, next_stack(process), frames, sizeof(frames), &found);
        snprintf(expected, sizeof(expected), "call:4 file%02u/<module>:1 <module>:1 ", i / CALLS);
        assert_string_equal(frames, expected);
    }
    assert_int_equal(next_stack(process), MS_STACK_NO_GIL); /* from atexit, after the interpreter's exit was reported */
}

/* Code objects are followed by the main thread soon, or by the thread itself if it has the GIL. */
static void check_short_lived(const char *python, unsigned version)
{
    if (version < OLDEST || version > NEWEST) {
        return;
    }
    check_addresses(python, short_lived);
    check_addresses(python, replaced(short_lived, "CDLL(None)", "PyDLL(None)"));
}

static void reused_addresses(void **state)
{
    with_each(check_short_lived);
}

static void configure(struct ms_session *session)
{
    session->python_depth = 20;
}

int main(int argc, char **argv)
{
    session_begin(argv, configure);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_and_lines),
        cmocka_unit_test(unknown_layouts),
        cmocka_unit_test(comparison_with_functions),
        cmocka_unit_test(reused_addresses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
