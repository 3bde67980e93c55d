/* SPDX-License-Identifier: Apache-2.0 */
/* Binaries and functions: the handles, and finding a kernel in a binary.
 *
 * A kernel is looked up by name or by its entry (tiling key), the number at the end of its name. The two halves of a
 * mixed kernel have a further suffix, which lookups ignore and reports omit. Functions are created on first lookup and
 * kept with their binary: by name in a list, and by entry in a hash table because operator libraries look a kernel up
 * by entry at every launch.
 *
 * Threads and locks: binary->lock protects its functions and the table. Slab locks are leaves below it.
 * Failure: unknown handles return 107000, unknown kernels 507027. */
#include "softnpu/runtime/kernel.h"

#include "base/slab.h"
#include "softnpu/runtime/error.h"
#include "softnpu/runtime/memory.h"
#include "softnpu/runtime/prof.h"

#include "acl/acl.h"
#include "runtime/rt.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct binary_entry {
    uint64_t key;
    struct snpu_func *func; /* NULL: free */
};

struct snpu_binary {
    pthread_mutex_t lock;
    struct snpu_image *image;
    struct snpu_func *funcs;
    struct binary_entry *entries; /* open addressing, capacity a power of two */
    uint32_t entry_capacity, entry_count;
    bool lazy;
};

static struct ms_slab binaries = MS_SLAB_INIT(struct snpu_binary, 65536);
static struct ms_slab funcs = MS_SLAB_INIT(struct snpu_func, 1 << 20);

/* ---- handles ---- */
struct snpu_binary *snpu__binary_of(const char *function, const void *handle)
{
    if (ms_slab_check(&binaries, handle)) {
        return (struct snpu_binary *)(uintptr_t)handle;
    }
    snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: %p is not a loaded binary", function, handle);
    return NULL;
}

struct snpu_func *snpu__func_of(const char *function, const void *handle)
{
    if (MS_LIKELY(ms_slab_check(&funcs, handle))) {
        return (struct snpu_func *)(uintptr_t)handle;
    }
    snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: %p is not a function of a loaded binary", function, handle);
    return NULL;
}

struct snpu_image *snpu__binary_image(struct snpu_binary *binary)
{
    return binary->image;
}

int32_t snpu__binary_open(const char *function, struct snpu_image *image, struct snpu_binary **out)
{
    struct snpu_binary *binary = ms_slab_alloc(&binaries);
    if (binary == NULL) {
        return snpu_fail(ACL_ERROR_RT_PROGRAM_USE_OUT, "%s: too many binaries", function);
    }
    pthread_mutex_init(&binary->lock, NULL);
    binary->image = image;
    *out = binary;
    return 0;
}

void snpu__binary_close(struct snpu_binary *binary)
{
    snpu__stub_forget(binary);
    pthread_mutex_lock(&binary->lock);
    struct snpu_image *image = binary->image;
    struct snpu_func *func = binary->funcs;
    while (func != NULL) {
        struct snpu_func *next = func->next;
        ms_slab_free(&funcs, func);
        func = next;
    }
    binary->funcs = NULL;
    binary->image = NULL;
    free(binary->entries);
    binary->entries = NULL;
    binary->entry_capacity = binary->entry_count = 0;
    pthread_mutex_unlock(&binary->lock);
    pthread_mutex_destroy(&binary->lock);
    ms_slab_free(&binaries, binary);
    snpu__image_put(image);
}

/* ---- kernels in an image ---- */
static const struct {
    const char *ending;
    enum snpu_core core;
} mixed[] = {{"_mix_aic", SNPU_CORE_MIX_AIC}, {"_mix_aiv", SNPU_CORE_MIX_AIV}};

/* Length without the suffix of a mixed kernel; sets *core if there is one. */
static size_t plain_length(const char *name, enum snpu_core *core)
{
    size_t length = strlen(name);
    for (size_t i = 0; i < MS_COUNT_OF(mixed); i++) {
        size_t ending = strlen(mixed[i].ending);
        if (length > ending && strcmp(name + length - ending, mixed[i].ending) == 0) {
            *core = mixed[i].core;
            return length - ending;
        }
    }
    return length;
}

