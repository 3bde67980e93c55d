/* SPDX-License-Identifier: Apache-2.0 */
/* Python stacks, read from the calling thread's own chain of frames without the interpreter's help.
 *
 * A hook must not take the GIL (another thread may hold it and wait for the allocator lock that we are under) and must
 * not call Python. It need not: a thread's chain cannot change while that thread is in our C code, so (code object,
 * instruction) pairs can be read raw. A code object is described when its stack is seen for the first time, while a
 * frame keeps it alive: file, qualified name, first line, line table. Its address may be reused by another code object
 * later: the interpreter reports that (python_setup.c), for all code objects or for those that we follow; for the
 * others the upper 16 bits of "code" are a fingerprint of the contents.
 *
 * An interpreter with an unknown layout is queried through its own functions, which need the GIL: without it there is
 * no stack. Frames then carry lines instead of instructions (version 0). */
#include "agent/glibc_floor.h"
#include "agent/stacks.h"

#include "agent/python.h"

void ms_stack_python_load(bool late)
{
    ms_python_find(late);
}

/* ---- code objects ---- */

/* The same in all versions. */
enum { BYTES_LENGTH = 16, BYTES_DATA = 32, TEXT_LENGTH = 16, TEXT_STATE = 32 };

/* Length and last characters of a str: file names differ there. (The object's head precedes its characters.) */
static uint64_t tail_of(uintptr_t text)
{
    size_t length = ms_python_word(text, TEXT_LENGTH);
    uint64_t tail;
    memcpy(&tail, (const void *)(text + ms_python.layout.ascii_data + length - sizeof(tail)), sizeof(tail));
    return tail + length;
}

static uintptr_t with_fingerprint(const struct ms_python_layout *layout, uintptr_t code)
{
    const uint64_t factor = 0x9e3779b97f4a7c15ull;
    uintptr_t table = ms_python_word(code, layout->code_line_table);
    uintptr_t file = ms_python_word(code, layout->code_file);
    uint64_t mixed = (file ^ tail_of(file)) * factor;
    mixed = (mixed ^ ms_python_word(code, layout->code_name)) * factor;
    mixed = (mixed ^ table ^ *(const uint32_t *)(code + layout->code_first_line)) * factor;
    mixed = (mixed ^ ms_python_word(table, BYTES_LENGTH) ^ *(const uint32_t *)(table + BYTES_DATA)) * factor;
    return MS_PYTHON_ADDRESS(code) | (mixed >> 48) << 48;
}

/* Encodes a character as UTF-8; returns the bytes written. Bytes of a file name that are not UTF-8 are lone surrogates
 * in a str, which are not characters. */
static size_t put_utf8(char *out, uint32_t c)
{
    c = c >= 0xd800 && c < 0xe000 ? '?' : c;
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    size_t more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    static const unsigned char first[] = {0, 0xc0, 0xe0, 0xf0};
    out[0] = (char)(first[more] | c >> (6 * more));
    for (size_t i = 1; i <= more; i++) {
        out[i] = (char)(0x80 | (c >> (6 * (more - i)) & 0x3f));
    }
    return more + 1;
}

/* Buffers for converting non-ASCII texts. The callback that needs one has no per-thread memory; a text could be
 * corrupted only if more threads than there are buffers defined such names at the same moment. */
#define PLACES  64u
#define PLACE_B 2048u
static char places[PLACES][PLACE_B];

static char *place(void)
{
    static uint32_t next;
    return places[__atomic_fetch_add(&next, 1, __ATOMIC_RELAXED) % PLACES];
}

/* Text of a str object: in place if it is ASCII, else converted. */
static const char *text_at(const struct ms_python_layout *layout, uintptr_t object, uint32_t *length_b)
{
    enum { KIND_AT = 2, COMPACT = 1 << 5, ASCII = 1 << 6 };
    size_t length = ms_python_word(object, TEXT_LENGTH), used = 0;
    uint32_t state = *(const uint32_t *)(object + TEXT_STATE);
    *length_b = 0;
    if ((state & COMPACT) == 0 || length > MS_TEXT_MAX_B) {
        return "";
    }
    if ((state & ASCII) != 0) {
        *length_b = (uint32_t)length;
        return (const char *)(object + layout->ascii_data);
    }
    char *out = place();
    const void *data = (const void *)(object + layout->compact_data);
    unsigned kind = state >> KIND_AT & 7;
    for (size_t i = 0; i < length && used + 4 <= PLACE_B; i++) {
        uint32_t c = kind == 1   ? ((const uint8_t *)data)[i]
                     : kind == 2 ? ((const uint16_t *)data)[i]
                                 : ((const uint32_t *)data)[i];
        used += put_utf8(out + used, c);
    }
    *length_b = (uint32_t)used;
    return out;
}

