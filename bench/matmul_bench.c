/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix product of the kernel binary against OpenBLAS with the same number of threads, in the same run: called
 * directly on one thread, and launched on a stream, where the device spreads the blocks over all processors.
 *
 * OpenBLAS is loaded at run time: a build directory that was configured before OpenBLAS was installed measures the same
 * as a new one. Without it the figures have no ratio. */
#include "bench.h"

#include "acl/acl.h"
#include "base/macros.h"
#include "softnpu/kernels/variant.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Values of the C interface of BLAS. */
enum { ROW_MAJOR = 101, NO_TRANS = 111, TRANS = 112 };
static void (*sgemm)(int order, int trans_a, int trans_b, int m, int n, int k, float alpha, const float *a, int lda,
                     const float *b, int ldb, float beta, float *c, int ldc);
static void (*set_threads)(int threads);

static bool load_openblas(void)
{
    void *library = dlopen("libopenblas.so.0", RTLD_NOW);
    if (library == NULL) {
        fprintf(stderr, "matmul_bench: no OpenBLAS, so no ratios: %s\n", dlerror());
        return false;
    }
    *(void **)&sgemm = dlsym(library, "cblas_sgemm");
    *(void **)&set_threads = dlsym(library, "openblas_set_num_threads");
    return sgemm != NULL && set_threads != NULL;
}

TK_VARIANTS_OF(matmul)

enum { REPEATS = 30 };

struct problem {
    struct tk_matmul_args args;
    uint32_t blocks;
};

static void call(void *argument)
{
    struct problem *p = argument;
    for (uint32_t block = 0; block < p->blocks; block++) {
        TK_CALL_BEST(matmul, &p->args, block, p->blocks);
    }
}

static aclrtFuncHandle function;
static aclrtStream stream;

static void launch(void *argument)
{
    struct problem *p = argument;
    if (aclrtLaunchKernel(function, p->blocks, &p->args, sizeof p->args, stream) != 0 ||
        aclrtSynchronizeStream(stream) != 0) {
        fprintf(stderr, "matmul_bench: launch failed\n");
        exit(1);
    }
}

static void open_device(void)
{
    aclrtBinHandle binary;
    char path[4096];
    const char *opp = getenv("ASCEND_OPP_PATH");
    snprintf(path, sizeof path, "%s/built-in/op_impl/ai_core/tbe/kernel/transformer_kernels.so",
             opp != NULL ? opp : ".");
    if (aclInit(NULL) != 0 || aclrtSetDevice(0) != 0 || aclrtCreateStream(&stream) != 0 ||
        aclrtBinaryLoadFromFile(path, NULL, &binary) != 0 || aclrtBinaryGetFunction(binary, "matmul", &function) != 0) {
        fprintf(stderr, "matmul_bench: no device, or no %s\n", path);
        exit(1);
    }
}

static float *memory(uint64_t elements, bool on_device)
{
    void *p = NULL;
    if (on_device) {
        aclrtMalloc(&p, elements * sizeof(float), ACL_MEM_MALLOC_HUGE_FIRST);
    } else {
        p = malloc(elements * sizeof(float));
    }
    if (p == NULL) {
        fprintf(stderr, "matmul_bench: out of memory\n");
        exit(1);
    }
    return p;
}

static void release(float *p, bool on_device)
{
    if (on_device) {
        aclrtFree(p);
    } else {
        free(p);
    }
}

static void blas(void *argument)
{
    const struct tk_matmul_args *g = argument;
    sgemm(ROW_MAJOR, g->trans_a ? TRANS : NO_TRANS, g->trans_b ? TRANS : NO_TRANS, (int)g->m, (int)g->n, (int)g->k,
          (float)g->alpha, g->a, (int)g->lda, g->b, (int)g->ldb, (float)g->beta, g->c, (int)g->ldc);
}

static void measure(const char *shape, struct problem *p, bool on_device, bool have_blas, const char *goal)
{
    const double flop = 2.0 * (double)p->args.m * (double)p->args.n * (double)p->args.k;
    const double ns = bench_best_ns(on_device ? launch : call, p, REPEATS);
    char figure[96], against[64] = "";
    snprintf(figure, sizeof figure, "matmul %s, float32, %s, %u block%s", shape,
             on_device ? "on a stream" : "one thread", p->blocks, p->blocks > 1 ? "s" : "");
    double blas_ns = 0;
    if (have_blas) {
        const int threads = on_device ? (int)sysconf(_SC_NPROCESSORS_ONLN) : 1;
        set_threads(threads);
        blas_ns = bench_best_ns(blas, &p->args, REPEATS);
        snprintf(against, sizeof against, "OpenBLAS, %d thread%s: %.4g GFLOP/s", threads, threads > 1 ? "s" : "",
                 flop / blas_ns);
    }
    bench_figure(figure, flop / ns, "GFLOP/s", have_blas ? against : NULL, have_blas ? ns / blas_ns : 0, goal);
}

int main(void)
{
    static const struct {
        const char *shape;
        uint64_t m, n, k, trans_a, trans_b;
        bool on_device;
        uint32_t blocks;
        const char *goal;
    } cases[] = {
        {"512^3", 512, 512, 512, 0, 0, false, 1, "<= 2.5"},
        {"512^3, A transposed", 512, 512, 512, 1, 0, false, 1, "<= 2.5"},
        {"512^3, B transposed", 512, 512, 512, 0, 1, false, 1, "<= 2.5"},
        {"512^3", 512, 512, 512, 0, 0, true, 24, "<= 2.5"},
        {"512^3, B transposed", 512, 512, 512, 0, 1, true, 24, "<= 2.5"},
        {"509x511x513", 509, 511, 513, 0, 0, false, 1, NULL},
        {"128^3", 128, 128, 128, 0, 0, false, 1, NULL},
        {"64x64x32, B transposed", 64, 64, 32, 0, 1, false, 1, NULL},
        {"1x2048x512", 1, 2048, 512, 0, 0, false, 1, NULL},
        {"1x2048x512, B transposed", 1, 2048, 512, 0, 1, false, 1, NULL},
    };
    open_device();
    const bool have_blas = load_openblas();
    for (size_t i = 0; i < MS_COUNT_OF(cases); i++) {
        const uint64_t m = cases[i].m, n = cases[i].n, k = cases[i].k;
        const bool on_device = cases[i].on_device;
        float *a = memory(m * k, on_device), *b = memory(k * n, on_device), *c = memory(m * n, on_device);
        for (uint64_t j = 0; j < m * k; j++) {
            a[j] = (float)(j % 97) / 97 - 0.5f;
        }
        for (uint64_t j = 0; j < k * n; j++) {
            b[j] = (float)(j % 89) / 89 - 0.5f;
        }
        struct problem problem = {
            .args = {.a = a,
                     .b = b,
                     .c = c,
                     .m = m,
                     .n = n,
                     .k = k,
                     .trans_a = cases[i].trans_a,
                     .trans_b = cases[i].trans_b,
                     .lda = (int64_t)(cases[i].trans_a ? m : k),
                     .ldb = (int64_t)(cases[i].trans_b ? k : n),
                     .ldc = (int64_t)n,
                     .batch = 1,
                     .heads = 1,
                     .alpha = 1},
            .blocks = cases[i].blocks,
        };
        measure(cases[i].shape, &problem, on_device, have_blas, cases[i].goal);
        release(a, on_device);
        release(b, on_device);
        release(c, on_device);
    }
    aclrtDestroyStream(stream);
    aclrtResetDevice(0);
    aclFinalize();
    return 0;
}
