/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise functions of normalisations and losses: a part of kernels/map_rows.h. */
#ifndef SOFTNPU_ACLNN_MAP_ROWS_LOSS_H
#define SOFTNPU_ACLNN_MAP_ROWS_LOSS_H

#define OP_MAP_ROWS_LOSS(ALL, REAL, BOTH)                                                                                 \
    /* batch normalisation */                                                                                             \
    REAL(BNInvStd, 1 / F(sqrt)(a + s))                                                                                    \
    REAL(BNUpdate, a *s + b * t)                                                                                          \
    REAL(BNTrainingUpdate, a *b + c)                                                                                      \
    REAL(BNProduct, a *(b - c))                                                                                           \
    REAL(BNSlope, s *a *b *b *c)                                                                                          \
    REAL(BNShift, s *a - b * c)                                                                                           \
    REAL(GNProduct, a *(b - c) * d)                                                                                       \
    /* losses of a = prediction, b = target, c = weight, d = weight of positive targets */                                \
    REAL(MseLoss, (a - b) * (a - b))                                                                                      \
    REAL(LpLoss, F(fabs)(a - b))                                                                                          \
    REAL(SmoothL1LossV2, F(fabs)(a - b) < s ? K(0.5) * (a - b) * (a - b) / s : F(fabs)(a - b) - K(0.5) * s)               \
    REAL(KLDivV2, b == 0 ? 0 : b * (F(log)(b) - a))                                                                       \
    REAL(KLDivV2Log, F(exp)(b) * (b - a))                                                                                 \
    REAL(BinaryCrossEntropy, c *((b - 1) * F(clamp)(F(log1p)(-a), -100, 0) - b * F(clamp)(F(log)(a), -100, 0)))           \
    REAL(SigmoidCrossEntropyWithLogitsV2, c *((1 - b) * a + (1 + (d - 1) * b) * F(softplus)(-a)))                         \
    REAL(SoftMarginLoss, F(log1p)(F(exp)(-b * a)))                                                                        \
    /* gradients of a = incoming gradient, b = prediction, c = target, d = weight; s = share of an element, t = number */ \
    REAL(MseLossGrad, s * 2 * (b - c) * a)                                                                                \
    REAL(LpLossGrad, s *a *(b > c ? 1 : b < c ? -1 : b - c))                                                              \
    REAL(SmoothL1LossGradV2, s *a *(b - c <= -t ? -1 : b - c >= t ? 1 : (b - c) / t))                                     \
    REAL(KlDivLossGrad, -s *a *c)                                                                                         \
    REAL(KlDivLossGradLog, -s *a *F(exp)(c))                                                                              \
    REAL(KlDivTargetGrad, c > 0 ? s * a * (F(log)(c) + 1 - b) : a * 0)                                                    \
    REAL(KlDivTargetGradLog, s *a *F(exp)(c) * (c + 1 - b))                                                               \
    REAL(BinaryCrossEntropyGrad, s *a *d *(b - c) / F(clamp)((1 - b) * b, K(1e-12), 1))                                   \
    REAL(SigmoidCrossEntropyWithLogitsGradV2, s *a *((d * c + 1 - c) * F(sigmoid)(b) - d * c))                            \
    REAL(BCEWithLogitsTargetGrad, s *a *c *((d - 1) * F(softplus)(-b) - b))                                               \
    REAL(SoftMarginLossGrad, -s *a *c *F(sigmoid)(-b * c))                                                                \
    /* comparisons of tensors */                                                                                          \
    REAL(ScaledMask, b != 0 ? -K(10000.0) : a * s)                                                                        \
    REAL(ScaledMaskGrad, b != 0 ? 0 : a * s)                                                                              \
    REAL(RenormFactor, a > s ? s / (a + K(1e-7)) : 1)

#endif
