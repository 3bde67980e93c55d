/* SPDX-License-Identifier: Apache-2.0 */
/* Notifies; see notify.h.
 *
 * Invariants: the flag is 0 or 1; a wait changes it from 1 to 0, so each record releases one wait. All state that
 * another process may need is in a shared slot; the object behind the handle is private.
 *
 * Threads and locks: atomics on the slot's word; queued tasks hold references to the object, so destroying it meanwhile
 * is safe.
 *
 * Failure policy: invalid handles return 107000, too many notifies 207009, an import without permission 207006. */
#include "softnpu/runtime/notify.h"

#include "softnpu/runtime/engine.h"
#include "softnpu/runtime/ipc.h"
#include "softnpu/runtime/prof.h"
#include "base/slab.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NOTIFIES_PER_DEVICE 8192u
#define KEY_FORMAT          "snpu-notify:%" PRId32 ":%" PRId32 ":%" PRIu32 ":%016" PRIx64

struct notify {
    uint32_t refs;
    uint32_t dead;
    uint32_t dev;
    bool counting;
    struct ipc_slot *slot;
    struct ipc_peer *peer; /* not NULL: the slot belongs to another process */
};

static struct ms_slab notifies = MS_SLAB_INIT(struct notify, NOTIFIES_PER_DEVICE *SNPU_MAX_DEVICES);

/* ---- life ---- */

static int32_t notify_open(const char *function, uint32_t dev, bool counting, struct ipc_slot *slot,
                           struct ipc_peer *peer, struct notify **out)
{
    *out = NULL;
    uint32_t *count = &snpu_devices[dev].notifies;
    struct notify *n = NULL;
    if (__atomic_fetch_add(count, 1, __ATOMIC_RELAXED) < NOTIFIES_PER_DEVICE &&
        (slot != NULL || (slot = snpu__ipc_alloc(SNPU_IPC_NOTIFY, dev)) != NULL) &&
        (n = ms_slab_alloc(&notifies)) == NULL && peer == NULL) {
        snpu__ipc_free(slot);
    }
    if (n == NULL) {
        __atomic_fetch_sub(count, 1, __ATOMIC_RELAXED);
        return snpu_fail(ACL_ERROR_RT_NO_NOTIFY_RESOURCE, "%s: the device has reached its limit of %u notifies",
                         function, NOTIFIES_PER_DEVICE);
    }
    n->refs = 1;
    n->dev = dev;
    n->counting = counting;
    n->slot = slot;
    n->peer = peer;
    *out = n;
    return 0;
}

static void notify_put(struct notify *n)
{
    if (__atomic_fetch_sub(&n->refs, 1, __ATOMIC_ACQ_REL) != 1) {
        return;
    }
    if (n->peer != NULL) {
        snpu__ipc_close(n->peer);
    } else {
        snpu__ipc_free(n->slot);
    }
    __atomic_fetch_sub(&snpu_devices[n->dev].notifies, 1, __ATOMIC_RELAXED);
    ms_slab_free(&notifies, n);
}

static int32_t notify_resolve(const char *function, void *handle, bool counting, struct notify **out)
{
    *out = NULL;
    int32_t ret = snpu_guard(function);
    if (ret != 0) {
        return ret;
    }
    struct notify *n = handle;
    if (!ms_slab_check(&notifies, n) || __atomic_load_n(&n->dead, __ATOMIC_ACQUIRE) || n->counting != counting) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: %p is not a %s or was destroyed", function, handle,
                         counting ? "counting notify" : "notify");
    }
    *out = n;
    return 0;
}

static int32_t create(const char *function, int32_t user_dev, uint64_t flags, bool counting, void **out)
{
    struct snpu_ctx *ctx;
    struct notify *n;
    uint32_t dev;
    if (out == NULL || (flags & ~(uint64_t)ACL_NOTIFY_DEVICE_USE_ONLY) != 0) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: invalid argument: notify %p, flag 0x%" PRIx64, function,
                         (void *)out, flags);
    }
    int32_t ret = snpu_ctx_need(function, &ctx);
    if (ret != 0) {
        return ret;
    }
    dev = ctx->dev;
    if (user_dev >= 0 && (ret = snpu_dev_from_user(function, user_dev, &dev)) != 0) {
        return ret;
    }
    ret = notify_open(function, dev, counting, NULL, NULL, &n);
    if (ret == 0) {
        *out = n;
    }
    return ret;
}

