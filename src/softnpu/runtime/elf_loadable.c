/* SPDX-License-Identifier: Apache-2.0 */
/* Checks that loading a shared object cannot crash the dynamic loader; see elf.h.
 *
 * glibc checks little of what it maps: a table that points outside the file, a relocation that patches foreign memory
 * or an endless version list crashes the process. All tables that loading follows are walked here first, in the
 * loader's own terms: addresses relative to the load base, backed by the file part of a segment. Only the machine code
 * itself must be trusted, as with any library.
 *
 * A refused file only yields an error code. Tables unknown here are not followed by the loader either. */
#include "softnpu/runtime/elf_loadable_internal.h"

#include "base/macros.h"

#include <errno.h>

#define MAX_SPAN_B      (UINT64_C(4) << 30)
#define MAX_DYN_ENTRIES 4096

#if defined(__x86_64__)
#define REL_RELATIVE  R_X86_64_RELATIVE
#define REL_IRELATIVE R_X86_64_IRELATIVE
#define REL_GLOB_DAT  R_X86_64_GLOB_DAT
#define REL_JUMP_SLOT R_X86_64_JUMP_SLOT
#else
#define REL_RELATIVE  R_AARCH64_RELATIVE
#define REL_IRELATIVE R_AARCH64_IRELATIVE
#define REL_GLOB_DAT  R_AARCH64_GLOB_DAT
#define REL_JUMP_SLOT R_AARCH64_JUMP_SLOT
#endif

#define TAG_RELR    36 /* names missing from older headers */
#define TAG_RELRSZ  35
#define TAG_RELRENT 37

static const struct {
    int64_t tag;
    enum snpu_elf_entry entry;
} entry_of_tag[] = {
    {DT_STRTAB, SNPU_DYN_STRTAB},
    {DT_STRSZ, SNPU_DYN_STRSZ},
    {DT_SYMTAB, SNPU_DYN_SYMTAB},
    {DT_SYMENT, SNPU_DYN_SYMENT},
    {DT_HASH, SNPU_DYN_HASH},
    {DT_GNU_HASH, SNPU_DYN_GNU_HASH},
    {DT_RELA, SNPU_DYN_RELA},
    {DT_RELASZ, SNPU_DYN_RELASZ},
    {DT_RELAENT, SNPU_DYN_RELAENT},
    {DT_JMPREL, SNPU_DYN_JMPREL},
    {DT_PLTRELSZ, SNPU_DYN_PLTRELSZ},
    {DT_PLTREL, SNPU_DYN_PLTREL},
    {TAG_RELR, SNPU_DYN_RELR},
    {TAG_RELRSZ, SNPU_DYN_RELRSZ},
    {DT_INIT, SNPU_DYN_INIT},
    {DT_FINI, SNPU_DYN_FINI},
    {DT_INIT_ARRAY, SNPU_DYN_INIT_ARRAY},
    {DT_INIT_ARRAYSZ, SNPU_DYN_INIT_ARRAYSZ},
    {DT_FINI_ARRAY, SNPU_DYN_FINI_ARRAY},
    {DT_FINI_ARRAYSZ, SNPU_DYN_FINI_ARRAYSZ},
    {DT_VERSYM, SNPU_DYN_VERSYM},
    {DT_VERNEED, SNPU_DYN_VERNEED},
    {DT_VERNEEDNUM, SNPU_DYN_VERNEEDNUM},
    {DT_VERDEF, SNPU_DYN_VERDEF},
    {DT_VERDEFNUM, SNPU_DYN_VERDEFNUM},
    {DT_PLTGOT, SNPU_DYN_PLTGOT},
    {DT_RELACOUNT, SNPU_DYN_RELACOUNT},
    {DT_FLAGS, SNPU_DYN_FLAGS},
    {DT_FLAGS_1, SNPU_DYN_FLAGS_1},
};

/* Address-free entries that linkers write and the loader handles safely. Any other means a damaged file. */
static const int64_t harmless_tags[] = {DT_NULL,  DT_NEEDED,   DT_SONAME,   DT_RPATH,   DT_RUNPATH,
                                        DT_DEBUG, DT_BIND_NOW, DT_SYMBOLIC, TAG_RELRENT};

