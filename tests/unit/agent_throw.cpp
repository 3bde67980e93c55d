/* SPDX-License-Identifier: Apache-2.0 */
// A runtime that throws, and a caller that catches: the exception must pass through our hooks.
#include <cstdint>

extern "C" {
__attribute__((visibility("default"))) int32_t rtKernelLaunch(const void *stub, uint32_t blocks, void *args,
                                                              uint32_t args_b, void *description, void *stream);
__attribute__((visibility("default"))) int throwing_runtime(void); /* gives the linker a reason to load this library */
__attribute__((noinline)) int caught_launch(int depth);
}

#ifdef THROWING_RUNTIME

int32_t rtKernelLaunch(const void *, uint32_t blocks, void *, uint32_t, void *, void *)
{
    throw static_cast<int>(blocks);
}

int throwing_runtime(void)
{
    return 42;
}

#else

/* The exception thrown by a launch from `depth` frames further down. */
int caught_launch(int depth)
{
    volatile char frame[256];
    frame[0] = 0;
    if (depth > 0) {
        int result = caught_launch(depth - 1);
        return result + frame[0];
    }
    try {
        rtKernelLaunch(nullptr, 42, nullptr, 0, nullptr, nullptr);
    } catch (int value) {
        return value;
    }
    return -1;
}

#endif
