/* SPDX-License-Identifier: Apache-2.0 */
/* Address, size and description of a tensor, and the record of an access to it.
 *
 * Tensors are read from memory where possible (access_layout.c), else queried through the methods of their class. The
 * description of a tensor is formatted once for each pair of type and shape; recent ones are found without Python.
 *
 * Recording must not disturb an operator: failures are skipped and their exceptions cleared. Needs the GIL. */
#include "access.h"

#include "trace/records.h"

#include <string.h>

static PyTypeObject *tensor_type, *parameter_type;
static PyObject *forms; /* (dtype, shape) -> (description, bytes) */
static struct {
    PyObject *is_cpu, *get_device, *data_ptr, *dtype, *shape, *element_size, *numel;
} names;

#define FORMS_MAX 65536 /* then the cache is cleared: the number of shapes is unbounded */

static bool is_tensor(PyObject *object)
{
    return Py_TYPE(object) == tensor_type || Py_TYPE(object) == parameter_type;
}

static bool is_derived(PyObject *object)
{
    return !is_tensor(object) && PyType_IsSubtype(Py_TYPE(object), tensor_type);
}

bool access_derived(PyObject *object)
{
    bool found = is_derived(object);
    if (PyList_Check(object)) {
        for (Py_ssize_t i = 0; i < PyList_Size(object) && !found; i++) {
            found = is_derived(PyList_GetItem(object, i));
        }
    }
    return found;
}

/* Pool and device, numbered as in the recorder. */
struct tensor_place {
    unsigned pool;
    uint32_t device;
};

/* False: neither the CPU nor an NPU. */
static bool place_at(const struct ms_agent_v1 *agent, bool on_cpu, long index, struct tensor_place *out)
{
    if (on_cpu) {
        *out = (struct tensor_place){MS_POOL_HOST, MS_DEV_CPU};
    } else if (index >= 0) {
        *out = (struct tensor_place){MS_POOL_PTA, agent->device_of_user((uint32_t)index)};
    }
    return on_cpu || index >= 0;
}

/* ---- queries through methods ---- */

static unsigned long long number(PyObject *object, PyObject *method)
{
    PyObject *result = PyObject_CallMethodObjArgs(object, method, NULL);
    unsigned long long value = result != NULL ? PyLong_AsUnsignedLongLong(result) : 0;
    Py_XDECREF(result);
    return value;
}

static bool place_of(const struct ms_agent_v1 *agent, PyObject *tensor, struct tensor_place *out)
{
    PyObject *cpu = PyObject_GetAttr(tensor, names.is_cpu);
    bool on_cpu = cpu == Py_True;
    Py_XDECREF(cpu);
    if (on_cpu) {
        return place_at(agent, true, -1, out);
    }
    PyObject *index = PyObject_CallMethodObjArgs(tensor, names.get_device, NULL);
    long value = index != NULL ? PyLong_AsLong(index) : -1;
    Py_XDECREF(index);
    return place_at(agent, false, value, out);
}

/* ---- descriptions ---- */

/* Borrowed from `forms`: valid until an entry is added there. */
struct tensor_form {
    struct ms_agent_text description;
    uint64_t size_b;
};

/* Recent forms of tensors that were read from memory. */
struct tensor_memo {
    struct tensor_form form; /* no description: unused */
    uint16_t type;
    uint16_t dimensions;
    int64_t sizes[MS_TENSOR_SIZES];
    uint64_t elements;
};
#define MEMOS 2048u
static struct tensor_memo memos[MEMOS];

static PyObject *new_form(PyObject *tensor, PyObject *key)
{
    unsigned long long bytes = number(tensor, names.numel) * number(tensor, names.element_size);
    PyObject *text = PyUnicode_FromFormat("dtype:%S,shape:%S", PyTuple_GetItem(key, 0), PyTuple_GetItem(key, 1));
    PyObject *encoded = text != NULL ? PyUnicode_AsUTF8String(text) : NULL;
    PyObject *form = encoded != NULL && !PyErr_Occurred() ? Py_BuildValue("(OK)", encoded, bytes) : NULL;
    if (form != NULL) {
        if (PyDict_Size(forms) >= FORMS_MAX) {
            memset(memos, 0, sizeof(memos));
            PyDict_Clear(forms);
        }
        if (PyDict_SetItem(forms, key, form) != 0) {
            Py_CLEAR(form);
        }
    }
    Py_XDECREF(text);
    Py_XDECREF(encoded);
    Py_XDECREF(form); /* the dictionary holds a reference */
    return form;
}

static bool form_of(PyObject *tensor, struct tensor_form *out)
{
    PyObject *dtype = PyObject_GetAttr(tensor, names.dtype), *shape = PyObject_GetAttr(tensor, names.shape);
    PyObject *key = dtype != NULL && shape != NULL ? PyTuple_Pack(2, dtype, shape) : NULL;
    PyObject *form = key != NULL ? PyDict_GetItemWithError(forms, key) : NULL;
    if (form == NULL && key != NULL && !PyErr_Occurred()) {
        form = new_form(tensor, key);
    }
    if (form != NULL) {
        PyObject *text = PyTuple_GetItem(form, 0);
        out->description = (struct ms_agent_text){PyBytes_AsString(text), (size_t)PyBytes_Size(text)};
        out->size_b = PyLong_AsUnsignedLongLong(PyTuple_GetItem(form, 1));
    }
    Py_XDECREF(dtype);
    Py_XDECREF(shape);
    Py_XDECREF(key);
    return form != NULL;
}

