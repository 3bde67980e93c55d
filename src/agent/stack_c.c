/* C stacks by libunwind, and the modules that their addresses belong to.
 *
 * libunwind is loaded with RTLD_LOCAL when the session asks for C stacks: linked, it would take the place of the
 * unwinder that C++ exceptions of the program use. Its first walk in a thread costs half a millisecond, later ones
 * about 10 ns per frame from its cache.
 *
 * An address is looked up only when its stack is seen for the first time, without lock where the C library can
 * (_dl_find_object), else by dl_iterate_phdr. Offsets are addresses as they stand in the file of the module, so that
 * they can be looked up there later; the build id tells whether a file is the right one. Unloading a module makes all
 * that is remembered about addresses worthless: dlclose is hooked for that. */
#include "agent/glibc_floor.h"
#include "agent/stacks.h"

#include "agent/hooks.h"
#include "agent/stack_fp.h"
#include "agent/stack_memo.h"
#include "trace/definitions.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef int (*backtrace_fn)(void **buffer, int size);
static backtrace_fn backtrace_of_unwinder;
static struct ms_memo_unwinder slow_unwinder;

/* As glibc 2.35 has it, with room for what later ones may add. */
struct found_object {
    unsigned long long flags;
    void *start, *end;
    struct link_map *map;
    unsigned long long more[16];
};
static int (*find_object)(void *pc, struct found_object *out);

/* ---- modules ---- */

static char program[4096]; /* path of the main program, whose own entry is nameless */

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
    *out = (struct ms_module_info){.base = bias, .path = path != NULL && path[0] != '\0' ? path : program};
    for (unsigned i = 0; i < count; i++) {
        if (segments[i].p_type == PT_LOAD && bias + segments[i].p_vaddr + segments[i].p_memsz > end) {
            end = bias + segments[i].p_vaddr + segments[i].p_memsz;
        } else if (segments[i].p_type == PT_NOTE && out->build_id_b == 0) {
            read_build_id(out, (const void *)(bias + segments[i].p_vaddr), segments[i].p_memsz);
        }
    }
    out->size_b = end - bias;
}

struct search {
    uintptr_t pc;
    struct ms_module_info *out;
};

static int look_at_module(struct dl_phdr_info *info, size_t info_b, void *argument)
{
    const struct search *search = argument;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type == PT_LOAD && search->pc - (info->dlpi_addr + segment->p_vaddr) < segment->p_memsz) {
            describe(search->out, info->dlpi_addr, info->dlpi_name, info->dlpi_phdr, info->dlpi_phnum);
            return 1;
        }
    }
    return 0;
}

static bool find_module(uintptr_t pc, struct ms_module_info *out)
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
    struct search search = {.pc = pc, .out = out};
    return dl_iterate_phdr(look_at_module, &search) != 0;
}

int dlclose(void *handle)
{
    int result = MS_REAL(dlclose)(handle);
    if (result == 0 && backtrace_of_unwinder != NULL) {
        ms_def_forget_modules();
    }
    return result;
}

/* ---- stacks ---- */

/* Of a thread, in its scratch memory. */
struct walks {
    struct ms_memo memo;
    struct ms_fp_range range;
};
_Static_assert(sizeof(struct walks) <= MS_SCRATCH_MORE_B, "it lies in the scratch memory of a thread");

enum { OURS_MAX = 8 }; /* frames between the unwinder and the caller of the hook */

static uint32_t by_pointers;      /* atomic: frame pointers are to be used, and have not been refuted */
static uint32_t pointers_checked; /* atomic: different stacks compared so far */

void ms_stack_c_load(bool frame_pointers)
{
    if (__atomic_load_n(&pointers_checked, __ATOMIC_RELAXED) == 0 || !frame_pointers) {
        __atomic_store_n(&by_pointers, frame_pointers, __ATOMIC_RELAXED);
    }
    if (dlopen == NULL || backtrace_of_unwinder != NULL) {
        return;
    }
    long length = syscall(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", program, sizeof(program) - 1);
    program[length > 0 ? length : 0] = '\0';
    void *library = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        return;
    }
    find_object = (int (*)(void *, struct found_object *))dlsym(RTLD_DEFAULT, "_dl_find_object");
#if defined(__x86_64__)
    slow_unwinder = (struct ms_memo_unwinder){
        .get_context = (int (*)(void *))dlsym(library, "_Ux86_64_getcontext"),
        .init = (int (*)(void *, void *))dlsym(library, "_ULx86_64_init_local"),
        .get_register = (int (*)(void *, int, uintptr_t *))dlsym(library, "_ULx86_64_get_reg"),
        .get_place = (int (*)(void *, int, void *))dlsym(library, "_ULx86_64_get_save_loc"),
    };
    if (slow_unwinder.get_context != NULL && slow_unwinder.init != NULL && slow_unwinder.get_register != NULL &&
        slow_unwinder.get_place != NULL) {
        slow_unwinder.step = (int (*)(void *))dlsym(library, "_ULx86_64_step"); /* NULL: no slow walks */
    }
#endif
    backtrace_of_unwinder = (backtrace_fn)dlsym(library, "unw_backtrace");
}

