/* SPDX-License-Identifier: Apache-2.0 */
/* The recorder of this process: the one already there, preloaded or loaded by another library, else the one of this
 * installation. It is never unloaded, because its hooks may be bound anywhere.
 *
 * If loaded here, it is loaded into the global scope, so that libraries loaded later bind to its hooks as if it had
 * been preloaded; attach() binds the libraries that are already loaded. */
#include "native.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

static const struct ms_agent_v1 *agent;
static bool loaded_here; /* by load(), not preloaded */

const struct ms_agent_v1 *native_agent(void)
{
    return agent;
}

const struct ms_agent_v1 *native_agent_needed(void)
{
    if (agent == NULL) {
        PyErr_SetString(PyExc_RuntimeError, "the recorder is not loaded");
    }
    return agent;
}

bool native_text(PyObject *text, struct ms_agent_text *out)
{
    Py_ssize_t length_b;
    if (!PyUnicode_Check(text)) {
        PyErr_SetString(PyExc_TypeError, "expected a str");
        return false;
    }
    if (!PyArg_Parse(text, "s#", &out->text,
                     &length_b)) { /* PyUnicode_AsUTF8AndSize is in the limited API from 3.10 only */
        return false;
    }
    out->length_b = (size_t)length_b;
    return true;
}

/* The table if its version is supported, else NULL. */
static const struct ms_agent_v1 *checked(const struct ms_agent_v1 *table)
{
    const size_t first_b = offsetof(struct ms_agent_v1, state); /* the entries before this one are in every version */
    return table != NULL && table->version == MS_AGENT_V1 && table->size_b >= first_b ? table : NULL;
}

static PyObject *load(PyObject *module, PyObject *path)
{
    PyObject *encoded = NULL;
    if (agent == NULL) {
        agent = checked(dlsym(RTLD_DEFAULT, "ms_agent_v1"));
    }
    if (agent == NULL) {
        if (!PyUnicode_FSConverter(path, &encoded)) {
            return NULL;
        }
        void *library = dlopen(PyBytes_AsString(encoded), RTLD_NOW | RTLD_GLOBAL);
        const char *error = library == NULL ? dlerror() : NULL;
        agent = library != NULL ? checked(dlsym(library, "ms_agent_v1")) : NULL;
        loaded_here = agent != NULL;
        Py_DecRef(encoded);
        if (agent == NULL) {
            return PyErr_Format(PyExc_OSError, "cannot load the recorder: %s",
                                error != NULL ? error : "unsupported version");
        }
    }
    return PyBool_FromLong(loaded_here);
}

static PyObject *loaded(PyObject *module, PyObject *unused)
{
    return PyBool_FromLong(agent != NULL);
}

static PyObject *attach(PyObject *module, PyObject *session)
{
    const struct ms_agent_v1 *table = native_agent_needed();
    struct ms_agent_text text = {NULL, 0};
    if (table == NULL || (session != Py_None && !native_text(session, &text))) {
        return NULL;
    }
    PyThreadState *thread = PyEval_SaveThread();
    int rc = table->attach(text.text);
    PyEval_RestoreThread(thread);
    return rc < 0 ? native_failed(rc, "[msmemscope] Error: this process cannot be recorded.") : PyLong_FromLong(rc);
}

static PyObject *state(PyObject *module, PyObject *unused)
{
    struct ms_agent_state now = {0};
    if (agent != NULL && MS_NATIVE_HAS(agent, state)) {
        agent->state(&now);
    }
    return Py_BuildValue("(IIIIIIII)", now.recorded, now.state, now.event_mask, now.analysis, now.flags, now.npu_mask,
                         now.c_depth, now.python_depth);
}

static PyObject *wants(PyObject *module, PyObject *unused)
{
    return PyLong_FromUnsignedLong(agent != NULL ? agent->wants() : 0);
}

static PyObject *quiet(PyObject *module, PyObject *value)
{
    if (agent != NULL && MS_NATIVE_HAS(agent, quiet)) {
        agent->quiet(value == Py_True);
    }
    Py_RETURN_NONE;
}

static PyObject *own(PyObject *module, PyObject *path)
{
    PyObject *encoded = NULL;
    if (!PyUnicode_FSConverter(path, &encoded)) {
        return NULL;
    }
    if (agent != NULL && MS_NATIVE_HAS(agent, python_own)) {
        agent->python_own(PyBytes_AsString(encoded));
    }
    Py_DecRef(encoded);
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"load", load, METH_O, "load(path) -> bool: finds the recorder, or loads it; true if it was loaded here"},
    {"loaded", loaded, METH_NOARGS, "loaded() -> bool: whether load() has found a recorder"},
    {"attach", attach, METH_O,
     "attach(session | None) -> int: hooks the loaded libraries; returns the number of newly hooked calls"},
    {"state", state, METH_NOARGS,
     "state() -> (recorded, state, events, analysis, flags, npus, c depth, python depth); does not attach"},
    {"wants", wants, METH_NOARGS, "wants() -> int: mask of the events being traced; 0: none"},
    {"own", own, METH_O,
     "own(path): excludes functions of this file, or of files in this directory, from traces and call stacks"},
    {"quiet", quiet, METH_O, "quiet(bool): suspends or resumes recording of this thread"},
    {NULL, NULL, 0, NULL},
};

const struct native_part native_part_agent = {methods, NULL};
