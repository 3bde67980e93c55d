/* SPDX-License-Identifier: Apache-2.0 */
/* Memory for results: allocated in chunks, freed together. */
#include "memscope/analyze/report/report_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_B 65536u

struct ms_arena_chunk {
    struct ms_arena_chunk *next;
    max_align_t data[];
};

void *ms_arena_get(struct ms_arena *arena, size_t size_b)
{
    size_t rounded = (size_b + sizeof(max_align_t) - 1) / sizeof(max_align_t) * sizeof(max_align_t);
    if (rounded > arena->left) {
        size_t chunk_b = rounded > CHUNK_B / 4 ? rounded : CHUNK_B;
        struct ms_arena_chunk *chunk = calloc(1, sizeof(*chunk) + chunk_b);
        if (chunk == NULL) {
            arena->failed = true;
            return NULL;
        }
        chunk->next = arena->chunks;
        arena->chunks = chunk;
        if (chunk_b == rounded) {
            return chunk->data; /* the remainder of the previous chunk stays in use */
        }
        arena->at = (char *)chunk->data;
        arena->left = chunk_b;
    }
    void *out = arena->at;
    arena->at += rounded;
    arena->left -= rounded;
    return out;
}

const char *ms_arena_text(struct ms_arena *arena, const char *s, size_t length_b)
{
    char *copy = length_b != 0 ? ms_arena_get(arena, length_b + 1) : NULL;
    if (copy == NULL) {
        return "";
    }
    memcpy(copy, s, length_b);
    return copy;
}

const char *ms_arena_print(struct ms_arena *arena, const char *format, ...)
{
    char text[2048];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    return ms_arena_text(arena, text,
                         length < 0                      ? 0
                         : (size_t)length < sizeof(text) ? (size_t)length
                                                         : sizeof(text) - 1);
}

void ms_arena_free(struct ms_arena *arena)
{
    for (struct ms_arena_chunk *chunk = arena->chunks, *next; chunk != NULL; chunk = next) {
        next = chunk->next;
        free(chunk);
    }
    *arena = (struct ms_arena){0};
}