static const struct snpu_image_symbol *find_kernel(const struct snpu_image *image, const char *name)
{
    const struct snpu_image_symbol *symbol = snpu__image_find(image, name);
    for (size_t i = 0; symbol == NULL && i < MS_COUNT_OF(mixed); i++) {
        char with[1024];
        int n = snprintf(with, sizeof(with), "%s%s", name, mixed[i].ending);
        if (n > 0 && (size_t)n < sizeof(with)) {
            symbol = snpu__image_find(image, with);
        }
    }
    return symbol != NULL && symbol->function ? symbol : NULL;
}

static const struct snpu_image_symbol *find_entry(const struct snpu_image *image, uint64_t key)
{
    char ending[32];
    size_t ending_b = (size_t)snprintf(ending, sizeof(ending), "_%" PRIu64, key);
    for (size_t i = 0; i < image->symbol_count; i++) {
        enum snpu_core core;
        const struct snpu_image_symbol *symbol = &image->symbols[i];
        size_t length = plain_length(symbol->name, &core);
        if (symbol->function && length > ending_b && memcmp(symbol->name + length - ending_b, ending, ending_b) == 0) {
            return symbol;
        }
    }
    return NULL;
}

static struct snpu_func *func_new(struct snpu_binary *binary, const char *symbol, const char *name, snpu_block_fn fn,
                                  enum snpu_core core)
{
    const char *kept_name = snpu__intern(name), *kept_symbol = snpu__intern(symbol);
    struct snpu_func *func = kept_name != NULL && kept_symbol != NULL ? ms_slab_alloc(&funcs) : NULL;
    if (func == NULL) {
        return NULL;
    }
    func->binary = binary;
    func->image = binary->image;
    func->fn = fn;
    func->name = kept_name;
    func->symbol = kept_symbol;
    func->core = core;
    func->next = binary->funcs;
    binary->funcs = func;
    return func;
}

static int32_t too_many_functions(const char *function)
{
    return snpu_fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "%s: too many functions", function);
}

/* The function for a symbol, created on first use. Called with the lock held. */
static int32_t func_for(const char *function, struct snpu_binary *binary, const struct snpu_image_symbol *symbol,
                        struct snpu_func **out)
{
    struct snpu_image *image = binary->image;
    for (struct snpu_func *func = binary->funcs; func != NULL; func = func->next) {
        if (strcmp(func->symbol, symbol->name) == 0 && func->core != SNPU_CORE_AICPU) {
            *out = func;
            return 0;
        }
    }
    void *address = NULL;
    if (image->library != NULL) {
        int32_t code = snpu__image_address(function, image, symbol, &address);
        if (code != 0) {
            return code;
        }
    }
    enum snpu_core core = image->core;
    char name[1024];
    size_t length = plain_length(symbol->name, &core);
    snprintf(name, sizeof(name), "%.*s", (int)(length < sizeof(name) ? length : sizeof(name) - 1), symbol->name);
    snpu_block_fn fn;
    memcpy(&fn, &address, sizeof(fn));
    struct snpu_func *func = func_new(binary, symbol->name, name, fn, core);
    if (func == NULL) {
        return too_many_functions(function);
    }
    func->size_b = symbol->size_b;
    *out = func;
    return 0;
}

int32_t snpu__func_by_name(const char *function, struct snpu_binary *binary, const char *name, struct snpu_func **out)
{
    const struct snpu_image_symbol *symbol = find_kernel(binary->image, name);
    if (symbol == NULL) {
        return snpu_fail(ACL_ERROR_RT_KERNEL_LOOKUP, "%s: the binary has no kernel %s", function, name);
    }
    pthread_mutex_lock(&binary->lock);
    int32_t code = func_for(function, binary, symbol, out);
    pthread_mutex_unlock(&binary->lock);
    return code;
}

/* ---- entries ---- */
static struct binary_entry *entry_slot(struct binary_entry *table, uint32_t capacity, uint64_t key)
{
    uint64_t i = key * UINT64_C(0x9e3779b97f4a7c15) >> 32;
    while (table[i & (capacity - 1)].func != NULL && table[i & (capacity - 1)].key != key) {
        i++;
    }
    return &table[i & (capacity - 1)];
}

