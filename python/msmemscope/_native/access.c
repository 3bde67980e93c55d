/* Accesses of operators: from the arguments of one, as PyTorch's dispatch mode gets them, to records.
 *
 * What an operator does with each argument is known (see _torch_access.py, which makes the facts); here the tensors
 * among the arguments are found, with where they are, how large, and of which kind. The text that describes a tensor is
 * made once for each pair of type and shape.
 *
 * Nothing of this may disturb an operator: what fails is passed over, exceptions of it are forgotten. With the GIL. */
#include "native.h"

#include "trace/records.h"

enum { NOTHING, READ, WRITE };

static PyTypeObject *tensor_type, *parameter_type;
static PyObject *forms; /* (dtype, shape) -> (description, bytes) */
static struct {
    PyObject *is_cpu, *get_device, *data_ptr, *dtype, *shape, *element_size, *numel;
} names;

#define FORMS_MAX 65536 /* then it is begun anew: shapes may change without end */

/* ---- tensors ---- */

/* Tensors that only stand for others, as those of tracers, have types of their own. */
static bool is_tensor(PyObject *object)
{
    return Py_TYPE(object) == tensor_type || Py_TYPE(object) == parameter_type;
}

static unsigned long long number(PyObject *object, PyObject *method)
{
    PyObject *result = PyObject_CallMethodObjArgs(object, method, NULL);
    unsigned long long value = result != NULL ? PyLong_AsUnsignedLongLong(result) : 0;
    Py_XDECREF(result);
    return value;
}

static PyObject *new_form(PyObject *tensor, PyObject *key)
{
    unsigned long long bytes = number(tensor, names.numel) * number(tensor, names.element_size);
    PyObject *text = PyUnicode_FromFormat("dtype:%S,shape:%S", PyTuple_GetItem(key, 0), PyTuple_GetItem(key, 1));
    PyObject *encoded = text != NULL ? PyUnicode_AsUTF8String(text) : NULL;
    PyObject *form = encoded != NULL && !PyErr_Occurred() ? Py_BuildValue("(OK)", encoded, bytes) : NULL;
    if (form != NULL) {
        if (PyDict_Size(forms) >= FORMS_MAX) {
            PyDict_Clear(forms);
        }
        PyDict_SetItem(forms, key, form);
    }
    Py_XDECREF(text);
    Py_XDECREF(encoded);
    return form;
}

/* A new reference to (description, bytes), or NULL. */
static PyObject *form_of(PyObject *tensor)
{
    PyObject *dtype = PyObject_GetAttr(tensor, names.dtype), *shape = PyObject_GetAttr(tensor, names.shape);
    PyObject *key = dtype != NULL && shape != NULL ? PyTuple_Pack(2, dtype, shape) : NULL;
    PyObject *form = key != NULL ? PyDict_GetItemWithError(forms, key) : NULL;
    if (form != NULL) {
        Py_INCREF(form);
    } else if (key != NULL && !PyErr_Occurred()) {
        form = new_form(tensor, key);
    }
    Py_XDECREF(dtype);
    Py_XDECREF(shape);
    Py_XDECREF(key);
    return form;
}

/* Pool and device of a tensor; false: of no device that has memory of ours. */
static bool place_of(const struct ms_agent_v1 *agent, PyObject *tensor, unsigned *pool, uint32_t *device)
{
    PyObject *cpu = PyObject_GetAttr(tensor, names.is_cpu);
    bool on_cpu = cpu == Py_True;
    Py_XDECREF(cpu);
    if (on_cpu) {
        *pool = MS_POOL_HOST;
        *device = MS_DEV_CPU;
        return true;
    }
    PyObject *index = PyObject_CallMethodObjArgs(tensor, names.get_device, NULL);
    long value = index != NULL ? PyLong_AsLong(index) : -1;
    Py_XDECREF(index);
    *pool = MS_POOL_PTA;
    *device = value >= 0 ? agent->device_of_user((uint32_t)value) : MS_DEV_UNKNOWN;
    return value >= 0;
}

static void try_record(const struct ms_agent_v1 *agent, PyObject *tensor, unsigned what, PyObject *name)
{
    unsigned pool;
    uint32_t device;
    if (!place_of(agent, tensor, &pool, &device)) {
        return;
    }
    unsigned long long address = number(tensor, names.data_ptr);
    PyObject *form = address != 0 && !PyErr_Occurred() ? form_of(tensor) : NULL;
    if (form == NULL) {
        return;
    }
    PyObject *text = PyTuple_GetItem(form, 0);
    struct ms_agent_text operation = {PyBytes_AsString(name), (size_t)PyBytes_Size(name)};
    struct ms_agent_text description = {PyBytes_AsString(text), (size_t)PyBytes_Size(text)};
    agent->access(pool, device, address, PyLong_AsUnsignedLongLong(PyTuple_GetItem(form, 1)),
                  what == WRITE ? MS_ACCESS_WRITE : MS_ACCESS_READ, operation, description);
    Py_DECREF(form);
}

static void record(const struct ms_agent_v1 *agent, PyObject *tensor, unsigned what, PyObject *name)
{
    try_record(agent, tensor, what, name);
    PyErr_Clear();
}

