/* SPDX-License-Identifier: Apache-2.0 */
/* Known defects, planted on request, so that tests know what tools must find. Each occurs in real jobs. The end prints
 * where they were planted, one line each:   planted: kind=leak rank=0 device=0 step=3
 * operator=torch._ops.aten.clone.default
 *     size=1048576 block=1049088 address=0x...
 * size is what the operator requested, block what the pool allocated and reports to tools. */
#include "train.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    IDLE_OPERATORS = 3200, /* tools report a block as idle after 3000 operators without access */
    FRAGMENT_PIECES = 16,
};

#define MIB ((size_t)1024 * 1024)

struct planted {
    const char *kind;
    int64_t step;
    char operator_name[96];
    size_t size_b, block_b;
    uintptr_t address;
    char detail[128]; /* further key=value pairs */
    struct planted *next;
};

struct defects {
    int64_t planted_step; /* step of a single defect */
    const char *corrupt_name;
    bool corrupted;
    struct tensor *early, *late, *idle;
    struct tensor *pieces[FRAGMENT_PIECES];
    struct planted *first, **last;
};

/* Snapshot visitor: the block of a planted tensor. */
static int find_block(const struct npool_block_info *block, void *arg)
{
    struct planted *planted = arg;
    if (block->ptr != planted->address) {
        return 0;
    }
    planted->block_b = block->size_b;
    return 1;
}

static void remember(struct trainer *trainer, const char *kind, const struct tensor *tensor, const char *detail, ...)
    __attribute__((format(printf, 4, 5)));

static void remember(struct trainer *trainer, const char *kind, const struct tensor *tensor, const char *detail, ...)
{
    struct planted *planted = calloc(1, sizeof(*planted));
    if (planted == NULL) {
        fail("no host memory to record a defect");
    }
    planted->kind = kind;
    planted->step = trainer->step;
    planted->size_b = tensor->size_b;
    planted->address = (uintptr_t)tensor->data;
    (void)npool_snapshot(trainer->npu.pool, find_block, planted);
    snprintf(planted->operator_name, sizeof(planted->operator_name), "%s", trainer->npu.operator_name);
    va_list args;
    va_start(args, detail);
    vsnprintf(planted->detail, sizeof(planted->detail), detail, args);
    va_end(args);
    *trainer->defects->last = planted;
    trainer->defects->last = &planted->next;
}

static void print_planted(const struct trainer *trainer, const struct planted *planted)
{
    char text[512];
    if (trainer->options->json) {
        snprintf(text, sizeof(text),
                 "{\"planted\": \"%s\", \"rank\": %u, \"device\": %d, \"step\": %" PRId64
                 ", \"operator\": \"%s\", \"size\": %zu, \"block\": %zu, \"address\": %" PRIuPTR
                 ", \"detail\": \"%s\"}\n",
                 planted->kind, trainer->rank, trainer->npu.device, planted->step, planted->operator_name,
                 planted->size_b, planted->block_b, planted->address, planted->detail);
    } else {
        snprintf(text, sizeof(text),
                 "planted: kind=%s rank=%u device=%d step=%" PRId64
                 " operator=%s size=%zu block=%zu address=0x%" PRIxPTR "%s%s\n",
                 planted->kind, trainer->rank, trainer->npu.device, planted->step, planted->operator_name,
                 planted->size_b, planted->block_b, planted->address, planted->detail[0] != '\0' ? " " : "",
                 planted->detail);
    }
    fputs(text, stdout);
    fflush(stdout); /* one write, so that lines of several processes do not mix */
}

static struct tensor *new_bytes(struct npu *npu, size_t size_b)
{
    return TENSOR(npu, (int64_t)((size_b + 3) / 4));
}

static void launch_fill(struct npu *npu, const struct tensor *tensor, uint32_t pattern)
{
    struct tk_fill_args args = {.dst = tensor->data, .count = tensor->count, .element_b = 4, .pattern = pattern};
    NPU_LAUNCH(npu, fill, tensor->count, args);
}

/* ---- the defects */

/* Keeps a tensor of every step, like a list that is never emptied. */
static void plant_leak(struct trainer *trainer)
{
    struct npu *npu = &trainer->npu;
    op_begin(npu, "clone.default", TENSORS(NULL));
    struct tensor *kept = new_bytes(npu, (size_t)trainer->options->leak_b);
    launch_fill(npu, kept, 0x3f800000);
    op_end(npu, TENSORS(kept));
    remember(trainer, "leak", kept, "%s", "");
    free(kept); /* drops the handle, keeps the memory */
}

/* Allocated at the start of the step, used at its end. */
static void plant_early_alloc(struct trainer *trainer)
{
    struct npu *npu = &trainer->npu;
    op_begin(npu, "empty.memory_format", TENSORS(NULL));
    trainer->defects->early = new_bytes(npu, 4 * MIB);
    op_end(npu, TENSORS(NULL));
    remember(trainer, "early-alloc", trainer->defects->early, "used_by=torch._ops.aten.copy_.default");
}