static int32_t destroy(const char *function, void *handle, bool counting)
{
    struct notify *n;
    int32_t ret = notify_resolve(function, handle, counting, &n);
    if (ret == 0 && __atomic_exchange_n(&n->dead, 1, __ATOMIC_ACQ_REL)) {
        ret = snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: %p was destroyed by another thread", function, handle);
    }
    if (ret == 0) {
        notify_put(n);
    }
    return ret;
}

static int32_t get_id(const char *function, void *handle, bool counting, uint32_t *id)
{
    struct notify *n;
    if (id == NULL) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: notifyId is NULL", function);
    }
    int32_t ret = notify_resolve(function, handle, counting, &n);
    if (ret == 0) {
        *id = ms_slab_index(&notifies, n) % NOTIFIES_PER_DEVICE;
    }
    return ret;
}

/* ---- tasks ---- */

struct notify_task {
    struct notify *notify; /* one reference */
    uint32_t mode, value;
    int32_t timeout_ms;
    int32_t clear;
};

static void task_release(void *payload)
{
    notify_put(((struct notify_task *)payload)->notify);
}

static int32_t submit(const char *function, void *handle, bool counting, void *stream_handle,
                      const struct snpu_task_kind *kind, struct notify_task t)
{
    struct snpu_stream *stream;
    int32_t ret = notify_resolve(function, handle, counting, &t.notify);
    if (ret != 0 || (ret = snpu_stream_resolve(function, stream_handle, &stream)) != 0) {
        return ret;
    }
    __atomic_fetch_add(&t.notify->refs, 1, __ATOMIC_RELAXED);
    ret = snpu_stream_submit(stream, kind, &t, sizeof(t), NULL, 0, NULL);
    if (ret != 0) {
        notify_put(t.notify);
    }
    return ret;
}

static int32_t seconds_to_ms(uint32_t timeout_s)
{
    return timeout_s == 0 || timeout_s > INT32_MAX / 1000 ? -1 : (int32_t)timeout_s * 1000;
}

static int32_t wait_result(int waited)
{
    return waited == 0 ? 0 : waited == -ETIMEDOUT ? ACL_ERROR_RT_WAIT_TIMEOUT : ACL_ERROR_RT_STREAM_ABORT;
}

static int32_t record_run(struct snpu_task *task)
{
    struct notify_task *t = (struct notify_task *)task->payload;
    struct ipc_slot *slot = t->notify->slot;
    __atomic_store_n(&slot->word, 1, __ATOMIC_RELEASE);
    snpu_wake_all(&slot->word);
    return 0;
}

static int32_t wait_run(struct snpu_task *task)
{
    struct notify_task *t = (struct notify_task *)task->payload;
    struct ipc_slot *slot = t->notify->slot;
    for (;;) {
        uint32_t set = 1;
        if (__atomic_compare_exchange_n(&slot->word, &set, 0, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
            return 0;
        }
        int waited = snpu_task_wait(task, &slot->word, 0, t->timeout_ms);
        if (waited != 0) {
            return wait_result(waited);
        }
    }
}

static const struct snpu_task_kind record_kind = {
    .name = "NOTIFY_RECORD",
    .prof_type = SNPU_TASK_NOTIFY_RECORD,
    .captures = true,
    .run = record_run,
    .release = task_release,
};

static const struct snpu_task_kind wait_kind = {
    .name = "NOTIFY_WAIT",
    .prof_type = SNPU_TASK_NOTIFY_WAIT,
    .captures = true,
    .run = wait_run,
    .release = task_release,
};

int32_t snpu_notify_create(const char *function, int32_t user_dev, uint64_t flags, void **out)
{
    return create(function, user_dev, flags, false, out);
}

int32_t snpu_notify_destroy(const char *function, void *handle)
{
    return destroy(function, handle, false);
}

int32_t snpu_notify_record(const char *function, void *handle, void *stream)
{
    return submit(function, handle, false, stream, &record_kind, (struct notify_task){0});
}

int32_t snpu_notify_wait(const char *function, void *handle, void *stream, uint32_t timeout_s)
{
    return submit(function, handle, false, stream, &wait_kind,
                  (struct notify_task){.timeout_ms = seconds_to_ms(timeout_s)});
}

int32_t snpu_notify_id(const char *function, void *handle, uint32_t *id)
{
    return get_id(function, handle, false, id);
}

int32_t snpu_notify_reset(const char *function, void *handle)
{
    struct notify *n;
    int32_t ret = notify_resolve(function, handle, false, &n);
    if (ret == 0) {
        __atomic_store_n(&n->slot->word, 0, __ATOMIC_RELEASE);
    }
    return ret;
}

/* ---- between processes ---- */

int32_t snpu_notify_export(const char *function, void *handle, char *key, size_t key_b, uint64_t flags)
{
    struct notify *n;
    struct ipc_key k;
    int32_t ret = notify_resolve(function, handle, false, &n);
    if (ret != 0) {
        return ret;
    }
    if (key == NULL || n->peer != NULL || (flags & ~(uint64_t)ACL_RT_NOTIFY_EXPORT_FLAG_DISABLE_PID_VALIDATION) != 0) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: invalid argument: key %p, flags 0x%" PRIx64 "%s", function,
                         (void *)key, flags, n->peer != NULL ? "; the notify belongs to another process" : "");
    }
    snpu__ipc_key_of(n->slot, &k);
    char text[80];
    int length = snprintf(text, sizeof(text), KEY_FORMAT, k.pid, k.fd, k.index, k.cookie);
    if ((size_t)length >= key_b) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: a key needs up to 65 bytes, len is %zu", function, key_b);
    }
    memcpy(key, text, (size_t)length + 1);
    if (flags & ACL_RT_NOTIFY_EXPORT_FLAG_DISABLE_PID_VALIDATION) {
        __atomic_store_n(&n->slot->open_to_all, 1, __ATOMIC_RELEASE);
    }
    return 0;
}

