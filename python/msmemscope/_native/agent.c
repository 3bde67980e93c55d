/* SPDX-License-Identifier: Apache-2.0 */
/* The recorder of this process: one that is there already, preloaded or brought by another library, or else the one of
 * our installation, loaded now. It is never unloaded: hooks of it may be bound anywhere.
 *
 * Loaded late it is put into the global scope, so that libraries which are loaded after it bind to its hooks as if it
 * had been preloaded; what is there already is bound by attach(). */
#include "native.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

static const struct ms_agent_v1 *agent;
static bool brought; /* by us */

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
        PyErr_SetString(PyExc_TypeError, "a str is needed");
        return false;
    }
    if (!PyArg_Parse(text, "s#", &out->text, &length_b)) { /* what 3.10 calls PyUnicode_AsUTF8AndSize */
        return false;
    }
    out->length_b = (size_t)length_b;
    return true;
}

/* A table that we understand, or NULL. */
static const struct ms_agent_v1 *checked(const struct ms_agent_v1 *table)
{
    const size_t first_b = offsetof(struct ms_agent_v1, state); /* up to here it was made in one go */
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
        brought = agent != NULL;
        Py_DecRef(encoded);
        if (agent == NULL) {
            return PyErr_Format(PyExc_OSError, "the recorder cannot be loaded: %s",
                                error != NULL ? error : "it is of another version");
        }
    }
    return PyBool_FromLong(brought);
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
    if (agent != NULL && NATIVE_HAS(agent, state)) {
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
    if (agent != NULL && NATIVE_HAS(agent, quiet)) {
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
    if (agent != NULL && NATIVE_HAS(agent, python_own)) {
        agent->python_own(PyBytes_AsString(encoded));
    }
    Py_DecRef(encoded);
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"load", load, METH_O, "load(path) -> bool: finds the recorder, or loads it; true if it came late, by us"},
    {"loaded", loaded, METH_NOARGS, "loaded() -> bool: load() has found one"},
    {"attach", attach, METH_O, "attach(session | None) -> int: hooks what is loaded; number of calls newly hooked"},
    {"state", state, METH_NOARGS,
     "state() -> (recorded, state, events, analysis, flags, npus, c depth, python depth); attaches nothing"},
    {"wants", wants, METH_NOARGS, "wants() -> int: events that are being traced now; 0: nothing is"},
    {"own", own, METH_O,
     "own(path): functions of this file, or of files in this directory, are not traced, and not shown in call stacks"},
    {"quiet", quiet, METH_O, "quiet(bool): what this thread does from now on is not recorded, until it is said again"},
    {NULL, NULL, 0, NULL},
};

const struct native_part native_part_agent = {methods, NULL};
