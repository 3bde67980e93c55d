/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors and memory ranges that the program requests to be dumped around operators. */
#include "native.h"

#include <errno.h>

static const struct ms_agent_v1 *watching_agent(void)
{
    const struct ms_agent_v1 *agent = native_agent_needed();
    if (agent != NULL && !MS_NATIVE_HAS(agent, watch_remove)) {
        PyErr_SetString(PyExc_RuntimeError, "the preloaded recorder is too old to watch memory");
        return NULL;
    }
    return agent;
}

static PyObject *watch(PyObject *module, PyObject *arguments)
{
    const struct ms_agent_v1 *agent = watching_agent();
    unsigned long long address, size_b;
    long long dumps;
    PyObject *name;
    struct ms_agent_text text;
    if (agent == NULL || !PyArg_ParseTuple(arguments, "KKUL", &address, &size_b, &name, &dumps) ||
        !native_text(name, &text)) {
        return NULL;
    }
    int rc = agent->watch_add(address, size_b, text, dumps);
    if (rc < 0) {
        return native_failed(rc, rc == -ENOSPC ? "[msmemscope] Error: too many watched ranges." : "");
    }
    Py_RETURN_NONE;
}

static PyObject *unwatch(PyObject *module, PyObject *arguments)
{
    const struct ms_agent_v1 *agent = watching_agent();
    unsigned long long address, size_b;
    if (agent == NULL || !PyArg_ParseTuple(arguments, "KK", &address, &size_b)) {
        return NULL;
    }
    return PyBool_FromLong(agent->watch_remove(address, size_b) == 0);
}

static PyMethodDef methods[] = {
    {"watch", watch, METH_VARARGS, "watch(address, size, name, dumps): watches a range; negative dumps: no limit"},
    {"unwatch", unwatch, METH_VARARGS, "unwatch(address, size) -> bool: stops; returns whether the range was watched"},
    {NULL, NULL, 0, NULL},
};

const struct native_part native_part_watch = {methods, NULL};
