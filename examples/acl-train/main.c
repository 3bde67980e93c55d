/* SPDX-License-Identifier: Apache-2.0 */
/* acl-train: trains a small GPT on one or several NPUs. See README.md. */
#define MSTX_NO_IMPL
#include "mstx/ms_tools_ext.h"

#include "train.h"
#include "../common/options.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define AT(member) offsetof(struct train_options, member)

static const struct option_spec specs[] = {
    {"steps", OPTION_INT, AT(steps), 1, 1000000, "N", 0, "optimizer steps (30)"},
    {"devices", OPTION_INT, AT(devices), 1, 64, "N", 0, "data-parallel devices, one process each (1)"},
    {"layers", OPTION_INT, AT(layers), 1, 256, "N", 0, "transformer layers (2)"},
    {"hidden", OPTION_INT, AT(hidden), 1, 16384, "N", 0, "width (64)"},
    {"heads", OPTION_INT, AT(heads), 1, 256, "N", 0, "attention heads (4)"},
    {"seq", OPTION_INT, AT(seq), 1, 16384, "N", 0, "tokens per sequence (32)"},
    {"batch", OPTION_INT, AT(batch), 1, 4096, "N", 0, "sequences per device and step (8)"},
    {"vocab", OPTION_INT, AT(vocab), 2, 1000000, "N", 0, "vocabulary size (64)"},
    {"lr", OPTION_NUMBER, AT(lr), 0, 0, "RATE", 0, "learning rate (0.003)"},
    {"seed", OPTION_INT, AT(seed), 0, INT64_MAX, "N", 0, "random seed of weights and data (1)"},
    {"loaders", OPTION_INT, AT(loaders), 0, 256, "N", 0,
     "threads that create samples on the device during training (0)"},
    {"kernels", OPTION_TEXT, AT(kernels), 0, 0, "PATH", 0, "operator binary (the installed one)"},
    {"json", OPTION_FLAG, AT(json), 0, 0, NULL, 0, "one JSON object per line"},
    {"announce", OPTION_FLAG, AT(announce), 0, 0, NULL, 0, "report operators and tensor accesses even without a tool"},
    {"check", OPTION_FLAG, AT(check), 0, 0, NULL, 0, "compare gradients with finite differences instead of training"},
    {"leak", OPTION_SIZE, AT(leak_b), 0, (int64_t)1 << 40, "[=BYTES]", 1 << 20,
     "defect: keep a tensor of every step (1M)"},
    {"early-alloc", OPTION_FLAG, AT(early_alloc), 0, 0, NULL, 0,
     "defect: a tensor allocated long before its first use"},
    {"late-free", OPTION_FLAG, AT(late_free), 0, 0, NULL, 0, "defect: a tensor freed long after its last use"},
    {"idle", OPTION_FLAG, AT(idle), 0, 0, NULL, 0, "defect: a tensor unused for 3000 operators between two uses"},
    {"corrupt", OPTION_TEXT, AT(corrupt), 0, 0, "OP", 0,
     "defect: a stray kernel overwrites a weight after this operator"},
    {"fragment", OPTION_FLAG, AT(fragment), 0, 0, NULL, 0, "defect: small blocks between freed large ones"},
    {"oom", OPTION_FLAG, AT(oom), 0, 0, NULL, 0, "defect: request more memory than the device has"},
    {"rank", OPTION_INT, AT(rank), 0, 63, "N", 0, NULL},
    {"root-fd", OPTION_INT, AT(root_fd), 3, 1 << 20, "N", 0, NULL},
};

