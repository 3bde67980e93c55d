/* SPDX-License-Identifier: Apache-2.0 */
/* Images: loading a kernel binary into the process.
 *
 * A shared object for this processor is checked (elf_loadable.c) and opened with dlopen: from its path, or from an
 * anonymous file if the program provides bytes. Any other ELF file is a genuine device binary: its symbol table
 * provides the names, and nothing is executed. A JSON file lists kernels by name; an object file with the same stem may
 * accompany it.
 *
 * Threads and locks: an image is immutable once created, except for the fields its lock protects (a leaf).
 * Failure: files are hostile. Everything is checked before use; no code runs before its tables were checked. */
#include "softnpu/runtime/kernel.h"

#include "softnpu/runtime/context.h"
#include "softnpu/runtime/elf.h"
#include "softnpu/runtime/error.h"
#include "softnpu/runtime/kernel_json.h"
#include "softnpu/runtime/memory.h"

#include "softnpu/hal/machine.h"

#include "acl/acl.h"
#include "ascend_hal.h"
#include "runtime/rt.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_FILE_B (UINT64_C(1) << 30)

static const struct {
    uint32_t magic;
    enum snpu_core core;
} core_of_magic[] = {
    {RT_DEV_BINARY_MAGIC_ELF, SNPU_CORE_AICORE},
    {RT_DEV_BINARY_MAGIC_ELF_AIVEC, SNPU_CORE_VECTOR},
    {RT_DEV_BINARY_MAGIC_ELF_AICUBE, SNPU_CORE_CUBE},
    {RT_DEV_BINARY_MAGIC_ELF_AICPU, SNPU_CORE_AICPU},
};

static struct snpu_image *image_new(const struct snpu_load_options *options)
{
    struct snpu_image *image = calloc(1, sizeof(*image));
    if (image == NULL) {
        return NULL;
    }
    image->refs = 1;
    image->cpu_kernels = options->cpu_kernels || options->magic == RT_DEV_BINARY_MAGIC_ELF_AICPU;
    for (size_t i = 0; i < MS_COUNT_OF(core_of_magic); i++) {
        if (core_of_magic[i].magic == options->magic) {
            image->core = core_of_magic[i].core;
        }
    }
    if (image->cpu_kernels) {
        image->core = SNPU_CORE_AICPU;
    }
    pthread_mutex_init(&image->lock, NULL);
    return image;
}

void snpu__image_get(struct snpu_image *image)
{
    if (image != NULL) {
        __atomic_fetch_add(&image->refs, 1, __ATOMIC_RELAXED);
    }
}

/* Forgets a copy that was freed by a reset of its device. */
static void drop_lost_copy(struct snpu_image *image)
{
    if (image->dev_copy != NULL && image->generation != snpu__mem_generation(image->dev)) {
        image->dev_copy = NULL;
    }
}

void snpu__image_put(struct snpu_image *image)
{
    if (image == NULL || __atomic_fetch_sub(&image->refs, 1, __ATOMIC_ACQ_REL) != 1) {
        return;
    }
    if (image->library != NULL) {
        dlclose(image->library);
    }
    drop_lost_copy(image);
    if (image->dev_copy != NULL) {
        halMemFree(image->dev_copy);
    }
    pthread_mutex_destroy(&image->lock);
    free(image->data);
    free(image->symbols);
    free(image->names);
    free(image);
}

void snpu__image_report_exception(struct snpu_image *image, struct rtExceptionInfo *info)
{
    pthread_mutex_lock(&image->lock);
    snpu_image_exception_fn callback = image->exception_callback;
    void *data = image->exception_data;
    pthread_mutex_unlock(&image->lock);
    if (callback != NULL) {
        callback(info, data);
    }
}

/* ---- names ---- */
static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct snpu_image_symbol *)a)->name, ((const struct snpu_image_symbol *)b)->name);
}

/* Copies the functions and variables of an ELF file, including their names. */
static int take_symbols(struct snpu_image *image, const struct snpu_elf *elf)
{
    struct snpu_elf_symbol symbol;
    size_t count = 0, names_b = 0;
    for (uint64_t i = 0; i < elf->symbol_count; i++) {
        if (snpu__elf_symbol(elf, i, &symbol) && (symbol.function || symbol.object)) {
            count++;
            names_b += strlen(symbol.name) + 1;
        }
    }
    if (count == 0) {
        return 0;
    }
    image->symbols = calloc(count, sizeof(*image->symbols));
    image->names = malloc(names_b);
    if (image->symbols == NULL || image->names == NULL) {
        return -ENOMEM;
    }
    char *name = image->names;
    for (uint64_t i = 0; i < elf->symbol_count; i++) {
        if (!snpu__elf_symbol(elf, i, &symbol) || !(symbol.function || symbol.object)) {
            continue;
        }
        size_t name_b = strlen(symbol.name) + 1;
        memcpy(name, symbol.name, name_b);
        image->symbols[image->symbol_count++] = (struct snpu_image_symbol){
            .name = name, .value = symbol.value, .size_b = symbol.size_b, .function = symbol.function};
        name += name_b;
    }
    qsort(image->symbols, image->symbol_count, sizeof(*image->symbols), by_name);
    return 0;
}

