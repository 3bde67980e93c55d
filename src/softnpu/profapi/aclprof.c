/* SPDX-License-Identifier: Apache-2.0 */
/* libmsprofiler.so: aclprofInit ... aclprofStop.
 *
 * Start turns a configuration into a start command of libprofapi, which switches on the runtime and the other
 * modules, and starts the collection; stop does the reverse. Only one collection runs at a time.
 *
 * Threads: `lock` serialises all functions here and is held while commands are delivered. Configurations are in a
 * slab, so an invalid or destroyed handle is detected. Failure: the vendor's codes; aclGetRecentErrMsg returns the
 * message if the runtime is loaded. */
#include "base/parse.h"
#include "base/slab.h"
#include "softnpu/profapi/aclprof_internal.h"
#include "softnpu/profapi/collection.h"
#include "softnpu/profapi/profapi.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_CONFIGS = 64 };

static const uint64_t DEFAULT_LIMIT_B = 1ull << 30;

static const uint64_t KNOWN_SWITCHES =
    ACL_PROF_ACL_API | ACL_PROF_TASK_TIME | ACL_PROF_AICORE_METRICS | ACL_PROF_AICPU | ACL_PROF_L2CACHE |
    ACL_PROF_HCCL_TRACE | ACL_PROF_TRAINING_TRACE | ACL_PROF_MSPROFTX | ACL_PROF_RUNTIME_API | ACL_PROF_GE_API_L0 |
    ACL_PROF_TASK_TIME_L0 | ACL_PROF_TASK_MEMORY | ACL_PROF_TASK_TIME_L2 | ACL_PROF_OP_ATTR | ACL_PROF_TASK_TIME_L3 |
    ACL_PROF_GE_API_L1 | ACL_PROF_API_STATS | ACL_PROF_AICORE_SHAPE;

struct aclprofConfig {
    uint32_t devices[MSPROF_MAX_DEV_NUM]; /* driver numbers */
    uint32_t device_count;
    uint64_t switches;
};

static struct ms_slab configs = MS_SLAB_INIT(struct aclprofConfig, MAX_CONFIGS);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    bool on;
    char folder[PATH_MAX];
    uint64_t limit_b;
    const aclprofConfig *running; /* the configuration that was started */
    struct MsprofCommandHandle command;
} session;

/* Converts the program's device number to the driver's; present if the runtime is loaded. */
extern int32_t snpu_dev_from_user(const char *function, int32_t user_dev, uint32_t *dev) __attribute__((weak));

static int32_t driver_number(uint32_t user_dev, uint32_t *dev)
{
    if (snpu_dev_from_user != NULL) {
        return snpu_dev_from_user("aclprofCreateConfig", (int32_t)user_dev, dev);
    }
    *dev = user_dev;
    return user_dev < MSPROF_MAX_DEV_NUM ? 0 : ACL_ERROR_INVALID_DEVICE;
}

static aclError init(const char *path, size_t length)
{
    if (path == NULL || length == 0 || length >= PATH_MAX - 256 || strnlen(path, length) != length) {
        return SNPU_PROF_FAIL(ACL_ERROR_INVALID_PARAM, "aclprofInit: path is NULL, or its length is not %zu", length);
    }
    if (session.on) {
        return SNPU_PROF_FAIL(ACL_ERROR_REPEAT_INITIALIZE, "aclprofInit: already initialised");
    }
    memcpy(session.folder, path, length);
    session.folder[length] = '\0';
    if (mkdir(session.folder, 0750) != 0 && errno != EEXIST) {
        return SNPU_PROF_FAIL(ACL_ERROR_INVALID_FILE, "aclprofInit: cannot create %s: %s", session.folder,
                              strerror(errno));
    }
    if (access(session.folder, W_OK | X_OK) != 0) {
        return SNPU_PROF_FAIL(ACL_ERROR_INVALID_FILE, "aclprofInit: cannot use %s: %s", session.folder,
                              strerror(errno));
    }
    snpu_aclprof_register_mstx();
    session.on = true;
    session.limit_b = DEFAULT_LIMIT_B;
    session.running = NULL;
    return ACL_SUCCESS;
}

aclError aclprofInit(const char *profilerResultPath, size_t length)
{
    pthread_mutex_lock(&lock);
    aclError rc = init(profilerResultPath, length);
    pthread_mutex_unlock(&lock);
    return rc;
}