static void use_early(struct trainer *trainer)
{
    struct npu *npu = &trainer->npu;
    op_begin(npu, "copy_.default", TENSORS(NULL));
    launch_fill(npu, trainer->defects->early, 0);
    op_end(npu, TENSORS(trainer->defects->early));
    tensor_free(npu, &trainer->defects->early);
}

/* Last used in the middle of the step, freed at its end. */
static void plant_late_free(struct trainer *trainer)
{
    struct npu *npu = &trainer->npu;
    op_begin(npu, "clone.default", TENSORS(NULL));
    struct tensor *late = trainer->defects->late = new_bytes(npu, 4 * MIB);
    launch_fill(npu, late, 0);
    op_end(npu, TENSORS(late));
    remember(trainer, "late-free", late, "last_used_by=torch._ops.aten.mul_.Scalar");
    op_begin(npu, "mul_.Scalar", TENSORS(late));
    struct tk_scale_args args = {.x = late->f32, .y = late->f32, .count = late->count, .alpha = 0.5};
    NPU_LAUNCH(npu, scale, late->count, args);
    op_end(npu, TENSORS(late));
}

/* Reads x and uses the sum. */
static void read_one(struct npu *npu, struct tensor *sum, const struct tensor *x)
{
    op_begin(npu, "add_.Tensor", TENSORS(x));
    struct tk_add_args args = {.x = sum->f32, .y = x->f32, .z = sum->f32, .count = 1, .alpha = 1.0, .beta = 0.0};
    NPU_LAUNCH(npu, add, 1, args);
    op_end(npu, TENSORS(sum));
}

/* Used, then unused for thousands of operators, then used again: it could have been swapped out. Everything else that
 * is live is read repeatedly, so that only this tensor is idle. */
static void plant_idle(struct trainer *trainer)
{
    struct npu *npu = &trainer->npu;
    op_begin(npu, "clone.default", TENSORS(NULL));
    struct tensor *idle = trainer->defects->idle = new_bytes(npu, 4 * MIB);
    launch_fill(npu, idle, 0);
    op_end(npu, TENSORS(idle));
    remember(trainer, "idle", idle, "operators=%d", IDLE_OPERATORS);
    struct tensor *sum = TENSOR(npu, 1);
    op_fill_(npu, sum, 0);
    for (size_t i = 0; i < IDLE_OPERATORS;) {
        const struct parameter *param = &trainer->gpt.params[i / 3 % trainer->gpt.count];
        const struct tensor *const state[] = {param->value, param->m, param->v};
        for (size_t k = 0; k < sizeof(state) / sizeof(state[0]); k++, i++) {
            read_one(npu, sum, state[k] != NULL ? state[k] : param->value); /* m and v do not exist in the first step */
        }
    }
    tensor_free(npu, &sum);
}

static void use_idle(struct trainer *trainer)
{
    struct npu *npu = &trainer->npu;
    struct tensor *idle = trainer->defects->idle;
    op_begin(npu, "mul_.Scalar", TENSORS(idle));
    struct tk_scale_args args = {.x = idle->f32, .y = idle->f32, .count = idle->count, .alpha = 0.5};
    NPU_LAUNCH(npu, scale, idle->count, args);
    op_end(npu, TENSORS(idle));
    tensor_free(npu, &trainer->defects->idle);
}

/* Small long-lived blocks between large ones that are freed: the holes cannot be merged. */
static void plant_fragmentation(struct trainer *trainer)
{
    struct npu *npu = &trainer->npu;
    struct tensor *large[FRAGMENT_PIECES];
    op_begin(npu, "cat.default", TENSORS(NULL));
    for (size_t i = 0; i < FRAGMENT_PIECES; i++) {
        large[i] = new_bytes(npu, 8 * MIB - 4096);
        trainer->defects->pieces[i] = new_bytes(npu, 3 * MIB / 2);
        launch_fill(npu, large[i], 0);
        launch_fill(npu, trainer->defects->pieces[i], 0);
        op_access(npu, large[i], true, false);
        op_access(npu, trainer->defects->pieces[i], true, true);
    }
    for (size_t i = 0; i < FRAGMENT_PIECES; i++) {
        tensor_free(npu, &large[i]);
    }
    op_end(npu, TENSORS(NULL));
    struct npool_stats stats;
    check_pool(npool_get_stats(npu->pool, npu->device, &stats), "npool_get_stats");
    remember(trainer, "fragment", trainer->defects->pieces[0], "pieces=%d inactive_split=%" PRIu64, FRAGMENT_PIECES,
             stats.inactive_split_bytes.current);
}

