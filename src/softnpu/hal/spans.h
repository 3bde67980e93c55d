/* SPDX-License-Identifier: Apache-2.0 */
/* Address ranges that are not blocks of an arena: reservations, mappings inside them, imported and registered
 * memory. */
#ifndef SOFTNPU_HAL_SPANS_H
#define SOFTNPU_HAL_SPANS_H

#include "softnpu/hal/hal_ext.h"
#include "softnpu/hal/ranges.h"

#include <stdbool.h>
#include <stdint.h>

struct snpu_span {
    struct snpu_node range; /* must be first */
    enum snpu_range_kind kind;
    uint32_t dev;
    bool host_side;
    bool readable, writable; /* for host code */
    uint32_t page_b;
};

/* Two sets, because mappings are inside reservations. The lock must be held for everything except lookups. */
void snpu__spans_lock(void);
void snpu__spans_unlock(void);
void snpu__span_add(struct snpu_span *span);
void snpu__span_remove(struct snpu_span *span);
/* The mapping, import or registration that contains addr. */
struct snpu_span *snpu__span_find(uintptr_t addr);
struct snpu_span *snpu__span_at_or_above(uintptr_t addr);
bool snpu__span_overlap(uintptr_t base, uint64_t size_b);
/* The reservation that contains addr. */
struct snpu_span *snpu__reservation_find(uintptr_t addr);

/* What is at addr, whatever its kind, arenas included. Takes the lock. */
bool snpu__lookup(uintptr_t addr, struct snpu_range *out, bool *readable, bool *writable);

#endif
