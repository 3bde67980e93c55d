/* SPDX-License-Identifier: Apache-2.0 */
/* The Python trace, which is the recorder's (agent/python_trace.h): here it is only switched. */
#include "native.h"

#include <errno.h>

static PyObject *trace(PyObject *module, PyObject *argument)
{
    const struct ms_agent_v1 *agent = native_agent();
    int on = PyObject_IsTrue(argument);
    if (on < 0) {
        return NULL;
    }
    if (agent == NULL || !NATIVE_HAS(agent, python_trace)) {
        return on ? PyUnicode_FromString("the recorder is not loaded, or too old") : PyUnicode_FromString("");
    }
    char why[NATIVE_WHY_B] = "";
    int rc = agent->python_trace(on, why, sizeof(why));
    if (rc < 0 && rc != -EALREADY && rc != -ENOTSUP) {
        return native_failed(rc, why);
    }
    return PyUnicode_FromString(rc == -ENOTSUP ? why : "");
}

static PyMethodDef methods[] = {
    {"trace", trace, METH_O, "trace(on) -> str: begins or ends the Python trace; why it cannot be, or nothing"},
    {NULL, NULL, 0, NULL},
};

const struct native_part native_part_tracer = {methods, NULL};
