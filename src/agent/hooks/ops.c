/* SPDX-License-Identifier: Apache-2.0 */
/* PyTorch operators: begin and end of each, from PyTorch's own observers.
 *
 * PyTorch calls observers around every operator that its dispatcher runs, in any thread, including those of autograd;
 * composite operators contain others. Ours are C functions, registered through the mangled name (abi/c10.h): no Python
 * code runs, and no arguments are touched.
 *
 * A kernel calls operators for its own purposes, ten times as many as the program does: views of its arguments in
 * loops, memory for its results. Not recorded: calls made below autograd, which programs do not reach. What remains is
 * what a dispatch mode would see, and the composite operators around it.
 *
 * An operator is identified by the address of its name, which is in its schema and stays there. The text for the record
 * is built at its first call: "aten::add" of the overload "Tensor" is torch._ops.aten.add.Tensor, as Python calls it.
 * Other things reported to observers (autograd nodes, parts of the engine) have a separate name for each call and no
 * schema; they are recognised by their spelling and skipped.
 *
 * Layouts are those of the versions that have getStepCallbacks (1.12 and later); without that symbol nothing is
 * registered. Where the overload is read from the schema, each address is probed before use.
 *
 * Threads: observers run in any; one thread at a time enters texts, others meanwhile build their own. A forked child
 * keeps the observers. */
#include "abi/c10.h"
#include "agent/hooks.h"
#include "agent/watch.h"
#include "base/peek.h"
#include "agent/record_text.h"
#include "agent/torch.h"
#include "trace/aten_mark.h"

#include <errno.h>

static const char *(*name_of)(const void *function);
static const char *(*overload_of)(const void *function); /* NULL: not available in this version */
static bool (*is_excluded)(uint16_t key);                /* of a dispatch key, in this thread; NULL: unknown */
static uint16_t autograd;                                /* that key */

/* ---- texts ---- */

#define NAME_MAX_B 160u
#define PREFIX     MS_ATEN_MARK "b: name=torch._ops."
enum { TURN = MS_ATEN_MARK_B }; /* where begin and end differ */

struct op_text {
    char bytes[sizeof(PREFIX) + 2 * NAME_MAX_B];
    uint32_t length_b;
};

static void put(struct op_text *t, const char *s, size_t length_b)
{
    size_t room = sizeof(t->bytes) - t->length_b;
    length_b = length_b < room ? length_b : room;
    memcpy(t->bytes + t->length_b, s, length_b);
    t->length_b += (uint32_t)length_b;
}

/* "namespace::name" without other colons or blanks: position of the colons, NULL if it is not such a name. Parts of
 * torch.distributed have names with dots before the colons. */
static const char *colons_of(const char *name)
{
    const char *colons = strpbrk(name, ":.");
    if (colons == NULL || colons == name || colons[0] != ':' || colons[1] != ':' || colons[2] == '\0' ||
        strpbrk(colons + 2, ": ") != NULL || strlen(name) > NAME_MAX_B) {
        return NULL;
    }
    return colons;
}

/* The overload, from the schema that the observed function points to; which of its words that is, is determined
 * once. */
static size_t read_overload(const void *function, const char *name, char *out, size_t out_b)
{
    enum { WORDS = 40 }; /* a RecordFunction has more */
    static uint32_t known;
    uint32_t first = __atomic_load_n(&known, __ATOMIC_RELAXED);
    for (uint32_t i = first; i < WORDS; i++) {
        uintptr_t word = ((const uintptr_t *)function)[i];
        struct c10_schema schema;
        if (word % sizeof(void *) != 0 || word < 4096 || !ms_peek(word, &schema, sizeof(schema)) ||
            schema.name.data != name || schema.name.length != strlen(name) || schema.overload.length > out_b) {
            if (first != 0) {
                return 0;
            }
            continue;
        }
        if (!ms_peek((uintptr_t)schema.overload.data, out, schema.overload.length)) {
            return 0;
        }
        __atomic_store_n(&known, i, __ATOMIC_RELAXED);
        return schema.overload.length;
    }
    return 0;
}

/* False: not an operator. */
static bool make_text(struct op_text *t, const void *function, const char *name)
{
    const char *colons = colons_of(name);
    if (colons == NULL) {
        return false;
    }
    char read[NAME_MAX_B];
    const char *overload = overload_of != NULL ? overload_of(function) : read;
    size_t overload_b =
        overload_of != NULL ? strnlen(overload, NAME_MAX_B) : read_overload(function, name, read, sizeof(read));
    if (overload_b == 0) {
        overload = "default";
        overload_b = sizeof("default") - 1;
    }
    t->length_b = 0;
    put(t, PREFIX, sizeof(PREFIX) - 1);
    put(t, name, (size_t)(colons - name));
    put(t, ".", 1);
    put(t, colons + 2, strlen(colons + 2));
    put(t, ".", 1);
    put(t, overload, overload_b);
    return true;
}

/* ---- table of texts ---- */

/* A copy of the name, then the texts of begin and end. */
struct known_op {
    const char *name; /* address of the name; NULL: free */
    const char *copy;
    uint32_t name_b, text_b;
};

