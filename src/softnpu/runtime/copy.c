/* SPDX-License-Identifier: Apache-2.0 */
/* Copies and fills, synchronous and in stream order.
 *
 * Device memory is ordinary memory of this process, so every copy is a memcpy; the kinds only add rules. DEFAULT is
 * resolved from the pointers; the other kinds are trusted, as the vendor does, provided all bytes exist. An
 * asynchronous copy from pageable host memory reads the source inside the call because the program may change it right
 * afterwards: short copies travel in the task, long ones in a staging buffer. Pinned and registered memory is read when
 * the copy runs. So is pageable memory in a captured graph, which is replayed with whatever it contains then.
 *
 * Threads and locks: staging.lock is a leaf. Run functions execute on the stream's thread.
 * Failure: ranges are checked in the call and again before the copy runs, because memory may be freed in between; the
 * task then fails like a DMA that hit an unmapped page (507013). */
#include "softnpu/runtime/copy.h"

#include "softnpu/runtime/context.h"
#include "softnpu/runtime/error.h"
#include "softnpu/runtime/memory.h"
#include "softnpu/runtime/prof.h"
#include "softnpu/runtime/task.h"

#include "acl/acl.h"
#include "runtime/rt.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define INLINE_STAGING_B 2048

/* ---- staging buffers ---- */
#define STAGING_KEPT   4
#define STAGING_KEPT_B (64u << 20)

/* Large buffers cost page faults; the last few, up to 64 MiB each, are kept for the next copy. */
static struct {
    pthread_mutex_t lock;
    struct staging {
        void *buffer;
        uint64_t size_b;
    } kept[STAGING_KEPT];
} staging = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct staging staging_take(uint64_t size_b)
{
    struct staging found = {NULL, 0};
    pthread_mutex_lock(&staging.lock);
    for (size_t i = 0; i < STAGING_KEPT; i++) {
        struct staging *kept = &staging.kept[i];
        if (kept->buffer != NULL && kept->size_b >= size_b && kept->size_b / 4 <= size_b) {
            found = *kept;
            kept->buffer = NULL;
            break;
        }
    }
    pthread_mutex_unlock(&staging.lock);
    if (found.buffer == NULL) {
        found.size_b = size_b;
        found.buffer = malloc(size_b);
    }
    return found;
}

static void staging_return(struct staging used)
{
    if (used.size_b >= 64 * 1024 && used.size_b <= STAGING_KEPT_B) {
        pthread_mutex_lock(&staging.lock);
        for (size_t i = 0; i < STAGING_KEPT && used.buffer != NULL; i++) {
            if (staging.kept[i].buffer == NULL) {
                staging.kept[i] = used;
                used.buffer = NULL;
            }
        }
        pthread_mutex_unlock(&staging.lock);
    }
    free(used.buffer);
}

/* ---- the copy itself ---- */
static void copy_rows(const struct snpu_copy *copy, const void *src, uint64_t src_pitch_b)
{
    if (copy->rows == 1 || (copy->dst_pitch_b == copy->width_b && src_pitch_b == copy->width_b)) {
        memmove(copy->dst, src, copy->width_b * copy->rows); /* overlap is the program's error; tolerating it costs
                                                              * nothing */
        return;
    }
    char *to = copy->dst;
    const char *from = src;
    for (uint64_t row = 0; row < copy->rows; row++, to += copy->dst_pitch_b, from += src_pitch_b) {
        memmove(to, from, copy->width_b);
    }
}

/* Bytes from the first to the last one a side touches; false if the size is absurd. */
static bool extent(uint64_t pitch_b, uint64_t width_b, uint64_t rows, uint64_t *out)
{
    return !__builtin_mul_overflow(pitch_b, rows - 1, out) && !__builtin_add_overflow(*out, width_b, out);
}

static int32_t check_copy(const char *function, const struct snpu_copy *copy)
{
    uint64_t dst_b, src_b;
    if (copy->dst == NULL || copy->src == NULL) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: %s is NULL", function,
                         copy->dst == NULL ? "destination" : "source");
    }
    if (copy->dst_pitch_b < copy->width_b || copy->src_pitch_b < copy->width_b ||
        !extent(copy->dst_pitch_b, copy->width_b, copy->rows, &dst_b) ||
        !extent(copy->src_pitch_b, copy->width_b, copy->rows, &src_b)) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: rows of %llu bytes do not fit pitches of %llu and %llu",
                         function, (unsigned long long)copy->width_b, (unsigned long long)copy->dst_pitch_b,
                         (unsigned long long)copy->src_pitch_b);
    }
    int32_t code = snpu__mem_check(function, "destination", copy->dst, dst_b, SNPU_WRITE);
    return code != 0 ? code : snpu__mem_check(function, "source", copy->src, src_b, SNPU_READ);
}

