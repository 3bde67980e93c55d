/* SPDX-License-Identifier: Apache-2.0 */
/* Queries about a binary's functions and variables.
 *
 * Invariant: a handle is checked before it is dereferenced. Threads and locks: those of binary.c and stub.c.
 * Failure: unknown handles return 107000, unknown kernels 507027, unknown variables 107042 and 107043. */
#include "softnpu/runtime/kernel.h"

#include "softnpu/runtime/error.h"
#include "softnpu/runtime/prof.h"

#include "acl/acl.h"
#include "runtime/rt.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

/* ---- rt* entry points ---- */
static int32_t by_name(const char *function, void *handle, const char *name, void **out)
{
    struct snpu_binary *binary = snpu__binary_of(function, handle);
    if (binary == NULL) {
        return ACL_ERROR_RT_PARAM_INVALID;
    }
    if (name == NULL || out == NULL) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: NULL argument: name %p, handle %p", function,
                         (const void *)name, (void *)out);
    }
    struct snpu_func *func;
    int32_t code = snpu__func_by_name(function, binary, name, &func);
    if (code == 0) {
        *out = func;
    }
    return code;
}

static int32_t by_entry(const char *function, void *handle, uint64_t entry, void **out)
{
    struct snpu_binary *binary = snpu__binary_of(function, handle);
    if (binary == NULL) {
        return ACL_ERROR_RT_PARAM_INVALID;
    }
    if (out == NULL) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: the function handle pointer is NULL", function);
    }
    struct snpu_func *func;
    int32_t code = snpu__func_by_entry(function, binary, entry, &func);
    if (code == 0) {
        *out = func;
    }
    return code;
}

rtError_t rtBinaryGetFunction(const rtBinHandle binHandle, const uint64_t tilingKey, rtFuncHandle *funcHandle)
{
    SNPU_PROF_RT_CALL(BINARY_GET_FUNCTION);
    return by_entry("rtBinaryGetFunction", binHandle, tilingKey, funcHandle);
}

rtError_t rtBinaryGetFunctionByName(const rtBinHandle binHandle, const char *kernelName, rtFuncHandle *funcHandle)
{
    SNPU_PROF_RT_CALL(BINARY_GET_FUNCTION_BY_NAME);
    return by_name("rtBinaryGetFunctionByName", binHandle, kernelName, funcHandle);
}

rtError_t rtsFuncGetByName(const rtBinHandle binHandle, const char_t *kernelName, rtFuncHandle *funcHandle)
{
    SNPU_PROF_RT_CALL(BINARY_GET_FUNCTION_BY_NAME);
    return by_name("rtsFuncGetByName", binHandle, kernelName, funcHandle);
}

rtError_t rtsFuncGetByEntry(const rtBinHandle binHandle, const uint64_t funcEntry, rtFuncHandle *funcHandle)
{
    SNPU_PROF_RT_CALL(BINARY_GET_FUNCTION_BY_ENTRY);
    return by_entry("rtsFuncGetByEntry", binHandle, funcEntry, funcHandle);
}

rtError_t rtsFuncGetName(const rtFuncHandle funcHandle, const uint32_t maxLen, char_t *const name)
{
    static const char function[] = "rtsFuncGetName";
    struct snpu_func *func = snpu__func_of(function, funcHandle);
    if (func == NULL) {
        return ACL_ERROR_RT_PARAM_INVALID;
    }
    if (name == NULL || maxLen <= strlen(func->name)) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: a buffer of %u bytes is too small for '%s'", function, maxLen,
                         func->name);
    }
    memcpy(name, func->name, strlen(func->name) + 1);
    return 0;
}

/* The kinds of core a kernel has code for. */
static bool has_aic(const struct snpu_func *func)
{
    return func->core != SNPU_CORE_VECTOR;
}

static bool has_aiv(const struct snpu_func *func)
{
    return func->core == SNPU_CORE_VECTOR || func->core == SNPU_CORE_MIX_AIC || func->core == SNPU_CORE_MIX_AIV;
}

