/* SPDX-License-Identifier: Apache-2.0 */
/* Options of a communicator: its config, HcclSetConfig, the environment, in this order of precedence; and the texts of
 * results. Invalid values in the environment are ignored, invalid ones in a config are refused. */
#include "softnpu/hccl/options.h"

#include "base/macros.h"
#include "base/parse.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define CONFIG_LEAST_B 32 /* the oldest layout: head, buffer size, deterministic */
#define NOT_SET        HCCL_COMM_CONFIG_NOT_SET
#define CAPABILITIES   12 /* one more than the last capability number of this config version: buffer name */

struct config_head {
    size_t size;
    uint32_t magic;
    uint32_t version;
    uint64_t reserved;
};

/* ---- environment ---- */

static uint64_t environment(const char *name, uint64_t min, uint64_t max, uint64_t otherwise)
{
    uint64_t value = otherwise;
    ms_parse_u64(getenv(name), min, max, &value);
    return value;
}

int64_t hccl_connect_timeout_ms(void)
{
    return (int64_t)environment("HCCL_CONNECT_TIMEOUT", 1, 7200, 120) * 1000;
}

/* ---- HcclConfig ---- */

static const struct {
    int32_t min, max;
} config_range[] = {
    [HCCL_DETERMINISTIC] = {0, 2}, /* off, on, strict */
    [HCCL_ACCELERATOR] = {0, 8},
};

static int32_t process_config[MS_COUNT_OF(config_range)];
static pthread_once_t process_config_once = PTHREAD_ONCE_INIT;

static void read_process_config(void)
{
    const char *text = getenv("HCCL_DETERMINISTIC");
    if (text != NULL) {
        process_config[HCCL_DETERMINISTIC] = strcasecmp(text, "true") == 0     ? 1
                                             : strcasecmp(text, "strict") == 0 ? 2
                                                                               : 0;
    }
}

static HcclResult check_config(const char *function, HcclConfig config)
{
    pthread_once(&process_config_once, read_process_config);
    if ((uint32_t)config >= MS_COUNT_OF(config_range)) {
        return HCCL_FAIL(HCCL_E_PARA, "%s: unknown option %d", function, (int)config);
    }
    return HCCL_SUCCESS;
}

static HcclResult check_value(const char *function, HcclConfig config, HcclConfigValue value)
{
    HcclResult result = check_config(function, config);
    if (result == HCCL_SUCCESS && (value.value < config_range[config].min || value.value > config_range[config].max)) {
        result = HCCL_FAIL(HCCL_E_PARA, "%s: invalid value %d for option %d", function, value.value, (int)config);
    }
    return result;
}

HcclResult HcclSetConfig(HcclConfig config, HcclConfigValue configValue)
{
    HcclResult result = check_value(__func__, config, configValue);
    if (result == HCCL_SUCCESS) {
        __atomic_store_n(&process_config[config], configValue.value, __ATOMIC_RELAXED);
    }
    return result;
}

HcclResult HcclGetConfig(HcclConfig config, HcclConfigValue *configValue)
{
    if (configValue == NULL) {
        return HCCL_FAIL(HCCL_E_PTR, "%s: configValue is NULL", __func__);
    }
    HcclResult result = check_config(__func__, config);
    if (result == HCCL_SUCCESS) {
        configValue->value = __atomic_load_n(&process_config[config], __ATOMIC_RELAXED);
    }
    return result;
}

static int32_t *comm_option(struct hccl_comm *comm, HcclConfig config)
{
    return config == HCCL_DETERMINISTIC ? &comm->deterministic : &comm->accelerator;
}

HcclResult HcclSetCommConfig(HcclComm handle, HcclConfig config, HcclConfigValue configValue)
{
    struct hccl_comm *comm;
    HcclResult result = hccl_comm_get(__func__, handle, &comm);
    if (result != HCCL_SUCCESS) {
        return result;
    }
    result = check_value(__func__, config, configValue);
    if (result == HCCL_SUCCESS) {
        __atomic_store_n(comm_option(comm, config), configValue.value, __ATOMIC_RELAXED);
    }
    hccl_comm_put(comm);
    return result;
}

HcclResult HcclGetCommConfig(HcclComm handle, HcclConfig config, HcclConfigValue *configValue)
{
    struct hccl_comm *comm;
    HcclResult result = hccl_comm_get(__func__, handle, &comm);
    if (result != HCCL_SUCCESS) {
        return result;
    }
    if (configValue == NULL) {
        result = HCCL_FAIL(HCCL_E_PTR, "%s: configValue is NULL", __func__);
    } else if ((result = check_config(__func__, config)) == HCCL_SUCCESS) {
        configValue->value = __atomic_load_n(comm_option(comm, config), __ATOMIC_RELAXED);
    }
    hccl_comm_put(comm);
    return result;
}

uint32_t HcclGetCommConfigCapability(void)
{
    return CAPABILITIES;
}

/* ---- HcclCommConfig ---- */

/* Copies the fields of the caller's version over an empty config. */
static HcclResult copy_config(const char *function, const HcclCommConfig *config, HcclCommConfig *out)
{
    struct config_head head;
    memcpy(&head, config->reserved, sizeof(head));
    if (head.magic != HCCL_COMM_CONFIG_MAGIC_WORD) {
        return HCCL_FAIL(HCCL_E_PARA, "%s: config was not initialised by HcclCommConfigInit", function);
    }
    if (head.version == 0 || head.size < CONFIG_LEAST_B || head.size > 64 * 1024) {
        return HCCL_FAIL(HCCL_E_PARA, "%s: config of version %u has an invalid size of %zu bytes", function,
                         head.version, head.size);
    }
    HcclCommConfigInit(out);
    memcpy(out, config, head.size < sizeof(*out) ? head.size : sizeof(*out));
    return HCCL_SUCCESS;
}

