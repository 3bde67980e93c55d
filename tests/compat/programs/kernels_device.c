/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel "binary": an ordinary shared object. The test compiles it and passes it to programs under another name. */
#include <stdint.h>
#include <string.h>

struct axpy {
    float *y;
    const float *x;
    struct {
        float a;
        uint32_t n;
    } how;
};

void axpy(void *args, uint32_t block, uint32_t blocks)
{
    struct axpy p;
    memcpy(&p, args, sizeof(p));
    for (uint32_t i = block; i < p.how.n; i += blocks) {
        p.y[i] += p.how.a * p.x[i];
    }
}
const uint32_t axpy__params[] = {8, 8, 8}; /* for launches with an array of arguments */

/* The scale and the count are copied with the arguments, referenced by pointers. */
struct scale {
    float *y;
    const float *a;
    const uint32_t *n;
};

void scale(void *args, uint32_t block, uint32_t blocks)
{
    struct scale p;
    memcpy(&p, args, sizeof(p));
    for (uint32_t i = block; i < *p.n; i += blocks) {
        p.y[i] *= *p.a;
    }
}

int32_t table[4] = {1, 2, 3, 4};

void sum_table_7(void *args, uint32_t block, uint32_t blocks)
{
    int32_t *out;
    memcpy(&out, args, sizeof(out));
    (void)block;
    (void)blocks;
    *out = table[0] + table[1] + table[2] + table[3];
}

/* { uint32_t *ran; uint32_t how; }: block 1 faults, the others count. */
static uint32_t use_up_stack(const uint32_t *p, uint32_t depth)
{
    volatile char room[4096];
    room[depth % sizeof(room)] = (char)depth;
    return depth == UINT32_MAX ? *p : use_up_stack(p, depth + 1) + (uint32_t)room[0];
}

void faulty(void *args, uint32_t block, uint32_t blocks)
{
    struct {
        uint32_t *ran;
        uint32_t how;
    } p;
    memcpy(&p, args, sizeof(p));
    if (block == 1 % blocks) {
        uint32_t *volatile nowhere = (uint32_t *)16;
        volatile uint32_t zero = 0;
        switch (p.how) {
        case 0:
            *nowhere = 1;
            break;
        case 1:
            *p.ran = (block + 100) / zero;
            break;
        case 2:
            *p.ran = use_up_stack(p.ran, 0);
            break;
        default:
            break;
        }
    }
    __atomic_fetch_add(p.ran, 1, __ATOMIC_SEQ_CST);
}
