/* SPDX-License-Identifier: Apache-2.0 */
/* The C side of the package: what its files share.
 *
 * Each file has one idea and one list of methods; module.c puts the lists together. Everything that records goes
 * through the recorder's table (agent/agent_v1.h), of which a process has one, whoever brought it.
 *
 * Built for the limited API of 3.9: one file for every later interpreter. Methods are called with the GIL; those that
 * wait for the collector let it go. No state of the interpreter's is kept beyond the module, which exists once: other
 * interpreters than the main one are refused. */
#ifndef MS_PYTHON_NATIVE_H
#define MS_PYTHON_NATIVE_H

#define PY_SSIZE_T_CLEAN
#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x03090000
#endif
#include <Python.h>

#include "agent/agent_v1.h"

#include <stdbool.h>

/* What a file adds to the module. */
struct native_part {
    PyMethodDef *methods;           /* ends with an empty one */
    int (*begin)(PyObject *module); /* at import; NULL: nothing to do. -1 with an exception */
};

/* The parts, in the files of the same names. */
#define NATIVE_PARTS(X)                                                                                                \
    X(access) X(agent) X(analyze) X(control) X(labels) X(marks) X(snapshot) X(slices) X(tracer) X(watch)

#define X(name) extern const struct native_part native_part_##name;
NATIVE_PARTS(X)
#undef X

/* ---- agent.c ---- */

/* The recorder of this process, or NULL: there is none (yet). No exception. */
const struct ms_agent_v1 *native_agent(void);
/* The same with an exception (RuntimeError) if there is none. */
const struct ms_agent_v1 *native_agent_needed(void);
/* Does the recorder have this entry? Tables grow at their end, and an older one may have been preloaded. */
#define NATIVE_HAS(agent, entry)                                                                                       \
    ((agent)->size_b >= offsetof(struct ms_agent_v1, entry) + sizeof((agent)->entry) && (agent)->entry != NULL)

/* Text of a str, which keeps it; false with an exception. */
bool native_text(PyObject *text, struct ms_agent_text *out);

/* ---- control.c ---- */

#define NATIVE_WHY_B 4608 /* longest answer of the collector */

/* OSError with the number of -errno rc, and the collector's words. Returns NULL. */
PyObject *native_failed(int rc, const char *why);

#endif
