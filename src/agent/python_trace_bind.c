/* SPDX-License-Identifier: Apache-2.0 */
/* How the interpreter reports calls.
 *
 * From 3.12 on by sys.monitoring: it covers all threads, including future ones, does not interfere with other
 * profilers, and passes the code object without creating a frame object for each call. Before that, by a profile
 * function in each thread: immediately in existing threads, in later ones by threading.setprofile, whose function
 * installs ours when the thread makes its first call. (Threads of _thread.start_new_thread are missed then.) The same
 * if other tools occupy all of sys.monitoring.
 *
 * A process that is traced from its start has no interpreter yet when the agent is loaded: an audit hook, the only
 * thing that can be registered before an interpreter starts, shows when a program is about to run.
 *
 * Failure policy: missing interpreter features are reported as text; the program continues untraced. */
#include "agent/glibc_floor.h"
#include "agent/python_trace.h"

#include <errno.h>
#include <stdio.h>

static bool on_now;

/* ---- functions of C ---- */

static uintptr_t c_function_type, c_method_type;

static inline bool is_c(uintptr_t object)
{
    uintptr_t type = ms_python_type(object);
    return type == c_function_type || type == ms_python.method_descriptor_type || type == c_method_type;
}

/* ---- sys.monitoring ---- */

typedef void *const *arguments; /* code, instruction, and the event's other arguments */

static void *none(void)
{
    ms_python.Py_IncRef(ms_python.none);
    return ms_python.none;
}

static void *on_enter(void *self, arguments a, ssize_t count)
{
    (void)self, (void)count;
    ms_call_enter((uintptr_t)a[0]);
    return none();
}

static void *on_leave(void *self, arguments a, ssize_t count)
{
    (void)self, (void)count;
    ms_call_leave((uintptr_t)a[0]);
    return none();
}

static void *on_call(void *self, arguments a, ssize_t count)
{
    (void)self, (void)count;
    if (is_c((uintptr_t)a[2])) {
        ms_call_enter_c((uintptr_t)a[0], (uintptr_t)a[2], (uint32_t)ms_python.PyLong_AsLong(a[1]));
    }
    return none();
}

static void *on_c_leave(void *self, arguments a, ssize_t count)
{
    (void)self, (void)count;
    if (is_c((uintptr_t)a[2])) {
        ms_call_leave_c((uintptr_t)a[2]);
    }
    return none();
}

enum { FAST_CALL = 0x80 };
typedef void *(*event_function)(void *self, arguments a, ssize_t count);

static const struct event {
    const char *name;
    event_function function;
} events[] = {
    {"PY_START", on_enter},  {"PY_RESUME", on_enter},  {"PY_THROW", on_enter},
    {"PY_RETURN", on_leave}, {"PY_YIELD", on_leave},   {"PY_UNWIND", on_leave},
    {"CALL", on_call},       {"C_RETURN", on_c_leave}, {"C_RAISE", on_c_leave},
};
static struct ms_python_method event_methods[MS_COUNT_OF(events)];
static int tool_id = -1;

static void release(void *object)
{
    if (object != NULL) {
        ms_python.Py_DecRef(object);
    }
}

/* Number of an event; 0 with an exception. */
static long event_bit(void *monitoring, const char *name)
{
    void *names = ms_python.PyObject_GetAttrString(monitoring, "events");
    void *value = names != NULL ? ms_python.PyObject_GetAttrString(names, name) : NULL;
    long bit = value != NULL ? ms_python.PyLong_AsLong(value) : 0;
    release(value);
    release(names);
    return bit;
}

/* One of the unreserved ids; -1: all are taken. */
static int take_tool_id(void *monitoring)
{
    static const int ids[] = {4, 3};
    for (size_t i = 0; i < MS_COUNT_OF(ids); i++) {
        void *done = ms_python.PyObject_CallMethod(monitoring, "use_tool_id", "is", ids[i], "msmemscope");
        release(done);
        if (done != NULL) {
            return ids[i];
        }
        ms_python.PyErr_Clear();
    }
    return -1;
}

static bool register_event(void *monitoring, size_t i, long *mask)
{
    event_methods[i] = (struct ms_python_method){
        events[i].name, (void *(*)(void *, void *))(void (*)(void))events[i].function, FAST_CALL, NULL};
    long bit = event_bit(monitoring, events[i].name);
    void *function = bit > 0 ? ms_python.PyCFunction_NewEx(&event_methods[i], NULL, NULL) : NULL;
    void *before = function != NULL
                       ? ms_python.PyObject_CallMethod(monitoring, "register_callback", "ilO", tool_id, bit, function)
                       : NULL;
    bool done = before != NULL;
    release(before);
    release(function);
    *mask |= bit;
    return done;
}

