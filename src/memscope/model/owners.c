/* SPDX-License-Identifier: Apache-2.0 */
/* Owners: what a block belongs to, as labels of eight levels.
 *
 * Level 0 is the source of the memory (CANN@RUNTIME, PTA, ATB ...), 1 component, 2 process, 3 its use in a model
 * (weight, gradient, optimizer_state, activation), 4 a detail of that (lora, attn ...) or "ops" once an operator has
 * used it, 5 to 7 the user's. Threads carry labels of levels 1 to 7 for their allocations; labels by address come
 * later and replace them. Shown as
 *
 *     source [@model@<3> | @ops@aten] [@<1>] [@<2>] [@<4>] [@<5>] [@<6>] [@<7>]
 *
 * A set of labels is interned like a text, so a block carries one number, and the text is built once. */
#include "memscope/model/model_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { SOURCE = 0, COMPONENT = 1, PROCESS = 2, DETAIL = 3, OPS = 4 };

/* ---- threads ---- */

struct ms_thread_state *ms__thread(struct ms_model *model, uint32_t tid, bool make)
{
    uint64_t *index = ms_map_get(&model->thread_of_tid, tid);
    if (index != NULL) {
        return &model->threads[*index];
    }
    if (!make) {
        return NULL;
    }
    if (model->thread_count == model->thread_room) {
        uint32_t room = model->thread_room != 0 ? model->thread_room * 2 : 16;
        struct ms_thread_state *threads = realloc(model->threads, room * sizeof(*threads));
        if (threads == NULL) {
            return NULL;
        }
        model->threads = threads;
        model->thread_room = room;
    }
    if (ms_map_put(&model->thread_of_tid, tid, model->thread_count) == NULL) {
        return NULL;
    }
    struct ms_thread_state *thread = &model->threads[model->thread_count++];
    memset(thread, 0, sizeof(*thread));
    thread->tid = tid;
    return thread;
}

uint32_t ms__running_op(struct ms_model *model, uint32_t tid)
{
    const struct ms_thread_state *thread = model->thread_count != 0 ? ms__thread(model, tid, false) : NULL;
    if (thread == NULL || thread->op_depth == 0) {
        return 0;
    }
    return thread->ops[(thread->op_depth < MS_OP_DEPTH ? thread->op_depth : MS_OP_DEPTH) - 1];
}

static void push(struct ms_thread_state *thread, unsigned level, uint32_t label)
{
    if (level >= MS_LABEL_USER) {
        if (thread->user_depth < MS_LABEL_DEPTH) {
            thread->user[thread->user_depth++] = label;
            thread->label_total++;
        }
        return;
    }
    for (unsigned i = 0; i < thread->depth[level]; i++) {
        if (thread->labels[level][i] == label) {
            thread->label_counts[level][i]++;
            return;
        }
    }
    if (thread->depth[level] < MS_LABEL_DEPTH) {
        unsigned at = thread->depth[level]++;
        thread->labels[level][at] = label;
        thread->label_counts[level][at] = 1;
        thread->label_total++;
    }
}

static bool pop(struct ms_thread_state *thread, unsigned level, uint32_t label)
{
    uint32_t *labels = level >= MS_LABEL_USER ? thread->user : thread->labels[level];
    uint32_t *label_counts = level >= MS_LABEL_USER ? NULL : thread->label_counts[level];
    uint8_t *depth = level >= MS_LABEL_USER ? &thread->user_depth : &thread->depth[level];
    for (unsigned i = *depth; i-- > 0;) {
        if (labels[i] != label) {
            continue;
        }
        if (label_counts != NULL && --label_counts[i] != 0) {
            return true;
        }
        for (unsigned j = i; j + 1 < *depth; j++) {
            labels[j] = labels[j + 1];
            if (label_counts != NULL) {
                label_counts[j] = label_counts[j + 1];
            }
        }
        (*depth)--;
        thread->label_total--;
        return true;
    }
    return false;
}

/* ---- sets of labels and their text ---- */

struct label_set {
    uint32_t slots[MS_LABEL_LEVELS];
};

static size_t append(char *out, size_t at, size_t room, const char *s, size_t length_b)
{
    size_t fits = room - at < length_b ? room - at : length_b;
    memcpy(out + at, s, fits);
    return at + fits;
}

static bool is_word(const char *s, size_t length_b, const char *word)
{
    return strlen(word) == length_b && memcmp(s, word, length_b) == 0;
}

/* Appends a label; characters that would break a line or a terminal are escaped. */
static size_t append_label(char *out, size_t at, size_t room, struct ms_intern_text label)
{
    static const char controls[] = "\n\f\r\b\t\v\x7f";
    static const char *const escapes[] = {"\\n", "\\f", "\\r", "\\b", "\\t", "\\v", "\\x7f"};
    for (uint32_t i = 0; i < label.length_b; i++) {
        const char *found = label.s[i] != '\0' ? strchr(controls, label.s[i]) : NULL;
        const char *s = found != NULL ? escapes[found - controls] : &label.s[i];
        at = append(out, at, room, s, found != NULL ? strlen(s) : 1);
    }
    return at;
}

