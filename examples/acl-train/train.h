/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of acl-train. */
#ifndef ACL_TRAIN_H
#define ACL_TRAIN_H

#include "../common/gpt.h"

#include "hccl/hccl.h"

struct train_options {
    int64_t steps, devices, layers, hidden, heads, seq, batch, vocab, seed, loaders;
    double lr;
    const char *kernels;
    bool json, announce, check;
    /* defects */
    int64_t leak_b; /* 0: none */
    bool early_alloc, late_free, idle, fragment, oom;
    const char *corrupt; /* operator */
    /* set by the parent for the processes it starts */
    int64_t rank; /* -1: this is the parent, or the only process */
    int64_t root_fd;
};

/* State of one training process. */
struct trainer {
    const struct train_options *options;
    struct npu npu;
    struct gpt gpt;
    uint32_t rank, world;
    int64_t step; /* current step, from 1; 0 before the first */
    HcclComm comm;
    aclrtStream comm_stream;
    struct layer_state *states; /* activations between the forward and the backward pass, one per layer */
    struct defects *defects;
    struct loaders *loaders;
};

/* ---- ranks.c: one process per device. Returns the exit status. */
int run_ranks(const struct train_options *options, char **argv);

/* ---- communicate.c: data parallelism; no effect with one process */
void communicate_open(struct trainer *trainer);
void communicate_close(struct trainer *trainer);
/* Queues the sum over all processes; valid after communicate_wait. */
void communicate_sum(struct trainer *trainer, struct tensor *tensor);
void communicate_wait(struct trainer *trainer);

/* ---- model.c */
struct layer_state *model_states(const struct gpt *gpt);
/* Mean loss of the batch. *dlogits is its gradient if not NULL; then the activations stay for the backward pass,
 * otherwise they are freed. */
struct tensor *model_forward(struct trainer *trainer, const struct tensor *ids, const struct tensor *targets,
                             struct tensor **dlogits);
/* Gradients of all parameters. Consumes dlogits. */
void model_backward(struct trainer *trainer, const struct tensor *ids, struct tensor *dlogits);

/* ---- data.c: a structured text, reproducible by seed */
struct text {
    uint64_t random;
    int64_t vocab;
    int32_t current;
};
void text_open(struct text *text, uint64_t seed, uint64_t stream, int64_t vocab);
/* count tokens and, for each, the next token. */
void text_read(struct text *text, int64_t count, int32_t *tokens, int32_t *next);

/* ---- loaders.c: threads that use the device beside the training */
void loaders_open(struct trainer *trainer);
void loaders_close(struct trainer *trainer);

/* ---- check.c: compares gradients with the loss. Returns the exit status. */
int check_gradients(struct trainer *trainer, const struct tensor *ids, const struct tensor *targets);

/* ---- defects.c */
void defects_open(struct trainer *trainer);
void defects_begin_step(struct trainer *trainer);
/* Between the forward and the backward pass; may end the program (out of memory). */
void defects_middle_of_step(struct trainer *trainer);
void defects_end_step(struct trainer *trainer);
/* Prints what was planted where, and frees what is not meant to leak. */
void defects_close(struct trainer *trainer);

#endif
