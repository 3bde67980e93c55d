/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel binaries and functions.
 *
 * An image is what was loaded: a shared object opened by the dynamic loader, or the names of a genuine device binary.
 * It lives while a binary handle, or a task that runs its code, refers to it. A binary is the handle that programs
 * hold; a function belongs to a binary and is freed with it. Kernel names are interned: they stay valid until the
 * process ends, because tasks, profilers and messages refer to them long after a binary is gone. */
#ifndef SOFTNPU_RUNTIME_KERNEL_H
#define SOFTNPU_RUNTIME_KERNEL_H

#include "base/macros.h"
#include "softnpu/runtime/task.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The kind of core a kernel is built for. */
enum snpu_core {
    SNPU_CORE_AICORE,
    SNPU_CORE_CUBE,
    SNPU_CORE_VECTOR,
    SNPU_CORE_MIX_AIC,
    SNPU_CORE_MIX_AIV,
    SNPU_CORE_AICPU,
    SNPU_CORE_COUNT,
};

/* ---- images (image.c) ---- */
struct snpu_image_symbol {
    const char *name;
    uint64_t value, size_b;
    bool function; /* otherwise a variable */
};

struct rtExceptionInfo;
typedef void (*snpu_image_exception_fn)(struct rtExceptionInfo *info, void *data);

struct snpu_image {
    uint32_t refs;
    void *library;                     /* dlopen handle; NULL: a device binary, whose kernels do nothing */
    uint8_t *data;                     /* device binary: the file */
    size_t size_b;                     /* file size */
    struct snpu_image_symbol *symbols; /* sorted by name */
    size_t symbol_count;
    char *names;
    enum snpu_core core; /* of kernels whose name does not imply one */
    bool cpu_kernels;    /* loaded as a binary for the AI CPU */

    pthread_mutex_t lock;                       /* protects the fields below */
    void *dev_copy;                             /* the file in device memory, created when its address is first
                                                 * requested */
    uint32_t dev, generation;                   /* device and memory generation of dev_copy */
    snpu_image_exception_fn exception_callback; /* aclrtBinarySetExceptionCallback */
    void *exception_data;
};

struct snpu_load_options {
    uint32_t magic;
    bool cpu_kernels; /* a mode for AI CPU kernels was requested */
    bool lazy;
};

int32_t snpu__image_from_file(const char *function, const char *path, const struct snpu_load_options *options,
                              struct snpu_image **out);
int32_t snpu__image_from_data(const char *function, const void *data, size_t size_b,
                              const struct snpu_load_options *options, struct snpu_image **out);
void snpu__image_get(struct snpu_image *image); /* both accept NULL */
void snpu__image_put(struct snpu_image *image);
/* Calls the binary's exception callback, if any. */
void snpu__image_report_exception(struct snpu_image *image, struct rtExceptionInfo *info);
const struct snpu_image_symbol *snpu__image_find(const struct snpu_image *image, const char *name);
/* Address of a symbol as programs and kernels see it. */
int32_t snpu__image_address(const char *function, struct snpu_image *image, const struct snpu_image_symbol *symbol,
                            void **out);
int32_t snpu__image_dev_copy(const char *function, struct snpu_image *image, void **out);

/* ---- binaries (binary.c) ---- */
struct snpu_func {
    struct snpu_binary *binary;
    struct snpu_image *image; /* the binary's; NULL for an AI CPU kernel without a binary */
    snpu_block_fn fn;         /* NULL: a device kernel, which only takes time */
    const char *name;         /* as reported: without the suffix of mixed kernels */
    const char *symbol;       /* as in the image */
    uint64_t size_b;
    enum snpu_core core;
    struct snpu_func *next; /* next in the binary's list */
};

/* The live binary or function behind a handle, or NULL with a message (code 107000). */
struct snpu_binary *snpu__binary_of(const char *function, const void *handle);
struct snpu_func *snpu__func_of(const char *function, const void *handle);
struct snpu_image *snpu__binary_image(struct snpu_binary *binary);

int32_t snpu__binary_open(const char *function, struct snpu_image *image, struct snpu_binary **out);
void snpu__binary_close(struct snpu_binary *binary);

int32_t snpu__func_by_name(const char *function, struct snpu_binary *binary, const char *name, struct snpu_func **out);
int32_t snpu__func_by_entry(const char *function, struct snpu_binary *binary, uint64_t entry, struct snpu_func **out);
/* A function whose body and name come from outside the binary: AI CPU operators. */
int32_t snpu__func_add(const char *function, struct snpu_binary *binary, const char *symbol, const char *name,
                       snpu_block_fn fn, enum snpu_core core, struct snpu_func **out);

const char *snpu__intern(const char *name); /* NULL if out of memory */

/* ---- stubs (stub.c) ---- */
/* The function registered for a stub address; NULL if there is none. */
struct snpu_func *snpu__stub_find(const void *stub);
void snpu__stub_forget(const struct snpu_binary *binary);

/* ---- AI CPU (aicpu.c) ---- */
/* The body of an AI CPU kernel: from a library file, or from any library loaded in the process. */
int32_t snpu__aicpu_find(const char *function, const char *library, const char *symbol, snpu_block_fn *out);
/* The same as a launchable function; created once per pair of names and kept. */
int32_t snpu__aicpu_func(const char *function, const char *library, const char *symbol, struct snpu_func **out);

/* ---- for libascendcl_impl.so ---- */
MS_EXPORT int32_t snpu_binary_dev_address(void *binary, void **addr, size_t *size_b);
MS_EXPORT int32_t snpu_binary_global(void *binary, const char *name, void **addr, size_t *size_b);
MS_EXPORT int32_t snpu_binary_set_exception_callback(void *binary, snpu_image_exception_fn callback, void *data);
MS_EXPORT int32_t snpu_func_attribute(void *func, int32_t attribute, int64_t *value);
MS_EXPORT int32_t snpu_func_binary(void *func, void **binary);
MS_EXPORT int32_t snpu_func_size(void *func, size_t *aic_b, size_t *aiv_b);
/* Parameters of a kernel, for kernels that declare them with an exported array `const uint32_t <kernel>__params[]` of
 * their sizes. Every parameter is on an 8-byte boundary. index == count: *offset is the total size. */
MS_EXPORT int32_t snpu_func_param_count(const void *func, size_t *count);
MS_EXPORT int32_t snpu_func_param(const void *func, size_t index, size_t *offset, size_t *size_b);
MS_EXPORT int32_t snpu_func_register_cpu(void *binary, const char *symbol, const char *name, void **func);
MS_EXPORT int32_t snpu_func_by_symbol(const void *stub, void **func);
/* Returns a handle unchanged and translates a stub into its handle. */
MS_EXPORT int32_t snpu_func_resolve(const char *function, void *handle_or_stub, void **func);
/* A loaded object's variable, found by its address. */
MS_EXPORT int32_t snpu_symbol_find(const char *function, const void *symbol, void **addr, size_t *size_b);

#endif
