/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of 1 to 64 MiB between host and device, and on the device, beside memcpy of the same size in the same run. The
 * goal is what a program loses by going through the interface: at most 15 %. Rounds of both sides take turns, so that a
 * change of the machine's mood meets both. */
#include "bench.h"

#include "acl/acl.h"

#include <stdlib.h>
#include <string.h>

#define ROUNDS     12
#define IN_A_ROW_B ((size_t)128 << 20) /* copied in a stream between two synchronisations */

struct copy {
    const char *name;
    void *dst, *src;
    size_t size_b;
    aclrtMemcpyKind kind;
    aclrtStream stream; /* NULL: synchronous */
};

static int in_a_row(const struct copy *c)
{
    return c->stream == NULL ? 1 : (int)(IN_A_ROW_B / c->size_b);
}

static double plain_ns(const struct copy *c, void *dst, const void *src)
{
    uint64_t start = ms_clock_raw_ns();
    for (int i = 0; i < in_a_row(c); i++) {
        memcpy(dst, src, c->size_b);
        __asm__ volatile("" ::: "memory"); /* none of them is one too many */
    }
    return (double)(ms_clock_raw_ns() - start) / in_a_row(c);
}

static double copy_ns(const struct copy *c)
{
    aclError code;
    uint64_t start = ms_clock_raw_ns();
    if (c->stream == NULL) {
        code = aclrtMemcpy(c->dst, c->size_b, c->src, c->size_b, c->kind);
    } else {
        code = ACL_SUCCESS;
        for (int i = 0; i < in_a_row(c) && code == ACL_SUCCESS; i++) {
            code = aclrtMemcpyAsync(c->dst, c->size_b, c->src, c->size_b, c->kind, c->stream);
        }
        code = code == ACL_SUCCESS ? aclrtSynchronizeStream(c->stream) : code;
    }
    double ns = (double)(ms_clock_raw_ns() - start) / in_a_row(c);
    if (code != ACL_SUCCESS) {
        const char *why = aclGetRecentErrMsg();
        fprintf(stderr, "%s: %d %s\n", c->name, (int)code, why != NULL ? why : "");
        exit(1);
    }
    return ns;
}

static void measure(const struct copy *c, void *plain_dst, const void *plain_src)
{
    double best = 0, plain = 0;
    for (int i = 0; i < ROUNDS; i++) {
        double a = copy_ns(c), b = plain_ns(c, plain_dst, plain_src);
        best = i == 0 || a < best ? a : best;
        plain = i == 0 || b < plain ? b : plain;
    }
    char figure[64];
    snprintf(figure, sizeof(figure), "copy %s, %zu MiB", c->name, c->size_b >> 20);
    bench_figure(figure, (double)c->size_b / best, "GB/s", "memcpy", plain / best, ">= 0.85");
}

static void *touched(void *p, size_t size_b, int value)
{
    memset(p, value, size_b);
    return p;
}

int main(void)
{
    static const size_t sizes[] = {(size_t)1 << 20, (size_t)4 << 20, (size_t)16 << 20, (size_t)64 << 20};
    const size_t largest = (size_t)64 << 20;
    void *dev_a = NULL, *dev_b = NULL, *pinned = NULL;
    aclrtStream stream = NULL;
    if (aclInit(NULL) != 0 || aclrtSetDevice(0) != 0 || aclrtCreateStream(&stream) != 0 ||
        aclrtMalloc(&dev_a, largest, ACL_MEM_MALLOC_HUGE_FIRST) != 0 ||
        aclrtMalloc(&dev_b, largest, ACL_MEM_MALLOC_HUGE_FIRST) != 0 || aclrtMallocHost(&pinned, largest) != 0) {
        fprintf(stderr, "copy: no device\n");
        return 1;
    }
    void *host_a = touched(malloc(largest), largest, 1), *host_b = touched(malloc(largest), largest, 2);
    touched(dev_a, largest, 3);
    touched(dev_b, largest, 4);
    touched(pinned, largest, 5);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        const struct copy copies[] = {
            {"host to device", dev_a, host_a, sizes[i], ACL_MEMCPY_HOST_TO_DEVICE, NULL},
            {"device to host", host_b, dev_a, sizes[i], ACL_MEMCPY_DEVICE_TO_HOST, NULL},
            {"on the device", dev_b, dev_a, sizes[i], ACL_MEMCPY_DEVICE_TO_DEVICE, NULL},
            {"pinned to device, in a stream", dev_a, pinned, sizes[i], ACL_MEMCPY_HOST_TO_DEVICE, stream},
            {"on the device, in a stream", dev_b, dev_a, sizes[i], ACL_MEMCPY_DEVICE_TO_DEVICE, stream},
        };
        for (size_t k = 0; k < sizeof(copies) / sizeof(copies[0]); k++) {
            measure(&copies[k], host_b, host_a);
        }
    }
    free(host_a);
    free(host_b);
    aclrtFreeHost(pinned);
    aclrtFree(dev_a);
    aclrtFree(dev_b);
    aclrtDestroyStream(stream);
    aclrtResetDevice(0);
    return aclFinalize() != 0;
}