/* Index of the first frame that is not ours; 0: the hook is not among them. */
static uint32_t after_hook(const uintptr_t *pcs, uint32_t count, uintptr_t hook)
{
    uint32_t first = 0;
    for (uint32_t i = 0; i < count && i < OURS_MAX; i++) {
        first = pcs[i] == hook ? i + 1 : first;
    }
    return first;
}

static uint32_t with_ours(uint32_t depth)
{
    return depth + OURS_MAX < MS_FRAMES_MAX ? depth + OURS_MAX : MS_FRAMES_MAX;
}

/* Walks, defines, and remembers what comes again. Not inlined: the caller's frame is where remembered stacks begin. */
static __attribute__((noinline)) uint32_t walk(struct ms_scratch *scratch, uintptr_t begin, uintptr_t hook,
                                               uintptr_t caller, uint32_t depth)
{
    int got = backtrace_of_unwinder((void **)scratch->pcs, (int)with_ours(depth));
    uint32_t first = got > 0 ? after_hook(scratch->pcs, (uint32_t)got, hook) : 0;
    uint32_t count = got > 0 ? (uint32_t)got - first : 0;
    count = count < depth ? count : depth;
    if (count == 0) {
        return 0;
    }
    struct ms_def_key key;
    bool again;
    uint32_t id = ms_def_c_stack(scratch->pcs + first, count, 0, find_module, &key, &again);
    if (again && first > 1) { /* the frame before the hook's is the one that the remembered stack begins with */
        struct walks *walks = (void *)scratch->more;
        ms_memo_enter(&walks->memo, &slow_unwinder, begin, caller, depth, scratch->pcs + first - 2, count + 2, &key);
    }
    return id;
}

/* ---- by frame pointers ---- */

/* A stack that is new: is it what the tables say? */
static __attribute__((noinline)) bool is_true(struct ms_scratch *scratch, uint32_t first, uint32_t count,
                                              uint32_t depth, uintptr_t hook)
{
    enum { CHECKED = 100 };
    if (__atomic_load_n(&pointers_checked, __ATOMIC_RELAXED) >= CHECKED) {
        return true;
    }
    __atomic_fetch_add(&pointers_checked, 1, __ATOMIC_RELAXED);
    uintptr_t *tables = (uintptr_t *)(void *)scratch->py;
    int got = backtrace_of_unwinder((void **)tables, (int)with_ours(depth));
    uint32_t table_first = got > 0 ? after_hook(tables, (uint32_t)got, hook) : 0;
    uint32_t table_count = got > 0 ? (uint32_t)got - table_first : 0;
    table_count = table_count < depth ? table_count : depth;
    return table_first > 0 &&
           ms_fp_agrees(scratch->pcs + first, count, tables + table_first, table_count, table_count < depth);
}

/* 0: not this way. */
static uint32_t take_by_pointers(struct ms_scratch *scratch, uintptr_t frame, uintptr_t hook, uint32_t depth)
{
    struct walks *walks = (void *)scratch->more;
    uint32_t got = ms_fp_walk(&walks->range, frame, scratch->pcs, with_ours(depth));
    uint32_t first = after_hook(scratch->pcs, got, hook);
    uint32_t count = got - first < depth ? got - first : depth;
    bool again = false;
    uint32_t id =
        first > 0 && count > 0 ? ms_def_c_stack(scratch->pcs + first, count, 0, find_module, NULL, &again) : 0;
    if (MS_LIKELY(again) || (id != 0 && is_true(scratch, first, count, depth, hook))) {
        return id;
    }
    if (__atomic_exchange_n(&by_pointers, 0, __ATOMIC_RELAXED) != 0) {
        ms_agent_log(
            "--call-stack=c:fp: frame pointers of this program do not tell its stacks; tables are used instead");
    }
    return 0;
}

/* ---- of either kind ---- */

__attribute__((noinline)) uint32_t ms_stack_c_take(uintptr_t hook, uintptr_t caller, uint32_t depth)
{
    struct ms_scratch *scratch = backtrace_of_unwinder != NULL ? ms_def_scratch() : NULL;
    if (scratch == NULL) {
        return 0;
    }
    if (__atomic_load_n(&by_pointers, __ATOMIC_RELAXED) != 0) {
        uint32_t id = take_by_pointers(scratch, (uintptr_t)__builtin_frame_address(0), hook, depth);
        if (id != 0) {
            return id;
        }
    }
    uintptr_t begin = (uintptr_t)__builtin_dwarf_cfa(), rbp = 0;
#if defined(__x86_64__)
    __asm__ volatile("mov %%rbp, %0" : "=r"(rbp));
#endif
    struct ms_memo *memo = &((struct walks *)(void *)scratch->more)->memo;
    uint32_t epoch = ms_def_modules_epoch();
    if (MS_UNLIKELY(memo->epoch != epoch)) {
        memset(memo->names, 0, sizeof(memo->names));
        memo->epoch = epoch;
    }
    const struct ms_def_key *key = ms_memo_find(memo, begin, caller, depth, rbp);
    uint32_t id = key != NULL ? ms_def_known(key) : 0;
    return MS_LIKELY(id != 0) ? id : walk(scratch, begin, hook, caller, depth);
}
