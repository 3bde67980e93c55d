/* SPDX-License-Identifier: Apache-2.0 */
/* Accesses of operators: the function that PyTorch's dispatch mode calls for each, and what is known of operators.
 *
 * What an operator does with each of its arguments and results follows from its schema; that is worked out in Python,
 * once (_torch_access.py), and kept here by the address of the operator's object, which is kept, too. So an operator
 * comes to us, and goes on to PyTorch, without a line of Python.
 *
 * Nothing of this may disturb an operator: what fails is passed over, exceptions of it are forgotten; exceptions of the
 * operator itself are the program's. PyTorch hands a tensor that was made of a number (of 1.5 in `x * 1.5`) to a mode
 * as a number again, as argument and as result, and does not take it back from every operator: then we make a tensor of
 * it. With the GIL; an operator may let it go while it runs, so that others are added meanwhile: they lie where they
 * are until the process ends. */
#include "access.h"

#include "trace/records.h"

enum { NOTHING, READ, WRITE }; /* as in _torch_access.py */

/* ---- operators ---- */

struct op {
    PyObject *function; /* what PyTorch calls it by */
    PyObject *run;      /* what its __call__ comes down to */
    PyObject *facts;    /* keeps the rest */
    struct ms_agent_text name;
    const char *inputs, *outputs;
    Py_ssize_t input_count, output_count;
    PyObject *keywords;
    int returns_tensor; /* one, and nothing else */
    bool kept;
};

#define OPERATORS_MAX 8192u /* further ones are worked out at each call */
#define SLOTS         (2 * OPERATORS_MAX)
static struct op *operators[SLOTS];
static uint32_t operator_count;

static PyObject *work_out;   /* operator -> facts */
static PyObject *restore;    /* operator, arguments, keywords -> the same with tensors for numbers, or None */
static PyObject *tensor_of;  /* number -> tensor */
static PyObject *plain_type; /* of operators that only hand their arguments on to _op */
static bool on;

static void forget(struct op *op)
{
    Py_XDECREF(op->function);
    Py_XDECREF(op->run);
    Py_XDECREF(op->facts);
    PyMem_Free(op);
}

