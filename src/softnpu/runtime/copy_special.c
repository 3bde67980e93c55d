/* SPDX-License-Identifier: Apache-2.0 */
/* Copies whose operands are in memory, reductions, cache maintenance: tasks that read their parameters when they run.
 *
 * Threads: run functions execute on the stream's thread. Failure: an invalid address fails the task with 507013, as for
 * a DMA. */
#include "softnpu/runtime/copy.h"

#include "base/half.h"
#include "softnpu/runtime/context.h"
#include "softnpu/runtime/error.h"
#include "softnpu/runtime/memory.h"
#include "softnpu/runtime/prof.h"
#include "softnpu/runtime/task.h"

#include "acl/acl.h"

#include <string.h>

static int32_t submit(const char *function, void *handle, const struct snpu_task_kind *kind, const void *payload,
                      size_t payload_b)
{
    struct snpu_stream *stream;
    int32_t code = snpu_stream_resolve(function, handle, &stream);
    return code != 0 ? code : snpu_stream_submit(stream, kind, payload, payload_b, NULL, 0, NULL);
}

static int32_t copy_checked(void *dst, const void *src, uint64_t size_b)
{
    if (!snpu__mem_touchable(dst, size_b, SNPU_WRITE) || !snpu__mem_touchable(src, size_b, SNPU_READ)) {
        return ACL_ERROR_RT_SYS_DMA;
    }
    memmove(dst, src, size_b);
    return 0;
}

/* ---- addresses in memory ---- */
static int32_t run_indirect(struct snpu_task *task)
{
    const struct snpu_copy_indirect *t = (const struct snpu_copy_indirect *)task->payload;
    if (!snpu__mem_touchable(t->dst, sizeof(*t->dst), SNPU_READ) ||
        !snpu__mem_touchable(t->src, sizeof(*t->src), SNPU_READ)) {
        return ACL_ERROR_RT_SYS_DMA;
    }
    return copy_checked((char *)*t->dst + t->dst_off, (const char *)*t->src + t->src_off, t->size_b);
}

static const struct snpu_task_kind indirect_kind = {
    .name = "MEMCPY_ASYNC",
    .prof_type = SNPU_TASK_MEMCPY_ASYNC,
    .ri_type = ACL_MODEL_RI_TASK_DEFAULT,
    .captures = true,
    .run = run_indirect,
};

int32_t snpu_copy_indirect(const char *function, const struct snpu_copy_indirect *copy, void *stream)
{
    if (copy->dst_off > copy->dst_max_b || copy->size_b > copy->dst_max_b - copy->dst_off) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: %llu bytes at offset %llu exceed a destination of %llu",
                         function, (unsigned long long)copy->size_b, (unsigned long long)copy->dst_off,
                         (unsigned long long)copy->dst_max_b);
    }
    int32_t code = snpu__mem_check(function, "destination address", copy->dst, sizeof(*copy->dst), SNPU_READ);
    if (code == 0) {
        code = snpu__mem_check(function, "source address", copy->src, sizeof(*copy->src), SNPU_READ);
    }
    return code != 0 ? code : submit(function, stream, &indirect_kind, copy, sizeof(*copy));
}

/* ---- descriptors ---- */
struct copy_desc {
    uint64_t magic;
    void *dst;
    const void *src;
    uint64_t size_b;
    uint64_t reserved[4];
};
_Static_assert(sizeof(struct copy_desc) == SNPU_COPY_DESC_B, "size reported to programs");

#define COPY_DESC_MAGIC UINT64_C(0x6373656479706f63) /* "copydesc" */

int32_t snpu_copy_desc_write(void *desc, void *dst, const void *src, uint64_t size_b)
{
    const struct copy_desc d = {.magic = COPY_DESC_MAGIC, .dst = dst, .src = src, .size_b = size_b};
    int32_t code = snpu__mem_check("aclrtSetMemcpyDesc", "descriptor", desc, sizeof(d), SNPU_WRITE);
    if (code == 0) {
        memcpy(desc, &d, sizeof(d));
    }
    return code;
}

static int32_t run_desc(struct snpu_task *task)
{
    struct copy_desc d;
    const void *desc;
    memcpy(&desc, task->payload, sizeof(desc));
    if (!snpu__mem_touchable(desc, sizeof(d), SNPU_READ)) {
        return ACL_ERROR_RT_SYS_DMA;
    }
    memcpy(&d, desc, sizeof(d));
    return d.magic == COPY_DESC_MAGIC ? copy_checked(d.dst, d.src, d.size_b) : ACL_ERROR_RT_SYS_DMA;
}

static const struct snpu_task_kind desc_kind = {
    .name = "MEMCPY_ASYNC",
    .prof_type = SNPU_TASK_MEMCPY_ASYNC,
    .ri_type = ACL_MODEL_RI_TASK_DEFAULT,
    .captures = true,
    .run = run_desc,
};

int32_t snpu_copy_desc_run(void *desc, void *stream)
{
    int32_t code = snpu__mem_check("aclrtMemcpyAsyncWithDesc", "descriptor", desc, SNPU_COPY_DESC_B, SNPU_READ);
    return code != 0 ? code : submit("aclrtMemcpyAsyncWithDesc", stream, &desc_kind, &desc, sizeof(desc));
}

/* ---- reductions ---- */
enum reduce_op { OP_SUM, OP_MAX, OP_MIN, OP_COUNT };

typedef void (*reduce_fn)(void *dst, const void *src, uint64_t count);