static void stop_monitoring(void)
{
    void *monitoring = ms_python.PySys_GetObject("monitoring");
    release(ms_python.PyObject_CallMethod(monitoring, "set_events", "ii", tool_id, 0));
    for (size_t i = 0; i < MS_COUNT_OF(events); i++) {
        release(ms_python.PyObject_CallMethod(monitoring, "register_callback", "ilO", tool_id,
                                              event_bit(monitoring, events[i].name), ms_python.none));
    }
    release(ms_python.PyObject_CallMethod(monitoring, "free_tool_id", "i", tool_id));
    tool_id = -1;
}

/* False: this interpreter does not have it, or other tools use all of it. */
static bool start_monitoring(void)
{
    long mask = 0;
    void *monitoring = ms_python.PySys_GetObject("monitoring"); /* borrowed */
    tool_id = monitoring != NULL ? take_tool_id(monitoring) : -1;
    bool done = tool_id >= 0;
    for (size_t i = 0; i < MS_COUNT_OF(events) && done; i++) {
        done = register_event(monitoring, i, &mask);
    }
    void *set = done ? ms_python.PyObject_CallMethod(monitoring, "set_events", "il", tool_id, mask) : NULL;
    release(set);
    if (set == NULL && tool_id >= 0) {
        stop_monitoring();
    }
    return set != NULL;
}

/* ---- profile functions ---- */

enum { EVENT_CALL = 0, EVENT_RETURN = 3, EVENT_C_CALL = 4, EVENT_C_EXCEPTION = 5, EVENT_C_RETURN = 6 };

/* The current instruction of a frame. */
static uint32_t instruction_of(void *frame)
{
    const struct ms_python_layout *layout = &ms_python.layout;
    if (ms_python.PyFrame_GetLasti != NULL) {
        return (uint32_t)ms_python.PyFrame_GetLasti(frame);
    }
    if (ms_python.layout_known && layout->at != MS_PYTHON_POINTER) {
        uint32_t at = *(const uint32_t *)((uintptr_t)frame + layout->frame_at);
        return layout->at == MS_PYTHON_UNITS ? at * 2 : at;
    }
    return MS_CALL_LINE | (uint32_t)ms_python.PyFrame_GetLineNumber(frame);
}

static int profile(void *self, void *frame, int what, void *argument)
{
    (void)self;
    if (what == EVENT_C_RETURN || what == EVENT_C_EXCEPTION) {
        ms_call_leave_c((uintptr_t)argument);
        return 0;
    }
    void *code = ms_python.PyFrame_GetCode(frame);
    switch (what) {
    case EVENT_CALL:
        ms_call_enter((uintptr_t)code);
        break;
    case EVENT_RETURN:
        ms_call_leave((uintptr_t)code);
        break;
    case EVENT_C_CALL:
        ms_call_enter_c((uintptr_t)code, (uintptr_t)argument, instruction_of(frame));
        break;
    default:
        break;
    }
    ms_python.Py_DecRef(code); /* its frame keeps it */
    return 0;
}

/* Runs in a new thread, in place of a profile function written in Python: frame, event, argument. */
static void *on_new_thread(void *self, arguments a, ssize_t count)
{
    ssize_t length_b = 0;
    const char *event = count == 3 ? ms_python.PyUnicode_AsUTF8AndSize(a[1], &length_b) : NULL;
    ms_python.PyEval_SetProfile(on_now ? profile : NULL, NULL);
    if (on_now && event != NULL && strcmp(event, "call") == 0) {
        profile(self, a[0], EVENT_CALL, NULL);
    }
    return none();
}

static struct ms_python_method new_thread_method = {
    "msmemscope_thread", (void *(*)(void *, void *))(void (*)(void))on_new_thread, FAST_CALL, NULL};
static void *hook_own, *hook_before; /* for new threads: our function, and any other tool's before it */

static void *hook_now(void)
{
    void *threading = ms_python.PyImport_ImportModule("threading");
    void *function = threading != NULL ? ms_python.PyObject_GetAttrString(threading, "_profile_hook") : NULL;
    release(threading);
    return function;
}

static void set_hook(void *function)
{
    void *threading = ms_python.PyImport_ImportModule("threading");
    release(threading != NULL ? ms_python.PyObject_CallMethod(threading, "setprofile", "O", function) : NULL);
    release(threading);
}

static void hook_threads(void)
{
    hook_before = hook_now();
    hook_own = ms_python.PyCFunction_NewEx(&new_thread_method, NULL, NULL);
    if (hook_own != NULL) {
        set_hook(hook_own);
    }
}

/* Anything that others have set since stays. */
static void unhook_threads(void)
{
    void *now = hook_now();
    if (now == hook_own) {
        set_hook(hook_before != NULL ? hook_before : ms_python.none);
    }
    release(now);
    release(hook_own);
    release(hook_before);
    hook_own = hook_before = NULL;
}

