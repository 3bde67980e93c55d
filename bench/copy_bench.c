/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of 1 to 64 MiB between host and device, and on the device, against memcpy between the same two buffers. The
 * goal limits what a program loses by calling the interface: 15 %.
 *
 * Device memory is host memory here, so memcpy can use the buffers of the copy itself. Other buffers of the same size
 * would not do: the pages they happen to get decide how they share the caches, and the ratio varied between 0.55 and
 * 1.04 from run to run. A stream copies on its worker thread, so its reference runs on a second thread as well. Both
 * sides alternate; the ratio is the median over the rounds, because the two halves of one round see the same
 * machine. */
#include "bench.h"

#include "acl/acl.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS     24
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

static double plain_ns(const struct copy *c)
{
    uint64_t start = ms_clock_raw_ns();
    for (int i = 0; i < in_a_row(c); i++) {
        memcpy(c->dst, c->src, c->size_b);
        __asm__ volatile("" ::: "memory"); /* keeps the compiler from dropping repeated copies */
    }
    return (double)(ms_clock_raw_ns() - start) / in_a_row(c);
}

struct reference {
    const struct copy *copy;
    double ns;
};

static void *reference_thread(void *argument)
{
    struct reference *reference = argument;
    plain_ns(reference->copy); /* fills the caches of this core, as earlier copies did for the worker */
    reference->ns = plain_ns(reference->copy);
    return NULL;
}

static double reference_ns(const struct copy *c)
{
    struct reference reference = {.copy = c};
    pthread_t thread;
    if (c->stream == NULL || pthread_create(&thread, NULL, reference_thread, &reference) != 0) {
        return plain_ns(c);
    }
    pthread_join(thread, NULL);
    return reference.ns;
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

static int by_value(const void *a, const void *b)
{
    const double *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static void measure(const struct copy *c)
{
    double best = 0, ratios[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        double ns = copy_ns(c);
        ratios[i] = reference_ns(c) / ns;
        bench_least(&best, ns);
    }
    qsort(ratios, ROUNDS, sizeof(ratios[0]), by_value);
    char figure[64];
    snprintf(figure, sizeof(figure), "copy %s, %zu MiB", c->name, c->size_b >> 20);
    bench_figure(figure, (double)c->size_b / best, "GB/s", "memcpy", ratios[ROUNDS / 2], ">= 0.85");
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
            measure(&copies[k]);
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
