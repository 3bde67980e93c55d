/* SPDX-License-Identifier: Apache-2.0 */
/* A library that is loaded after the hooks were bound: see agent_got_test.c. */
#include "ascend_hal.h"

__attribute__((visibility("default"))) void *late_alloc(unsigned long long size);

void *late_alloc(unsigned long long size)
{
    void *p = NULL;
    return halMemAlloc(&p, size, MEM_DEV | MEM_TYPE_HBM) == DRV_ERROR_NONE ? p : NULL;
}
