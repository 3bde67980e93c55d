/* SPDX-License-Identifier: Apache-2.0 */
/* Sleeping on a word. PRIVATE variants are for words used only by this process; the plain ones work across processes at
 * the cost of a page lookup. Waker and sleeper must use the same variant. */
#ifndef SOFTNPU_RUNTIME_FUTEX_H
#define SOFTNPU_RUNTIME_FUTEX_H

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* 0 when woken or the word differs, -ETIMEDOUT, -EINTR. timeout_ns < 0: no timeout. */
static inline int futex_wait_op(const uint32_t *word, uint32_t expected, int64_t timeout_ns, int op)
{
    struct timespec ts = {.tv_sec = timeout_ns / 1000000000, .tv_nsec = timeout_ns % 1000000000};
    if (syscall(SYS_futex, word, op, expected, timeout_ns < 0 ? NULL : &ts, NULL, 0) == 0) {
        return 0;
    }
    return errno == EAGAIN ? 0 : -errno;
}

static inline int futex_wait_private(const uint32_t *word, uint32_t expected, int64_t timeout_ns)
{
    return futex_wait_op(word, expected, timeout_ns, FUTEX_WAIT_PRIVATE);
}

static inline int futex_wait_shared(const uint32_t *word, uint32_t expected, int64_t timeout_ns)
{
    return futex_wait_op(word, expected, timeout_ns, FUTEX_WAIT);
}

static inline void futex_wake_private(const uint32_t *word, int count)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

static inline void futex_wake_shared(const uint32_t *word, int count)
{
    syscall(SYS_futex, word, FUTEX_WAKE, count, NULL, NULL, 0);
}

/* Deadline of a wait that starts now; INT64_MAX for timeout_ms < 0. CLOCK_MONOTONIC, like futex timeouts. */
static inline int64_t deadline_after_ms(int64_t timeout_ms)
{
    if (timeout_ms < 0) {
        return INT64_MAX;
    }
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec + timeout_ms * 1000000;
}

/* Time left until the deadline: -1 for no timeout, 0 when it has passed. */
static inline int64_t deadline_left_ns(int64_t deadline)
{
    if (deadline == INT64_MAX) {
        return -1;
    }
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    int64_t left = deadline - ((int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec);
    return left > 0 ? left : 0;
}

#endif
