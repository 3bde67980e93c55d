/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise functions of normalisations and losses: a part of kernels/map_rows.h. */
#ifndef SOFTNPU_ACLNN_MAP_ROWS_LOSS_H
#define SOFTNPU_ACLNN_MAP_ROWS_LOSS_H

#define OP_MAP_ROWS_LOSS(ALL, REAL, BOTH)                                                                              \
    /* batch normalisation */                                                                                          \
    REAL(BNInvStd, 1 / F(sqrt)(a + s))                                                                                 \
    REAL(BNUpdate, a *s + b * t)                                                                                       \
    REAL(BNTrainingUpdate, a *b + c)                                                                                   \
    REAL(BNProduct, a *(b - c))                                                                                        \
    REAL(BNSlope, s *a *b *b *c)                                                                                       \
    REAL(BNShift, s *a - b * c)

#endif