/* What DEFAULT means for these pointers; profilers report it. */
static int32_t resolved_kind(const struct snpu_copy *copy)
{
    static const int32_t kinds[2][2] = {{ACL_MEMCPY_HOST_TO_HOST, ACL_MEMCPY_HOST_TO_DEVICE},
                                        {ACL_MEMCPY_DEVICE_TO_HOST, ACL_MEMCPY_DEVICE_TO_DEVICE}};
    return copy->kind != ACL_MEMCPY_DEFAULT ? copy->kind
                                            : kinds[snpu__mem_on_device(copy->src)][snpu__mem_on_device(copy->dst)];
}

int32_t snpu_copy_now(const char *function, const struct snpu_copy *copy)
{
    struct snpu_ctx *ctx;
    int32_t code = snpu_ctx_need(function, &ctx);
    if (code != 0 || copy->width_b == 0 || copy->rows == 0) {
        return code;
    }
    code = snpu_capture_check_unsafe(function);
    if (code == 0) {
        code = check_copy(function, copy);
    }
    if (code != 0) {
        return code;
    }
    copy_rows(copy, copy->src, copy->src_pitch_b);
    if (snpu_prof_tracks_on(ctx->dev)) {
        snpu_prof_memcpy(ctx->dev, SNPU_PROF_NO_STREAM, copy->width_b * copy->rows, (uint16_t)resolved_kind(copy));
    }
    return 0;
}

/* ---- copies in stream order ---- */
struct copy_task {
    struct snpu_copy copy;
    struct staging staged;
    bool in_task; /* the source follows in the payload, packed */
};

static int32_t run_copy(struct snpu_task *task)
{
    const struct copy_task *t = (const struct copy_task *)task->payload;
    const struct snpu_copy *copy = &t->copy;
    bool packed = t->in_task || t->staged.buffer != NULL;
    const void *src = t->in_task ? (const void *)(t + 1) : packed ? t->staged.buffer : copy->src;
    uint64_t dst_b, src_b;
    if (!extent(copy->dst_pitch_b, copy->width_b, copy->rows, &dst_b) ||
        !snpu__mem_touchable(copy->dst, dst_b, SNPU_WRITE) ||
        (!packed && (!extent(copy->src_pitch_b, copy->width_b, copy->rows, &src_b) ||
                     !snpu__mem_touchable(src, src_b, SNPU_READ)))) {
        return ACL_ERROR_RT_SYS_DMA;
    }
    copy_rows(copy, src, packed ? copy->width_b : copy->src_pitch_b);
    return 0;
}

static void release_copy(void *payload)
{
    struct copy_task *t = payload;
    if (t->staged.buffer != NULL) {
        staging_return(t->staged);
    }
}

static const struct snpu_task_kind copy_kind = {
    .name = "MEMCPY_ASYNC",
    .prof_type = SNPU_TASK_MEMCPY_ASYNC,
    .ri_type = ACL_MODEL_RI_TASK_DEFAULT,
    .captures = true,
    .run = run_copy,
    .release = release_copy,
};

/* A source that the program declares as device memory is read when the copy runs, wherever it is: kernel variables are
 * ordinary memory here. */
static bool from_host(int32_t kind)
{
    return kind != ACL_MEMCPY_DEVICE_TO_HOST && kind != ACL_MEMCPY_DEVICE_TO_DEVICE &&
           kind != ACL_MEMCPY_INNER_DEVICE_TO_DEVICE && kind != ACL_MEMCPY_INTER_DEVICE_TO_DEVICE;
}

