/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels as tasks.
 *
 * The payload is self-contained: the code to run, a reference to the image that contains it, the argument bytes and
 * where to patch addresses into them. Each execution works on a fresh, 64-byte aligned copy of the arguments, so a
 * captured kernel starts from the same bytes at every replay, whatever it did to them.
 *
 * Threads and locks: launching takes no lock of this file; kernels run on the stream's thread and on the cores.
 * Failure: invalid handles, sizes and offsets are refused in the call with 107000. A kernel that fails (an injected
 * fault, a fault of its own, arguments in freed device memory, a timeout) fails its task. */
#include "softnpu/runtime/launch.h"

#include "base/clock.h"
#include "softnpu/hal/hal_ext.h"
#include "softnpu/runtime/error.h"
#include "softnpu/runtime/memory.h"
#include "softnpu/runtime/prof.h"
#include "softnpu/runtime/trap.h"

#include "acl/acl.h"
#include "runtime/rt.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BLOCKS    65535u
#define STACK_ARGS_B  4096u
#define STACK_PATCHES 32u
#define NOOP_NS       5000u /* run time of a genuine device binary's kernel */

struct kernel_task {
    snpu_block_fn fn;
    const char *name;
    struct snpu_image *image; /* one reference */
    void *func;               /* the handle, for exceptions and task parameters */
    void *dev_args;           /* arguments in device memory; NULL: they follow the patches */
    uint64_t timeout_us;
    uint32_t blocks, args_b;
    uint32_t patch_count;
    uint32_t core;
    struct snpu_patch patches[];
};

static size_t head_b(size_t patch_count)
{
    return sizeof(struct kernel_task) + patch_count * sizeof(struct snpu_patch);
}

static void *args_of(const struct kernel_task *t)
{
    return (char *)(uintptr_t)t + head_b(t->patch_count);
}

/* ---- running ---- */
static void wait_until(struct snpu_task *task, uint64_t until_ns)
{
    static const uint32_t idle_word; /* never changes: a plain timed wait */
    for (uint64_t now = ms_clock_raw_ns(); now < until_ns; now = ms_clock_raw_ns()) {
        uint64_t left_ms = (until_ns - now) / 1000000;
        if (left_ms > 0 &&
            snpu_task_wait(task, &idle_word, 0, (int32_t)(left_ms < 1000 ? left_ms : 1000)) == -ECANCELED) {
            return;
        }
    }
}

static __attribute__((cold)) int32_t faulted(const struct kernel_task *t, const struct snpu_trap *trap)
{
    char what[96] = "";
    snpu__trap_describe(trap, what, sizeof(what));
    snpu_task_note("kernel %s, block %u of %u: %s", t->name, trap->block, t->blocks, what);
    return t->core == SNPU_CORE_AICPU ? ACL_ERROR_RT_AICPU_EXCEPTION : ACL_ERROR_RT_AICORE_EXCEPTION;
}

static int32_t run_blocks(struct snpu_task *task, const struct kernel_task *t, void *args)
{
    struct snpu_trap trap;
    if (t->fn == NULL) {
        wait_until(task, ms_clock_raw_ns() + NOOP_NS);
    } else if (MS_UNLIKELY(!snpu__cores_run(t->fn, args, t->blocks, &trap))) {
        return faulted(t, &trap);
    }
    return 0;
}

static int32_t execute(struct snpu_task *task, const struct kernel_task *t, void *args)
{
    double slow = snpu_fault_slow_factor(snpu_stream_dev(task->stream));
    if (MS_LIKELY(slow <= 1.0 && t->timeout_us == 0)) {
        return run_blocks(task, t, args);
    }
    uint64_t begin_ns = ms_clock_raw_ns();
    int32_t code = run_blocks(task, t, args);
    uint64_t took_ns = ms_clock_raw_ns() - begin_ns;
    if (slow > 1.0) {
        took_ns = (uint64_t)((double)took_ns * slow);
        wait_until(task, begin_ns + took_ns);
    }
    return code == 0 && t->timeout_us != 0 && took_ns / 1000 > t->timeout_us ? ACL_ERROR_RT_AICORE_TIMEOUT : code;
}

