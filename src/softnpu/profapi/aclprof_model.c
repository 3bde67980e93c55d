/* SPDX-License-Identifier: Apache-2.0 */
/* libmsprofiler.so: operators of a model, as they finish.
 *
 * softnpu does not execute offline models, so a subscription is refused. It then ends like any other: the descriptor of
 * the configuration is closed, so that the subscriber's reader sees the end of the pipe. The functions that read an array of
 * operator descriptions are complete: they only use what the caller passes.
 *
 * Threads: no state but a slab of configurations.
 * Failure: 100000 for NULL arguments, wrong lengths and indices; accessors without a result code return 0. */
#include "base/slab.h"
#include "softnpu/profapi/aclprof_internal.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* One operator as written to the subscriber's file descriptor. Packed, because it is read from a byte buffer. */
struct __attribute__((packed)) op_desc {
    uint32_t model_id;
    uint32_t flag; /* aclprofSubscribeOpFlag */
    uint64_t start_ns, end_ns, duration_ns;
    uint32_t thread_id;
    char type[ACL_PROF_MAX_OP_TYPE_LEN];
    char name[ACL_PROF_MAX_OP_NAME_LEN];
};

struct aclprofSubscribeConfig {
    int8_t time_info;
    aclprofAicoreMetrics metrics;
    void *fd;
};

static struct ms_slab configs = MS_SLAB_INIT(struct aclprofSubscribeConfig, 64);

aclprofSubscribeConfig *aclprofCreateSubscribeConfig(int8_t timeInfoSwitch, aclprofAicoreMetrics aicoreMetrics,
                                                     void *fd)
{
    if (fd == NULL || timeInfoSwitch < 0 || timeInfoSwitch > 1 || aicoreMetrics != ACL_AICORE_NONE) {
        (void)SNPU_PROF_FAIL(ACL_ERROR_INVALID_PARAM,
                             "aclprofCreateSubscribeConfig: invalid switch, metrics or descriptor");
        return NULL;
    }
    aclprofSubscribeConfig *config = ms_slab_alloc(&configs);
    if (config != NULL) {
        *config = (aclprofSubscribeConfig){timeInfoSwitch, aicoreMetrics, fd};
    }
    return config;
}

aclError aclprofDestroySubscribeConfig(const aclprofSubscribeConfig *profSubscribeConfig)
{
    if (!ms_slab_check(&configs, profSubscribeConfig)) {
        return SNPU_PROF_FAIL(ACL_ERROR_INVALID_PARAM, "aclprofDestroySubscribeConfig: not a configuration");
    }
    ms_slab_free(&configs, (void *)profSubscribeConfig);
    return ACL_SUCCESS;
}

/* Closes the pipe or socket that a configuration points to. Anything else stays open: it is not a subscriber's. */
static void end_subscription(const aclprofSubscribeConfig *config)
{
    struct stat status;
    int fd = *(const int *)config->fd;
    if (fstat(fd, &status) == 0 && (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode))) {
        close(fd);
    }
}

aclError aclprofModelSubscribe(uint32_t modelId, const aclprofSubscribeConfig *profSubscribeConfig)
{
    if (!ms_slab_check(&configs, profSubscribeConfig)) {
        return SNPU_PROF_FAIL(ACL_ERROR_INVALID_PARAM, "aclprofModelSubscribe: not a configuration");
    }
    end_subscription(profSubscribeConfig);
    return SNPU_PROF_FAIL(ACL_ERROR_API_NOT_SUPPORT, "aclprofModelSubscribe: model %u: models are not executed",
                          modelId);
}

aclError aclprofModelUnSubscribe(uint32_t modelId)
{
    return SNPU_PROF_FAIL(ACL_ERROR_API_NOT_SUPPORT, "aclprofModelUnSubscribe: model %u: models are not executed",
                          modelId);
}

/* ---- reading descriptions ---- */

static const struct op_desc *op_at(const void *info, size_t len, uint32_t index)
{
    if (info == NULL || len % sizeof(struct op_desc) != 0 || index >= len / sizeof(struct op_desc)) {
        (void)SNPU_PROF_FAIL(ACL_ERROR_INVALID_PARAM, "aclprofGetOp...: no operator %u in %zu bytes", index, len);
        return NULL;
    }
    return (const struct op_desc *)info + index;
}

aclError aclprofGetOpDescSize(size_t *opDescSize)
{
    if (opDescSize == NULL) {
        return SNPU_PROF_FAIL(ACL_ERROR_INVALID_PARAM, "aclprofGetOpDescSize: NULL argument");
    }
    *opDescSize = sizeof(struct op_desc);
    return ACL_SUCCESS;
}

