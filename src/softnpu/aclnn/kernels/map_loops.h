/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of kernels/map_rows.h as loops; one source per type instantiates them. */
#ifndef SOFTNPU_ACLNN_MAP_LOOPS_H
#define SOFTNPU_ACLNN_MAP_LOOPS_H

#include "softnpu/aclnn/kernels/op_kernel.h"

#include "softnpu/aclnn/kernels/map_shapes.h"

typedef void op_map_loop_f32(const float *const *in, const float *number, float *z, uint64_t n);
typedef void op_map_loop_f64(const double *const *in, const double *number, double *z, uint64_t n);
typedef void op_map_loop_i64(const int64_t *const *in, const int64_t *number, int64_t *z, uint64_t n);

/* By enum op_map_code; functions for reals only have no entry for integers. */
#define op_map_f32 TK_NAME(op_map_f32)
#define op_map_f64 TK_NAME(op_map_f64)
#define op_map_i64 TK_NAME(op_map_i64)
extern op_map_loop_f32 *const op_map_f32[OP_MAP_CODES];
extern op_map_loop_f64 *const op_map_f64[OP_MAP_CODES];
extern op_map_loop_i64 *const op_map_i64[OP_MAP_CODES];

/* One loop: inputs a to d, four numbers, output, length. The result may overwrite an input. */
#define OP_MAP_LOOP(name, type, expression)                                                                            \
    static void name##_loop(const type *const *in, const type *number, type *z, uint64_t n)                            \
    {                                                                                                                  \
        typedef type T __attribute__((unused));                                                                        \
        const type *pa = in[0], *pb = in[1], *pc = in[2], *pd = in[3];                                                 \
        const type s __attribute__((unused)) = number[0], t __attribute__((unused)) = number[1];                       \
        const type u __attribute__((unused)) = number[2], v __attribute__((unused)) = number[3];                       \
        TK_INDEPENDENT                                                                                                 \
        for (uint64_t i = 0; i < n; i++) {                                                                             \
            const type a __attribute__((unused)) = pa[i], b __attribute__((unused)) = pb[i];                           \
            const type c __attribute__((unused)) = pc[i], d __attribute__((unused)) = pd[i];                           \
            z[i] = (type)(expression);                                                                                 \
        }                                                                                                              \
    }

#endif