static void prepare(const struct kernel_task *t, char *args)
{
    memcpy(args, args_of(t), t->args_b);
    for (uint32_t i = 0; i < t->patch_count; i++) {
        const void *address = args + t->patches[i].data_off;
        memcpy(args + t->patches[i].addr_off, &address, sizeof(address));
    }
}

/* The common case has its own stack frame, so large arguments do not enlarge it. */
static __attribute__((noinline)) int32_t execute_on_stack(struct snpu_task *task, const struct kernel_task *t)
{
    _Alignas(64) char args[STACK_ARGS_B];
    prepare(t, args);
    return execute(task, t, args);
}

static __attribute__((noinline)) int32_t execute_on_heap(struct snpu_task *task, const struct kernel_task *t)
{
    char *args = aligned_alloc(64, MS_ROUND_UP((size_t)t->args_b, 64));
    if (args == NULL) {
        return ACL_ERROR_RT_RESOURCE_ALLOC_FAIL;
    }
    prepare(t, args);
    int32_t code = execute(task, t, args);
    free(args);
    return code;
}

static int32_t run_kernel(struct snpu_task *task)
{
    const struct kernel_task *t = (const struct kernel_task *)task->payload;
    uint32_t dev = snpu_stream_dev(task->stream);
    switch (snpu_fault_on_kernel(dev, t->name)) {
    case SNPU_FAULT_NONE:
        break;
    case SNPU_FAULT_KERNEL_ERROR:
        snpu_task_note("kernel %s: injected error", t->name);
        return ACL_ERROR_RT_AICORE_EXCEPTION;
    case SNPU_FAULT_LOST_TASK:
        return snpu_task_lose(task);
    case SNPU_FAULT_RESET:
        snpu_dev_lose(dev);
        return ACL_ERROR_RT_LOST_HEARTBEAT;
    }
    if (t->dev_args != NULL) {
        return snpu__mem_touchable(t->dev_args, t->args_b, SNPU_READ) ? execute(task, t, t->dev_args)
                                                                      : ACL_ERROR_RT_AICORE_EXCEPTION;
    }
    return t->args_b <= STACK_ARGS_B ? execute_on_stack(task, t) : execute_on_heap(task, t);
}

static void release_kernel(void *payload)
{
    snpu__image_put(((struct kernel_task *)payload)->image);
}

/* ---- kinds: one per kind of core ---- */
static const uint32_t prof_types[SNPU_CORE_COUNT] = {
    [SNPU_CORE_AICORE] = SNPU_TASK_KERNEL_AICORE,   [SNPU_CORE_CUBE] = SNPU_TASK_KERNEL_AICORE,
    [SNPU_CORE_VECTOR] = SNPU_TASK_KERNEL_AIVEC,    [SNPU_CORE_MIX_AIC] = SNPU_TASK_KERNEL_MIX_AIC,
    [SNPU_CORE_MIX_AIV] = SNPU_TASK_KERNEL_MIX_AIV, [SNPU_CORE_AICPU] = SNPU_TASK_KERNEL_AICPU,
};

static void track_kernel(const void *payload, const char **kernel_name, uint32_t *prof_type, uint16_t *blocks,
                         uint16_t *args_b)
{
    const struct kernel_task *t = payload;
    *kernel_name = t->name;
    *prof_type = prof_types[t->core];
    *blocks = (uint16_t)t->blocks;
    *args_b = (uint16_t)(t->args_b < UINT16_MAX ? t->args_b : UINT16_MAX);
}

static void describe_kernel(const void *payload, void **args, uint32_t *args_b, void **func)
{
    const struct kernel_task *t = payload;
    *args = t->dev_args != NULL ? t->dev_args : args_of(t);
    *args_b = t->args_b;
    *func = t->func;
}

/* Calls the callback of aclrtBinarySetExceptionCallback. */
static void kernel_failed(const void *payload, struct rtExceptionInfo *info)
{
    struct snpu_image *image = ((const struct kernel_task *)payload)->image;
    if (image != NULL) {
        snpu__image_report_exception(image, info);
    }
}

