/* SPDX-License-Identifier: Apache-2.0 */
/* The Python side of recording in a program that does not use the API: labels of modules and optimizers, accesses of
 * operators. The package is found next to this library. Also the interpreter's exit, which destroys all objects: blocks
 * freed by that count as kept until then.
 *
 * A hook never calls Python: it schedules a pending call, which the main thread makes with the GIL, between two
 * instructions. Only in processes that were given a session; a program that imports the package itself does this
 * itself.
 *
 * The package reports where its files are, so that its functions are not taken for the program's.
 *
 * Failure policy: without the package, or if it fails, the recording has no labels and accesses, and its log says
 * so. */
#include "agent/glibc_floor.h"
#include "agent/own_collector.h"
#include "agent/python.h"
#include "agent/torch.h"

#include <stdlib.h>

enum { IDLE, ASKED, DONE };
static uint32_t progress; /* atomic */
static uint32_t needed;   /* atomic: the package is */

static void drop(void *object)
{
    if (object != NULL) {
        ms_python.Py_DecRef(object);
    }
}

/* Clears the exception. */
static void forget(void)
{
    void *type, *value, *traceback;
    ms_python.PyErr_Fetch(&type, &value, &traceback);
    drop(type);
    drop(value);
    drop(traceback);
}

/* ---- our own files ---- */

struct own {
    const struct own *next;
    size_t length_b;
    char path[];
};
static const struct own *owns; /* atomic; hooks may be reading entries, so they are never freed */

void ms_python_own(const char *path)
{
    size_t length_b = strlen(path);
    for (const struct own *own = owns; own != NULL; own = own->next) {
        if (own->length_b == length_b && memcmp(own->path, path, length_b) == 0) {
            return;
        }
    }
    struct own *own = malloc(sizeof(*own) + length_b);
    if (own != NULL) {
        own->next = owns;
        own->length_b = length_b;
        memcpy(own->path, path, length_b);
        __atomic_store_n(&owns, own, __ATOMIC_RELEASE);
    }
}

bool ms_python_is_own(const char *file, size_t file_b)
{
    const struct own *own = __atomic_load_n(&owns, __ATOMIC_ACQUIRE);
    while (own != NULL && (file_b < own->length_b || memcmp(file, own->path, own->length_b) != 0 ||
                           (file_b > own->length_b && file[own->length_b] != '/'))) {
        own = own->next;
    }
    return own != NULL;
}

/* ---- calling the package ---- */

static void *import_package(void)
{
    static const char name[] = "msmemscope._collectors";
    void *module = ms_python.PyImport_ImportModule(name);
    char folder[4096];
    if (module != NULL || !ms_own_path("../python", folder, sizeof(folder))) {
        return module;
    }
    forget();
    void *system = ms_python.PyImport_ImportModule("sys");
    void *path = system != NULL ? ms_python.PyObject_GetAttrString(system, "path") : NULL;
    void *added = path != NULL ? ms_python.PyObject_CallMethod(path, "append", "s", folder) : NULL;
    module = added != NULL ? ms_python.PyImport_ImportModule(name) : NULL;
    drop(added);
    drop(path);
    drop(system);
    return module;
}

/* False: PyTorch is still being imported. */
static bool call_package(void)
{
    void *module = import_package();
    void *answer = module != NULL ? ms_python.PyObject_CallMethod(module, "begin", NULL) : NULL;
    if (answer == NULL) {
        ms_agent_log("labels and accesses are not recorded: the msmemscope Python package is not usable here");
        forget();
    }
    bool complete = answer == NULL || answer == ms_python.none;
    drop(answer);
    drop(module);
    return complete;
}

/* With the GIL, in the main thread. */
static int begin(void *unused)
{
    void *type, *value, *traceback;
    (void)unused;
    ms_python.PyErr_Fetch(&type, &value, &traceback);
    ms_python_await_exit();
    bool complete = __atomic_load_n(&needed, __ATOMIC_ACQUIRE) == 0 || call_package();
    ms_python.PyErr_Restore(type, value, traceback);
    __atomic_store_n(&progress, complete ? DONE : IDLE, __ATOMIC_RELEASE);
    return 0;
}

bool ms_python_collect(bool wanted)
{
    const struct ms_session *session = ms_agent_session();
    if (session == NULL || ms_python.Py_AddPendingCall == NULL ||
        __atomic_load_n(&ms_python.mode, __ATOMIC_ACQUIRE) == MS_PYTHON_OFF) {
        return true;
    }
    if (wanted && (session->flags & MS_SESSION_API) == 0 &&
        __atomic_exchange_n(&needed, 1, __ATOMIC_ACQ_REL) == 0) { /* again, for the package */
        __atomic_store_n(&progress, IDLE, __ATOMIC_RELEASE);
    }
    if (__atomic_load_n(&progress, __ATOMIC_ACQUIRE) == IDLE) {
        __atomic_store_n(&progress, ASKED, __ATOMIC_RELEASE);
        if (ms_python.Py_AddPendingCall(begin, NULL) != 0) { /* too many pending calls */
            __atomic_store_n(&progress, IDLE, __ATOMIC_RELEASE);
        }
    }
    return __atomic_load_n(&progress, __ATOMIC_ACQUIRE) == DONE;
}
