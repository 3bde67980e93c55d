/* SPDX-License-Identifier: Apache-2.0 */
/* The default mstx tool: multiplexes a program's mstx calls to msprof and msPTI.
 *
 * If no tool is injected, the front ends (libms_tools_ext.so, or the header in each library) find InitInjectionMstx
 * here. They get the functions of this file, which pass each call to the enabled module: msprof by default, msPTI
 * while it is subscribed (ProfEnableMstxFunc). A module registers its functions with ProfRegisterMstxFunc; functions
 * it does not register do nothing. Memory functions (module 3 of the protocol) are not multiplexed: requesting them
 * fails.
 *
 * Both modules must know the program's domains whichever is enabled, so the program's domain handle is an object of
 * this file with one handle per module, created when the module first needs it.
 *
 * Threads: slots and the enabled module are atomics. `domain_lock` protects the list of domains; a module's create
 * and destroy functions run under it (they are rare), no other function does.
 * Failure: unknown handles, NULL names and full tables make the call do nothing and return 0. */
#include "base/slab.h"
#include "softnpu/profapi/profapi.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { MSTX_OK = 0, MSTX_FAILED = 1, TOOL_ID_MSPROF = 0x1000, MAX_DOMAINS = 4096, MAX_NAME_B = 256 };
enum { TABLE_CORE = 1, TABLE_DOMAIN = 2 };
enum { CORE_MARK = 1, CORE_RANGE_START, CORE_RANGE_END, CORE_TOOL_ID, CORE_LAST };
enum { DOMAIN_CREATE = 1, DOMAIN_DESTROY, DOMAIN_MARK, DOMAIN_RANGE_START, DOMAIN_RANGE_END, DOMAIN_LAST };
enum { OWNERS = PROF_MODULE_MSPTI + 1 };

typedef void (*mark_fn)(const char *message, void *stream);
typedef uint64_t (*range_start_fn)(const char *message, void *stream);
typedef void (*range_end_fn)(uint64_t id);
typedef void (*tool_id_fn)(uint64_t *id);
typedef void *(*domain_create_fn)(const char *name);
typedef void (*domain_destroy_fn)(void *domain);
typedef void (*domain_mark_fn)(void *domain, const char *message, void *stream);
typedef uint64_t (*domain_range_start_fn)(void *domain, const char *message, void *stream);
typedef void (*domain_range_end_fn)(void *domain, uint64_t id);

/* The functions of a module. Index 0 is unused; the last one is the sentinel included in the table size. */
static struct {
    mstxFuncPointer core[CORE_LAST + 1];
    mstxFuncPointer domain[DOMAIN_LAST + 1];
} filled[OWNERS];

static int enabled = PROF_MODULE_MSPROF;

struct mux_domain {
    char name[MAX_NAME_B];
    void *handle[OWNERS];
};

static struct ms_slab domains = MS_SLAB_INIT(struct mux_domain, MAX_DOMAINS);
static pthread_mutex_t domain_lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t domain_end; /* one past the highest slot ever used */

#define ENABLED()             __atomic_load_n(&enabled, __ATOMIC_ACQUIRE)
#define FN(type, owner, slot) ((type)__atomic_load_n(&filled[owner].slot, __ATOMIC_ACQUIRE))

/* ---- functions given to the front ends ---- */

static void mark(const char *message, void *stream)
{
    mark_fn fn = FN(mark_fn, ENABLED(), core[CORE_MARK]);
    if (fn != NULL) {
        fn(message, stream);
    }
}

static uint64_t range_start(const char *message, void *stream)
{
    range_start_fn fn = FN(range_start_fn, ENABLED(), core[CORE_RANGE_START]);
    return fn != NULL ? fn(message, stream) : 0;
}

static void range_end(uint64_t id)
{
    range_end_fn fn = FN(range_end_fn, ENABLED(), core[CORE_RANGE_END]);
    if (fn != NULL) {
        fn(id);
    }
}

static void tool_id(uint64_t *id)
{
    tool_id_fn fn = FN(tool_id_fn, ENABLED(), core[CORE_TOOL_ID]);
    if (id == NULL) {
        return;
    }
    *id = TOOL_ID_MSPROF;
    if (fn != NULL) {
        fn(id);
    }
}

