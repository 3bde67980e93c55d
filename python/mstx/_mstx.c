/* SPDX-License-Identifier: Apache-2.0 */
/* mstx for Python: marks and ranges for the injected tool, the recorder or another one.
 *
 * Uses the front end of the C header, which looks for a tool at the first call. A tool that is loaded later, as the
 * recorder is when msmemscope is imported after the first mark, is found after refresh(). Calls release the GIL,
 * because a tool may be slow. */
#include <Python.h>

#include "base/macros.h"
#include "mstx/ms_tools_ext.h"

#include <stdbool.h>

static const char capsule[] = "mstx.domain";

/* Converter for PyArg_Parse...: None, or a stream handle as an int. */
static int stream_of(PyObject *object, void *out)
{
    void **stream = out;
    if (object == Py_None) {
        *stream = NULL;
        return 1;
    }
    if (!PyLong_Check(object)) {
        PyErr_SetString(PyExc_TypeError, "stream must be an integer (aclrtStream handle) or None");
        return 0;
    }
    *stream = PyLong_AsVoidPtr(object);
    return PyErr_Occurred() == NULL;
}

/* Converter: a domain created here and not destroyed; NULL if the tool does not support domains. */
static int domain_of(PyObject *object, void *out)
{
    mstxDomainHandle_t *domain = out;
    *domain = NULL;
    if (object == Py_None) {
        return 1;
    }
    *domain = PyCapsule_GetPointer(object, capsule);
    return *domain != NULL;
}

static PyObject *range_id(mstxRangeId id)
{
    return PyLong_FromUnsignedLong((unsigned long)(id & 0xffffffffu));
}

/* ---- without a domain ---- */

static PyObject *mark(PyObject *module, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = {"message", "stream", NULL};
    const char *message;
    void *stream = NULL;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "s|O&:mark", names, &message, stream_of, &stream)) {
        return NULL;
    }
    PyThreadState *thread = PyEval_SaveThread();
    mstxMarkA(message, stream);
    PyEval_RestoreThread(thread);
    Py_RETURN_NONE;
}

static PyObject *range_start(PyObject *module, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = {"message", "stream", NULL};
    const char *message;
    void *stream = NULL;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "s|O&:range_start", names, &message, stream_of, &stream)) {
        return NULL;
    }
    PyThreadState *thread = PyEval_SaveThread();
    mstxRangeId id = mstxRangeStartA(message, stream);
    PyEval_RestoreThread(thread);
    return range_id(id);
}

static PyObject *range_end(PyObject *module, PyObject *arguments, PyObject *keywords)
{
    static char *names[] = {"rangeId", NULL};
    unsigned long id;
    if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "k:range_end", names, &id)) {
        return NULL;
    }
    PyThreadState *thread = PyEval_SaveThread();
    mstxRangeEnd(id);
    PyEval_RestoreThread(thread);
    Py_RETURN_NONE;
}

static PyObject *get_tool_id(PyObject *module, PyObject *unused)
{
    uint64_t id = MSTX_TOOL_INVALID_ID;
    PyThreadState *thread = PyEval_SaveThread();
    mstxGetToolId(&id);
    PyEval_RestoreThread(thread);
    return PyLong_FromUnsignedLongLong(id);
}

/* ---- domains ---- */

static PyObject *domain_create(PyObject *module, PyObject *arguments)
{
    const char *name;
    if (!PyArg_ParseTuple(arguments, "s:domain_create", &name)) {
        return NULL;
    }
    PyThreadState *thread = PyEval_SaveThread();
    mstxDomainHandle_t domain = mstxDomainCreateA(name);
    PyEval_RestoreThread(thread);
    if (domain == NULL) {
        Py_RETURN_NONE;
    }
    return PyCapsule_New(domain, capsule, NULL);
}

static PyObject *domain_destroy(PyObject *module, PyObject *arguments)
{
    mstxDomainHandle_t domain;
    if (!PyArg_ParseTuple(arguments, "O&:domain_destroy", domain_of, &domain)) {
        return NULL;
    }
    PyThreadState *thread = PyEval_SaveThread();
    if (domain != NULL) {
        mstxDomainDestroy(domain);
    }
    PyEval_RestoreThread(thread);
    Py_RETURN_NONE;
}

