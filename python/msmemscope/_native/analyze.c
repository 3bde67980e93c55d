/* SPDX-License-Identifier: Apache-2.0 */
/* Analyses of dumps. The engine is a library of the installation (memscope/analyze/api.h), loaded on first use and with
 * local scope. It runs without the GIL; each line that it prints is passed to a Python function at once. An exception
 * in that function, or a signal, ends the analysis. */
#include "native.h"

#include "memscope/analyze/api.h"
#include "memscope/model/columns.h"

#include <dlfcn.h>
#include <string.h>

#define FUNCTIONS(X) X(ms_analyze_version) X(ms_check_leaks) X(ms_check_inefficient)

static struct {
#define X(name) __typeof__(&name) name;
    FUNCTIONS(X)
#undef X
} engine;

static bool engine_load(PyObject *path)
{
    PyObject *encoded = NULL;
    if (engine.ms_analyze_version != NULL) {
        return true;
    }
    if (!PyUnicode_FSConverter(path, &encoded)) {
        return false;
    }
    void *library = dlopen(PyBytes_AsString(encoded), RTLD_NOW | RTLD_LOCAL);
    Py_DecRef(encoded);
    const char *error = library == NULL ? dlerror() : NULL;
#define X(name)                                                                                                        \
    {                                                                                                                  \
        void *found = library != NULL ? dlsym(library, #name) : NULL;                                                  \
        memcpy(&engine.name, &found, sizeof(found));                                                                   \
        error = error == NULL && found == NULL ? "no function " #name : error;                                         \
    }
    FUNCTIONS(X)
#undef X
    if (error == NULL && engine.ms_analyze_version() != MS_ANALYZE_API_VERSION) {
        error = "unsupported version";
    }
    if (error != NULL) {
        engine.ms_analyze_version = NULL;
        PyErr_Format(PyExc_OSError, "cannot load the analyses: %s", error);
        return false;
    }
    return true;
}

/* A running analysis: the functions that receive lines and problems, and whether one raised an exception. */
struct analyze_run {
    PyObject *line, *problem;
    bool failed;
};

static void hand_over(struct analyze_run *run, PyObject *function, const char *text)
{
    PyGILState_STATE gil = PyGILState_Ensure();
    if (!run->failed) {
        PyObject *line = PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
        PyObject *result = line != NULL ? PyObject_CallFunctionObjArgs(function, line, NULL) : NULL;
        run->failed = result == NULL; /* the exception stays set in this thread, which is the caller's thread */
        Py_XDECREF(line);
        Py_XDECREF(result);
    }
    PyGILState_Release(gil);
}

static void on_line(void *argument, const char *text)
{
    struct analyze_run *run = argument;
    hand_over(run, run->line, text);
}

static void on_problem(void *argument, const char *text)
{
    struct analyze_run *run = argument;
    hand_over(run, run->problem, text);
}

static int on_progress(void *argument, uint64_t done, uint64_t total)
{
    struct analyze_run *run = argument;
    PyGILState_STATE gil = PyGILState_Ensure();
    run->failed = run->failed || PyErr_CheckSignals() != 0;
    PyGILState_Release(gil);
    return run->failed;
}

static struct ms_analyze_io io_of(struct analyze_run *run)
{
    return (struct ms_analyze_io){
        .sz = sizeof(struct ms_analyze_io),
        .argument = run,
        .line = on_line,
        .problem = on_problem,
        .progress = on_progress,
    };
}

/* The result of an analysis, or NULL with the exception that stopped it or with the analysis's own error. */
static PyObject *result_of(const struct analyze_run *run, int rc, const char *why, PyObject *result)
{
    if (!run->failed && rc == 0) {
        return result;
    }
    Py_XDECREF(result);
    return run->failed ? NULL : native_failed(rc, why);
}

static PyObject *check_leaks(PyObject *module, PyObject *arguments)
{
    PyObject *library, *path;
    const char *mark;
    unsigned long long index;
    struct analyze_run run = {0};
    if (!PyArg_ParseTuple(arguments, "OO&sKOO", &library, PyUnicode_FSConverter, &path, &mark, &index, &run.line,
                          &run.problem)) {
        return NULL;
    }
    PyObject *result = NULL;
    if (engine_load(library)) {
        struct ms_analyze_io io = io_of(&run);
        struct ms_check_leaks_result found = {0};
        char why[MS_ANALYZE_WHY_B] = "";
        PyThreadState *thread = PyEval_SaveThread();
        int rc = engine.ms_check_leaks(PyBytes_AsString(path), mark, index, &io, &found, why, sizeof(why));
        PyEval_RestoreThread(thread);
        result = run.failed ? NULL : Py_BuildValue("(KK)", found.leaks, found.bytes);
        result = result_of(&run, rc, why, result);
    }
    Py_DecRef(path);
    return result;
}

static PyObject *check_inefficient(PyObject *module, PyObject *arguments)
{
    PyObject *library, *path;
    unsigned long long smallest, idle;
    unsigned long types;
    struct analyze_run run = {0};
    if (!PyArg_ParseTuple(arguments, "OO&KkKOO", &library, PyUnicode_FSConverter, &path, &smallest, &types, &idle,
                          &run.line, &run.problem)) {
        return NULL;
    }
    PyObject *result = NULL;
    if (engine_load(library)) {
        struct ms_analyze_io io = io_of(&run);
        struct ms_check_inefficient_result found = {0};
        char why[MS_ANALYZE_WHY_B] = "";
        PyThreadState *thread = PyEval_SaveThread();
        int rc = engine.ms_check_inefficient(PyBytes_AsString(path), smallest, (unsigned)types, idle, &io, &found, why,
                                             sizeof(why));
        PyEval_RestoreThread(thread);
        result =
            run.failed ? NULL : Py_BuildValue("(KKKs)", found.blocks[0], found.blocks[1], found.blocks[2], found.kept);
        result = result_of(&run, rc, why, result);
    }
    Py_DecRef(path);
    return result;
}

static PyMethodDef methods[] = {
    {"check_leaks", check_leaks, METH_VARARGS,
     "check_leaks(library, path, mark, index, line, problem) -> (leaks, bytes)"},
    {"check_inefficient", check_inefficient, METH_VARARGS,
     "check_inefficient(library, path, smallest, types, idle, line, problem) -> (early, late, idle, kept)"},
    {NULL, NULL, 0, NULL},
};

static int begin(PyObject *module)
{
    static const char *const names[] = {
#define X(number, name, text) text,
        MS_INEFFICIENT_TYPES(X)
#undef X
    };
    PyObject *types = PyDict_New();
    for (size_t i = 0; types != NULL && i < MS_COUNT_OF(names); i++) {
        PyObject *bit = PyLong_FromUnsignedLong(MS_CHECK_TYPE(i + 1));
        if (bit == NULL || PyDict_SetItemString(types, names[i], bit) != 0) {
            Py_CLEAR(types);
        }
        Py_XDECREF(bit);
    }
    int rc = types != NULL ? PyObject_SetAttrString(module, "INEFFICIENT_TYPES", types) : -1;
    Py_XDECREF(types);
    return rc;
}

const struct native_part native_part_analyze = {methods, begin};
