/* SPDX-License-Identifier: Apache-2.0 */
/* libmsprofiler.so: marks and ranges of the program, through stamps, messages and mstx.
 *
 * All of them reach snpu_collection_tx while a collection with ACL_PROF_MSPROFTX runs; the bookkeeping works at any
 * time. A mark with a stream also puts a step trace with tag 11 into the stream, as msPTI does.
 *
 * Threads: stamps and open ranges are in slabs; each thread has its own push/pop stack. Only one thread at a time
 * may change a stamp, as with every object of the interface.
 * Failure: 100000 for unknown handles and overlong texts, 500005 for an empty or full stack or table. */
#include "base/slab.h"
#include "softnpu/profapi/aclprof_internal.h"
#include "softnpu/profapi/collection.h"
#include "softnpu/profapi/profapi.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { MAX_STAMPS = 65536, MAX_RANGES = 65536, MAX_DEPTH = 64, MESSAGE_B = 256, MARK_TAG = 11 };

struct stamp {
    char message[MESSAGE_B];
};

struct tx_range {
    uint64_t begin;
    const char *domain; /* interned */
    char message[MESSAGE_B];
};

struct aclprofStepInfo {
    uint64_t index; /* index of the running step; 0: none */
};

static struct ms_slab stamps = MS_SLAB_INIT(struct stamp, MAX_STAMPS);
static struct ms_slab ranges = MS_SLAB_INIT(struct tx_range, MAX_RANGES);
static struct ms_slab steps = MS_SLAB_INIT(struct aclprofStepInfo, 1024);

static const char DEFAULT_DOMAIN[] = "default";

/* The thread's pushed ranges, as hash ids to keep the stack small. */
static __thread struct {
    struct {
        uint64_t begin, message;
    } open[MAX_DEPTH];
    int depth;
} stack;

/* Copies a text of the given length; false if it is NULL or too long. */
static bool take_message(char out[MESSAGE_B], const char *text, size_t len)
{
    if (text == NULL || len == 0 || len >= MESSAGE_B) {
        return false;
    }
    len = strnlen(text, len);
    memcpy(out, text, len);
    out[len] = '\0';
    return true;
}

static void mark_stream(aclrtStream stream)
{
    static uint64_t marks;
    if (stream != NULL) {
        profSetStepInfo(__atomic_add_fetch(&marks, 1, __ATOMIC_RELAXED), MARK_TAG, stream);
    }
}

/* ---- ranges with ids: handle = slot + 1 ---- */

static uint32_t open_range(const char *domain, const char *message)
{
    struct tx_range *r = ms_slab_alloc(&ranges);
    if (r == NULL) {
        return 0;
    }
    r->begin = MsprofSysCycleTime();
    r->domain = domain;
    snprintf(r->message, sizeof(r->message), "%s", message);
    return ms_slab_index(&ranges, r) + 1;
}

static bool close_range(uint64_t id)
{
    struct tx_range *r = id != 0 && id <= MAX_RANGES ? ms_slab_at(&ranges, (uint32_t)id - 1) : NULL;
    if (r == NULL) {
        return false;
    }
    snpu_collection_tx(SNPU_TX_RANGE, r->domain, r->message, r->begin, MsprofSysCycleTime());
    ms_slab_free(&ranges, r);
    return true;
}

/* ---- stamps ---- */

void *aclprofCreateStamp(void)
{
    void *stamp = ms_slab_alloc(&stamps);
    if (stamp == NULL) {
        (void)SNPU_PROF_FAIL(ACL_ERROR_BAD_ALLOC, "aclprofCreateStamp: the limit of %d stamps is reached", MAX_STAMPS);
    }
    return stamp;
}

void aclprofDestroyStamp(void *stamp)
{
    if (ms_slab_check(&stamps, stamp)) {
        ms_slab_free(&stamps, stamp);
    }
}

aclError aclprofSetStampTraceMessage(void *stamp, const char *msg, uint32_t msgLen)
{
    if (!ms_slab_check(&stamps, stamp)) {
        return SNPU_PROF_FAIL(ACL_ERROR_INVALID_PARAM, "aclprofSetStampTraceMessage: not a stamp");
    }
    if (!take_message(((struct stamp *)stamp)->message, msg, msgLen)) {
        return SNPU_PROF_FAIL(ACL_ERROR_INVALID_PARAM, "aclprofSetStampTraceMessage: invalid message or length %u",
                              msgLen);
    }
    return ACL_SUCCESS;
}

