/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the interpreter and the memory layout of its objects.
 *
 * From 3.13 on an interpreter publishes the offsets itself (_Py_DebugOffsets, the beginning of _PyRuntime), in an order
 * that differs between minor versions; before that, they are those of its headers. Builds without the GIL have an
 * entirely different layout. */
#include "agent/glibc_floor.h"
#include "agent/python.h"

#include <dlfcn.h>
#include <stdlib.h>

struct ms_python ms_python = {.extra = -1};

/* clang-format off */
static const struct ms_python_layout layouts[] = {
    /*        thread                 frame: code, prev, at, owner                     code: file, name, line, table, start   str     */
    {0x0309, 24, MS_PYTHON_NONE,     32, 24, 104, MS_PYTHON_NONE, MS_PYTHON_BYTES,    104, 112, 40, 120, 0,                  48, 72},
    {0x030a, 24, MS_PYTHON_NONE,     32, 24,  96, MS_PYTHON_NONE, MS_PYTHON_UNITS,    104, 112, 40, 120, 0,                  48, 72},
    {0x030b, 56, 8,                  32, 48,  56, 69,             MS_PYTHON_POINTER,  112, 128, 72, 136, 184,                48, 72},
    {0x030c, 56, 0,                   0,  8,  56, 70,             MS_PYTHON_POINTER,  112, 128, 68, 136, 192,                40, 56},
};

/* Which words of _Py_DebugOffsets hold which offset. */
static const struct debug_offsets {
    uint16_t version;
    uint8_t thread_frame, previous, executable, instruction, owner, file, name, line_table, first_line, start, ascii_size;
} debug_offsets[] = {
    {0x030d, 23, 29, 30, 31, 33, 35, 37, 38, 39, 43, 70},
    {0x030e, 26, 32, 33, 34, 36, 40, 42, 43, 44, 48, 80},
};
/* clang-format on */

static bool published_layout(unsigned version, struct ms_python_layout *out)
{
    static const char cookie[8] = "xdebugpy";
    enum { COOKIE, VERSION, FREE_THREADED };
    const uint64_t *words = dlsym(RTLD_DEFAULT, "_PyRuntime");
    if (words == NULL || memcmp(&words[COOKIE], cookie, sizeof(cookie)) != 0 || words[VERSION] >> 16 != version ||
        words[FREE_THREADED] != 0) {
        return false;
    }
    for (size_t i = 0; i < MS_COUNT_OF(debug_offsets); i++) {
        const struct debug_offsets *t = &debug_offsets[i];
        if (t->version != version) {
            continue;
        }
        enum { UTF8_B = 16 }; /* length and pointer of a str's UTF-8 form, if it has one */
        *out = (struct ms_python_layout){
            .version = t->version,
            .thread_frame = (uint16_t)words[t->thread_frame],
            .cframe_frame = MS_PYTHON_NONE,
            .frame_code = (uint16_t)words[t->executable],
            .frame_previous = (uint16_t)words[t->previous],
            .frame_at = (uint16_t)words[t->instruction],
            .frame_owner = (uint16_t)words[t->owner],
            .at = MS_PYTHON_POINTER,
            .code_file = (uint16_t)words[t->file],
            .code_name = (uint16_t)words[t->name],
            .code_first_line = (uint16_t)words[t->first_line],
            .code_line_table = (uint16_t)words[t->line_table],
            .code_start = (uint16_t)words[t->start],
            .ascii_data = (uint16_t)words[t->ascii_size],
            .compact_data = (uint16_t)(words[t->ascii_size] + UTF8_B),
        };
        return true;
    }
    return false;
}

static bool layout_of(unsigned version, struct ms_python_layout *out)
{
    for (size_t i = 0; i < MS_COUNT_OF(layouts); i++) {
        if (layouts[i].version == version) {
            *out = layouts[i];
            return true;
        }
    }
    return published_layout(version, out);
}

/* "3.11.7 (main, ..." as 0x030b. */
static unsigned version_of(const char *text)
{
    unsigned part[2] = {0, 0};
    for (unsigned i = 0; i < 2; i++) {
        for (; *text >= '0' && *text <= '9'; text++) {
            part[i] = part[i] * 10 + (unsigned)(*text - '0');
        }
        text += *text == '.';
    }
    return part[0] << 8 | (part[1] & 0xff);
}

void *ms_python_symbol(const char *name)
{
    return dlsym != NULL ? dlsym(RTLD_DEFAULT, name) : NULL;
}

/* False: a required one is missing. */
static bool find_functions(struct ms_python *python)
{
    bool all = true;
#define X(result, name, parameters)                                                                                    \
    python->name = (result(*) parameters)dlsym(RTLD_DEFAULT, #name);                                                   \
    all = all && python->name != NULL;
    MS_PYTHON_FUNCTIONS(X)
#undef X
#define X(result, name, parameters) python->name = (result(*) parameters)dlsym(RTLD_DEFAULT, #name);
    MS_PYTHON_SOME_FUNCTIONS(X)
#undef X
    python->code_type = (uintptr_t)dlsym(RTLD_DEFAULT, "PyCode_Type");
    python->text_type = (uintptr_t)dlsym(RTLD_DEFAULT, "PyUnicode_Type");
    python->bytes_type = (uintptr_t)dlsym(RTLD_DEFAULT, "PyBytes_Type");
    python->none = dlsym(RTLD_DEFAULT, "_Py_NoneStruct");
    return all && python->code_type != 0 && python->text_type != 0 && python->bytes_type != 0 && python->none != NULL;
}

/* Of an interpreter that was loaded before the agent. A failed dlsym allocates memory for its error message, and most
 * programs have no interpreter. */
extern const char *Py_GetVersion(void) __attribute__((weak));

void ms_python_find(bool late)
{
    enum { OLDEST = 0x0309 };
    bool there_is = Py_GetVersion != NULL || (late && dlsym != NULL && dlsym(RTLD_DEFAULT, "Py_GetVersion") != NULL);
    if (dlsym == NULL || ms_python.mode != MS_PYTHON_OFF || !there_is) {
        return;
    }
    if (!find_functions(&ms_python)) {
        return;
    }
    const char *text = ms_python.Py_GetVersion();
    unsigned version = version_of(text);
    ms_python.free_threaded = strstr(text, "free-threading") != NULL;
    ms_python.layout_known = !ms_python.free_threaded && layout_of(version, &ms_python.layout);
    /* For tests: an interpreter whose layout is unknown, or does not match its version. */
    const char *test = getenv("MSMEMSCOPE_TEST_PYTHON");
    ms_python.layout_known = ms_python.layout_known && (test == NULL || strcmp(test, "unknown") != 0);
    if (test != NULL && strcmp(test, "moved") == 0) {
        ms_python.layout.frame_code = (uint16_t)(ms_python.layout.frame_code + sizeof(void *));
    } else if (test != NULL && strcmp(test, "wild") == 0) {
        ms_python.layout.frame_previous = (uint16_t)(ms_python.layout.frame_previous + 5);
    } else if (test != NULL && strcmp(test, "late") == 0) {
        ms_python.layout.frame_at = (uint16_t)(ms_python.layout.frame_at - sizeof(void *));
    }
    if (version >= OLDEST) {
        __atomic_store_n(&ms_python.mode, ms_python.layout_known ? MS_PYTHON_RAW : MS_PYTHON_API, __ATOMIC_RELEASE);
    }
}
