/* SPDX-License-Identifier: Apache-2.0 */
/* The module msmemscope._native: joins the parts, see native.h. */
#include "native.h"

static int begin(PyObject *module)
{
    static const struct native_part *const parts[] = {
#define X(name) &native_part_##name,
        MS_NATIVE_PARTS(X)
#undef X
    };
    if (PyInterpreterState_GetID(PyInterpreterState_Get()) != 0) {
        PyErr_SetString(PyExc_ImportError, "msmemscope works in the main interpreter only, not in subinterpreters");
        return -1;
    }
    for (size_t i = 0; i < MS_COUNT_OF(parts); i++) {
        if (PyModule_AddFunctions(module, parts[i]->methods) != 0 ||
            (parts[i]->begin != NULL && parts[i]->begin(module) != 0)) {
            return -1;
        }
    }
    return 0;
}

PyMODINIT_FUNC PyInit__native(void) MS_EXPORT;
PyMODINIT_FUNC PyInit__native(void)
{
    union {
        int (*function)(PyObject *);
        void *object;
    } exec = {.function = begin};
    static PyModuleDef_Slot slots[2];
    static PyModuleDef definition = {
        PyModuleDef_HEAD_INIT,
        .m_name = "msmemscope._native",
        .m_doc = "C part of msmemscope: access to the recorder of this process.",
        .m_slots = slots,
    };
    slots[0] = (PyModuleDef_Slot){Py_mod_exec, exec.object};
    return PyModuleDef_Init(&definition);
}
