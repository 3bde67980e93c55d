/* SPDX-License-Identifier: Apache-2.0 */
/* The C part of the package: declarations shared by its files.
 *
 * Each file covers one subject and has one list of methods; module.c joins the lists. Everything that records goes
 * through the recorder's function table (agent/agent_v1.h). A process has one such table, whichever library loaded the
 * recorder.
 *
 * Built for the limited API of 3.9 (see meson.build), so that one file serves every later interpreter. Methods are
 * called with the GIL; those that wait for the collector release it. State is static, so the module exists once per
 * process: import in a subinterpreter fails. */
#ifndef MS_PYTHON_NATIVE_H
#define MS_PYTHON_NATIVE_H

#include <Python.h>

#include "agent/agent_v1.h"

#include <stdbool.h>

/* What a file adds to the module. */
struct native_part {
    PyMethodDef *methods;           /* terminated by an empty entry */
    int (*begin)(PyObject *module); /* called at import; NULL: none. Returns -1 with an exception */
};

/* The parts; each is in the file of that name. */
#define MS_NATIVE_PARTS(X)                                                                                             \
    X(access) X(agent) X(analyze) X(control) X(labels) X(marks) X(snapshot) X(slices) X(tracer) X(watch)

#define X(name) extern const struct native_part native_part_##name;
MS_NATIVE_PARTS(X)
#undef X

/* ---- agent.c ---- */

/* The recorder of this process, or NULL if none is loaded (yet). Sets no exception. */
const struct ms_agent_v1 *native_agent(void);
/* The same, but raises RuntimeError if none is loaded. */
const struct ms_agent_v1 *native_agent_needed(void);
/* True if the recorder has this entry: tables grow at their end, and an older recorder may have been preloaded. */
#define MS_NATIVE_HAS(agent, entry)                                                                                    \
    ((agent)->size_b >= offsetof(struct ms_agent_v1, entry) + sizeof((agent)->entry) && (agent)->entry != NULL)

/* The text of a str, owned by the str; false with an exception. */
bool native_text(PyObject *text, struct ms_agent_text *out);

/* ---- control.c ---- */

#define MS_NATIVE_WHY_B 4608 /* longest reply of the collector */

/* Raises OSError for -errno rc, with the collector's message or, if that is empty, strerror. Returns NULL. */
PyObject *native_failed(int rc, const char *why);

#endif