static size_t profile_at; /* offset of the profile function in a thread state; 0: unknown */

static void begin_profile(void)
{
    enum { LAST = 192 }; /* thread states are larger in all versions */
    void *thread = ms_python.PyInterpreterState_ThreadHead(ms_python.PyInterpreterState_Get());
    for (; thread != NULL; thread = ms_python.PyThreadState_Next(thread)) {
        ms_python._PyEval_SetProfile(thread, profile, NULL);
    }
    uintptr_t own = (uintptr_t)ms_python.PyGILState_GetThisThreadState();
    profile_at = LAST;
    while (profile_at > 0 && ms_python_word(own, profile_at) != (uintptr_t)profile) {
        profile_at -= sizeof(uintptr_t);
    }
}

static void end_profile(void)
{
    void *thread = ms_python.PyInterpreterState_ThreadHead(ms_python.PyInterpreterState_Get());
    for (; thread != NULL; thread = ms_python.PyThreadState_Next(thread)) {
        if (profile_at == 0 || ms_python_word((uintptr_t)thread, profile_at) == (uintptr_t)profile) {
            ms_python._PyEval_SetProfile(thread, NULL, NULL);
        }
    }
}

/* ---- both ---- */

/* Why this interpreter, or this thread of it, cannot be traced; NULL: it can. */
static const char *obstacle(void)
{
    void *thread = ms_python.PyGILState_GetThisThreadState != NULL ? ms_python.PyGILState_GetThisThreadState() : NULL;
    if (__atomic_load_n(&ms_python.mode, __ATOMIC_ACQUIRE) == MS_PYTHON_OFF || thread == NULL) {
        return "no Python interpreter of version 3.9 or later";
    }
    if (ms_python.free_threaded) {
        return "interpreters without the GIL are not traced";
    }
    if (!ms_python_holds_gil((uintptr_t)thread) ||
        ms_python.PyInterpreterState_Get() != ms_python.PyInterpreterState_Main()) {
        return "only the main interpreter is traced";
    }
    c_function_type = (uintptr_t)ms_python_symbol("PyCFunction_Type");
    c_method_type = (uintptr_t)ms_python_symbol("PyCMethod_Type");
    ms_python.method_descriptor_type = (uintptr_t)ms_python_symbol("PyMethodDescr_Type");
    if (c_function_type == 0 || ms_python.method_descriptor_type == 0) {
        return "the interpreter lacks functions that tracing needs";
    }
    return NULL;
}

/* Do function objects have the expected layout? */
static bool functions_are_sound(void)
{
    enum { METHOD = 16, SELF = 24 };
    void *function = ms_python.PyCFunction_NewEx(&new_thread_method, ms_python.none, NULL);
    bool sound = function != NULL && ms_python_type((uintptr_t)function) == c_function_type &&
                 ms_python_word((uintptr_t)function, METHOD) == (uintptr_t)&new_thread_method &&
                 ms_python_word((uintptr_t)function, SELF) == (uintptr_t)ms_python.none;
    release(function);
    return sound;
}

static const char *start(void)
{
    const char *why = obstacle();
    if (why != NULL) {
        return why;
    }
    ms_python_set_up();
    if (!functions_are_sound() || !ms_python_reports_ends()) {
        return "this interpreter's memory layout does not match its version";
    }
    ms_calls_begin();
    on_now = true;
    if (start_monitoring()) {
        return NULL;
    }
    ms_python.PyErr_Clear();
    if (ms_python._PyEval_SetProfile == NULL || ms_python.PyEval_SetProfile == NULL) {
        on_now = false;
        return "the interpreter lacks functions that tracing needs";
    }
    hook_threads();
    begin_profile();
    return NULL;
}

static void stop(void)
{
    on_now = false;
    if (tool_id >= 0) {
        stop_monitoring();
    } else {
        end_profile();
        unhook_threads();
    }
    ms_calls_end();
}

int ms_python_trace(bool on, char *why, size_t why_b)
{
    const char *obstacle_now = NULL;
    void *type, *value, *traceback;
    if (on == on_now) {
        return -EALREADY;
    }
    bool ended = __atomic_load_n(&ms_python.finalizing, __ATOMIC_ACQUIRE) != 0;
    if (!ended) {
        ms_python_find(true); /* it may have been loaded after the agent */
    }
    if (__atomic_load_n(&ms_python.mode, __ATOMIC_ACQUIRE) == MS_PYTHON_OFF) {
        obstacle_now = obstacle();
    } else {
        ms_python.PyErr_Fetch(&type, &value, &traceback);
        if (on) {
            obstacle_now = start();
        } else {
            stop();
        }
        ms_python.PyErr_Restore(type, value, traceback); /* also clears any error that we caused */
    }
    if (obstacle_now != NULL && why_b > 0) {
        snprintf(why, why_b, "%s", obstacle_now);
    }
    return obstacle_now != NULL ? -ENOTSUP : 0;
}