#define OPS       4096u
#define PROBES    16u
#define TEXTS_MAX (1u << 20) /* unused pages cost nothing */

static struct known_op ops[OPS];
static char texts[TEXTS_MAX];
static uint32_t texts_used, adding;

static uint32_t slot_of(const char *name)
{
    return (uint32_t)(((uintptr_t)name >> 3) * 0x9e3779b97f4a7c15ull >> 40);
}

static const struct known_op *find(const char *name)
{
    for (uint32_t i = 0, at = slot_of(name); i < PROBES; i++, at++) {
        const struct known_op *op = &ops[at % OPS];
        const char *there = __atomic_load_n(&op->name, __ATOMIC_ACQUIRE);
        if (there == NULL) {
            return NULL;
        }
        if (there == name && strcmp(op->copy, name) == 0) {
            return op;
        }
    }
    return NULL;
}

static void add(const char *name, const struct op_text *t)
{
    uint32_t name_b = (uint32_t)strlen(name) + 1;
    if (__atomic_exchange_n(&adding, 1, __ATOMIC_ACQUIRE) != 0) {
        return;
    }
    struct known_op *op = NULL;
    for (uint32_t i = 0, at = slot_of(name); i < PROBES && op == NULL; i++, at++) {
        op = ops[at % OPS].name == NULL ? &ops[at % OPS] : NULL;
    }
    if (op != NULL && find(name) == NULL && sizeof(texts) - texts_used >= name_b + 2 * t->length_b) {
        char *copy = texts + texts_used;
        texts_used += name_b + 2 * t->length_b;
        memcpy(copy, name, name_b);
        memcpy(copy + name_b, t->bytes, t->length_b);
        memcpy(copy + name_b + t->length_b, t->bytes, t->length_b);
        copy[name_b + t->length_b + TURN] = 'e';
        op->copy = copy;
        op->name_b = name_b;
        op->text_b = t->length_b;
        __atomic_store_n(&op->name, name, __ATOMIC_RELEASE);
    }
    __atomic_store_n(&adding, 0, __ATOMIC_RELEASE);
}

/* ---- observers ---- */

/* Without a current device the operators run on the CPU, if that is recorded; MS_DEV_UNKNOWN: it is not. */
static uint32_t device_of(const struct ms_shm *shm)
{
    uint32_t device = ms_device_current();
    bool cpu = (__atomic_load_n(&shm->event_mask, __ATOMIC_RELAXED) & MS_WANT_CPU) != 0;
    return device == MS_DEV_UNKNOWN && cpu ? MS_DEV_CPU : device;
}

/* A process that uses no NPU is not recorded because of its operators. */
static bool nowhere(void)
{
    const struct ms_shm *shm = ms_rec_shm();
    return shm != NULL && device_of(shm) == MS_DEV_UNKNOWN;
}

/* The text of begin or end, from the table or built in *made; NULL: not an operator. */
static const char *text_of(const void *function, bool begin, struct op_text *made, size_t *length_b)
{
    const char *name = name_of(function);
    const struct known_op *op = name != NULL ? find(name) : NULL;
    if (MS_LIKELY(op != NULL)) {
        *length_b = op->text_b;
        return op->copy + op->name_b + (begin ? 0 : op->text_b);
    }
    if (name == NULL || !make_text(made, function, name)) {
        return NULL;
    }
    add(name, made);
    made->bytes[TURN] = begin ? 'b' : 'e';
    *length_b = made->length_b;
    return made->bytes;
}

static inline __attribute__((always_inline)) void record(const char *text, size_t length_b, bool begin)
{
    const uint32_t both = MS_WANT_LAUNCH | MS_WANT_OP;
    if (!ms_tracing() || (__atomic_load_n(&ms_gate->shm->event_mask, __ATOMIC_RELAXED) & both) != both) {
        return;
    }
    struct ms_p_mark p = {.stream_id = -1};
    if (ms_watching() && !begin) {
        ms_watch_text(text, length_b, true);
    }
    ms_record_text(MS_R_MARK, device_of(ms_gate->shm), &p, sizeof(p), text, length_b, true, begin);
    if (ms_watching() && begin) {
        ms_watch_text(text, length_b, false);
    }
}

/* ---- which calls are recorded ---- */

/* Operators that are running in a thread; kept in its context's owner_words, zero at first. */
struct ms_running {
    uint32_t recorded, beneath; /* recorded operators, and calls below them that are not recorded */
    uint32_t before, version;   /* recorded operators that began before the session changed to this version */
};
_Static_assert(sizeof(struct ms_running) <= sizeof(((struct ms_ctx *)0)->owner_words), "fits the context");

/* Calls nest, so the one that ends began last: counters of each kind suffice to know its kind. NULL: this thread has
 * recorded nothing yet, so no recorded operator is running. */
static struct ms_running *running(void)
{
    struct ms_ctx *ctx = ms_ctx_tls;
    return ctx != NULL && !ctx->busy ? (struct ms_running *)(void *)ctx->owner_words : NULL;
}