/* Entries that must occur together. */
static const struct {
    enum snpu_elf_entry one, other;
} pairs[] = {
    {SNPU_DYN_RELA, SNPU_DYN_RELASZ},
    {SNPU_DYN_RELA, SNPU_DYN_RELAENT},
    {SNPU_DYN_JMPREL, SNPU_DYN_PLTRELSZ},
    {SNPU_DYN_JMPREL, SNPU_DYN_PLTREL},
    {SNPU_DYN_RELR, SNPU_DYN_RELRSZ},
    {SNPU_DYN_VERNEED, SNPU_DYN_VERNEEDNUM},
    {SNPU_DYN_INIT_ARRAY, SNPU_DYN_INIT_ARRAYSZ},
    {SNPU_DYN_FINI_ARRAY, SNPU_DYN_FINI_ARRAYSZ},
    {SNPU_DYN_VERDEF, SNPU_DYN_VERDEFNUM},
};

/* Entries with only one valid value. */
static const struct {
    enum snpu_elf_entry entry;
    uint64_t value;
} fixed[] = {{SNPU_DYN_RELAENT, sizeof(Elf64_Rela)}, {SNPU_DYN_PLTREL, DT_RELA}, {SNPU_DYN_SYMENT, sizeof(Elf64_Sym)}};

#define KNOWN_FLAGS   (DF_ORIGIN | DF_SYMBOLIC | DF_BIND_NOW | DF_STATIC_TLS)
#define KNOWN_FLAGS_1 (DF_1_NOW | DF_1_NODELETE | DF_1_ORIGIN)

const uint8_t *snpu__elf_at(const struct snpu_elf_check *c, uint64_t addr, uint64_t size_b)
{
    for (size_t i = 0; i < c->loads; i++) {
        const Elf64_Phdr *load = &c->load[i];
        if (addr >= load->p_vaddr && addr - load->p_vaddr <= load->p_filesz &&
            size_b <= load->p_filesz - (addr - load->p_vaddr)) {
            return c->elf->data + load->p_offset + (addr - load->p_vaddr);
        }
    }
    return NULL;
}

static bool in_memory(const struct snpu_elf_check *c, uint64_t addr, uint64_t size_b, uint32_t flags)
{
    for (size_t i = 0; i < c->loads; i++) {
        const Elf64_Phdr *load = &c->load[i];
        if (addr >= load->p_vaddr && addr - load->p_vaddr <= load->p_memsz &&
            size_b <= load->p_memsz - (addr - load->p_vaddr) && (load->p_flags & flags) == flags) {
            return true;
        }
    }
    return false;
}

static bool check_segment(struct snpu_elf_check *c, const Elf64_Phdr *segment)
{
    uint64_t size_b = c->elf->size_b;
    bool file_backed = segment->p_offset <= size_b && segment->p_filesz <= size_b - segment->p_offset;
    bool aligned = segment->p_align == 0 || (segment->p_align & (segment->p_align - 1)) == 0;
    switch (segment->p_type) {
    case PT_LOAD:
        if (!file_backed || !aligned || segment->p_filesz > segment->p_memsz || segment->p_memsz > MAX_SPAN_B ||
            segment->p_vaddr > MAX_SPAN_B || segment->p_align < 4096 || segment->p_align > (64 << 20) ||
            (segment->p_vaddr - segment->p_offset) % segment->p_align != 0) {
            return refuse(c, "a segment lies outside the file or memory");
        }
        /* The loader reads it and zero-fills what the file does not provide, which fails for a read-only segment. */
        if ((segment->p_flags & PF_R) == 0 ||
            ((segment->p_flags & PF_W) == 0 && segment->p_filesz != segment->p_memsz)) {
            return refuse(c, "a segment is unreadable or incomplete");
        }
        if (c->loads > 0) {
            const Elf64_Phdr *before = &c->load[c->loads - 1];
            if (segment->p_vaddr < before->p_vaddr + before->p_memsz) {
                return refuse(c, "segments overlap");
            }
        }
        c->load[c->loads++] = *segment;
        return true;
    case PT_DYNAMIC:
        c->dynamic = *segment;
        return true;
    case PT_INTERP:
        return refuse(c, "it is an executable, not a library");
    case PT_TLS:
        if (!aligned || segment->p_filesz > segment->p_memsz || segment->p_memsz > (64 << 20)) {
            return refuse(c, "bad thread-local segment");
        }
        return true;
    case PT_NOTE:
    case PT_GNU_PROPERTY:
        return file_backed || refuse(c, "a note lies outside the file");
    default:
        return true;
    }
}

