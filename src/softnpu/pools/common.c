/* SPDX-License-Identifier: Apache-2.0 */
/* Errors, devices, driver allocation and events for all pools. Stateless except for the thread's error text. */
#include "common.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static __thread char last_error[512];

const char *npool_last_error(void)
{
    return last_error;
}

aclError npool__fail(aclError code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(last_error, sizeof(last_error), format, args);
    va_end(args);
    return code;
}

aclError npool__fail_acl(aclError code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int used = vsnprintf(last_error, sizeof(last_error), format, args);
    va_end(args);
    const char *why = aclGetRecentErrMsg();
    if (used >= 0 && (size_t)used < sizeof(last_error)) {
        snprintf(last_error + used, sizeof(last_error) - (size_t)used, ": error %d%s%s%s", code, why ? " (" : "",
                 why ? why : "", why ? ")" : "");
    }
    return code;
}

aclError npool__current_device(int32_t *device)
{
    int32_t id;
    aclError ret = aclrtGetDevice(&id);
    if (ret != ACL_SUCCESS) {
        return npool__fail_acl(ret, "no current device");
    }
    if (id < 0 || id >= NPOOL_DEVICES_MAX) {
        return npool__fail(ACL_ERROR_RT_INVALID_DEVICEID, "device %d is out of range, a pool supports %d devices", id,
                           NPOOL_DEVICES_MAX);
    }
    *device = id;
    return ACL_SUCCESS;
}

aclError npool__enter_device(int32_t device, struct npool_device_scope *scope)
{
    int32_t current = -1;
    scope->previous = -1;
    if (aclrtGetDevice(&current) == ACL_SUCCESS && current == device) {
        return ACL_SUCCESS;
    }
    aclError ret = aclrtSetDevice(device);
    if (ret != ACL_SUCCESS) {
        return npool__fail_acl(ret, "aclrtSetDevice(%d)", device);
    }
    scope->previous = current;
    return ACL_SUCCESS;
}

void npool__leave_device(const struct npool_device_scope *scope)
{
    if (scope->previous >= 0) {
        (void)aclrtSetDevice(scope->previous);
    }
}

static aclError (*malloc_align32)(void **, size_t, aclrtMemMallocPolicy);

static void find_malloc(void)
{
    void *found = dlsym(RTLD_DEFAULT, "aclrtMallocAlign32");
    memcpy(&malloc_align32, &found, sizeof(found)); /* ISO C has no cast from object to function pointer */
    if (malloc_align32 == NULL) {
        malloc_align32 = aclrtMalloc;
    }
}

aclError npool__malloc_align32(void **ptr, size_t size_b, aclrtMemMallocPolicy policy)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_malloc);
    return malloc_align32(ptr, size_b, policy);
}

aclError npool__event_record(aclrtEvent *event, aclrtStream stream)
{
    aclrtEvent made = NULL;
    aclError ret = aclrtCreateEventExWithFlag(&made, ACL_EVENT_SYNC);
    if (ret != ACL_SUCCESS) {
        return npool__fail_acl(ret, "aclrtCreateEventExWithFlag");
    }
    ret = aclrtRecordEvent(made, stream);
    if (ret != ACL_SUCCESS) {
        (void)aclrtDestroyEvent(made);
        return npool__fail_acl(ret, "aclrtRecordEvent");
    }
    *event = made;
    return ACL_SUCCESS;
}

bool npool__event_done(aclrtEvent event)
{
    aclrtEventRecordedStatus status = ACL_EVENT_RECORDED_STATUS_COMPLETE;
    return aclrtQueryEventStatus(event, &status) != ACL_SUCCESS || status == ACL_EVENT_RECORDED_STATUS_COMPLETE;
}