/* An operator that began before start() or stop() has its end elsewhere: no end is recorded without its beginning. */
static void follow_session(struct ms_running *run)
{
    const struct ms_shm *shm = ms_rec_shm();
    uint32_t version = shm != NULL ? __atomic_load_n(&shm->config_version, __ATOMIC_RELAXED) : run->version;
    if (MS_UNLIKELY(run->version != version)) {
        run->version = version;
        run->before = run->recorded;
    }
}

static bool beneath_autograd(void)
{
    return is_excluded != NULL && is_excluded(autograd);
}

static void on_begin(const void *function)
{
    struct ms_running *run = running();
    if (run != NULL && (run->beneath != 0 || (run->recorded != 0 && beneath_autograd()))) {
        run->beneath++;
        return;
    }
    int error = errno;
    struct op_text made;
    size_t length_b;
    const char *text = text_of(function, true, &made, &length_b);
    if (text != NULL && (run == NULL || run->recorded == 0) && nowhere()) {
        if (run != NULL) {
            run->beneath++;
        }
    } else if (text != NULL) {
        record(text, length_b, true);
        run = running(); /* it may exist only now */
        if (run != NULL) {
            follow_session(run);
            run->recorded++;
        }
    }
    errno = error;
}

static void on_end(const void *function, void *context)
{
    (void)context;
    struct ms_running *run = running();
    if (run == NULL || (run->beneath | run->recorded) == 0) {
        return; /* began before calls were counted */
    }
    if (run->beneath != 0) {
        run->beneath--;
        return;
    }
    int error = errno;
    struct op_text made;
    size_t length_b;
    const char *text = text_of(function, false, &made, &length_b);
    if (text != NULL) {
        follow_session(run);
        run->recorded--;
        if (run->recorded >= run->before) {
            record(text, length_b, false);
        } else {
            run->before = run->recorded;
        }
    }
    errno = error;
}

/* The return value is an empty std::unique_ptr, at an address that PyTorch passes. */
#if defined(__x86_64__)
static void **ms_ops_entry(void **context, const void *function)
{
    *context = NULL;
    on_begin(function);
    return context;
}
#elif defined(__aarch64__)
void ms_ops_started(const void *function) __attribute__((used, visibility("hidden")));
void ms_ops_started(const void *function)
{
    on_begin(function);
}
void ms_ops_entry(void) __attribute__((visibility("hidden")));
__asm__(".text\n"
        ".p2align 2\n"
        ".hidden ms_ops_entry\n"
        ".global ms_ops_entry\n"
        ".type ms_ops_entry, %function\n"
        "ms_ops_entry:\n"
        "    hint #34\n" /* may be called */
        "    str xzr, [x8]\n"
        "    b ms_ops_started\n"
        ".size ms_ops_entry, . - ms_ops_entry\n");
#endif

/* ---- registration ---- */

static uint64_t handle; /* 0: not registered */

static ms_function of_torch(const char *symbol)
{
    return ms_resolve_symbol(MS_LIBRARY_TORCH_CPU, symbol);
}

static void find_autograd(void)
{
    const char *(*name_of_key)(uint16_t) = (const char *(*)(uint16_t))ms_resolve_symbol(MS_LIBRARY_C10, C10_KEY_NAME);
    bool (*excluded)(uint16_t) = (bool (*)(uint16_t))ms_resolve_symbol(MS_LIBRARY_C10, C10_KEY_EXCLUDED);
    for (uint16_t key = 0; name_of_key != NULL && key < C10_KEYS; key++) {
        if (strcmp(name_of_key(key), C10_AUTOGRAD) == 0) {
            autograd = key;
            is_excluded = excluded;
        }
    }
}

/* False: PyTorch is not loaded, or not yet. */
static bool observe(void)
{
    static const char layout[] = "_ZN2at16getStepCallbacksENS_11RecordScopeE";
    uint64_t (*add_callback)(struct c10_record_callback) =
        (uint64_t(*)(struct c10_record_callback))of_torch(C10_ADD_CALLBACK);
    if (add_callback == NULL) {
        return false;
    }
    name_of = (const char *(*)(const void *))of_torch(C10_NAME);
    overload_of = (const char *(*)(const void *))of_torch(C10_OVERLOAD_NAME);
    if (name_of == NULL || of_torch(layout) == NULL) {
        ms_agent_log("operators of this version of PyTorch cannot be observed");
        return true;
    }
    find_autograd();
    handle = add_callback((struct c10_record_callback){.start = (void *)(uintptr_t)ms_ops_entry,
                                                       .end = (void *)(uintptr_t)on_end,
                                                       .probability = 1.0,
                                                       .scopes = {true}});
    return true;
}

static void stop_observing(void)
{
    void (*remove_callback)(uint64_t) = (void (*)(uint64_t))of_torch(C10_REMOVE_CALLBACK);
    if (remove_callback != NULL) {
        remove_callback(handle);
        handle = 0;
    }
}

bool ms_ops_update(bool wanted)
{
    if (wanted && handle == 0) {
        return observe();
    }
    if (!wanted && handle != 0) {
        stop_observing();
    }
    return true;
}