/* Segments that refer to loaded ones; checked after all loaded segments are known. */
static bool check_inner_segment(struct snpu_elf_check *c, const Elf64_Phdr *segment)
{
    switch (segment->p_type) {
    case PT_NOTE:
    case PT_GNU_PROPERTY:
    case PT_TLS:
        return segment->p_filesz == 0 || snpu__elf_at(c, segment->p_vaddr, segment->p_filesz) != NULL ||
               refuse(c, "a note or thread-local segment is not loaded");
    case PT_GNU_RELRO:
        return in_memory(c, segment->p_vaddr, segment->p_memsz, PF_W) || refuse(c, "bad relocation-read-only segment");
    default:
        return true;
    }
}

static bool check_segments(struct snpu_elf_check *c)
{
    Elf64_Ehdr head;
    memcpy(&head, c->elf->data, sizeof(head));
    uint64_t table_b = (uint64_t)head.e_phnum * sizeof(Elf64_Phdr);
    if (head.e_phentsize != sizeof(Elf64_Phdr) || head.e_phnum == 0 || head.e_phnum > SNPU_ELF_SEGMENTS_MAX ||
        head.e_phoff > c->elf->size_b || table_b > c->elf->size_b - head.e_phoff) {
        return refuse(c, "program headers lie outside the file");
    }
    bool (*const passes[])(struct snpu_elf_check *, const Elf64_Phdr *) = {check_segment, check_inner_segment};
    for (size_t pass = 0; pass < MS_COUNT_OF(passes); pass++) {
        for (uint32_t i = 0; i < head.e_phnum; i++) {
            Elf64_Phdr segment;
            memcpy(&segment, c->elf->data + head.e_phoff + i * sizeof(segment), sizeof(segment));
            if (!passes[pass](c, &segment)) {
                return false;
            }
        }
    }
    if (c->loads == 0 || c->load[0].p_vaddr + c->load[c->loads - 1].p_vaddr > MAX_SPAN_B) {
        return refuse(c, "nothing to load");
    }
    return true;
}

static bool take_entry(struct snpu_elf_check *c, int64_t tag, uint64_t value)
{
    for (size_t i = 0; i < MS_COUNT_OF(entry_of_tag); i++) {
        enum snpu_elf_entry entry = entry_of_tag[i].entry;
        if (entry_of_tag[i].tag == tag) {
            if (c->present[entry]) {
                return refuse(c, "duplicate dynamic entry");
            }
            c->present[entry] = true;
            c->value[entry] = value;
            return true;
        }
    }
    for (size_t i = 0; i < MS_COUNT_OF(harmless_tags); i++) {
        if (harmless_tags[i] == tag) {
            return true;
        }
    }
    return refuse(c, "unknown dynamic entry");
}

static bool check_entries(struct snpu_elf_check *c)
{
    for (size_t i = 0; i < MS_COUNT_OF(pairs); i++) {
        if (c->present[pairs[i].one] != c->present[pairs[i].other]) {
            return refuse(c, "missing dynamic entry");
        }
    }
    for (size_t i = 0; i < MS_COUNT_OF(fixed); i++) {
        if (c->present[fixed[i].entry] && c->value[fixed[i].entry] != fixed[i].value) {
            return refuse(c, "a table has entries of the wrong size");
        }
    }
    if (c->present[SNPU_DYN_VERSYM] != (c->present[SNPU_DYN_VERNEED] || c->present[SNPU_DYN_VERDEF]) ||
        (c->value[SNPU_DYN_FLAGS] & ~(uint64_t)KNOWN_FLAGS) != 0 ||
        (c->value[SNPU_DYN_FLAGS_1] & ~(uint64_t)KNOWN_FLAGS_1) != 0 ||
        (c->present[SNPU_DYN_PLTGOT] && !in_memory(c, c->value[SNPU_DYN_PLTGOT], 24, PF_W))) {
        return refuse(c, "unsupported dynamic entries");
    }
    return true;
}

