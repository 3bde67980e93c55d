/* SPDX-License-Identifier: Apache-2.0 */
/* The Python trace: a time slice for each call of a Python or C function, in all threads of the interpreter.
 *
 *   python_trace_bind.c    how the interpreter reports calls: sys.monitoring from 3.12 on, else a profile function
 *   python_trace.c         open calls of each thread; the record of a call that has ended
 *   python_trace_names.c   how a function is named in the file, and which functions are omitted
 *
 * Everything here runs with the GIL of the main interpreter, which protects all state shared by these files.
 * Interpreters without the GIL are refused. */
#ifndef MS_AGENT_PYTHON_TRACE_H
#define MS_AGENT_PYTHON_TRACE_H

#include "agent/python.h"

/* ---- python_trace_bind.c ---- */

/* Starts or stops it. 0; -EALREADY: already so; -ENOTSUP with a line for the user in why: not possible with this
 * interpreter; or another -errno. */
int ms_python_trace(bool on, char *why, size_t why_b);

/* In a process to be traced from its start, before it has an interpreter: starts once it has one. */
void ms_python_trace_await(void);

/* ---- python_trace.c ---- */

/* Discards what is known about open calls; they are found again at each thread's first event. */
void ms_calls_begin(void);
/* Records the known open calls of all threads. */
void ms_calls_end(void);
/* A code object was freed: no call of it can be open. */
void ms_calls_forget(uintptr_t code);

/* Whether calls below an import are recorded, too. */
bool ms_calls_keep_imports(void);

void ms_call_enter(uintptr_t code);
void ms_call_leave(uintptr_t code);
/* A C function, called by this code at this instruction. */
void ms_call_enter_c(uintptr_t code, uintptr_t function, uint32_t at);
void ms_call_leave_c(uintptr_t function);

/* ---- python_trace_names.c ---- */

/* How a function is treated. */
enum {
    MS_CALL_QUIET = 1,  /* not recorded itself */
    MS_CALL_NO_C = 2,   /* nor are the C functions that it calls */
    MS_CALL_CLOSED = 4, /* nor is anything below it */
    MS_CALL_MODULE = 8, /* a call of a torch.nn.Module: named by its class */
    MS_CALL_IS_C = 16,
    MS_CALL_IMPORT = 32, /* closed, but for the bodies of modules */
    MS_CALL_BODY = 64,   /* the body of a module */
};
uint32_t ms_call_flags(uintptr_t code);
/* The code object was freed. */
void ms_call_forget(uintptr_t code);
/* Path of our own files: their functions are quiet. */
void ms_call_own(const char *path);
/* Number of the name of the class whose call is beginning in this thread; 0: not available. */
uint32_t ms_call_module(void);

/* `at` is a line number instead of an instruction. */
#define MS_CALL_LINE 0x80000000u

/* What a slice is a call of. */
struct ms_call_name {
    uintptr_t code;     /* the function, or the caller of a C function */
    uintptr_t function; /* the C function; 0: none */
    uint32_t at;        /* of a line: the instruction in code, or MS_CALL_LINE and the line */
    uint32_t module;    /* from ms_call_module */
    enum { MS_NAME_CODE, MS_NAME_MODULE, MS_NAME_LINE, MS_NAME_C } kind;
};
/* Id of its text in this thread's stream; 0: not available. */
uint32_t ms_call_text(const struct ms_call_name *name);
/* Writes prefix and text; returns the length. */
size_t ms_call_text_put(const struct ms_call_name *name, const char *prefix, char *out, size_t out_b);
#define MS_CALL_TEXT_B 2048u

#endif