static aclError push(const char *message)
{
    if (stack.depth == MAX_DEPTH) {
        return SNPU_PROF_FAIL(ACL_ERROR_PROFILING_FAILURE,
                              "aclprofPush: the limit of %d open ranges per thread is reached", MAX_DEPTH);
    }
    stack.open[stack.depth].begin = MsprofSysCycleTime();
    stack.open[stack.depth].message = MsprofStr2Id(message, strlen(message));
    stack.depth++;
    return ACL_SUCCESS;
}

static aclError pop(void)
{
    if (stack.depth == 0) {
        return SNPU_PROF_FAIL(ACL_ERROR_PROFILING_FAILURE, "aclprofPop: no range is open in this thread");
    }
    stack.depth--;
    const char *message = MsprofId2Str(stack.open[stack.depth].message);
    snpu_collection_tx(SNPU_TX_PUSH_POP, DEFAULT_DOMAIN, message != NULL ? message : "", stack.open[stack.depth].begin,
                       MsprofSysCycleTime());
    return ACL_SUCCESS;
}

aclError aclprofPush(void *stamp)
{
    if (!ms_slab_check(&stamps, stamp)) {
        return SNPU_PROF_FAIL(ACL_ERROR_INVALID_PARAM, "aclprofPush: not a stamp");
    }
    return push(((struct stamp *)stamp)->message);
}

aclError aclprofPop(void)
{
    return pop();
}

aclError aclprofRangeStart(void *stamp, uint32_t *rangeId)
{
    if (!ms_slab_check(&stamps, stamp) || rangeId == NULL) {
        return SNPU_PROF_FAIL(ACL_ERROR_INVALID_PARAM, "aclprofRangeStart: not a stamp, or rangeId is NULL");
    }
    uint32_t id = open_range(DEFAULT_DOMAIN, ((struct stamp *)stamp)->message);
    if (id == 0) {
        return SNPU_PROF_FAIL(ACL_ERROR_PROFILING_FAILURE, "aclprofRangeStart: the limit of %d open ranges is reached",
                              MAX_RANGES);
    }
    *rangeId = id;
    return ACL_SUCCESS;
}

aclError aclprofRangeStop(uint32_t rangeId)
{
    return close_range(rangeId)
               ? ACL_SUCCESS
               : SNPU_PROF_FAIL(ACL_ERROR_INVALID_PARAM, "aclprofRangeStop: range %u is not open", rangeId);
}

aclError aclprofMark(void *stamp)
{
    if (!ms_slab_check(&stamps, stamp)) {
        return SNPU_PROF_FAIL(ACL_ERROR_INVALID_PARAM, "aclprofMark: not a stamp");
    }
    snpu_collection_tx(SNPU_TX_MARK, DEFAULT_DOMAIN, ((struct stamp *)stamp)->message, MsprofSysCycleTime(), 0);
    return ACL_SUCCESS;
}

aclError aclprofMarkEx(const char *msg, size_t msgLen, aclrtStream stream)
{
    char message[MESSAGE_B];
    if (!take_message(message, msg, msgLen)) {
        return SNPU_PROF_FAIL(ACL_ERROR_INVALID_PARAM, "aclprofMarkEx: invalid message or length %zu", msgLen);
    }
    if (snpu_collection_tx_on()) {
        snpu_collection_tx(SNPU_TX_MARK, DEFAULT_DOMAIN, message, MsprofSysCycleTime(), 0);
        mark_stream(stream);
    }
    return ACL_SUCCESS;
}

uint64_t aclprofStr2Id(const char *message)
{
    return message != NULL ? MsprofStr2Id(message, strlen(message)) : 0;
}

aclError aclprofRangePushEx(aclprofEventAttributes *attr)
{
    if (attr == NULL || attr->version != ACL_PROF_EVENT_ATTR_VERSION || attr->size != sizeof(*attr) ||
        attr->messageType != ACL_PROF_MESSAGE_TYPE_TENSOR_INFO || attr->message.tensorInfo == NULL) {
        return SNPU_PROF_FAIL(ACL_ERROR_INVALID_PARAM, "aclprofRangePushEx: invalid attributes");
    }
    const char *name = MsprofId2Str(attr->message.tensorInfo->opNameId);
    return push(name != NULL ? name : "");
}

aclError aclprofRangePop(void)
{
    return pop();
}

