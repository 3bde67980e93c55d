/* SPDX-License-Identifier: Apache-2.0 */
/* Versions of a shared object: chains of records linked by relative offsets, each with a chain of its own. The loader
 * follows them without looking at their counts; see elf_loadable.c. */
#include "softnpu/runtime/elf_loadable_internal.h"

static void note_version(struct snpu_elf_check *c, uint32_t version)
{
    version &= 0x7fff;
    c->versions = version > c->versions ? version : c->versions;
}

/* Is the string at this offset the name of a library that the object needs? The loader assumes so. */
static bool is_needed(const struct snpu_elf_check *c, uint64_t name)
{
    const char *strings =
        (const char *)snpu__elf_at(c, c->value[SNPU_DYN_STRTAB], c->value[SNPU_DYN_STRSZ]); /* NUL-terminated */
    const uint8_t *table = snpu__elf_at(c, c->dynamic.p_vaddr, c->dynamic.p_filesz);
    for (uint64_t i = 0; name < c->value[SNPU_DYN_STRSZ] && u64(table + i * sizeof(Elf64_Dyn)) != DT_NULL; i++) {
        if (u64(table + i * sizeof(Elf64_Dyn)) == DT_NEEDED &&
            strcmp(strings + u64(table + i * sizeof(Elf64_Dyn) + 8), strings + name) == 0) {
            return true;
        }
    }
    return false;
}

static bool check_version_needs(struct snpu_elf_check *c)
{
    uint64_t addr = c->value[SNPU_DYN_VERNEED];
    for (uint64_t i = 0; c->present[SNPU_DYN_VERNEED] && i < c->value[SNPU_DYN_VERNEEDNUM]; i++) {
        Elf64_Verneed need;
        const uint8_t *p = snpu__elf_at(c, addr, sizeof(need));
        if (p == NULL) {
            return refuse(c, "bad version needs");
        }
        memcpy(&need, p, sizeof(need));
        uint64_t aux = addr + need.vn_aux;
        for (uint32_t k = 0; k < need.vn_cnt; k++) {
            Elf64_Vernaux item;
            p = snpu__elf_at(c, aux, sizeof(item));
            if (p == NULL) {
                return refuse(c, "bad version needs");
            }
            memcpy(&item, p, sizeof(item));
            if (item.vna_name >= c->value[SNPU_DYN_STRSZ] || (item.vna_next == 0) != (k + 1 == need.vn_cnt)) {
                return refuse(c, "bad version needs");
            }
            note_version(c, item.vna_other);
            aux += item.vna_next;
        }
        if (need.vn_cnt == 0 || !is_needed(c, need.vn_file) ||
            (need.vn_next == 0) != (i + 1 == c->value[SNPU_DYN_VERNEEDNUM])) {
            return refuse(c, "bad version needs");
        }
        addr += need.vn_next;
    }
    return true;
}

static bool check_version_definitions(struct snpu_elf_check *c)
{
    uint64_t addr = c->value[SNPU_DYN_VERDEF];
    for (uint64_t i = 0; c->present[SNPU_DYN_VERDEF] && i < c->value[SNPU_DYN_VERDEFNUM]; i++) {
        Elf64_Verdef def;
        Elf64_Verdaux item;
        const uint8_t *p = snpu__elf_at(c, addr, sizeof(def));
        if (p == NULL) {
            return refuse(c, "bad version definitions");
        }
        memcpy(&def, p, sizeof(def));
        p = snpu__elf_at(c, addr + def.vd_aux, sizeof(item));
        if (p == NULL) {
            return refuse(c, "bad version definitions");
        }
        memcpy(&item, p, sizeof(item));
        if (item.vda_name >= c->value[SNPU_DYN_STRSZ] ||
            (def.vd_next == 0) != (i + 1 == c->value[SNPU_DYN_VERDEFNUM])) {
            return refuse(c, "bad version definitions");
        }
        note_version(c, def.vd_ndx);
        addr += def.vd_next;
    }
    return true;
}

/* After the needs and definitions: every symbol's version must be one of those. */
static bool check_symbol_versions(struct snpu_elf_check *c)
{
    if (!c->present[SNPU_DYN_VERSYM]) {
        return true;
    }
    const uint8_t *table = snpu__elf_at(c, c->value[SNPU_DYN_VERSYM], c->symbols * 2);
    for (uint64_t i = 0; table != NULL && i < c->symbols; i++) {
        uint16_t version;
        memcpy(&version, table + i * 2, sizeof(version));
        if ((version & 0x7fff) > 1 && (version & 0x7fff) > c->versions) {
            return refuse(c, "a symbol has an unknown version");
        }
    }
    return table != NULL || refuse(c, "bad symbol versions");
}

bool snpu__elf_check_versions(struct snpu_elf_check *c)
{
    return check_version_needs(c) && check_version_definitions(c) && check_symbol_versions(c);
}
