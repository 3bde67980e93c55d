/* SPDX-License-Identifier: Apache-2.0 */
/* One-time work with an interpreter: verifying its layout; registering for the end of code objects, whose addresses may
 * be reused; and switching off before it frees its thread states.
 *
 * The first stack is requested in a hook, where Python must not be called unless this thread has the GIL and nothing
 * else works. So the rest is left to a pending call: the main thread makes it, with the GIL, when it runs Python code
 * again. Stacks recorded before that rely on the type check.
 *
 * Failure policy: what cannot be verified is not used; only the log reports it. */
#include "agent/glibc_floor.h"
#include "base/peek.h"
#include "agent/python.h"
#include "agent/python_trace.h"

#define CHECKED_FRAMES 64u

/* ---- check of types ---- */

static bool peek_word(uintptr_t object, size_t off, uintptr_t *out)
{
    return ms_peek(object + off, out, sizeof(*out));
}

static bool is_of(uintptr_t object, uintptr_t type)
{
    enum { TYPE = 8 };
    uintptr_t its;
    return peek_word(object, TYPE, &its) && its == type;
}

static bool code_is_sound(uintptr_t code)
{
    const struct ms_python_layout *l = &ms_python.layout;
    uintptr_t file, name, table;
    return is_of(code, ms_python.code_type) && peek_word(code, l->code_file, &file) &&
           is_of(file, ms_python.text_type) && peek_word(code, l->code_name, &name) &&
           is_of(name, ms_python.text_type) && peek_word(code, l->code_line_table, &table) &&
           is_of(table, ms_python.bytes_type);
}

/* Whether the chain of frames leads from code object to code object, to its end. */
static bool chain_is_sound(uintptr_t thread)
{
    enum { OWNED_BY_C = 3 };
    const struct ms_python_layout *l = &ms_python.layout;
    uintptr_t frame, code, probe;
    if (!peek_word((uintptr_t)&probe, 0, &code)) {
        return true; /* reading is not permitted: rely on the version */
    }
    if (!peek_word(thread, l->thread_frame, &frame) ||
        (frame != 0 && l->cframe_frame != MS_PYTHON_NONE && !peek_word(frame, l->cframe_frame, &frame))) {
        return false;
    }
    for (unsigned i = 0; frame != 0 && i < CHECKED_FRAMES; i++) {
        uint8_t owner = 0;
        if (!peek_word(frame, l->frame_code, &code) ||
            (l->frame_owner != MS_PYTHON_NONE && !ms_peek(frame + l->frame_owner, &owner, sizeof(owner))) ||
            (owner < OWNED_BY_C && !code_is_sound(code & ~(uintptr_t)3)) ||
            !peek_word(frame, l->frame_previous, &frame)) {
            return false;
        }
    }
    return true;
}

/* ---- comparison with the interpreter's functions ---- */

/* An attribute that is a str, as the interpreter converts it. */
static bool same_text(void *code, const char *attribute, const char *text, uint32_t text_b)
{
    void *object = ms_python.PyObject_GetAttrString(code, attribute);
    uint32_t its_b = 0;
    const char *its = object != NULL ? ms_python_text(object, &its_b) : NULL;
    bool same = its != NULL && its_b == text_b && memcmp(its, text, text_b) == 0;
    if (object != NULL) {
        ms_python.Py_DecRef(object);
    }
    return same;
}

static bool same_bytes(void *code, const char *attribute, const void *bytes, uint32_t bytes_b)
{
    void *object = ms_python.PyObject_GetAttrString(code, attribute);
    char *its = NULL;
    ssize_t its_b = -1;
    bool same = object != NULL && ms_python.PyBytes_AsStringAndSize(object, &its, &its_b) == 0 &&
                its_b == (ssize_t)bytes_b && memcmp(its, bytes, bytes_b) == 0;
    if (object != NULL) {
        ms_python.Py_DecRef(object);
    }
    return same;
}

static bool same_code(void *code, const struct ms_py_frame *frame, int line)
{
    enum { QUALIFIED = 0x030b, LINE_TABLE = 0x030a };
    unsigned version = ms_python.layout.version;
    struct ms_code_info info;
    return MS_PYTHON_ADDRESS(frame->code) == (uintptr_t)code && ms_python_raw_describe(frame->code, &info) &&
           same_text(code, "co_filename", info.file, info.file_b) &&
           same_text(code, version >= QUALIFIED ? "co_qualname" : "co_name", info.name, info.name_b) &&
           same_bytes(code, version >= LINE_TABLE ? "co_linetable" : "co_lnotab", info.line_table, info.line_table_b) &&
           ms_python.PyCode_Addr2Line(code, (int)frame->instruction) == line;
}

