/* SPDX-License-Identifier: Apache-2.0 */
/* See elf_index.h. libelf checks the file's structure (bounds of sections and names); sizes and addresses are only
 * compared, never dereferenced. */
#include "memscope/symbols/elf_index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint8_t rank_of(const GElf_Sym *symbol)
{
    unsigned bind = GELF_ST_BIND(symbol->st_info);
    return (uint8_t)((symbol->st_size == 0 ? 4 : 0) + (bind == STB_GLOBAL ? 0 : bind == STB_WEAK ? 1 : 2));
}

/* Mapping symbols of the assembler ($x, $d) are not functions. */
static bool is_function(const GElf_Sym *symbol, const char *name)
{
    unsigned type = GELF_ST_TYPE(symbol->st_info);
    bool code = type == STT_FUNC || type == STT_GNU_IFUNC || (type == STT_NOTYPE && name[0] != '$');
    return code && symbol->st_shndx != SHN_UNDEF && symbol->st_shndx != SHN_ABS && symbol->st_value != 0 &&
           name[0] != '\0';
}

static uint64_t room_behind(Elf *elf, const GElf_Sym *symbol)
{
    GElf_Shdr head;
    Elf_Scn *section = elf_getscn(elf, symbol->st_shndx);
    bool inside = section != NULL && gelf_getshdr(section, &head) != NULL && symbol->st_value >= head.sh_addr &&
                  symbol->st_value - head.sh_addr < head.sh_size;
    return inside ? head.sh_addr + head.sh_size - symbol->st_value : 0;
}

static int add_table(struct ms_elf_index *index, Elf *elf, Elf_Scn *section, const GElf_Shdr *head)
{
    Elf_Data *data = elf_getdata(section, NULL);
    size_t entry_b = gelf_fsize(elf, ELF_T_SYM, 1, EV_CURRENT);
    size_t count = data != NULL && data->d_buf != NULL && entry_b != 0 ? data->d_size / entry_b : 0;
    struct ms_symbol *grown = realloc(index->symbols, (index->count + count + 1) * sizeof(*grown));
    if (grown == NULL) {
        return -ENOMEM;
    }
    index->symbols = grown;
    for (size_t i = 0; i < count && i < INT32_MAX; i++) {
        GElf_Sym symbol;
        const char *name =
            gelf_getsym(data, (int)i, &symbol) != NULL ? elf_strptr(elf, head->sh_link, symbol.st_name) : NULL;
        if (name != NULL && is_function(&symbol, name)) {
            bool open = symbol.st_size == 0;
            index->symbols[index->count++] = (struct ms_symbol){
                .address = symbol.st_value,
                .size_b = open ? room_behind(elf, &symbol) : symbol.st_size,
                .name = name,
                .rank = rank_of(&symbol),
                .open = open,
            };
        }
    }
    return 0;
}

int ms_elf_index_add(struct ms_elf_index *index, Elf *elf)
{
    static const unsigned kinds[] = {SHT_SYMTAB, SHT_DYNSYM};
    for (unsigned i = 0; i < 2; i++) {
        size_t before = index->count;
        for (Elf_Scn *section = elf_nextscn(elf, NULL); section != NULL; section = elf_nextscn(elf, section)) {
            GElf_Shdr head;
            if (gelf_getshdr(section, &head) == NULL || head.sh_type != kinds[i]) {
                continue;
            }
            int rc = add_table(index, elf, section, &head);
            if (rc != 0) {
                return rc;
            }
        }
        if (index->count != before) {
            break;
        }
    }
    return 0;
}

static int by_address(const void *a, const void *b)
{
    const struct ms_symbol *x = a, *y = b;
    if (x->address != y->address) {
        return x->address < y->address ? -1 : 1;
    }
    return x->rank != y->rank ? (int)x->rank - (int)y->rank : strcmp(x->name, y->name);
}

void ms_elf_index_finish(struct ms_elf_index *index)
{
    if (index->count == 0) {
        return;
    }
    qsort(index->symbols, index->count, sizeof(*index->symbols), by_address);
    size_t kept = 1;
    for (size_t i = 1; i < index->count; i++) {
        if (index->symbols[i].address != index->symbols[kept - 1].address) {
            index->symbols[kept++] = index->symbols[i];
        }
    }
    index->count = kept;
}

const struct ms_symbol *ms_elf_index_find(const struct ms_elf_index *index, uint64_t address)
{
    enum { NESTED_MAX = 16 }; /* a function may contain local symbols before the address */
    size_t low = 0, high = index->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (index->symbols[middle].address <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    for (size_t i = low; i > 0 && low - i < NESTED_MAX; i--) {
        const struct ms_symbol *symbol = &index->symbols[i - 1];
        if (address - symbol->address < symbol->size_b && (!symbol->open || i == low)) {
            return symbol;
        }
    }
    return NULL;
}

void ms_elf_index_free(struct ms_elf_index *index)
{
    free(index->symbols);
    *index = (struct ms_elf_index){0};
}