static int32_t get_params(const void *payload, void *params);
static int32_t set_params(const void *payload, const void *params, void **out, size_t *out_b);

#define KERNEL_KIND(text, type)                                                                                        \
    {                                                                                                                  \
        .name = text, .prof_type = type, .ri_type = ACL_MODEL_RI_TASK_KERNEL, .captures = true, .run = run_kernel,     \
        .release = release_kernel, .track = track_kernel, .describe = describe_kernel, .failed = kernel_failed,        \
        .ri_get = get_params, .ri_set = set_params,                                                                    \
    }
static const struct snpu_task_kind kinds[SNPU_CORE_COUNT] = {
    [SNPU_CORE_AICORE] = KERNEL_KIND("KERNEL_AICORE", SNPU_TASK_KERNEL_AICORE),
    [SNPU_CORE_CUBE] = KERNEL_KIND("KERNEL_AICORE", SNPU_TASK_KERNEL_AICORE),
    [SNPU_CORE_VECTOR] = KERNEL_KIND("KERNEL_AIVEC", SNPU_TASK_KERNEL_AIVEC),
    [SNPU_CORE_MIX_AIC] = KERNEL_KIND("KERNEL_MIX_AIC", SNPU_TASK_KERNEL_MIX_AIC),
    [SNPU_CORE_MIX_AIV] = KERNEL_KIND("KERNEL_MIX_AIV", SNPU_TASK_KERNEL_MIX_AIV),
    [SNPU_CORE_AICPU] = KERNEL_KIND("KERNEL_AICPU", SNPU_TASK_KERNEL_AICPU),
};

/* ---- launching ---- */
static int32_t check_patch(const struct snpu_launch *l, const struct snpu_patch *patch)
{
    if (l->args_b < sizeof(void *) || patch->addr_off > l->args_b - sizeof(void *) || patch->data_off > l->args_b) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID,
                         "%s: invalid placeholder at %u for data at %u in %zu bytes of arguments", l->function,
                         patch->addr_off, patch->data_off, l->args_b);
    }
    return 0;
}

static int32_t check_launch(const struct snpu_launch *l)
{
    if (MS_UNLIKELY(l->blocks == 0 || l->blocks > MAX_BLOCKS)) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: invalid block count %u (1 to %u)", l->function, l->blocks,
                         MAX_BLOCKS);
    }
    if (MS_UNLIKELY((l->args == NULL && l->args_b > 0) || (l->patches == NULL && l->patch_count > 0))) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: %s are missing", l->function,
                         l->args == NULL ? "arguments" : "placeholders");
    }
    for (size_t i = 0; i < l->patch_count; i++) {
        int32_t code = check_patch(l, &l->patches[i]);
        if (code != 0) {
            return code;
        }
    }
    return l->has_tiling ? check_patch(l, &l->tiling) : 0;
}

/* Fills the head of the payload, except the reference to the image. */
static void fill_head(struct kernel_task *t, const struct snpu_launch *l, size_t patch_count, void *dev_args)
{
    const struct snpu_func *func = l->func;
    *t = (struct kernel_task){
        .fn = func->fn,
        .name = func->name,
        .image = func->image,
        .func = l->func,
        .dev_args = dev_args,
        .timeout_us = l->timeout_us,
        .blocks = l->blocks,
        .args_b = (uint32_t)l->args_b,
        .patch_count = (uint32_t)patch_count,
        .core = l->vector ? SNPU_CORE_VECTOR : func->core,
    };
    if (l->patch_count > 0) {
        memcpy(t->patches, l->patches, l->patch_count * sizeof(*l->patches));
    }
    if (l->has_tiling) {
        t->patches[l->patch_count] = l->tiling;
    }
}

