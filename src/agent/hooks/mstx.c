/* SPDX-License-Identifier: Apache-2.0 */
/* The mstx tool: marks, ranges, and the reports of memory pools.
 *
 * The mstx front end, of which every shared object may have its own copy, calls InitInjectionMstx and gets our
 * functions; any number of times. Domain handles are addresses in a static array. Texts are sent unchanged: the reader
 * of the trace interprets them.
 *
 * Pools differ in what they expect (and in what they leave uninitialised), see the table: pools of PyTorch and
 * MindSpore report the level of their reserved memory, name regions by address and get no handles; ATB reports each
 * heap and needs a handle for everything. Its handles are the addresses themselves, so no state is kept here. PyTorch
 * and MindSpore leave usage and type of a heap, and heap, type and handles of a batch uninitialised: they are never
 * read; descriptions are always ranges of virtual addresses, the only type there is.
 *
 * Threads: any; the only state is the last reported level of each pool and device, and the range counter. */
#define MSTX_NO_IMPL
#include "agent/python.h"
#include "agent/record_text.h"
#include "agent/torch.h"
#include "agent/watch.h"
#include "mstx/ms_tools_ext_mem.h"
#include "trace/aten_mark.h"

int InitInjectionMstx(mstxGetModuleFuncTableFunc getModuleFuncTable) MS_EXPORT;

/* ---- marks and ranges ---- */

static uint64_t last_range_id;

/* Accesses and ends of operators come in large numbers right after a beginning with the same stack. */
static bool wants_stack(const char *message)
{
    return message == NULL || strncmp(message, MS_ATEN_MARK, MS_ATEN_MARK_B) != 0 || message[MS_ATEN_MARK_B] == 'b';
}

static inline __attribute__((always_inline)) void record_text(enum ms_record_kind kind, const char *message,
                                                              const void *payload, size_t payload_b)
{
    size_t length_b = message != NULL ? strnlen(message, MS_TEXT_MAX_B + 1) : 0;
    ms_record_text(kind, ms_device_current(), payload, payload_b, message, length_b, false, wants_stack(message));
}

/* The listener receives marks of this form, which say what operators read and write. */
static void (*sanitizer)(const char *text, void *stream);

void ms_mstx_listen(void (*listener)(const char *text, void *stream))
{
    __atomic_store_n(&sanitizer, listener, __ATOMIC_RELEASE);
}

static void mark(const char *message, aclrtStream stream)
{
    static const char for_sanitizer[] = "sanitizer-op:";
    void (*listener)(const char *text, void *stream) = __atomic_load_n(&sanitizer, __ATOMIC_ACQUIRE);
    if (MS_UNLIKELY(listener != NULL) && message != NULL &&
        strncmp(message, for_sanitizer, sizeof(for_sanitizer) - 1) == 0) {
        listener(message, stream);
    }
    if (!ms_tracing()) {
        return;
    }
    bool watched_first = ms_watching() && ms_watch_mark_is_end(message); /* WATCH records must be inside the operator */
    if (watched_first) {
        ms_watch_mark(message, stream);
    }
    struct ms_p_mark p = {.stream_id = ms_stream_id(stream)};
    record_text(MS_R_MARK, message, &p, sizeof(p));
    if (ms_watching() && !watched_first) {
        ms_watch_mark(message, stream);
    }
}

static mstxRangeId range_start(const char *message, aclrtStream stream)
{
    if (!ms_tracing()) {
        return MSTX_INVALID_RANGE_ID;
    }
    struct ms_p_range_start p = {.range_id = __atomic_add_fetch(&last_range_id, 1, __ATOMIC_RELAXED),
                                 .stream_id = ms_stream_id(stream)};
    record_text(MS_R_RANGE_START, message, &p, sizeof(p));
    return p.range_id;
}

static void range_end(mstxRangeId id)
{
    if (id != MSTX_INVALID_RANGE_ID && ms_tracing()) {
        MS_RECORD(RANGE_END, MS_STATE_ON, ms_device_current(), NULL, .range_id = id);
    }
}

static void get_tool_id(uint64_t *id)
{
    if (id != NULL) {
        *id = MSTX_TOOL_MSLEAKS_ID;
    }
}

/* ---- domains ---- */

struct mstxDomainRegistration_st {
    uint8_t pool;
    bool only_first; /* only the first creation returns the handle, later ones NULL */
    bool by_handle;  /* heaps and regions have handles; otherwise totals are levels, and output arrays are garbage */
    uint32_t created;
};

enum mstx_domain { PTA, PTA_WORKSPACE, ATB, MINDSPORE, DOMAINS };

static struct mstxDomainRegistration_st domains[DOMAINS] = {
    [PTA] = {.pool = MS_POOL_PTA},
    [PTA_WORKSPACE] = {.pool = MS_POOL_PTA_WORKSPACE},
    [ATB] = {.pool = MS_POOL_ATB, .only_first = true, .by_handle = true},
    [MINDSPORE] = {.pool = MS_POOL_MINDSPORE, .only_first = true},
};

