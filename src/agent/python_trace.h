/* SPDX-License-Identifier: Apache-2.0 */
/* The Python trace: a slice of time for each call of a function, Python's or C's, in all threads of the interpreter.
 *
 *   python_trace_bind.c    how the interpreter tells us of calls: sys.monitoring from 3.12 on, else a profile function
 *   python_trace.c         which calls are open in each thread; the record of a call that has ended
 *   python_trace_names.c   what stands for a function in the file, and which functions are left out
 *
 * Everything here runs with the GIL of the main interpreter held, which is the lock of all that these files share.
 * Interpreters without the GIL are refused. */
#ifndef MS_AGENT_PYTHON_TRACE_H
#define MS_AGENT_PYTHON_TRACE_H

#include "agent/python.h"

/* ---- python_trace_bind.c ---- */

/* Begins or ends it. 0; -EALREADY: it is so already; -ENOTSUP with a line for the user in why: not with this
 * interpreter; or another -errno. */
int ms_python_trace(bool on, char *why, size_t why_b);

/* In a process that is to be traced from its beginning, before it has an interpreter: begins when it has one. */
void ms_python_trace_await(void);

/* ---- python_trace.c ---- */

/* From here on nothing is known about the calls that are open; they are found at a thread's first event. */
void ms_calls_begin(void);
/* Records what is open in all threads, as far as it is known. */
void ms_calls_end(void);
/* A code object is no more: no call of it is open, whatever we have missed. */
void ms_calls_forget(uintptr_t code);

void ms_call_enter(uintptr_t code);
void ms_call_leave(uintptr_t code);
/* A function of C, called by this code at this instruction. */
void ms_call_enter_c(uintptr_t code, uintptr_t function, uint32_t at);
void ms_call_leave_c(uintptr_t function);

/* ---- python_trace_names.c ---- */

/* How a function is treated. */
enum {
    MS_CALL_QUIET = 1,  /* not recorded itself */
    MS_CALL_NO_C = 2,   /* nor are the functions of C that it calls */
    MS_CALL_CLOSED = 4, /* nothing below it is */
    MS_CALL_MODULE = 8, /* the call of a torch.nn.Module: goes by the name of the class */
    MS_CALL_IS_C = 16,
};
uint32_t ms_call_flags(uintptr_t code);
/* The code object is no more. */
void ms_call_forget(uintptr_t code);
/* Where the files are that are ours: their functions are quiet. */
void ms_call_own(const char *path);
/* Number of the name of the class whose call is beginning in this thread; 0: not to be had. */
uint32_t ms_call_module(void);

/* A line number in the place of an instruction. */
#define MS_CALL_LINE 0x80000000u

/* What a slice is the call of. */
struct ms_call_name {
    uintptr_t code;     /* the function, or the caller of one in C */
    uintptr_t function; /* of C; 0: none */
    uint32_t at;        /* of a line: the instruction in code, or MS_CALL_LINE and the line */
    uint32_t module;    /* of ms_call_module */
    enum { MS_NAME_CODE, MS_NAME_MODULE, MS_NAME_LINE, MS_NAME_C } kind;
};
/* Id of its text in this thread's stream; 0: none to be had. */
uint32_t ms_call_text(const struct ms_call_name *name);
/* The text itself behind a prefix; its length. */
size_t ms_call_text_put(const struct ms_call_name *name, const char *prefix, char *out, size_t out_b);
#define MS_CALL_TEXT_B 2048u

#endif
