/* SPDX-License-Identifier: Apache-2.0 */
/* Switches the Python trace, which the recorder implements (agent/python_trace.h). */
#include "native.h"

#include <errno.h>

static PyObject *trace(PyObject *module, PyObject *argument)
{
    const struct ms_agent_v1 *agent = native_agent();
    int on = PyObject_IsTrue(argument);
    if (on < 0) {
        return NULL;
    }
    if (agent == NULL || !MS_NATIVE_HAS(agent, python_trace)) {
        return on ? PyUnicode_FromString("the recorder is not loaded, or too old") : PyUnicode_FromString("");
    }
    char why[MS_NATIVE_WHY_B] = "";
    int rc = agent->python_trace(on, why, sizeof(why));
    if (rc < 0 && rc != -EALREADY && rc != -ENOTSUP) {
        return native_failed(rc, why);
    }
    return PyUnicode_FromString(rc == -ENOTSUP ? why : "");
}

static PyMethodDef methods[] = {
    {"trace", trace, METH_O,
     "trace(on) -> str: starts or stops the Python trace; returns the reason if it is not possible, else an empty "
     "string"},
    {NULL, NULL, 0, NULL},
};

const struct native_part native_part_tracer = {methods, NULL};
