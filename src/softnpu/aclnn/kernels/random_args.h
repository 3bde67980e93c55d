/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of random values: Philox4x32-10 under `seed`, at a position given by the offset and the linear index of the
 * element. Calls with different offsets give independent values. */
#ifndef SOFTNPU_ACLNN_RANDOM_ARGS_H
#define SOFTNPU_ACLNN_RANDOM_ARGS_H

#define OP_KERNELS_RANDOM(X)                                                                                           \
    X(StatelessRandomUniformV2, op_random_args)                                                                        \
    X(StatelessRandomNormalV2, op_random_args)                                                                         \
    X(StatelessBernoulli, op_random_args)                                                                              \
    X(StatelessRandomUniformInt, op_random_args)                                                                       \
    X(StatelessDropOutGenMask, op_random_args)                                                                         \
    X(StatelessRandperm, op_random_args)                                                                               \
    X(Multinomial, op_multinomial_args)                                                                                \
    X(DropOutDoMask, op_do_mask_args)

/* The seed, and the part of the offset that only the device knows, may be in tensors of INT64. */
struct op_random_seed {
    uint64_t seed, offset;
};

/* Uniform in [first, second), normal with mean `first` and deviation `second`, 1 with probability `first`, or whole
 * numbers in [low, low + range); first and second may be tensors. GenMask: one bit per element, the lowest bit of a
 * byte first, 0 with probability `first`. Randperm: the whole numbers below `range` in random order, one block. */
struct op_random_args {
    void *z;
    const int64_t *seed_at, *offset_at;
    const void *first_at, *second_at;
    struct op_loop loop;
    struct op_side z_side, first_side, second_side;
    struct op_random_seed from;
    double first, second;
    int64_t low;
    uint64_t range; /* 0: 2^64 */
};

/* For each row, `samples` indices with probabilities in proportion to the weights, which the kernel overwrites. */
struct op_multinomial_args {
    double *weights;
    int64_t *z;
    const int64_t *seed_at, *offset_at;
    struct op_random_seed from;
    uint64_t rows, count, samples, replacement;
};

/* z = x * scale where the bit of the element is set, otherwise 0. */
struct op_do_mask_args {
    const void *x;
    const uint8_t *mask;
    void *z;
    struct op_loop loop;
    struct op_side x_side, z_side;
    double scale;
};

#endif
