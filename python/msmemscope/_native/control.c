/* SPDX-License-Identifier: Apache-2.0 */
/* start, stop, step, config: the C part of the functions of these names. They wait for the collector without the GIL,
 * so that other threads continue to run and to allocate. */
#include "native.h"

#include "memscope/options/settings.h"
#include "trace/wanted.h"

#include <errno.h>
#include <string.h>

/* Messages may contain paths, which need not be valid UTF-8. */
static PyObject *text_of(const char *why)
{
    return PyUnicode_DecodeUTF8(why, (Py_ssize_t)strlen(why), "replace");
}

PyObject *native_failed(int rc, const char *why)
{
    PyObject *text = text_of(why[0] != '\0' ? why : strerror(-rc));
    PyObject *error = text != NULL ? Py_BuildValue("(iO)", -rc, text) : NULL;
    if (error != NULL) {
        PyErr_SetObject(PyExc_OSError, error);
    }
    Py_XDECREF(text);
    Py_XDECREF(error);
    return NULL;
}

static PyObject *answer(int rc, const char *why)
{
    return rc < 0 ? native_failed(rc, why) : text_of(why);
}

static PyObject *ask(int (*call)(char *why, size_t why_b))
{
    char why[MS_NATIVE_WHY_B] = "";
    PyThreadState *thread = PyEval_SaveThread();
    int rc = call(why, sizeof(why));
    PyEval_RestoreThread(thread);
    return answer(rc, why);
}

static PyObject *start(PyObject *module, PyObject *unused)
{
    const struct ms_agent_v1 *agent = native_agent_needed();
    return agent != NULL ? ask(agent->start) : NULL;
}

static PyObject *stop(PyObject *module, PyObject *unused)
{
    const struct ms_agent_v1 *agent = native_agent_needed();
    return agent != NULL ? ask(agent->stop) : NULL;
}

static PyObject *suspects(PyObject *module, PyObject *unused)
{
    const struct ms_agent_v1 *agent = native_agent();
    return agent != NULL && MS_NATIVE_HAS(agent, suspects) ? ask(agent->suspects) : PyUnicode_FromString("");
}

static PyObject *step(PyObject *module, PyObject *unused)
{
    const struct ms_agent_v1 *agent = native_agent();
    if (agent == NULL || agent->wants() == 0) {
        Py_RETURN_NONE;
    }
    char why[MS_NATIVE_WHY_B] = "";
    int rc = agent->step(why, sizeof(why)); /* does not wait */
    return answer(rc, why);
}

static PyObject *config(PyObject *module, PyObject *text)
{
    const struct ms_agent_v1 *agent = native_agent_needed();
    struct ms_agent_text lines;
    if (agent == NULL || !native_text(text, &lines)) {
        return NULL;
    }
    if (strlen(lines.text) != lines.length_b) {
        return native_failed(-EINVAL, "[msmemscope] Error: a value contains a NUL character.");
    }
    char why[MS_NATIVE_WHY_B] = "";
    PyThreadState *thread = PyEval_SaveThread();
    int rc = agent->config(lines.text, why, sizeof(why));
    PyEval_RestoreThread(thread);
    return answer(rc, why);
}

static PyObject *output(PyObject *module, PyObject *unused)
{
    const struct ms_agent_v1 *agent = native_agent_needed();
    return agent != NULL ? ask(agent->output) : NULL;
}

static PyMethodDef methods[] = {
    {"start", start, METH_NOARGS, "start() -> str: starts tracing"},
    {"stop", stop, METH_NOARGS, "stop() -> str: stops tracing; files are complete when it returns"},
    {"suspects", suspects, METH_NOARGS, "suspects() -> str: what stop() would return; tracing continues"},
    {"step", step, METH_NOARGS, "step(): begins the next step if tracing"},
    {"config", config, METH_O,
     "config(lines) -> str: changes settings, named as on the command line; returns a warning or an empty string"},
    {"output", output, METH_NOARGS, "output() -> str: output directory of this process"},
    {NULL, NULL, 0, NULL},
};

/* The bits of trace/wanted.h, and the defaults of the options that config() resets. */
static int add_constants(PyObject *module)
{
    static const struct {
        const char *name;
        long value;
    } bits[] = {
#define X(NAME, word, bit, implied) {"WANT_" #NAME, bit},
        MS_WANTED_EVENTS(X)
#undef X
#define X(NAME, word, bit, needed, argument) {"ANALYSIS_" #NAME, bit},
            MS_ANALYSES(X)
#undef X
                {"WANT_OP", MS_WANT_OP},
    };
    for (size_t i = 0; i < MS_COUNT_OF(bits); i++) {
        if (PyModule_AddIntConstant(module, bits[i].name, bits[i].value) != 0) {
            return -1;
        }
    }
    PyObject *defaults =
        Py_BuildValue("{ssssssssss}", "events", MS_DEFAULT_EVENTS, "level", MS_DEFAULT_LEVEL, "device",
                      MS_DEFAULT_DEVICE, "call-stack", MS_DEFAULT_CALL_STACK, "analysis", MS_DEFAULT_ANALYSIS);
    if (defaults == NULL || PyModule_AddObject(module, "DEFAULTS", defaults) != 0) {
        Py_XDECREF(defaults);
        return -1;
    }
    return 0;
}

const struct native_part native_part_control = {methods, add_constants};