/* PyTorch creates its domain for every allocation: the first character selects the one or two names to compare. */
static mstxDomainHandle_t domain_create(const char *name)
{
    if (name == NULL) {
        return NULL;
    }
    mstxDomainHandle_t domain = NULL;
    switch (name[0]) {
    case 'p':
        if (strcmp(name, "ptaCaching") == 0) {
            domain = &domains[PTA];
        } else if (strcmp(name, "ptaWorkspace") == 0) {
            domain = &domains[PTA_WORKSPACE];
        }
        break;
    case 'm':
        if (strcmp(name, "msleaks") == 0) {
            domain = &domains[PTA];
        } else if (strcmp(name, "mindsporeMemPool") == 0) {
            domain = &domains[MINDSPORE];
        }
        break;
    case 'a':
        if (strcmp(name, "atb") == 0) {
            domain = &domains[ATB];
        }
        break;
    default:
        break;
    }
    if (domain == &domains[PTA] && MS_UNLIKELY(__atomic_load_n(&domain->created, __ATOMIC_RELAXED) == 0)) {
        __atomic_store_n(&domain->created, 1, __ATOMIC_RELAXED);
    }
    if (domain != NULL && domain->only_first && __atomic_exchange_n(&domain->created, 1, __ATOMIC_RELAXED) != 0) {
        return NULL;
    }
    return domain;
}

bool ms_mstx_reports_pta(void)
{
    return __atomic_load_n(&domains[PTA].created, __ATOMIC_RELAXED) != 0;
}

/* Handles come from programs: only our own are dereferenced. */
static bool is_ours(mstxDomainHandle_t domain)
{
    uintptr_t off = (uintptr_t)domain - (uintptr_t)domains;
    return off < sizeof(domains) && off % sizeof(domains[0]) == 0;
}

/* ---- heaps ---- */

/* Last reported level of each pool and device, plus one; 0: none yet. A level is recorded only when it changes. */
#define LEVELS_DEVICES 64
static uint64_t levels[DOMAINS][LEVELS_DEVICES];
static bool levels_reported MS_EARLY; /* any of them */

void ms_mstx_attached(void)
{
    bool reported = __atomic_exchange_n(&levels_reported, false, __ATOMIC_RELAXED);
    for (unsigned i = 0; reported && i < DOMAINS * LEVELS_DEVICES; i++) {
        __atomic_store_n(&levels[0][0] + i, 0, __ATOMIC_RELAXED);
    }
}

static void record_level(unsigned state, mstxDomainHandle_t domain, uint32_t device, uint64_t total_b)
{
    uint64_t *level = device < LEVELS_DEVICES ? &levels[domain - domains][device] : NULL;
    /* Checked first: pools report their level with every block, and threads would contend for the cache line. */
    if (level != NULL && __atomic_load_n(level, __ATOMIC_RELAXED) == total_b + 1) {
        return;
    }
    __atomic_store_n(&levels_reported, true, __ATOMIC_RELAXED);
    if (level != NULL && __atomic_exchange_n(level, total_b + 1, __ATOMIC_RELAXED) == total_b + 1) {
        return;
    }
    if (!MS_RECORD(POOL_TOTAL, state, MS_POOL_ARG(domain->pool, device), NULL, .total_b = total_b) && level != NULL) {
        __atomic_store_n(level, 0, __ATOMIC_RELAXED);
    }
}

/* Stands for the handle of something without an address: any handle but NULL will do. */
static char no_address;

static mstxMemHeapHandle_t heap_register(mstxDomainHandle_t domain, const mstxMemHeapDesc_t *desc)
{
    if (!is_ours(domain) || desc == NULL || desc->typeSpecificDesc == NULL) {
        return NULL;
    }
    const mstxMemVirtualRangeDesc_t *range = desc->typeSpecificDesc;
    unsigned state = ms_wanted(MS_WANT_ALLOC | MS_WANT_FREE);
    if (!domain->by_handle) {
        if (state != MS_STATE_OFF) {
            record_level(state, domain, ms_device_of_user(range->deviceId), range->size);
        }
        return NULL;
    }
    if (state != MS_STATE_OFF) {
        MS_RECORD(HEAP_ADD, state, MS_POOL_ARG(domain->pool, ms_device_of_user(range->deviceId)), NULL,
                  .addr = (uintptr_t)range->ptr, .size_b = range->size);
    }
    return (mstxMemHeapHandle_t)(range->ptr != NULL ? (uintptr_t)range->ptr : (uintptr_t)&no_address);
}

static void heap_unregister(mstxDomainHandle_t domain, mstxMemHeapHandle_t heap)
{
    if (!is_ours(domain) || !domain->by_handle || heap == NULL) {
        return;
    }
    unsigned state = ms_wanted(MS_WANT_ALLOC | MS_WANT_FREE);
    if (state != MS_STATE_OFF) {
        uintptr_t addr = (char *)heap != &no_address ? (uintptr_t)heap : 0;
        MS_RECORD(HEAP_SUB, state, MS_POOL_ARG(domain->pool, MS_DEV_UNKNOWN), NULL, .addr = addr);
    }
}

/* ---- regions ---- */