static int read_options(struct train_options *options, int argc, char **argv)
{
    *options = (struct train_options){.steps = 30,
                                      .devices = 1,
                                      .layers = 2,
                                      .hidden = 64,
                                      .heads = 4,
                                      .seq = 32,
                                      .batch = 8,
                                      .vocab = 64,
                                      .seed = 1,
                                      .lr = 0.003,
                                      .rank = -1,
                                      .root_fd = -1};
    int ret = options_parse(program_name, "Trains a small GPT with data parallelism on NPUs.", specs,
                            sizeof(specs) / sizeof(specs[0]), argc, argv, options);
    if (ret != 0) {
        return ret;
    }
    const struct gpt_shape shape = {.hidden = options->hidden, .heads = options->heads};
    const char *wrong = gpt_check_shape(&shape);
    if (wrong != NULL) {
        fprintf(stderr, "%s: %s (%lld and %lld)\n", program_name, wrong, (long long)options->hidden,
                (long long)options->heads);
        return 2;
    }
    if (options->corrupt != NULL && op_find_name(options->corrupt) == NULL) {
        fprintf(stderr, "%s: --corrupt: unknown operator '%s'; known operators: %s\n", program_name, options->corrupt,
                op_all_names());
        return 2;
    }
    if (options->check && options->devices > 1) {
        fprintf(stderr, "%s: --check works on one device only\n", program_name);
        return 2;
    }
    if ((options->rank >= 0) != (options->root_fd >= 0)) {
        fprintf(stderr, "%s: --rank and --root-fd are only for the processes that --devices starts\n", program_name);
        return 2;
    }
    return 0;
}

struct batch {
    int64_t count;
    int32_t *tokens, *next;
    struct text text;
    struct tensor *ids, *targets;
};

static void open_batch(struct trainer *trainer, struct batch *batch)
{
    const struct train_options *options = trainer->options;
    batch->count = options->batch * options->seq;
    batch->tokens = calloc((size_t)batch->count, sizeof(int32_t));
    batch->next = calloc((size_t)batch->count, sizeof(int32_t));
    if (batch->tokens == NULL || batch->next == NULL) {
        fail("no host memory for a batch of %lld tokens", (long long)batch->count);
    }
    text_open(&batch->text, (uint64_t)options->seed, trainer->rank, options->vocab);
}

static void load_batch(struct trainer *trainer, struct batch *batch)
{
    text_read(&batch->text, batch->count, batch->tokens, batch->next);
    batch->ids = INT_TENSOR(&trainer->npu, batch->count);
    batch->targets = INT_TENSOR(&trainer->npu, batch->count);
    tensor_upload(&trainer->npu, batch->ids, batch->tokens);
    tensor_upload(&trainer->npu, batch->targets, batch->next);
}

static void drop_batch(struct trainer *trainer, struct batch *batch)
{
    tensor_free(&trainer->npu, &batch->ids);
    tensor_free(&trainer->npu, &batch->targets);
}

static void update_parameters(struct trainer *trainer)
{
    struct npu *npu = &trainer->npu;
    const struct adam adam = {.lr = trainer->options->lr,
                              .weight_decay = 0.01,
                              .grad_scale = 1.0 / trainer->world,
                              .step = (uint64_t)trainer->step};
    communicate_wait(trainer);
    for (size_t i = 0; i < trainer->gpt.count; i++) {
        struct parameter *param = &trainer->gpt.params[i];
        if (param->m == NULL) {
            param->m = tensor_like(npu, param->value);
            param->v = tensor_like(npu, param->value);
            op_fill_(npu, param->m, 0);
            op_fill_(npu, param->v, 0);
        }
        op_adamw_(npu, param->value, param->grad, param->m, param->v, &adam);
        tensor_free(npu, &param->grad);
    }
}

