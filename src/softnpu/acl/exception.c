/* SPDX-License-Identifier: Apache-2.0 */
/* What a program may ask about a failed task, inside its callback. Stateless. */
#include "softnpu/acl/impl.h"

#include "softnpu/acl/check.h"
#include "softnpu/runtime/exception.h"

aclError aclrtSetExceptionInfoCallbackImpl(aclrtExceptionInfoCallback callback)
{
    return snpu_exception_set(callback);
}

aclError aclrtExceptionInfoCallbackRegisterImpl(aclrtExceptionInfoCallback callback)
{
    ACL_NEED(aclrtExceptionInfoCallbackRegister, callback);
    return snpu_exception_add(callback);
}

aclError aclrtExceptionInfoCallbackUnregisterImpl(aclrtExceptionInfoCallback callback)
{
    ACL_NEED(aclrtExceptionInfoCallbackUnregister, callback);
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
    ACL_NEED(aclrtGetArgsFromExceptionInfo, info);
    ACL_NEED(aclrtGetArgsFromExceptionInfo, devArgsPtr);
    ACL_NEED(aclrtGetArgsFromExceptionInfo, devArgsLen);
    ACL_REQUIRE(snpu_exception_active(info), "aclrtGetArgsFromExceptionInfo: %p tells of no exception",
                (const void *)info);
    *devArgsPtr = info->args;
    *devArgsLen = info->args_b;
    return ACL_SUCCESS;
}

aclError aclrtGetFuncHandleFromExceptionInfoImpl(const aclrtExceptionInfo *info, aclrtFuncHandle *func)
{
    ACL_NEED(aclrtGetFuncHandleFromExceptionInfo, info);
    ACL_NEED(aclrtGetFuncHandleFromExceptionInfo, func);
    ACL_REQUIRE(snpu_exception_active(info), "aclrtGetFuncHandleFromExceptionInfo: %p tells of no exception",
                (const void *)info);
    *func = info->func;
    return ACL_SUCCESS;
}
