/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the model tests: three streams per test, and tasks that record their order. */
#ifndef RT_MODELS_H
#define RT_MODELS_H

#include "rt_test.h"

static aclrtStream a, b, c;

static inline int three_streams(void **state)
{
    return aclrtCreateStream(&a) != ACL_SUCCESS || aclrtCreateStream(&b) != ACL_SUCCESS ||
           aclrtCreateStream(&c) != ACL_SUCCESS;
}

static inline int no_streams(void **state)
{
    return aclrtDestroyStreamForce(a) != ACL_SUCCESS || aclrtDestroyStreamForce(b) != ACL_SUCCESS ||
           aclrtDestroyStreamForce(c) != ACL_SUCCESS;
}

#define WITH_STREAMS(test) cmocka_unit_test_setup_teardown(test, three_streams, no_streams)

/* Host functions that record the order in which they ran. */
struct trail {
    int next;
    int seen[64];
};

struct step {
    struct trail *trail;
    int number;
};

static inline void take_step(void *data)
{
    struct step *step = data;
    int at = __atomic_fetch_add(&step->trail->next, 1, __ATOMIC_SEQ_CST);
    step->trail->seen[at] = step->number;
}

#endif
