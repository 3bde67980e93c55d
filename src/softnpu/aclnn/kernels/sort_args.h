/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that order rows or run along them: sorting, cumulative functions, searches, histograms. */
#ifndef SOFTNPU_ACLNN_SORT_ARGS_H
#define SOFTNPU_ACLNN_SORT_ARGS_H

enum op_sort { OP_SORT_RANKS, OP_SORT_MEDIAN, OP_SORT_NAN_MEDIAN };

enum op_scan { OP_SCAN_SUM, OP_SCAN_PROD, OP_SCAN_MAX, OP_SCAN_MIN };

#define OP_KERNELS_SORT(X)                                                                                             \
    X(Sort, op_call)                                                                                                   \
    X(TopKV2, op_call)                                                                                                 \
    X(KthValue, op_call)                                                                                               \
    X(UniqueDim, op_call)                                                                                              \
    X(UniqueWithCountsAndSorting, op_call)                                                                             \
    X(Cumsum, op_call)                                                                                                 \
    X(Cumprod, op_call)                                                                                                \
    X(Cummax, op_call)                                                                                                 \
    X(Cummin, op_call)                                                                                                 \
    X(SearchSorted, op_call)                                                                                           \
    X(Histogram, op_call)                                                                                              \
    X(Bincount, op_call)                                                                                               \
    X(Cdist, op_call)

#endif
