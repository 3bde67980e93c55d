/* SPDX-License-Identifier: Apache-2.0 */
/* A text that can be learned: usually the next token is determined by the last one; occasionally it is random. A model
 * that has learned the rule has about a quarter of the loss of one
 * that guesses. */
#include "train.h"

static uint64_t next_random(uint64_t *state)
{
    /* splitmix64 (Steele, Lea, Flood 2014) */
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

void text_open(struct text *text, uint64_t seed, uint64_t stream, int64_t vocab)
{
    *text = (struct text){.random = seed * 0x2545f4914f6cdd1du + stream + 1, .vocab = vocab};
    text->current = (int32_t)(next_random(&text->random) % (uint64_t)vocab);
}

static int32_t follow(struct text *text)
{
    uint64_t random = next_random(&text->random);
    int64_t next = (text->current * 5 + 3) % text->vocab;
    if (random % 100 < 10) {
        next = (int64_t)((random >> 32) % (uint64_t)text->vocab);
    }
    return (int32_t)next;
}

void text_read(struct text *text, int64_t count, int32_t *tokens, int32_t *next)
{
    for (int64_t i = 0; i < count; i++) {
        tokens[i] = text->current;
        text->current = next[i] = follow(text);
    }
}
