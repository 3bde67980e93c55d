/* SPDX-License-Identifier: Apache-2.0 */
/* StatelessRandomUniformV2 and StatelessRandomNormalV2: Philox numbers by the linear index of the element, so the
 * result depends neither on strides nor on blocks. */
#include "softnpu/aclnn/kernels/op_kernel.h"
#include "softnpu/kernels/philox.h"

enum distribution { UNIFORM, NORMAL };

/* n <= TK_CHUNK values for the elements from `first` on. */
static void generate(const struct op_random_args *a, enum distribution distribution, uint64_t first, uint64_t n,
                     double *out)
{
    for (uint64_t counter = first / 4; counter * 4 < first + n; counter++) {
        uint32_t words[4];
        float values[4];
        tk_philox(a->seed, a->offset + counter, words);
        if (distribution == NORMAL) {
            tk_normal_pair(words[0], words[1], &values[0], &values[1]);
            tk_normal_pair(words[2], words[3], &values[2], &values[3]);
        } else {
            for (int i = 0; i < 4; i++) {
                values[i] = tk_unit(words[i]);
            }
        }
        for (uint64_t i = 0; i < 4; i++) {
            const uint64_t element = counter * 4 + i;
            if (element >= first && element < first + n) {
                out[element - first] = (double)values[i];
            }
        }
    }
}

static void fill(const struct op_random_args *a, uint32_t block, uint32_t num_blocks, enum distribution distribution)
{
    if (a->z == NULL) {
        return;
    }
    const int64_t zs = op_inner_step(&a->loop, &a->z_side);
    struct op_walk w = op_walk_start(&a->loop, tk_share(op_loop_count(&a->loop), TK_GRAIN, block, num_blocks));
    for (uint64_t n; (n = op_walk_run(&w, TK_CHUNK)) > 0; op_walk_advance(&w, n)) {
        struct tk_chunk chunk = {.kind = TK_KIND_REAL};
        generate(a, distribution, w.at, n, chunk.real);
        const double scale = distribution == NORMAL ? a->second : a->second - a->first;
        for (uint64_t i = 0; i < n; i++) {
            chunk.real[i] = a->first + scale * chunk.real[i];
        }
        tk_chunk_store(&chunk, (void *)op_element(a->z, op_walk_offset(&w, &a->z_side), a->z_side.type), zs,
                       a->z_side.type, n);
    }
}

OP_KERNEL(StatelessRandomUniformV2, op_random_args)
{
    fill(a, block, num_blocks, UNIFORM);
}

OP_KERNEL(StatelessRandomNormalV2, op_random_args)
{
    fill(a, block, num_blocks, NORMAL);
}