static uint32_t text_of_set(struct ms_model *model, const struct label_set *set)
{
    char text[2048];
    size_t at = 0;
    struct ms_intern_text part = ms_intern_get(&model->texts, set->slots[SOURCE]);
    at = append(text, at, sizeof(text), part.s, part.length_b);
    if (set->slots[DETAIL] != 0) {
        part = ms_intern_get(&model->texts, set->slots[DETAIL]);
        at = append(text, at, sizeof(text), "@model@", 7);
        at = append_label(text, at, sizeof(text), part);
    }
    part = ms_intern_get(&model->texts, set->slots[OPS]);
    bool ops = is_word(part.s, part.length_b, "ops");
    if (set->slots[DETAIL] == 0 && ops) {
        at = append(text, at, sizeof(text), "@ops@aten", 9);
    }
    static const uint8_t rest[] = {COMPONENT, PROCESS, OPS, 5, 6, 7};
    for (unsigned i = 0; i < sizeof(rest); i++) {
        part = ms_intern_get(&model->texts, set->slots[rest[i]]);
        if (part.length_b != 0 && !(rest[i] == OPS && ops)) {
            at = append(text, at, sizeof(text), "@", 1);
            at = append_label(text, at, sizeof(text), part);
        }
    }
    return ms_intern(&model->texts, text, at);
}

static uint32_t intern_set(struct ms_model *model, const struct label_set *set)
{
    uint32_t known = model->owner_sets.count;
    uint32_t id = ms_intern(&model->owner_sets, (const char *)set, sizeof(*set));
    if (id <= known) {
        return id;
    }
    if (id >= model->owner_room) {
        uint32_t room = model->owner_room != 0 ? model->owner_room * 2 : 64;
        uint32_t *texts = realloc(model->owner_texts, room * sizeof(*texts));
        if (texts == NULL) {
            return 0;
        }
        model->owner_texts = texts;
        model->owner_room = room;
    }
    model->owner_texts[id] = text_of_set(model, set);
    return id;
}

bool ms__owners_restore(struct ms_model *model, const uint32_t slots[MS_LABEL_LEVELS])
{
    struct label_set set;
    memcpy(set.slots, slots, sizeof(set.slots));
    return intern_set(model, &set) != 0;
}

struct ms_text ms_model_text(const struct ms_model *model, uint32_t id)
{
    struct ms_intern_text text = ms_intern_get(&model->texts, id);
    return (struct ms_text){.s = text.s, .length_b = text.length_b, .id = id};
}

struct ms_text ms_model_op(struct ms_model *model, uint32_t tid)
{
    return ms_model_text(model, ms__running_op(model, tid));
}

struct ms_text ms_model_owner(const struct ms_model *model, uint32_t id)
{
    if (id == 0 || id > model->owner_sets.count) {
        return (struct ms_text){.s = ""};
    }
    struct ms_text text = ms_model_text(model, model->owner_texts[id]);
    text.id = id;
    return text;
}

static struct label_set get_set(const struct ms_model *model, uint32_t id)
{
    struct label_set set = {{0}};
    struct ms_intern_text bytes = ms_intern_get(&model->owner_sets, id);
    if (bytes.length_b == sizeof(set)) {
        memcpy(&set, bytes.s, sizeof(set));
    }
    return set;
}

/* ---- sources ---- */

static uint32_t source_of(struct ms_model *model, const struct ms_block *block)
{
    char text[64];
    size_t at = 0;
    if (block->type == MS_TYPE_HAL) {
        const char *module = ms_module_name(block->module_id);
        at = append(text, at, sizeof(text), "CANN@", 5);
        at = append(text, at, sizeof(text), module, strlen(module));
    } else if (block->type == MS_TYPE_HOST_PINNED) {
        return 0; /* host memory is not decomposed, except CPU tensors */
    } else {
        const char *type = ms_type_name(block->type);
        at = append(text, at, sizeof(text), type, strlen(type));
    }
    return ms_intern(&model->texts, text, at);
}

uint32_t ms__owner_at_malloc(struct ms_model *model, const struct ms_block *block)
{
    const struct ms_thread_state *thread = NULL;
    if (model->thread_count != 0) {
        thread = ms__thread(model, block->tid, false);
    }
    bool labels = thread != NULL && thread->label_total != 0;
    if (!labels && (model->options.analysis & MS_ANALYSIS_DECOMPOSE) == 0) {
        return 0;
    }
    uint32_t *plain = &model->plain_owners[block->space][block->module_id];
    if (!labels && *plain != 0 && block->type != MS_TYPE_HOST_PINNED) {
        return *plain;
    }
    struct label_set set = {{source_of(model, block)}};
    if (set.slots[SOURCE] == 0) {
        return 0;
    }
    if (!labels) {
        return *plain = intern_set(model, &set);
    }
    for (unsigned level = 1; level < MS_LABEL_USER; level++) {
        if (thread->depth[level] != 0) {
            set.slots[level] = thread->labels[level][thread->depth[level] - 1];
        }
    }
    memcpy(&set.slots[MS_LABEL_USER], thread->user, thread->user_depth * sizeof(thread->user[0]));
    return intern_set(model, &set);
}