aclprofConfig *aclprofCreateConfig(uint32_t *deviceIdList, uint32_t deviceNums, aclprofAicoreMetrics aicoreMetrics,
                                   const aclprofAicoreEvents *aicoreEvents, uint64_t dataTypeConfig)
{
    bool metrics_ok = aicoreMetrics <= ACL_AICORE_MEMORY_ACCESS || aicoreMetrics == ACL_AICORE_NONE;
    if (aicoreEvents != NULL || !metrics_ok || dataTypeConfig == 0 || (dataTypeConfig & ~KNOWN_SWITCHES) != 0 ||
        deviceNums == 0 || deviceNums > MSPROF_MAX_DEV_NUM || deviceIdList == NULL) {
        (void)SNPU_PROF_FAIL(ACL_ERROR_INVALID_PARAM,
                             "aclprofCreateConfig: invalid device list, metrics or data types");
        return NULL;
    }
    aclprofConfig *config = ms_slab_alloc(&configs);
    if (config == NULL) {
        (void)SNPU_PROF_FAIL(ACL_ERROR_BAD_ALLOC, "aclprofCreateConfig: the limit of %d configurations is reached",
                             MAX_CONFIGS);
        return NULL;
    }
    for (uint32_t i = 0; i < deviceNums; i++) {
        uint32_t dev = 0;
        bool good = driver_number(deviceIdList[i], &dev) == 0;
        for (uint32_t j = 0; j < i; j++) {
            good &= config->devices[j] != dev;
        }
        if (!good) {
            ms_slab_free(&configs, config);
            (void)SNPU_PROF_FAIL(ACL_ERROR_INVALID_DEVICE, "aclprofCreateConfig: device %u is unknown or listed twice",
                                 deviceIdList[i]);
            return NULL;
        }
        config->devices[i] = dev;
    }
    config->device_count = deviceNums;
    config->switches = dataTypeConfig;
    return config;
}

aclError aclprofDestroyConfig(const aclprofConfig *profilerConfig)
{
    aclError rc = ACL_SUCCESS;
    pthread_mutex_lock(&lock);
    if (!ms_slab_check(&configs, profilerConfig)) {
        rc = SNPU_PROF_FAIL(ACL_ERROR_INVALID_PARAM, "aclprofDestroyConfig: not a configuration");
    } else if (profilerConfig == session.running) {
        rc = SNPU_PROF_FAIL(ACL_ERROR_PROF_ALREADY_RUN, "aclprofDestroyConfig: still running");
    } else {
        ms_slab_free(&configs, (void *)profilerConfig);
    }
    pthread_mutex_unlock(&lock);
    return rc;
}

aclError aclprofSetConfig(aclprofConfigType configType, const char *config, size_t configLength)
{
    char text[64] = "";
    if (configType <= ACL_PROF_ARGS_MIN || configType >= ACL_PROF_ARGS_MAX || config == NULL || configLength == 0 ||
        strnlen(config, configLength) != configLength) {
        return SNPU_PROF_FAIL(ACL_ERROR_INVALID_PARAM, "aclprofSetConfig: invalid type %d or value", (int)configType);
    }
    uint64_t limit_b = 0;
    if (configType == ACL_PROF_STORAGE_LIMIT) { /* a text such as "200MB" */
        if (configLength >= sizeof(text)) {
            return SNPU_PROF_FAIL(ACL_ERROR_INVALID_PARAM, "aclprofSetConfig: the storage limit is too long");
        }
        memcpy(text, config, configLength);
        if (ms_parse_size(text, &limit_b) != 0 || limit_b == 0) {
            return SNPU_PROF_FAIL(ACL_ERROR_INVALID_PARAM, "aclprofSetConfig: invalid storage limit %s", text);
        }
    }
    aclError rc = ACL_SUCCESS;
    pthread_mutex_lock(&lock);
    if (session.running != NULL) {
        rc = SNPU_PROF_FAIL(ACL_ERROR_PROF_ALREADY_RUN, "aclprofSetConfig: a collection is running");
    } else if (limit_b != 0) {
        session.limit_b = limit_b;
    } /* the other values configure hardware samplers that softnpu does not have */
    pthread_mutex_unlock(&lock);
    return rc;
}