/* Compares this thread's raw stack with the interpreter's functions; needs the GIL. */
static bool walks_agree(uintptr_t thread)
{
    static struct ms_py_frame raw[CHECKED_FRAMES]; /* one thread at a time: the GIL */
    uint32_t cut, count = ms_python_raw_frames(thread, raw, CHECKED_FRAMES, &cut), i = 0;
    void *frame = ms_python.PyThreadState_GetFrame((void *)thread);
    bool agree = true;
    while (frame != NULL && agree && i < CHECKED_FRAMES) {
        void *code = ms_python.PyFrame_GetCode(frame);
        agree = i < count && same_code(code, &raw[i], ms_python.PyFrame_GetLineNumber(frame));
        ms_python.Py_DecRef(code);
        void *back = ms_python.PyFrame_GetBack(frame);
        ms_python.Py_DecRef(frame);
        frame = back;
        i++;
    }
    if (frame != NULL) {
        ms_python.Py_DecRef(frame);
    }
    return agree && i == count;
}

/* ---- end of code objects ---- */

uintptr_t ms_python_followed[MS_PYTHON_FOLLOWED];

static void on_code_freed(void *code)
{
    uintptr_t *at = ms_python_followed_at((uintptr_t)code);
    if (__atomic_load_n(at, __ATOMIC_RELAXED) == (uintptr_t)code) {
        __atomic_store_n(at, 0, __ATOMIC_RELAXED);
    }
    ms_def_forget_code((uintptr_t)code);
    ms_call_forget((uintptr_t)code);
}

static int on_code(int event, void *code)
{
    enum { DESTROYED = 1 };
    if (event == DESTROYED) {
        on_code_freed(code);
    }
    return 0;
}

/* With the GIL held, of the main interpreter; may leave an exception. */
static void watch_codes(void)
{
    static bool done;
    if (done) {
        return;
    }
    done = true;
    if (ms_python.PyCode_AddWatcher != NULL) {
        if (ms_python.PyCode_AddWatcher(on_code) >= 0) {
            __atomic_store_n(&ms_python.reports_ends, 1, __ATOMIC_RELEASE);
        }
    } else if (ms_python._PyEval_RequestCodeExtraIndex != NULL && ms_python._PyCode_SetExtra != NULL &&
               ms_python._PyCode_GetExtra != NULL && ms_python.PyInterpreterState_ThreadHead != NULL) {
        ms_python.extra = ms_python._PyEval_RequestCodeExtraIndex(on_code_freed);
    }
}

/* With the GIL held; may leave an exception. A value already set is kept: setting it again would report an end. */
static void follow(void *code)
{
    void *ours = NULL;
    if (ms_python.extra >= 0 && ms_python._PyCode_GetExtra(code, ms_python.extra, &ours) == 0 &&
        (ours == code || (ours == NULL && ms_python._PyCode_SetExtra(code, ms_python.extra, code) == 0))) {
        __atomic_store_n(ms_python_followed_at((uintptr_t)code), (uintptr_t)code, __ATOMIC_RELAXED);
    }
}

/* All code objects that are currently running. */
static void follow_running(void)
{
    void *thread =
        ms_python.extra >= 0 ? ms_python.PyInterpreterState_ThreadHead(ms_python.PyInterpreterState_Get()) : NULL;
    for (; thread != NULL; thread = ms_python.PyThreadState_Next(thread)) {
        void *frame = ms_python.PyThreadState_GetFrame(thread);
        while (frame != NULL) {
            void *code = ms_python.PyFrame_GetCode(frame);
            follow(code);
            ms_python.Py_DecRef(code);
            void *back = ms_python.PyFrame_GetBack(frame);
            ms_python.Py_DecRef(frame);
            frame = back;
        }
    }
}

static uint32_t asked; /* atomic: a call of follow_soon is pending */

static int follow_soon(void *argument)
{
    (void)argument;
    void *type, *value, *traceback;
    __atomic_store_n(&asked, 0, __ATOMIC_RELEASE);
    ms_python.PyErr_Fetch(&type, &value, &traceback);
    follow_running();
    ms_python.PyErr_Restore(type, value, traceback);
    return 0;
}

static bool in_main_interpreter(void)
{
    return ms_python.PyInterpreterState_Get != NULL && ms_python.PyInterpreterState_Main != NULL &&
           ms_python.PyInterpreterState_Get() == ms_python.PyInterpreterState_Main();
}

/* The main thread may be waiting for others all the time, so a thread that has the GIL does not wait for the main
 * thread's pending call. */
