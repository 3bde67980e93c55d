/* SPDX-License-Identifier: Apache-2.0 */
/* What a program may query about a failed task in its callback. Stateless. */
#include "softnpu/acl/impl.h"

#include "softnpu/acl/check.h"
#include "softnpu/runtime/exception.h"

aclError aclrtSetExceptionInfoCallbackImpl(aclrtExceptionInfoCallback callback)
{
    return snpu_exception_set(callback);
}

aclError aclrtExceptionInfoCallbackRegisterImpl(aclrtExceptionInfoCallback callback)
{
    SNPU_ACL_NOT_NULL(callback);
    return snpu_exception_add(callback);
}

aclError aclrtExceptionInfoCallbackUnregisterImpl(aclrtExceptionInfoCallback callback)
{
    SNPU_ACL_NOT_NULL(callback);
    return snpu_exception_remove(callback);
}

/* Numbers of an unknown task read as all ones. */
#define NUMBER(name, member)                                                                                           \
    uint32_t name##Impl(const aclrtExceptionInfo *info)                                                                \
    {                                                                                                                  \
        return snpu_exception_active(info) ? info->member : UINT32_MAX;                                                \
    }

NUMBER(aclrtGetTaskIdFromExceptionInfo, task_id)
NUMBER(aclrtGetStreamIdFromExceptionInfo, stream_id)
NUMBER(aclrtGetThreadIdFromExceptionInfo, thread_id)
NUMBER(aclrtGetDeviceIdFromExceptionInfo, device_id)
NUMBER(aclrtGetErrorCodeFromExceptionInfo, code)

aclError aclrtGetArgsFromExceptionInfoImpl(const aclrtExceptionInfo *info, void **devArgsPtr, uint32_t *devArgsLen)
{
    SNPU_ACL_NOT_NULL(info);
    SNPU_ACL_NOT_NULL(devArgsPtr);
    SNPU_ACL_NOT_NULL(devArgsLen);
    SNPU_ACL_REQUIRE(snpu_exception_active(info), "aclrtGetArgsFromExceptionInfo: %p is not a current exception",
                     (const void *)info);
    *devArgsPtr = info->args;
    *devArgsLen = info->args_b;
    return ACL_SUCCESS;
}

aclError aclrtGetFuncHandleFromExceptionInfoImpl(const aclrtExceptionInfo *info, aclrtFuncHandle *func)
{
    SNPU_ACL_NOT_NULL(info);
    SNPU_ACL_NOT_NULL(func);
    SNPU_ACL_REQUIRE(snpu_exception_active(info), "aclrtGetFuncHandleFromExceptionInfo: %p is not a current exception",
                     (const void *)info);
    *func = info->func;
    return ACL_SUCCESS;
}
