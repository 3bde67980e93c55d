/* SPDX-License-Identifier: Apache-2.0 */
/* Labels of msmemscope.describe: for the following allocations of this thread, or for one block by its address. The
 * recorder keeps the label stacks; these functions only forward. */
#include "native.h"

static PyObject *change(PyObject *arguments, bool push)
{
    unsigned long level;
    PyObject *label;
    struct ms_agent_text text;
    const struct ms_agent_v1 *agent = native_agent();
    if (!PyArg_ParseTuple(arguments, "kU", &level, &label) || !native_text(label, &text)) {
        return NULL;
    }
    if (agent != NULL && push) {
        agent->label_push((uint32_t)level, text);
    } else if (agent != NULL) {
        agent->label_pop((uint32_t)level, text);
    }
    Py_RETURN_NONE;
}

static PyObject *label_push(PyObject *module, PyObject *arguments)
{
    return change(arguments, true);
}

static PyObject *label_pop(PyObject *module, PyObject *arguments)
{
    return change(arguments, false);
}

static PyObject *label_address(PyObject *module, PyObject *arguments)
{
    unsigned long level;
    unsigned long long address;
    PyObject *label;
    struct ms_agent_text text;
    const struct ms_agent_v1 *agent = native_agent();
    if (!PyArg_ParseTuple(arguments, "kKU", &level, &address, &label) || !native_text(label, &text)) {
        return NULL;
    }
    if (agent != NULL && address != 0) {
        agent->address_label((uint32_t)level, address, text);
    }
    Py_RETURN_NONE;
}

/* Many at once, such as the parameters of a model. Objects that are not tensors, or have no memory, are skipped. */
static PyObject *label_tensors(PyObject *module, PyObject *arguments)
{
    static PyObject *data_ptr;
    unsigned long level;
    PyObject *label, *tensors;
    struct ms_agent_text text;
    const struct ms_agent_v1 *agent = native_agent();
    if (!PyArg_ParseTuple(arguments, "kUO!", &level, &label, &PyList_Type, &tensors) || !native_text(label, &text) ||
        (data_ptr == NULL && (data_ptr = PyUnicode_InternFromString("data_ptr")) == NULL)) {
        return NULL;
    }
    for (Py_ssize_t i = 0; agent != NULL && i < PyList_Size(tensors); i++) {
        PyObject *address = PyObject_CallMethodObjArgs(PyList_GetItem(tensors, i), data_ptr, NULL);
        unsigned long long value = address != NULL ? PyLong_AsUnsignedLongLong(address) : 0;
        Py_XDECREF(address);
        if (PyErr_Occurred()) {
            PyErr_Clear();
        } else if (value != 0) {
            agent->address_label((uint32_t)level, value, text);
        }
    }
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"label_push", label_push, METH_VARARGS, "label_push(level, label): labels what this thread allocates from now on"},
    {"label_pop", label_pop, METH_VARARGS, "label_pop(level, label): removes the label again"},
    {"label_address", label_address, METH_VARARGS,
     "label_address(level, address, label): labels the block that contains the address"},
    {"label_tensors", label_tensors, METH_VARARGS,
     "label_tensors(level, label, tensors): labels the blocks that contain them"},
    {NULL, NULL, 0, NULL},
};

const struct native_part native_part_labels = {methods, NULL};
