/* SPDX-License-Identifier: Apache-2.0 */
/* Stubs: addresses in the host program that represent kernels. A kernel compiler generates a host function for each
 * kernel and registers its address with the kernel's name; launches then use the address.
 *
 * Threads and locks: stubs.lock protects the table (open addressing by address, plus the names). Launches read it. It
 * is taken before a binary's lock, never while holding one. */
#include "softnpu/runtime/kernel.h"

#include "softnpu/runtime/error.h"
#include "softnpu/runtime/prof.h"

#include "acl/acl.h"
#include "runtime/rt.h"

#include <stdlib.h>
#include <string.h>

struct stub {
    const void *address;    /* NULL: never used */
    struct snpu_func *func; /* NULL: removed */
    const char *name;       /* interned */
};

static struct {
    pthread_rwlock_t lock;
    struct stub *table;
    size_t capacity, used; /* used includes removed entries */
} stubs = {.lock = PTHREAD_RWLOCK_INITIALIZER};

static struct stub *slot(struct stub *table, size_t capacity, const void *address)
{
    size_t i = (uintptr_t)address / 8 * UINT64_C(0x9e3779b97f4a7c15) >> 32;
    while (table[i & (capacity - 1)].address != NULL && table[i & (capacity - 1)].address != address) {
        i++;
    }
    return &table[i & (capacity - 1)];
}

static bool grow(void)
{
    size_t capacity = stubs.capacity == 0 ? 256 : 2 * stubs.capacity;
    struct stub *table = calloc(capacity, sizeof(*table));
    if (table == NULL) {
        return false;
    }
    stubs.used = 0;
    for (size_t i = 0; i < stubs.capacity; i++) {
        if (stubs.table[i].func != NULL) {
            *slot(table, capacity, stubs.table[i].address) = stubs.table[i];
            stubs.used++;
        }
    }
    free(stubs.table);
    stubs.table = table;
    stubs.capacity = capacity;
    return true;
}

struct snpu_func *snpu__stub_find(const void *address)
{
    struct snpu_func *func = NULL;
    if (address == NULL) {
        return NULL;
    }
    pthread_rwlock_rdlock(&stubs.lock);
    if (stubs.capacity > 0) {
        func = slot(stubs.table, stubs.capacity, address)->func;
    }
    pthread_rwlock_unlock(&stubs.lock);
    return func;
}

void snpu__stub_forget(const struct snpu_binary *binary)
{
    pthread_rwlock_wrlock(&stubs.lock);
    for (size_t i = 0; i < stubs.capacity; i++) {
        if (stubs.table[i].func != NULL && stubs.table[i].func->binary == binary) {
            stubs.table[i].func = NULL;
        }
    }
    pthread_rwlock_unlock(&stubs.lock);
}

rtError_t rtFunctionRegister(void *binHandle, const void *stubFunc, const char_t *stubName, const void *kernelInfoExt,
                             uint32_t funcMode)
{
    (void)funcMode;
    SNPU_PROF_RT_CALL(FUNCTION_REGISTER);
    static const char function[] = "rtFunctionRegister";
    struct snpu_binary *binary = snpu__binary_of(function, binHandle);
    if (binary == NULL) {
        return ACL_ERROR_RT_PARAM_INVALID;
    }
    if (stubFunc == NULL || stubName == NULL) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: NULL argument: stub %p, name %p", function, stubFunc,
                         (const void *)stubName);
    }
    struct snpu_func *func;
    int32_t code = snpu__func_by_name(function, binary, kernelInfoExt != NULL ? kernelInfoExt : stubName, &func);
    if (code != 0) {
        return code;
    }
    const char *name = snpu__intern(stubName);
    pthread_rwlock_wrlock(&stubs.lock);
    if (name == NULL || (2 * (stubs.used + 1) > stubs.capacity && !grow())) {
        code = snpu_fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "%s: out of host memory", function);
    } else {
        struct stub *stub = slot(stubs.table, stubs.capacity, stubFunc);
        if (stub->func != NULL) {
            code = snpu_fail(ACL_ERROR_RT_KERNEL_DUPLICATE, "%s: stub %p is already registered for %s", function,
                             stubFunc, stub->func->name);
        } else {
            stubs.used += stub->address == NULL;
            *stub = (struct stub){stubFunc, func, name};
        }
    }
    pthread_rwlock_unlock(&stubs.lock);
    return code;
}

static const struct stub *find_name(const char *name)
{
    for (size_t i = 0; i < stubs.capacity; i++) {
        if (stubs.table[i].func != NULL && strcmp(stubs.table[i].name, name) == 0) {
            return &stubs.table[i];
        }
    }
    return NULL;
}

static int32_t lookup(const char *function, const char *name, void **address)
{
    if (name == NULL) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: the name is missing", function);
    }
    pthread_rwlock_rdlock(&stubs.lock);
    const struct stub *stub = find_name(name);
    bool known = stub != NULL;
    if (known && address != NULL) {
        *address = (void *)(uintptr_t)stub->address;
    }
    pthread_rwlock_unlock(&stubs.lock);
    return known ? 0 : snpu_fail(ACL_ERROR_RT_KERNEL_LOOKUP, "%s: no kernel is registered as %s", function, name);
}

rtError_t rtGetFunctionByName(const char_t *stubName, void **stubFunc)
{
    SNPU_PROF_RT_CALL(GET_FUNCTION_BY_NAME);
    if (stubFunc == NULL) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "rtGetFunctionByName: the stub pointer is NULL");
    }
    return lookup("rtGetFunctionByName", stubName, stubFunc);
}

rtError_t rtQueryFunctionRegistered(const char_t *stubName)
{
    SNPU_PROF_RT_CALL(QUERY_FUNCTION_REGISTERED);
    return lookup("rtQueryFunctionRegistered", stubName, NULL);
}
