/* SPDX-License-Identifier: Apache-2.0 */
/* The arguments of a two-phase function, built from a call of a single operator. */
#ifndef SOFTNPU_ACLOP_ARGUMENTS_H
#define SOFTNPU_ACLOP_ARGUMENTS_H

#include "softnpu/aclop/aclop.h"

#define SNPU_OP_ARGUMENTS 18 /* at most, workspaceSize and executor included */
#define SNPU_OP_STORES    8  /* outputs in a private format, at most */
#define SNPU_OP_REALS     4  /* of them float or double, at most */

/* A row of src/abi/aclop_types.h. */
struct snpu_op_type {
    const char *type, *function;
    int inputs, outputs;
    const char *arguments;
};

/* The library of operators, loaded when the first operator is called: the runtime does not depend on it. */
void *snpu_op_symbol(const char *prefix, const char *name, const char *suffix);

/* What a call holds until its operator has been queued or has run. */
struct snpu_op_arguments {
    intptr_t values[SNPU_OP_ARGUMENTS];
    double reals[SNPU_OP_REALS]; /* a float is in the first half of its place */
    uint32_t count, real_count;
    struct snpu_op_object *objects; /* tensors, scalars, lists: destroyed after the call */
    struct {
        const void *blocks, *plain; /* tensors: storage, and its elements in the operator's result */
    } stores[SNPU_OP_STORES];
    uint32_t store_count;
    bool staged; /* some are blocks of device memory: the stream must be idle before */
};

aclError snpu_op_arguments_build(const struct snpu_op_call *call, const struct snpu_op_type *type, aclrtStream stream,
                                 struct snpu_op_arguments *out);
/* After the operator's launch: queues the copies of outputs to their private format. */
aclError snpu_op_arguments_store(const struct snpu_op_call *call, const struct snpu_op_arguments *arguments,
                                 aclrtStream stream);
void snpu_op_arguments_free(struct snpu_op_arguments *arguments);

#endif
