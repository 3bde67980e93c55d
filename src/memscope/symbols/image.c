/* SPDX-License-Identifier: Apache-2.0 */
/* See image.h. The enclosing function is named by the symbol table, which has its start; inlined functions come from
 * DWARF only. */
#include "memscope/symbols/image.h"

#include "memscope/symbols/demangle.h"
#include "memscope/symbols/dwarf_lines.h"
#include "memscope/symbols/elf_index.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct ms_image {
    int fd, debug_fd; /* -1: none */
    Elf *elf, *debug_elf;
    Dwfl *dwfl;
    Dwfl_Module *module; /* NULL: no lines */
    struct ms_elf_index index;
    struct ms_dwarf_frame sources[MS_INLINED_MAX];
};

static Elf *open_elf(int fd)
{
    Elf *elf = fd >= 0 ? elf_begin(fd, ELF_C_READ_MMAP, NULL) : NULL;
    if (elf != NULL && elf_kind(elf) != ELF_K_ELF) {
        elf_end(elf);
        elf = NULL;
    }
    return elf;
}

static size_t build_id(Elf *elf, const uint8_t **out)
{
    const void *bytes;
    ssize_t length_b = elf != NULL ? dwelf_elf_gnu_build_id(elf, &bytes) : -1;
    *out = length_b > 0 ? bytes : NULL;
    return length_b > 0 ? (size_t)length_b : 0;
}

size_t ms_image_build_id(const struct ms_image *image, const uint8_t **out)
{
    return build_id(image->elf, out);
}

/* ---- separate debug information ---- */

static int open_debug(Elf *elf)
{
    const uint8_t *id;
    size_t id_b = build_id(elf, &id);
    char path[256] = "/usr/lib/debug/.build-id/";
    size_t used = strlen(path);
    if (id_b < 2 || id_b > 64) {
        return -1;
    }
    for (size_t i = 0; i < id_b; i++) {
        used += (size_t)snprintf(path + used, sizeof(path) - used, i == 1 ? "/%02x" : "%02x", id[i]);
    }
    snprintf(path + used, sizeof(path) - used, ".debug");
    return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

static bool same_build(Elf *a, Elf *b)
{
    const uint8_t *x, *y;
    size_t x_b = build_id(a, &x), y_b = build_id(b, &y);
    return x_b == y_b && x_b != 0 && memcmp(x, y, x_b) == 0;
}

static void find_debug(struct ms_image *image)
{
    if (image->debug_fd < 0) {
        image->debug_fd = open_debug(image->elf);
    }
    image->debug_elf = open_elf(image->debug_fd);
    if (image->debug_elf != NULL && !same_build(image->elf, image->debug_elf)) {
        elf_end(image->debug_elf);
        image->debug_elf = NULL;
    }
}

/* ---- lines ---- */

static int give_debug(Dwfl_Module *module, void **self, const char *name, Dwarf_Addr base, const char *file,
                      const char *link, GElf_Word crc, char **found)
{
    const struct ms_image *image = *self;
    (void)module, (void)name, (void)base, (void)file, (void)link, (void)crc, (void)found;
    return image->debug_elf != NULL ? fcntl(image->debug_fd, F_DUPFD_CLOEXEC, 3) : -1;
}

static int give_nothing(Dwfl_Module *module, void **self, const char *name, Dwarf_Addr base, char **file, Elf **elf)
{
    (void)module, (void)self, (void)name, (void)base, (void)file, (void)elf;
    return -1;
}

static void open_lines(struct ms_image *image)
{
    static const Dwfl_Callbacks callbacks = {
        .find_elf = give_nothing, .find_debuginfo = give_debug, .section_address = dwfl_offline_section_address};
    image->dwfl = dwfl_begin(&callbacks);
    int fd = image->dwfl != NULL ? fcntl(image->fd, F_DUPFD_CLOEXEC, 3) : -1;
    if (fd < 0) {
        return;
    }
    dwfl_report_begin(image->dwfl);
    image->module = dwfl_report_elf(image->dwfl, "", "", fd, 0, true);
    dwfl_report_end(image->dwfl, NULL, NULL);
    if (image->module == NULL) {
        close(fd); /* ownership passes on success only */
        return;
    }
    void **self;
    dwfl_module_info(image->module, &self, NULL, NULL, NULL, NULL, NULL, NULL);
    *self = image;
}

/* ---- images ---- */

int ms_image_open(int fd, int debug_fd, bool lines, struct ms_image **out)
{
    elf_version(EV_CURRENT);
    struct ms_image *image = calloc(1, sizeof(*image));
    if (image == NULL) {
        close(fd);
        return -ENOMEM;
    }
    image->fd = fd;
    image->debug_fd = debug_fd;
    image->elf = open_elf(fd);
    if (image->elf == NULL) {
        ms_image_close(image);
        return -ENOEXEC;
    }
    find_debug(image);
    int rc = ms_elf_index_add(&image->index, image->elf);
    rc = rc == 0 && image->debug_elf != NULL ? ms_elf_index_add(&image->index, image->debug_elf) : rc;
    if (rc != 0) {
        ms_image_close(image);
        return rc;
    }
    ms_elf_index_finish(&image->index);
    if (lines) {
        open_lines(image);
    }
    *out = image;
    return 0;
}

void ms_image_close(struct ms_image *image)
{
    if (image->dwfl != NULL) {
        dwfl_end(image->dwfl);
    }
    ms_elf_index_free(&image->index);
    elf_end(image->debug_elf);
    elf_end(image->elf);
    if (image->debug_fd >= 0) {
        close(image->debug_fd);
    }
    close(image->fd);
    free(image);
}

static void put(FILE *out, const char *name, uint64_t entry, uint64_t address, const struct ms_dwarf_frame *source)
{
    char text[MS_NAME_MAX_B];
    if (name != NULL) {
        for (unsigned i = MS_SCOPES_MAX; source != NULL && name == source->name && i > 0; i--) {
            if (source->scope[i - 1] != NULL) {
                ms_demangle(source->scope[i - 1], text);
                fprintf(out, "%s::", text);
            }
        }
        ms_demangle(name, text);
        fprintf(out, "%s+0x%llx", text, (unsigned long long)(entry <= address && entry != 0 ? address - entry : 0));
    }
    if (source != NULL && source->file[0] != '\0') {
        fprintf(out, "\t%s:%d", source->file, source->line);
    } else if (name == NULL) {
        return;
    }
    fputc('\n', out);
}

void ms_image_describe(struct ms_image *image, uint64_t address, FILE *out)
{
    uint64_t call = address - (address > 0); /* the return address may belong to the next line or function */
    unsigned count = image->module != NULL ? ms_dwarf_frames(image->module, call, image->sources) : 0;
    const struct ms_symbol *symbol = ms_elf_index_find(&image->index, call);
    for (unsigned i = 0; i + 1 < count; i++) {
        put(out, image->sources[i].name, image->sources[i].entry, address, &image->sources[i]);
    }
    const struct ms_dwarf_frame *outermost = count > 0 ? &image->sources[count - 1] : NULL;
    if (symbol != NULL) {
        put(out, symbol->name, symbol->address, address, outermost);
    } else if (outermost != NULL) {
        put(out, outermost->name, outermost->entry, address, outermost);
    }
}
