/* SPDX-License-Identifier: Apache-2.0 */
/* A realistic kernel binary, built by hand: an ELF file for a foreign processor, with a symbol table. */
#ifndef ELF_SAMPLE_H
#define ELF_SAMPLE_H

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#define ELF_SAMPLE_MACHINE 0x1029

struct elf_sample_symbol {
    const char *name;
    unsigned char type;
    unsigned long value, size_b;
};

/* The file, allocated with malloc. Text holds 256 bytes of "code" at the offset that symbol values are relative to (the
 * file). */
static inline unsigned char *elf_sample(const struct elf_sample_symbol *symbols, size_t count, size_t *size_b)
{
    size_t names_b = 1;
    for (size_t i = 0; i < count; i++) {
        names_b += strlen(symbols[i].name) + 1;
    }
    size_t text_at = sizeof(Elf64_Ehdr), symbols_at = text_at + 256,
           names_at = symbols_at + (count + 1) * sizeof(Elf64_Sym);
    size_t sections_at = (names_at + names_b + 7) / 8 * 8;
    *size_b = sections_at + 4 * sizeof(Elf64_Shdr);
    unsigned char *file = calloc(1, *size_b);
    Elf64_Ehdr head = {.e_type = ET_EXEC,
                       .e_machine = ELF_SAMPLE_MACHINE,
                       .e_version = 1,
                       .e_shoff = sections_at,
                       .e_ehsize = sizeof(Elf64_Ehdr),
                       .e_shentsize = sizeof(Elf64_Shdr),
                       .e_shnum = 4};
    memcpy(head.e_ident, ELFMAG, SELFMAG);
    head.e_ident[EI_CLASS] = ELFCLASS64;
    head.e_ident[EI_DATA] = ELFDATA2LSB;
    head.e_ident[EI_VERSION] = 1;
    memcpy(file, &head, sizeof(head));
    size_t name_at = 1;
    for (size_t i = 0; i < count; i++) {
        Elf64_Sym symbol = {.st_name = (Elf64_Word)name_at,
                            .st_info = ELF64_ST_INFO(STB_GLOBAL, symbols[i].type),
                            .st_shndx = 1,
                            .st_value = symbols[i].value,
                            .st_size = symbols[i].size_b};
        memcpy(file + symbols_at + (i + 1) * sizeof(symbol), &symbol, sizeof(symbol));
        strcpy((char *)file + names_at + name_at, symbols[i].name);
        name_at += strlen(symbols[i].name) + 1;
    }
    const Elf64_Shdr sections[4] = {
        {0},
        {.sh_type = SHT_PROGBITS, .sh_offset = text_at, .sh_size = 256},
        {.sh_type = SHT_SYMTAB,
         .sh_offset = symbols_at,
         .sh_size = (count + 1) * sizeof(Elf64_Sym),
         .sh_link = 3,
         .sh_entsize = sizeof(Elf64_Sym)},
        {.sh_type = SHT_STRTAB, .sh_offset = names_at, .sh_size = names_b},
    };
    memcpy(file + sections_at, sections, sizeof(sections));
    return file;
}

#endif
