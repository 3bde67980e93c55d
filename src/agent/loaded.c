/* SPDX-License-Identifier: Apache-2.0 */
/* See loaded.h. Unloading a module invalidates everything cached about addresses: dlclose is hooked for that. */
#include "agent/glibc_floor.h"
#include "agent/loaded.h"

#include "agent/hooks.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* As in glibc 2.35, with space for later additions. */
struct found_object {
    unsigned long long flags;
    void *start, *end;
    struct link_map *map;
    void *unwind_table;
    unsigned long long more[16];
};
static int (*find_object)(void *pc, struct found_object *out);

/* Path of the main program, whose own entry has no name. Concurrent callers write the same bytes. */
static const char *program_path(void)
{
    static char path[4096];
    static uint32_t known;
    if (__atomic_load_n(&known, __ATOMIC_ACQUIRE) == 0) {
        long length = syscall(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", path, sizeof(path) - 1);
        path[length > 0 ? length : 0] = '\0';
        __atomic_store_n(&known, 1, __ATOMIC_RELEASE);
    }
    return path;
}

/* Anything not needed would cost every process some microseconds: the symbol lookup here, 40 for reading /proc. It is
 * skipped or done later. (Programs may remove or replace their own file, so later is second best.) */
void ms_loaded_setup(bool wanted)
{
    if (wanted && find_object == NULL && dlsym != NULL) {
        find_object = (int (*)(void *, struct found_object *))dlsym(RTLD_DEFAULT, "_dl_find_object");
        program_path();
    }
}

static void read_build_id(struct ms_module_info *out, const void *notes, size_t notes_b)
{
    const char *at = notes, *end = at + notes_b;
    while ((size_t)(end - at) >= sizeof(ElfW(Nhdr))) {
        const ElfW(Nhdr) *note = (const void *)at;
        size_t name_b = MS_ROUND_UP((size_t)note->n_namesz, 4), desc_b = MS_ROUND_UP((size_t)note->n_descsz, 4);
        const char *name = at + sizeof(*note);
        if (name_b > (size_t)(end - name) || desc_b > (size_t)(end - name) - name_b) {
            return;
        }
        if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && memcmp(name, "GNU", 4) == 0) {
            out->build_id_b = note->n_descsz < sizeof(out->build_id) ? note->n_descsz : sizeof(out->build_id);
            memcpy(out->build_id, name + name_b, out->build_id_b);
            return;
        }
        at = name + name_b + desc_b;
    }
}

static void describe(struct ms_module_info *out, uintptr_t bias, const char *path, const ElfW(Phdr) * segments,
                     unsigned count)
{
    uintptr_t end = bias;
    *out = (struct ms_module_info){.base = bias, .path = path != NULL && path[0] != '\0' ? path : program_path()};
    for (unsigned i = 0; i < count; i++) {
        if (segments[i].p_type == PT_LOAD && bias + segments[i].p_vaddr + segments[i].p_memsz > end) {
            end = bias + segments[i].p_vaddr + segments[i].p_memsz;
        } else if (segments[i].p_type == PT_NOTE && out->build_id_b == 0) {
            read_build_id(out, (const void *)(bias + segments[i].p_vaddr), segments[i].p_memsz);
        }
    }
    out->size_b = end - bias;
}

/* ---- by walking all loaded objects ---- */

struct module_search {
    uintptr_t pc;
    struct ms_module_info *module; /* NULL: not requested */
    const uint8_t *unwind_table;
};

static int look_at_module(struct dl_phdr_info *info, size_t info_b, void *argument)
{
    (void)info_b;
    struct module_search *search = argument;
    const ElfW(Phdr) *table = NULL;
    bool here = false;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        here |= segment->p_type == PT_LOAD && search->pc - (info->dlpi_addr + segment->p_vaddr) < segment->p_memsz;
        table = segment->p_type == PT_GNU_EH_FRAME ? segment : table;
    }
    if (here && search->module != NULL) {
        describe(search->module, info->dlpi_addr, info->dlpi_name, info->dlpi_phdr, info->dlpi_phnum);
    }
    if (here && table != NULL) {
        search->unwind_table = (const uint8_t *)(info->dlpi_addr + table->p_vaddr);
    }
    return here;
}

/* ---- by either method ---- */

bool ms_loaded_module(uintptr_t pc, struct ms_module_info *out)
{
    struct found_object object;
    if (find_object != NULL && find_object((void *)pc, &object) == 0) {
        const ElfW(Ehdr) *head = object.start;
        if (memcmp(head->e_ident, ELFMAG, SELFMAG) == 0 && head->e_phentsize == sizeof(ElfW(Phdr))) {
            describe(out, object.map->l_addr, object.map->l_name, (const void *)((const char *)head + head->e_phoff),
                     head->e_phnum);
            return true;
        }
    }
    struct module_search search = {.pc = pc, .module = out};
    return dl_iterate_phdr(look_at_module, &search) != 0;
}

const uint8_t *ms_loaded_unwind_table(uintptr_t pc)
{
    struct found_object object;
    if (find_object != NULL) {
        return find_object((void *)pc, &object) == 0 ? object.unwind_table : NULL;
    }
    struct module_search search = {.pc = pc};
    dl_iterate_phdr(look_at_module, &search);
    return search.unwind_table;
}

int dlclose(void *handle)
{
    int result = MS_REAL(dlclose)(handle);
    if (result == 0) {
        ms_def_forget_modules();
    }
    return result;
}
