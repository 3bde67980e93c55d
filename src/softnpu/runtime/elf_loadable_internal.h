/* SPDX-License-Identifier: Apache-2.0 */
/* State shared by the parts of the check in elf_loadable.c; private to them. */
#ifndef SOFTNPU_RUNTIME_ELF_LOADABLE_INTERNAL_H
#define SOFTNPU_RUNTIME_ELF_LOADABLE_INTERNAL_H

#include "softnpu/runtime/elf.h"

#include <elf.h>
#include <string.h>

#define MAX_SEGMENTS 64

/* Dynamic entries that the check follows, as indexes into snpu_elf_check.present and .value. */
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
    uint64_t symbols;   /* entries in the dynamic symbol table, from its hash table */
    uint32_t versions;  /* highest version number defined or needed */
    uint64_t filled[2]; /* elements of the initialiser and finaliser lists filled by a relocation */
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

/* Version needs and definitions, and symbol versions; call after the dynamic entries and symbols were checked. */
bool snpu__elf_check_versions(struct check *c);

#endif
