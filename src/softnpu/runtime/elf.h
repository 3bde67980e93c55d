/* SPDX-License-Identifier: Apache-2.0 */
/* Reading ELF files that nobody vouches for: kernel binaries given to us by name or by address.
 *
 * Nothing here trusts a single field: every offset, count and string is checked against the size of the data before it
 * is used, and no pointer into the data is assumed to be aligned. The caller keeps the data alive. */
#ifndef SOFTNPU_RUNTIME_ELF_H
#define SOFTNPU_RUNTIME_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct snpu_elf {
    const uint8_t *data;
    size_t size_b;
    uint16_t type, machine;
    /* Symbol table with the most names: .symtab if there is one, otherwise .dynsym. */
    uint64_t symbols_off, symbol_count;
    uint64_t strings_off, strings_b;
};

struct snpu_elf_symbol {
    const char *name; /* terminated, inside the data */
    uint64_t value, size_b;
    bool function, object; /* defined here and visible to others */
};

/* Does the data begin like an ELF file of the supported kind (64 bit, little endian)? */
bool snpu__elf_is(const void *data, size_t size_b);

/* 0, or -EINVAL with *why set to a text that fits into "not a usable ELF file: %s". */
int snpu__elf_open(struct snpu_elf *elf, const void *data, size_t size_b, const char **why);

/* False for an index beyond the table and for symbols without a usable name. */
bool snpu__elf_symbol(const struct snpu_elf *elf, uint64_t index, struct snpu_elf_symbol *out);

/* Is it a shared object for the processor that we run on? */
bool snpu__elf_is_host_object(const struct snpu_elf *elf);

/* The dynamic loader believes what a shared object says about itself and crashes if that is wrong. This looks at all
 * tables that it will follow while loading. 0, or -EINVAL and *why. */
int snpu__elf_check_loadable(const struct snpu_elf *elf, const char **why);

#endif