/* Lock held. */
static aclError start(const aclprofConfig *config)
{
    if (!ms_slab_check(&configs, config)) {
        return SNPU_PROF_FAIL(ACL_ERROR_INVALID_PARAM, "aclprofStart: not a configuration");
    }
    if (!session.on) {
        return SNPU_PROF_FAIL(ACL_ERROR_PROF_NOT_RUN, "aclprofStart: aclprofInit was not called");
    }
    if (session.running != NULL) {
        return SNPU_PROF_FAIL(ACL_ERROR_PROF_ALREADY_RUN, "aclprofStart: a collection is running");
    }
    struct MsprofCommandHandle *command = &session.command;
    memset(command, 0, sizeof(*command));
    struct snpu_collection_config wanted = {
        .folder = session.folder,
        .switches = config->switches,
        .devices = config->devices,
        .device_count = config->device_count,
        .limit_b = session.limit_b,
    };
    int rc = snpu_collection_start(&wanted, command->params.path, sizeof(command->params.path));
    if (rc != 0) {
        return SNPU_PROF_FAIL(ACL_ERROR_PROFILING_FAILURE, "aclprofStart: cannot create a result folder in %s: %s",
                              session.folder, strerror(-rc));
    }
    command->profSwitch = config->switches;
    command->devNums = config->device_count;
    memcpy(command->devIdList, config->devices, config->device_count * sizeof(config->devices[0]));
    command->modelId = PROF_INVALID_MODE_ID;
    command->type = PROF_COMMANDHANDLE_TYPE_START;
    command->params.pathLen = (uint32_t)strlen(command->params.path);
    command->params.storageLimit = (uint32_t)(session.limit_b >> 20);
    session.running = config;
    profSetProfCommand(command, sizeof(*command));
    return ACL_SUCCESS;
}

/* Lock held. */
static void stop_running(void)
{
    session.command.type = PROF_COMMANDHANDLE_TYPE_STOP;
    profSetProfCommand(&session.command, sizeof(session.command));
    snpu_collection_stop();
    session.running = NULL;
}

aclError aclprofStart(const aclprofConfig *profilerConfig)
{
    pthread_mutex_lock(&lock);
    aclError rc = start(profilerConfig);
    pthread_mutex_unlock(&lock);
    return rc;
}

aclError aclprofStop(const aclprofConfig *profilerConfig)
{
    aclError rc = ACL_SUCCESS;
    pthread_mutex_lock(&lock);
    if (!ms_slab_check(&configs, profilerConfig)) {
        rc = SNPU_PROF_FAIL(ACL_ERROR_INVALID_PARAM, "aclprofStop: not a configuration");
    } else if (session.running == NULL) {
        rc = SNPU_PROF_FAIL(ACL_ERROR_PROF_NOT_RUN, "aclprofStop: no collection is running");
    } else if (session.running != profilerConfig) {
        rc = SNPU_PROF_FAIL(ACL_ERROR_INVALID_PROFILING_CONFIG, "aclprofStop: another configuration is running");
    } else {
        stop_running();
    }
    pthread_mutex_unlock(&lock);
    return rc;
}

aclError aclprofFinalize(void)
{
    aclError rc = ACL_SUCCESS;
    pthread_mutex_lock(&lock);
    if (!session.on) {
        rc = SNPU_PROF_FAIL(ACL_ERROR_PROF_NOT_RUN, "aclprofFinalize: aclprofInit was not called");
    } else if (session.running != NULL) {
        stop_running();
    }
    session.on = false;
    pthread_mutex_unlock(&lock);
    return rc;
}

int aclprofWarmup(const aclprofConfig *profilerConfig)
{
    return ms_slab_check(&configs, profilerConfig)
               ? ACL_SUCCESS
               : SNPU_PROF_FAIL(ACL_ERROR_INVALID_PARAM, "aclprofWarmup: configuration is NULL");
}

/* No optional features: an empty list. */
static int32_t no_features(size_t *size, void **data)
{
    if (size == NULL || data == NULL) {
        return SNPU_PROF_FAIL(ACL_ERROR_INVALID_PARAM, "aclprofGetSupportedFeatures: NULL argument");
    }
    *size = 0;
    *data = NULL;
    return ACL_SUCCESS;
}

int32_t aclprofGetSupportedFeatures(size_t *featuresSize, void **featuresData)
{
    return no_features(featuresSize, featuresData);
}

int32_t aclprofGetSupportedFeaturesV2(size_t *featuresSize, void **featuresData)
{
    return no_features(featuresSize, featuresData);
}

int aclprofRegisterDeviceCallback(void)
{
    return ACL_SUCCESS; /* the runtime announces its devices itself */
}
