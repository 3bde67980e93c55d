/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the tests of the runtime's memory, copies and kernels: checks for failures with a message, the default
 * stream, and a way to block it. (Tests of streams and events use rt_test.h.) */
#ifndef RT_FIXTURE_H
#define RT_FIXTURE_H

#include "hal_test.h"

#include "acl/acl.h"
#include "softnpu/runtime/context_life.h"
#include "softnpu/runtime/error.h"
#include "softnpu/runtime/task.h"

static inline void check_failed(aclError code, aclError expected)
{
    assert_int_equal(code, expected);
    assert_non_null(snpu_take_message());
}

static inline struct snpu_stream *default_stream(void)
{
    struct snpu_stream *stream;
    assert_int_equal(snpu_stream_resolve("test", NULL, &stream), 0);
    return stream;
}

static inline aclError synchronize(void)
{
    return snpu_stream_synchronize(default_stream(), -1);
}

static inline void *dev_memory(size_t size_b)
{
    void *p = NULL;
    assert_int_equal(aclrtMalloc(&p, size_b, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    memset(p, 0, size_b);
    return p;
}

static inline void must_free(void *p)
{
    assert_int_equal(aclrtFree(p), ACL_SUCCESS);
}

/* A task that waits until open_gate, so tasks queued behind it have provably not run. */
static uint32_t gate;

static inline int32_t run_gate(struct snpu_task *task)
{
    while (__atomic_load_n(&gate, __ATOMIC_ACQUIRE) == 0) {
        if (snpu_task_wait(task, &gate, 0, -1) == -ECANCELED) {
            return ACL_ERROR_RT_STREAM_ABORT;
        }
    }
    return 0;
}

static inline void close_gate(void)
{
    static const struct snpu_task_kind gate_kind = {.name = "GATE", .run = run_gate};
    __atomic_store_n(&gate, 0, __ATOMIC_RELEASE);
    assert_int_equal(snpu_stream_submit(default_stream(), &gate_kind, NULL, 0, NULL, 0, NULL), 0);
}

static inline void open_gate(void)
{
    __atomic_store_n(&gate, 1, __ATOMIC_RELEASE);
    snpu_wake_all(&gate);
}

#endif