static int32_t submit_kernel(const struct snpu_launch *l, struct snpu_stream *stream, struct kernel_task *head,
                             size_t patch_count)
{
    void *dev_args =
        l->args_b > 0 && patch_count == 0 && snpu__mem_on_device(l->args) ? (void *)(uintptr_t)l->args : NULL;
    if (dev_args == NULL && l->args_b > SNPU_PAYLOAD_MAX - head_b(patch_count)) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: %zu bytes of arguments exceed the limit", l->function,
                         l->args_b);
    }
    fill_head(head, l, patch_count, dev_args);
    snpu__image_get(head->image);
    int32_t code = snpu_stream_submit(stream, &kinds[head->core], head, head_b(patch_count), l->args,
                                      dev_args != NULL ? 0 : l->args_b, NULL);
    if (code != 0) {
        snpu__image_put(head->image);
    }
    return code;
}

static int32_t launch_many_patches(const struct snpu_launch *l, struct snpu_stream *stream, size_t patch_count)
{
    if (patch_count > SNPU_PAYLOAD_MAX / sizeof(struct snpu_patch) / 2) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: %zu placeholders exceed the limit", l->function, patch_count);
    }
    struct kernel_task *head = malloc(head_b(patch_count));
    if (head == NULL) {
        return snpu_fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "%s: out of host memory", l->function);
    }
    int32_t code = submit_kernel(l, stream, head, patch_count);
    free(head);
    return code;
}

int32_t snpu__launch(const struct snpu_launch *l)
{
    struct snpu_stream *stream;
    int32_t code = check_launch(l);
    if (code == 0) {
        code = snpu_stream_resolve(l->function, l->stream, &stream);
    }
    if (code != 0) {
        return code;
    }
    size_t patch_count = l->patch_count + l->has_tiling;
    if (patch_count > STACK_PATCHES) {
        return launch_many_patches(l, stream, patch_count);
    }
    union {
        struct kernel_task task;
        char storage[sizeof(struct kernel_task) + STACK_PATCHES * sizeof(struct snpu_patch)];
    } head;
    return submit_kernel(l, stream, &head.task, patch_count);
}

/* ---- parameters of captured kernels ---- */
static int32_t get_params(const void *payload, void *params)
{
    const struct kernel_task *t = payload;
    aclmdlRIKernelTaskParams *out = &((aclmdlRITaskParams *)params)->kernelTaskParams;
    memset(out, 0, sizeof(*out));
    out->funcHandle = t->func;
    out->args = t->dev_args != NULL ? t->dev_args : args_of(t);
    out->isHostArgs = t->dev_args == NULL;
    out->argsSize = t->args_b;
    out->numBlocks = t->blocks;
    return 0;
}

static int32_t set_params(const void *payload, const void *params, void **out, size_t *out_b)
{
    static const char function[] = "aclmdlRITaskSetParams";
    const struct kernel_task *old = payload;
    const aclmdlRIKernelTaskParams *in = &((const aclmdlRITaskParams *)params)->kernelTaskParams;
    struct snpu_launch l = {
        .function = function,
        .func = snpu__func_of(function, in->funcHandle),
        .blocks = in->numBlocks,
        .args = in->args,
        .args_b = in->argsSize,
        .timeout_us = old->timeout_us,
    };
    if (l.func == NULL) {
        return ACL_ERROR_RT_PARAM_INVALID;
    }
    /* Placeholders belong to the argument layout: kept if the layout is unchanged. */
    if (in->isHostArgs && old->dev_args == NULL && old->args_b == in->argsSize) {
        l.patches = old->patches;
        l.patch_count = old->patch_count;
    }
    int32_t code = check_launch(&l);
    if (code != 0) {
        return code;
    }
    void *dev_args = in->isHostArgs ? NULL : in->args;
    size_t total_b = head_b(l.patch_count) + (dev_args != NULL ? 0 : l.args_b);
    if (l.args_b > SNPU_PAYLOAD_MAX || total_b > SNPU_PAYLOAD_MAX) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: %zu bytes of arguments exceed the limit", function, l.args_b);
    }
    struct kernel_task *t = malloc(total_b);
    if (t == NULL) {
        return snpu_fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "%s: out of host memory", function);
    }
    fill_head(t, &l, l.patch_count, dev_args);
    if (dev_args == NULL && l.args_b > 0) {
        memcpy(args_of(t), l.args, l.args_b);
    }
    snpu__image_get(t->image);
    *out = t;
    *out_b = total_b;
    return 0;
}
