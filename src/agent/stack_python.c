/* Python stacks, read from the calling thread's own chain of frames without the interpreter's help.
 *
 * A hook must not take the GIL (another thread may hold it and want the allocator's lock that we are under) and must
 * not call Python. It need not: the chain of a thread cannot change while that thread is in our C code, so (code
 * object, instruction) pairs can be read raw. A code object is described when its stack is seen for the first time,
 * while a frame keeps it alive: file, qualified name, first line, line table. Its address may be used again by another
 * code object later, so the upper 16 bits of what we call "code" are a fingerprint of its contents.
 *
 * Layouts are those of one minor version each, checked against the interpreter's headers; other versions get "no stack
 * to be had" instead of a guess. */
#include "agent/glibc_floor.h"
#include "agent/stacks.h"

#include "trace/definitions.h"

#include <dlfcn.h>
#include <string.h>

/* ---- layouts ---- */

/* Where a frame says which instruction it is at. */
enum instruction { BYTES, UNITS, POINTER }; /* offset in bytes, in code units of two bytes; address */

#define NONE 0xffffu

struct layout {
    uint16_t version;
    uint16_t thread_frame, cframe_frame; /* from the thread's state to its frame; the second NONE: in one step */
    uint16_t frame_code, frame_previous, frame_at, frame_owner;
    uint16_t at; /* enum instruction */
    uint16_t code_file, code_name, code_first_line, code_line_table, code_start;
    uint16_t ascii_data, compact_data; /* characters of a str that is all ASCII, and of another one */
};

/* clang-format off */
static const struct layout layouts[] = {
    /*        thread       frame: code, prev, at, owner         code: file, name, line, table, start   str     */
    {0x0309, 24, NONE,     32, 24, 104, NONE, BYTES,            104, 112, 40, 120, 0,                  48, 72},
    {0x030a, 24, NONE,     32, 24,  96, NONE, UNITS,            104, 112, 40, 120, 0,                  48, 72},
    {0x030b, 56, 8,        32, 48,  56, 69,   POINTER,          112, 128, 72, 136, 184,                48, 72},
    {0x030c, 56, 0,         0,  8,  56, 70,   POINTER,          112, 128, 68, 136, 192,                40, 56},
    {0x030d, 72, NONE,      0,  8,  56, 70,   POINTER,          112, 128, 68, 136, 200,                40, 56},
};
/* clang-format on */

/* The same in all of them. */
enum { BYTES_LENGTH = 16, BYTES_DATA = 32, TEXT_LENGTH = 16, TEXT_STATE = 32 };

/* Frames that stand for C code between Python frames. */
enum { OWNED_BY_C = 3 };

static const struct layout *layout; /* of the running interpreter; NULL: unknown */
static void *(*this_thread)(void);  /* PyGILState_GetThisThreadState; NULL: no interpreter */

static uintptr_t word_at(uintptr_t object, size_t off)
{
    return *(const uintptr_t *)(object + off);
}

void ms_stack_python_load(void)
{
    if (dlsym == NULL || this_thread != NULL) {
        return;
    }
    const char *(*version)(void) = (const char *(*)(void))dlsym(RTLD_DEFAULT, "Py_GetVersion");
    void *(*state)(void) = (void *(*)(void))dlsym(RTLD_DEFAULT, "PyGILState_GetThisThreadState");
    if (version == NULL || state == NULL) {
        return;
    }
    unsigned major = 0, minor = 0; /* "3.11.7 (main, ..." */
    const char *s = version();
    for (; *s >= '0' && *s <= '9'; s++) {
        major = major * 10 + (unsigned)(*s - '0');
    }
    for (s += *s == '.'; *s >= '0' && *s <= '9'; s++) {
        minor = minor * 10 + (unsigned)(*s - '0');
    }
    bool free_threaded = strstr(s, "free-threading") != NULL; /* objects have another head there */
    for (size_t i = 0; i < MS_COUNT_OF(layouts) && !free_threaded; i++) {
        if (layouts[i].version == (major << 8 | minor)) {
            layout = &layouts[i];
        }
    }
    __atomic_store_n(&this_thread, state, __ATOMIC_RELEASE);
}

/* ---- code objects ---- */

#define ADDRESS(code) ((code) & ((1ull << 48) - 1))

static uintptr_t with_fingerprint(uintptr_t code)
{
    uint64_t mixed = word_at(code, layout->code_file) * 0x9e3779b97f4a7c15ull;
    mixed = (mixed ^ word_at(code, layout->code_name)) * 0x9e3779b97f4a7c15ull;
    mixed = (mixed ^ word_at(code, layout->code_line_table)) * 0x9e3779b97f4a7c15ull;
    mixed = (mixed ^ *(const uint32_t *)(code + layout->code_first_line)) * 0x9e3779b97f4a7c15ull;
    return ADDRESS(code) | (mixed >> 48) << 48;
}

