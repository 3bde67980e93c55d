/* SPDX-License-Identifier: Apache-2.0 */
/* Reads untrusted ELF files: kernel binaries given by name or by address.
 *
 * No field is trusted: every offset, count and string is checked against the size of the data before use, and no
 * pointer into the data is assumed to be aligned. The caller keeps the data alive. */
#ifndef SOFTNPU_RUNTIME_ELF_H
#define SOFTNPU_RUNTIME_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct snpu_elf {
    const uint8_t *data;
    size_t size_b;
    uint16_t type, machine;
    /* The larger symbol table: .symtab if there is one, otherwise .dynsym. */
    uint64_t symbols_off, symbol_count;
    uint64_t strings_off, strings_b;
};

struct snpu_elf_symbol {
    const char *name; /* terminated, inside the data */
    uint64_t value, size_b;
    bool function, object; /* defined here and visible to other objects */
};

/* Does the data start like a supported ELF file (64 bit, little endian)? */
bool snpu__elf_is(const void *data, size_t size_b);

/* 0, or -EINVAL with *why set to a text that fits into "not a usable ELF file: %s". */
int snpu__elf_open(struct snpu_elf *elf, const void *data, size_t size_b, const char **why);

/* False for an index beyond the table and for a symbol without a usable name. */
bool snpu__elf_symbol(const struct snpu_elf *elf, uint64_t index, struct snpu_elf_symbol *out);

/* Is this a shared object for the processor we run on? */
bool snpu__elf_is_host_object(const struct snpu_elf *elf);

/* The dynamic loader trusts what a shared object says about itself and crashes if that is wrong. This checks every
 * table the loader follows. 0, or -EINVAL and *why. */
int snpu__elf_check_loadable(const struct snpu_elf *elf, const char **why);

#endif
