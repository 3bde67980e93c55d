/* SPDX-License-Identifier: Apache-2.0 */
/* Task timeouts; see timeouts.h. One relaxed word each: read once per task and rarely changed. */
#include "softnpu/runtime/timeouts.h"

static uint64_t wait_ms, execute_ms;

void snpu_set_op_wait_timeout_ms(uint64_t ms)
{
    __atomic_store_n(&wait_ms, ms, __ATOMIC_RELAXED);
}

void snpu_set_op_execute_timeout_ms(uint64_t ms)
{
    __atomic_store_n(&execute_ms, ms, __ATOMIC_RELAXED);
}

uint64_t snpu_op_wait_timeout_ms(void)
{
    return __atomic_load_n(&wait_ms, __ATOMIC_RELAXED);
}

uint64_t snpu_op_execute_timeout_ms(void)
{
    return __atomic_load_n(&execute_ms, __ATOMIC_RELAXED);
}
