/* SPDX-License-Identifier: Apache-2.0 */
/* One program, built twice: linked with the libraries (LINKED), and without, looking up every function with dlopen
 * and dlsym as frameworks do. Makes each kind of call that tools hook a known number of times.
 * usage: bindings linked|default|handle KERNEL_BINARY */
#include <acl/acl.h>
#include <runtime/rt.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* name, library in the lazy build */
#define FUNCTIONS(FN)                                                                                                  \
    FN(aclInit, "libascendcl.so")                                                                                      \
    FN(aclFinalize, "libascendcl.so")                                                                                  \
    FN(aclrtSetDevice, "libascendcl.so")                                                                               \
    FN(aclrtResetDevice, "libascendcl.so")                                                                             \
    FN(aclrtCreateStream, "libascendcl.so")                                                                            \
    FN(aclrtDestroyStream, "libascendcl.so")                                                                           \
    FN(aclrtSynchronizeStream, "libascendcl.so")                                                                       \
    FN(aclrtMalloc, "libascendcl.so")                                                                                  \
    FN(aclrtFree, "libascendcl.so")                                                                                    \
    FN(aclrtMallocHost, "libascendcl.so")                                                                              \
    FN(aclrtFreeHost, "libascendcl.so")                                                                                \
    FN(aclrtHostRegisterV2, "libascendcl.so")                                                                          \
    FN(aclrtHostUnregister, "libascendcl.so")                                                                          \
    FN(aclrtMallocPhysical, "libascendcl.so")                                                                          \
    FN(aclrtFreePhysical, "libascendcl.so")                                                                            \
    FN(aclrtReserveMemAddress, "libascendcl.so")                                                                       \
    FN(aclrtReleaseMemAddress, "libascendcl.so")                                                                       \
    FN(aclrtMapMem, "libascendcl.so")                                                                                  \
    FN(aclrtUnmapMem, "libascendcl.so")                                                                                \
    FN(aclrtMemRetainAllocationHandle, "libascendcl.so")                                                               \
    FN(aclrtBinaryLoadFromFile, "libascendcl.so")                                                                      \
    FN(aclrtBinaryGetFunction, "libascendcl.so")                                                                       \
    FN(aclrtKernelArgsInit, "libascendcl.so")                                                                          \
    FN(aclrtKernelArgsAppend, "libascendcl.so")                                                                        \
    FN(aclrtKernelArgsFinalize, "libascendcl.so")                                                                      \
    FN(aclrtLaunchKernel, "libascendcl.so")                                                                            \
    FN(aclrtLaunchKernelV2, "libascendcl.so")                                                                          \
    FN(aclrtLaunchKernelWithConfig, "libascendcl.so")                                                                  \
    FN(aclrtLaunchKernelWithHostArgs, "libascendcl.so")                                                                \
    FN(rtLaunchKernelByFuncHandleV3, "libruntime.so")

#define DECLARE(name, library) static __typeof__(&name) p_##name;
FUNCTIONS(DECLARE)

#ifdef LINKED
#define LINK(name, library) p_##name = &name;
#else
#define LINK(name, library)
#endif
#define BY_DEFAULT(name, library) p_##name = (__typeof__(&name))dlsym(RTLD_DEFAULT, #name);
#define BY_HANDLE(name, library)  p_##name = (__typeof__(&name))dlsym(dlopen(library, RTLD_LAZY), #name);

