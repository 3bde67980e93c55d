/* SPDX-License-Identifier: Apache-2.0 */
/* Rotary position embedding. */
#ifndef SOFTNPU_ACLNN_ROTARY_ARGS_H
#define SOFTNPU_ACLNN_ROTARY_ARGS_H

#define OP_KERNELS_ROTARY(X)                                                                                           \
    X(RotaryPositionEmbedding, op_rotary_args)                                                                         \
    X(ApplyRotaryPosEmb, op_rotary_args)

enum { OP_ROTARY_X, OP_ROTARY_COS, OP_ROTARY_SIN, OP_ROTARY_Z, OP_ROTARY_PARTS };

/* For every index of the loop (rows): `count` pairs of elements. Pair i has its elements at first + i * stride and second
 * + i * stride of the row, in x and, unless z_half is set, in z:
 *     z[first]  = x[first] * cos[first] - x[second] * sin[first]
 *     z[second] = x[second] * cos[second] + x[first] * sin[second]
 * With z_half, the result's elements (and cos and sin) are at i and z_half + i. z may be x if z_half is 0. */
struct op_rotary_args {
    const void *x;
    const void *cos;
    const void *sin;
    void *z;
    struct op_loop loop;
    struct op_side side[OP_ROTARY_PARTS];
    int64_t step[OP_ROTARY_PARTS]; /* of the row's elements */
    uint64_t count;
    int64_t first, second, stride, z_half;
};

#endif
