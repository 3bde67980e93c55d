/* SPDX-License-Identifier: Apache-2.0 */
/* Texts by number: equal texts have equal numbers, 1, 2, 3 ... Texts stay until the whole table is freed. */
#ifndef MS_BASE_INTERN_H
#define MS_BASE_INTERN_H

#include <stddef.h>
#include <stdint.h>

struct ms_intern_text {
    const char *s; /* terminated, but may contain zeros */
    uint32_t length_b;
    uint32_t hash;
};

struct ms_intern {
    struct ms_intern_text *texts; /* texts[0] is empty */
    uint32_t count, room;
    uint32_t *table; /* open addressing over numbers */
    uint32_t table_size;
    struct ms_intern_chunk *chunks;
    size_t chunk_left, memory_b;
    char *chunk_at;
};

uint32_t ms_intern(struct ms_intern *intern, const char *s, size_t length_b);     /* 0: no memory, or the empty text */
struct ms_intern_text ms_intern_get(const struct ms_intern *intern, uint32_t id); /* unknown: the empty text */
void ms_intern_free(struct ms_intern *intern);

#endif
