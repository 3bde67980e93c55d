/* SPDX-License-Identifier: Apache-2.0 */
/* See intern.h. Text is stored in chunks that never move; the hash table doubles at 1/2 load. */
#include "base/intern.h"

#include "base/map.h"

#include <stdlib.h>
#include <string.h>

#define CHUNK_B (64u * 1024)

struct ms_intern_chunk {
    struct ms_intern_chunk *next;
    char bytes[];
};

static uint32_t hash_bytes(const char *s, size_t length_b)
{
    uint64_t h = length_b;
    while (length_b >= 8) {
        uint64_t word;
        memcpy(&word, s, 8);
        h = ms_hash_u64(h ^ word);
        s += 8;
        length_b -= 8;
    }
    uint64_t word = 0;
    memcpy(&word, s, length_b);
    return (uint32_t)(ms_hash_u64(h ^ word) >> 16);
}

static char *store(struct ms_intern *intern, const char *s, size_t length_b)
{
    size_t need = length_b + 1;
    if (need > intern->chunk_left) {
        size_t size = need > CHUNK_B / 4 ? need : CHUNK_B;
        struct ms_intern_chunk *chunk = malloc(sizeof(*chunk) + size);
        if (chunk == NULL) {
            return NULL;
        }
        intern->memory_b += sizeof(*chunk) + size;
        chunk->next = intern->chunks;
        intern->chunks = chunk;
        if (size > need || intern->chunk_left == 0) {
            intern->chunk_at = chunk->bytes;
            intern->chunk_left = size;
        } else { /* a large text gets a chunk of its own; the current chunk stays in use */
            memcpy(chunk->bytes, s, length_b);
            chunk->bytes[length_b] = 0;
            return chunk->bytes;
        }
    }
    char *at = intern->chunk_at;
    memcpy(at, s, length_b);
    at[length_b] = 0;
    intern->chunk_at += need;
    intern->chunk_left -= need;
    return at;
}

static int grow_table(struct ms_intern *intern)
{
    uint32_t size = intern->table_size != 0 ? intern->table_size * 2 : 64;
    uint32_t *table = calloc(size, sizeof(*table));
    if (table == NULL) {
        return -1;
    }
    for (uint32_t id = 1; id <= intern->count; id++) {
        uint32_t i = intern->texts[id].hash & (size - 1);
        while (table[i] != 0) {
            i = (i + 1) & (size - 1);
        }
        table[i] = id;
    }
    free(intern->table);
    intern->table = table;
    intern->table_size = size;
    return 0;
}

uint32_t ms_intern(struct ms_intern *intern, const char *s, size_t length_b)
{
    if (length_b == 0 || length_b > UINT32_MAX) {
        return 0;
    }
    uint32_t hash = hash_bytes(s, length_b);
    if ((intern->count + 1) * 2 > intern->table_size && grow_table(intern) != 0) {
        return 0;
    }
    uint32_t mask = intern->table_size - 1;
    uint32_t i = hash & mask;
    for (; intern->table[i] != 0; i = (i + 1) & mask) {
        const struct ms_intern_text *text = &intern->texts[intern->table[i]];
        if (text->hash == hash && text->length_b == length_b && memcmp(text->s, s, length_b) == 0) {
            return intern->table[i];
        }
    }
    if (intern->count + 2 > intern->room) {
        uint32_t room = intern->room != 0 ? intern->room * 2 : 64;
        struct ms_intern_text *texts = realloc(intern->texts, room * sizeof(*texts));
        if (texts == NULL) {
            return 0;
        }
        texts[0] = (struct ms_intern_text){.s = ""};
        intern->texts = texts;
        intern->room = room;
    }
    const char *stored = store(intern, s, length_b);
    if (stored == NULL) {
        return 0;
    }
    uint32_t id = ++intern->count;
    intern->texts[id] = (struct ms_intern_text){.s = stored, .length_b = (uint32_t)length_b, .hash = hash};
    intern->table[i] = id;
    return id;
}

struct ms_intern_text ms_intern_get(const struct ms_intern *intern, uint32_t id)
{
    if (id == 0 || id > intern->count) {
        return (struct ms_intern_text){.s = ""};
    }
    return intern->texts[id];
}

void ms_intern_free(struct ms_intern *intern)
{
    while (intern->chunks != NULL) {
        struct ms_intern_chunk *next = intern->chunks->next;
        free(intern->chunks);
        intern->chunks = next;
    }
    free(intern->texts);
    free(intern->table);
    *intern = (struct ms_intern){0};
}
