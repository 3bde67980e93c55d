/* See stack_fp.h. A frame pointer is anybody's number until it is read: only memory that was found readable before is
 * read directly; the rest is probed by a system call that cannot fault, a page at a time, and remembered. */
#include "agent/glibc_floor.h"
#include "agent/stack_fp.h"

#include <errno.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define PAGE_B  4096u /* or more: then a page is probed several times */
#define REACH_B (64u << 20)

static bool page_is_there(uintptr_t page)
{
    char byte;
    struct iovec to = {&byte, 1}, from = {(void *)page, 1};
    int error = errno;
    long n = syscall(SYS_process_vm_readv, syscall(SYS_getpid), &to, 1ul, &from, 1ul, 0ul);
    errno = error;
    return n == 1;
}

static inline bool inside(const struct ms_fp_range *range, uintptr_t frame)
{
    return frame >= range->low && frame < range->high && range->high - frame >= 2 * sizeof(uintptr_t);
}

static __attribute__((noinline)) bool extend(struct ms_fp_range *range, uintptr_t frame)
{
    uintptr_t here = (uintptr_t)__builtin_frame_address(0) & ~(uintptr_t)(PAGE_B - 1);
    if (here < range->low || here >= range->high) { /* another stack */
        range->low = here;
        range->high = here + PAGE_B;
    }
    if (frame < range->low || frame - range->low > REACH_B) {
        return false;
    }
    while (!inside(range, frame)) {
        if (!page_is_there(range->high)) {
            return false;
        }
        range->high += PAGE_B;
    }
    return true;
}

__attribute__((no_sanitize("address", "thread", "undefined"))) uint32_t ms_fp_walk(struct ms_fp_range *range,
                                                                                   uintptr_t frame, uintptr_t *pcs,
                                                                                   uint32_t max)
{
    uint32_t count = 0;
    while (count < max && frame % sizeof(uintptr_t) == 0 && frame != 0) {
        if (!inside(range, frame) && !extend(range, frame)) {
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
    enum { OF_THE_LIBRARY = 4 }; /* outermost frames that only the tables know: the C library's */
    for (uint32_t i = 0; i < pointer_count; i++) {
        if (i >= table_count || by_pointers[i] != by_tables[i]) {
            return false;
        }
    }
    return table_count - pointer_count <= (deepest ? OF_THE_LIBRARY : 0u);
}