/* NULL with an exception. */
static struct op *new_operator(PyObject *function)
{
    struct op *op = PyMem_Calloc(1, sizeof(*op));
    if (op == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    PyObject *name, *inputs, *outputs;
    Py_INCREF(function);
    op->function = function;
    op->facts = PyObject_CallFunctionObjArgs(work_out, function, NULL);
    if (op->facts == NULL || !PyTuple_Check(op->facts) ||
        !PyArg_ParseTuple(op->facts, "SSO!Sp", &name, &inputs, &PyDict_Type, &op->keywords, &outputs,
                          &op->returns_tensor)) {
        forget(op);
        return NULL;
    }
    op->name = (struct ms_agent_text){PyBytes_AsString(name), (size_t)PyBytes_Size(name)};
    op->inputs = PyBytes_AsString(inputs);
    op->outputs = PyBytes_AsString(outputs);
    op->input_count = PyBytes_Size(inputs);
    op->output_count = PyBytes_Size(outputs);
    op->run = (PyObject *)Py_TYPE(function) == plain_type ? PyObject_GetAttrString(function, "_op") : NULL;
    if (op->run == NULL) {
        PyErr_Clear();
        Py_INCREF(function);
        op->run = function;
    }
    return op;
}

/* NULL: nothing is known of it. */
static struct op *operator_of(PyObject *function)
{
    uint32_t at = (uint32_t)(((uintptr_t)function >> 4) * 0x9e3779b97f4a7c15u >> 40);
    for (; operators[at % SLOTS] != NULL; at++) {
        if (operators[at % SLOTS]->function == function) {
            return operators[at % SLOTS];
        }
    }
    struct op *op = new_operator(function);
    if (op == NULL) {
        PyErr_Clear();
    } else if (operator_count < OPERATORS_MAX) {
        while (operators[at % SLOTS] != NULL) { /* others were added while Python ran */
            at++;
        }
        op->kept = true;
        operators[at % SLOTS] = op;
        operator_count++;
    }
    return op;
}

/* ---- arguments and results ---- */

static void look_at(const struct ms_agent_v1 *agent, const struct op *op, PyObject *object, long what)
{
    if (what != NOTHING) {
        access_record(agent, object, what == WRITE ? MS_ACCESS_WRITE : MS_ACCESS_READ, op->name);
    }
}

static void inputs(const struct ms_agent_v1 *agent, const struct op *op, PyObject *positional, PyObject *keywords)
{
    Py_ssize_t count = PyTuple_Size(positional);
    for (Py_ssize_t i = 0; i < count && i < op->input_count; i++) {
        look_at(agent, op, PyTuple_GetItem(positional, i), op->inputs[i]);
    }
    PyObject *key, *value;
    Py_ssize_t at = 0;
    while (keywords != NULL && PyDict_Next(keywords, &at, &key, &value)) {
        PyObject *what = PyDict_GetItemWithError(op->keywords, key);
        look_at(agent, op, value, what != NULL ? PyLong_AsLong(what) : NOTHING);
    }
    PyErr_Clear();
}

static void outputs(const struct ms_agent_v1 *agent, const struct op *op, PyObject *result)
{
    if (op->output_count == 1) {
        look_at(agent, op, result, op->outputs[0]);
    } else if (PyTuple_Check(result)) {
        for (Py_ssize_t i = 0; i < PyTuple_Size(result) && i < op->output_count; i++) {
            look_at(agent, op, PyTuple_GetItem(result, i), op->outputs[i]);
        }
    }
}

/* ---- the call ---- */

/* The operator has refused its arguments: once more, with tensors, if there are numbers in the place of some. */
static PyObject *run_again(const struct op *op, PyObject *positional, PyObject *keywords)
{
    PyObject *type, *value, *traceback, *result = NULL;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *restored =
        PyObject_CallFunctionObjArgs(restore, op->function, positional, keywords != NULL ? keywords : Py_None, NULL);
    PyObject *tensors, *named;
    if (restored == NULL || restored == Py_None ||
        !PyArg_ParseTuple(restored, "O!O!", &PyTuple_Type, &tensors, &PyDict_Type, &named)) {
        PyErr_Restore(type, value, traceback); /* of the operator; ours is gone */
    } else {
        Py_XDECREF(type);
        Py_XDECREF(value);
        Py_XDECREF(traceback);
        result = PyObject_Call(op->run, tensors, named);
    }
    Py_XDECREF(restored);
    return result;
}

static PyObject *run(const struct op *op, PyObject *positional, PyObject *keywords)
{
    PyObject *result = PyObject_Call(op->run, positional, keywords);
    if (result == NULL && PyErr_ExceptionMatches(PyExc_RuntimeError)) {
        result = run_again(op, positional, keywords);
    }
    if (result != NULL && op->returns_tensor &&
        (PyFloat_Check(result) || PyLong_Check(result) || PyComplex_Check(result))) {
        PyObject *tensor = PyObject_CallFunctionObjArgs(tensor_of, result, NULL);
        Py_DECREF(result);
        result = tensor;
    }
    return result;
}

/* ---- what Python calls ---- */

/* As PyTorch calls it: arguments by position, the last of which may be absent. */
static PyObject *dispatch(PyObject *mode, PyObject *arguments)
{
    PyObject *function, *types, *positional = NULL, *keywords = NULL;
    if (!PyArg_UnpackTuple(arguments, "__torch_dispatch__", 2, 4, &function, &types, &positional, &keywords)) {
        return NULL;
    }
    positional = positional != NULL ? PySequence_Tuple(positional) : PyTuple_New(0); /* of a tuple: itself */
    if (positional == NULL) {
        return NULL;
    }
    keywords = keywords != NULL && PyDict_Check(keywords) ? keywords : NULL;
    const struct ms_agent_v1 *agent = on ? native_agent() : NULL;
    struct op *op = work_out != NULL ? operator_of(function) : NULL;
    if (op == NULL) {
        PyObject *result = PyObject_Call(function, positional, keywords);
        Py_DECREF(positional);
        return result;
    }
    if (agent != NULL) {
        inputs(agent, op, positional, keywords);
    }
    PyObject *result = run(op, positional, keywords);
    if (result != NULL && agent != NULL) {
        outputs(agent, op, result);
    }
    if (!op->kept) {
        forget(op);
    }
    Py_DECREF(positional);
    return result;
}

/* A method of that object: PyTorch wants to find the mode in its __self__. */
static PyObject *bind(PyObject *module, PyObject *mode)
{
    static PyMethodDef method = {"__torch_dispatch__", dispatch, METH_VARARGS,
                                 "__torch_dispatch__(operator, types, args, kwargs)"};
    return PyCFunction_NewEx(&method, mode, NULL);
}

static void keep(PyObject **place, PyObject *object)
{
    Py_INCREF(object);
    Py_XDECREF(*place);
    *place = object;
}

static PyObject *begin(PyObject *module, PyObject *arguments)
{
    PyObject *tensor, *parameter, *plain, *facts, *again, *number, *examples;
    if (!PyArg_ParseTuple(arguments, "O!O!OOOOO!", &PyType_Type, &tensor, &PyType_Type, &parameter, &plain, &facts,
                          &again, &number, &PyList_Type, &examples) ||
        access_tensors(tensor, parameter) != 0) {
        return NULL;
    }
    keep(&plain_type, plain);
    keep(&restore, again);
    keep(&tensor_of, number);
    keep(&work_out, facts);
    return PyBool_FromLong(access_learn(examples));
}

static PyObject *turn(PyObject *module, PyObject *value)
{
    on = value == Py_True && work_out != NULL;
    Py_RETURN_NONE;
}

static PyObject *look(PyObject *module, PyObject *arguments)
{
    PyObject *tensor;
    int seen;
    const struct ms_agent_v1 *agent = native_agent_needed();
    return agent != NULL && PyArg_ParseTuple(arguments, "Op", &tensor, &seen) ? access_of(agent, tensor, seen) : NULL;
}

static PyMethodDef methods[] = {
    {"access_begin", begin, METH_VARARGS,
     "access_begin(Tensor, Parameter, OpOverload, facts, restore, tensor_of, examples) -> bool: the classes of what has "
     "memory and of operators; what works out the facts of one, makes tensors of numbers among arguments, and of one "
     "number; tensors to learn from. True: tensors can be looked at"},
    {"access_on", turn, METH_O, "access_on(bool): record what dispatch modes see"},
    {"access_bind", bind, METH_O, "access_bind(mode): its __torch_dispatch__"},
    {"access_of", look, METH_VARARGS,
     "access_of(tensor, seen) -> (address, bytes, description, pool, device) | None: as it is recorded, looked at or "
     "asked"},
    {NULL, NULL, 0, NULL},
};

const struct native_part native_part_access = {methods, NULL};
