/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels for the tests of loading and launching: a shared object as a user would write it. */
#include <stdint.h>
#include <string.h>
#include <time.h>

#define KERNEL __attribute__((visibility("default")))

KERNEL void fill_index(void *args, uint32_t block, uint32_t blocks);
KERNEL void axpy_7(void *args, uint32_t block, uint32_t blocks);
KERNEL void axpy_12_mix_aic(void *args, uint32_t block, uint32_t blocks);
KERNEL void check_alignment(void *args, uint32_t block, uint32_t blocks);
KERNEL void read_host_input(void *args, uint32_t block, uint32_t blocks);
KERNEL void spin_ms(void *args, uint32_t block, uint32_t blocks);
KERNEL void nothing(void *args, uint32_t block, uint32_t blocks);
KERNEL void scale_variable(void *args, uint32_t block, uint32_t blocks);
KERNEL uint32_t cpu_add(void *args);

KERNEL extern int32_t tuning_table[4];
KERNEL extern const uint32_t fill_index__params[2];

int32_t tuning_table[4] = {1, 2, 3, 4};
const uint32_t fill_index__params[2] = {8, 4};

/* { uint32_t *out; uint32_t add; } */
void fill_index(void *args, uint32_t block, uint32_t blocks)
{
    struct {
        uint32_t *out;
        uint32_t add;
    } a;
    memcpy(&a, args, sizeof(a));
    a.out[block] = block + a.add + 1000 * blocks;
}

/* { float *y; const float *x; float a; uint32_t n; } */
static void axpy(void *args, uint32_t block, uint32_t blocks)
{
    struct {
        float *y;
        const float *x;
        float a;
        uint32_t n;
    } p;
    memcpy(&p, args, sizeof(p));
    uint32_t first = (uint32_t)((uint64_t)p.n * block / blocks),
             last = (uint32_t)((uint64_t)p.n * (block + 1) / blocks);
    for (uint32_t i = first; i < last; i++) {
        p.y[i] += p.a * p.x[i];
    }
}

void axpy_7(void *args, uint32_t block, uint32_t blocks)
{
    axpy(args, block, blocks);
}

void axpy_12_mix_aic(void *args, uint32_t block, uint32_t blocks)
{
    axpy(args, block, blocks);
}

/* { uint64_t *out; ... }: stores the address of the arguments, then overwrites them. */
void check_alignment(void *args, uint32_t block, uint32_t blocks)
{
    uint64_t *out;
    (void)block;
    (void)blocks;
    memcpy(&out, args, sizeof(out));
    *out = (uintptr_t)args;
    memset(args, 0, sizeof(out));
}

/* { uint32_t *out; const uint32_t *input; }: input points to host data copied along with the arguments. */
void read_host_input(void *args, uint32_t block, uint32_t blocks)
{
    struct {
        uint32_t *out;
        const uint32_t *input;
    } a;
    (void)blocks;
    memcpy(&a, args, sizeof(a));
    a.out[block] = a.input[block];
}

/* { uint32_t ms; } */
void spin_ms(void *args, uint32_t block, uint32_t blocks)
{
    uint32_t ms;
    struct timespec t;
    (void)block;
    (void)blocks;
    memcpy(&ms, args, sizeof(ms));
    t.tv_sec = ms / 1000;
    t.tv_nsec = (long)(ms % 1000) * 1000000;
    nanosleep(&t, NULL);
}

void nothing(void *args, uint32_t block, uint32_t blocks)
{
    (void)args;
    (void)block;
    (void)blocks;
}

/* { int32_t *out; }: reads the variable that the host may change. */
void scale_variable(void *args, uint32_t block, uint32_t blocks)
{
    int32_t *out;
    (void)block;
    (void)blocks;
    memcpy(&out, args, sizeof(out));
    *out = tuning_table[0] + tuning_table[3];
}

/* { int64_t *out; int64_t a, b; } */
uint32_t cpu_add(void *args)
{
    struct {
        int64_t *out;
        int64_t a, b;
    } p;
    memcpy(&p, args, sizeof(p));
    *p.out = p.a + p.b;
    return 0;
}
