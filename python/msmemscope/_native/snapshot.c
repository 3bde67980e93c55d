/* SPDX-License-Identifier: Apache-2.0 */
/* Snapshots of devices: numbers that the framework reports; the model fills in missing ones from the recording. */
#include "native.h"

#include "trace/records.h"

#include <dlfcn.h>

/* Looked up by name, to avoid a dependency: in the global scope, or in a library that a framework loaded locally. */
static void *acl_function(const char *name)
{
    static const char *const libraries[] = {"libascendcl.so", "libacl_rt.so"};
    void *found = dlsym(RTLD_DEFAULT, name);
    for (size_t i = 0; i < MS_COUNT_OF(libraries) && found == NULL; i++) {
        void *library = dlopen(libraries[i], RTLD_LAZY | RTLD_NOLOAD);
        found = library != NULL ? dlsym(library, name) : NULL;
        if (library != NULL) {
            dlclose(library);
        }
    }
    return found;
}

static PyObject *devices(PyObject *module, PyObject *unused)
{
    union {
        void *object;
        int (*function)(uint32_t *count);
    } count_of = {.object = acl_function("aclrtGetDeviceCount")};
    uint32_t count = 0;
    if (count_of.function != NULL && count_of.function(&count) != 0) {
        count = 0;
    }
    return PyLong_FromUnsignedLong(count);
}

static PyObject *device(PyObject *module, PyObject *unused)
{
    union {
        void *object;
        int (*function)(int32_t *device);
    } current = {.object = acl_function("aclrtGetDevice")};
    int32_t number = -1;
    if (current.function == NULL || current.function(&number) != 0) {
        number = -1;
    }
    return PyLong_FromLong(number);
}

static PyObject *snapshot(PyObject *module, PyObject *arguments)
{
    const struct ms_agent_v1 *agent = native_agent_needed();
    int number;
    PyObject *name, *memory;
    struct ms_agent_text text;
    uint64_t memory_b[MS_AGENT_MEMORY];
    if (agent == NULL || !PyArg_ParseTuple(arguments, "iUO", &number, &name, &memory) || !native_text(name, &text)) {
        return NULL;
    }
    if (!MS_NATIVE_HAS(agent, snapshot)) {
        PyErr_SetString(PyExc_RuntimeError, "the preloaded recorder is too old for snapshots");
        return NULL;
    }
    for (int i = 0; i < MS_AGENT_MEMORY; i++) {
        PyObject *item = PySequence_GetItem(memory, i);
        if (item == NULL) {
            return NULL;
        }
        memory_b[i] = item == Py_None ? MS_AGENT_UNKNOWN : PyLong_AsUnsignedLongLongMask(item);
        Py_DecRef(item);
        if (PyErr_Occurred() != NULL) {
            return NULL;
        }
    }
    char why[MS_NATIVE_WHY_B] = "";
    PyThreadState *thread = PyEval_SaveThread();
    int rc = agent->snapshot(number < 0 ? MS_DEV_CPU : agent->device_of_user((uint32_t)number), memory_b, text, why,
                             sizeof(why));
    PyEval_RestoreThread(thread);
    if (rc < 0) {
        return native_failed(rc, why);
    }
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"devices", devices, METH_NOARGS, "devices() -> int: number of NPUs visible to this program"},
    {"device", device, METH_NOARGS, "device() -> int: current NPU of this thread; -1: none"},
    {"snapshot", snapshot, METH_VARARGS,
     "snapshot(device, name, (reserved, max reserved, allocated, max allocated, total, free)): None for unknown "
     "values; device -1: the host"},
    {NULL, NULL, 0, NULL},
};

const struct native_part native_part_snapshot = {methods, NULL};