#define CHECK(call)                                                                                                    \
    do {                                                                                                               \
        int rc_ = (int)(call);                                                                                         \
        if (rc_ != 0) {                                                                                                \
            fprintf(stderr, "line %d: %s = %d\n", __LINE__, #call, rc_);                                               \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

static void bind(const char *style)
{
    if (strcmp(style, "linked") == 0) {
        FUNCTIONS(LINK)
    } else if (strcmp(style, "default") == 0) {
        FUNCTIONS(BY_DEFAULT)
    } else {
        FUNCTIONS(BY_HANDLE)
    }
}

static void memory(void)
{
    static char host[1 << 16];
    void *p = NULL;
    for (int i = 0; i < 5; i++) {
        CHECK(p_aclrtMalloc(&p, 100000, ACL_MEM_MALLOC_HUGE_FIRST));
        CHECK(p_aclrtFree(p));
    }
    CHECK(p_aclrtMallocHost(&p, 100000));
    CHECK(p_aclrtFreeHost(p));
    CHECK(p_aclrtHostRegisterV2(host, sizeof(host), ACL_HOST_REG_MAPPED | ACL_HOST_REG_PINNED));
    CHECK(p_aclrtHostUnregister(host));
}

static void virtual_memory(void)
{
    size_t size = 2u << 20;
    aclrtPhysicalMemProp prop = {.memAttr = ACL_HBM_MEM_HUGE,
                                 .location = {.id = 0, .type = ACL_MEM_LOCATION_TYPE_DEVICE}};
    aclrtDrvMemHandle handle = NULL, again = NULL;
    void *base = NULL;
    CHECK(p_aclrtReserveMemAddress(&base, size, 0, NULL, 1));
    CHECK(p_aclrtMallocPhysical(&handle, size, &prop, 0));
    CHECK(p_aclrtMapMem(base, size, 0, handle, 0));
    CHECK(p_aclrtMemRetainAllocationHandle(base, &again));
    CHECK(p_aclrtFreePhysical(again));
    CHECK(p_aclrtUnmapMem(base));
    CHECK(p_aclrtFreePhysical(handle));
    CHECK(p_aclrtReleaseMemAddress(base));
}

static void launches(const char *binary, aclrtStream stream)
{
    aclrtBinHandle bin = NULL;
    aclrtFuncHandle func = NULL;
    aclrtArgsHandle args = NULL;
    aclrtParamHandle param = NULL;
    uint64_t *counter = NULL;
    CHECK(p_aclrtMallocHost((void **)&counter, sizeof(*counter)));
    *counter = 0;
    CHECK(p_aclrtBinaryLoadFromFile(binary, NULL, &bin));
    CHECK(p_aclrtBinaryGetFunction(bin, "count_up", &func));
    CHECK(p_aclrtLaunchKernel(func, 1, &counter, sizeof(counter), stream));
    CHECK(p_aclrtLaunchKernelV2(func, 1, &counter, sizeof(counter), NULL, stream));
    CHECK(p_aclrtLaunchKernelWithHostArgs(func, 1, stream, NULL, &counter, sizeof(counter), NULL, 0));
    CHECK(p_aclrtKernelArgsInit(func, &args));
    CHECK(p_aclrtKernelArgsAppend(args, &counter, sizeof(counter), &param));
    CHECK(p_aclrtKernelArgsFinalize(args));
    CHECK(p_aclrtLaunchKernelWithConfig(func, 1, stream, NULL, args, NULL));
    rtArgsEx_t ex = {.args = &counter, .argsSize = sizeof(counter)};
    CHECK(p_rtLaunchKernelByFuncHandleV3(func, 1, &ex, stream, NULL));
    CHECK(p_aclrtSynchronizeStream(stream));
    if (*counter != 5) {
        fprintf(stderr, "kernel ran %llu times instead of 5\n", (unsigned long long)*counter);
        exit(1);
    }
    CHECK(p_aclrtFreeHost(counter));
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: bindings linked|default|handle KERNEL_BINARY\n");
        return 2;
    }
    aclrtStream stream = NULL;
    bind(argv[1]);
    CHECK(p_aclInit(NULL));
    CHECK(p_aclrtSetDevice(0));
    CHECK(p_aclrtCreateStream(&stream));
    memory();
    virtual_memory();
    launches(argv[2], stream);
    CHECK(p_aclrtDestroyStream(stream));
    CHECK(p_aclrtResetDevice(0));
    CHECK(p_aclFinalize());
    return 0;
}