const struct snpu_image_symbol *snpu__image_find(const struct snpu_image *image, const char *name)
{
    const struct snpu_image_symbol key = {.name = name};
    return image->symbol_count == 0
               ? NULL
               : bsearch(&key, image->symbols, image->symbol_count, sizeof(*image->symbols), by_name);
}

/* ---- opening ---- */
/* dlopen needs a path; an anonymous file provides one for bytes. */
static void *open_bytes(const void *data, size_t size_b)
{
    int fd = memfd_create("softnpu-kernel", MFD_CLOEXEC);
    if (fd < 0) {
        return NULL;
    }
    void *library = NULL;
    size_t done = 0;
    while (done < size_b) {
        ssize_t n = write(fd, (const char *)data + done, size_b - done);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            break;
        }
        done += (size_t)n;
    }
    if (done == size_b) {
        char path[64];
        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    }
    close(fd);
    return library;
}

static int32_t load_elf(const char *function, struct snpu_image *image, const char *path, const void *data,
                        size_t size_b)
{
    struct snpu_elf elf;
    const char *why = NULL;
    if (snpu__elf_open(&elf, data, size_b, &why) != 0) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: not a usable ELF file: %s", function, why);
    }
    if (snpu__elf_is_host_object(&elf)) {
        if (snpu__elf_check_loadable(&elf, &why) != 0) {
            return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: damaged shared object: %s", function, why);
        }
        image->library = path != NULL ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : open_bytes(data, size_b);
        if (image->library == NULL) {
            const char *error = dlerror();
            return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: cannot load: %s", function,
                             error != NULL ? error : strerror(errno));
        }
    } else {
        image->data = malloc(size_b);
        if (image->data == NULL) {
            return snpu_fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "%s: out of host memory for %zu bytes", function, size_b);
        }
        memcpy(image->data, data, size_b);
    }
    if (take_symbols(image, &elf) != 0) {
        return snpu_fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "%s: out of host memory for names", function);
    }
    return 0;
}

/* 0 and the whole file, or a code with a message. */
static int32_t read_file(const char *function, const char *path, void **data, size_t *size_b)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return snpu_fail(ACL_ERROR_RT_FILE_OPEN, "%s: %s: %s", function, path, strerror(errno));
    }
    char *bytes = NULL;
    int32_t code = 0;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size <= 0 || (uint64_t)st.st_size > MAX_FILE_B) {
        code = snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: %s: not a kernel file", function, path);
        goto out;
    }
    size_t file_b = (size_t)st.st_size, done = 0;
    bytes = malloc(file_b);
    if (bytes == NULL) {
        code = snpu_fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "%s: out of host memory for %zu bytes of %s", function, file_b,
                         path);
        goto out;
    }
    while (done < file_b) {
        ssize_t n = read(fd, bytes + done, file_b - done);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            break;
        }
        done += (size_t)n;
    }
    if (done != file_b) {
        code = snpu_fail(ACL_ERROR_RT_FILE_OPEN, "%s: %s: read %zu of %zu bytes", function, path, done, file_b);
        goto out;
    }
    *data = bytes;
    *size_b = file_b;
    bytes = NULL;
out:
    free(bytes);
    close(fd);
    return code;
}

/* The object that accompanies a JSON description: same stem, different extension. */
static bool object_path(const char *json_path, const char *ending, char *out, size_t out_b)
{
    const char *dot = strrchr(json_path, '.');
    int stem = dot != NULL && strchr(dot, '/') == NULL ? (int)(dot - json_path) : (int)strlen(json_path);
    int n = snprintf(out, out_b, "%.*s%s", stem, json_path, ending);
    return n > 0 && (size_t)n < out_b && strcmp(out, json_path) != 0 && access(out, R_OK) == 0;
}