int32_t snpu_notify_allow(const char *function, void *handle, const int32_t *pids, size_t count)
{
    struct notify *n;
    int32_t ret = notify_resolve(function, handle, false, &n);
    if (ret != 0) {
        return ret;
    }
    if (pids == NULL || count == 0 || n->peer != NULL) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: invalid argument: pid %p, num %zu", function,
                         (const void *)pids, count);
    }
    pthread_mutex_lock(&snpu_rt_lock);
    uint32_t have = n->slot->pid_count;
    if (count > SNPU_IPC_PIDS_MAX - have) {
        ret = snpu_fail(ACL_ERROR_RT_OVER_LIMIT, "%s: cannot add %zu processes (%u left)", function, count,
                        SNPU_IPC_PIDS_MAX - have);
    } else {
        memcpy(n->slot->pids + have, pids, count * sizeof(*pids));
        __atomic_store_n(&n->slot->pid_count, have + (uint32_t)count, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&snpu_rt_lock);
    return ret;
}

int32_t snpu_notify_import(const char *function, const char *key, uint64_t flags, void **out)
{
    struct snpu_ctx *ctx;
    struct ipc_key k = {.kind = SNPU_IPC_NOTIFY};
    struct ipc_slot *slot;
    struct ipc_peer *peer;
    struct notify *n;
    int used = 0;
    if (key == NULL || out == NULL || (flags & ~(uint64_t)ACL_RT_NOTIFY_IMPORT_FLAG_ENABLE_PEER_ACCESS) != 0 ||
        strnlen(key, 80) >= 80 ||
        sscanf(key, "snpu-notify:%" SCNd32 ":%" SCNd32 ":%" SCNu32 ":%" SCNx64 "%n", &k.pid, &k.fd, &k.index, &k.cookie,
               &used) != 4 ||
        key[used] != '\0') {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: not a notify key", function);
    }
    int32_t ret = snpu_ctx_need(function, &ctx);
    if (ret == 0 && k.pid == getpid()) {
        ret = snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: the notify belongs to this process", function);
    }
    if (ret != 0 || (ret = snpu__ipc_open(function, &k, &slot, &peer)) != 0) {
        return ret;
    }
    ret = notify_open(function, ctx->dev, false, slot, peer, &n);
    if (ret != 0) {
        snpu__ipc_close(peer);
        return ret;
    }
    *out = n;
    return 0;
}

/* ---- counting notifies ---- */

