/* SPDX-License-Identifier: Apache-2.0 */
/* Sharing device memory between processes with 65-byte keys. The driver shares by name. This file remembers which keys
 * this process exported and which it opened (and at which address), because closing takes only a key and means
 * "withdraw my export" to one side and "unmap" to the other.
 *
 * Threads and locks: keys.lock protects the list and is held across the driver call that goes with a change, so that
 * two threads closing one key close it once. Failure: the driver's result as an ACL code. */
#include "softnpu/runtime/vmm.h"

#include "softnpu/runtime/context.h"
#include "softnpu/runtime/error.h"
#include "softnpu/runtime/memory.h"

#include "acl/acl.h"
#include "ascend_hal.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct key {
    char text[SNPU_IPC_KEY_B];
    DVdeviceptr opened; /* 0: exported by this process */
    struct key *next;
};

static struct {
    pthread_mutex_t lock;
    struct key *list;
} keys = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct key **find(const char *text)
{
    struct key **link = &keys.list;
    while (*link != NULL && strcmp((*link)->text, text) != 0) {
        link = &(*link)->next;
    }
    return link;
}

static bool key_is_valid(const char *key)
{
    return key != NULL && key[0] != '\0' && strnlen(key, SNPU_IPC_KEY_B) < SNPU_IPC_KEY_B;
}

static int32_t bad_key(const char *function)
{
    return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: not a shared memory key", function);
}

int32_t snpu_ipc_export(void *ptr, size_t size_b, char *key, size_t key_b, uint64_t flags)
{
    static const char function[] = "aclrtIpcMemGetExportKey";
    if (key_b < SNPU_IPC_KEY_B || flags > ACL_RT_IPC_MEM_EXPORT_FLAG_DISABLE_PID_VALIDATION || size_b == 0) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID,
                         "%s: invalid argument: size %zu, key buffer of %zu bytes (minimum %d), flags %llu", function,
                         size_b, key_b, SNPU_IPC_KEY_B, (unsigned long long)flags);
    }
    struct key *entry = calloc(1, sizeof(*entry));
    if (entry == NULL) {
        return snpu_fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "%s: out of host memory", function);
    }
    pthread_mutex_lock(&keys.lock);
    drvError_t result = halShmemCreateHandle((uintptr_t)ptr, size_b, entry->text, sizeof(entry->text));
    if (result == DRV_ERROR_NONE && (flags & ACL_RT_IPC_MEM_EXPORT_FLAG_DISABLE_PID_VALIDATION) != 0) {
        result = (drvError_t)snpu_hal_shmem_open_to_all(entry->text);
        if (result != DRV_ERROR_NONE) {
            halShmemDestroyHandle(entry->text);
        }
    }
    if (result == DRV_ERROR_NONE) {
        memcpy(key, entry->text, sizeof(entry->text));
        entry->next = keys.list;
        keys.list = entry;
    }
    pthread_mutex_unlock(&keys.lock);
    if (result != DRV_ERROR_NONE) {
        free(entry);
    }
    return snpu_from_drv(result, function);
}

int32_t snpu_ipc_import(void **ptr, const char *key, uint64_t flags)
{
    static const char function[] = "aclrtIpcMemImportByKey";
    struct snpu_ctx *ctx;
    int32_t code = snpu_ctx_need(function, &ctx);
    if (code != 0) {
        return code;
    }
    if (!key_is_valid(key) || flags > ACL_RT_IPC_MEM_IMPORT_FLAG_ENABLE_PEER_ACCESS) {
        return bad_key(function);
    }
    struct key *entry = calloc(1, sizeof(*entry));
    if (entry == NULL) {
        return snpu_fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "%s: out of host memory", function);
    }
    memcpy(entry->text, key, strlen(key));
    pthread_mutex_lock(&keys.lock);
    drvError_t result = halShmemOpenHandleByDevId(ctx->dev, entry->text, &entry->opened);
    if (result == DRV_ERROR_NONE) {
        *ptr = (void *)(uintptr_t)entry->opened;
        entry->next = keys.list;
        keys.list = entry;
    }
    pthread_mutex_unlock(&keys.lock);
    if (result != DRV_ERROR_NONE) {
        free(entry);
    }
    return snpu_from_drv(result, function);
}

int32_t snpu_ipc_set_pids(const char *key, int32_t *pids, size_t count)
{
    static const char function[] = "aclrtIpcMemSetImportPid";
    if (!key_is_valid(key) || pids == NULL || count == 0 || count > INT32_MAX) {
        return bad_key(function);
    }
    return snpu_from_drv(halShmemSetPidHandle(key, pids, (int)count), function);
}

int32_t snpu_ipc_close(const char *key)
{
    static const char function[] = "aclrtIpcMemClose";
    if (!key_is_valid(key)) {
        return bad_key(function);
    }
    pthread_mutex_lock(&keys.lock);
    struct key **link = find(key);
    struct key *entry = *link;
    bool known = entry != NULL;
    drvError_t result = DRV_ERROR_INVALID_VALUE;
    if (known) {
        result = entry->opened != 0 ? halShmemCloseHandle(entry->opened) : halShmemDestroyHandle(entry->text);
        *link = entry->next;
    }
    pthread_mutex_unlock(&keys.lock);
    free(entry);
    return known ? snpu_from_drv(result, function)
                 : snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: the key was not exported or opened in this process",
                             function);
}

int32_t snpu_ipc_known(const char *key)
{
    static const char function[] = "aclrtIpcMemSetAttr";
    if (!key_is_valid(key)) {
        return bad_key(function);
    }
    pthread_mutex_lock(&keys.lock);
    bool known = *find(key) != NULL;
    pthread_mutex_unlock(&keys.lock);
    return known ? 0 : bad_key(function);
}