static bool entry_keep(struct snpu_binary *binary, uint64_t key, struct snpu_func *func)
{
    if (2 * (binary->entry_count + 1) > binary->entry_capacity) {
        uint32_t capacity = binary->entry_capacity == 0 ? 16 : 2 * binary->entry_capacity;
        struct binary_entry *table = calloc(capacity, sizeof(*table));
        if (table == NULL) {
            return false;
        }
        for (uint32_t i = 0; i < binary->entry_capacity; i++) {
            if (binary->entries[i].func != NULL) {
                *entry_slot(table, capacity, binary->entries[i].key) = binary->entries[i];
            }
        }
        free(binary->entries);
        binary->entries = table;
        binary->entry_capacity = capacity;
    }
    *entry_slot(binary->entries, binary->entry_capacity, key) = (struct binary_entry){key, func};
    binary->entry_count++;
    return true;
}

int32_t snpu__func_by_entry(const char *function, struct snpu_binary *binary, uint64_t key, struct snpu_func **out)
{
    int32_t code = 0;
    pthread_mutex_lock(&binary->lock);
    struct snpu_func *func =
        binary->entry_capacity > 0 ? entry_slot(binary->entries, binary->entry_capacity, key)->func : NULL;
    if (func == NULL) {
        const struct snpu_image_symbol *symbol = find_entry(binary->image, key);
        code = symbol == NULL ? snpu_fail(ACL_ERROR_RT_KERNEL_LOOKUP,
                                          "%s: the binary has no kernel with entry %" PRIu64, function, key)
                              : func_for(function, binary, symbol, &func);
        if (code == 0) {
            entry_keep(binary, key, func); /* on failure (no memory) the next lookup searches again */
        }
    }
    pthread_mutex_unlock(&binary->lock);
    if (code == 0) {
        *out = func;
    }
    return code;
}

int32_t snpu__func_add(const char *function, struct snpu_binary *binary, const char *symbol, const char *name,
                       snpu_block_fn fn, enum snpu_core core, struct snpu_func **out)
{
    pthread_mutex_lock(&binary->lock);
    struct snpu_func *func = func_new(binary, symbol, name, fn, core);
    pthread_mutex_unlock(&binary->lock);
    if (func == NULL) {
        return too_many_functions(function);
    }
    *out = func;
    return 0;
}

/* ---- loading: rt* entry points ---- */
static int32_t load_data(const char *function, const void *data, uint64_t size_b,
                         const struct snpu_load_options *options, void **handle)
{
    if (data == NULL || size_b == 0 || handle == NULL) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: invalid argument: %" PRIu64 " bytes at %p, handle %p",
                         function, size_b, data, (void *)handle);
    }
    struct snpu_image *image = NULL;
    struct snpu_binary *binary = NULL;
    int32_t code = snpu__mem_check(function, "binary", data, size_b, SNPU_READ);
    if (code == 0) {
        code = snpu__image_from_data(function, data, size_b, options, &image);
    }
    if (code == 0) {
        code = snpu__binary_open(function, image, &binary);
        if (code != 0) {
            snpu__image_put(image);
        }
    }
    if (code == 0) {
        binary->lazy = options->lazy;
        *handle = binary;
    }
    return code;
}

static int32_t load_registered(const char *function, const rtDevBinary_t *bin, void **handle)
{
    if (bin == NULL) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: the binary is missing", function);
    }
    const struct snpu_load_options options = {.magic = bin->magic};
    return load_data(function, bin->data, bin->length, &options, handle);
}

rtError_t rtDevBinaryRegister(const rtDevBinary_t *bin, void **hdl)
{
    SNPU_PROF_RT_CALL(DEV_BINARY_REGISTER);
    return load_registered("rtDevBinaryRegister", bin, hdl);
}

rtError_t rtRegisterAllKernel(const rtDevBinary_t *bin, void **hdl)
{
    SNPU_PROF_RT_CALL(REGISTER_ALL_KERNEL);
    return load_registered("rtRegisterAllKernel", bin, hdl);
}