rtError_t rtsFuncGetAddr(const rtFuncHandle funcHandle, void **aicAddr, void **aivAddr)
{
    SNPU_PROF_RT_CALL(FUNC_GET_ADDR);
    static const char function[] = "rtsFuncGetAddr";
    struct snpu_func *func = snpu__func_of(function, funcHandle);
    if (func == NULL) {
        return ACL_ERROR_RT_PARAM_INVALID;
    }
    if (aicAddr == NULL || aivAddr == NULL) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: the address pointers are NULL", function);
    }
    void *address = NULL;
    memcpy(&address, &func->fn, sizeof(address));
    const struct snpu_image_symbol *symbol = snpu__image_find(func->image, func->symbol);
    if (address == NULL && symbol != NULL && func->image->data != NULL) {
        int32_t code = snpu__image_address(function, func->image, symbol, &address);
        if (code != 0) {
            return code;
        }
    }
    *aicAddr = has_aic(func) ? address : NULL;
    *aivAddr = has_aiv(func) ? address : NULL;
    return 0;
}

/* ---- for ACL ---- */
int32_t snpu_func_size(void *handle, size_t *aic_b, size_t *aiv_b)
{
    struct snpu_func *func = snpu__func_of("aclrtGetFunctionSize", handle);
    if (func == NULL) {
        return ACL_ERROR_RT_PARAM_INVALID;
    }
    *aic_b = has_aic(func) ? func->size_b : 0;
    *aiv_b = has_aiv(func) ? func->size_b : 0;
    return 0;
}

int32_t snpu_func_binary(void *handle, void **binary)
{
    struct snpu_func *func = snpu__func_of("aclrtFunctionGetBinary", handle);
    if (func == NULL) {
        return ACL_ERROR_RT_PARAM_INVALID;
    }
    *binary = func->binary;
    return 0;
}

int32_t snpu_func_attribute(void *handle, int32_t attribute, int64_t *value)
{
    static const char function[] = "aclrtGetFunctionAttribute";
    static const int32_t types[SNPU_CORE_COUNT] = {
        [SNPU_CORE_AICORE] = ACL_KERNEL_TYPE_AICORE, [SNPU_CORE_CUBE] = ACL_KERNEL_TYPE_CUBE,
        [SNPU_CORE_VECTOR] = ACL_KERNEL_TYPE_VECTOR, [SNPU_CORE_MIX_AIC] = ACL_KERNEL_TYPE_MIX,
        [SNPU_CORE_MIX_AIV] = ACL_KERNEL_TYPE_MIX,   [SNPU_CORE_AICPU] = ACL_KERNEL_TYPE_AICPU,
    };
    struct snpu_func *func = snpu__func_of(function, handle);
    if (func == NULL) {
        return ACL_ERROR_RT_PARAM_INVALID;
    }
    switch (attribute) {
    case ACL_FUNC_ATTR_KERNEL_TYPE:
        *value = types[func->core];
        return 0;
    case ACL_FUNC_ATTR_KERNEL_RATIO: /* ratio of cube to vector cores, 16 bits each */
        *value = (int64_t)has_aic(func) << 16 | (has_aiv(func) ? (has_aic(func) ? 2 : 1) : 0);
        return 0;
    case ACL_FUNC_ATTR_KERNEL_SCHED_MODE:
        *value = 0;
        return 0;
    default:
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: unknown attribute %d", function, attribute);
    }
}

/* ---- parameters ---- */
static const uint32_t *params_of(const char *function, const void *handle, size_t *count)
{
    struct snpu_func *func = snpu__stub_find(handle);
    char name[1024];
    void *sizes = NULL;
    func = func != NULL ? func : snpu__func_of(function, handle);
    if (func == NULL) {
        return NULL;
    }
    snprintf(name, sizeof(name), "%s__params", func->name);
    const struct snpu_image_symbol *symbol = snpu__image_find(func->image, name);
    if (symbol == NULL || symbol->function || func->image->library == NULL ||
        snpu__image_address(function, func->image, symbol, &sizes) != 0) {
        snpu_fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "%s: kernel %s does not declare its parameters (%s)", function,
                  func->name, name);
        return NULL;
    }
    *count = symbol->size_b / sizeof(uint32_t);
    return sizes;
}

static int32_t no_params(const char *function, const void *handle)
{
    bool known = snpu__stub_find(handle) != NULL || snpu__func_of(function, handle) != NULL;
    return known ? ACL_ERROR_RT_FEATURE_NOT_SUPPORT : ACL_ERROR_RT_PARAM_INVALID;
}

int32_t snpu_func_param_count(const void *handle, size_t *count)
{
    static const char function[] = "aclrtFunctionGetParamCount";
    return params_of(function, handle, count) != NULL ? 0 : no_params(function, handle);
}

