/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of linear algebra. They compute in double precision, in dense matrices of the workspace. */
#ifndef SOFTNPU_ACLNN_LINALG_ARGS_H
#define SOFTNPU_ACLNN_LINALG_ARGS_H

#define OP_KERNELS_LINALG(X)                                                                                           \
    X(MatrixInverse, op_linalg_args)                                                                                   \
    X(LogMatrixDeterminant, op_linalg_args)                                                                            \
    X(Qr, op_linalg_args)

/* For every matrix of the batch:
 *   MatrixInverse         b[n][n] = inverse(a[n][n]); a is overwritten
 *   LogMatrixDeterminant  b[0] = sign, c[0] = logarithm of the magnitude; a is overwritten
 *   Qr                    a[m][n] = b[m][k] * c[k][n]; a is overwritten, b may be NULL */
struct op_linalg_args {
    double *a;
    double *b;
    double *c;
    uint64_t batch, m, n, k;
};

#endif
