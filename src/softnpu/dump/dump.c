/* SPDX-License-Identifier: Apache-2.0 */
/* libascend_dump.so. softnpu writes no dumps: a callback can be registered and is not called, no kind of dump has a path.
 * Arguments are checked as the vendor's library does.
 *
 * Threads: one pointer, changed by atomics. */
#include "acl/acl_dump.h"
#include "softnpu/runtime/error.h"

#include <string.h>

typedef int32_t (*dump_callback)(const acldumpChunk *, int32_t);

static dump_callback registered;

aclError acldumpRegCallback(int32_t (*const messageCallback)(const acldumpChunk *, int32_t), int32_t flag)
{
    if (messageCallback == NULL || flag != 0) {
        return snpu_fail(ACL_ERROR_FAILURE, "acldumpRegCallback: %s",
                         messageCallback == NULL ? "messageCallback is NULL" : "flag must be 0");
    }
    __atomic_store_n(&registered, messageCallback, __ATOMIC_RELEASE);
    return ACL_SUCCESS;
}

void acldumpUnregCallback(void)
{
    __atomic_store_n(&registered, NULL, __ATOMIC_RELEASE);
}

const char *acldumpGetPath(acldumpType dumpType)
{
    if (dumpType < AIC_ERR_BRIEF_DUMP || dumpType > OVERFLOW_DUMP) {
        snpu_fail(ACL_ERROR_INVALID_PARAM, "acldumpGetPath: unknown type %d", (int)dumpType);
    } else {
        snpu_fail(ACL_ERROR_DUMP_NOT_RUN, "acldumpGetPath: dump %d is not enabled; softnpu writes no dumps",
                  (int)dumpType);
    }
    return NULL;
}

aclError acldumpSaveExceptionInfo(const char *fileName, const char *userTag, const acldumpTensorInfo *tensors,
                                  size_t tensorCount)
{
    static const char function[] = "acldumpSaveExceptionInfo";
    if (fileName == NULL || *fileName == '\0' || strstr(fileName, "..") != NULL || tensors == NULL ||
        tensorCount == 0) {
        return snpu_fail(ACL_ERROR_INVALID_PARAM, "%s: invalid fileName, or no tensors", function);
    }
    for (size_t i = 0; i < tensorCount; i++) {
        const acldumpTensorInfo *one = &tensors[i];
        if (one->tensorAddr == NULL || one->tensorSize == 0 || one->shapeNum > ACL_DUMP_MAX_SHAPE_NUM ||
            one->originShapeNum > ACL_DUMP_MAX_SHAPE_NUM) {
            return snpu_fail(ACL_ERROR_INVALID_PARAM, "%s: tensor %zu has no address or size, or too many dimensions",
                             function, i);
        }
    }
    return snpu_fail(ACL_ERROR_DUMP_NOT_RUN, "%s: the exception dump is not enabled; softnpu writes no dumps",
                     function);
}

aclError acldumpGetExceptionInfoPath(char *path, size_t maxLen)
{
    if (path == NULL || maxLen <= 1) {
        return snpu_fail(ACL_ERROR_INVALID_PARAM, "acldumpGetExceptionInfoPath: path is NULL or too short");
    }
    return snpu_fail(ACL_ERROR_DUMP_NOT_RUN,
                     "acldumpGetExceptionInfoPath: the exception dump is not enabled; softnpu writes no dumps");
}
