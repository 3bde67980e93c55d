/* SPDX-License-Identifier: Apache-2.0 */
/* Switching collection on and off, and the state of devices.
 *
 * A command (struct MsprofCommandHandle) goes to the handler of every module: the runtime, ACL, collectives,
 * operator libraries. Several tools may have collections running, so the state kept per device is the union of
 * switches started and not yet stopped. A module that registers while something is on gets one start command per
 * distinct set of switches, so that libraries loaded late are switched on too.
 *
 * Threads: `delivery` serialises commands and registrations, so that every module sees the same order; it is held
 * while handlers run and is recursive, because a handler may issue commands itself. A handler must not wait for
 * another thread that issues one. `state_lock` is a leaf for the open devices; device callbacks run without any
 * lock, because tools start collections inside them. Failure: -1 for an invalid command; results of handlers are
 * ignored, as in the original. */
#include "softnpu/profapi/profapi.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

enum { MODULES_MAX = 256 };

struct module {
    uint32_t id;
    ProfCommandHandle handle;
};

static pthread_mutex_t delivery = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static struct module modules[MODULES_MAX];
static uint32_t module_count;

/* Protected by `delivery`. */
static struct {
    uint64_t on[MSPROF_MAX_DEV_NUM], on_hi[MSPROF_MAX_DEV_NUM];
    struct MsprofCommandHandle last_start; /* model id and parameters for modules that register late */
} running;

static pthread_mutex_t state_lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    uint32_t chip;
    bool open;
} devices[MSPROF_MAX_DEV_NUM];

static void note(const struct MsprofCommandHandle *c)
{
    for (uint32_t i = 0; i < c->devNums; i++) {
        uint32_t dev = c->devIdList[i];
        if (dev >= MSPROF_MAX_DEV_NUM) {
            continue;
        }
        if (c->type == PROF_COMMANDHANDLE_TYPE_START) {
            running.on[dev] |= c->profSwitch;
            running.on_hi[dev] |= c->profSwitchHi;
        } else if (c->type == PROF_COMMANDHANDLE_TYPE_STOP) {
            running.on[dev] &= ~c->profSwitch;
            running.on_hi[dev] &= ~c->profSwitchHi;
        }
    }
    if (c->type == PROF_COMMANDHANDLE_TYPE_FINALIZE) {
        memset(&running, 0, sizeof(running));
    } else if (c->type == PROF_COMMANDHANDLE_TYPE_START) {
        running.last_start = *c;
        snpu_profapi_clock_reset();
    }
}

int32_t profSetProfCommand(VOID_PTR command, uint32_t len)
{
    const struct MsprofCommandHandle *given = command;
    if (given == NULL || len != sizeof(*given) || given->type > PROF_COMMANDHANDLE_TYPE_FINALIZE ||
        given->devNums > MSPROF_MAX_DEV_NUM) {
        return SNPU_PROFAPI_ERROR;
    }
    pthread_mutex_lock(&delivery);
    note(given);
    for (uint32_t i = 0; i < module_count; i++) {
        struct MsprofCommandHandle copy = *given; /* a handler must not change it for the next one */
        modules[i].handle(PROF_CTRL_SWITCH, &copy, sizeof(copy));
    }
    pthread_mutex_unlock(&delivery);
    return SNPU_PROFAPI_OK;
}

/* Sends start commands for everything that runs to one handler. `delivery` held. */
static void catch_up(ProfCommandHandle handle)
{
    bool sent[MSPROF_MAX_DEV_NUM] = {false};
    for (uint32_t first = 0; first < MSPROF_MAX_DEV_NUM; first++) {
        uint64_t on = running.on[first], on_hi = running.on_hi[first];
        if (sent[first] || (on == 0 && on_hi == 0)) {
            continue;
        }
        struct MsprofCommandHandle c = running.last_start;
        c.profSwitch = on;
        c.profSwitchHi = on_hi;
        c.devNums = 0;
        for (uint32_t dev = first; dev < MSPROF_MAX_DEV_NUM; dev++) {
            if (running.on[dev] == on && running.on_hi[dev] == on_hi) {
                c.devIdList[c.devNums++] = dev;
                sent[dev] = true;
            }
        }
        handle(PROF_CTRL_SWITCH, &c, sizeof(c));
    }
}

int32_t MsprofRegisterCallback(uint32_t moduleId, ProfCommandHandle handle)
{
    if (handle == NULL) {
        return SNPU_PROFAPI_ERROR;
    }
    int32_t result = SNPU_PROFAPI_OK;
    pthread_mutex_lock(&delivery);
    bool known = false;
    for (uint32_t i = 0; i < module_count; i++) {
        known |= modules[i].id == moduleId && modules[i].handle == handle;
    }
    if (!known && module_count == MODULES_MAX) {
        result = SNPU_PROFAPI_ERROR;
    } else if (!known) {
        modules[module_count++] = (struct module){moduleId, handle};
        catch_up(handle);
    }
    pthread_mutex_unlock(&delivery);
    return result;
}

