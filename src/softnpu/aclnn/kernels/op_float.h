/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of elements as float: how the kernels read and write every type when they compute in single precision. */
#ifndef SOFTNPU_ACLNN_OP_FLOAT_H
#define SOFTNPU_ACLNN_OP_FLOAT_H

#include <stdint.h>

enum { OP_RUN = 512 }; /* elements of one run, a multiple of TK_GRAIN */

#define op_load_f32  TK_NAME(op_load_f32)
#define op_store_f32 TK_NAME(op_store_f32)

/* n elements at base[0], base[step] ...; returns `buffer` with the values, or base if it can be used as is. */
const float *op_load_f32(float *buffer, const void *base, int64_t step, int64_t type, uint64_t n);

/* Converts while storing, by the rules of tk_chunk_store. */
void op_store_f32(const float *from, void *base, int64_t step, int64_t type, uint64_t n);

#endif