void ms_python_follow(uintptr_t code)
{
    if (ms_python_holds_gil((uintptr_t)ms_python.PyGILState_GetThisThreadState()) && in_main_interpreter()) {
        void *type, *value, *traceback;
        ms_python.PyErr_Fetch(&type, &value, &traceback);
        watch_codes();
        follow((void *)code);
        ms_python.PyErr_Restore(type, value, traceback);
    } else if (ms_python.extra >= 0 && __atomic_exchange_n(&asked, 1, __ATOMIC_ACQ_REL) == 0 &&
               ms_python.Py_AddPendingCall(follow_soon, NULL) != 0) {
        __atomic_store_n(&asked, 0, __ATOMIC_RELEASE); /* too many pending calls: retry with the next code object */
    }
}

/* ---- interpreter exit ---- */

static void *switch_off(void *self, void *arguments)
{
    (void)self, (void)arguments;
    ms_python_trace(false, NULL, 0);
    __atomic_store_n(&ms_python.mode, MS_PYTHON_OFF, __ATOMIC_RELEASE);
    __atomic_store_n(&ms_python.finalizing, 1, __ATOMIC_RELEASE);
    ms_python.Py_IncRef(ms_python.none);
    return ms_python.none;
}

void ms_python_await_exit(void)
{
    enum { NO_ARGUMENTS = 4 };
    static bool done; /* under the GIL */
    if (done) {
        return;
    }
    done = true;
    static struct ms_python_method method = {"msmemscope_exit", switch_off, NO_ARGUMENTS, NULL};
    void *module = ms_python.PyImport_ImportModule("atexit");
    void *function = module != NULL ? ms_python.PyCFunction_NewEx(&method, NULL, NULL) : NULL;
    void *result = function != NULL ? ms_python.PyObject_CallMethod(module, "register", "O", function) : NULL;
    void *left[] = {module, function, result};
    for (size_t i = 0; i < MS_COUNT_OF(left); i++) {
        if (left[i] != NULL) {
            ms_python.Py_DecRef(left[i]);
        }
    }
}

/* ---- once ---- */

bool ms_python_holds_gil(uintptr_t thread)
{
    void *(*current)(void) = ms_python.PyThreadState_GetUnchecked != NULL ? ms_python.PyThreadState_GetUnchecked
                                                                          : ms_python._PyThreadState_UncheckedGet;
    return current != NULL && (uintptr_t)current() == thread;
}

/* With the GIL. */
static int set_up(void *argument)
{
    static bool done;
    (void)argument;
    void *type, *value, *traceback;
    if (done) {
        return 0;
    }
    done = true;
    ms_python.PyErr_Fetch(&type, &value, &traceback);
    uintptr_t thread = (uintptr_t)ms_python.PyGILState_GetThisThreadState();
    uint32_t mode = __atomic_load_n(&ms_python.mode, __ATOMIC_ACQUIRE);
    if (mode == MS_PYTHON_RAW && thread != 0 && !walks_agree(thread)) {
        __atomic_store_n(&ms_python.mode, MS_PYTHON_API, __ATOMIC_RELEASE);
        ms_agent_log("Python stacks: this interpreter's memory layout does not match its version; only threads "
                     "that hold the GIL have stacks");
    }
    if (mode != MS_PYTHON_OFF) {
        watch_codes();
        follow_running();
        ms_python_await_exit();
    }
    ms_python.PyErr_Restore(type, value, traceback); /* also clears any error that we caused */
    return 0;
}

/* The first step of verifying a layout. */
static void check_types(uintptr_t thread)
{
    if (ms_python.mode == MS_PYTHON_RAW && !chain_is_sound(thread)) {
        __atomic_store_n(&ms_python.mode, MS_PYTHON_API, __ATOMIC_RELEASE);
    }
}

void ms_python_set_up(void)
{
    if (__atomic_exchange_n(&ms_python.started, 1, __ATOMIC_ACQ_REL) == 0) {
        check_types((uintptr_t)ms_python.PyGILState_GetThisThreadState());
    }
    set_up(NULL);
}

bool ms_python_reports_ends(void)
{
    return ms_python.extra >= 0 || __atomic_load_n(&ms_python.reports_ends, __ATOMIC_RELAXED) != 0;
}

void ms_python_begin(uintptr_t thread)
{
    if (__atomic_exchange_n(&ms_python.started, 1, __ATOMIC_ACQ_REL) != 0) {
        return;
    }
    check_types(thread);
    ms_python.Py_AddPendingCall(set_up, NULL);
}