static int32_t submit_copy(const char *function, const struct snpu_copy *copy, struct snpu_stream *stream)
{
    int32_t code = check_copy(function, copy);
    if (code != 0) {
        return code;
    }
    struct copy_task head;
    memset(&head, 0, sizeof(head));
    head.copy = *copy;
    _Alignas(16) char packed[INLINE_STAGING_B];
    uint64_t total_b = copy->width_b * copy->rows, tail_b = 0;
    struct snpu_copy pack = {.dst = packed, .dst_pitch_b = copy->width_b, .width_b = copy->width_b, .rows = copy->rows};
    if (from_host(copy->kind) && snpu__mem_pageable(copy->src) && !snpu_stream_capturing(stream)) {
        if (total_b <= sizeof(packed)) {
            head.in_task = true;
            tail_b = total_b;
        } else {
            head.staged = staging_take(total_b);
            if (head.staged.buffer == NULL) {
                return snpu_fail(ACL_ERROR_RT_MEMORY_ALLOCATION,
                                 "%s: out of host memory for a staging buffer of %llu bytes", function,
                                 (unsigned long long)total_b);
            }
            pack.dst = head.staged.buffer;
        }
        copy_rows(&pack, copy->src, copy->src_pitch_b);
    }
    code = snpu_stream_submit(stream, &copy_kind, &head, sizeof(head), packed, tail_b, NULL);
    if (code != 0) {
        release_copy(&head);
        return code;
    }
    uint32_t dev = snpu_stream_dev(stream);
    if (snpu_prof_tracks_on(dev)) {
        snpu_prof_memcpy(dev, snpu_stream_id(stream), total_b, (uint16_t)resolved_kind(copy));
    }
    return 0;
}

int32_t snpu_copy_async(const char *function, const struct snpu_copy *copy, void *handle)
{
    struct snpu_stream *stream;
    int32_t code = snpu_stream_resolve(function, handle, &stream);
    if (code != 0 || copy->width_b == 0 || copy->rows == 0) {
        return code;
    }
    return submit_copy(function, copy, stream);
}

int32_t snpu_copy_async_or_wait(const char *function, const struct snpu_copy *copy, void *handle)
{
    struct snpu_stream *stream;
    int32_t code = snpu_stream_resolve(function, handle, &stream);
    if (code != 0 || copy->width_b == 0 || copy->rows == 0) {
        return code;
    }
    code = submit_copy(function, copy, stream);
    bool wait = snpu__mem_pageable(copy->src) || snpu__mem_pageable(copy->dst);
    if (code == 0 && wait && !snpu_stream_capturing(stream)) {
        code = snpu_stream_synchronize(stream, -1);
    }
    return code;
}

/* ---- rt* entry points ---- */
/* The later ACL and runtime kinds have different numbers. */
static const int8_t acl_kinds[] = {
    [RT_MEMCPY_HOST_TO_HOST] = ACL_MEMCPY_HOST_TO_HOST,
    [RT_MEMCPY_HOST_TO_DEVICE] = ACL_MEMCPY_HOST_TO_DEVICE,
    [RT_MEMCPY_DEVICE_TO_HOST] = ACL_MEMCPY_DEVICE_TO_HOST,
    [RT_MEMCPY_DEVICE_TO_DEVICE] = ACL_MEMCPY_DEVICE_TO_DEVICE,
    [RT_MEMCPY_MANAGED] = ACL_MEMCPY_DEFAULT,
    [RT_MEMCPY_ADDR_DEVICE_TO_DEVICE] = -1, /* addresses in memory: not supported by these calls */
    [RT_MEMCPY_HOST_TO_DEVICE_EX] = ACL_MEMCPY_HOST_TO_DEVICE,
    [RT_MEMCPY_DEVICE_TO_HOST_EX] = ACL_MEMCPY_DEVICE_TO_HOST,
    [RT_MEMCPY_DEFAULT] = ACL_MEMCPY_DEFAULT,
};

static int32_t flat_copy(const char *function, void *dst, uint64_t dst_max_b, const void *src, uint64_t size_b,
                         rtMemcpyKind_t kind, struct snpu_copy *out)
{
    if ((size_t)kind >= MS_COUNT_OF(acl_kinds) || acl_kinds[kind] < 0) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: unknown kind %d", function, (int)kind);
    }
    if (size_b > dst_max_b) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: %llu bytes do not fit a destination of %llu", function,
                         (unsigned long long)size_b, (unsigned long long)dst_max_b);
    }
    *out = (struct snpu_copy){dst, src, size_b, size_b, size_b, 1, acl_kinds[kind]};
    return 0;
}

rtError_t rtMemcpy(void *dst, uint64_t destMax, const void *src, uint64_t cnt, rtMemcpyKind_t kind)
{
    SNPU_PROF_RT_CALL(MEM_COPY_SYNC);
    struct snpu_copy copy;
    int32_t code = flat_copy("rtMemcpy", dst, destMax, src, cnt, kind, &copy);
    return code != 0 ? code : snpu_copy_now("rtMemcpy", &copy);
}