/* A character as UTF-8; bytes written. */
static size_t put_utf8(char *out, uint32_t c)
{
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

/* Where texts are converted that are not ASCII. The callback that needs it cannot get at memory of its thread; as many
 * threads as there are places here may define such a name at the same moment before one text would be mixed up. */
#define PLACES  64u
#define PLACE_B 2048u
static char places[PLACES][PLACE_B];

/* Text of a str object: as it is if it is ASCII, else converted. */
static const char *text_at(uintptr_t object, uint32_t *length_b)
{
    enum { KIND_AT = 2, COMPACT = 1 << 5, ASCII = 1 << 6 };
    size_t length = word_at(object, TEXT_LENGTH), used = 0;
    uint32_t state = *(const uint32_t *)(object + TEXT_STATE);
    *length_b = 0;
    if ((state & COMPACT) == 0 || length > MS_TEXT_MAX_B) {
        return "";
    }
    if ((state & ASCII) != 0) {
        *length_b = (uint32_t)length;
        return (const char *)(object + layout->ascii_data);
    }
    static uint32_t next;
    char *place = places[__atomic_fetch_add(&next, 1, __ATOMIC_RELAXED) % PLACES];
    const void *data = (const void *)(object + layout->compact_data);
    unsigned kind = state >> KIND_AT & 7;
    for (size_t i = 0; i < length && used + 4 <= PLACE_B; i++) {
        uint32_t c = kind == 1   ? ((const uint8_t *)data)[i]
                     : kind == 2 ? ((const uint16_t *)data)[i]
                                 : ((const uint32_t *)data)[i];
        used += put_utf8(place + used, c);
    }
    *length_b = (uint32_t)used;
    return place;
}

static bool describe(uintptr_t code, struct ms_code_info *out)
{
    uintptr_t object = ADDRESS(code), table = word_at(object, layout->code_line_table);
    *out = (struct ms_code_info){
        .first_line = *(const uint32_t *)(object + layout->code_first_line),
        .version = layout->version,
        .line_table = (const void *)(table + BYTES_DATA),
        .line_table_b = (uint32_t)word_at(table, BYTES_LENGTH),
    };
    out->file = text_at(word_at(object, layout->code_file), &out->file_b);
    out->name = text_at(word_at(object, layout->code_name), &out->name_b);
    return true;
}

/* ---- stacks ---- */

/* Bytes from the start of the code; negative: the frame has not begun, or stands for C code. */
static int64_t instruction_of(uintptr_t frame, uintptr_t code)
{
    if (layout->frame_owner != NONE && *(const uint8_t *)(frame + layout->frame_owner) >= OWNED_BY_C) {
        return -1;
    }
    if (layout->at == POINTER) {
        return (int64_t)(word_at(frame, layout->frame_at) - (code + layout->code_start));
    }
    return (int64_t) * (const int32_t *)(frame + layout->frame_at) * (layout->at == UNITS ? 2 : 1);
}

uint32_t ms_stack_python_take(uint32_t depth)
{
    void *(*state_of)(void) = __atomic_load_n(&this_thread, __ATOMIC_ACQUIRE);
    uintptr_t thread = state_of != NULL ? (uintptr_t)state_of() : 0;
    if (thread == 0) {
        return 0; /* no interpreter, or a thread that is none of its own */
    }
    if (layout == NULL) {
        return MS_STACK_NO_GIL;
    }
    struct ms_scratch *scratch = ms_def_scratch();
    uintptr_t frame = word_at(thread, layout->thread_frame);
    if (frame != 0 && layout->cframe_frame != NONE) {
        frame = word_at(frame, layout->cframe_frame);
    }
    uint32_t count = 0, cut = 0;
    depth = depth < MS_FRAMES_MAX ? depth : MS_FRAMES_MAX;
    for (; frame != 0 && scratch != NULL; frame = word_at(frame, layout->frame_previous)) {
        uintptr_t code = word_at(frame, layout->frame_code);
        int64_t instruction = code != 0 ? instruction_of(frame, code) : -1;
        if (instruction < 0) {
            continue;
        }
        if (count == depth) {
            cut = 1;
            break;
        }
        scratch->py[count++] =
            (struct ms_py_frame){.code = with_fingerprint(code), .instruction = (uint64_t)instruction};
    }
    return ms_def_python_stack(scratch != NULL ? scratch->py : NULL, count, cut, describe);
}
