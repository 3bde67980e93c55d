/* SPDX-License-Identifier: Apache-2.0 */
/* Notifies, plain and counting. Stateless. */
#include "softnpu/acl/impl.h"

#include "softnpu/runtime/notify.h"

#include "runtime/rt.h"

aclError aclrtCreateNotifyImpl(aclrtNotify *notify, uint64_t flag)
{
    SNPU_ACL_NOT_NULL(notify);
    SNPU_PROF_RT_CALL(NOTIFY_CREATE);
    return snpu_notify_create("aclrtCreateNotify", -1, flag, notify);
}

aclError aclrtDestroyNotifyImpl(aclrtNotify notify)
{
    SNPU_ACL_NOT_NULL(notify);
    return rtNotifyDestroy(notify);
}

aclError aclrtRecordNotifyImpl(aclrtNotify notify, aclrtStream stream)
{
    SNPU_ACL_NOT_NULL(notify);
    return rtNotifyRecord(notify, stream);
}

aclError aclrtWaitAndResetNotifyImpl(aclrtNotify notify, aclrtStream stream, uint32_t timeout)
{
    SNPU_ACL_NOT_NULL(notify);
    SNPU_PROF_RT_CALL(NOTIFY_WAIT);
    return snpu_notify_wait("aclrtWaitAndResetNotify", notify, stream, timeout);
}

aclError aclrtGetNotifyIdImpl(aclrtNotify notify, uint32_t *notifyId)
{
    SNPU_ACL_NOT_NULL(notify);
    SNPU_ACL_NOT_NULL(notifyId);
    return snpu_notify_id("aclrtGetNotifyId", notify, notifyId);
}

aclError aclrtNotifyBatchResetImpl(aclrtNotify *notifies, size_t num)
{
    SNPU_ACL_NOT_NULL(notifies);
    SNPU_PROF_RT_CALL(NOTIFY_RESET);
    aclError ret = num > 0 ? ACL_SUCCESS : snpu_fail(ACL_ERROR_INVALID_PARAM, "aclrtNotifyBatchReset: num is 0");
    for (size_t i = 0; i < num && ret == ACL_SUCCESS; i++) {
        ret = snpu_notify_reset("aclrtNotifyBatchReset", notifies[i]);
    }
    return ret;
}

aclError aclrtNotifyGetExportKeyImpl(aclrtNotify notify, char *key, size_t len, uint64_t flags)
{
    SNPU_ACL_NOT_NULL(notify);
    SNPU_ACL_NOT_NULL(key);
    return snpu_notify_export("aclrtNotifyGetExportKey", notify, key, len, flags);
}

aclError aclrtNotifyImportByKeyImpl(aclrtNotify *notify, const char *key, uint64_t flags)
{
    SNPU_ACL_NOT_NULL(notify);
    SNPU_ACL_NOT_NULL(key);
    SNPU_PROF_RT_CALL(IPC_OPEN_NOTIFY);
    return snpu_notify_import("aclrtNotifyImportByKey", key, flags, notify);
}

aclError aclrtNotifySetImportPidImpl(aclrtNotify notify, int32_t *pid, size_t num)
{
    SNPU_ACL_NOT_NULL(notify);
    SNPU_ACL_NOT_NULL(pid);
    return snpu_notify_allow("aclrtNotifySetImportPid", notify, pid, num);
}

aclError aclrtNotifySetImportPidInterServerImpl(aclrtNotify notify, aclrtServerPid *serverPids, size_t num)
{
    SNPU_ACL_NOT_NULL(notify);
    SNPU_ACL_NOT_NULL(serverPids);
    aclError ret = ACL_SUCCESS;
    for (size_t i = 0; i < num && ret == ACL_SUCCESS; i++) {
        SNPU_ACL_NOT_NULL(serverPids[i].pid);
        ret = snpu_notify_allow("aclrtNotifySetImportPidInterServer", notify, serverPids[i].pid, serverPids[i].num);
    }
    return ret;
}

/* ---- counting ---- */

aclError aclrtCntNotifyCreateImpl(aclrtCntNotify *notify, uint64_t flag)
{
    SNPU_ACL_NOT_NULL(notify);
    SNPU_PROF_RT_CALL(CNT_NOTIFY_CREATE);
    return snpu_cnt_notify_create("aclrtCntNotifyCreate", flag, notify);
}

aclError aclrtCntNotifyDestroyImpl(aclrtCntNotify notify)
{
    SNPU_ACL_NOT_NULL(notify);
    SNPU_PROF_RT_CALL(CNT_NOTIFY_DESTROY);
    return snpu_cnt_notify_destroy("aclrtCntNotifyDestroy", notify);
}

aclError aclrtCntNotifyRecordImpl(aclrtCntNotify cntNotify, aclrtStream stream, aclrtCntNotifyRecordInfo *info)
{
    SNPU_ACL_NOT_NULL(cntNotify);
    SNPU_ACL_NOT_NULL(info);
    SNPU_PROF_RT_CALL(CNT_NOTIFY_RECORD);
    return snpu_cnt_notify_record("aclrtCntNotifyRecord", cntNotify, stream, info->mode, info->value);
}

aclError aclrtCntNotifyWaitWithTimeoutImpl(aclrtCntNotify cntNotify, aclrtStream stream, aclrtCntNotifyWaitInfo *info)
{
    SNPU_ACL_NOT_NULL(cntNotify);
    SNPU_ACL_NOT_NULL(info);
    SNPU_PROF_RT_CALL(CNT_NOTIFY_WAIT);
    return snpu_cnt_notify_wait("aclrtCntNotifyWaitWithTimeout", cntNotify, stream, info->mode, info->value,
                                info->timeout, info->isClear != 0);
}

aclError aclrtCntNotifyResetImpl(aclrtCntNotify cntNotify, aclrtStream stream)
{
    SNPU_ACL_NOT_NULL(cntNotify);
    return snpu_cnt_notify_reset("aclrtCntNotifyReset", cntNotify, stream);
}

aclError aclrtCntNotifyGetIdImpl(aclrtCntNotify cntNotify, uint32_t *notifyId)
{
    SNPU_ACL_NOT_NULL(cntNotify);
    SNPU_ACL_NOT_NULL(notifyId);
    return snpu_cnt_notify_id("aclrtCntNotifyGetId", cntNotify, notifyId);
}
