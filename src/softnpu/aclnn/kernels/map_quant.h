/* SPDX-License-Identifier: Apache-2.0 */
/* Rounding and limits of quantisation, for float and double. NaN stays NaN. */
#ifndef SOFTNPU_ACLNN_MAP_QUANT_H
#define SOFTNPU_ACLNN_MAP_QUANT_H

#include <math.h>

enum op_round_mode { OP_ROUND_NEAREST, OP_ROUND_FLOOR, OP_ROUND_CEIL, OP_ROUND_TRUNC };

#define OP_QUANT_TYPE(suffix, T, end)                                                                                  \
    static inline T round_by_##suffix(T x, T mode)                                                                     \
    {                                                                                                                  \
        return mode == OP_ROUND_NEAREST ? rint##end(x)                                                                 \
               : mode == OP_ROUND_FLOOR ? floor##end(x)                                                                \
               : mode == OP_ROUND_CEIL  ? ceil##end(x)                                                                 \
                                        : trunc##end(x);                                                                \
    }                                                                                                                  \
    static inline T limit_##suffix(T x, T low, T high)                                                                 \
    {                                                                                                                  \
        return x < low ? low : x > high ? high : x;                                                                    \
    }
OP_QUANT_TYPE(f32, float, f)
OP_QUANT_TYPE(f64, double, )
#undef OP_QUANT_TYPE

#endif
