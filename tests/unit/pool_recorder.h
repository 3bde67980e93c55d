/* SPDX-License-Identifier: Apache-2.0 */
/* The pool reports that the injected recorder saw. Found by the symbol "pool_recorder". */
#ifndef TESTS_UNIT_POOL_RECORDER_H
#define TESTS_UNIT_POOL_RECORDER_H

#include <stddef.h>
#include <stdint.h>

enum pool_event_kind {
    POOL_DOMAIN,
    POOL_HEAP,
    POOL_HEAP_GONE,
    POOL_REGION,
    POOL_REGION_GONE,
};

struct pool_event {
    enum pool_event_kind kind;
    char domain[32];
    uint32_t device;
    const void *ptr; /* or the handle of a region that was removed */
    uint64_t size;
    uint32_t ref_type;
    const void *heap; /* named by a batch of regions (domain atb), returned by a heap's registration, or removed */
    size_t batch;     /* regions in the same call */
};

enum { POOL_EVENTS_MAX = 4096 };

struct pool_recorder {
    int count; /* also counts beyond the maximum */
    struct pool_event events[POOL_EVENTS_MAX];
    int refuse_heaps; /* return no heap handle to ATB */
};

#endif