rtError_t rtBinaryLoad(const rtDevBinary_t *bin, rtBinHandle *binHandle)
{
    SNPU_PROF_RT_CALL(BINARY_LOAD);
    return load_registered("rtBinaryLoad", bin, binHandle);
}

static int32_t unload(const char *function, void *handle)
{
    struct snpu_binary *binary = snpu__binary_of(function, handle);
    if (binary == NULL) {
        return ACL_ERROR_RT_PARAM_INVALID;
    }
    snpu__binary_close(binary);
    return 0;
}

rtError_t rtDevBinaryUnRegister(void *hdl)
{
    SNPU_PROF_RT_CALL(DEV_BINARY_UNREGISTER);
    return unload("rtDevBinaryUnRegister", hdl);
}

rtError_t rtBinaryUnLoad(rtBinHandle binHandle)
{
    SNPU_PROF_RT_CALL(BINARY_UNLOAD);
    return unload("rtBinaryUnLoad", binHandle);
}

static int32_t read_options(const char *function, const rtLoadBinaryConfig_t *cfg, struct snpu_load_options *out)
{
    *out = (struct snpu_load_options){0};
    if (cfg == NULL) {
        return 0;
    }
    if (cfg->options == NULL && cfg->numOpt > 0) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: options are missing", function);
    }
    for (size_t i = 0; i < cfg->numOpt; i++) {
        const rtLoadBinaryOption_t *option = &cfg->options[i];
        switch (option->optionId) {
        case RT_LOAD_BINARY_OPT_LAZY_LOAD:
            out->lazy = option->value.isLazyLoad != 0;
            break;
        case RT_LOAD_BINARY_OPT_MAGIC:
            out->magic = option->value.magic;
            break;
        case RT_LOAD_BINARY_OPT_CPU_KERNEL_MODE:
            out->cpu_kernels = true;
            break;
        default:
            return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: unknown option %d", function, (int)option->optionId);
        }
    }
    return 0;
}

rtError_t rtsBinaryLoadFromFile(const char_t *const binPath, const rtLoadBinaryConfig_t *const optionalCfg,
                                rtBinHandle *handle)
{
    SNPU_PROF_RT_CALL(BINARY_LOAD_FROM_FILE);
    static const char function[] = "rtsBinaryLoadFromFile";
    struct snpu_load_options options;
    int32_t code = read_options(function, optionalCfg, &options);
    if (code != 0) {
        return code;
    }
    if (binPath == NULL || handle == NULL) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: NULL argument: path %p, handle %p", function,
                         (const void *)binPath, (void *)handle);
    }
    struct snpu_image *image = NULL;
    struct snpu_binary *binary = NULL;
    code = snpu__image_from_file(function, binPath, &options, &image);
    if (code == 0) {
        code = snpu__binary_open(function, image, &binary);
        if (code != 0) {
            snpu__image_put(image);
        }
    }
    if (code == 0) {
        binary->lazy = options.lazy;
        *handle = binary;
    }
    return code;
}

rtError_t rtsBinaryLoadFromData(const void *const data, const uint64_t length,
                                const rtLoadBinaryConfig_t *const optionalCfg, rtBinHandle *handle)
{
    SNPU_PROF_RT_CALL(BINARY_LOAD_FROM_DATA);
    struct snpu_load_options options;
    int32_t code = read_options("rtsBinaryLoadFromData", optionalCfg, &options);
    return code != 0 ? code : load_data("rtsBinaryLoadFromData", data, length, &options, handle);
}

int32_t snpu_binary_dev_address(void *handle, void **addr, size_t *size_b)
{
    static const char function[] = "aclrtBinaryGetDevAddress";
    struct snpu_binary *binary = snpu__binary_of(function, handle);
    if (binary == NULL) {
        return ACL_ERROR_RT_PARAM_INVALID;
    }
    *size_b = binary->image->size_b;
    if (binary->lazy) { /* not on the device before its first use */
        *addr = NULL;
        return 0;
    }
    return snpu__image_dev_copy(function, binary->image, addr);
}
