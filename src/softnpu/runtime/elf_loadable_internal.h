/* SPDX-License-Identifier: Apache-2.0 */
/* State shared by the parts of the check in elf_loadable.c; private to them. */
#ifndef SOFTNPU_RUNTIME_ELF_LOADABLE_INTERNAL_H
#define SOFTNPU_RUNTIME_ELF_LOADABLE_INTERNAL_H

#include "softnpu/runtime/elf.h"

#include <elf.h>
#include <string.h>

#define SNPU_ELF_SEGMENTS_MAX 64

/* Dynamic entries that the check follows, as indexes into snpu_elf_check.present and .value. */
enum snpu_elf_entry {
    SNPU_DYN_STRTAB,
    SNPU_DYN_STRSZ,
    SNPU_DYN_SYMTAB,
    SNPU_DYN_SYMENT,
    SNPU_DYN_HASH,
    SNPU_DYN_GNU_HASH,
    SNPU_DYN_RELA,
    SNPU_DYN_RELASZ,
    SNPU_DYN_RELAENT,
    SNPU_DYN_JMPREL,
    SNPU_DYN_PLTRELSZ,
    SNPU_DYN_PLTREL,
    SNPU_DYN_RELR,
    SNPU_DYN_RELRSZ,
    SNPU_DYN_INIT,
    SNPU_DYN_FINI,
    SNPU_DYN_INIT_ARRAY,
    SNPU_DYN_INIT_ARRAYSZ,
    SNPU_DYN_FINI_ARRAY,
    SNPU_DYN_FINI_ARRAYSZ,
    SNPU_DYN_VERSYM,
    SNPU_DYN_VERNEED,
    SNPU_DYN_VERNEEDNUM,
    SNPU_DYN_VERDEF,
    SNPU_DYN_VERDEFNUM,
    SNPU_DYN_PLTGOT,
    SNPU_DYN_RELACOUNT,
    SNPU_DYN_FLAGS,
    SNPU_DYN_FLAGS_1,
    SNPU_DYN_COUNT,
};

struct snpu_elf_check {
    const struct snpu_elf *elf;
    Elf64_Phdr load[SNPU_ELF_SEGMENTS_MAX];
    size_t loads;
    Elf64_Phdr dynamic;
    bool present[SNPU_DYN_COUNT];
    uint64_t value[SNPU_DYN_COUNT];
    uint64_t symbols;   /* entries in the dynamic symbol table, from its hash table */
    uint32_t versions;  /* highest version number defined or needed */
    uint64_t filled[2]; /* elements of the initialiser and finaliser lists filled by a relocation */
    const char *why;
};

static inline bool refuse(struct snpu_elf_check *c, const char *why)
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
const uint8_t *snpu__elf_at(const struct snpu_elf_check *c, uint64_t addr, uint64_t size_b);

/* Version needs and definitions, and symbol versions; call after the dynamic entries and symbols were checked. */
bool snpu__elf_check_versions(struct snpu_elf_check *c);

#endif
