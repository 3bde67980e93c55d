/* SPDX-License-Identifier: Apache-2.0 */
/* Accesses of operators: the function that PyTorch's dispatch mode calls for each operator, and a cache of operator
 * facts.
 *
 * What an operator does with each argument and result follows from its schema. Python derives this once per operator
 * (_torch_access.py); the result is cached here under the address of the operator object, to which the cache holds a
 * reference. An operator therefore passes through here and on to PyTorch without running Python code.
 *
 * Recording must not disturb an operator: failures are skipped and their exceptions cleared; exceptions of the operator
 * itself propagate to the program. PyTorch passes a tensor made from a number (1.5 in `x * 1.5`) to a mode as a number,
 * both as argument and as result, and some operators do not accept the number in place of the tensor: then it is
 * converted back to a tensor. A call from here with a tensor of a derived class would call its __torch_function__, which
 * PyTorch calls before any mode: this is switched off around it. Needs the GIL; an operator may release it while it runs, so entries can be added
 * meanwhile. Cached entries never move and live until the process ends. */
#include "access.h"

#include "trace/records.h"

/* As in _torch_access.py. */
enum { NOTHING, READ, WRITE, TENSOR = 4 }; /* TENSOR: in addition, the argument is a tensor by its schema */

/* ---- operators ---- */

struct access_op {
    PyObject *function; /* the operator object that PyTorch passes */
    PyObject *run;      /* what its __call__ ends up calling */
    PyObject *facts;    /* owns the fields below */
    struct ms_agent_text name;
    const char *inputs, *outputs;
    Py_ssize_t input_count, output_count;
    PyObject *keywords;
    int returns_tensor; /* exactly one result, a tensor */
    bool kept;
};

#define OPERATORS_MAX 8192u /* beyond this, facts are derived at each call */
#define SLOTS         (2 * OPERATORS_MAX)
static struct access_op *operators[SLOTS];
static uint32_t operator_count;

static PyObject *work_out;   /* operator -> facts */
static PyObject *restore;    /* operator, arguments, keywords -> the same with numbers converted to tensors, or None */
static PyObject *tensor_of;  /* number -> tensor */
static PyObject *run_below;  /* function, arguments, keywords -> result, without __torch_function__ */
static PyObject *plain_type; /* class of operators whose __call__ only forwards to _op */
static bool on;

static void forget(struct access_op *op)
{
    Py_XDECREF(op->function);
    Py_XDECREF(op->run);
    Py_XDECREF(op->facts);
    PyMem_Free(op);
}