/* One step; the loss is the mean over all processes. */
static double train_step(struct trainer *trainer, struct batch *batch)
{
    struct npu *npu = &trainer->npu;
    mstxRangeId range = mstxRangeStartA("step start", NULL);
    check_pool(npool_reset_peak(npu->pool, npu->device), "npool_reset_peak");
    defects_begin_step(trainer);
    load_batch(trainer, batch);
    struct tensor *dlogits;
    struct tensor *loss = model_forward(trainer, batch->ids, batch->targets, &dlogits);
    defects_middle_of_step(trainer);
    model_backward(trainer, batch->ids, dlogits);
    communicate_sum(trainer, loss);
    update_parameters(trainer);
    float value;
    tensor_download(npu, loss, &value);
    tensor_free(npu, &loss);
    drop_batch(trainer, batch);
    defects_end_step(trainer);
    mstxRangeEnd(range);
    return value / (double)trainer->world;
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void print_step(const struct trainer *trainer, double loss)
{
    if (trainer->rank != 0) {
        return;
    }
    struct npool_stats stats;
    check_pool(npool_get_stats(trainer->npu.pool, trainer->npu.device, &stats), "npool_get_stats");
    if (trainer->options->json) {
        printf("{\"step\": %" PRId64 ", \"loss\": %.6f, \"allocated\": %" PRIu64 ", \"reserved\": %" PRIu64
               ", \"peak\": %" PRIu64 "}\n",
               trainer->step, loss, stats.allocated_bytes.current, stats.reserved_bytes.current,
               stats.allocated_bytes.peak);
    } else {
        printf("step %4" PRId64 "  loss %8.4f  allocated %9.2f MiB  reserved %9.2f MiB  peak %9.2f MiB\n",
               trainer->step, loss, (double)stats.allocated_bytes.current / 1048576,
               (double)stats.reserved_bytes.current / 1048576, (double)stats.allocated_bytes.peak / 1048576);
    }
    fflush(stdout);
}

static void train(struct trainer *trainer, struct batch *batch)
{
    const struct train_options *options = trainer->options;
    double first = 0, last = 0, begin = seconds();
    for (trainer->step = 1; trainer->step <= options->steps; trainer->step++) {
        last = train_step(trainer, batch);
        first = trainer->step == 1 ? last : first;
        print_step(trainer, last);
    }
    double took = seconds() - begin;
    if (trainer->rank == 0 && options->json) {
        printf("{\"steps\": %" PRId64
               ", \"devices\": %u, \"parameters\": %zu, \"first_loss\": %.6f, \"last_loss\": %.6f, "
               "\"seconds\": %.3f}\n",
               options->steps, trainer->world, trainer->gpt.weights, first, last, took);
    } else if (trainer->rank == 0) {
        printf("loss %.4f -> %.4f in %" PRId64 " steps on %u device%s, %zu parameters, %.2f s\n", first, last,
               options->steps, trainer->world, trainer->world > 1 ? "s" : "", trainer->gpt.weights, took);
    }
    fflush(stdout);
}

static int run(const struct train_options *options)
{
    struct trainer trainer = {.options = options,
                              .rank = options->rank >= 0 ? (uint32_t)options->rank : 0,
                              .world = options->rank >= 0 ? (uint32_t)options->devices : 1};
    npu_open(&trainer.npu, (int32_t)trainer.rank, options->kernels, options->announce);
    communicate_open(&trainer);
    const struct gpt_shape shape = {.layers = options->layers,
                                    .hidden = options->hidden,
                                    .heads = options->heads,
                                    .seq = options->seq,
                                    .vocab = options->vocab};
    gpt_create(&trainer.gpt, &trainer.npu, &shape, (uint64_t)options->seed);
    trainer.states = model_states(&trainer.gpt);
    defects_open(&trainer);
    struct batch batch = {0};
    open_batch(&trainer, &batch);
    int status = 0;
    if (options->check) {
        load_batch(&trainer, &batch);
        status = check_gradients(&trainer, batch.ids, batch.targets);
        drop_batch(&trainer, &batch);
    } else {
        loaders_open(&trainer);
        train(&trainer, &batch);
        loaders_close(&trainer);
    }
    defects_close(&trainer);
    free(batch.tokens);
    free(batch.next);
    free(trainer.states);
    gpt_destroy(&trainer.gpt, &trainer.npu);
    communicate_close(&trainer);
    npu_close(&trainer.npu);
    return status;
}

int main(int argc, char **argv)
{
    program_name = "acl-train";
    struct train_options options;
    int ret = read_options(&options, argc, argv);
    if (ret != 0) {
        return ret < 0 ? 0 : ret;
    }
    return options.devices > 1 && options.rank < 0 ? run_ranks(&options, argv) : run(&options);
}
