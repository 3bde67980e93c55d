/* SPDX-License-Identifier: Apache-2.0 */
/* Matrices of small integers as float. */
#ifndef SOFTNPU_ACLNN_DEQUANTIZE_ARGS_H
#define SOFTNPU_ACLNN_DEQUANTIZE_ARGS_H

#define OP_KERNELS_DEQUANTIZE(X) X(WeightQuantBatchMatmulV2, op_call)

/* z[k, n] = (x[k, n] + offset[k / group, n]) * scale[k / group, n]; offset is optional;
 * whole[0] is the group. */
enum { OP_DEQUANT_X, OP_DEQUANT_SCALE, OP_DEQUANT_OFFSET, OP_DEQUANT_Z, OP_DEQUANT_OPERANDS };

enum { OP_TYPE_INT4 = 29 }; /* two in a byte; steps count elements */

#endif
