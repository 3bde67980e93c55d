/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime's reports about launches, and the names of kernels.
 *
 * The profiling library has one slot per kind of callback. The agent takes those for names and for compact records and
 * calls any other tool's callback afterwards; registrations are hooked, so callbacks registered earlier are known.
 *
 * A task record carries the hash of a name; its text was announced earlier, when its hash was requested. Texts are kept
 * permanently, in static memory of which only used pages are touched: an open-addressing table of hashes, and their
 * texts one after the other.
 *
 * Pending launches: one table for all devices and streams, one 64-bit word each, addressed by device, stream and task
 * so that consecutive tasks of a stream are adjacent. A newer launch overwrites an older one that never appeared in the
 * log; task numbers are reused after 65536 launches anyway.
 *
 * Threads: launching threads and log readers share only the tables, word by word; no locks. */
#include "agent/kernel.h"

#include "agent/hooks.h"
#include "agent/watch.h"
#include "trace/definitions.h"

/* ---- names ---- */

#define NAMES       65536u /* as many as a pending word can distinguish */
#define NAMES_TRIED 64u
#define TEXTS_B     ((size_t)8 << 20)

struct kernel_name {
    uint64_t hash; /* 0: free */
    uint32_t length_b;
    uint32_t at; /* offset of its text, plus 1; 0: being written */
};
static struct kernel_name names[NAMES];
static char texts[TEXTS_B];
static size_t texts_used;

/* Plain char, as in the vendor's own function: its signedness depends on the machine. */
static uint64_t hash_of(const char *text, size_t length_b)
{
    uint32_t a = 0, b = 0;
    for (size_t i = 0; i < length_b; i++) {
        a = a * 29u + (uint32_t)text[i];
        b = b * 131u + (uint32_t)text[i];
    }
    return (uint64_t)a << 32 | b;
}

static uint32_t name_place(uint64_t hash, uint32_t i)
{
    return (uint32_t)((hash * 0x9e3779b97f4a7c15ull >> 48) + i) % NAMES;
}

