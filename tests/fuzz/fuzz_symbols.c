/* SPDX-License-Identifier: Apache-2.0 */
/* Text of addresses from hostile files: symbol tables, maps of generated code, line tables of Python, names. The first
 * byte selects how the rest is parsed. Debug information is left out: libdw reads it in a separate process that may
 * crash; the unit test of symbols shows that no other process is affected. */
#include "memscope/symbols/demangle.h"
#include "memscope/symbols/image.h"
#include "memscope/symbols/perf_map.h"
#include "memscope/symbols/python_lines.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void image(const uint8_t *data, size_t size)
{
    struct ms_image *image;
    int fd = memfd_create("fuzz", MFD_CLOEXEC);
    if (fd < 0 || write(fd, data, size) != (ssize_t)size || ms_image_open(fd, -1, false, &image) != 0) {
        return;
    }
    char *text = NULL;
    size_t text_b;
    FILE *out = open_memstream(&text, &text_b);
    for (uint64_t address = 0x1000; out != NULL && address < 0x40000; address += 0x3f1) {
        ms_image_describe(image, address, out);
    }
    if (out != NULL) {
        fclose(out);
    }
    free(text);
    ms_image_close(image);
}

static void perf_map(const uint8_t *data, size_t size)
{
    struct ms_perf_map map;
    char *text = malloc(size + (size == 0));
    memcpy(text, data, size);
    ms_perf_map_parse(&map, text, size);
    for (size_t i = 0; i < map.count && i < 64; i++) {
        const struct ms_perf_entry *entry = ms_perf_map_find(&map, map.entries[i].start);
        if (entry == NULL || entry->name_b == 0) {
            abort();
        }
    }
    ms_perf_map_free(&map);
}

static void python(const uint8_t *data, size_t size)
{
    for (uint32_t version = 0x0309; version <= 0x030e; version++) {
        for (uint64_t at = 0; at < 200; at += 2) {
            if (ms_python_line(version, data, size, 7, at) == 0) {
                abort();
            }
        }
    }
}

static void name(const uint8_t *data, size_t size)
{
    char out[MS_NAME_MAX_B], *text = malloc(size + 3);
    memcpy(text, "_Z", 2);
    memcpy(text + 2, data, size);
    text[size + 2] = '\0';
    if (ms_demangle(text, out) != strlen(out)) {
        abort();
    }
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const kinds[])(const uint8_t *, size_t) = {image, perf_map, python, name};
    if (size > 0) {
        kinds[data[0] % 4](data + 1, size - 1);
    }
    return 0;
}
