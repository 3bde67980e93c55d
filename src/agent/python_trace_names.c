/* SPDX-License-Identifier: Apache-2.0 */
/* How a function is named in the Python trace, and which functions are omitted.
 *
 *   Python function             <file>(<first line>): <name>
 *   call of a torch.nn.Module   nn.Module: <class>
 *   C function                  two slices: <file>(<line>): <name> of its caller, and in it the str() of the function,
 *                               without the address of the object that it is bound to: with it, each object's
 *                               method would have its own name
 *
 * A name is built once per stream, when its first call ends, and from then on found by the code object (or the C
 * function's definition). The interpreter reports the end of code objects, whose addresses may be reused.
 *
 * How a function is treated is determined at its first call and kept in a table. */
#include "agent/glibc_floor.h"
#include "agent/python_trace.h"

#include "base/map.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- attributes ---- */

/* A text that lives as long as `object` does; "" if there is none. */
static const char *text_attribute(uintptr_t object, const char *name, uint32_t *length_b)
{
    return ms_python_attribute((void *)object, name, length_b);
}

static long number_attribute(uintptr_t object, const char *name)
{
    void *value = ms_python.PyObject_GetAttrString((void *)object, name);
    long number = value != NULL ? ms_python.PyLong_AsLong(value) : 0;
    if (value != NULL) {
        ms_python.Py_DecRef(value);
    }
    return number;
}

struct error {
    void *type, *value, *traceback;
};

static struct error error_put_aside(void)
{
    struct error error;
    ms_python.PyErr_Fetch(&error.type, &error.value, &error.traceback);
    return error;
}

static void error_put_back(struct error error)
{
    ms_python.PyErr_Restore(error.type, error.value, error.traceback); /* also clears any error that we caused */
}

/* ---- treatment of functions ---- */

static struct ms_map known; /* code object: MS_CALL_* */

void ms_call_own(const char *path)
{
    ms_python_own(path);
    ms_map_free(&known); /* some may have run before they were known as our own */
}

static bool ends_with(const char *text, uint32_t length_b, const char *end)
{
    size_t end_b = strlen(end);
    return length_b >= end_b && memcmp(text + length_b - end_b, end, end_b) == 0;
}

/* Is it the code that runs when a module is called? PyTorch has had several functions there, one calling the other. */
static bool is_module_call(uintptr_t code)
{
    void *modules = ms_python.PySys_GetObject("modules"); /* borrowed, like its item */
    void *object = modules != NULL ? ms_python.PyDict_GetItemString(modules, "torch.nn.modules.module") : NULL;
    static const char *const path[] = {"Module", "__call__", "__code__"};
    void *owned = NULL;
    for (size_t i = 0; i < MS_COUNT_OF(path) && object != NULL; i++) {
        object = ms_python.PyObject_GetAttrString(object, path[i]);
        if (owned != NULL) {
            ms_python.Py_DecRef(owned);
        }
        owned = object;
    }
    if (owned != NULL) {
        ms_python.Py_DecRef(owned);
    }
    return (uintptr_t)object == code;
}

static __attribute__((noinline)) uint32_t find_out(uintptr_t code)
{
    struct error error = error_put_aside();
    uint32_t file_b, name_b, flags = 0;
    const char *file = text_attribute(code, "co_filename", &file_b);
    const char *name = text_attribute(code, "co_name", &name_b);
    bool dispatches = strcmp(name, "__torch_dispatch__") == 0;
    bool imports = strcmp(name, "_find_and_load") == 0 && strcmp(file, "<frozen importlib._bootstrap>") == 0;
    if (ms_python_is_own(file, file_b)) {
        bool loads = strcmp(name, "__getattr__") == 0; /* of the package: submodules that are loaded on first use */
        flags = MS_CALL_QUIET | MS_CALL_NO_C | (loads || dispatches ? MS_CALL_CLOSED : 0);
    } else if (dispatches) {
        flags = MS_CALL_CLOSED;
    } else if (imports && !ms_calls_keep_imports()) {
        flags = MS_CALL_CLOSED | MS_CALL_IMPORT;
    } else if (strcmp(name, "<module>") == 0) {
        flags = MS_CALL_BODY;
    } else if (strcmp(name, "__exit__") == 0 && ends_with(file, file_b, "/contextlib.py")) {
        flags = MS_CALL_NO_C;
    } else if (ends_with(file, file_b, "torch/nn/modules/module.py") && is_module_call(code)) {
        flags = MS_CALL_MODULE;
    }
    ms_python_follow(code);
    ms_map_put(&known, code, flags);
    error_put_back(error);
    return flags;
}

