/* SPDX-License-Identifier: Apache-2.0 */
/* What a stream has already defined, and how it defines more.
 *
 * The table has 4096 entries in sets of two; the older one of a set is evicted. An entry holds 96 bits of hash and
 * no content; collisions in all of them are accepted. Ids come from a queue of 8192: an evicted id goes to its end,
 * so a caller may hold an id while some thousand others are defined (a deep stack of new code objects), and the
 * collector's map per stream stays small.
 *
 * Entries are invalidated by salts: counters that are part of every hash of their kind. Modules have one; code
 * objects have 4096, so that destroying one invalidates few others. Any thread may change a salt; older entries are
 * then never found again.
 *
 * Threads: everything but the salts belongs to the calling thread. A signal handler that interrupts it finds the
 * context busy, or the table consistent: an entry becomes valid with its last store. */
#include "trace/definitions.h"

#include "trace/producer_internal.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define SETS           (MS_DEFINITIONS / 2)
#define SEEN           1024
#define CODE_SALTS     4096
#define MS_DESCRIBED_B 2048u

struct def_entry {
    uint64_t hash; /* 0: empty */
    uint32_t check;
    uint32_t id;
};

struct ms_definitions {
    struct def_entry table[SETS][2];
    uint16_t free_ids[MS_DEFINITION_IDS]; /* ring of ids that are not in the table; used after the fresh ones */
    uint32_t free_head, free_count;
    uint32_t fresh_id;   /* ids above were never used */
    uint32_t seen[SEEN]; /* hashes of texts that were recently sent inline */
    struct ms_scratch scratch;
    struct ms_frame frames[MS_FRAMES_MAX];
};

static uint32_t module_salt;
static uint32_t code_salts[CODE_SALTS];

/* ---- hashing ---- */

static inline void key_add(struct ms_def_key *key, uint64_t word)
{
    __uint128_t product = (__uint128_t)(key->hash ^ word ^ 0x9e3779b97f4a7c15u) * 0xd6e8feb86659fd93u;
    key->hash = (uint64_t)product ^ (uint64_t)(product >> 64);
    key->check = (key->check << 27 | key->check >> 37) ^ word * 0xa0761d6478bd642fu;
}

static void key_add_bytes(struct ms_def_key *key, const void *bytes, size_t length_b)
{
    const char *p = bytes;
    size_t left_b = length_b;
    for (; left_b >= 8; p += 8, left_b -= 8) {
        uint64_t word;
        memcpy(&word, p, 8);
        key_add(key, word);
    }
    uint64_t rest = 0;
    memcpy(&rest, p, left_b);
    key_add(key, rest ^ (uint64_t)length_b << 56);
}

static struct ms_def_key key_end(struct ms_def_key key)
{
    key_add(&key, 0);
    key.hash |= key.hash == 0;
    key.check = (key.check ^ key.check >> 32) & 0xffffffffu;
    return key;
}

/* Four words at a time, because each multiplication depends on the previous one. */
enum { LANES = 4 };
struct lanes {
    struct ms_def_key key[LANES];
    uint64_t about; /* all the words: how many, and under which salt */
};

static inline struct lanes lanes_begin(unsigned kind, uint64_t about)
{
    struct lanes lanes = {.about = about};
    for (unsigned i = 0; i < LANES; i++) {
        lanes.key[i] = (struct ms_def_key){.hash = kind + (i << 8), .check = about};
    }
    return lanes;
}

static inline struct ms_def_key lanes_end(struct lanes *lanes)
{
    for (unsigned i = 1; i < LANES; i++) {
        key_add(&lanes->key[0], lanes->key[i].hash);
        key_add(&lanes->key[0], lanes->key[i].check);
    }
    key_add(&lanes->key[0], lanes->about);
    return key_end(lanes->key[0]);
}

/* ---- table ---- */

static uint32_t find(struct ms_definitions *d, const struct ms_def_key *key)
{
    struct def_entry *set = d->table[key->hash % SETS];
    for (unsigned way = 0; way < 2; way++) {
        if (set[way].hash == key->hash && set[way].check == (uint32_t)key->check) {
            return set[way].id;
        }
    }
    return 0;
}

static uint32_t take_id(struct ms_definitions *d)
{
    if (d->fresh_id < MS_DEFINITION_IDS) {
        return ++d->fresh_id;
    }
    uint32_t id = d->free_ids[d->free_head % MS_DEFINITION_IDS] + 1u;
    d->free_head++;
    d->free_count--;
    return id;
}