static bool check_dynamic(struct snpu_elf_check *c)
{
    uint64_t entries = c->dynamic.p_filesz / sizeof(Elf64_Dyn);
    const uint8_t *table =
        entries > 0 && entries <= MAX_DYN_ENTRIES ? snpu__elf_at(c, c->dynamic.p_vaddr, c->dynamic.p_filesz) : NULL;
    if (table == NULL || !in_memory(c, c->dynamic.p_vaddr, c->dynamic.p_memsz, PF_W)) {
        return refuse(c, "no dynamic section");
    }
    bool ended = false;
    for (uint64_t i = 0; i < entries && !ended; i++) {
        int64_t tag = (int64_t)u64(table + i * sizeof(Elf64_Dyn));
        ended = tag == DT_NULL;
        if (!take_entry(c, tag, u64(table + i * sizeof(Elf64_Dyn) + 8))) {
            return false;
        }
    }
    if (!ended) {
        return refuse(c, "the dynamic section is not terminated");
    }
    if (!check_entries(c)) {
        return false;
    }
    const uint8_t *strings = snpu__elf_at(c, c->value[SNPU_DYN_STRTAB], c->value[SNPU_DYN_STRSZ]);
    if (!c->present[SNPU_DYN_STRTAB] || !c->present[SNPU_DYN_SYMTAB] || strings == NULL ||
        c->value[SNPU_DYN_STRSZ] == 0 || strings[c->value[SNPU_DYN_STRSZ] - 1] != '\0') {
        return refuse(c, "bad string or symbol table");
    }
    for (uint64_t i = 0; i < entries; i++) {
        int64_t tag = (int64_t)u64(table + i * sizeof(Elf64_Dyn));
        bool names = tag == DT_NEEDED || tag == DT_SONAME || tag == DT_RPATH || tag == DT_RUNPATH;
        if (names && u64(table + i * sizeof(Elf64_Dyn) + 8) >= c->value[SNPU_DYN_STRSZ]) {
            return refuse(c, "a library name lies outside the string table");
        }
    }
    return true;
}

/* The GNU hash table: bloom filter, buckets, chains. The end of its longest chain gives the number of symbols. */
static bool count_gnu_hash(struct snpu_elf_check *c)
{
    const uint8_t *head = snpu__elf_at(c, c->value[SNPU_DYN_GNU_HASH], 16);
    if (head == NULL) {
        return refuse(c, "bad hash table");
    }
    uint64_t buckets = u32(head), first = u32(head + 4), bloom = u32(head + 8), shift = u32(head + 12);
    uint64_t fixed_b = 16 + bloom * 8 + buckets * 4;
    if (buckets == 0 || bloom == 0 || (bloom & (bloom - 1)) != 0 || shift > 31 ||
        snpu__elf_at(c, c->value[SNPU_DYN_GNU_HASH], fixed_b) == NULL) {
        return refuse(c, "bad hash table");
    }
    uint64_t last = 0;
    for (uint64_t i = 0; i < buckets; i++) {
        uint64_t symbol = u32(head + 16 + bloom * 8 + i * 4);
        if (symbol != 0 && symbol < first) {
            return refuse(c, "bad hash table");
        }
        last = symbol > last ? symbol : last;
    }
    c->symbols = first;
    if (last == 0) {
        return true;
    }
    for (uint64_t symbol = last;; symbol++) {
        const uint8_t *link = snpu__elf_at(c, c->value[SNPU_DYN_GNU_HASH] + fixed_b + (symbol - first) * 4, 4);
        if (link == NULL) {
            return refuse(c, "endless hash chain");
        }
        if (u32(link) & 1) {
            c->symbols = symbol + 1;
            return true;
        }
    }
}

static bool count_hash(struct snpu_elf_check *c)
{
    const uint8_t *head = snpu__elf_at(c, c->value[SNPU_DYN_HASH], 8);
    if (head == NULL) {
        return refuse(c, "bad hash table");
    }
    uint64_t buckets = u32(head), chains = u32(head + 4);
    const uint8_t *links = snpu__elf_at(c, c->value[SNPU_DYN_HASH] + 8, (buckets + chains) * 4);
    if (links == NULL || buckets == 0) {
        return refuse(c, "bad hash table");
    }
    for (uint64_t i = 0; i < buckets + chains; i++) {
        if (u32(links + i * 4) >= chains) {
            return refuse(c, "bad hash table");
        }
    }
    /* A circular chain would loop the loader forever; following each chain for at most `chains` steps detects it. */
    for (uint64_t i = 0; i < buckets; i++) {
        uint64_t steps = 0;
        for (uint32_t symbol = u32(links + i * 4); symbol != 0; symbol = u32(links + (buckets + symbol) * 4)) {
            if (++steps > chains) {
                return refuse(c, "endless hash chain");
            }
        }
    }
    c->symbols = chains;
    return true;
}