static PyObject *domain_mark(PyObject *module, PyObject *arguments)
{
    mstxDomainHandle_t domain;
    const char *message;
    void *stream = NULL;
    if (!PyArg_ParseTuple(arguments, "O&s|O&:domain_mark", domain_of, &domain, &message, stream_of, &stream)) {
        return NULL;
    }
    PyThreadState *thread = PyEval_SaveThread();
    if (domain != NULL) {
        mstxDomainMarkA(domain, message, stream);
    }
    PyEval_RestoreThread(thread);
    Py_RETURN_NONE;
}

static PyObject *domain_range_start(PyObject *module, PyObject *arguments)
{
    mstxDomainHandle_t domain;
    const char *message;
    void *stream = NULL;
    if (!PyArg_ParseTuple(arguments, "O&s|O&:domain_range_start", domain_of, &domain, &message, stream_of, &stream)) {
        return NULL;
    }
    PyThreadState *thread = PyEval_SaveThread();
    mstxRangeId id = domain != NULL ? mstxDomainRangeStartA(domain, message, stream) : MSTX_INVALID_RANGE_ID;
    PyEval_RestoreThread(thread);
    return range_id(id);
}

static PyObject *domain_range_end(PyObject *module, PyObject *arguments)
{
    mstxDomainHandle_t domain;
    unsigned long id;
    if (!PyArg_ParseTuple(arguments, "O&k:domain_range_end", domain_of, &domain, &id)) {
        return NULL;
    }
    PyThreadState *thread = PyEval_SaveThread();
    if (domain != NULL) {
        mstxDomainRangeEnd(domain, id);
    }
    PyEval_RestoreThread(thread);
    Py_RETURN_NONE;
}

/* ---- the front end ---- */

static PyObject *refresh(PyObject *module, PyObject *unused)
{
    mstxImplContext *context = &mstxImplContext_v1;
    bool found = false;
    for (int i = 0; i < MSTX_API_MODULE_SIZE; i++) {
        for (int k = 0; k < MSTX_IMPL_SLOTS; k++) {
            found = found || __atomic_load_n(&context->slots[i][k], __ATOMIC_RELAXED) != NULL;
        }
    }
    int ready = MSTX_IMPL_READY;
    if (!found) { /* keep a tool that is in use */
        __atomic_compare_exchange_n(&context->state, &ready, MSTX_IMPL_FRESH, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
    }
    Py_RETURN_NONE;
}

/* Functions with keywords have another type; the cast goes through void (*)(void) to avoid a warning. */
#define WITH_KEYWORDS(function) ((PyCFunction)(void (*)(void))(function))

static PyMethodDef methods[] = {
    {"mark", WITH_KEYWORDS(mark), METH_VARARGS | METH_KEYWORDS, "mark(message, stream=None)"},
    {"range_start", WITH_KEYWORDS(range_start), METH_VARARGS | METH_KEYWORDS,
     "range_start(message, stream=None) -> int: id of the range; 0 without a tool"},
    {"range_end", WITH_KEYWORDS(range_end), METH_VARARGS | METH_KEYWORDS, "range_end(rangeId)"},
    {"get_tool_id", get_tool_id, METH_NOARGS, "get_tool_id() -> int: 0 without a tool"},
    {"domain_create", domain_create, METH_VARARGS,
     "domain_create(name) -> handle, or None if the tool does not support domains"},
    {"domain_destroy", domain_destroy, METH_VARARGS, "domain_destroy(handle)"},
    {"domain_mark", domain_mark, METH_VARARGS, "domain_mark(handle, message, stream=None)"},
    {"domain_range_start", domain_range_start, METH_VARARGS, "domain_range_start(handle, message, stream=None) -> int"},
    {"domain_range_end", domain_range_end, METH_VARARGS, "domain_range_end(handle, id)"},
    {"refresh", refresh, METH_NOARGS, "refresh(): looks for a tool again if none was found"},
    {NULL, NULL, 0, NULL},
};

PyMODINIT_FUNC PyInit__mstx(void) MS_EXPORT;
PyMODINIT_FUNC PyInit__mstx(void)
{
    static PyModuleDef definition = {
        PyModuleDef_HEAD_INIT,
        .m_name = "mstx._mstx",
        .m_doc = "The mstx front end.",
        .m_methods = methods,
    };
    return PyModuleDef_Init(&definition);
}
