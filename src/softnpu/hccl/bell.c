/* SPDX-License-Identifier: Apache-2.0 */
/* Bells on futexes. The store of a count and the load of `sleepers` on one side, the increment of `sleepers` and the
 * kernel's load of the count on the other, are all sequentially consistent: either the waker sees the sleeper, or the
 * sleeper sees the new count. */
#include "softnpu/hccl/bell.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static int plain_sleep(void *arg, const uint32_t *word, uint32_t expected, int32_t timeout_ms)
{
    struct timespec ts = {timeout_ms / 1000, (long)(timeout_ms % 1000) * 1000000};
    if (syscall(SYS_futex, word, FUTEX_WAIT, expected, timeout_ms < 0 ? NULL : &ts, NULL, 0) != 0 &&
        errno == ETIMEDOUT) {
        return -ETIMEDOUT;
    }
    return 0;
}

const struct hccl_waiter hccl_plain_waiter = {plain_sleep, NULL};

void hccl_wake_word(const uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static void wake_sleepers(struct hccl_bell *bell)
{
    if (__atomic_load_n(&bell->sleepers, __ATOMIC_SEQ_CST) != 0) {
        hccl_wake_word(&bell->count);
    }
}

void hccl_bell_set(struct hccl_bell *bell, uint32_t count)
{
    __atomic_store_n(&bell->count, count, __ATOMIC_SEQ_CST);
    wake_sleepers(bell);
}

void hccl_bell_bump(struct hccl_bell *bell)
{
    __atomic_add_fetch(&bell->count, 1, __ATOMIC_SEQ_CST);
    wake_sleepers(bell);
}

void hccl_bell_wake(struct hccl_bell *bell)
{
    wake_sleepers(bell);
}

int hccl_bell_sleep(struct hccl_bell *bell, uint32_t seen, const struct hccl_waiter *waiter, int32_t timeout_ms)
{
    int result = 0;
    __atomic_add_fetch(&bell->sleepers, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&bell->count, __ATOMIC_SEQ_CST) == seen) {
        result = waiter->sleep(waiter->arg, &bell->count, seen, timeout_ms);
    }
    __atomic_sub_fetch(&bell->sleepers, 1, __ATOMIC_SEQ_CST);
    return result;
}