static bool check_symbols(struct snpu_elf_check *c)
{
    if (!c->present[SNPU_DYN_GNU_HASH] && !c->present[SNPU_DYN_HASH]) {
        return refuse(c, "no hash table");
    }
    if ((c->present[SNPU_DYN_HASH] && !count_hash(c)) || (c->present[SNPU_DYN_GNU_HASH] && !count_gnu_hash(c))) {
        return false;
    }
    const uint8_t *table = snpu__elf_at(c, c->value[SNPU_DYN_SYMTAB], c->symbols * sizeof(Elf64_Sym));
    if (table == NULL) {
        return refuse(c, "the symbol table lies outside the file");
    }
    for (uint64_t i = 0; i < c->symbols; i++) {
        Elf64_Sym symbol;
        memcpy(&symbol, table + i * sizeof(symbol), sizeof(symbol));
        uint32_t type = ELF64_ST_TYPE(symbol.st_info);
        if (symbol.st_name >= c->value[SNPU_DYN_STRSZ]) {
            return refuse(c, "a symbol's name lies outside the string table");
        }
        if (symbol.st_shndx == SHN_UNDEF && ELF64_ST_VISIBILITY(symbol.st_other) != STV_DEFAULT) {
            return refuse(c, "an undefined symbol is hidden"); /* it would be resolved here, to address 0 */
        }
        if (symbol.st_shndx != SHN_UNDEF && (type == STT_FUNC || type == STT_GNU_IFUNC) &&
            !in_memory(c, symbol.st_value, 1, PF_X)) {
            return refuse(c, "a function lies outside the code");
        }
    }
    return true;
}

static const struct {
    enum snpu_elf_entry start, size;
} call_lists[] = {{SNPU_DYN_INIT_ARRAY, SNPU_DYN_INIT_ARRAYSZ}, {SNPU_DYN_FINI_ARRAY, SNPU_DYN_FINI_ARRAYSZ}};

/* Is this address an element of a function list that the loader calls? Counts it. */
static bool in_call_list(struct snpu_elf_check *c, uint64_t addr)
{
    for (size_t i = 0; i < MS_COUNT_OF(call_lists); i++) {
        if (c->present[call_lists[i].start] && addr - c->value[call_lists[i].start] < c->value[call_lists[i].size]) {
            c->filled[i]++;
            return true;
        }
    }
    return false;
}

/* An element that no relocation fills holds a raw number; calling it would crash. */
static bool check_call_lists(struct snpu_elf_check *c)
{
    for (size_t i = 0; i < MS_COUNT_OF(call_lists); i++) {
        if (c->present[call_lists[i].start] && c->filled[i] != c->value[call_lists[i].size] / 8) {
            return refuse(c, "a list of initialisers has unfilled elements");
        }
    }
    return true;
}

/* Does a function start here? Decided by the symbol table if it includes local functions. */
static bool starts_function(const struct snpu_elf_check *c, uint64_t addr)
{
    bool complete = false;
    if (!in_memory(c, addr, 1, PF_X)) {
        return false;
    }
    for (uint64_t i = 0; i < c->elf->symbol_count; i++) {
        Elf64_Sym symbol;
        memcpy(&symbol, c->elf->data + c->elf->symbols_off + i * sizeof(symbol), sizeof(symbol));
        uint32_t type = ELF64_ST_TYPE(symbol.st_info);
        if (symbol.st_value == addr && symbol.st_shndx != SHN_UNDEF && (type == STT_FUNC || type == STT_NOTYPE)) {
            return true;
        }
        complete = complete || (type == STT_FUNC && ELF64_ST_BIND(symbol.st_info) == STB_LOCAL);
    }
    return !complete;
}

static bool check_relocations(struct snpu_elf_check *c, enum snpu_elf_entry start, enum snpu_elf_entry size)
{
    if (!c->present[start]) {
        return true;
    }
    uint64_t count = c->value[size] / sizeof(Elf64_Rela);
    const uint8_t *table = snpu__elf_at(c, c->value[start], c->value[size]);
    if (table == NULL || c->value[size] % sizeof(Elf64_Rela) != 0 ||
        (start == SNPU_DYN_RELA && c->value[SNPU_DYN_RELACOUNT] > count)) {
        return refuse(c, "relocations lie outside the file");
    }
    for (uint64_t i = 0; i < count; i++) {
        Elf64_Rela rela;
        memcpy(&rela, table + i * sizeof(rela), sizeof(rela));
        uint32_t type = ELF64_R_TYPE(rela.r_info);
        if (start == SNPU_DYN_RELA && i < c->value[SNPU_DYN_RELACOUNT] && type != REL_RELATIVE) {
            return refuse(c, "relocations are out of order");
        }
        if (!in_memory(c, rela.r_offset, 8, PF_W) || ELF64_R_SYM(rela.r_info) >= c->symbols) {
            return refuse(c, "a relocation points outside the object");
        }
        if ((type == REL_GLOB_DAT || type == REL_JUMP_SLOT) && rela.r_offset % 8 != 0) {
            return refuse(c, "a relocation straddles two addresses");
        }
        bool listed = in_call_list(c, rela.r_offset);
        bool called = type == REL_IRELATIVE || (type == REL_RELATIVE && listed);
        if (called && !starts_function(c, (uint64_t)rela.r_addend)) {
            return refuse(c, "an initialiser lies outside the code");
        }
    }
    return true;
}