static void return_id(struct ms_definitions *d, uint32_t id)
{
    d->free_ids[(d->free_head + d->free_count++) % MS_DEFINITION_IDS] = (uint16_t)(id - 1);
}

static void store(struct def_entry *entry, const struct ms_def_key *key, uint32_t id)
{
    entry->hash = 0;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    entry->check = (uint32_t)key->check;
    entry->id = id;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    entry->hash = key->hash;
}

static void remember(struct ms_definitions *d, const struct ms_def_key *key, uint32_t id)
{
    struct def_entry *set = d->table[key->hash % SETS];
    if (set[1].hash != 0) {
        return_id(d, set[1].id);
    }
    if (set[0].hash != 0) {
        struct ms_def_key older = {.hash = set[0].hash, .check = set[0].check};
        store(&set[1], &older, set[0].id);
    }
    store(&set[0], key, id);
}

/* ---- contexts ---- */

static struct ms_definitions *definitions(struct ms_ctx *ctx)
{
    if (MS_UNLIKELY(ctx->definitions == NULL)) {
        int saved = errno;
        void *memory =
            mmap(NULL, sizeof(struct ms_definitions), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        errno = saved;
        if (memory == MAP_FAILED) {
            return NULL;
        }
        ctx->definitions = memory;
    }
    return ctx->definitions;
}

void ms__definitions_drop(struct ms_ctx *ctx)
{
    if (ctx->definitions != NULL) {
        munmap(ctx->definitions, sizeof(struct ms_definitions));
        ctx->definitions = NULL;
    }
}

struct ms_scratch *ms_def_scratch(void)
{
    struct ms_ctx *ctx = ms_rec_context();
    struct ms_definitions *d = ctx != NULL ? definitions(ctx) : NULL;
    return d != NULL ? &d->scratch : NULL;
}

/* While set, hooks record nothing, and a signal handler does not touch the table. */
static void guard(struct ms_ctx *ctx, bool on)
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    ctx->busy = on;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* ---- writing a definition ---- */

struct definition {
    struct ms_slot slot;
    struct ms_ctx *ctx;
    const struct ms_def_key *key;
    uint32_t id;
};

/* The payload to fill, or NULL: cannot be defined now. */
static void *define_begin(struct definition *def, struct ms_ctx *ctx, const struct ms_def_key *key, size_t payload_b)
{
    guard(ctx, true);
    uint32_t id = take_id(ctx->definitions);
    guard(ctx, false);
    *def = (struct definition){.ctx = ctx, .key = key, .id = id};
    void *payload = ms_rec_begin(&def->slot, payload_b, MS_ORDER_DEF);
    if (payload == NULL) {
        guard(ctx, true);
        return_id(ctx->definitions, id);
        guard(ctx, false);
    }
    return payload;
}

static uint32_t define_end(struct definition *def, enum ms_record_kind kind, uint8_t flags)
{
    ms_rec_commit(&def->slot, kind, flags, def->id, def->ctx->last_stamp);
    guard(def->ctx, true);
    remember(def->ctx->definitions, def->key, def->id);
    guard(def->ctx, false);
    return def->id;
}

/* Copies bytes and zero-pads their last word. */
static char *put_padded(char *to, const void *bytes, size_t length_b)
{
    size_t whole_b = MS_ROUND_UP(length_b, 8);
    if (whole_b != 0) {
        memset(to + whole_b - 8, 0, 8);
        memcpy(to, bytes, length_b);
    }
    return to + whole_b;
}

/* ---- texts ---- */

static struct ms_def_key text_key(const char *text, size_t length_b)
{
    struct ms_def_key key = {.hash = MS_R_DEF_TEXT};
    key_add_bytes(&key, text, length_b);
    return key_end(key);
}

static uint32_t define_text(struct ms_ctx *ctx, const struct ms_def_key *key, const char *text, size_t length_b,
                            uint8_t flags)
{
    struct definition def;
    struct ms_p_text *p = define_begin(&def, ctx, key, sizeof(*p) + MS_ROUND_UP(length_b, 8));
    if (p == NULL) {
        return 0;
    }
    p->text = (struct ms_text_ref){.length_b = (uint32_t)length_b};
    put_padded((char *)(p + 1), text, length_b);
    return define_end(&def, MS_R_DEF_TEXT, flags);
}

uint32_t ms_def_text(const char *text, size_t length_b)
{
    struct ms_ctx *ctx = ms_rec_context();
    if (text == NULL || length_b == 0 || ctx == NULL || definitions(ctx) == NULL) {
        return 0;
    }
    uint8_t flags = length_b > MS_TEXT_MAX_B ? MS_RECORD_CUT : 0;
    length_b = flags ? MS_TEXT_MAX_B : length_b;
    struct ms_def_key key = text_key(text, length_b);
    uint32_t id = find(ctx->definitions, &key);
    return id != 0 ? id : define_text(ctx, &key, text, length_b, flags);
}

/* Whether the text is among the last ones that were not defined; adds it. */
static bool seen(struct ms_definitions *d, const struct ms_def_key *key)
{
    uint32_t *last = &d->seen[(key->hash >> 16) % SEEN];
    bool yes = *last == (uint32_t)key->check;
    *last = (uint32_t)key->check;
    return yes;
}

void ms_texts_add(struct ms_texts *texts, const char *text, size_t length_b, bool recurring)
{
    if (texts->count >= MS_TEXTS_MAX) {
        return;
    }
    uint32_t i = texts->count++;
    length_b = text == NULL ? 0 : length_b;
    if (length_b > MS_TEXT_MAX_B - 512) { /* two of them and their record fit a chunk */
        length_b = MS_TEXT_MAX_B - 512;
        texts->flags |= MS_RECORD_CUT;
    }
    texts->text[i] = text;
    texts->ref[i] = (struct ms_text_ref){.length_b = (uint32_t)length_b};
    struct ms_ctx *ctx = length_b != 0 ? ms_rec_context() : NULL;
    if (ctx == NULL || definitions(ctx) == NULL) {
        return;
    }
    struct ms_def_key key = text_key(text, length_b);
    uint32_t id = find(ctx->definitions, &key);
    if (id == 0 && (recurring || seen(ctx->definitions, &key))) {
        id = define_text(ctx, &key, text, length_b, texts->flags);
    }
    if (id != 0) {
        texts->ref[i] = (struct ms_text_ref){.id = id};
    }
}

size_t ms_texts_tail_b(const struct ms_texts *texts)
{
    return MS_ROUND_UP((size_t)texts->ref[0].length_b + texts->ref[1].length_b, 8);
}

void ms_texts_put(const struct ms_texts *texts, void *tail)
{
    size_t tail_b = ms_texts_tail_b(texts);
    char *to = tail;
    if (tail_b == 0) {
        return;
    }
    memset(to + tail_b - 8, 0, 8);
    for (uint32_t i = 0; i < texts->count; i++) {
        memcpy(to, texts->text[i], texts->ref[i].length_b);
        to += texts->ref[i].length_b;
    }
}

/* ---- stacks of either kind ---- */

static uint32_t define_stack(struct ms_ctx *ctx, const struct ms_def_key *key, enum ms_record_kind kind,
                             uint32_t frames, uint32_t cut)
{
    struct definition def;
    struct ms_p_stack *p = define_begin(&def, ctx, key, sizeof(*p) + frames * sizeof(struct ms_frame));
    if (p == NULL) {
        return 0;
    }
    p->frames = frames;
    p->cut = cut;
    memcpy(p + 1, ctx->definitions->frames, frames * sizeof(struct ms_frame));
    return define_end(&def, kind, cut != 0 ? MS_RECORD_CUT : 0);
}

/* ---- C stacks ---- */

static uint32_t define_module(struct ms_ctx *ctx, const struct ms_module_info *info)
{
    struct ms_def_key key = {.hash = MS_R_DEF_MODULE};
    key_add(&key, info->base);
    key_add(&key, __atomic_load_n(&module_salt, __ATOMIC_RELAXED));
    key = key_end(key);
    uint32_t id = find(ctx->definitions, &key);
    if (id != 0) {
        return id;
    }
    struct definition def;
    size_t path_b = info->path != NULL ? strnlen(info->path, MS_TEXT_MAX_B) : 0;
    struct ms_p_module *p = define_begin(&def, ctx, &key, sizeof(*p) + MS_ROUND_UP(path_b, 8));
    if (p == NULL) {
        return 0;
    }
    *p = (struct ms_p_module){
        .base = info->base,
        .size_b = info->size_b,
        .build_id_b = info->build_id_b <= sizeof(p->build_id) ? info->build_id_b : sizeof(p->build_id),
        .path = {.length_b = (uint32_t)path_b},
    };
    memcpy(p->build_id, info->build_id, p->build_id_b);
    put_padded((char *)(p + 1), info->path, path_b);
    return define_end(&def, MS_R_DEF_MODULE, 0);
}

/* A stack has few modules, in runs: those already found for this stack are tried first. */
#define STACK_MODULES 8
struct stack_modules {
    struct {
        uint64_t base, size_b;
        uint32_t id;
    } known[STACK_MODULES];
    uint32_t count;
};

static struct ms_frame c_frame(struct ms_ctx *ctx, struct stack_modules *modules, uintptr_t pc,
                               ms_module_fn find_module)
{
    for (uint32_t i = 0; i < modules->count && i < STACK_MODULES; i++) {
        if (pc - modules->known[i].base < modules->known[i].size_b) {
            return (struct ms_frame){.in = modules->known[i].id, .offset = pc - modules->known[i].base};
        }
    }
    struct ms_module_info info = {0};
    guard(ctx, true);
    bool found = find_module != NULL && find_module(pc, &info);
    guard(ctx, false);
    uint32_t id = found ? define_module(ctx, &info) : 0;
    if (id == 0) {
        return (struct ms_frame){.offset = pc};
    }
    uint32_t at = modules->count++ % STACK_MODULES;
    modules->known[at].base = info.base;
    modules->known[at].size_b = info.size_b;
    modules->known[at].id = id;
    return (struct ms_frame){.in = id, .offset = pc - info.base};
}

static struct ms_def_key c_stack_key(const uintptr_t *pcs, uint32_t frames, uint32_t cut)
{
    struct lanes lanes =
        lanes_begin(MS_R_DEF_STACK, (uint64_t)cut << 32 | __atomic_load_n(&module_salt, __ATOMIC_RELAXED));
    uint32_t i = 0;
    for (; i + LANES <= frames; i += LANES) {
        for (uint32_t k = 0; k < LANES; k++) {
            key_add(&lanes.key[k], pcs[i + k]);
        }
    }
    for (; i < frames; i++) {
        key_add(&lanes.key[i % LANES], pcs[i]);
    }
    return lanes_end(&lanes);
}

uint32_t ms_def_known(const struct ms_def_key *key)
{
    const struct ms_ctx *ctx = ms_ctx_tls;
    return ctx != NULL && ctx->definitions != NULL ? find(ctx->definitions, key) : 0;
}

uint32_t ms_def_c_stack(const uintptr_t *pcs, uint32_t frames, uint32_t cut, ms_module_fn find_module,
                        struct ms_def_key *key_out, bool *again)
{
    struct ms_ctx *ctx = ms_rec_context();
    if (frames == 0 || ctx == NULL || definitions(ctx) == NULL) {
        return 0;
    }
    if (frames > MS_FRAMES_MAX) {
        cut += frames - MS_FRAMES_MAX;
        frames = MS_FRAMES_MAX;
    }
    struct ms_def_key key = c_stack_key(pcs, frames, cut);
    uint32_t id = find(ctx->definitions, &key);
    if (key_out != NULL) {
        *key_out = key;
    }
    if (again != NULL) {
        *again = id != 0;
    }
    if (MS_LIKELY(id != 0)) {
        return id;
    }
    struct stack_modules modules = {.count = 0};
    for (uint32_t i = 0; i < frames; i++) {
        ctx->definitions->frames[i] = c_frame(ctx, &modules, pcs[i], find_module);
    }
    return define_stack(ctx, &key, MS_R_DEF_STACK, frames, cut);
}

void ms_def_forget_modules(void)
{
    __atomic_fetch_add(&module_salt, 1, __ATOMIC_RELAXED);
}

uint32_t ms_def_modules_epoch(void)
{
    return __atomic_load_n(&module_salt, __ATOMIC_RELAXED);
}

/* ---- Python stacks ---- */

/* By address; the caller may use the upper 16 bits of a code for its own purpose. */
static uint32_t *code_salt(uintptr_t code)
{
    return &code_salts[(code << 16) * 0x9e3779b97f4a7c15u >> 52];
}
_Static_assert(CODE_SALTS == 1 << (64 - 52), "as many as the hash has values");

static uint64_t code_identity(uintptr_t code)
{
    return code + __atomic_load_n(code_salt(code), __ATOMIC_RELAXED) * 0x9e3779b97f4a7c15u;
}

#define OWN_CODE UINT32_MAX /* above every id; never defined */

static uint32_t define_code(struct ms_ctx *ctx, uintptr_t code, ms_code_fn describe)
{
    struct ms_def_key key = {.hash = MS_R_DEF_CODE};
    key_add(&key, code_identity(code));
    key = key_end(key);
    uint32_t id = find(ctx->definitions, &key);
    if (id != 0) {
        return id;
    }
    struct ms_code_info info = {0};
    guard(ctx, true);
    bool known = describe != NULL && describe(code, &info);
    guard(ctx, false);
    if (!known || info.own) {
        return known ? OWN_CODE : 0;
    }
    const uint32_t name_max_b = 2048;
    uint8_t flags = 0;
    struct ms_text_ref file = {.length_b = info.file_b < name_max_b ? info.file_b : name_max_b};
    struct ms_text_ref name = {.length_b = info.name_b < name_max_b ? info.name_b : name_max_b};
    size_t texts_b = MS_ROUND_UP(file.length_b + name.length_b, 8);
    size_t room_b = MS_RECORD_MAX_B - sizeof(struct ms_record) - sizeof(struct ms_p_code) - texts_b;
    uint32_t table_b = info.line_table_b;
    if (table_b > room_b) {
        table_b = (uint32_t)room_b;
        flags = MS_RECORD_CUT;
    }
    struct definition def;
    struct ms_p_code *p = define_begin(&def, ctx, &key, sizeof(*p) + texts_b + MS_ROUND_UP(table_b, 8));
    if (p == NULL) {
        return 0;
    }
    *p = (struct ms_p_code){
        .first_line = info.first_line, .line_table_b = table_b, .version = info.version, .file = file, .name = name};
    char *tail = (char *)(p + 1);
    if (texts_b != 0) {
        memset(tail + texts_b - 8, 0, 8);
        memcpy(tail, info.file, file.length_b);
        memcpy(tail + file.length_b, info.name, name.length_b);
    }
    put_padded(tail + texts_b, info.line_table, table_b);
    return define_end(&def, MS_R_DEF_CODE, flags);
}

/* Code and instruction of a frame as one word. Instructions are small, so they are spread first. */
static inline uint64_t frame_word(const struct ms_py_frame *frame)
{
    return code_identity(frame->code) + frame->instruction * 0xd6e8feb86659fd93u;
}

static struct ms_def_key python_stack_key(const struct ms_py_frame *frames, uint32_t count, uint32_t cut)
{
    struct lanes lanes = lanes_begin(MS_R_DEF_PYSTACK, cut);
    uint32_t i = 0;
    for (; i + LANES <= count; i += LANES) {
        for (uint32_t k = 0; k < LANES; k++) {
            key_add(&lanes.key[k], frame_word(&frames[i + k]));
        }
    }
    for (; i < count; i++) {
        key_add(&lanes.key[i % LANES], frame_word(&frames[i]));
    }
    return lanes_end(&lanes);
}

uint32_t ms_def_python_stack(const struct ms_py_frame *frames, uint32_t count, uint32_t cut, ms_code_fn describe)
{
    struct ms_ctx *ctx = ms_rec_context();
    if (count == 0 || ctx == NULL || definitions(ctx) == NULL) {
        return 0;
    }
    if (count > MS_FRAMES_MAX) {
        cut += count - MS_FRAMES_MAX;
        count = MS_FRAMES_MAX;
    }
    struct ms_def_key key = python_stack_key(frames, count, cut);
    uint32_t id = find(ctx->definitions, &key);
    if (MS_LIKELY(id != 0)) {
        return id;
    }
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t code = define_code(ctx, frames[i].code, describe);
        if (code != OWN_CODE) {
            ctx->definitions->frames[kept++] =
                (struct ms_frame){.in = code, .offset = code != 0 ? frames[i].instruction : frames[i].code};
        }
    }
    return kept != 0 ? define_stack(ctx, &key, MS_R_DEF_PYSTACK, kept, cut) : 0;
}

static __attribute__((noinline)) uint32_t describe_text(struct ms_ctx *ctx, const struct ms_def_key *key,
                                                        ms_text_fn describe, void *argument)
{
    char text[MS_DESCRIBED_B];
    int error = errno;
    size_t length_b = describe(argument, text, sizeof(text));
    errno = error;
    return length_b != 0 ? define_text(ctx, key, text, length_b, 0) : 0;
}

uint32_t ms_def_text_of(uintptr_t code, uint64_t what, ms_text_fn describe, void *argument)
{
    struct ms_ctx *ctx = ms_rec_context();
    if (MS_UNLIKELY(ctx == NULL || definitions(ctx) == NULL)) {
        return 0;
    }
    struct ms_def_key key = {.hash = MS_R_DEF_TEXT + ((uint64_t)MS_R_DEF_CODE << 8)};
    key_add(&key, code != 0 ? code_identity(code) : 0);
    key_add(&key, what);
    key = key_end(key);
    uint32_t id = find(ctx->definitions, &key);
    return MS_LIKELY(id != 0) ? id : describe_text(ctx, &key, describe, argument);
}

void ms_def_forget_code(uintptr_t code)
{
    __atomic_fetch_add(code_salt(code), 1, __ATOMIC_RELAXED);
}