/* The labels in an owner's text, as any generation of dumps writes it: PTA@model@weight@x, PTA@ops@aten@x, but also
 * PTA@fsdp2@weight@ops@x. The text does not say which of the remaining words are component, process or the user's;
 * their order is kept, so the text is reproduced. */
uint32_t ms__owner_given(struct ms_model *model, struct ms_text text)
{
    static const char *const details[] = {"weight", "gradient", "optimizer_state", "activation"};
    static const uint8_t rest[] = {COMPONENT, PROCESS, 5, 6, 7};
    struct label_set set = {{0}};
    const char *at = text.s, *end = text.s + text.length_b;
    bool cann = text.length_b > 5 && memcmp(text.s, "CANN@", 5) == 0; /* its module is part of the source */
    unsigned used = 0;
    bool model_word = false;
    for (bool first = true; at < end; first = false) {
        const char *from = first && cann ? at + 5 : at;
        const char *next = memchr(from, '@', (size_t)(end - from));
        const char *word_end = next != NULL ? next : end;
        size_t length_b = (size_t)(word_end - at);
        bool detail = model_word;
        for (unsigned i = 0; i < sizeof(details) / sizeof(details[0]); i++) {
            detail = detail || is_word(at, length_b, details[i]);
        }
        uint32_t word = ms_intern(&model->texts, at, length_b);
        if (first) {
            set.slots[SOURCE] = word;
        } else if (!model_word && is_word(at, length_b, "model")) {
            model_word = true;
        } else if (detail && set.slots[DETAIL] == 0) {
            set.slots[DETAIL] = word;
            model_word = false;
        } else if (is_word(at, length_b, "ops")) {
            set.slots[OPS] = word;
        } else if (used < sizeof(rest) && !(is_word(at, length_b, "aten") && set.slots[OPS] != 0)) {
            set.slots[rest[used++]] = word;
        }
        at = next != NULL ? next + 1 : end;
    }
    return set.slots[SOURCE] != 0 ? intern_set(model, &set) : 0;
}

/* ---- changes after the MALLOC ---- */

static void change(struct ms_model *model, struct ms_block *block, const struct label_set *set)
{
    uint32_t owner = intern_set(model, set);
    if (owner == 0 || owner == block->owner) {
        return;
    }
    block->owner = owner;
    if (block->state == MS_BLOCK_LIVE) {
        MS__CALL(model, on_late, MS__SELF, block);
    }
}

void ms__owner_set(struct ms_model *model, struct ms_block *block, unsigned level, uint32_t label)
{
    struct label_set set = get_set(model, block->owner);
    if (set.slots[SOURCE] == 0) {
        set.slots[SOURCE] = source_of(model, block);
    }
    set.slots[level] = label;
    change(model, block, &set);
}

/* The first access by an operator; any label takes precedence. */
void ms__owner_accessed(struct ms_model *model, struct ms_block *block)
{
    bool tensor = block->type == MS_TYPE_PTA || block->type == MS_TYPE_HOST;
    if ((model->options.analysis & MS_ANALYSIS_DECOMPOSE) == 0 || !tensor || block->accesses != 1) {
        return;
    }
    struct label_set set = get_set(model, block->owner);
    if (set.slots[OPS] == 0) {
        ms__owner_set(model, block, OPS, ms_intern(&model->texts, "ops", 3));
    }
}

int ms__label_event(struct ms_model *model, const struct ms_event *event)
{
    unsigned level = event->value < MS_LABEL_LEVELS ? (unsigned)event->value : MS_LABEL_LEVELS - 1;
    uint32_t label = ms_intern(&model->texts, event->text.s, event->text.length_b);
    if (event->kind == MS_R_ADDR_LABEL) {
        uint32_t number = ms__blocks_containing(&model->blocks, MS_SPACE_PTA, event->device, event->addr);
        if (number == 0) {
            number = ms__blocks_containing(&model->blocks, MS_SPACE_HOST, MS_DEV_CPU, event->addr);
        }
        if (number != 0 && label != 0 && level != SOURCE) {
            ms__owner_set(model, ms__block(&model->blocks, number), level, label);
        }
        return 0;
    }
    struct ms_thread_state *thread = ms__thread(model, event->tid, event->kind == MS_R_LABEL_PUSH);
    if (thread == NULL || label == 0 || level == SOURCE) {
        return 0;
    }
    if (event->kind == MS_R_LABEL_PUSH) {
        push(thread, level, label);
    } else if (!pop(thread, level, label)) {
        ms__note(model, 3, "label '%.*s' is not set", (int)event->text.length_b, event->text.s);
    }
    return 0;
}