static bool check_packed_relocations(struct snpu_elf_check *c)
{
    if (!c->present[SNPU_DYN_RELR]) {
        return true;
    }
    const uint8_t *table = snpu__elf_at(c, c->value[SNPU_DYN_RELR], c->value[SNPU_DYN_RELRSZ]);
    if (table == NULL || c->value[SNPU_DYN_RELRSZ] % 8 != 0) {
        return refuse(c, "relocations lie outside the file");
    }
    uint64_t where = 0;
    for (uint64_t i = 0; i < c->value[SNPU_DYN_RELRSZ] / 8; i++) {
        uint64_t word = u64(table + i * 8);
        if ((word & 1) == 0) {
            if (!in_memory(c, word, 8, PF_W)) {
                return refuse(c, "a relocation points outside the object");
            }
            in_call_list(c, word);
            where = word + 8;
            continue;
        }
        for (uint32_t bit = 0; bit < 63; bit++) {
            if ((word >> (bit + 1) & 1) == 0) {
                continue;
            }
            if (!in_memory(c, where + bit * 8, 8, PF_W)) {
                return refuse(c, "a relocation points outside the object");
            }
            in_call_list(c, where + bit * 8);
        }
        where += 63 * 8;
    }
    return true;
}

/* Code that the loader calls by address must start at the start of a code section, if the file has section headers. */
static bool starts_code(const struct snpu_elf_check *c, uint64_t addr)
{
    Elf64_Ehdr head;
    memcpy(&head, c->elf->data, sizeof(head));
    if (!in_memory(c, addr, 1, PF_X)) {
        return false;
    }
    bool known = false;
    for (uint32_t i = 0; i < head.e_shnum; i++) { /* the table was checked when the file was opened */
        Elf64_Shdr section;
        memcpy(&section, c->elf->data + head.e_shoff + i * sizeof(section), sizeof(section));
        bool code = (section.sh_flags & SHF_EXECINSTR) != 0;
        known = known || code;
        if (code && section.sh_addr == addr && in_memory(c, addr, section.sh_size, PF_X)) {
            return true;
        }
    }
    return !known;
}

static bool check_initialisers(struct snpu_elf_check *c)
{
    for (size_t i = 0; i < MS_COUNT_OF(call_lists); i++) {
        if (c->present[call_lists[i].start] &&
            (c->value[call_lists[i].size] % 8 != 0 ||
             snpu__elf_at(c, c->value[call_lists[i].start], c->value[call_lists[i].size]) == NULL)) {
            return refuse(c, "bad list of initialisers");
        }
    }
    if ((c->present[SNPU_DYN_INIT] && !starts_code(c, c->value[SNPU_DYN_INIT])) ||
        (c->present[SNPU_DYN_FINI] && !starts_code(c, c->value[SNPU_DYN_FINI]))) {
        return refuse(c, "an initialiser lies outside the code");
    }
    return true;
}

static bool check_all(struct snpu_elf_check *c)
{
    return check_segments(c) && check_dynamic(c) && check_symbols(c) && check_initialisers(c) &&
           check_relocations(c, SNPU_DYN_RELA, SNPU_DYN_RELASZ) &&
           check_relocations(c, SNPU_DYN_JMPREL, SNPU_DYN_PLTRELSZ) && check_packed_relocations(c) &&
           check_call_lists(c) && snpu__elf_check_versions(c);
}

int snpu__elf_check_loadable(const struct snpu_elf *elf, const char **why)
{
    struct snpu_elf_check c = {.elf = elf};
    if (!snpu__elf_is_host_object(elf)) {
        *why = "it is not a shared object for this processor";
        return -EINVAL;
    }
    if (!check_all(&c)) {
        *why = c.why;
        return -EINVAL;
    }
    return 0;
}
