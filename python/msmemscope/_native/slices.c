/* SPDX-License-Identifier: Apache-2.0 */
/* Named slices of the Python trace, see RecordFunction. */
#include "native.h"

static PyObject *stamp(PyObject *module, PyObject *unused)
{
    const struct ms_agent_v1 *agent = native_agent();
    return PyLong_FromUnsignedLongLong(agent != NULL && MS_NATIVE_HAS(agent, stamp) ? agent->stamp() : 0);
}

static PyObject *slice(PyObject *module, PyObject *arguments)
{
    const struct ms_agent_v1 *agent = native_agent();
    unsigned long long start;
    PyObject *name;
    struct ms_agent_text text;
    if (!PyArg_ParseTuple(arguments, "KU", &start, &name) || !native_text(name, &text)) {
        return NULL;
    }
    if (agent != NULL && MS_NATIVE_HAS(agent, slice) && start != 0) {
        uint64_t end = agent->stamp();
        if (end != 0) {
            agent->slice(start, end, 0, text);
        }
    }
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"stamp", stamp, METH_NOARGS, "stamp() -> int: the recorder's clock; 0 if not tracing"},
    {"slice", slice, METH_VARARGS, "slice(start, text): records a slice from start to now"},
    {NULL, NULL, 0, NULL},
};

const struct native_part native_part_slices = {methods, NULL};
