/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of an ELF file by address: the symbol table, sorted once, then binary search. */
#ifndef MS_SYMBOLS_ELF_INDEX_H
#define MS_SYMBOLS_ELF_INDEX_H

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ms_symbol {
    uint64_t address, size_b;
    const char *name; /* owned by the Elf, which must stay open */
    uint8_t rank;     /* of several at one address the smallest rank wins */
    bool open;        /* has no size: ends at the next one, or after size_b (the section) */
};

struct ms_elf_index {
    struct ms_symbol *symbols; /* sorted by address */
    size_t count;
};

/* Adds the functions of the best table of an Elf (symtab, else dynsym). 0 or -ENOMEM; damaged entries are skipped. */
int ms_elf_index_add(struct ms_elf_index *index, Elf *elf);
/* Sorts; keeps one of several names at one address. */
void ms_elf_index_finish(struct ms_elf_index *index);
/* The function that contains the address; NULL: none. */
const struct ms_symbol *ms_elf_index_find(const struct ms_elf_index *index, uint64_t address);
void ms_elf_index_free(struct ms_elf_index *index);

#endif