/* ---- steps ---- */

aclprofStepInfo *aclprofCreateStepInfo(void)
{
    aclprofStepInfo *info = ms_slab_alloc(&steps);
    if (info == NULL) {
        (void)SNPU_PROF_FAIL(ACL_ERROR_BAD_ALLOC, "aclprofCreateStepInfo: too many objects");
    }
    return info;
}

void aclprofDestroyStepInfo(aclprofStepInfo *stepinfo)
{
    if (ms_slab_check(&steps, stepinfo)) {
        ms_slab_free(&steps, stepinfo);
    }
}

aclError aclprofGetStepTimestamp(aclprofStepInfo *stepInfo, aclprofStepTag tag, aclrtStream stream)
{
    static uint64_t next_index;
    if (!ms_slab_check(&steps, stepInfo) || (tag != ACL_STEP_START && tag != ACL_STEP_END)) {
        return SNPU_PROF_FAIL(ACL_ERROR_INVALID_PARAM, "aclprofGetStepTimestamp: not a step, or invalid tag %d",
                              (int)tag);
    }
    if ((tag == ACL_STEP_START) == (stepInfo->index != 0)) {
        return SNPU_PROF_FAIL(ACL_ERROR_INVALID_PARAM, "aclprofGetStepTimestamp: start and end must alternate");
    }
    uint64_t index = tag == ACL_STEP_START ? __atomic_add_fetch(&next_index, 1, __ATOMIC_RELAXED) : stepInfo->index;
    if (profSetStepInfo(index, (uint16_t)tag, stream) != SNPU_PROFAPI_OK) {
        return SNPU_PROF_FAIL(ACL_ERROR_PROFILING_FAILURE,
                              "aclprofGetStepTimestamp: cannot record the step in the stream");
    }
    stepInfo->index = tag == ACL_STEP_START ? index : 0;
    return ACL_SUCCESS;
}

/* ---- mstx ----
 * A domain is its interned name, which lives as long as libprofapi's store, so there is nothing to destroy. */

static void tx_mark_in(void *domain, const char *message, void *stream)
{
    if (message != NULL && snpu_collection_tx_on()) {
        snpu_collection_tx(SNPU_TX_MARK, domain != NULL ? domain : DEFAULT_DOMAIN, message, MsprofSysCycleTime(), 0);
        mark_stream(stream);
    }
}

static uint64_t tx_start_in(void *domain, const char *message, void *stream)
{
    if (message == NULL || !snpu_collection_tx_on()) {
        return 0;
    }
    mark_stream(stream);
    return open_range(domain != NULL ? domain : DEFAULT_DOMAIN, message);
}

static void tx_end_in(void *domain, uint64_t id)
{
    close_range(id);
}

static void tx_mark(const char *message, void *stream)
{
    tx_mark_in(NULL, message, stream);
}

static uint64_t tx_start(const char *message, void *stream)
{
    return tx_start_in(NULL, message, stream);
}

static void tx_end(uint64_t id)
{
    close_range(id);
}

static void *tx_domain(const char *name)
{
    return MsprofId2Str(MsprofStr2Id(name, strlen(name)));
}

static void tx_domain_destroy(void *domain)
{
}

static int fill_tables(mstxGetModuleFuncTableFunc get)
{
    static const struct {
        int module;
        unsigned int slot;
        mstxFuncPointer fn;
    } functions[] = {
        {1, 1, (mstxFuncPointer)tx_mark},
        {1, 2, (mstxFuncPointer)tx_start},
        {1, 3, (mstxFuncPointer)tx_end},
        {2, 1, (mstxFuncPointer)tx_domain},
        {2, 2, (mstxFuncPointer)tx_domain_destroy},
        {2, 3, (mstxFuncPointer)tx_mark_in},
        {2, 4, (mstxFuncPointer)tx_start_in},
        {2, 5, (mstxFuncPointer)tx_end_in},
    };
    for (size_t i = 0; i < MS_COUNT_OF(functions); i++) {
        mstxFuncTable table;
        unsigned int size;
        if (get(functions[i].module, &table, &size) == 0 && functions[i].slot < size) {
            *table[functions[i].slot] = functions[i].fn;
        }
    }
    return 0;
}

static void listen_once(void)
{
    ProfRegisterMstxFunc(fill_tables, PROF_MODULE_MSPROF);
}

void snpu_aclprof_register_mstx(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, listen_once);
}