/* The module's handle for a domain, created if necessary. False: the program's handle is not a domain. */
static bool domain_handle(struct mux_domain *d, int owner, void **out)
{
    *out = NULL;
    if (d == NULL) {
        return true; /* the global domain has no handle */
    }
    if (!ms_slab_check(&domains, d)) {
        return false;
    }
    *out = __atomic_load_n(&d->handle[owner], __ATOMIC_ACQUIRE);
    domain_create_fn create = FN(domain_create_fn, owner, domain[DOMAIN_CREATE]);
    if (*out == NULL && create != NULL) {
        pthread_mutex_lock(&domain_lock);
        if (ms_slab_check(&domains, d) && d->handle[owner] == NULL) {
            __atomic_store_n(&d->handle[owner], create(d->name), __ATOMIC_RELEASE);
        }
        *out = d->handle[owner];
        pthread_mutex_unlock(&domain_lock);
    }
    return true;
}

/* Lock held. */
static struct mux_domain *find_domain(const char *name)
{
    for (uint32_t i = 0; i < domain_end; i++) {
        struct mux_domain *d = ms_slab_at(&domains, i);
        if (d != NULL && strcmp(d->name, name) == 0) {
            return d;
        }
    }
    return NULL;
}

static void *domain_create(const char *name)
{
    if (name == NULL || strnlen(name, MAX_NAME_B) == MAX_NAME_B) {
        return NULL;
    }
    pthread_mutex_lock(&domain_lock);
    struct mux_domain *d = find_domain(name);
    if (d == NULL && (d = ms_slab_alloc(&domains)) != NULL) {
        strcpy(d->name, name);
        uint32_t index = ms_slab_index(&domains, d);
        domain_end = index >= domain_end ? index + 1 : domain_end;
    }
    pthread_mutex_unlock(&domain_lock);
    void *handle;
    if (d != NULL) {
        domain_handle(d, ENABLED(), &handle); /* the module learns of it now, not at the first mark */
    }
    return d;
}

static void domain_destroy(void *domain)
{
    pthread_mutex_lock(&domain_lock);
    if (domain != NULL && ms_slab_check(&domains, domain)) {
        struct mux_domain *d = domain;
        for (int owner = PROF_MODULE_MSPROF; owner < OWNERS; owner++) {
            domain_destroy_fn fn = FN(domain_destroy_fn, owner, domain[DOMAIN_DESTROY]);
            if (d->handle[owner] != NULL && fn != NULL) {
                fn(d->handle[owner]);
            }
        }
        ms_slab_free(&domains, d);
    }
    pthread_mutex_unlock(&domain_lock);
}

static void domain_mark(void *domain, const char *message, void *stream)
{
    int owner = ENABLED();
    void *handle;
    domain_mark_fn fn = FN(domain_mark_fn, owner, domain[DOMAIN_MARK]);
    if (fn != NULL && domain_handle(domain, owner, &handle)) {
        fn(handle, message, stream);
    }
}

static uint64_t domain_range_start(void *domain, const char *message, void *stream)
{
    int owner = ENABLED();
    void *handle;
    domain_range_start_fn fn = FN(domain_range_start_fn, owner, domain[DOMAIN_RANGE_START]);
    return fn != NULL && domain_handle(domain, owner, &handle) ? fn(handle, message, stream) : 0;
}

static void domain_range_end(void *domain, uint64_t id)
{
    int owner = ENABLED();
    void *handle;
    domain_range_end_fn fn = FN(domain_range_end_fn, owner, domain[DOMAIN_RANGE_END]);
    if (fn != NULL && domain_handle(domain, owner, &handle)) {
        fn(handle, id);
    }
}

/* ---- injection: registers this file's functions with the front end ---- */