/* NULL with an exception. */
static struct access_op *new_operator(PyObject *function)
{
    struct access_op *op = PyMem_Calloc(1, sizeof(*op));
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

/* NULL: its facts cannot be derived. */
static struct access_op *operator_of(PyObject *function)
{
    uint32_t at = (uint32_t)(((uintptr_t)function >> 4) * 0x9e3779b97f4a7c15u >> 40);
    for (; operators[at % SLOTS] != NULL; at++) {
        if (operators[at % SLOTS]->function == function) {
            return operators[at % SLOTS];
        }
    }
    struct access_op *op = new_operator(function);
    if (op == NULL) {
        PyErr_Clear();
    } else if (operator_count < OPERATORS_MAX) {
        while (operators[at % SLOTS] != NULL) { /* entries may have been added while Python ran */
            at++;
        }
        op->kept = true;
        operators[at % SLOTS] = op;
        operator_count++;
    }
    return op;
}

/* ---- arguments and results ---- */

static bool is_number(PyObject *object)
{
    return PyFloat_Check(object) || PyLong_Check(object) || PyComplex_Check(object);
}

/* Whether the object is a number in the place of a tensor. */
static bool look_at(const struct ms_agent_v1 *agent, const struct access_op *op, PyObject *object, long what)
{
    if ((what & TENSOR) != 0 && is_number(object)) {
        return true;
    }
    if ((what & (READ | WRITE)) != NOTHING) {
        access_record(agent, object, (what & WRITE) != 0 ? MS_ACCESS_WRITE : MS_ACCESS_READ, op->name);
    }
    return false;
}

/* Returns how many arguments are numbers in the place of tensors: PyTorch makes tensors of them once more. */
static uint32_t inputs(const struct ms_agent_v1 *agent, const struct access_op *op, PyObject *positional,
                       PyObject *keywords)
{
    uint32_t numbers = 0;
    Py_ssize_t count = PyTuple_Size(positional);
    for (Py_ssize_t i = 0; i < count && i < op->input_count; i++) {
        numbers += look_at(agent, op, PyTuple_GetItem(positional, i), op->inputs[i]);
    }
    PyObject *key, *value;
    Py_ssize_t at = 0;
    while (keywords != NULL && PyDict_Next(keywords, &at, &key, &value)) {
        PyObject *what = PyDict_GetItemWithError(op->keywords, key);
        numbers += look_at(agent, op, value, what != NULL ? PyLong_AsLong(what) : NOTHING);
    }
    PyErr_Clear();
    return numbers;
}

static void outputs(const struct ms_agent_v1 *agent, const struct access_op *op, PyObject *result)
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

/* Called after the operator refused its arguments: retries with tensors where numbers were passed in place of
 * tensors. */
static PyObject *run_again(const struct access_op *op, PyObject *positional, PyObject *keywords)
{
    PyObject *type, *value, *traceback, *result = NULL;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *restored =
        PyObject_CallFunctionObjArgs(restore, op->function, positional, keywords != NULL ? keywords : Py_None, NULL);
    PyObject *tensors, *named;
    if (restored == NULL || restored == Py_None ||
        !PyArg_ParseTuple(restored, "O!O!", &PyTuple_Type, &tensors, &PyDict_Type, &named)) {
        PyErr_Restore(type, value, traceback); /* the operator's exception replaces ours */
    } else {
        Py_XDECREF(type);
        Py_XDECREF(value);
        Py_XDECREF(traceback);
        result = PyObject_Call(op->run, tensors, named);
    }
    Py_XDECREF(restored);
    return result;
}

static bool any_derived(PyObject *positional, PyObject *keywords)
{
    bool found = false;
    for (Py_ssize_t i = 0; i < PyTuple_Size(positional) && !found; i++) {
        found = access_derived(PyTuple_GetItem(positional, i));
    }
    PyObject *key, *value;
    Py_ssize_t at = 0;
    while (!found && keywords != NULL && PyDict_Next(keywords, &at, &key, &value)) {
        found = access_derived(value);
    }
    return found;
}

static PyObject *run(const struct access_op *op, PyObject *positional, PyObject *keywords)
{
    PyObject *result =
        MS_UNLIKELY(any_derived(positional, keywords))
            ? PyObject_CallFunctionObjArgs(run_below, op->run, positional, keywords != NULL ? keywords : Py_None, NULL)
            : PyObject_Call(op->run, positional, keywords);
    if (result == NULL && PyErr_ExceptionMatches(PyExc_RuntimeError)) {
        result = run_again(op, positional, keywords);
    }
    if (result != NULL && op->returns_tensor && is_number(result)) {
        PyObject *tensor = PyObject_CallFunctionObjArgs(tensor_of, result, NULL);
        Py_DECREF(result);
        result = tensor;
    }
    return result;
}

/* ---- functions for Python ---- */

/* PyTorch passes all arguments by position and may omit the last ones. */
static PyObject *dispatch(PyObject *mode, PyObject *arguments)
{
    PyObject *function, *types, *positional = NULL, *keywords = NULL;
    if (!PyArg_UnpackTuple(arguments, "__torch_dispatch__", 2, 4, &function, &types, &positional, &keywords)) {
        return NULL;
    }
    positional = positional != NULL ? PySequence_Tuple(positional) : PyTuple_New(0); /* a tuple is returned as is */
    if (positional == NULL) {
        return NULL;
    }
    keywords = keywords != NULL && PyDict_Check(keywords) ? keywords : NULL;
    const struct ms_agent_v1 *agent = on ? native_agent() : NULL;
    struct access_op *op = work_out != NULL ? operator_of(function) : NULL;
    if (op == NULL) {
        PyObject *result = PyObject_Call(function, positional, keywords);
        Py_DECREF(positional);
        return result;
    }
    uint32_t numbers = agent != NULL ? inputs(agent, op, positional, keywords) : 0;
    if (numbers != 0 && MS_NATIVE_HAS(agent, numbers)) {
        agent->numbers(numbers);
    }
    PyObject *result = run(op, positional, keywords);
    if (numbers != 0 && MS_NATIVE_HAS(agent, numbers)) {
        agent->numbers(0);
    }
    if (result != NULL && agent != NULL) {
        outputs(agent, op, result);
    }
    if (!op->kept) {
        forget(op);
    }
    Py_DECREF(positional);
    return result;
}

/* Bound to the mode: PyTorch expects to find it in __self__. */
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
    PyObject *tensor, *parameter, *plain, *facts, *again, *number, *below, *examples;
    if (!PyArg_ParseTuple(arguments, "O!O!OOOOOO!", &PyType_Type, &tensor, &PyType_Type, &parameter, &plain, &facts,
                          &again, &number, &below, &PyList_Type, &examples) ||
        access_tensors(tensor, parameter) != 0) {
        return NULL;
    }
    keep(&plain_type, plain);
    keep(&restore, again);
    keep(&tensor_of, number);
    keep(&run_below, below);
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
     "access_begin(Tensor, Parameter, OpOverload, facts, restore, tensor_of, run_below, examples) -> bool: the classes "
     "of tensors and operators; functions that derive the facts of an operator, convert numbers among its arguments to "
     "tensors, convert one number, and call without __torch_function__; probe tensors. Returns whether tensors can be "
     "read from memory"},
    {"access_on", turn, METH_O, "access_on(bool): switches recording of accesses on or off"},
    {"access_bind", bind, METH_O, "access_bind(mode): returns its __torch_dispatch__"},
    {"access_of", look, METH_VARARGS,
     "access_of(tensor, seen) -> (address, bytes, description, pool, device) | None: what is recorded, read from "
     "memory (seen) or through methods"},
    {NULL, NULL, 0, NULL},
};

const struct native_part native_part_access = {methods, NULL};