aclError aclprofGetOpNum(const void *opInfo, size_t opInfoLen, uint32_t *opNumber)
{
    if (opInfo == NULL || opNumber == NULL || opInfoLen % sizeof(struct op_desc) != 0) {
        return SNPU_PROF_FAIL(ACL_ERROR_INVALID_PARAM, "aclprofGetOpNum: NULL argument, or invalid length %zu",
                              opInfoLen);
    }
    *opNumber = (uint32_t)(opInfoLen / sizeof(struct op_desc));
    return ACL_SUCCESS;
}

/* Length including the terminator; texts are in the caller's memory and may lack one. */
static aclError text_len(const char *text, size_t max, size_t *out)
{
    if (text == NULL || out == NULL) {
        return ACL_ERROR_INVALID_PARAM;
    }
    *out = strnlen(text, max - 1) + 1;
    return ACL_SUCCESS;
}

static aclError text_copy(const char *text, size_t max, char *out, size_t out_b)
{
    size_t len;
    if (out == NULL || text_len(text, max, &len) != ACL_SUCCESS || len > out_b) {
        return SNPU_PROF_FAIL(ACL_ERROR_INVALID_PARAM, "aclprofGetOp...: NULL or too small a buffer for the text");
    }
    memcpy(out, text, len - 1);
    out[len - 1] = '\0';
    return ACL_SUCCESS;
}

aclError aclprofGetOpTypeLen(const void *opInfo, size_t opInfoLen, uint32_t index, size_t *opTypeLen)
{
    const struct op_desc *op = op_at(opInfo, opInfoLen, index);
    return text_len(op != NULL ? op->type : NULL, sizeof(op->type), opTypeLen);
}

aclError aclprofGetOpType(const void *opInfo, size_t opInfoLen, uint32_t index, char *opType, size_t opTypeLen)
{
    const struct op_desc *op = op_at(opInfo, opInfoLen, index);
    return text_copy(op != NULL ? op->type : NULL, sizeof(op->type), opType, opTypeLen);
}

aclError aclprofGetOpNameLen(const void *opInfo, size_t opInfoLen, uint32_t index, size_t *opNameLen)
{
    const struct op_desc *op = op_at(opInfo, opInfoLen, index);
    return text_len(op != NULL ? op->name : NULL, sizeof(op->name), opNameLen);
}

aclError aclprofGetOpName(const void *opInfo, size_t opInfoLen, uint32_t index, char *opName, size_t opNameLen)
{
    const struct op_desc *op = op_at(opInfo, opInfoLen, index);
    return text_copy(op != NULL ? op->name : NULL, sizeof(op->name), opName, opNameLen);
}

uint64_t aclprofGetOpStart(const void *opInfo, size_t opInfoLen, uint32_t index)
{
    const struct op_desc *op = op_at(opInfo, opInfoLen, index);
    return op != NULL ? op->start_ns : 0;
}

uint64_t aclprofGetOpEnd(const void *opInfo, size_t opInfoLen, uint32_t index)
{
    const struct op_desc *op = op_at(opInfo, opInfoLen, index);
    return op != NULL ? op->end_ns : 0;
}

uint64_t aclprofGetOpDuration(const void *opInfo, size_t opInfoLen, uint32_t index)
{
    const struct op_desc *op = op_at(opInfo, opInfoLen, index);
    return op != NULL ? op->duration_ns : 0;
}

size_t aclprofGetModelId(const void *opInfo, size_t opInfoLen, uint32_t index)
{
    const struct op_desc *op = op_at(opInfo, opInfoLen, index);
    return op != NULL ? op->model_id : 0;
}

aclprofSubscribeOpFlag aclprofGetOpFlag(const void *opInfo, size_t opInfoLen, uint32_t index)
{
    const struct op_desc *op = op_at(opInfo, opInfoLen, index);
    return op != NULL && op->flag <= ACL_SUBSCRIBE_OP_THREAD ? (aclprofSubscribeOpFlag)op->flag : ACL_SUBSCRIBE_NONE;
}

const char *aclprofGetOpAttriValue(const void *opInfo, size_t opInfoLen, uint32_t index, aclprofSubscribeOpAttri attri)
{
    static __thread char text[16];
    const struct op_desc *op = op_at(opInfo, opInfoLen, index);
    if (op == NULL || attri != ACL_SUBSCRIBE_ATTRI_THREADID) {
        return NULL;
    }
    snprintf(text, sizeof(text), "%u", op->thread_id);
    return text;
}