char *MsprofGetPath(void)
{
    static __thread char path[PATH_LEN_MAX + 1];
    pthread_mutex_lock(&delivery);
    memcpy(path, running.last_start.params.path, PATH_LEN_MAX);
    pthread_mutex_unlock(&delivery);
    return path[0] != '\0' ? path : NULL;
}

/* ---- devices ---- */

static void notify_device(snpu_profapi_device_fn fn, uint32_t chip, uint32_t dev, bool open)
{
    struct ProfSetDevPara para;
    memset(&para, 0, sizeof(para)); /* padding included: tools copy the whole struct */
    para.chipId = chip;
    para.deviceId = dev;
    para.isOpen = open;
    fn(&para, sizeof(para));
}

int32_t MsprofNotifySetDevice(uint32_t chipId, uint32_t deviceId, bool isOpen)
{
    if (deviceId >= MSPROF_MAX_DEV_NUM) {
        return SNPU_PROFAPI_ERROR;
    }
    pthread_mutex_lock(&state_lock);
    devices[deviceId].chip = chipId;
    devices[deviceId].open = isOpen;
    pthread_mutex_unlock(&state_lock);
    snpu_profapi_device_fn fn = snpu_profapi_callback(PROFILE_DEVICE_STATE_C_CALLBACK);
    if (fn != NULL) {
        notify_device(fn, chipId, deviceId, isOpen);
    }
    return SNPU_PROFAPI_OK;
}

void snpu_profapi_replay_devices(snpu_profapi_device_fn fn)
{
    for (uint32_t dev = 0; dev < MSPROF_MAX_DEV_NUM; dev++) {
        pthread_mutex_lock(&state_lock);
        bool open = devices[dev].open;
        uint32_t chip = devices[dev].chip;
        pthread_mutex_unlock(&state_lock);
        if (open) {
            notify_device(fn, chip, dev, true);
        }
    }
}

int32_t profSetStepInfo(const uint64_t indexId, const uint16_t tagId, void *const stream)
{
    /* The mark is a task of the stream, so the runtime creates it. It is looked up by name, because this library is
     * below the runtime and must not depend on it. */
    int32_t (*trace)(uint64_t id, uint64_t model_id, uint16_t tag_id, void *stm) = NULL;
    *(void **)&trace = dlsym(RTLD_DEFAULT, "rtProfilerTraceEx");
    return trace != NULL && trace(indexId, PROF_INVALID_MODE_ID, tagId, stream) == 0 ? SNPU_PROFAPI_OK
                                                                                     : SNPU_PROFAPI_ERROR;
}

/* ---- the vendor's own collector, which softnpu does not have ---- */

int32_t MsprofInit(uint32_t dataType, void *data, uint32_t dataLen)
{
    (void)dataType;
    return data == NULL && dataLen != 0 ? SNPU_PROFAPI_ERROR : SNPU_PROFAPI_OK;
}

int32_t MsprofFinalize(void)
{
    return SNPU_PROFAPI_OK; /* collections of tools continue: MsprofInit did not start them */
}

int32_t MsprofStart(uint32_t dataType, const void *data, uint32_t length)
{
    (void)dataType;
    (void)data;
    (void)length;
    return SNPU_PROFAPI_ERROR; /* use aclprofStart */
}

int32_t MsprofStop(uint32_t dataType, const void *data, uint32_t length)
{
    (void)dataType;
    (void)data;
    (void)length;
    return SNPU_PROFAPI_ERROR;
}

int32_t MsprofSetConfig(uint32_t configType, const char *config, size_t configLength)
{
    (void)configType;
    return config == NULL || configLength == 0 ? SNPU_PROFAPI_ERROR : SNPU_PROFAPI_OK;
}

int32_t MsprofSetDeviceIdByGeModelIdx(const uint32_t geModelIdx, const uint32_t deviceId)
{
    (void)geModelIdx; /* graph models are not executed here, so the mapping is never looked up */
    return deviceId < MSPROF_MAX_DEV_NUM ? SNPU_PROFAPI_OK : SNPU_PROFAPI_ERROR;
}

int32_t MsprofUnsetDeviceIdByGeModelIdx(const uint32_t geModelIdx, const uint32_t deviceId)
{
    (void)geModelIdx;
    return deviceId < MSPROF_MAX_DEV_NUM ? SNPU_PROFAPI_OK : SNPU_PROFAPI_ERROR;
}

bool MsprofCheckOpSwitch(uint32_t type, const char *op, size_t len)
{
    (void)type;
    (void)op;
    (void)len;
    return false; /* single operators cannot be selected */
}