/* The small blocks are in use; only their position is wrong. */
static void use_pieces(struct trainer *trainer)
{
    struct npu *npu = &trainer->npu;
    struct tensor *sum = TENSOR(npu, 1);
    op_fill_(npu, sum, 0);
    for (size_t i = 0; i < FRAGMENT_PIECES; i++) {
        read_one(npu, sum, trainer->defects->pieces[i]);
    }
    tensor_free(npu, &sum);
}

/* Requests as much memory as the device has in total. The job ends here, as a real one does. */
static void plant_oom(struct trainer *trainer)
{
    struct npu *npu = &trainer->npu;
    size_t free_b = 0, total_b = 0;
    check_acl(aclrtGetMemInfo(ACL_HBM_MEM, &free_b, &total_b), "aclrtGetMemInfo");
    op_begin(npu, "empty.memory_format", TENSORS(NULL));
    struct tensor *tensor =
        tensor_try_new(npu, DTYPE_FLOAT32, (const int64_t[TENSOR_DIMS_MAX]){(int64_t)(total_b / 4)});
    if (tensor == NULL) {
        const struct tensor request = {.size_b = total_b};
        remember(trainer, "oom", &request, "%s", "");
        print_planted(trainer, trainer->defects->first);
        fail("step %" PRId64 ": %s", trainer->step, npool_last_error());
    }
    fail("step %" PRId64 ": %zu bytes were allocated although the device has no more in total", trainer->step, total_b);
}

/* A stray kernel: writes into a weight right after another operator, without reporting it. */
static void corrupt_after(struct npu *npu, const char *name, void *arg)
{
    struct trainer *trainer = arg;
    struct defects *defects = trainer->defects;
    if (defects->corrupted || trainer->step != defects->planted_step || strcmp(name, defects->corrupt_name) != 0) {
        return;
    }
    defects->corrupted = true;
    const struct parameter *victim = gpt_layer(&trainer->gpt, 0, GPT_FC_WEIGHT);
    struct tk_fill_args args = {
        .dst = victim->value->data, .count = victim->value->count, .element_b = 4, .pattern = 0x41200000 /* 10.0f */};
    NPU_LAUNCH(npu, fill, victim->value->count, args);
    remember(trainer, "corrupt", victim->value, "victim=%s kernel=fill", victim->name);
}

/* ---- when */

void defects_open(struct trainer *trainer)
{
    const struct train_options *options = trainer->options;
    struct defects *defects = calloc(1, sizeof(*defects));
    if (defects == NULL) {
        fail("no host memory for the defects");
    }
    defects->last = &defects->first;
    /* In the middle, but not in the first step, which tools treat as the start-up of the job. */
    defects->planted_step = (options->steps + 1) / 2 < 2 ? 2 : (options->steps + 1) / 2;
    if (defects->planted_step > options->steps) {
        defects->planted_step = options->steps;
    }
    trainer->defects = defects;
    if (options->corrupt != NULL) {
        defects->corrupt_name = op_find_name(options->corrupt);
        trainer->npu.hook = corrupt_after;
        trainer->npu.hook_arg = trainer;
    }
}

void defects_begin_step(struct trainer *trainer)
{
    if (trainer->options->early_alloc && trainer->step == trainer->defects->planted_step) {
        plant_early_alloc(trainer);
    }
    if (trainer->options->idle && trainer->step == trainer->defects->planted_step) {
        plant_idle(trainer);
    }
}

void defects_middle_of_step(struct trainer *trainer)
{
    const struct train_options *options = trainer->options;
    if (options->leak_b > 0) {
        plant_leak(trainer);
    }
    if (trainer->step != trainer->defects->planted_step) {
        return;
    }
    if (options->late_free) {
        plant_late_free(trainer);
    }
    if (options->fragment) {
        plant_fragmentation(trainer);
    }
    if (options->oom) {
        plant_oom(trainer);
    }
}

void defects_end_step(struct trainer *trainer)
{
    if (trainer->defects->early != NULL) {
        use_early(trainer);
    }
    if (trainer->defects->idle != NULL) {
        use_idle(trainer);
    }
    if (trainer->defects->pieces[0] != NULL) {
        use_pieces(trainer);
    }
    tensor_free(&trainer->npu, &trainer->defects->late);
}

void defects_close(struct trainer *trainer)
{
    struct defects *defects = trainer->defects;
    for (size_t i = 0; i < FRAGMENT_PIECES; i++) {
        tensor_free(&trainer->npu, &defects->pieces[i]);
    }
    for (struct planted *planted = defects->first, *next; planted != NULL; planted = next) {
        next = planted->next;
        print_planted(trainer, planted);
        free(planted);
    }
    if (defects->corrupt_name != NULL && !defects->corrupted) {
        fail("--corrupt: operator %s did not run in step %" PRId64 ", nothing was planted", defects->corrupt_name,
             defects->planted_step);
    }
    free(defects);
    trainer->defects = NULL;
}
