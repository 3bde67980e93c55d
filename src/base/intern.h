/* SPDX-License-Identifier: Apache-2.0 */
/* Interned strings: equal texts have equal ids, numbered 1, 2, 3 ... Texts live until the whole table is freed. */
#ifndef MS_BASE_INTERN_H
#define MS_BASE_INTERN_H

#include <stddef.h>
#include <stdint.h>

struct ms_intern_text {
    const char *s; /* NUL-terminated, but may contain NULs */
    uint32_t length_b;
    uint32_t hash;
};

struct ms_intern {
    struct ms_intern_text *texts; /* texts[0] is empty */
    uint32_t count, room;
    uint32_t *table; /* open addressing; holds ids */
    uint32_t table_size;
    struct ms_intern_chunk *chunks;
    size_t chunk_left, memory_b;
    char *chunk_at;
};

uint32_t ms_intern(struct ms_intern *intern, const char *s, size_t length_b);     /* 0: out of memory, or empty text */
struct ms_intern_text ms_intern_get(const struct ms_intern *intern, uint32_t id); /* unknown id: the empty text */
void ms_intern_free(struct ms_intern *intern);

#endif
