/* SPDX-License-Identifier: Apache-2.0 */
/* Words in shared memory that ranks wait on.
 *
 * A bell is a counter that threads can sleep on: a thread that changes the counter wakes the sleepers, if any. It works
 * between threads and between processes, and makes no system call without sleepers. The caller decides how a
 * thread sleeps (struct hccl_waiter): the worker of a stream must stay cancellable, a plain thread just sleeps. */
#ifndef SOFTNPU_HCCL_BELL_H
#define SOFTNPU_HCCL_BELL_H

#include <stdint.h>

struct hccl_bell {
    uint32_t count;
    uint32_t sleepers; /* too high after a sleeper died; costs an occasional system call */
    uint32_t unused[14];
} __attribute__((aligned(64)));

struct hccl_waiter {
    /* Sleeps while *word == expected, at most timeout_ms. 0: check again; -ETIMEDOUT; -ECANCELED: give up. */
    int (*sleep)(void *arg, const uint32_t *word, uint32_t expected, int32_t timeout_ms);
    void *arg;
};

extern const struct hccl_waiter hccl_plain_waiter;

static inline uint32_t hccl_bell_read(const struct hccl_bell *bell)
{
    return __atomic_load_n(&bell->count, __ATOMIC_ACQUIRE);
}

/* Everything written before is visible to any reader of the new count. */
void hccl_bell_set(struct hccl_bell *bell, uint32_t count);
void hccl_bell_bump(struct hccl_bell *bell);
void hccl_bell_wake(struct hccl_bell *bell); /* leaves the count unchanged: sleepers check another condition */

/* One sleep, until the count differs from `seen`. */
int hccl_bell_sleep(struct hccl_bell *bell, uint32_t seen, const struct hccl_waiter *waiter, int32_t timeout_ms);

/* Wakes all sleepers of a word. */
void hccl_wake_word(const uint32_t *word);

#endif