uint32_t ms_call_flags(uintptr_t code)
{
    const uint64_t *flags = ms_map_get(&known, code);
    return MS_LIKELY(flags != NULL) ? (uint32_t)*flags : find_out(code);
}

void ms_call_forget(uintptr_t code)
{
    if (ms_map_remove(&known, code, NULL)) {
        ms_calls_forget(code);
    }
}

/* ---- module names ---- */

#define MODULES 4096u
static char *module_names[MODULES]; /* the first is unused */
static uint32_t module_count = 1;
static struct ms_map module_numbers; /* hash of the name: its number */

static uint32_t number_of(const char *name, uint32_t name_b)
{
    uint64_t hash = name_b;
    for (uint32_t i = 0; i < name_b; i++) {
        hash = ms_hash_u64(hash ^ (uint64_t)(unsigned char)name[i] << 56);
    }
    const uint64_t *number = ms_map_get(&module_numbers, hash);
    if (number != NULL) {
        return (uint32_t)*number;
    }
    char *copy = module_count < MODULES ? strndup(name, name_b) : NULL;
    if (copy == NULL || ms_map_put(&module_numbers, hash, module_count) == NULL) {
        free(copy);
        return 0;
    }
    module_names[module_count] = copy;
    return module_count++;
}

/* `self` of the innermost frame; a new reference. */
static void *self_of_frame(void)
{
    void *frame = ms_python.PyEval_GetFrame(); /* borrowed */
    if (frame == NULL || ms_python.PyFrame_GetVarString != NULL) {
        return frame != NULL ? ms_python.PyFrame_GetVarString(frame, "self") : NULL;
    }
    void *locals = ms_python.PyObject_GetAttrString(frame, "f_locals");
    void *self = locals != NULL ? ms_python.PyDict_GetItemString(locals, "self") : NULL;
    if (self != NULL) {
        ms_python.Py_IncRef(self);
    }
    if (locals != NULL) {
        ms_python.Py_DecRef(locals);
    }
    return self;
}

uint32_t ms_call_module(void)
{
    struct error error = error_put_aside();
    void *self = self_of_frame();
    uint32_t number = 0, name_b;
    if (self != NULL) {
        const char *name = text_attribute(ms_python_type((uintptr_t)self), "__name__", &name_b);
        number = name_b != 0 ? number_of(name, name_b) : 0;
        ms_python.Py_DecRef(self);
    }
    error_put_back(error);
    return number;
}

/* ---- texts ---- */

/* Keeps the end of a text that is too long: names of files and functions differ there. */
static void shorten(const char **text, uint32_t *length_b, uint32_t room_b)
{
    if (*length_b <= room_b) {
        return;
    }
    *text += *length_b - room_b;
    *length_b = room_b;
    while (*length_b > 0 && (**text & 0xc0) == 0x80) { /* not in the middle of a character */
        ++*text;
        --*length_b;
    }
}

static size_t put_function(const struct ms_call_name *name, char *out, size_t out_b)
{
    uint32_t file_b, name_b;
    const char *file = text_attribute(name->code, "co_filename", &file_b);
    const char *function = text_attribute(name->code, "co_qualname", &name_b);
    if (name_b == 0) {
        ms_python.PyErr_Clear();
        function = text_attribute(name->code, "co_name", &name_b);
    }
    long line = name->kind == MS_NAME_CODE       ? number_attribute(name->code, "co_firstlineno")
                : (name->at & MS_CALL_LINE) != 0 ? (long)(name->at & ~MS_CALL_LINE)
                                                 : ms_python.PyCode_Addr2Line((void *)name->code, (int)name->at);
    enum { LINE_B = sizeof("(-9223372036854775808): ") };
    shorten(&function, &name_b, (uint32_t)out_b / 2);
    shorten(&file, &file_b, (uint32_t)out_b - LINE_B - name_b);
    int length_b = snprintf(out, out_b, "%.*s(%ld): %.*s", (int)file_b, file, line, (int)name_b, function);
    return length_b > 0 ? (size_t)length_b : 0;
}