/* The memo for a tensor read from memory; NULL: it cannot be described. */
static const struct tensor_memo *memo_of(PyObject *tensor, const struct access_view *view)
{
    uint64_t hash = view->type + ((uint64_t)view->dimensions << 16), elements = 1;
    for (uint32_t i = 0; i < view->dimensions; i++) {
        hash = (hash ^ (uint64_t)view->sizes[i]) * 0x9e3779b97f4a7c15u;
        elements *= (uint64_t)view->sizes[i];
    }
    struct tensor_memo *memo = &memos[hash >> 32 & (MEMOS - 1)];
    size_t sizes_b = view->dimensions * sizeof(view->sizes[0]);
    if (MS_LIKELY(memo->form.description.text != NULL && memo->type == view->type &&
                  memo->dimensions == view->dimensions && memcmp(memo->sizes, view->sizes, sizes_b) == 0)) {
        return memo;
    }
    struct tensor_form form;
    if (!form_of(tensor, &form)) {
        return NULL;
    }
    *memo = (struct tensor_memo){form, view->type, (uint16_t)view->dimensions, {0}, elements};
    memcpy(memo->sizes, view->sizes, sizes_b);
    return memo;
}

/* ---- recording ---- */

struct tensor_access {
    uint64_t address;
    struct tensor_place place;
    struct tensor_form form;
};

static bool see(const struct ms_agent_v1 *agent, PyObject *tensor, struct tensor_access *out)
{
    struct access_view view;
    const struct tensor_memo *memo;
    if (!access_see(tensor, &view) || !place_at(agent, view.device == 0, view.device_index, &out->place) ||
        (memo = memo_of(tensor, &view)) == NULL) {
        return false;
    }
    out->form = memo->form;
    out->address = view.base + (uint64_t)view.offset * (memo->form.size_b / memo->elements);
    return true;
}

static bool ask(const struct ms_agent_v1 *agent, PyObject *tensor, struct tensor_access *out)
{
    if (!place_of(agent, tensor, &out->place)) {
        return false;
    }
    out->address = number(tensor, names.data_ptr);
    return out->address != 0 && !PyErr_Occurred() && form_of(tensor, &out->form);
}

static void record(const struct ms_agent_v1 *agent, PyObject *tensor, unsigned type, struct ms_agent_text operation)
{
    struct tensor_access access;
    bool known = see(agent, tensor, &access);
    if (MS_UNLIKELY(!known)) {
        PyErr_Clear();
        known = ask(agent, tensor, &access);
        PyErr_Clear();
    }
    if (known) {
        agent->access(access.place.pool, access.place.device, access.address, access.form.size_b, type, operation,
                      access.form.description);
    }
}

PyObject *access_of(const struct ms_agent_v1 *agent, PyObject *tensor, bool seen)
{
    struct tensor_access access;
    bool known = is_tensor(tensor) && (seen ? see : ask)(agent, tensor, &access);
    PyErr_Clear();
    if (!known) {
        Py_RETURN_NONE;
    }
    return Py_BuildValue("(KKs#II)", access.address, access.form.size_b, access.form.description.text,
                         (Py_ssize_t)access.form.description.length_b, access.place.pool, access.place.device);
}

void access_record(const struct ms_agent_v1 *agent, PyObject *object, unsigned type, struct ms_agent_text operation)
{
    if (is_tensor(object)) {
        record(agent, object, type, operation);
    } else if (PyList_Check(object)) {
        for (Py_ssize_t i = 0; i < PyList_Size(object); i++) {
            PyObject *item = PyList_GetItem(object, i);
            if (is_tensor(item)) {
                record(agent, item, type, operation);
            }
        }
    } else if (PyTuple_Check(object)) {
        for (Py_ssize_t i = 0; i < PyTuple_Size(object); i++) {
            PyObject *item = PyTuple_GetItem(object, i);
            if (is_tensor(item)) {
                record(agent, item, type, operation);
            }
        }
    }
}

int access_tensors(PyObject *tensor, PyObject *parameter)
{
    const struct {
        PyObject **name;
        const char *text;
    } all[] = {{&names.is_cpu, "is_cpu"}, {&names.get_device, "get_device"}, {&names.data_ptr, "data_ptr"},
               {&names.dtype, "dtype"},   {&names.shape, "shape"},           {&names.element_size, "element_size"},
               {&names.numel, "numel"}};
    for (size_t i = 0; i < MS_COUNT_OF(all); i++) {
        if (*all[i].name == NULL && (*all[i].name = PyUnicode_InternFromString(all[i].text)) == NULL) {
            return -1;
        }
    }
    if (forms == NULL && (forms = PyDict_New()) == NULL) {
        return -1;
    }
    Py_INCREF(tensor);
    Py_INCREF(parameter);
    Py_XDECREF((PyObject *)tensor_type);
    Py_XDECREF((PyObject *)parameter_type);
    tensor_type = (PyTypeObject *)tensor;
    parameter_type = (PyTypeObject *)parameter;
    return 0;
}
