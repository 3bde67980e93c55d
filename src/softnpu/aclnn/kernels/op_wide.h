/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of any length as double or 64-bit integers, for kernels that compute in these types. */
#ifndef SOFTNPU_ACLNN_OP_WIDE_H
#define SOFTNPU_ACLNN_OP_WIDE_H

#include <stdint.h>

#define op_load_f64  TK_NAME(op_load_f64)
#define op_load_i64  TK_NAME(op_load_i64)
#define op_store_f64 TK_NAME(op_store_f64)
#define op_store_i64 TK_NAME(op_store_i64)

/* Elements at base[0], base[step] ...; returns `buffer` with the values, or base if it can be used as is. */
const double *op_load_f64(double *buffer, const void *base, int64_t step, int64_t type, uint64_t n);
const int64_t *op_load_i64(int64_t *buffer, const void *base, int64_t step, int64_t type, uint64_t n);

/* Converts while storing, by the rules of tk_chunk_store. */
void op_store_f64(const double *from, void *base, int64_t step, int64_t type, uint64_t n);
void op_store_i64(const int64_t *from, void *base, int64_t step, int64_t type, uint64_t n);

#endif