static int32_t load_any(const char *function, struct snpu_image *image, const char *path, const void *data,
                        size_t size_b)
{
    image->size_b = size_b;
    if (snpu__elf_is(data, size_b)) {
        return load_elf(function, image, path, data, size_b);
    }
    if (snpu__json_is(data, size_b)) {
        static const char *const endings[] = {".so", ".o"};
        char object[4096];
        for (size_t i = 0; path != NULL && i < MS_COUNT_OF(endings); i++) {
            if (object_path(path, endings[i], object, sizeof(object))) {
                void *bytes = NULL;
                size_t bytes_b = 0;
                int32_t code = read_file(function, object, &bytes, &bytes_b);
                if (code == 0) {
                    image->size_b = bytes_b;
                    code = load_elf(function, image, object, bytes, bytes_b);
                }
                free(bytes);
                return code;
            }
        }
        if (snpu__json_names(image, data, size_b) != 0) {
            return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: no kernel names in the JSON text", function);
        }
        return 0;
    }
    return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: neither an ELF file nor a JSON description", function);
}

int32_t snpu__image_from_data(const char *function, const void *data, size_t size_b,
                              const struct snpu_load_options *options, struct snpu_image **out)
{
    struct snpu_image *image = image_new(options);
    if (image == NULL) {
        return snpu_fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "%s: out of host memory", function);
    }
    int32_t code = load_any(function, image, NULL, data, size_b);
    if (code != 0) {
        snpu__image_put(image);
        return code;
    }
    *out = image;
    return 0;
}

int32_t snpu__image_from_file(const char *function, const char *path, const struct snpu_load_options *options,
                              struct snpu_image **out)
{
    void *data = NULL;
    size_t size_b = 0;
    char *full = realpath(path, NULL); /* dlopen would search for names without a slash */
    if (full == NULL) {
        return snpu_fail(ACL_ERROR_RT_FILE_OPEN, "%s: %s: %s", function, path, strerror(errno));
    }
    int32_t code = read_file(function, full, &data, &size_b);
    struct snpu_image *image = NULL;
    if (code == 0) {
        image = image_new(options);
        code = image == NULL ? snpu_fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "%s: out of host memory", function)
                             : load_any(function, image, full, data, size_b);
    }
    if (code != 0) {
        snpu__image_put(image);
    } else {
        *out = image;
    }
    free(data);
    free(full);
    return code;
}

/* ---- addresses ---- */
int32_t snpu__image_dev_copy(const char *function, struct snpu_image *image, void **out)
{
    if (image->library != NULL) {
        struct link_map *map = NULL;
        if (dlinfo(image->library, RTLD_DI_LINKMAP, &map) != 0) {
            return snpu_fail(ACL_ERROR_RT_INTERNAL_ERROR, "%s: the loader does not know the object", function);
        }
        *out = (void *)map->l_addr;
        return 0;
    }
    struct snpu_ctx *ctx;
    int32_t code = snpu_ctx_need(function, &ctx);
    if (code != 0 || image->data == NULL) {
        *out = NULL;
        return code;
    }
    pthread_mutex_lock(&image->lock);
    drop_lost_copy(image);
    if (image->dev_copy == NULL) {
        const struct snpu_alloc request = {
            .size_b = image->size_b, .pages = SNPU_PAGES_HUGE_FIRST, .dev = ctx->dev, .module = SNPU_MODULE_RUNTIME};
        code = snpu__mem_alloc(&request, &image->dev_copy);
        if (code == 0) {
            image->dev = ctx->dev;
            image->generation = snpu__mem_generation(ctx->dev);
            memcpy(image->dev_copy, image->data, image->size_b);
        }
    }
    *out = image->dev_copy;
    pthread_mutex_unlock(&image->lock);
    return code;
}

int32_t snpu__image_address(const char *function, struct snpu_image *image, const struct snpu_image_symbol *symbol,
                            void **out)
{
    if (image->library != NULL) {
        *out = dlsym(image->library, symbol->name);
        return *out != NULL
                   ? 0
                   : snpu_fail(ACL_ERROR_RT_SYMBOL_NOT_FOUND, "%s: %s is not exported", function, symbol->name);
    }
    void *base = NULL;
    int32_t code = snpu__image_dev_copy(function, image, &base);
    if (code != 0) {
        return code;
    }
    if (base == NULL || symbol->value > image->size_b || symbol->size_b > image->size_b - symbol->value) {
        return snpu_fail(ACL_ERROR_RT_SYMBOL_NOT_FOUND, "%s: %s is outside the binary", function, symbol->name);
    }
    *out = (char *)base + symbol->value;
    return 0;
}