rtError_t rtMemcpyAsync(void *dst, uint64_t destMax, const void *src, uint64_t cnt, rtMemcpyKind_t kind, rtStream_t stm)
{
    SNPU_PROF_RT_CALL(MEMCPY_ASYNC);
    struct snpu_copy copy;
    int32_t code = flat_copy("rtMemcpyAsync", dst, destMax, src, cnt, kind, &copy);
    return code != 0 ? code : snpu_copy_async("rtMemcpyAsync", &copy, stm);
}

/* ---- fills ---- */
struct fill_task {
    void *dst;
    uint64_t size_b;
    uint32_t value;
    bool words;
};

static void fill(const struct fill_task *t)
{
    if (!t->words) {
        memset(t->dst, (int)t->value, t->size_b);
        return;
    }
    char *to = t->dst;
    for (uint64_t i = 0; i < t->size_b; i += sizeof(t->value)) {
        memcpy(to + i, &t->value, sizeof(t->value));
    }
}

static int32_t run_fill(struct snpu_task *task)
{
    const struct fill_task *t = (const struct fill_task *)task->payload;
    if (!snpu__mem_touchable(t->dst, t->size_b, SNPU_WRITE)) {
        return ACL_ERROR_RT_SYS_DMA;
    }
    fill(t);
    return 0;
}

static const struct snpu_task_kind fill_kind = {
    .name = "MEMCPY_ASYNC", /* the hardware fills by copying, and reports it as a copy */
    .prof_type = SNPU_TASK_MEMCPY_ASYNC,
    .ri_type = ACL_MODEL_RI_TASK_DEFAULT,
    .captures = true,
    .run = run_fill,
};

static int32_t fill_now(const char *function, const struct fill_task *t)
{
    struct snpu_ctx *ctx;
    int32_t code = snpu_ctx_need(function, &ctx);
    if (code == 0) {
        code = snpu_capture_check_unsafe(function);
    }
    if (code == 0 && t->size_b > 0) {
        code = snpu__mem_check(function, "destination", t->dst, t->size_b, SNPU_WRITE);
    }
    if (code != 0 || t->size_b == 0) {
        return code;
    }
    fill(t);
    snpu_prof_memset(ctx->dev, SNPU_PROF_NO_STREAM, t->size_b, t->value);
    return 0;
}

static int32_t fill_async(const char *function, const struct fill_task *t, void *handle)
{
    struct snpu_stream *stream;
    int32_t code = snpu_stream_resolve(function, handle, &stream);
    if (code == 0 && t->size_b > 0) {
        code = snpu__mem_check(function, "destination", t->dst, t->size_b, SNPU_WRITE);
    }
    if (code != 0 || t->size_b == 0) {
        return code;
    }
    code = snpu_stream_submit(stream, &fill_kind, t, sizeof(*t), NULL, 0, NULL);
    if (code == 0) {
        snpu_prof_memset(snpu_stream_dev(stream), snpu_stream_id(stream), t->size_b, t->value);
    }
    return code;
}

static int32_t check_fill(const char *function, const void *dst, uint64_t max_b, uint64_t size_b)
{
    if (dst == NULL || size_b > max_b) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: cannot fill %llu of %llu bytes at %p", function,
                         (unsigned long long)size_b, (unsigned long long)max_b, dst);
    }
    return 0;
}

rtError_t rtMemset(void *devPtr, uint64_t destMax, uint32_t val, uint64_t cnt)
{
    SNPU_PROF_RT_CALL(MEMSET);
    const struct fill_task t = {.dst = devPtr, .size_b = cnt, .value = val & 0xff};
    int32_t code = check_fill("rtMemset", devPtr, destMax, cnt);
    return code != 0 ? code : fill_now("rtMemset", &t);
}

rtError_t rtMemsetAsync(void *ptr, uint64_t destMax, uint32_t val, uint64_t cnt, rtStream_t stm)
{
    SNPU_PROF_RT_CALL(MEMSET_ASYNC);
    const struct fill_task t = {.dst = ptr, .size_b = cnt, .value = val & 0xff};
    int32_t code = check_fill("rtMemsetAsync", ptr, destMax, cnt);
    return code != 0 ? code : fill_async("rtMemsetAsync", &t, stm);
}

int32_t snpu_fill_words(const char *function, void *dst, uint32_t value, uint64_t count)
{
    const struct fill_task t = {.dst = dst, .size_b = count * sizeof(value), .value = value, .words = true};
    return fill_now(function, &t);
}

int32_t snpu_fill_words_async(const char *function, void *dst, uint32_t value, uint64_t count, void *stream)
{
    const struct fill_task t = {.dst = dst, .size_b = count * sizeof(value), .value = value, .words = true};
    return fill_async(function, &t, stream);
}
