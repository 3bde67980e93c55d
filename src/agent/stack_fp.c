/* SPDX-License-Identifier: Apache-2.0 */
/* See stack_fp.h. */
#include "agent/glibc_floor.h"
#include "agent/stack_fp.h"

__attribute__((no_sanitize("address", "thread", "undefined"))) uint32_t ms_fp_walk(struct ms_stack_range *range,
                                                                                   uintptr_t frame, uintptr_t *pcs,
                                                                                   uint32_t max)
{
    uint32_t count = 0;
    while (count < max && frame % sizeof(uintptr_t) == 0 && frame != 0) {
        if (!ms_stack_readable(range, frame, 2 * sizeof(uintptr_t))) {
            break;
        }
        const uintptr_t *words = (const uintptr_t *)frame;
        if (words[1] == 0) {
            break;
        }
        pcs[count++] = words[1];
        if (words[0] <= frame) {
            break; /* the first frame of a thread, or not a frame at all */
        }
        frame = words[0];
    }
    return count;
}

bool ms_fp_agrees(const uintptr_t *by_pointers, uint32_t pointer_count, const uintptr_t *by_tables,
                  uint32_t table_count, bool deepest)
{
    enum { OF_THE_LIBRARY = 4 }; /* outermost frames of the C library, which only the tables know */
    for (uint32_t i = 0; i < pointer_count; i++) {
        if (i >= table_count || by_pointers[i] != by_tables[i]) {
            return false;
        }
    }
    return table_count - pointer_count <= (deepest ? OF_THE_LIBRARY : 0u);
}