static HcclResult apply_config(const char *function, const HcclCommConfig *config, struct hccl_setup *setup)
{
    if (config->hcclBufferSize == 0) {
        return HCCL_FAIL(HCCL_E_PARA, "%s: hcclBufferSize is 0", function);
    }
    if (config->hcclBufferSize != NOT_SET) {
        setup->buffer_b = (uint64_t)config->hcclBufferSize << 20;
    }
    if (config->hcclDeterministic != NOT_SET && config->hcclDeterministic > 2) {
        return HCCL_FAIL(HCCL_E_PARA, "%s: invalid hcclDeterministic %u", function, config->hcclDeterministic);
    }
    if (config->hcclDeterministic != NOT_SET) {
        setup->deterministic = (int32_t)config->hcclDeterministic;
    }
    if (config->hcclExecTimeOut < 0 && config->hcclExecTimeOut != (int32_t)NOT_SET) {
        return HCCL_FAIL(HCCL_E_PARA, "%s: invalid hcclExecTimeOut %d", function, config->hcclExecTimeOut);
    }
    if (config->hcclExecTimeOut != (int32_t)NOT_SET) {
        setup->exec_timeout_ms = (int64_t)config->hcclExecTimeOut * 1000;
    }
    if (memchr(config->hcclCommName, '\0', sizeof(config->hcclCommName)) == NULL) {
        return HCCL_FAIL(HCCL_E_PARA, "%s: hcclCommName is not terminated", function);
    }
    strcpy(setup->name, config->hcclCommName);
    return HCCL_SUCCESS;
}

HcclResult hccl_setup_read(const char *function, const HcclCommConfig *config, struct hccl_setup *setup)
{
    HcclCommConfig known;
    pthread_once(&process_config_once, read_process_config);
    memset(setup, 0, sizeof(*setup));
    setup->buffer_b = environment("HCCL_BUFFSIZE", 1, 1u << 20, 200) << 20;
    setup->exec_timeout_ms = (int64_t)environment("HCCL_EXEC_TIMEOUT", 0, INT32_MAX, 1836) * 1000;
    setup->connect_timeout_ms = hccl_connect_timeout_ms();
    setup->deterministic = __atomic_load_n(&process_config[HCCL_DETERMINISTIC], __ATOMIC_RELAXED);
    setup->accelerator = __atomic_load_n(&process_config[HCCL_ACCELERATOR], __ATOMIC_RELAXED);
    if (config == NULL) {
        return HCCL_SUCCESS;
    }
    HcclResult result = copy_config(function, config, &known);
    return result == HCCL_SUCCESS ? apply_config(function, &known, setup) : result;
}

/* ---- results ---- */

static const char *const result_texts[] = {
    [HCCL_SUCCESS] = "no error",
    [HCCL_E_PARA] = "parameter error",
    [HCCL_E_PTR] = "empty pointer",
    [HCCL_E_MEMORY] = "memory error",
    [HCCL_E_INTERNAL] = "internal error",
    [HCCL_E_NOT_SUPPORT] = "feature not supported",
    [HCCL_E_NOT_FOUND] = "resource not found",
    [HCCL_E_UNAVAIL] = "resource unavailable",
    [HCCL_E_SYSCALL] = "system call failed",
    [HCCL_E_TIMEOUT] = "timeout",
    [HCCL_E_OPEN_FILE_FAILURE] = "cannot open file",
    [HCCL_E_TCP_CONNECT] = "TCP connection failed",
    [HCCL_E_ROCE_CONNECT] = "RoCE connection failed",
    [HCCL_E_TCP_TRANSFER] = "TCP transfer failed",
    [HCCL_E_ROCE_TRANSFER] = "RoCE transfer failed",
    [HCCL_E_RUNTIME] = "runtime call failed",
    [HCCL_E_DRV] = "driver call failed",
    [HCCL_E_PROFILING] = "profiling call failed",
    [HCCL_E_CCE] = "CCE call failed",
    [HCCL_E_NETWORK] = "network call failed",
    [HCCL_E_AGAIN] = "operation must be repeated",
    [HCCL_E_REMOTE] = "remote rank failed",
    [HCCL_E_SUSPENDING] = "communicator suspended",
    [HCCL_E_OPRETRY_FAIL] = "retry of the operation failed",
    [HCCL_E_OOM] = "out of device memory",
};

const char *HcclGetErrorString(HcclResult code)
{
    return (uint32_t)code < MS_COUNT_OF(result_texts) ? result_texts[code] : "unknown error";
}

/* ---- functions that root info replaced ----
 * Programs linked with immediate binding need the symbols. They are no longer called, and the identifier is passed by
 * value in a layout that no public header declares. */
MS_EXPORT HcclResult HcclGetUniqueId(void *id);
MS_EXPORT HcclResult HcclCommInitUniqueId(HcclComm *comm);

HcclResult HcclGetUniqueId(void *id)
{
    return HCCL_FAIL(HCCL_E_NOT_SUPPORT, "%s: use HcclGetRootInfo", __func__);
}

HcclResult HcclCommInitUniqueId(HcclComm *comm)
{
    return HCCL_FAIL(HCCL_E_NOT_SUPPORT, "%s: use HcclCommInitRootInfo", __func__);
}