static void regions_register(mstxDomainHandle_t domain, const mstxMemRegionsRegisterBatch_t *batch)
{
    if (!is_ours(domain) || batch == NULL || batch->regionDescArray == NULL) {
        return;
    }
    const mstxMemVirtualRangeDesc_t *ranges = batch->regionDescArray;
    if (domain->by_handle && batch->regionHandleArrayOut != NULL) {
        for (size_t i = 0; i < batch->regionCount; i++) {
            uintptr_t handle = ranges[i].ptr != NULL ? (uintptr_t)ranges[i].ptr : (uintptr_t)&no_address;
            batch->regionHandleArrayOut[i] = (mstxMemRegionHandle_t)handle;
        }
    }
    if (domain->pool == MS_POOL_PTA) { /* a program may have no CPU tensor */
        ms_torch_follow();
    }
    unsigned state = ms_wanted(MS_WANT_ALLOC | MS_WANT_FREE);
    if (MS_LIKELY(state == MS_STATE_OFF) || batch->regionCount == 0) {
        return;
    }
    struct ms_stack_ids ids;
    const struct ms_stack_ids *stacks = ms_stacks(state, &ids); /* one for the batch */
    for (size_t i = 0; i < batch->regionCount; i++) {
        if (ranges[i].ptr != NULL) {
            MS_RECORD(POOL_ALLOC, state, MS_POOL_ARG(domain->pool, ms_device_of_user(ranges[i].deviceId)), stacks,
                      .addr = (uintptr_t)ranges[i].ptr, .size_b = ranges[i].size);
        }
    }
}

static void regions_unregister(mstxDomainHandle_t domain, const mstxMemRegionsUnregisterBatch_t *batch)
{
    if (!is_ours(domain) || batch == NULL || batch->refArray == NULL) {
        return;
    }
    unsigned state = ms_wanted(MS_WANT_ALLOC | MS_WANT_FREE);
    /* At exit Python destroys everything; blocks kept until then must appear as kept. */
    bool teardown = __atomic_load_n(&ms_python.finalizing, __ATOMIC_RELAXED) != 0;
    if (MS_LIKELY(state == MS_STATE_OFF) || batch->refCount == 0 || teardown) {
        return;
    }
    struct ms_stack_ids ids;
    const struct ms_stack_ids *stacks = ms_stacks(state, &ids);
    for (size_t i = 0; i < batch->refCount; i++) {
        const char *region = batch->refArray[i].pointer; /* or the handle, which is the same here */
        if (ms_watching()) {
            ms_watch_freed((uintptr_t)region);
        }
        if (region != NULL && region != &no_address) {
            MS_RECORD(POOL_FREE, state, MS_POOL_ARG(domain->pool, MS_DEV_UNKNOWN), stacks, .addr = (uintptr_t)region);
        }
    }
}

/* ---- injection ---- */

int InitInjectionMstx(mstxGetModuleFuncTableFunc getModuleFuncTable)
{
    static const struct {
        int module;
        unsigned id;
        mstxFuncPointer function;
    } slots[] = {
        {MSTX_API_MODULE_CORE, MSTX_API_CORE_MARK_A, (mstxFuncPointer)mark},
        {MSTX_API_MODULE_CORE, MSTX_API_CORE_RANGE_START_A, (mstxFuncPointer)range_start},
        {MSTX_API_MODULE_CORE, MSTX_API_CORE_RANGE_END, (mstxFuncPointer)range_end},
        {MSTX_API_MODULE_CORE, MSTX_API_CORE_GET_TOOL_ID, (mstxFuncPointer)get_tool_id},
        {MSTX_API_MODULE_CORE_DOMAIN, MSTX_API_CORE2_DOMAIN_CREATE_A, (mstxFuncPointer)domain_create},
        {MSTX_API_MODULE_CORE_MEM, MSTX_API_CORE_MEMHEAP_REGISTER, (mstxFuncPointer)heap_register},
        {MSTX_API_MODULE_CORE_MEM, MSTX_API_CORE_MEMHEAP_UNREGISTER, (mstxFuncPointer)heap_unregister},
        {MSTX_API_MODULE_CORE_MEM, MSTX_API_CORE_MEM_REGIONS_REGISTER, (mstxFuncPointer)regions_register},
        {MSTX_API_MODULE_CORE_MEM, MSTX_API_CORE_MEM_REGIONS_UNREGISTER, (mstxFuncPointer)regions_unregister},
    };
    ms_agent_init();
    if (getModuleFuncTable == NULL) {
        return MSTX_FAIL;
    }
    bool any = false;
    for (unsigned i = 0; i < MS_COUNT_OF(slots); i++) {
        mstxFuncTable table = NULL;
        unsigned size = 0; /* older front ends have shorter tables, or none for memory */
        if (getModuleFuncTable(slots[i].module, &table, &size) == MSTX_SUCCESS && table != NULL && slots[i].id < size &&
            table[slots[i].id] != NULL) {
            *table[slots[i].id] = slots[i].function;
            any = true;
        }
    }
    return any ? MSTX_SUCCESS : MSTX_FAIL;
}