/* ---- tracing from process start ---- */

/* The interpreter's raw memory allocator. It may differ (-X dev, PYTHONMALLOC) between adding the hook and shutting
 * down the interpreter, and the hook's entry must be freed by the allocator it came from. */
enum { DOMAIN_RAW = 0 };
struct allocator {
    void *context;
    void *(*allocate)(void *context, size_t size_b);
    void *(*allocate_zeroed)(void *context, size_t count, size_t size_b);
    void *(*resize)(void *context, void *memory, size_t size_b);
    void (*free)(void *context, void *memory);
};
static void (*get_allocator)(int domain, struct allocator *out), (*set_allocator)(int domain, const struct allocator *);
static struct allocator at_begin, at_end;
static void *entry; /* of our hook; NULL: freed */

static void *allocate_entry(void *context, size_t size_b)
{
    return entry = at_begin.allocate(context, size_b);
}

static void free_entry(void *context, void *memory)
{
    if (memory != entry) {
        at_end.free(context, memory);
        return;
    }
    entry = NULL;
    set_allocator(DOMAIN_RAW, &at_end);
    at_begin.free(at_begin.context, memory);
}

static void entry_is_freed(void)
{
    get_allocator(DOMAIN_RAW, &at_end);
    if (entry != NULL && at_end.free != at_begin.free) {
        struct allocator between = at_end;
        between.free = free_entry;
        set_allocator(DOMAIN_RAW, &between);
    }
}

/* Is it `site`, which an interpreter imports during start-up? */
static bool is_site(void *event_arguments)
{
    ssize_t length_b = 0;
    void *name = ms_python.PyObject_CallMethod(event_arguments, "__getitem__", "i", 0);
    const char *text = name != NULL ? ms_python.PyUnicode_AsUTF8AndSize(name, &length_b) : NULL;
    bool site = text != NULL && strcmp(text, "site") == 0;
    if (text == NULL) {
        ms_python.PyErr_Clear();
    }
    release(name);
    return site;
}

/* The interpreter is about to run a program: python reports that; an embedding program runs a text, or imports a
 * module, while no Python code is running. */
static bool is_main(const char *event, void *event_arguments)
{
    static const char run[] = "cpython.run_";
    static int (*is_complete)(void);
    bool import = strcmp(event, "import") == 0;
    if (!import && strcmp(event, "exec") != 0) {
        return strncmp(event, run, sizeof(run) - 1) == 0;
    }
    if (is_complete == NULL) {
        is_complete = ms_python_symbol("Py_IsInitialized");
    }
    return is_complete != NULL && is_complete() && ms_python.mode != MS_PYTHON_OFF &&
           ms_python.PyGILState_GetThisThreadState() != NULL && ms_python.PyEval_GetFrame() == NULL &&
           !(import && is_site(event_arguments));
}

/* Called for every audit event of the interpreter. */
static int on_audit(const char *event, void *event_arguments, void *data)
{
    static bool beginning; /* this imports modules */
    (void)data;
    if (MS_UNLIKELY(strcmp(event, "cpython._PySys_ClearAuditHooks") == 0)) {
        entry_is_freed();
        return 0;
    }
    if (on_now || beginning || ms_wanted(MS_WANT_TRACEBACK) != MS_STATE_ON || !is_main(event, event_arguments)) {
        return 0;
    }
    beginning = true;
    char why[256] = "", line[320];
    if (ms_python_trace(true, why, sizeof(why)) == -ENOTSUP) {
        snprintf(line, sizeof(line), "Python calls are not traced: %s", why);
        ms_agent_log(line);
    }
    beginning = false;
    return 0;
}

void ms_python_trace_await(void)
{
    static bool awaited;
    int (*add)(int (*)(const char *, void *, void *), void *) = ms_python_symbol("PySys_AddAuditHook");
    get_allocator = ms_python_symbol("PyMem_GetAllocator");
    set_allocator = ms_python_symbol("PyMem_SetAllocator");
    if (awaited || add == NULL || get_allocator == NULL || set_allocator == NULL) {
        return;
    }
    awaited = true;
    get_allocator(DOMAIN_RAW, &at_begin);
    struct allocator of_entry = at_begin;
    of_entry.allocate = allocate_entry;
    set_allocator(DOMAIN_RAW, &of_entry);
    add(on_audit, NULL);
    set_allocator(DOMAIN_RAW, &at_begin);
}
