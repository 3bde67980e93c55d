/* SPDX-License-Identifier: Apache-2.0 */
/* Uniform and normal numbers from the counter-based generator Philox4x32-10 (Salmon, Moraes, Dror, Shaw, SC 2011): an
 * element depends only on seed, offset and its index. */
#include "softnpu/kernels/fast_math.h"
#include "softnpu/kernels/philox.h"
#include "softnpu/kernels/kernel.h"

/* Counters per batch; four words each. A multiple of the vector length, a divisor of TK_GRAIN. */
enum { BATCH = 16, BATCH_WORDS = 4 * BATCH };

/* words[w][j] = word w of counter first + j. */
static void generate(uint64_t seed, uint64_t first, uint32_t words[4][BATCH])
{
    for (uint32_t j = 0; j < BATCH; j++) {
        uint32_t out[4];
        tk_philox(seed, first + j, out);
        for (int w = 0; w < 4; w++) {
            words[w][j] = out[w];
        }
    }
}

TK_KERNEL(random_uniform)
{
    if (a->y == NULL) {
        return;
    }
    const struct tk_range r = tk_share(a->count, TK_GRAIN, block, num_blocks);
    const float low = (float)a->low, high = (float)a->high, width = (float)(a->high - a->low);
    for (uint64_t begin = r.begin; begin < r.end; begin += BATCH_WORDS) {
        uint32_t words[4][BATCH];
        float values[BATCH_WORDS];
        generate(a->seed, a->offset + begin / 4, words);
        for (int w = 0; w < 4; w++) {
            for (int j = 0; j < BATCH; j++) {
                float v = low + tk_unit(words[w][j]) * width;
                values[4 * j + w] = v < high ? v : low; /* rounding may reach the excluded end */
            }
        }
        uint64_t count = r.end - begin < BATCH_WORDS ? r.end - begin : BATCH_WORDS;
        memcpy(a->y + begin, values, count * sizeof(float));
    }
}

TK_KERNEL(random_normal)
{
    if (a->y == NULL) {
        return;
    }
    const struct tk_range r = tk_share(a->count, TK_GRAIN, block, num_blocks);
    const float mean = (float)a->mean, stddev = (float)a->stddev;
    for (uint64_t begin = r.begin; begin < r.end; begin += BATCH_WORDS) {
        uint32_t words[4][BATCH];
        float values[BATCH_WORDS];
        generate(a->seed, a->offset + begin / 4, words);
        for (int pair = 0; pair < 4; pair += 2) {
            for (int j = 0; j < BATCH; j++) {
                float x, y;
                tk_normal_pair(words[pair][j], words[pair + 1][j], &x, &y);
                values[4 * j + pair] = mean + stddev * x;
                values[4 * j + pair + 1] = mean + stddev * y;
            }
        }
        uint64_t count = r.end - begin < BATCH_WORDS ? r.end - begin : BATCH_WORDS;
        memcpy(a->y + begin, values, count * sizeof(float));
    }
}
