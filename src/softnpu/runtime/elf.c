/* SPDX-License-Identifier: Apache-2.0 */
/* Headers and symbol tables of ELF files; see elf.h. Only section headers are used: the vendor compiler's kernel
 * binaries and shared objects both have them. A file without a symbol table opens successfully and has no symbols. */
#include "softnpu/runtime/elf.h"

#include "base/macros.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#if defined(__x86_64__)
#define HOST_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define HOST_MACHINE EM_AARCH64
#else
#error "which ELF machine is this?"
#endif

static bool in_data(const struct snpu_elf *elf, uint64_t off, uint64_t size_b)
{
    return off <= elf->size_b && size_b <= elf->size_b - off;
}

static bool read_section(const struct snpu_elf *elf, const Elf64_Ehdr *head, uint32_t index, Elf64_Shdr *out)
{
    uint64_t off = head->e_shoff + (uint64_t)index * sizeof(*out);
    if (index >= head->e_shnum || head->e_shoff > elf->size_b || !in_data(elf, off, sizeof(*out))) {
        return false;
    }
    memcpy(out, elf->data + off, sizeof(*out));
    return true;
}

bool snpu__elf_is(const void *data, size_t size_b)
{
    const uint8_t *p = data;
    return size_b >= sizeof(Elf64_Ehdr) && memcmp(p, ELFMAG, SELFMAG) == 0 && p[EI_CLASS] == ELFCLASS64 &&
           p[EI_DATA] == ELFDATA2LSB;
}

static bool use_symbols(struct snpu_elf *elf, const Elf64_Ehdr *head, const Elf64_Shdr *table)
{
    Elf64_Shdr strings;
    if (table->sh_entsize != sizeof(Elf64_Sym) || !in_data(elf, table->sh_offset, table->sh_size) ||
        !read_section(elf, head, table->sh_link, &strings) || strings.sh_type != SHT_STRTAB ||
        !in_data(elf, strings.sh_offset, strings.sh_size)) {
        return false;
    }
    elf->symbols_off = table->sh_offset;
    elf->symbol_count = table->sh_size / sizeof(Elf64_Sym);
    elf->strings_off = strings.sh_offset;
    elf->strings_b = strings.sh_size;
    return true;
}

int snpu__elf_open(struct snpu_elf *elf, const void *data, size_t size_b, const char **why)
{
    memset(elf, 0, sizeof(*elf));
    if (!snpu__elf_is(data, size_b)) {
        *why = "no 64-bit little-endian ELF header";
        return -EINVAL;
    }
    Elf64_Ehdr head;
    memcpy(&head, data, sizeof(head));
    elf->data = data;
    elf->size_b = size_b;
    elf->type = head.e_type;
    elf->machine = head.e_machine;
    if (head.e_shnum > 0 && (head.e_shentsize != sizeof(Elf64_Shdr) || head.e_shoff > size_b ||
                             !in_data(elf, head.e_shoff, (uint64_t)head.e_shnum * sizeof(Elf64_Shdr)))) {
        *why = "section headers lie outside the file";
        return -EINVAL;
    }
    static const uint32_t preference[] = {SHT_SYMTAB, SHT_DYNSYM};
    for (size_t i = 0; i < MS_COUNT_OF(preference) && elf->symbol_count == 0; i++) {
        for (uint32_t index = 0; index < head.e_shnum && elf->symbol_count == 0; index++) {
            Elf64_Shdr section;
            if (read_section(elf, &head, index, &section) && section.sh_type == preference[i] &&
                !use_symbols(elf, &head, &section)) {
                *why = "symbol table lies outside the file";
                return -EINVAL;
            }
        }
    }
    return 0;
}

bool snpu__elf_symbol(const struct snpu_elf *elf, uint64_t index, struct snpu_elf_symbol *out)
{
    if (index >= elf->symbol_count) {
        return false;
    }
    Elf64_Sym symbol;
    memcpy(&symbol, elf->data + elf->symbols_off + index * sizeof(symbol), sizeof(symbol));
    if (symbol.st_name == 0 || symbol.st_name >= elf->strings_b) {
        return false;
    }
    const char *name = (const char *)elf->data + elf->strings_off + symbol.st_name;
    if (name[0] == '\0' || memchr(name, '\0', elf->strings_b - symbol.st_name) == NULL) {
        return false;
    }
    uint32_t type = ELF64_ST_TYPE(symbol.st_info);
    bool visible = symbol.st_shndx != SHN_UNDEF && ELF64_ST_BIND(symbol.st_info) != STB_LOCAL &&
                   (symbol.st_other & 3) != STV_HIDDEN && (symbol.st_other & 3) != STV_INTERNAL;
    *out = (struct snpu_elf_symbol){
        .name = name,
        .value = symbol.st_value,
        .size_b = symbol.st_size,
        .function = visible && type == STT_FUNC,
        .object = visible && type == STT_OBJECT,
    };
    return true;
}

bool snpu__elf_is_host_object(const struct snpu_elf *elf)
{
    return elf->type == ET_DYN && elf->machine == HOST_MACHINE;
}
