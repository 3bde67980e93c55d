/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies of AI CPU kernels. On a real card they are host code too, run by the card's own processors, and are named by a
 * library and a symbol. Here the library is a file on this machine or any library the process has loaded.
 *
 * Libraries stay open: a kernel may be launched again at any time, and opening is the expensive part.
 * Threads and locks: libraries.lock and named_kernels.lock protect their lists and are leaves; dlopen runs outside
 * them.
 * Failure: 507027 with a message. */
#include "softnpu/runtime/kernel.h"

#include "softnpu/runtime/error.h"

#include "acl/acl.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

struct library {
    struct library *next;
    void *handle;
    char path[];
};

static struct {
    pthread_mutex_t lock;
    struct library *list;
} libraries = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void *find_open(const char *path)
{
    void *handle = NULL;
    pthread_mutex_lock(&libraries.lock);
    for (struct library *l = libraries.list; l != NULL && handle == NULL; l = l->next) {
        handle = strcmp(l->path, path) == 0 ? l->handle : NULL;
    }
    pthread_mutex_unlock(&libraries.lock);
    return handle;
}

static void *open_library(const char *path)
{
    void *handle = find_open(path);
    if (handle != NULL) {
        return handle;
    }
    struct library *library = malloc(sizeof(*library) + strlen(path) + 1);
    handle = library != NULL ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (handle == NULL) {
        free(library);
        return NULL;
    }
    library->handle = handle;
    memcpy(library->path, path, strlen(path) + 1);
    pthread_mutex_lock(&libraries.lock);
    library->next = libraries.list;
    libraries.list = library;
    pthread_mutex_unlock(&libraries.lock);
    return handle;
}

/* Operators have short names (Abs, log, index) that may match C library functions; those are never kernels. */
static bool from_c_library(const void *address)
{
    static const char *const own[] = {"libc.so",  "libc-",     "libm.so",  "libm-",    "libpthread", "libdl.",
                                      "ld-linux", "libstdc++", "libasan.", "libtsan.", "libubsan."};
    Dl_info info;
    if (dladdr(address, &info) == 0 || info.dli_fname == NULL) {
        return false;
    }
    const char *slash = strrchr(info.dli_fname, '/');
    const char *file = slash != NULL ? slash + 1 : info.dli_fname;
    for (size_t i = 0; i < MS_COUNT_OF(own); i++) {
        if (strncmp(file, own[i], strlen(own[i])) == 0) {
            return true;
        }
    }
    return false;
}

int32_t snpu__aicpu_find(const char *function, const char *library, const char *symbol, snpu_block_fn *out)
{
    void *address = NULL;
    if (library != NULL && library[0] != '\0') {
        void *handle = open_library(library);
        address = handle != NULL ? dlsym(handle, symbol) : NULL;
    }
    if (address == NULL) {
        address = dlsym(RTLD_DEFAULT, symbol);
        if (address != NULL && from_c_library(address)) {
            address = NULL;
        }
    }
    if (address == NULL) {
        return snpu_fail(ACL_ERROR_RT_KERNEL_LOOKUP, "%s: AI CPU kernel '%s' not found in %s or in this process",
                         function, symbol, library != NULL ? library : "a library");
    }
    memcpy(out, &address, sizeof(*out));
    return 0;
}

/* ---- kernels launched by name ---- */
struct named_kernel {
    struct named_kernel *next;
    const char *library; /* interned */
    struct snpu_func func;
};

static struct {
    pthread_mutex_t lock;
    struct named_kernel *list;
} named_kernels = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct named_kernel *find_named(const char *library, const char *symbol)
{
    struct named_kernel *k = named_kernels.list;
    while (k != NULL && !(k->library == library && k->func.symbol == symbol)) {
        k = k->next;
    }
    return k;
}

int32_t snpu__aicpu_func(const char *function, const char *library, const char *symbol, struct snpu_func **out)
{
    const char *kept_library = snpu__intern(library != NULL ? library : ""), *kept_symbol = snpu__intern(symbol);
    if (kept_library == NULL || kept_symbol == NULL) {
        return snpu_fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "%s: out of host memory", function);
    }
    pthread_mutex_lock(&named_kernels.lock);
    struct named_kernel *found = find_named(kept_library, kept_symbol);
    pthread_mutex_unlock(&named_kernels.lock);
    if (found != NULL) {
        *out = &found->func;
        return 0;
    }
    snpu_block_fn fn;
    int32_t code = snpu__aicpu_find(function, library, symbol, &fn);
    struct named_kernel *made = code == 0 ? calloc(1, sizeof(*made)) : NULL;
    if (made == NULL) {
        return code != 0 ? code : snpu_fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "%s: out of host memory", function);
    }
    made->library = kept_library;
    made->func = (struct snpu_func){.fn = fn, .name = kept_symbol, .symbol = kept_symbol, .core = SNPU_CORE_AICPU};
    pthread_mutex_lock(&named_kernels.lock);
    found = find_named(kept_library, kept_symbol);
    if (found == NULL) {
        made->next = named_kernels.list;
        named_kernels.list = made;
        found = made;
        made = NULL;
    }
    pthread_mutex_unlock(&named_kernels.lock);
    free(made);
    *out = &found->func;
    return 0;
}
