/* SPDX-License-Identifier: Apache-2.0 */
/* Everything that is read from a kernel binary before it is trusted: ELF headers and symbols, the tables used by the
 * dynamic loader, JSON descriptions. Build with -Dfuzz=true and clang; run with a directory of kernel binaries as
 * corpus. */
#include "softnpu/runtime/elf.h"
#include "softnpu/runtime/kernel_json.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_symbols(const struct snpu_elf *elf)
{
    struct snpu_elf_symbol symbol;
    size_t total = 0;
    for (uint64_t i = 0; i < elf->symbol_count; i++) {
        if (snpu__elf_symbol(elf, i, &symbol)) {
            total += strlen(symbol.name);
        }
    }
    __asm__ volatile("" ::"r"(total));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct snpu_elf elf;
    const char *why;
    if (snpu__elf_open(&elf, data, size, &why) == 0) {
        read_symbols(&elf);
        snpu__elf_check_loadable(&elf, &why);
    } else if (snpu__json_is(data, size)) {
        struct snpu_image image;
        memset(&image, 0, sizeof(image));
        snpu__json_names(&image, (const char *)data, size);
        free(image.symbols);
        free(image.names);
    }
    return 0;
}