/* "<built-in method append of list object at 0x7f...>" without the address. */
static size_t put_c_function(uintptr_t function, char *out, size_t out_b)
{
    ssize_t text_b = 0;
    void *object = ms_python.PyObject_Str((void *)function);
    const char *text = object != NULL ? ms_python.PyUnicode_AsUTF8AndSize(object, &text_b) : NULL;
    const char *at = NULL;
    for (const char *next = text; next != NULL && (next = strstr(next, " at 0x")) != NULL; next++) {
        at = next; /* the last one: a type may have any name */
    }
    int length_b = at != NULL ? snprintf(out, out_b, "%.*s>", (int)(at - text), text)
                              : snprintf(out, out_b, "%s", text != NULL ? text : "<built-in function>");
    if (object != NULL) {
        ms_python.Py_DecRef(object);
    }
    return length_b > 0 ? (size_t)length_b : 0;
}

size_t ms_call_text_put(const struct ms_call_name *name, const char *prefix, char *out, size_t out_b)
{
    struct error error = error_put_aside();
    size_t used = (size_t)snprintf(out, out_b, "%s", prefix), length_b;
    switch (name->kind) {
    case MS_NAME_C:
        length_b = put_c_function(name->function, out + used, out_b - used);
        break;
    case MS_NAME_MODULE:
        length_b = (size_t)snprintf(out + used, out_b - used, "nn.Module: %s", module_names[name->module]);
        break;
    default:
        length_b = put_function(name, out + used, out_b - used);
        break;
    }
    error_put_back(error);
    return used + length_b < out_b ? used + length_b : out_b - 1;
}

static size_t describe(void *argument, char *out, size_t out_b)
{
    return ms_call_text_put(argument, "", out, out_b);
}

/* Identifies a type. The address of a type that the program created may be reused by another. */
static uint64_t identity_of_type(uintptr_t type)
{
    enum { NAME = 24, FLAGS = 168, MADE_BY_PROGRAM = 1 << 9 };
    uint64_t hash = type;
    if ((ms_python_word(type, FLAGS) & MADE_BY_PROGRAM) != 0) {
        for (const unsigned char *name = (const unsigned char *)ms_python_word(type, NAME); *name != 0; name++) {
            hash = (hash ^ *name) * 0x100000001b3ull; /* FNV-1a */
        }
    }
    return hash;
}

/* Identifies a C function: its definition, and the type of the object it is bound to. */
static uint64_t identity_of(uintptr_t function)
{
    enum { METHOD = 16, SELF = 24 };
    if (ms_python_type(function) == ms_python.method_descriptor_type) {
        return ms_hash_u64(function ^ ms_python_word(function, METHOD) << 17);
    }
    uintptr_t method = ms_python_word(function, METHOD), self = ms_python_word(function, SELF);
    uintptr_t name = *(const uintptr_t *)method;
    return ms_hash_u64(method ^ name << 7) ^ (self != 0 ? identity_of_type(ms_python_type(self)) : 0);
}

uint32_t ms_call_text(const struct ms_call_name *name)
{
    uint64_t what = (uint64_t)name->kind << 32;
    uintptr_t code = name->code;
    switch (name->kind) {
    case MS_NAME_MODULE:
        what |= name->module;
        code = 0;
        break;
    case MS_NAME_LINE:
        what |= name->at;
        break;
    case MS_NAME_C:
        what = identity_of(name->function);
        code = 0;
        break;
    default:
        break;
    }
    return ms_def_text_of(code, what, describe, (void *)(uintptr_t)name);
}
