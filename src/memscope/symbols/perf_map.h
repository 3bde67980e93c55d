/* SPDX-License-Identifier: Apache-2.0 */
/* Names of generated code from /tmp/perf-PID.map: lines of start, size (hexadecimal) and name, in any order; if two
 * cover an address, the later one counts, because code is regenerated over older code. */
#ifndef MS_SYMBOLS_PERF_MAP_H
#define MS_SYMBOLS_PERF_MAP_H

#include <stddef.h>
#include <stdint.h>

struct ms_perf_entry {
    uint64_t start, size_b;
    const char *name; /* not terminated */
    uint32_t name_b;
    uint32_t line;
};
struct ms_perf_map {
    struct ms_perf_entry *entries; /* sorted by start */
    size_t count;
    char *text;
};

/* Parses the text of such a file and takes ownership of it (malloc). Malformed lines are skipped. */
void ms_perf_map_parse(struct ms_perf_map *map, char *text, size_t text_b);
const struct ms_perf_entry *ms_perf_map_find(const struct ms_perf_map *map, uint64_t pc); /* NULL: none */
void ms_perf_map_free(struct ms_perf_map *map);

#endif