int32_t snpu_func_param(const void *handle, size_t index, size_t *offset, size_t *size_b)
{
    static const char function[] = "aclrtFunctionGetParamInfo";
    size_t count = 0, at = 0;
    const uint32_t *sizes = params_of(function, handle, &count);
    if (sizes == NULL) {
        return no_params(function, handle);
    }
    if (index > count) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: no parameter %zu (the kernel has %zu)", function, index,
                         count);
    }
    for (size_t i = 0; i < index; i++) {
        at += MS_ROUND_UP((size_t)sizes[i], 8);
    }
    *offset = at;
    *size_b = index < count ? sizes[index] : 0;
    return 0;
}

/* ---- variables ---- */
int32_t snpu_binary_global(void *handle, const char *name, void **addr, size_t *size_b)
{
    static const char function[] = "aclrtBinaryGetGlobal";
    struct snpu_binary *binary = snpu__binary_of(function, handle);
    if (binary == NULL) {
        return ACL_ERROR_RT_PARAM_INVALID;
    }
    struct snpu_image *image = snpu__binary_image(binary);
    const struct snpu_image_symbol *symbol = snpu__image_find(image, name);
    if (symbol == NULL || symbol->function) {
        return snpu_fail(ACL_ERROR_RT_SYMBOL_NOT_FOUND, "%s: the binary has no variable %s", function, name);
    }
    void *where = NULL;
    int32_t code = addr != NULL ? snpu__image_address(function, image, symbol, &where) : 0;
    if (code != 0) {
        return code;
    }
    if (addr != NULL) {
        *addr = where;
    }
    if (size_b != NULL) {
        *size_b = symbol->size_b;
    }
    return 0;
}

int32_t snpu_symbol_find(const char *function, const void *symbol, void **addr, size_t *size_b)
{
    Dl_info info;
    const ElfW(Sym) *found = NULL;
    /* Host and device share memory: a variable of any loaded object is the device's variable. */
    if (symbol == NULL || dladdr1(symbol, &info, (void **)&found, RTLD_DL_SYMENT) == 0 || found == NULL ||
        info.dli_saddr != symbol || ELF64_ST_TYPE(found->st_info) != STT_OBJECT) {
        return snpu_fail(ACL_ERROR_RT_INVALID_SYMBOL, "%s: %p is not an exported variable", function, symbol);
    }
    *addr = info.dli_saddr;
    *size_b = found->st_size;
    return 0;
}

int32_t snpu_binary_set_exception_callback(void *handle, snpu_image_exception_fn callback, void *data)
{
    struct snpu_binary *binary = snpu__binary_of("aclrtBinarySetExceptionCallback", handle);
    if (binary == NULL) {
        return ACL_ERROR_RT_PARAM_INVALID;
    }
    struct snpu_image *image = snpu__binary_image(binary);
    pthread_mutex_lock(&image->lock);
    image->exception_callback = callback;
    image->exception_data = data;
    pthread_mutex_unlock(&image->lock);
    return 0;
}

int32_t snpu_func_by_symbol(const void *stub, void **func)
{
    struct snpu_func *found = snpu__stub_find(stub);
    if (found == NULL) {
        return snpu_fail(ACL_ERROR_RT_INVALID_DEVICE_FUNCTION, "aclrtGetFuncBySymbol: %p is not a registered kernel",
                         stub);
    }
    *func = found;
    return 0;
}

int32_t snpu_func_resolve(const char *function, void *handle_or_stub, void **func)
{
    struct snpu_func *found = snpu__stub_find(handle_or_stub);
    *func = found != NULL ? found : snpu__func_of(function, handle_or_stub);
    return *func != NULL ? 0 : ACL_ERROR_RT_PARAM_INVALID;
}

int32_t snpu_func_register_cpu(void *handle, const char *symbol, const char *name, void **out)
{
    static const char function[] = "aclrtRegisterCpuFunc";
    struct snpu_binary *binary = snpu__binary_of(function, handle);
    if (binary == NULL) {
        return ACL_ERROR_RT_PARAM_INVALID;
    }
    struct snpu_image *image = snpu__binary_image(binary);
    if (!image->cpu_kernels) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: the binary was not loaded for the AI CPU", function);
    }
    snpu_block_fn fn = NULL;
    if (image->library != NULL) {
        void *address = dlsym(image->library, symbol);
        memcpy(&fn, &address, sizeof(fn));
    }
    if (fn == NULL && image->data == NULL) {
        int32_t code = snpu__aicpu_find(function, NULL, symbol, &fn);
        if (code != 0) {
            return code;
        }
    }
    struct snpu_func *func;
    int32_t code = snpu__func_add(function, binary, symbol, name, fn, SNPU_CORE_AICPU, &func);
    if (code == 0) {
        *out = func;
    }
    return code;
}
