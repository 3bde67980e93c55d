/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the check in elf_loadable.c share: what is known of the object so far. Private to them. */
#ifndef SOFTNPU_RUNTIME_ELF_LOADABLE_INTERNAL_H
#define SOFTNPU_RUNTIME_ELF_LOADABLE_INTERNAL_H

#include "softnpu/runtime/elf.h"

#include <elf.h>
#include <string.h>

#define MAX_SEGMENTS 64

/* Dynamic entries that are followed, by the place where we keep them. */
enum entry {
    E_STRTAB,
    E_STRSZ,
    E_SYMTAB,
    E_SYMENT,
    E_HASH,
    E_GNU_HASH,
    E_RELA,
    E_RELASZ,
    E_RELAENT,
    E_JMPREL,
    E_PLTRELSZ,
    E_PLTREL,
    E_RELR,
    E_RELRSZ,
    E_INIT,
    E_FINI,
    E_INIT_ARRAY,
    E_INIT_ARRAYSZ,
    E_FINI_ARRAY,
    E_FINI_ARRAYSZ,
    E_VERSYM,
    E_VERNEED,
    E_VERNEEDNUM,
    E_VERDEF,
    E_VERDEFNUM,
    E_PLTGOT,
    E_RELACOUNT,
    E_FLAGS,
    E_FLAGS_1,
    E_COUNT,
};

struct check {
    const struct snpu_elf *elf;
    Elf64_Phdr load[MAX_SEGMENTS];
    size_t loads;
    Elf64_Phdr dynamic;
    bool present[E_COUNT];
    uint64_t value[E_COUNT];
    uint64_t symbols;   /* entries of the dynamic symbol table, from its hash table */
    uint32_t versions;  /* highest version number that is defined or needed */
    uint64_t filled[2]; /* places in the lists of initialisers and finalisers that a relocation fills */
    const char *why;
};

static inline bool refuse(struct check *c, const char *why)
{
    c->why = why;
    return false;
}

static inline uint32_t u32(const uint8_t *p)
{
    uint32_t value;
    memcpy(&value, p, sizeof(value));
    return value;
}

static inline uint64_t u64(const uint8_t *p)
{
    uint64_t value;
    memcpy(&value, p, sizeof(value));
    return value;
}

/* File bytes behind [addr, addr + size_b), or NULL. */
const uint8_t *snpu__elf_at(const struct check *c, uint64_t addr, uint64_t size_b);

/* Version needs and definitions, and the versions of symbols; the dynamic entries and symbols were checked before. */
bool snpu__elf_check_versions(struct check *c);

#endif