static int32_t cnt_record_run(struct snpu_task *task)
{
    struct notify_task *t = (struct notify_task *)task->payload;
    uint32_t *word = &t->notify->slot->word;
    switch (t->mode) {
    case ACL_RT_CNT_NOTIFY_RECORD_SET_VALUE_MODE:
        __atomic_store_n(word, t->value, __ATOMIC_RELEASE);
        break;
    case ACL_RT_CNT_NOTIFY_RECORD_ADD_MODE:
        __atomic_fetch_add(word, t->value, __ATOMIC_RELEASE);
        break;
    case ACL_RT_CNT_NOTIFY_RECORD_BIT_OR_MODE:
        __atomic_fetch_or(word, t->value, __ATOMIC_RELEASE);
        break;
    default:
        __atomic_fetch_and(word, t->value, __ATOMIC_RELEASE);
        break;
    }
    snpu_wake_all(word);
    return 0;
}

static bool holds(uint32_t mode, uint32_t have, uint32_t value)
{
    switch (mode) {
    case ACL_RT_CNT_NOTIFY_WAIT_LESS_MODE:
        return have < value;
    case ACL_RT_CNT_NOTIFY_WAIT_EQUAL_MODE:
        return have == value;
    case ACL_RT_CNT_NOTIFY_WAIT_BIGGER_MODE:
        return have > value;
    case ACL_RT_CNT_NOTIFY_WAIT_BIGGER_OR_EQUAL_MODE:
        return have >= value;
    default:
        return (have & value) == value;
    }
}

static int32_t cnt_wait_run(struct snpu_task *task)
{
    struct notify_task *t = (struct notify_task *)task->payload;
    uint32_t *word = &t->notify->slot->word;
    for (;;) {
        uint32_t have = __atomic_load_n(word, __ATOMIC_ACQUIRE);
        if (holds(t->mode, have, t->value)) {
            if (!t->clear || __atomic_compare_exchange_n(word, &have, 0, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
                return 0;
            }
            continue;
        }
        int waited = snpu_task_wait(task, word, have, t->timeout_ms);
        if (waited != 0) {
            return wait_result(waited);
        }
    }
}

static const struct snpu_task_kind cnt_record_kind = {
    .name = "NOTIFY_RECORD",
    .prof_type = SNPU_TASK_NOTIFY_RECORD,
    .captures = true,
    .run = cnt_record_run,
    .release = task_release,
};

static const struct snpu_task_kind cnt_wait_kind = {
    .name = "NOTIFY_WAIT",
    .prof_type = SNPU_TASK_NOTIFY_WAIT,
    .captures = true,
    .run = cnt_wait_run,
    .release = task_release,
};

int32_t snpu_cnt_notify_create(const char *function, uint64_t flags, void **out)
{
    return create(function, -1, flags, true, out);
}

int32_t snpu_cnt_notify_destroy(const char *function, void *handle)
{
    return destroy(function, handle, true);
}

int32_t snpu_cnt_notify_record(const char *function, void *handle, void *stream, uint32_t mode, uint32_t value)
{
    if (mode != ACL_RT_CNT_NOTIFY_RECORD_SET_VALUE_MODE && mode != ACL_RT_CNT_NOTIFY_RECORD_ADD_MODE &&
        mode != ACL_RT_CNT_NOTIFY_RECORD_BIT_OR_MODE && mode != ACL_RT_CNT_NOTIFY_RECORD_BIT_AND_MODE) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: invalid mode %u", function, mode);
    }
    return submit(function, handle, true, stream, &cnt_record_kind, (struct notify_task){.mode = mode, .value = value});
}

int32_t snpu_cnt_notify_wait(const char *function, void *handle, void *stream, uint32_t mode, uint32_t value,
                             uint32_t timeout_s, int clear)
{
    if (mode > ACL_RT_CNT_NOTIFY_WAIT_EQUAL_WITH_BITMASK_MODE) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: invalid mode %u", function, mode);
    }
    struct notify_task t = {.mode = mode, .value = value, .timeout_ms = seconds_to_ms(timeout_s), .clear = clear};
    return submit(function, handle, true, stream, &cnt_wait_kind, t);
}

int32_t snpu_cnt_notify_reset(const char *function, void *handle, void *stream)
{
    return submit(function, handle, true, stream, &cnt_record_kind,
                  (struct notify_task){.mode = ACL_RT_CNT_NOTIFY_RECORD_SET_VALUE_MODE});
}

int32_t snpu_cnt_notify_id(const char *function, void *handle, uint32_t *id)
{
    return get_id(function, handle, true, id);
}
