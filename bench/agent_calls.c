/* Allocations and frees for a program in Python: see agent_bench.c. */
#include "ascend_hal.h"

#include "base/macros.h"

void pairs(unsigned count) MS_EXPORT;

void pairs(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        void *p;
        halMemAlloc(&p, 512, MEM_DEV | MEM_TYPE_HBM);
        halMemFree(p);
    }
}
