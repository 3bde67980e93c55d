/* SPDX-License-Identifier: Apache-2.0 */
/* Callback slots and report functions.
 *
 * There is one slot per callback type; the last registration wins, NULL empties it. So two tools in one process take
 * records from each other, as on the real stack. Report functions use `routes`: normally a copy of the slot, and
 * while a tap is set (profapi.h) a function that serves both. A report without a receiver costs one load and one
 * branch.
 *
 * A callback that is registered late gets what it missed: type names (11), texts behind hash ids (12), open devices
 * (16).
 *
 * Threads: slots and routes are atomics; `lock` keeps slots and tap consistent with the routes, and is a leaf.
 * Callbacks run on the reporting thread with no lock held. A callback that is being removed may still be running on
 * another thread when the removal returns, as on the real stack.
 * Failure: -1 for NULL or wrongly sized records and unknown types; otherwise the callback's own result. */
#include "softnpu/profapi/profapi.h"

#include <pthread.h>

enum { SLOTS = PROFILE_DEVICE_STATE_C_CALLBACK + 1 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *slots[SLOTS];
static void *routes[SLOTS];
static const struct snpu_prof_tap *tap;

#define LOAD(x)     __atomic_load_n(&(x), __ATOMIC_ACQUIRE)
#define STORE(x, v) __atomic_store_n(&(x), (v), __ATOMIC_RELEASE)

void *snpu_profapi_callback(enum ProfileCallbackType type)
{
    return LOAD(slots[type]);
}

static int32_t api_to_both(uint32_t aging, const struct MsprofApi *api)
{
    const struct snpu_prof_tap *t = LOAD(tap);
    snpu_profapi_api_fn fn = snpu_profapi_callback(PROFILE_REPORT_API_C_CALLBACK);
    if (t != NULL) {
        t->api(api);
    }
    return fn != NULL ? fn(aging, api) : SNPU_PROFAPI_OK;
}

static int32_t compact_to_both(uint32_t aging, const void *data, uint32_t len)
{
    const struct snpu_prof_tap *t = LOAD(tap);
    snpu_profapi_info_fn fn = snpu_profapi_callback(PROFILE_REPORT_COMPACT_CALLBACK);
    if (t != NULL) {
        t->compact(data);
    }
    return fn != NULL ? fn(aging, data, len) : SNPU_PROFAPI_OK;
}

/* Lock held. */
static void update_routes(void)
{
    for (int i = 0; i < SLOTS; i++) {
        void *route = slots[i];
        if (tap != NULL && i == PROFILE_REPORT_API_C_CALLBACK) {
            route = (void *)api_to_both;
        } else if (tap != NULL && i == PROFILE_REPORT_COMPACT_CALLBACK) {
            route = (void *)compact_to_both;
        }
        STORE(routes[i], route);
    }
}

void snpu_profapi_tap(const struct snpu_prof_tap *new_tap)
{
    pthread_mutex_lock(&lock);
    STORE(tap, new_tap);
    update_routes();
    pthread_mutex_unlock(&lock);
}

/* The variants for C++ callers: accepted, never called. */
static bool ignored(int32_t type)
{
    return type <= PROFILE_REPORT_EVENT_CALLBACK || type == PROFILE_REPORT_REG_DATA_FORMAT_CALLBACK ||
           (type >= PROFILE_REPORT_REG_TYPE_INFO_CALLBACK && type <= PROFILE_HOST_FREQ_IS_ENABLE_CALLBACK);
}

int32_t MsprofRegisterProfileCallback(int32_t callbackType, VOID_PTR callback, uint32_t len)
{
    if (callbackType < 0 || callbackType >= SLOTS || len < sizeof(void *)) {
        return SNPU_PROFAPI_ERROR;
    }
    if (ignored(callbackType)) {
        return SNPU_PROFAPI_OK;
    }
    pthread_mutex_lock(&lock);
    STORE(slots[callbackType], callback);
    update_routes();
    pthread_mutex_unlock(&lock);

    if (callbackType == PROFILE_HOST_FREQ_IS_ENABLE_C_CALLBACK) {
        snpu_profapi_clock_reset();
    }
    if (callback != NULL) {
        switch (callbackType) {
        case PROFILE_REPORT_REG_TYPE_INFO_C_CALLBACK:
            snpu_profapi_replay_types((snpu_profapi_type_fn)callback);
            break;
        case PROFILE_REPORT_GET_HASH_ID_C_CALLBACK:
            snpu_profapi_replay_hashes((snpu_profapi_hash_fn)callback);
            break;
        case PROFILE_DEVICE_STATE_C_CALLBACK:
            snpu_profapi_replay_devices((snpu_profapi_device_fn)callback);
            break;
        default:
            break;
        }
    }
    return SNPU_PROFAPI_OK;
}

int32_t profRegDeviceStateCallback(int32_t (*handle)(void *para, uint32_t len))
{
    return MsprofRegisterProfileCallback(PROFILE_DEVICE_STATE_C_CALLBACK, (void *)handle, sizeof(handle));
}

/* Names that older tools look up when they are loaded; both callbacks belong to a collector that softnpu does not
 * have. */
MS_EXPORT int32_t profRegReporterCallback(int32_t (*reporter)(uint32_t, uint32_t, void *, uint32_t));
MS_EXPORT int32_t profRegCtrlCallback(int32_t (*handle)(uint32_t, void *, uint32_t));

int32_t profRegReporterCallback(int32_t (*reporter)(uint32_t, uint32_t, void *, uint32_t))
{
    return reporter != NULL ? SNPU_PROFAPI_OK : SNPU_PROFAPI_ERROR;
}

int32_t profRegCtrlCallback(int32_t (*handle)(uint32_t, void *, uint32_t))
{
    return handle != NULL ? SNPU_PROFAPI_OK : SNPU_PROFAPI_ERROR;
}

/* ---- reporting ---- */

int32_t MsprofReportApi(uint32_t nonPersistantFlag, const struct MsprofApi *api)
{
    snpu_profapi_api_fn fn = LOAD(routes[PROFILE_REPORT_API_C_CALLBACK]);
    if (MS_UNLIKELY(fn != NULL) && api != NULL) {
        return fn(nonPersistantFlag, api);
    }
    return api != NULL ? SNPU_PROFAPI_OK : SNPU_PROFAPI_ERROR;
}

int32_t MsprofReportEvent(uint32_t nonPersistantFlag, const struct MsprofEvent *event)
{
    snpu_profapi_event_fn fn = LOAD(routes[PROFILE_REPORT_EVENT_C_CALLBACK]);
    if (MS_UNLIKELY(fn != NULL) && event != NULL) {
        return fn(nonPersistantFlag, event);
    }
    return event != NULL ? SNPU_PROFAPI_OK : SNPU_PROFAPI_ERROR;
}

int32_t MsprofReportCompactInfo(uint32_t nonPersistantFlag, const VOID_PTR data, uint32_t length)
{
    snpu_profapi_info_fn fn = LOAD(routes[PROFILE_REPORT_COMPACT_CALLBACK]);
    bool valid = data != NULL && length == sizeof(struct MsprofCompactInfo);
    if (MS_UNLIKELY(fn != NULL) && valid) {
        return fn(nonPersistantFlag, data, length);
    }
    return valid ? SNPU_PROFAPI_OK : SNPU_PROFAPI_ERROR;
}

int32_t MsprofReportAdditionalInfo(uint32_t nonPersistantFlag, const VOID_PTR data, uint32_t length)
{
    snpu_profapi_info_fn fn = LOAD(routes[PROFILE_REPORT_ADDITIONAL_CALLBACK]);
    bool valid = data != NULL && length == sizeof(struct MsprofAdditionalInfo);
    if (MS_UNLIKELY(fn != NULL) && valid) {
        return fn(nonPersistantFlag, data, length);
    }
    return valid ? SNPU_PROFAPI_OK : SNPU_PROFAPI_ERROR;
}

enum { BATCH_MAX = 512 }; /* records in one batch */

size_t MsprofGetBatchReportMaxSize(uint32_t type)
{
    (void)type; /* additional info is the only kind that is reported in batches */
    return BATCH_MAX * sizeof(struct MsprofAdditionalInfo);
}

int32_t MsprofReportBatchAdditionalInfo(uint32_t nonPersistantFlag, const VOID_PTR data, uint32_t length)
{
    const uint32_t record_b = sizeof(struct MsprofAdditionalInfo);
    if (data == NULL || length == 0 || length % record_b != 0 || length > BATCH_MAX * record_b) {
        return SNPU_PROFAPI_ERROR;
    }
    int32_t result = SNPU_PROFAPI_OK;
    for (uint32_t off = 0; off < length && result == SNPU_PROFAPI_OK; off += record_b) {
        result = MsprofReportAdditionalInfo(nonPersistantFlag, (char *)data + off, record_b);
    }
    return result;
}

int32_t MsprofReportData(uint32_t moduleId, uint32_t type, VOID_PTR data, uint32_t len)
{
    /* The reporter interface of older releases: its receiver was the vendor's collector, which softnpu does not
     * have. */
    (void)moduleId;
    (void)type;
    return data == NULL && len != 0 ? SNPU_PROFAPI_ERROR : SNPU_PROFAPI_OK;
}
