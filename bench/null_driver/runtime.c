/* SPDX-License-Identifier: Apache-2.0 */
/* A runtime whose launches do nothing but report themselves to a profiling tool, if there is one. */
#include "runtime/rt.h"
#include "toolchain/prof_api.h"

#include <stddef.h>

typedef uint64_t (*hash_fn)(const char *text, size_t length_b);
typedef int32_t (*compact_fn)(uint32_t aging, const void *data, uint32_t length_b);

static hash_fn hash;
static compact_fn compact;

int32_t MsprofRegisterProfileCallback(int32_t callbackType, VOID_PTR callback, uint32_t len)
{
    (void)len;
    if (callbackType == PROFILE_REPORT_GET_HASH_ID_C_CALLBACK) {
        hash = (hash_fn)callback;
    } else if (callbackType == PROFILE_REPORT_COMPACT_CALLBACK) {
        compact = (compact_fn)callback;
    }
    return 0;
}

rtError_t rtKernelLaunch(const void *stubFunc, uint32_t numBlocks, void *args, uint32_t argsSize, rtSmDesc_t *smDesc,
                         rtStream_t stm)
{
    static uint64_t name;
    static uint32_t task;
    if (compact != NULL) {
        name = name != 0 || hash == NULL ? name : hash("kernel", 6);
        struct MsprofCompactInfo info = {.magicNumber = MSPROF_REPORT_DATA_MAGIC_NUM,
                                         .level = MSPROF_REPORT_RUNTIME_LEVEL,
                                         .type = RT_PROFILE_TYPE_TASK_TRACK};
        info.data.runtimeTrack.kernelName = name;
        info.data.runtimeTrack.taskId = (uint16_t)__atomic_add_fetch(&task, 1, __ATOMIC_RELAXED);
        compact(1, &info, sizeof(info));
    }
    return 0;
}