bool ms_python_raw_describe(uintptr_t code, struct ms_code_info *out)
{
    const struct ms_python_layout *layout = &ms_python.layout;
    uintptr_t object = MS_PYTHON_ADDRESS(code), table = ms_python_word(object, layout->code_line_table);
    *out = (struct ms_code_info){
        .first_line = *(const uint32_t *)(object + layout->code_first_line),
        .version = layout->version,
        .line_table = (const void *)(table + BYTES_DATA),
        .line_table_b = (uint32_t)ms_python_word(table, BYTES_LENGTH),
    };
    out->file = text_at(layout, ms_python_word(object, layout->code_file), &out->file_b);
    out->name = text_at(layout, ms_python_word(object, layout->code_name), &out->name_b);
    return true;
}

static void mark_own(struct ms_code_info *info)
{
    info->own = ms_python_is_own(info->file, info->file_b);
}

static bool describe(uintptr_t code, struct ms_code_info *out)
{
    ms_python_follow(MS_PYTHON_ADDRESS(code));
    bool known = ms_python_raw_describe(code, out);
    mark_own(out);
    return known;
}

/* ---- raw ---- */

/* Frames that represent C code between Python frames. */
enum { OWNED_BY_C = 3 };

/* Bytes from the start of the code; negative: the frame has not started, or represents C code. */
static inline int64_t instruction_of(const struct ms_python_layout *layout, uintptr_t frame, uintptr_t code)
{
    if (layout->at == MS_PYTHON_POINTER) {
        return *(const uint8_t *)(frame + layout->frame_owner) >= OWNED_BY_C
                   ? -1
                   : (int64_t)(ms_python_word(frame, layout->frame_at) - (code + layout->code_start));
    }
    return (int64_t) * (const int32_t *)(frame + layout->frame_at) * (layout->at == MS_PYTHON_UNITS ? 2 : 1);
}

uint32_t ms_python_raw_frames(uintptr_t thread, struct ms_py_frame *out, uint32_t depth, uint32_t *cut)
{
    const struct ms_python_layout layout = ms_python.layout;
    const uintptr_t tags = 3; /* 3.14 tags references in their low bits */
    bool all_reported = __atomic_load_n(&ms_python.reports_ends, __ATOMIC_RELAXED) != 0;
    uintptr_t frame = ms_python_word(thread, layout.thread_frame);
    if (frame != 0 && layout.cframe_frame != MS_PYTHON_NONE) {
        frame = ms_python_word(frame, layout.cframe_frame);
    }
    uint32_t count = 0;
    *cut = 0;
    for (; frame != 0; frame = ms_python_word(frame, layout.frame_previous)) {
        uintptr_t code = ms_python_word(frame, layout.frame_code) & ~tags;
        int64_t instruction = code != 0 ? instruction_of(&layout, frame, code) : -1;
        if (instruction < 0) {
            continue;
        }
        if (count == depth) {
            *cut = 1;
            break;
        }
        bool reported = all_reported || __atomic_load_n(ms_python_followed_at(code), __ATOMIC_RELAXED) == code;
        out[count].code = MS_LIKELY(reported) ? code : with_fingerprint(&layout, code);
        out[count++].instruction = (uint64_t)instruction;
    }
    return count;
}

/* ---- by the interpreter's functions ---- */

