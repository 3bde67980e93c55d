/* SPDX-License-Identifier: Apache-2.0 */
/* See got.h.
 *
 * An entry is one word that the loader has filled, or fills at the first call through it. It is replaced by one store,
 * so other threads call either the old or the new function. A thread that is in the loader's lazy binding at that
 * moment may put the real function back; the next binding, at start(), fixes that. Entries that the loader made
 * read-only (RELRO) are made writable for the store and read-only again.
 *
 * The agent's own libraries keep their entries: they must call the real functions. Only function entries are touched; a
 * pointer that a program took earlier, or got from dlsym, stays (what is reached that way is hooked one layer below).
 *
 * Real functions are looked up first: within dl_iterate_phdr the loader must not be called. */
#include "agent/glibc_floor.h"
#include "agent/got.h"

#include "agent/hooks.h"

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
enum { JUMP_SLOT = R_X86_64_JUMP_SLOT, GLOB_DAT = R_X86_64_GLOB_DAT };
#elif defined(__aarch64__)
enum { JUMP_SLOT = R_AARCH64_JUMP_SLOT, GLOB_DAT = R_AARCH64_GLOB_DAT };
#else
#error "GOT entries of this architecture are not known"
#endif

struct object {
    uintptr_t bias;
    const ElfW(Sym) * symbols;
    const char *names;
    uint64_t names_b;
    const ElfW(Rela) * rela[2]; /* of data, of the PLT */
    uint64_t rela_b[2];
    uintptr_t relro, relro_end; /* read-only pages; empty if equal */
};

/* The C library makes addresses in a dynamic section absolute, but not in every object. */
static uintptr_t absolute(const struct object *object, uintptr_t address)
{
    return address < object->bias ? address + object->bias : address;
}

static bool read_object(struct object *object, const struct dl_phdr_info *info)
{
    const ElfW(Dyn) *dynamic = NULL;
    uintptr_t page_b = (uintptr_t)sysconf(_SC_PAGESIZE);
    *object = (struct object){.bias = info->dlpi_addr};
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type == PT_DYNAMIC) {
            dynamic = (const void *)(object->bias + segment->p_vaddr);
        } else if (segment->p_type == PT_GNU_RELRO) { /* the loader protects the whole pages inside */
            object->relro = (object->bias + segment->p_vaddr) & ~(page_b - 1);
            object->relro_end = (object->bias + segment->p_vaddr + segment->p_memsz) & ~(page_b - 1);
        }
    }
    for (; dynamic != NULL && dynamic->d_tag != DT_NULL; dynamic++) {
        switch (dynamic->d_tag) {
        case DT_SYMTAB:
            object->symbols = (const void *)absolute(object, dynamic->d_un.d_ptr);
            break;
        case DT_STRTAB:
            object->names = (const void *)absolute(object, dynamic->d_un.d_ptr);
            break;
        case DT_STRSZ:
            object->names_b = dynamic->d_un.d_val;
            break;
        case DT_RELA:
            object->rela[0] = (const void *)absolute(object, dynamic->d_un.d_ptr);
            break;
        case DT_RELASZ:
            object->rela_b[0] = dynamic->d_un.d_val;
            break;
        case DT_JMPREL:
            object->rela[1] = (const void *)absolute(object, dynamic->d_un.d_ptr);
            break;
        case DT_PLTRELSZ:
            object->rela_b[1] = dynamic->d_un.d_val;
            break;
        default:
            break;
        }
    }
    return object->symbols != NULL && object->names != NULL;
}

/* ---- names ---- */

/* Hooks by name: a nearly perfect hash table, built at the first binding. */
enum { SLOTS = 256 };
static uint8_t slots[SLOTS]; /* index of a hook + 1 */
_Static_assert(MS_HOOK_COUNT < 200, "the table stays sparse");

static unsigned hash(const char *name)
{
    unsigned h = 5381;
    for (; *name != '\0'; name++) {
        h = h * 33 + (unsigned char)*name;
    }
    return h ^ h >> 13;
}

static void make_table(void)
{
    memset(slots, 0, sizeof(slots));
    for (unsigned i = 0; i < MS_HOOK_COUNT; i++) {
        unsigned at = hash(ms_hooks[i].symbol) % SLOTS;
        while (slots[at] != 0) {
            at = (at + 1) % SLOTS;
        }
        slots[at] = (uint8_t)(i + 1);
    }
}

static const struct ms_hook *hook_of(const char *name)
{
    for (unsigned at = hash(name) % SLOTS; slots[at] != 0; at = (at + 1) % SLOTS) {
        const struct ms_hook *hook = &ms_hooks[slots[at] - 1];
        if (strcmp(hook->symbol, name) == 0) {
            return hook;
        }
    }
    return NULL;
}

/* ---- entries ---- */

static bool protect(const struct object *object, uintptr_t entry, int protection)
{
    if (entry < object->relro || entry >= object->relro_end) {
        return true;
    }
    uintptr_t page_b = (uintptr_t)sysconf(_SC_PAGESIZE), page = entry & ~(page_b - 1);
    return syscall(SYS_mprotect, page, page_b, protection) == 0;
}

static void bind_entry(const struct object *object, const ElfW(Rela) * rela, struct ms_got_result *result)
{
    unsigned type = (unsigned)ELF64_R_TYPE(rela->r_info);
    const ElfW(Sym) *symbol = &object->symbols[ELF64_R_SYM(rela->r_info)];
    if ((type != JUMP_SLOT && type != GLOB_DAT) || symbol->st_name >= object->names_b) {
        return;
    }
    const struct ms_hook *hook = hook_of(object->names + symbol->st_name);
    ms_function *entry = (ms_function *)(object->bias + rela->r_offset);
    if (hook == NULL || __atomic_load_n(entry, __ATOMIC_RELAXED) == hook->replacement) {
        return;
    }
    if (!protect(object, (uintptr_t)entry, PROT_READ | PROT_WRITE)) {
        result->refused++;
        return;
    }
    __atomic_store_n(entry, hook->replacement, __ATOMIC_RELEASE);
    protect(object, (uintptr_t)entry, PROT_READ);
    result->bound++;
}

/* This library and any other that contains ms_agent_v1's functions, which are all in one object. */
static bool is_ours(const struct dl_phdr_info *info)
{
    uintptr_t here = (uintptr_t)(void *)slots;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type == PT_LOAD && here - (info->dlpi_addr + segment->p_vaddr) < segment->p_memsz) {
            return true;
        }
    }
    return false;
}

static int bind_object(struct dl_phdr_info *info, size_t info_b, void *argument)
{
    struct ms_got_result *result = argument;
    struct object object;
    (void)info_b;
    if (is_ours(info) || !read_object(&object, info)) {
        return 0;
    }
    result->objects++;
    for (unsigned i = 0; i < 2; i++) {
        for (uint64_t k = 0; object.rela[i] != NULL && k < object.rela_b[i] / sizeof(ElfW(Rela)); k++) {
            bind_entry(&object, &object.rela[i][k], result);
        }
    }
    return 0;
}

void ms_got_bind(struct ms_got_result *result)
{
    static uint32_t busy;
    *result = (struct ms_got_result){0};
    if (__atomic_exchange_n(&busy, 1, __ATOMIC_ACQUIRE) != 0) {
        return; /* another thread is binding */
    }
    if (slots[0] == 0 && hook_of(ms_hooks[0].symbol) == NULL) {
        make_table();
    }
    ms_resolve_loaded(true);
    dl_iterate_phdr(bind_object, result);
    __atomic_store_n(&busy, 0, __ATOMIC_RELEASE);
}
