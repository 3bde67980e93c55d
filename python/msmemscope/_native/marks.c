/* SPDX-License-Identifier: Apache-2.0 */
/* Marks for the sanitizer ("sanitizer-op:..."), passed from the thread that sets them to a Python function.
 *
 * A mark may come from any thread, under any lock, with or without the GIL. It is copied into a ring, and a pending
 * call makes the main thread call the function when it next runs Python code. An exception of the function is raised
 * there. Marks that are too long, or find the ring full, are counted as lost.
 *
 * Threads: the thread that advances `head` owns the slot, fills it and publishes it by setting `full`. Only drain(),
 * under the GIL, consumes slots. */
#include "native.h"

#include <string.h>

#define SLOTS  64u
#define TEXT_B 1025u

static struct mark_slot {
    uint32_t full;
    void *stream;
    char text[TEXT_B];
} ring[SLOTS];
static uint64_t head, tail, lost;
static uint32_t pending; /* a call of drain() is queued */
static PyObject *handler;

static int drain(void *unused);

static void queue_drain(void)
{
    if (__atomic_exchange_n(&pending, 1, __ATOMIC_ACQ_REL) == 0 && Py_AddPendingCall(drain, NULL) != 0) {
        __atomic_store_n(&pending, 0, __ATOMIC_RELEASE); /* the interpreter's queue is full; the next mark retries */
    }
}

static void take(const char *text, void *stream)
{
    size_t length_b = strnlen(text, TEXT_B);
    uint64_t at = __atomic_load_n(&head, __ATOMIC_RELAXED);
    do {
        if (length_b == TEXT_B || at - __atomic_load_n(&tail, __ATOMIC_ACQUIRE) >= SLOTS) {
            __atomic_fetch_add(&lost, 1, __ATOMIC_RELAXED);
            return;
        }
    } while (!__atomic_compare_exchange_n(&head, &at, at + 1, true, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
    struct mark_slot *slot = &ring[at % SLOTS];
    memcpy(slot->text, text, length_b);
    slot->text[length_b] = '\0';
    slot->stream = stream;
    __atomic_store_n(&slot->full, 1, __ATOMIC_RELEASE);
    queue_drain();
}

static int drain(void *unused)
{
    int rc = 0;
    (void)unused;
    __atomic_store_n(&pending, 0, __ATOMIC_RELEASE);
    for (;;) {
        uint64_t at = __atomic_load_n(&tail, __ATOMIC_RELAXED);
        struct mark_slot *slot = &ring[at % SLOTS];
        if (at == __atomic_load_n(&head, __ATOMIC_ACQUIRE) || __atomic_load_n(&slot->full, __ATOMIC_ACQUIRE) == 0) {
            return rc;
        }
        if (rc != 0) { /* after an exception, deliver the rest in another call */
            queue_drain();
            return rc;
        }
        PyObject *text = PyUnicode_DecodeUTF8(slot->text, (Py_ssize_t)strlen(slot->text), "replace");
        PyObject *stream = PyLong_FromVoidPtr(slot->stream);
        __atomic_store_n(&slot->full, 0, __ATOMIC_RELAXED);
        __atomic_store_n(&tail, at + 1, __ATOMIC_RELEASE);
        PyObject *function = handler;
        if (text != NULL && stream != NULL && function != NULL) {
            Py_IncRef(function);
            PyObject *result = PyObject_CallFunctionObjArgs(function, text, stream, NULL);
            Py_DecRef(function);
            rc = result != NULL ? 0 : -1;
            Py_XDECREF(result);
        } else if (text == NULL || stream == NULL) {
            rc = -1;
        }
        Py_XDECREF(text);
        Py_XDECREF(stream);
    }
}

static PyObject *sanitizer(PyObject *module, PyObject *function)
{
    const struct ms_agent_v1 *agent = native_agent_needed();
    if (agent == NULL) {
        return NULL;
    }
    if (!MS_NATIVE_HAS(agent, on_sanitizer_mark)) {
        PyErr_SetString(PyExc_RuntimeError, "the preloaded recorder is too old for the sanitizer");
        return NULL;
    }
    if (function != Py_None && !PyCallable_Check(function)) {
        PyErr_SetString(PyExc_TypeError, "expected a function or None");
        return NULL;
    }
    PyObject *before = handler;
    handler = function != Py_None ? function : NULL;
    Py_XINCREF(handler);
    agent->on_sanitizer_mark(handler != NULL ? take : NULL);
    Py_XDECREF(before);
    Py_RETURN_NONE;
}

static PyObject *sanitizer_lost(PyObject *module, PyObject *unused)
{
    return PyLong_FromUnsignedLongLong(__atomic_load_n(&lost, __ATOMIC_RELAXED));
}

static PyMethodDef methods[] = {
    {"sanitizer", sanitizer, METH_O,
     "sanitizer(function | None): sets the function that receives marks for the sanitizer as (text, stream)"},
    {"sanitizer_lost", sanitizer_lost, METH_NOARGS,
     "sanitizer_lost() -> int: number of marks lost because the ring was full or they were too long"},
    {NULL, NULL, 0, NULL},
};

const struct native_part native_part_marks = {methods, NULL};