/* A str without a UTF-8 form, with question marks as in put_utf8. */
static const char *text_replaced(void *text, uint32_t *length_b)
{
    ms_python.PyErr_Clear();
    void *bytes = ms_python.PyUnicode_AsEncodedString(text, "utf-8", "replace");
    char *its, *out = NULL;
    ssize_t its_b;
    if (bytes != NULL && ms_python.PyBytes_AsStringAndSize(bytes, &its, &its_b) == 0) {
        size_t used = (size_t)its_b;
        if (used > PLACE_B) {
            for (used = PLACE_B; (its[used] & 0xc0) == 0x80; used--) { /* not in the middle of a character */
            }
        }
        out = memcpy(place(), its, used);
        *length_b = (uint32_t)used;
    }
    if (bytes != NULL) {
        ms_python.Py_DecRef(bytes);
    }
    return out;
}

const char *ms_python_text(void *text, uint32_t *length_b)
{
    ssize_t its_b = 0;
    const char *its = ms_python.PyUnicode_AsUTF8AndSize(text, &its_b);
    *length_b = (uint32_t)its_b;
    return its != NULL ? its : text_replaced(text, length_b);
}

const char *ms_python_attribute(void *object, const char *name, uint32_t *length_b)
{
    void *value = ms_python.PyObject_GetAttrString(object, name);
    const char *text = value != NULL ? ms_python_text(value, length_b) : NULL;
    if (value != NULL) {
        ms_python.Py_DecRef(value);
    }
    *length_b = text != NULL ? *length_b : 0;
    return text != NULL ? text : "";
}

static bool describe_by_functions(uintptr_t code, struct ms_code_info *out)
{
    *out = (struct ms_code_info){.version = 0};
    out->file = ms_python_attribute((void *)code, "co_filename", &out->file_b);
    out->name = ms_python_attribute((void *)code, "co_qualname", &out->name_b);
    if (out->name_b == 0) {
        out->name = ms_python_attribute((void *)code, "co_name", &out->name_b);
    }
    mark_own(out);
    ms_python_follow(code);
    return true;
}

static uint32_t take_by_functions(uintptr_t thread, struct ms_scratch *scratch, uint32_t depth)
{
    if (!ms_python_holds_gil(thread)) {
        return MS_STACK_NO_GIL;
    }
    void *type, *value, *traceback;
    ms_python.PyErr_Fetch(&type, &value, &traceback);
    uint32_t count = 0;
    void *frame = ms_python.PyThreadState_GetFrame((void *)thread);
    while (frame != NULL && count < depth) {
        void *code = ms_python.PyFrame_GetCode(frame);
        int line = ms_python.PyFrame_GetLineNumber(frame);
        scratch->py[count++] =
            (struct ms_py_frame){.code = (uintptr_t)code, .instruction = line > 0 ? (uint64_t)line : 0};
        ms_python.Py_DecRef(code); /* its frame keeps it */
        void *back = ms_python.PyFrame_GetBack(frame);
        ms_python.Py_DecRef(frame);
        frame = back;
    }
    uint32_t id = ms_def_python_stack(scratch->py, count, frame != NULL, describe_by_functions);
    if (frame != NULL) {
        ms_python.Py_DecRef(frame);
    }
    ms_python.PyErr_Restore(type, value, traceback);
    return id;
}

uint32_t ms_stack_python_take(uint32_t depth)
{
    uint32_t mode = __atomic_load_n(&ms_python.mode, __ATOMIC_ACQUIRE);
    uintptr_t thread = mode != MS_PYTHON_OFF ? (uintptr_t)ms_python.PyGILState_GetThisThreadState() : 0;
    if (thread == 0) {
        return MS_STACK_NO_GIL; /* no interpreter, or not one of its threads */
    }
    struct ms_scratch *scratch = ms_def_scratch();
    if (scratch == NULL) {
        return 0;
    }
    if (MS_UNLIKELY(__atomic_load_n(&ms_python.started, __ATOMIC_RELAXED) == 0)) {
        ms_python_begin(thread);
        mode = __atomic_load_n(&ms_python.mode, __ATOMIC_ACQUIRE);
    }
    depth = depth < MS_FRAMES_MAX ? depth : MS_FRAMES_MAX;
    if (mode != MS_PYTHON_RAW) {
        return mode == MS_PYTHON_API ? take_by_functions(thread, scratch, depth) : MS_STACK_NO_GIL;
    }
    uint32_t cut, count = ms_python_raw_frames(thread, scratch->py, depth, &cut);
    return ms_def_python_stack(scratch->py, count, cut, describe);
}
