/* SPDX-License-Identifier: Apache-2.0 */
/* The Python interpreter of this process: the memory layout of its objects, and the functions that we may call.
 *
 *   RAW    frames are read from memory: needs no GIL, calls nothing
 *   API    the layout is unknown or wrong: uses the interpreter's functions, if this thread has the GIL
 *   OFF    the interpreter is shutting down, or too old
 *
 * A layout is verified in three steps: the version selects it; at the first stack, the objects it leads to must have
 * the expected types (read in a way that tolerates wrong addresses); and as soon as the main thread runs Python code
 * again, its raw stack must equal the one that the interpreter's functions return. */
#ifndef MS_AGENT_PYTHON_H
#define MS_AGENT_PYTHON_H

#include "agent/agent.h"
#include "trace/definitions.h"

#include <sys/types.h>

enum ms_python_mode { MS_PYTHON_OFF, MS_PYTHON_RAW, MS_PYTHON_API };

/* How a frame gives its current instruction. */
enum ms_python_at {
    MS_PYTHON_BYTES,
    MS_PYTHON_UNITS,
    MS_PYTHON_POINTER
}; /* offset in bytes, in units of two; address */

#define MS_PYTHON_NONE 0xffffu

/* Offsets in bytes. */
struct ms_python_layout {
    uint16_t version;                    /* 0x030b */
    uint16_t thread_frame, cframe_frame; /* from the thread state to its frame; second NONE: in one step */
    uint16_t frame_code, frame_previous, frame_at, frame_owner;
    uint16_t at; /* enum ms_python_at */
    uint16_t code_file, code_name, code_first_line, code_line_table, code_start;
    uint16_t ascii_data, compact_data; /* characters of an all-ASCII str, and of any other */
};

struct ms_python_method {
    const char *name;
    void *(*call)(void *self, void *arguments);
    int flags;
    const char *doc;
};

/* Functions that every supported version has; then those that only some have. */
#define MS_PYTHON_FUNCTIONS(X)                                                                                         \
    X(void *, PyGILState_GetThisThreadState, (void))                                                                   \
    X(const char *, Py_GetVersion, (void))                                                                             \
    X(void *, PyThreadState_GetFrame, (void *thread))                                                                  \
    X(void *, PyFrame_GetBack, (void *frame))                                                                          \
    X(void *, PyFrame_GetCode, (void *frame))                                                                          \
    X(int, PyFrame_GetLineNumber, (void *frame))                                                                       \
    X(int, PyCode_Addr2Line, (void *code, int instruction))                                                            \
    X(void *, PyObject_GetAttrString, (void *object, const char *name))                                                \
    X(const char *, PyUnicode_AsUTF8AndSize, (void *text, ssize_t *length_b))                                          \
    X(void *, PyUnicode_AsEncodedString, (void *text, const char *encoding, const char *errors))                       \
    X(int, PyBytes_AsStringAndSize, (void *bytes, char **data, ssize_t *length_b))                                     \
    X(void, Py_IncRef, (void *object))                                                                                 \
    X(void, Py_DecRef, (void *object))                                                                                 \
    X(void, PyErr_Fetch, (void **type, void **value, void **traceback))                                                \
    X(void, PyErr_Restore, (void *type, void *value, void *traceback))                                                 \
    X(int, Py_AddPendingCall, (int (*call)(void *), void *argument))                                                   \
    X(void *, PyImport_ImportModule, (const char *name))                                                               \
    X(void *, PyObject_CallMethod, (void *object, const char *name, const char *format, ...))                          \
    X(void *, PyCFunction_NewEx, (struct ms_python_method * method, void *self, void *module))
#define MS_PYTHON_SOME_FUNCTIONS(X)                                                                                    \
    X(void *, PyThreadState_GetUnchecked, (void)) /* 3.13 ... */                                                       \
    X(void *, _PyThreadState_UncheckedGet, (void))                                                                     \
    X(int, PyCode_AddWatcher, (int (*watcher)(int event, void *code))) /* 3.12 ... */                                  \
    X(ssize_t, _PyEval_RequestCodeExtraIndex, (void (*free)(void *)))  /* ... 3.11 */                                  \
    X(int, _PyCode_GetExtra, (void *code, ssize_t index, void **extra))                                                \
    X(int, _PyCode_SetExtra, (void *code, ssize_t index, void *extra))                                                 \
    X(void *, PyInterpreterState_Get, (void))                                                                          \
    X(void *, PyInterpreterState_ThreadHead, (void *interpreter))                                                      \
    X(void *, PyThreadState_Next, (void *thread))                                                                      \
    X(void *, PyInterpreterState_Main, (void))                                                                         \
    X(void, PyErr_Clear, (void))                                                                                       \
    X(long, PyLong_AsLong, (void *number))                                                                             \
    X(void *, PyObject_Str, (void *object))                                                                            \
    X(void *, PySys_GetObject, (const char *name))                                                                     \
    X(void *, PyDict_GetItemString, (void *dictionary, const char *key))                                               \
    X(void *, PyEval_GetFrame, (void))                                                                                 \
    X(void *, PyFrame_GetVarString, (void *frame, const char *name)) /* 3.12 ... */                                    \
    X(int, PyFrame_GetLasti, (void *frame))                          /* 3.11 ... */                                    \
    X(void, PyEval_SetProfile, (int (*function)(void *, void *, int, void *), void *self))                             \
    X(int, _PyEval_SetProfile, (void *thread, int (*function)(void *, void *, int, void *), void *self))

