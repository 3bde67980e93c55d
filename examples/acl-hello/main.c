/* SPDX-License-Identifier: Apache-2.0 */
/* acl-hello: the first program. Initialise, choose a device, copy numbers there, run a kernel on them, copy them back,
 * check, clean up. Every result is checked; errors are printed with the runtime's own message. */
#include "acl/acl.h"
#include "transformer_kernels.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 1 << 16 };

/* Everything that must be released, whatever fails. */
struct hello {
    bool initialized, device_set;
    aclrtStream stream;
    aclrtBinHandle binary;
    void *device_x, *device_y, *host_x, *host_y;
};

static bool ok(aclError ret, const char *call)
{
    if (ret == ACL_SUCCESS) {
        return true;
    }
    const char *why = aclGetRecentErrMsg();
    fprintf(stderr, "acl-hello: %s returned %d%s%s\n", call, ret, why != NULL ? ": " : "", why != NULL ? why : "");
    return false;
}

#define OK(call) ok((call), #call)

static bool prepare(struct hello *hello)
{
    if (!OK(aclInit(NULL))) {
        return false;
    }
    hello->initialized = true;
    uint32_t count = 0;
    if (!OK(aclrtGetDeviceCount(&count)) || !OK(aclrtSetDevice(0))) {
        return false;
    }
    hello->device_set = true;
    size_t free_b = 0, total_b = 0;
    if (!OK(aclrtGetMemInfo(ACL_HBM_MEM, &free_b, &total_b)) || !OK(aclrtCreateStream(&hello->stream))) {
        return false;
    }
    printf("%u device%s, %s, %.1f of %.1f GiB free\n", count, count == 1 ? "" : "s", aclrtGetSocName(),
           (double)free_b / (1 << 30), (double)total_b / (1 << 30));
    return true;
}

static bool allocate(struct hello *hello)
{
    const size_t size_b = COUNT * sizeof(float);
    return OK(aclrtMallocHost(&hello->host_x, size_b)) && OK(aclrtMallocHost(&hello->host_y, size_b)) &&
           OK(aclrtMalloc(&hello->device_x, size_b, ACL_MEM_MALLOC_HUGE_FIRST)) &&
           OK(aclrtMalloc(&hello->device_y, size_b, ACL_MEM_MALLOC_HUGE_FIRST));
}

/* y = 2 x + 1 on the device: queues copy, kernel and copy, then waits for all of them. */
static bool compute(struct hello *hello, const char *kernels)
{
    const size_t size_b = COUNT * sizeof(float);
    float *x = hello->host_x;
    for (int i = 0; i < COUNT; i++) {
        x[i] = (float)i;
    }
    aclrtFuncHandle scale;
    if (!OK(aclrtBinaryLoadFromFile(kernels, NULL, &hello->binary)) ||
        !OK(aclrtBinaryGetFunction(hello->binary, "scale", &scale))) {
        return false;
    }
    const struct tk_scale_args args = {
        .x = hello->device_x, .y = hello->device_y, .count = COUNT, .alpha = 2.0, .shift = 1.0};
    return OK(aclrtMemcpyAsync(hello->device_x, size_b, hello->host_x, size_b, ACL_MEMCPY_HOST_TO_DEVICE,
                               hello->stream)) &&
           OK(aclrtLaunchKernel(scale, 8, &args, sizeof(args), hello->stream)) &&
           OK(aclrtMemcpyAsync(hello->host_y, size_b, hello->device_y, size_b, ACL_MEMCPY_DEVICE_TO_HOST,
                               hello->stream)) &&
           OK(aclrtSynchronizeStream(hello->stream));
}

static bool verify(const struct hello *hello)
{
    const float *y = hello->host_y;
    for (int i = 0; i < COUNT; i++) {
        if (y[i] != 2.0f * (float)i + 1.0f) {
            fprintf(stderr, "acl-hello: element %d is %g, not %g\n", i, (double)y[i], 2.0 * i + 1.0);
            return false;
        }
    }
    printf("hello from the device: 2 * %d + 1 = %.0f\n", COUNT - 1, (double)y[COUNT - 1]);
    return true;
}

static bool clean_up(struct hello *hello)
{
    bool good = true;
    good = (hello->binary == NULL || OK(aclrtBinaryUnLoad(hello->binary))) && good;
    good = (hello->device_y == NULL || OK(aclrtFree(hello->device_y))) && good;
    good = (hello->device_x == NULL || OK(aclrtFree(hello->device_x))) && good;
    good = (hello->host_y == NULL || OK(aclrtFreeHost(hello->host_y))) && good;
    good = (hello->host_x == NULL || OK(aclrtFreeHost(hello->host_x))) && good;
    good = (hello->stream == NULL || OK(aclrtDestroyStream(hello->stream))) && good;
    good = (!hello->device_set || OK(aclrtResetDevice(0))) && good;
    good = (!hello->initialized || OK(aclFinalize())) && good;
    return good;
}

int main(int argc, char **argv)
{
    char path[4096];
    const char *home = getenv("ASCEND_HOME_PATH");
    snprintf(path, sizeof(path), "%s/opp/built-in/op_impl/ai_core/tbe/kernel/transformer_kernels.so",
             home != NULL ? home : "/usr/local/Ascend/ascend-toolkit/latest");
    if (argc > 2) {
        fprintf(stderr, "usage: acl-hello [OPERATOR_BINARY]\n");
        return 2;
    }
    struct hello hello = {0};
    bool good = prepare(&hello) && allocate(&hello) && compute(&hello, argc == 2 ? argv[1] : path) && verify(&hello);
    return clean_up(&hello) && good ? 0 : 1;
}
