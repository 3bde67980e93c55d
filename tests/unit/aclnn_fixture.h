/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the tests of two-phase operators: tensors on the device with a double for every element of their storage,
 * and a way to run operators to completion. */
#ifndef TESTS_ACLNN_FIXTURE_H
#define TESTS_ACLNN_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "acl/acl.h"
#include "aclnn/aclnn_base.h"

#include <math.h>
#include <string.h>

enum { OK_STATUS = 0, NULL_PARAM = 161001, BAD_PARAM = 161002, INNER_NULL = 561103 };

extern aclrtStream aclnn_stream;

int aclnn_open_device(void **state);
int aclnn_close_device(void **state);

/* ---- tensors ---- */

enum { MAX_DIMS = 4, MAX_STORAGE = 4096 };

struct array {
    aclTensor *tensor;
    void *memory;
    aclDataType type;
    int rank;
    int64_t dims[MAX_DIMS], strides[MAX_DIMS], offset;
    int64_t storage; /* elements */
};

/* A view with given strides and offset into storage filled with noise. strides NULL: dense. */
struct array array_view(aclDataType type, int rank, const int64_t *dims, const int64_t *strides, int64_t offset);
struct array array_make(aclDataType type, int rank, const int64_t *dims);
void array_drop(struct array *a);
int64_t array_count(const struct array *a);
double array_value(const struct array *a, const struct array *shape, int64_t linear);
/* Element number `linear` in the order of `shape`, of an array that broadcasts to it. */
int64_t array_place(const struct array *a, const struct array *shape, int64_t linear);
double array_read(const struct array *a, int64_t index);
void array_write(struct array *a, int64_t index, double v);
double array_tolerance(aclDataType type);

#define DIMS(...)                                                                                                      \
    (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (const int64_t[])                                       \
    {                                                                                                                  \
        __VA_ARGS__                                                                                                    \
    }

#define assert_near(got, want, tolerance)                                                                              \
    do {                                                                                                               \
        double g_ = (got), w_ = (want);                                                                                \
        if (!(fabs(g_ - w_) <= (tolerance) * (1 + fabs(w_)))) {                                                        \
            fail_msg("%s:%d: got %.9g, want %.9g", __FILE__, __LINE__, g_, w_);                                        \
        }                                                                                                              \
    } while (0)

/* ---- running an operator ---- */

typedef aclnnStatus (*second_phase)(void *, uint64_t, aclOpExecutor *, aclrtStream);

extern uint64_t aclnn_last_workspace; /* of the latest run */

aclScalar *scalar_real(double v);
aclScalar *scalar_whole(int64_t v);
void aclnn_run(second_phase phase, aclnnStatus first_status, uint64_t workspace_b, aclOpExecutor *executor);

#define RUN(op, ...)                                                                                                   \
    do {                                                                                                               \
        uint64_t workspace_ = 12345;                                                                                   \
        aclOpExecutor *executor_ = NULL;                                                                               \
        aclnnStatus status_ = op##GetWorkspaceSize(__VA_ARGS__, &workspace_, &executor_);                              \
        aclnn_run(op, status_, workspace_, executor_);                                                                 \
    } while (0)

/* The first phase fails with a message and leaves its outputs unchanged. */
#define REFUSED(status, op, ...)                                                                                       \
    do {                                                                                                               \
        uint64_t workspace_ = 12345;                                                                                   \
        aclOpExecutor *executor_ = NULL;                                                                               \
        aclGetRecentErrMsg();                                                                                          \
        assert_int_equal(op##GetWorkspaceSize(__VA_ARGS__, &workspace_, &executor_), status);                          \
        assert_true(workspace_ == 12345 && executor_ == NULL);                                                         \
        const char *message_ = aclGetRecentErrMsg();                                                                   \
        assert_non_null(message_);                                                                                     \
        assert_non_null(strstr(message_, #op));                                                                        \
    } while (0)

#endif
