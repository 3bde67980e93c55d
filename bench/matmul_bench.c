/* Matrix product of the kernel binary against OpenBLAS on the same number of threads, in the same run.
 *
 * The kernel runs as a launch does: one call per block, blocks spread over threads that meet before and after. */
#include "bench.h"

#include "base/macros.h"
#include "softnpu/kernels/variant.h"

#include <pthread.h>
#include <stdlib.h>

#ifdef HAVE_OPENBLAS
#include <cblas.h>
#endif

TK_VARIANTS_OF(matmul)

enum { MAX_THREADS = 2, REPEATS = 20 };

struct team {
    struct tk_matmul_args args;
    uint32_t blocks;
    int threads;
    uint32_t next; /* block to be taken next */
    bool stop;
    pthread_barrier_t meet;
};

static void take_blocks(struct team *t)
{
    uint32_t block;
    while ((block = __atomic_fetch_add(&t->next, 1, __ATOMIC_RELAXED)) < t->blocks) {
        TK_CALL_BEST(matmul, &t->args, block, t->blocks);
    }
}

static void *helper(void *argument)
{
    struct team *t = argument;
    for (;;) {
        pthread_barrier_wait(&t->meet);
        if (t->stop) {
            return NULL;
        }
        take_blocks(t);
        pthread_barrier_wait(&t->meet);
    }
}

static void launch(void *argument)
{
    struct team *t = argument;
    t->next = 0;
    if (t->threads > 1) {
        pthread_barrier_wait(&t->meet);
        take_blocks(t);
        pthread_barrier_wait(&t->meet);
    } else {
        take_blocks(t);
    }
}

static double kernel_ns(const struct tk_matmul_args *args, int threads, uint32_t blocks)
{
    struct team t = {.args = *args, .blocks = blocks, .threads = threads};
    pthread_t helpers[MAX_THREADS];
    pthread_barrier_init(&t.meet, NULL, (unsigned)threads);
    for (int i = 1; i < threads; i++) {
        pthread_create(&helpers[i], NULL, helper, &t);
    }
    double best = bench_best_ns(launch, &t, REPEATS);
    t.stop = true;
    if (threads > 1) {
        pthread_barrier_wait(&t.meet);
    }
    for (int i = 1; i < threads; i++) {
        pthread_join(helpers[i], NULL);
    }
    pthread_barrier_destroy(&t.meet);
    return best;
}

#ifdef HAVE_OPENBLAS
static void blas(void *argument)
{
    const struct tk_matmul_args *g = argument;
    cblas_sgemm(CblasRowMajor, g->trans_a ? CblasTrans : CblasNoTrans, g->trans_b ? CblasTrans : CblasNoTrans,
                (int)g->m, (int)g->n, (int)g->k, (float)g->alpha, g->a, (int)g->lda, g->b, (int)g->ldb, (float)g->beta,
                g->c, (int)g->ldc);
}
#endif

static void measure(const char *shape, const struct tk_matmul_args *g, int threads, uint32_t blocks, const char *goal)
{
    double flop = 2.0 * (double)g->m * (double)g->n * (double)g->k;
    double ns = kernel_ns(g, threads, blocks);
    char figure[96];
    snprintf(figure, sizeof figure, "matmul %s float32, %d thread%s, %u block%s", shape, threads,
             threads > 1 ? "s" : "", blocks, blocks > 1 ? "s" : "");
#ifdef HAVE_OPENBLAS
    openblas_set_num_threads(threads);
    double blas_ns = bench_best_ns(blas, (void *)g, REPEATS);
    char against[64];
    snprintf(against, sizeof against, "OpenBLAS %.4g GFLOP/s", flop / blas_ns);
    bench_figure(figure, flop / ns, "GFLOP/s", against, ns / blas_ns, goal);
#else
    bench_figure(figure, flop / ns, "GFLOP/s", NULL, 0, goal);
#endif
}

int main(void)
{
    static const struct {
        const char *shape;
        uint64_t m, n, k, trans_a, trans_b;
        int threads;
        uint32_t blocks;
        const char *goal;
    } cases[] = {
        {"512^3", 512, 512, 512, 0, 0, 1, 1, "<= 2.5"},
        {"512^3", 512, 512, 512, 0, 0, 2, 2, "<= 2.5"},
        {"512^3", 512, 512, 512, 0, 0, 2, 24, "<= 2.5"},
        {"512^3, A transposed", 512, 512, 512, 1, 0, 1, 1, "<= 2.5"},
        {"512^3, B transposed", 512, 512, 512, 0, 1, 1, 1, "<= 2.5"},
        {"512^3, B transposed", 512, 512, 512, 0, 1, 2, 24, "<= 2.5"},
        {"509x511x513", 509, 511, 513, 0, 0, 1, 1, NULL},
        {"128^3", 128, 128, 128, 0, 0, 1, 1, NULL},
        {"64x64x32", 64, 64, 32, 0, 1, 1, 1, NULL},
        {"1x2048x512", 1, 2048, 512, 0, 0, 1, 1, NULL},
        {"1x2048x512, B transposed", 1, 2048, 512, 0, 1, 1, 1, NULL},
    };
    for (size_t i = 0; i < MS_COUNT_OF(cases); i++) {
        uint64_t m = cases[i].m, n = cases[i].n, k = cases[i].k;
        float *a = malloc(m * k * sizeof *a), *b = malloc(k * n * sizeof *b), *c = calloc(m * n, sizeof *c);
        if (a == NULL || b == NULL || c == NULL) {
            return 1;
        }
        for (uint64_t j = 0; j < m * k; j++) {
            a[j] = (float)(j % 97) / 97 - 0.5f;
        }
        for (uint64_t j = 0; j < k * n; j++) {
            b[j] = (float)(j % 89) / 89 - 0.5f;
        }
        struct tk_matmul_args args = {
            .a = a,
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
            .alpha = 1,
        };
        measure(cases[i].shape, &args, cases[i].threads, cases[i].blocks, cases[i].goal);
        free(a);
        free(b);
        free(c);
    }
    return 0;
}
