/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the real functions behind the hooks.
 *
 * Each pointer starts at a function that looks up the real one, stores it and calls it, so later calls need no test. A
 * failed search is repeated by the next call: the library may have been loaded since.
 *
 * Order of the search: the next symbol in the search order (so that other preloaded tools stay in the chain); the
 * symbol as the program sees it, if that is not a hook (when loaded late, the agent is last); the alias in the global
 * scope (aliases are not hooked; in the driver the public function takes a lock that the alias does not, so it comes
 * second); the symbol in the library itself if that is loaded outside our scope (dlopen with RTLD_LOCAL, as Python
 * does). The agent never loads a library: a second copy would have its own state.
 *
 * Threads: two may search at once and store the same result. dlsym takes the loader's lock, so libraries that are
 * already loaded are resolved in the constructor. errno is preserved. */
#include "agent/glibc_floor.h"
#include "agent/hooks.h"

#include "agent/agent.h"
#include "base/macros.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stddef.h>
#include <string.h>

static const char *const library_names[MS_LIBRARY_COUNT][2] = {
#define X(name, first, second) [MS_LIBRARY_##name] = {first, second},
    MS_LIBRARIES(X)
#undef X
};

static ms_function as_function(void *object)
{
    union {
        void *object;
        ms_function function;
    } cast = {.object = object};
    return cast.function;
}

/* Distributions add their version to the names of PyTorch's libraries: libc10.so.1.13. */
static bool is_called(const struct dl_phdr_info *info, const char *name)
{
    const char *slash = info->dlpi_name != NULL ? strrchr(info->dlpi_name, '/') : NULL;
    size_t name_b = strlen(name);
    return slash != NULL && strncmp(slash + 1, name, name_b) == 0 &&
           (slash[1 + name_b] == '\0' || slash[1 + name_b] == '.');
}

struct versioned {
    const char *name;
    char path[4096];
};

static int look_at(struct dl_phdr_info *info, size_t info_b, void *argument)
{
    struct versioned *wanted = argument;
    (void)info_b;
    if (!is_called(info, wanted->name) || strlen(info->dlpi_name) >= sizeof(wanted->path)) {
        return 0;
    }
    strcpy(wanted->path, info->dlpi_name);
    return 1;
}

static void *loaded(const char *name)
{
    void *handle = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
    struct versioned wanted = {.name = name};
    if (handle == NULL && dl_iterate_phdr(look_at, &wanted) != 0) {
        handle = dlopen(wanted.path, RTLD_LAZY | RTLD_NOLOAD);
    }
    return handle;
}

static void *in_library(enum ms_library library, const char *symbol)
{
    for (unsigned i = 0; i < MS_COUNT_OF(library_names[0]) && library_names[library][i] != NULL; i++) {
        /* dlopen's reference is kept on purpose: the function must not be unloaded while we point to it. */
        void *handle = loaded(library_names[library][i]);
        void *found = handle != NULL ? dlsym(handle, symbol) : NULL;
        if (found != NULL) {
            return found;
        }
    }
    return NULL;
}

/* NULL in place of a hook: a library may lack a function and depend on the agent, or a program may link it, and then a
 * search ends at the agent. A hook that calls a hook as the real function never returns. */
static void *not_a_hook(void *found)
{
    for (unsigned i = 0; found != NULL && i < MS_HOOK_COUNT; i++) {
        if (as_function(found) == ms_hooks[i].replacement) {
            return NULL;
        }
    }
    return found;
}

static ms_function resolve(const struct ms_hook *hook)
{
    int error = errno;
    ms_agent_init();
    void *found = NULL;
    if (dlsym != NULL) {
        found = not_a_hook(dlsym(RTLD_NEXT, hook->symbol));
        if (found == NULL) {
            found = not_a_hook(dlsym(RTLD_DEFAULT, hook->symbol));
        }
        if (found == NULL && hook->other != NULL) {
            found = not_a_hook(dlsym(RTLD_DEFAULT, hook->other));
        }
        if (found == NULL) {
            found = not_a_hook(in_library(hook->library, hook->symbol));
        }
    }
    ms_function real = as_function(found);
    if (real != NULL) {
        __atomic_store_n(hook->real, real, __ATOMIC_RELAXED);
    }
    errno = error;
    return real;
}

#define X(library, result, name, parameters, arguments, missing, other)                                                \
    static result first_##name parameters                                                                              \
    {                                                                                                                  \
        result(*real) parameters = (result(*) parameters)resolve(&ms_hooks[MS_HOOK_##name]);                           \
        return real != NULL ? real arguments : (result)(missing);                                                      \
    }                                                                                                                  \
    result(*ms_real_##name) parameters = first_##name;
MS_HOOKS(X)
#undef X

const struct ms_hook ms_hooks[MS_HOOK_COUNT] = {
#define X(library_, result, name, parameters, arguments, missing, other_)                                              \
    [MS_HOOK_##name] = {.symbol = #name,                                                                               \
                        .other = other_,                                                                               \
                        .replacement = (ms_function)name,                                                              \
                        .real = (ms_function *)&ms_real_##name,                                                        \
                        .library = MS_LIBRARY_##library_},
    MS_HOOKS(X)
#undef X
};

static int note_library(struct dl_phdr_info *info, size_t info_b, void *there_is)
{
    (void)info_b;
    for (unsigned i = 0; i < MS_LIBRARY_COUNT; i++) {
        for (unsigned k = 0; k < MS_COUNT_OF(library_names[0]) && library_names[i][k] != NULL; k++) {
            ((bool *)there_is)[i] |= is_called(info, library_names[i][k]);
        }
    }
    return 0;
}

/* Most programs have none of the libraries, and a failed symbol search takes as long as this check of their names. */
void ms_resolve_loaded(bool late)
{
    bool there_is[MS_LIBRARY_COUNT] = {false};
    dl_iterate_phdr(note_library, there_is);
    for (unsigned i = 0; i < MS_HOOK_COUNT && dlsym != NULL; i++) {
        if (!there_is[ms_hooks[i].library]) {
            continue;
        }
        if (late) {
            resolve(&ms_hooks[i]);
            continue;
        }
        /* Only the first kind of search, unlike a first call: an older library lacks dozens of symbols. */
        void *found = not_a_hook(dlsym(RTLD_NEXT, ms_hooks[i].symbol));
        if (found != NULL) {
            __atomic_store_n(ms_hooks[i].real, as_function(found), __ATOMIC_RELAXED);
        }
    }
}

ms_function ms_resolve_symbol(enum ms_library library, const char *symbol)
{
    int error = errno;
    void *found = NULL;
    if (dlsym != NULL) {
        found = dlsym(RTLD_DEFAULT, symbol);
        if (found == NULL) {
            found = in_library(library, symbol);
        }
    }
    errno = error;
    return as_function(found);
}