/* A tensor, or a list of some; anything else is none of ours. */
static void look_at(const struct ms_agent_v1 *agent, PyObject *object, unsigned what, PyObject *name)
{
    if (is_tensor(object)) {
        record(agent, object, what, name);
    } else if (PyList_Check(object)) {
        for (Py_ssize_t i = 0; i < PyList_Size(object); i++) {
            PyObject *item = PyList_GetItem(object, i);
            if (is_tensor(item)) {
                record(agent, item, what, name);
            }
        }
    } else if (PyTuple_Check(object)) {
        for (Py_ssize_t i = 0; i < PyTuple_Size(object); i++) {
            PyObject *item = PyTuple_GetItem(object, i);
            if (is_tensor(item)) {
                record(agent, item, what, name);
            }
        }
    }
}

/* ---- operators ---- */

struct facts { /* borrowed */
    PyObject *name, *keywords;
    const char *inputs, *outputs;
    Py_ssize_t input_count, output_count;
};

static bool read_facts(PyObject *tuple, struct facts *out)
{
    PyObject *inputs, *outputs;
    if (!PyArg_ParseTuple(tuple, "SSOS", &out->name, &inputs, &out->keywords, &outputs)) {
        return false;
    }
    out->inputs = PyBytes_AsString(inputs);
    out->outputs = PyBytes_AsString(outputs);
    out->input_count = PyBytes_Size(inputs);
    out->output_count = PyBytes_Size(outputs);
    return true;
}

static PyObject *inputs(PyObject *module, PyObject *arguments)
{
    PyObject *tuple, *positional, *keywords;
    struct facts facts;
    const struct ms_agent_v1 *agent = native_agent();
    if (!PyArg_ParseTuple(arguments, "OOO", &tuple, &positional, &keywords) || !read_facts(tuple, &facts)) {
        return NULL;
    }
    if (agent == NULL || forms == NULL || !PyTuple_Check(positional)) {
        Py_RETURN_NONE;
    }
    Py_ssize_t count = PyTuple_Size(positional);
    for (Py_ssize_t i = 0; i < count && i < facts.input_count; i++) {
        if (facts.inputs[i] != NOTHING) {
            look_at(agent, PyTuple_GetItem(positional, i), (unsigned)facts.inputs[i], facts.name);
        }
    }
    if (PyDict_Check(keywords) && PyDict_Check(facts.keywords)) {
        PyObject *key, *value;
        Py_ssize_t at = 0;
        while (PyDict_Next(keywords, &at, &key, &value)) {
            PyObject *what = PyDict_GetItemWithError(facts.keywords, key);
            if (what != NULL) {
                look_at(agent, value, (unsigned)PyLong_AsLong(what), facts.name);
            }
        }
    }
    PyErr_Clear();
    Py_RETURN_NONE;
}

static PyObject *outputs(PyObject *module, PyObject *arguments)
{
    PyObject *tuple, *result;
    struct facts facts;
    const struct ms_agent_v1 *agent = native_agent();
    if (!PyArg_ParseTuple(arguments, "OO", &tuple, &result) || !read_facts(tuple, &facts)) {
        return NULL;
    }
    if (agent == NULL || forms == NULL) {
        Py_RETURN_NONE;
    }
    if (facts.output_count == 1) {
        if (facts.outputs[0] != NOTHING) {
            look_at(agent, result, (unsigned)facts.outputs[0], facts.name);
        }
    } else if (PyTuple_Check(result)) {
        for (Py_ssize_t i = 0; i < PyTuple_Size(result) && i < facts.output_count; i++) {
            if (facts.outputs[i] != NOTHING) {
                look_at(agent, PyTuple_GetItem(result, i), (unsigned)facts.outputs[i], facts.name);
            }
        }
    }
    PyErr_Clear();
    Py_RETURN_NONE;
}

static PyObject *begin(PyObject *module, PyObject *arguments)
{
    PyObject *tensor, *parameter;
    if (!PyArg_ParseTuple(arguments, "OO", &tensor, &parameter)) {
        return NULL;
    }
    if (!PyType_Check(tensor) || !PyType_Check(parameter)) {
        PyErr_SetString(PyExc_TypeError, "two classes are needed");
        return NULL;
    }
    const struct {
        PyObject **name;
        const char *text;
    } all[] = {{&names.is_cpu, "is_cpu"}, {&names.get_device, "get_device"}, {&names.data_ptr, "data_ptr"},
               {&names.dtype, "dtype"},   {&names.shape, "shape"},           {&names.element_size, "element_size"},
               {&names.numel, "numel"}};
    for (size_t i = 0; i < MS_COUNT_OF(all); i++) {
        if (*all[i].name == NULL && (*all[i].name = PyUnicode_InternFromString(all[i].text)) == NULL) {
            return NULL;
        }
    }
    Py_INCREF(tensor);
    Py_INCREF(parameter);
    Py_XDECREF((PyObject *)tensor_type);
    Py_XDECREF((PyObject *)parameter_type);
    tensor_type = (PyTypeObject *)tensor;
    parameter_type = (PyTypeObject *)parameter;
    if (forms == NULL && (forms = PyDict_New()) == NULL) {
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"access_begin", begin, METH_VARARGS, "access_begin(Tensor, Parameter): the classes of what has memory"},
    {"access_inputs", inputs, METH_VARARGS, "access_inputs(facts, args, kwargs): of an operator that begins"},
    {"access_outputs", outputs, METH_VARARGS, "access_outputs(facts, result): of one that has ended"},
    {NULL, NULL, 0, NULL},
};

const struct native_part native_part_access = {methods, NULL};
