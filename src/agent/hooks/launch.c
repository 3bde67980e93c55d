/* SPDX-License-Identifier: Apache-2.0 */
/* Hooks of all functions that start a kernel. They only know that a launch is in progress in this thread; the runtime
 * reports the resulting task inside the real call (kernel.c).
 *
 * Launch functions call each other. The outermost one counts: it stores the address of its frame, which nested ones
 * find. If an exception or a longjmp takes a thread past the outermost hook, the next launch notices that the stored
 * frame is below its own and replaces it. (A cleanup handler would do the same, but would need libgcc's unwinder in
 * every preloaded process.) */
#include "agent/hooks.h"
#include "agent/kernel.h"
#include "agent/watch.h"

static __attribute__((noinline)) uintptr_t enter(uintptr_t frame)
{
    uintptr_t outer = ms_self.launch_frame;
    if (outer > frame) {
        return outer;
    }
    ms_kernel_launching();
    if (ms_watching()) {
        ms_watch_launch_before();
    }
    ms_self.launch_frame = frame & ((1ull << 48) - 1);
    return 0;
}

static __attribute__((noinline)) void leave(uintptr_t outer)
{
    ms_self.launch_frame = outer;
    if (outer == 0 && ms_watching()) {
        ms_watch_launch_after();
    }
}

/* The hook itself calls nothing and saves nothing: most programs launch without being recorded. */
#define X(library, result, name, parameters, arguments, missing, other)                                                \
    static __attribute__((noinline)) result seen_##name parameters                                                     \
    {                                                                                                                  \
        if (!ms_kernel_wanted()) {                                                                                     \
            return MS_REAL(name) arguments;                                                                            \
        }                                                                                                              \
        uintptr_t outer = enter((uintptr_t)__builtin_frame_address(0));                                                \
        result launched = MS_REAL(name) arguments;                                                                     \
        leave(outer);                                                                                                  \
        return launched;                                                                                               \
    }                                                                                                                  \
    result name parameters                                                                                             \
    {                                                                                                                  \
        return MS_LIKELY(!ms_kernel_maybe()) ? MS_REAL(name) arguments : seen_##name arguments;                        \
    }
MS_HOOKS_LAUNCH(X)
#undef X
