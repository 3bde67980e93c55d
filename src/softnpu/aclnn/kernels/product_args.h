/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that are built on products. */
#ifndef SOFTNPU_ACLNN_PRODUCT_ARGS_H
#define SOFTNPU_ACLNN_PRODUCT_ARGS_H

#include "softnpu/aclnn/kernels/attention_args.h"
#include "softnpu/aclnn/kernels/convolve_args.h"
#include "softnpu/aclnn/kernels/linalg_args.h"

#define OP_KERNELS_PRODUCTS(X) OP_KERNELS_CONVOLVE(X) OP_KERNELS_ATTENTION(X) OP_KERNELS_LINALG(X)

#endif
