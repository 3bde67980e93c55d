/* SPDX-License-Identifier: Apache-2.0 */
#include "memscope/symbols/perf_map.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const char *hex(const char *at, const char *end, uint64_t *out)
{
    const char *begin = at;
    *out = 0;
    if (end - at > 2 && at[0] == '0' && (at[1] == 'x' || at[1] == 'X')) {
        begin = at += 2;
    }
    for (; at < end && at - begin < 16; at++) {
        unsigned digit = *at >= '0' && *at <= '9'   ? (unsigned)(*at - '0')
                         : *at >= 'a' && *at <= 'f' ? (unsigned)(*at - 'a') + 10
                         : *at >= 'A' && *at <= 'F' ? (unsigned)(*at - 'A') + 10
                                                    : 16;
        if (digit == 16) {
            break;
        }
        *out = *out << 4 | digit;
    }
    return at > begin && at < end && *at == ' ' ? at + 1 : NULL;
}

static bool parse_line(const char *at, const char *end, struct ms_perf_entry *out)
{
    const char *rest = hex(at, end, &out->start);
    rest = rest != NULL ? hex(rest, end, &out->size_b) : NULL;
    if (rest == NULL || rest == end || out->size_b == 0 || out->start + out->size_b < out->start) {
        return false;
    }
    out->name = rest;
    out->name_b = end - rest < 1024 ? (uint32_t)(end - rest) : 1024;
    return true;
}

static int by_start(const void *a, const void *b)
{
    const struct ms_perf_entry *x = a, *y = b;
    if (x->start != y->start) {
        return x->start < y->start ? -1 : 1;
    }
    return x->line < y->line ? -1 : x->line > y->line;
}

void ms_perf_map_parse(struct ms_perf_map *map, char *text, size_t text_b)
{
    size_t room = 0;
    *map = (struct ms_perf_map){.text = text};
    uint32_t number = 0;
    for (char *at = text, *end = text + text_b; at < end; number++) {
        char *newline = memchr(at, '\n', (size_t)(end - at));
        char *line_end = newline != NULL ? newline : end;
        struct ms_perf_entry entry = {.line = number};
        if (newline != NULL && parse_line(at, line_end, &entry)) { /* a line without an end is still being written */
            for (char *c = at; c < line_end; c++) {
                *c = (unsigned char)*c < ' ' ? '?' : *c;
            }
            if (map->count == room) {
                room = room > 0 ? 2 * room : 256;
                struct ms_perf_entry *grown = realloc(map->entries, room * sizeof(*grown));
                if (grown == NULL) {
                    break;
                }
                map->entries = grown;
            }
            map->entries[map->count++] = entry;
        }
        at = line_end + 1;
    }
    if (map->count > 1) {
        qsort(map->entries, map->count, sizeof(*map->entries), by_start);
    }
}

const struct ms_perf_entry *ms_perf_map_find(const struct ms_perf_map *map, uint64_t pc)
{
    enum { OVERLAPS_MAX = 64 };
    size_t low = 0, high = map->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (map->entries[middle].start <= pc) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    const struct ms_perf_entry *best = NULL;
    for (size_t i = low; i > 0 && low - i < OVERLAPS_MAX; i--) {
        const struct ms_perf_entry *entry = &map->entries[i - 1];
        if (pc - entry->start < entry->size_b && (best == NULL || entry->line > best->line)) {
            best = entry;
        }
    }
    return best;
}

void ms_perf_map_free(struct ms_perf_map *map)
{
    free(map->entries);
    free(map->text);
    *map = (struct ms_perf_map){0};
}