int InitInjectionMstx(mstxGetModuleFuncTableFunc getModuleFuncTable)
{
    static const struct {
        int table;
        unsigned int slot;
        mstxFuncPointer fn;
    } offer[] = {
        {TABLE_CORE, CORE_MARK, (mstxFuncPointer)mark},
        {TABLE_CORE, CORE_RANGE_START, (mstxFuncPointer)range_start},
        {TABLE_CORE, CORE_RANGE_END, (mstxFuncPointer)range_end},
        {TABLE_CORE, CORE_TOOL_ID, (mstxFuncPointer)tool_id},
        {TABLE_DOMAIN, DOMAIN_CREATE, (mstxFuncPointer)domain_create},
        {TABLE_DOMAIN, DOMAIN_DESTROY, (mstxFuncPointer)domain_destroy},
        {TABLE_DOMAIN, DOMAIN_MARK, (mstxFuncPointer)domain_mark},
        {TABLE_DOMAIN, DOMAIN_RANGE_START, (mstxFuncPointer)domain_range_start},
        {TABLE_DOMAIN, DOMAIN_RANGE_END, (mstxFuncPointer)domain_range_end},
    };
    if (getModuleFuncTable == NULL) {
        return MSTX_FAILED;
    }
    for (size_t i = 0; i < MS_COUNT_OF(offer); i++) {
        mstxFuncTable table = NULL;
        unsigned int size = 0;
        /* A front end may lack a table or have a shorter one: register what fits. */
        if (getModuleFuncTable(offer[i].table, &table, &size) == MSTX_OK && table != NULL && offer[i].slot < size &&
            table[offer[i].slot] != NULL) {
            *table[offer[i].slot] = offer[i].fn;
        }
    }
    return MSTX_OK;
}

/* ---- the modules' interface: a small front end ---- */

#define CORE_TABLE(o)                                                                                                  \
    {                                                                                                                  \
        &filled[o].core[0], &filled[o].core[1], &filled[o].core[2], &filled[o].core[3], &filled[o].core[4],            \
            &filled[o].core[CORE_LAST]                                                                                 \
    }
#define DOMAIN_TABLE(o)                                                                                                \
    {                                                                                                                  \
        &filled[o].domain[0], &filled[o].domain[1], &filled[o].domain[2], &filled[o].domain[3], &filled[o].domain[4],  \
            &filled[o].domain[5], &filled[o].domain[DOMAIN_LAST]                                                       \
    }

static mstxFuncPointer *core_tables[OWNERS][CORE_LAST + 1] = {{NULL}, CORE_TABLE(1), CORE_TABLE(2)};
static mstxFuncPointer *domain_tables[OWNERS][DOMAIN_LAST + 1] = {{NULL}, DOMAIN_TABLE(1), DOMAIN_TABLE(2)};

static int tables_of(int owner, int module, mstxFuncTable *out, unsigned int *size)
{
    if (out == NULL || size == NULL || (module != TABLE_CORE && module != TABLE_DOMAIN)) {
        return MSTX_FAILED;
    }
    *out = module == TABLE_CORE ? core_tables[owner] : domain_tables[owner];
    *size = module == TABLE_CORE ? CORE_LAST + 1 : DOMAIN_LAST + 1;
    return MSTX_OK;
}

static int tables_of_msprof(int module, mstxFuncTable *out, unsigned int *size)
{
    return tables_of(PROF_MODULE_MSPROF, module, out, size);
}

static int tables_of_mspti(int module, mstxFuncTable *out, unsigned int *size)
{
    return tables_of(PROF_MODULE_MSPTI, module, out, size);
}

void ProfRegisterMstxFunc(int (*init)(mstxGetModuleFuncTableFunc), int module)
{
    if (init != NULL && (module == PROF_MODULE_MSPROF || module == PROF_MODULE_MSPTI)) {
        init(module == PROF_MODULE_MSPROF ? tables_of_msprof : tables_of_mspti);
    }
}

void ProfEnableMstxFunc(int module)
{
    if (module == PROF_MODULE_MSPROF || module == PROF_MODULE_MSPTI) {
        __atomic_store_n(&enabled, module, __ATOMIC_RELEASE);
    }
}

/* Its name in older releases. */
MS_EXPORT void EnableMstxFunc(int module);

void EnableMstxFunc(int module)
{
    ProfEnableMstxFunc(module);
}