static void learn_name(uint64_t hash, const char *text, size_t length_b)
{
    for (uint32_t i = 0; i < NAMES_TRIED; i++) {
        struct kernel_name *name = &names[name_place(hash, i)];
        uint64_t there = __atomic_load_n(&name->hash, __ATOMIC_ACQUIRE);
        if (there == 0 &&
            __atomic_compare_exchange_n(&name->hash, &there, hash, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
            size_t kept_b = length_b < MS_TEXT_MAX_B ? length_b : MS_TEXT_MAX_B;
            size_t at = __atomic_fetch_add(&texts_used, kept_b, __ATOMIC_RELAXED);
            if (at + kept_b > TEXTS_B) {
                __atomic_fetch_sub(&texts_used, kept_b, __ATOMIC_RELAXED);
                kept_b = at = 0; /* table full: a name without a text */
            }
            memcpy(texts + at, text, kept_b);
            name->length_b = (uint32_t)kept_b;
            __atomic_store_n(&name->at, (uint32_t)at + 1, __ATOMIC_RELEASE);
            return;
        }
        if (there == hash) {
            return;
        }
    }
}

/* Index of a name; a hash that was never announced gets an entry without a text. */
static uint16_t name_of(uint64_t hash)
{
    for (unsigned round = 0; round < 2; round++) {
        for (uint32_t i = 0; i < NAMES_TRIED; i++) {
            uint32_t place = name_place(hash, i);
            uint64_t there = __atomic_load_n(&names[place].hash, __ATOMIC_ACQUIRE);
            if (there == hash) {
                return (uint16_t)place;
            }
            if (there == 0) {
                break;
            }
        }
        learn_name(hash, "", 0);
    }
    return 0;
}

const char *ms_kernel_name(uint16_t name, size_t *length_b)
{
    uint32_t at = __atomic_load_n(&names[name].at, __ATOMIC_ACQUIRE);
    *length_b = at != 0 ? names[name].length_b : 0;
    return at != 0 ? texts + at - 1 : "";
}

/* ---- pending launches ---- */

#define PENDING (1u << 17)
static uint64_t pending[PENDING];
static bool pending_used MS_EARLY;

/* valid 1 | name 16 | device 6 | stream 16 | task 24 */
#define PENDING_VALID (1ull << 63)
#define PENDING_KEY   ((1ull << 46) - 1)

static uint64_t pending_key(const struct ms_pending_launch *p)
{
    return (uint64_t)(p->device & 63) << 40 | (uint64_t)(p->stream & 0xffff) << 24 | (p->task & 0xffffff);
}

/* Some chips log tasks without their stream; they number tasks across all streams. */
static bool streamless;

void ms_pending_without_stream(bool is_so)
{
    __atomic_store_n(&streamless, is_so, __ATOMIC_RELAXED);
}

/* A run of tasks of one stream is contiguous; runs of different streams are scattered. */
static uint64_t *pending_place(const struct ms_pending_launch *p, bool without_stream)
{
    uint32_t run = (p->device << 16 | (without_stream ? 0 : p->stream & 0xffff)) * 2654435761u;
    return &pending[((run >> 10) + p->task) % PENDING];
}

static void pending_add(const struct ms_pending_launch *p)
{
    uint64_t word = PENDING_VALID | (uint64_t)p->name << 46 | pending_key(p);
    __atomic_store_n(&pending_used, true, __ATOMIC_RELAXED);
    __atomic_store_n(pending_place(p, __atomic_load_n(&streamless, __ATOMIC_RELAXED)), word, __ATOMIC_RELEASE);
}

bool ms_pending_find(struct ms_pending_launch *p, bool forget)
{
    const uint64_t stream_bits = 0xffffull << 24;
    bool without_stream = __atomic_load_n(&streamless, __ATOMIC_RELAXED);
    uint64_t compared = PENDING_KEY & ~(without_stream ? stream_bits : 0);
    uint64_t *place = pending_place(p, without_stream);
    uint64_t word = __atomic_load_n(place, __ATOMIC_ACQUIRE);
    if ((word & PENDING_VALID) == 0 || ((word ^ pending_key(p)) & compared) != 0) {
        return false;
    }
    p->name = (uint16_t)(word >> 46);
    p->stream = (uint32_t)(word >> 24) & 0xffff;
    if (forget) {
        __atomic_compare_exchange_n(place, &word, 0, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    }
    return true;
}

/* ---- callbacks ---- */

typedef uint64_t (*hash_fn)(const char *text, size_t length_b);
typedef int32_t (*compact_fn)(uint32_t aging, const void *data, uint32_t length_b);

static void *others_hash, *others_compact; /* of another tool */
static unsigned listening;                 /* our callbacks are registered */
static bool streams_expanded;
static bool saw_launch, saw_task; /* since the last check */

bool ms_kernel_streams_expanded(void)
{
    return __atomic_load_n(&streams_expanded, __ATOMIC_RELAXED);
}

static uint64_t on_hash(const char *text, size_t length_b)
{
    if (text == NULL) {
        return 0;
    }
    uint64_t hash = hash_of(text, length_b);
    if (hash != 0) {
        learn_name(hash, text, length_b);
    }
    hash_fn next = (hash_fn)__atomic_load_n(&others_hash, __ATOMIC_ACQUIRE);
    return next != NULL ? next(text, length_b) : hash;
}

/* A task was created in this thread: inside a launch it is the kernel. */
static void record_launch(uint32_t device, uint32_t stream, uint32_t task, uint64_t hash)
{
    uintptr_t launch = ms_self.launch_frame;
    if (hash == 0 || launch == 0 || launch < (uintptr_t)__builtin_frame_address(0) || !ms_kernel_wanted()) {
        return;
    }
    __atomic_store_n(&saw_task, true, __ATOMIC_RELAXED);
    struct ms_pending_launch p = {.device = device, .stream = stream, .task = task, .name = name_of(hash)};
    struct ms_texts name = {0};
    size_t length_b;
    const char *text = ms_kernel_name(p.name, &length_b);
    ms_texts_add(&name, text, length_b, true);
    if (ms_watching()) {
        ms_watch_launch_named(text, length_b);
    }
    pending_add(&p); /* first: the device may be faster than this thread */
    struct ms_slot slot;
    struct ms_p_kernel_launch *r = ms_rec_begin(&slot, sizeof(*r) + ms_texts_tail_b(&name), MS_ORDER_PLAIN);
    if (r != NULL) {
        r->stream_id = stream;
        r->task_id = task;
        r->name = name.ref[0];
        ms_texts_put(&name, r + 1);
        ms_rec_commit(&slot, MS_R_KERNEL_LAUNCH, name.flags, device, ms_rec_stamp(&slot));
    }
}

static int32_t on_compact(uint32_t aging, const void *data, uint32_t length_b)
{
    struct MsprofCompactInfo info;
    if (data != NULL && length_b >= sizeof(info)) {
        memcpy(&info, data, sizeof(info));
        if (info.magicNumber == MSPROF_REPORT_DATA_MAGIC_NUM && info.level == MSPROF_REPORT_RUNTIME_LEVEL) {
            if (info.type == RT_PROFILE_TYPE_TASK_TRACK) {
                const struct MsprofRuntimeTrack *t = &info.data.runtimeTrack;
                record_launch(t->deviceId, t->streamId, t->taskId & 0xffff, t->kernelName);
            } else if (info.type == RT_PROFILE_TYPE_TASK_TRACK_V2) {
                const struct MsprofRuntimeTrackV2 *t = &info.data.runtimeTrackV2;
                record_launch(t->deviceId, t->streamId, t->taskId, t->kernelName);
            } else if (info.type == RT_PROFILE_TYPE_STREAM_EXPANSION) {
                __atomic_store_n(&streams_expanded, info.data.info[0] == 1, __ATOMIC_RELAXED);
            }
        }
    }
    compact_fn next = (compact_fn)__atomic_load_n(&others_compact, __ATOMIC_ACQUIRE);
    return next != NULL ? next(aging, data, length_b) : 0;
}

/* A tool that registers later gets the names announced before, as it would from the profiling library. */
static void announce_names(hash_fn hash)
{
    for (uint32_t i = 0; i < NAMES; i++) {
        size_t length_b;
        const char *text = ms_kernel_name((uint16_t)i, &length_b);
        if (length_b > 0) {
            char copy[1024]; /* NUL-terminated, which some tools require */
            length_b = length_b < sizeof(copy) ? length_b : sizeof(copy) - 1;
            memcpy(copy, text, length_b);
            copy[length_b] = '\0';
            hash(copy, length_b);
        }
    }
}

bool ms_kernel_chain(int32_t type, void *callback)
{
    if (type != PROFILE_REPORT_GET_HASH_ID_C_CALLBACK && type != PROFILE_REPORT_COMPACT_CALLBACK) {
        return false;
    }
    bool is_hash = type == PROFILE_REPORT_GET_HASH_ID_C_CALLBACK;
    __atomic_store_n(is_hash ? &others_hash : &others_compact, callback, __ATOMIC_RELEASE);
    if (__atomic_load_n(&listening, __ATOMIC_ACQUIRE) == 0) {
        return false;
    }
    if (is_hash && callback != NULL) {
        announce_names((hash_fn)callback);
    }
    return true;
}

/* Launches are hooked and tasks are reported: if only launches are seen for long, another tool has replaced our
 * callbacks without going through our hooks. Called once a second by the log reader. */
void ms_kernel_check(void)
{
    enum { SECONDS = 3 };
    static unsigned silent_s;
    bool launched = __atomic_exchange_n(&saw_launch, false, __ATOMIC_RELAXED);
    bool reported = __atomic_exchange_n(&saw_task, false, __ATOMIC_RELAXED);
    if (reported || !launched || silent_s > SECONDS) {
        silent_s = reported ? 0 : silent_s;
        return;
    }
    if (++silent_s == SECONDS) {
        ms_agent_log("kernels are launched but not reported: another tool has replaced the profiling callbacks");
        silent_s++;
    }
}

void ms_kernel_prepare(void)
{
    /* Searching for a missing library takes longer than a launch, so the search backs off. */
    enum { AT_LEAST_EVERY = 4096 };
    static uint32_t tried;
    if (__atomic_load_n(&listening, __ATOMIC_RELAXED) != 0) {
        return;
    }
    uint32_t tries = __atomic_add_fetch(&tried, 1, __ATOMIC_RELAXED);
    if (((tries & (tries - 1)) != 0 && tries % AT_LEAST_EVERY != 0) ||
        __atomic_exchange_n(&listening, 1, __ATOMIC_ACQ_REL)) {
        return;
    }
    bool done = MS_REAL(MsprofRegisterProfileCallback)(PROFILE_REPORT_GET_HASH_ID_C_CALLBACK, (void *)on_hash,
                                                       sizeof(void *)) == 0 &&
                MS_REAL(MsprofRegisterProfileCallback)(PROFILE_REPORT_COMPACT_CALLBACK, (void *)on_compact,
                                                       sizeof(void *)) == 0;
    if (!done) { /* not loaded yet */
        __atomic_store_n(&listening, 0, __ATOMIC_RELEASE);
    }
}

void ms_kernel_launching(void)
{
    ms_kernel_prepare();
    __atomic_store_n(&saw_launch, true, __ATOMIC_RELAXED);
    uint32_t device = ms_device_current();
    if (device != MS_DEV_UNKNOWN) {
        ms_device_log_start(device);
    }
}

void ms_kernel_attached(void)
{
    if (__atomic_exchange_n(&pending_used, false, __ATOMIC_RELAXED)) {
        for (uint32_t i = 0; i < PENDING; i++) {
            __atomic_store_n(&pending[i], 0, __ATOMIC_RELAXED);
        }
    }
    ms_device_log_attached();
}