struct ms_python {
    uint32_t mode;         /* atomic: enum ms_python_mode */
    uint32_t started;      /* atomic: the first stack was requested */
    uint32_t finalizing;   /* atomic: the interpreter is shutting down */
    uint32_t reports_ends; /* atomic: the interpreter reports the end of each code object */
    ssize_t extra;         /* our index in code objects; negative: none */
    struct ms_python_layout layout;
    bool layout_known, free_threaded;
    uintptr_t code_type, text_type, bytes_type, method_descriptor_type;
    void *none;
#define X(result, name, parameters) result(*name) parameters;
    MS_PYTHON_FUNCTIONS(X)
    MS_PYTHON_SOME_FUNCTIONS(X)
#undef X
};
extern struct ms_python ms_python __attribute__((visibility("hidden")));

/* python_find.c: finds a usable interpreter, if there is one, and its layout. */
void ms_python_find(bool late);
/* A symbol of the interpreter; NULL: not found. Takes the loader's lock. */
void *ms_python_symbol(const char *name);

/* python_collect.c: functions of this file, or of files in this directory, are npuscope's own: not traced, and not
 * shown in stacks. Needs the GIL. */
void ms_python_own(const char *path);
bool ms_python_is_own(const char *file, size_t file_b);

/* python_setup.c: once, at the first stack: chooses the mode, and schedules set-up with the GIL held. */
void ms_python_begin(uintptr_t thread);
/* Registers for the interpreter's exit; needs the GIL, has an effect once. */
void ms_python_await_exit(void);
/* Does the set-up immediately, in a thread that has the GIL. */
void ms_python_set_up(void);
/* The interpreter reports the end of every code object that is followed. */
bool ms_python_reports_ends(void);
/* This thread, with this state, holds the GIL. */
bool ms_python_holds_gil(uintptr_t thread);
/* Asks for a report when this code object, which a frame of this thread references, ends: at once if the thread has the
 * GIL, else soon. */
void ms_python_follow(uintptr_t code);

/* Followed code objects, by address: each in one slot, where a later one may replace it. Written with the GIL, until
 * the object's memory is freed; read by threads that have a frame of the object. */
#define MS_PYTHON_FOLLOWED 4096u
extern uintptr_t ms_python_followed[MS_PYTHON_FOLLOWED] __attribute__((visibility("hidden"))); /* atomic */

static inline uintptr_t *ms_python_followed_at(uintptr_t code)
{
    return &ms_python_followed[code * 0x9e3779b97f4a7c15u >> 52];
}
_Static_assert(MS_PYTHON_FOLLOWED == 1 << (64 - 52), "as many as the hash has values");

/* stack_python.c */
uint32_t ms_python_raw_frames(uintptr_t thread, struct ms_py_frame *out, uint32_t depth, uint32_t *cut);
bool ms_python_raw_describe(uintptr_t code, struct ms_code_info *out);
/* A str as UTF-8 that need not be released; NULL with an exception: it is not a str. Needs the GIL. */
const char *ms_python_text(void *text, uint32_t *length_b);
/* An attribute that is a str kept alive by its object; else "". Needs the GIL; leaves an exception if there is none. */
const char *ms_python_attribute(void *object, const char *name, uint32_t *length_b);

/* A frame without its fingerprint. */
#define MS_PYTHON_ADDRESS(code) ((code) & ((1ull << 48) - 1))

static inline uintptr_t ms_python_word(uintptr_t object, size_t off)
{
    return *(const uintptr_t *)(object + off);
}

static inline uintptr_t ms_python_type(uintptr_t object)
{
    enum { MS_PYTHON_OB_TYPE = 8 };
    return ms_python_word(object, MS_PYTHON_OB_TYPE);
}

#endif