/* Element types: how to load, how to store, and the type to compute in. */
#define LOAD_PLAIN(x)  (x)
#define STORE_PLAIN(x) (x)
#define REDUCE(suffix, element, load, store, opname, expression)                                                       \
    static void reduce_##suffix##_##opname(void *dst, const void *src, uint64_t count)                                 \
    {                                                                                                                  \
        for (uint64_t i = 0; i < count; i++) {                                                                         \
            element to, from;                                                                                          \
            memcpy(&to, (char *)dst + i * sizeof(element), sizeof(element));                                           \
            memcpy(&from, (const char *)src + i * sizeof(element), sizeof(element));                                   \
            __auto_type a = load(to);                                                                                  \
            __auto_type b = load(from);                                                                                \
            to = (element)store((expression));                                                                         \
            memcpy((char *)dst + i * sizeof(element), &to, sizeof(element));                                           \
        }                                                                                                              \
    }
#define REDUCE_ALL(suffix, element, load, store)                                                                       \
    REDUCE(suffix, element, load, store, sum, a + b)                                                                   \
    REDUCE(suffix, element, load, store, max, a > b ? a : b)                                                           \
    REDUCE(suffix, element, load, store, min, a < b ? a : b)

REDUCE_ALL(f32, float, LOAD_PLAIN, STORE_PLAIN)
REDUCE_ALL(f16, uint16_t, ms_half_to_float, ms_float_to_half)
REDUCE_ALL(bf16, uint16_t, ms_bf16_to_float, ms_float_to_bf16)
REDUCE_ALL(i8, uint8_t, (int8_t), (uint8_t))
REDUCE_ALL(i16, uint16_t, (int16_t), (uint16_t))

static int64_t load_i32(uint32_t x)
{
    return (int32_t)x;
}
REDUCE_ALL(i32, uint32_t, load_i32, (uint32_t))

#define ROW(suffix)                                                                                                    \
    {                                                                                                                  \
        reduce_##suffix##_sum, reduce_##suffix##_max, reduce_##suffix##_min                                            \
    }
static const struct {
    int32_t type;
    uint32_t element_b;
    reduce_fn fn[OP_COUNT];
} reductions[] = {
    {ACL_FLOAT, 4, ROW(f32)}, {ACL_FLOAT16, 2, ROW(f16)}, {ACL_BF16, 2, ROW(bf16)},
    {ACL_INT8, 1, ROW(i8)},   {ACL_INT16, 2, ROW(i16)},   {ACL_INT32, 4, ROW(i32)},
};

struct reduce_task {
    void *dst;
    const void *src;
    uint64_t size_b;
    uint32_t row, op;
};

static int32_t run_reduce(struct snpu_task *task)
{
    const struct reduce_task *t = (const struct reduce_task *)task->payload;
    if (!snpu__mem_touchable(t->dst, t->size_b, SNPU_WRITE) || !snpu__mem_touchable(t->src, t->size_b, SNPU_READ)) {
        return ACL_ERROR_RT_SYS_DMA;
    }
    reductions[t->row].fn[t->op](t->dst, t->src, t->size_b / reductions[t->row].element_b);
    return 0;
}

static const struct snpu_task_kind reduce_kind = {
    .name = "REDUCE_ASYNC_V2",
    .prof_type = SNPU_TASK_REDUCE_ASYNC_V2,
    .ri_type = ACL_MODEL_RI_TASK_DEFAULT,
    .captures = true,
    .run = run_reduce,
};

int32_t snpu_reduce_async(void *dst, const void *src, uint64_t size_b, int32_t op, int32_t type, void *stream)
{
    static const char function[] = "aclrtReduceAsync";
    struct reduce_task t = {.dst = dst, .src = src, .size_b = size_b, .row = MS_COUNT_OF(reductions)};
    for (uint32_t i = 0; i < MS_COUNT_OF(reductions); i++) {
        if (reductions[i].type == type) {
            t.row = i;
        }
    }
    if (op == ACL_RT_MEMCPY_SDMA_AUTOMATIC_EQUAL) {
        return snpu_fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "%s: only sum, max and min are supported", function);
    }
    if (op < ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM || op > ACL_RT_MEMCPY_SDMA_AUTOMATIC_MIN ||
        t.row == MS_COUNT_OF(reductions) || size_b % reductions[t.row].element_b != 0) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: cannot apply reduction %d to %llu bytes of data type %d",
                         function, op, (unsigned long long)size_b, type);
    }
    t.op = (uint32_t)(op - ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM);
    int32_t code = snpu__mem_check(function, "destination", dst, size_b, SNPU_WRITE);
    if (code == 0) {
        code = snpu__mem_check(function, "source", src, size_b, SNPU_READ);
    }
    return code != 0 ? code : submit(function, stream, &reduce_kind, &t, sizeof(t));
}

/* ---- cache maintenance ---- */
static int32_t run_nothing(struct snpu_task *task)
{
    (void)task;
    return 0;
}

static const struct snpu_task_kind cmo_kind = {
    .name = "CMO",
    .prof_type = SNPU_TASK_CMO,
    .ri_type = ACL_MODEL_RI_TASK_DEFAULT,
    .captures = true,
    .run = run_nothing,
};

static const struct snpu_task_kind barrier_kind = {
    .name = "BARRIER",
    .prof_type = SNPU_TASK_BARRIER,
    .ri_type = ACL_MODEL_RI_TASK_DEFAULT,
    .captures = true,
    .run = run_nothing,
};

int32_t snpu_cmo_async(const char *function, const void *src, uint64_t size_b, void *stream)
{
    int32_t code = snpu__mem_check(function, "range", src, size_b, SNPU_READ);
    return code != 0 ? code : submit(function, stream, &cmo_kind, NULL, 0);
}

int32_t snpu_cmo_barrier(void *stream)
{
    return submit("aclrtCmoWaitBarrier", stream, &barrier_kind, NULL, 0);
}
