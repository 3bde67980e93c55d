/* SPDX-License-Identifier: Apache-2.0 */
/* See unwind.h. One table of rules serves all threads. An entry is two words that are written without a lock: the rule,
 * and the address combined with it, so that halves of two entries are never taken for one. */
#include "agent/glibc_floor.h"
#include "agent/unwind.h"

#include "agent/loaded.h"
#include "agent/unwind_table.h"

#include <string.h>

/* Reads the stack whatever a sanitizer thinks of it; so does everything inlined there. */
#define UNCHECKED __attribute__((no_sanitize("address", "thread", "undefined")))
#define WALKING   static inline __attribute__((always_inline)) UNCHECKED

static struct {
    uint64_t rule, check;
} rules[MS_UNWIND_RULES];

union rule_word {
    struct ms_unwind_rule rule;
    uint64_t word;
};

static __attribute__((noinline)) struct ms_unwind_rule look(uintptr_t pc, uint64_t key, unsigned at)
{
    union rule_word found = {.rule = ms_unwind_table_look(ms_loaded_unwind_table(pc - 1), pc)};
    __atomic_store_n(&rules[at].rule, found.word, __ATOMIC_RELAXED);
    __atomic_store_n(&rules[at].check, found.word ^ key, __ATOMIC_RELAXED);
    return found.rule;
}

WALKING bool rule_at(unsigned at, uint64_t key, struct ms_unwind_rule *out)
{
    union rule_word known = {.word = __atomic_load_n(&rules[at].rule, __ATOMIC_RELAXED)};
    *out = known.rule;
    return (__atomic_load_n(&rules[at].check, __ATOMIC_RELAXED) ^ known.word) == key && known.rule.known;
}

/* *at: the entry of the previous frame, then of this one. The caller is usually the same as last time, and its rule is
 * available before the return address is: the processor proceeds with it and compares later. epoch: of loaded modules;
 * entries of another epoch are not found. */
WALKING struct ms_unwind_rule rule_of(uintptr_t pc, uint64_t epoch, uint16_t *callers, unsigned *at)
{
    struct ms_unwind_rule rule;
    uint64_t key = pc ^ epoch << 48;
    unsigned guess = callers[*at] % MS_UNWIND_RULES;
    if (MS_LIKELY(rule_at(guess, key, &rule))) {
        *at = guess;
        return rule;
    }
    unsigned place = (unsigned)(pc * 0x9e3779b97f4a7c15u >> (64 - MS_UNWIND_RULE_BITS));
    callers[*at] = (uint16_t)place;
    *at = place;
    return rule_at(place, key, &rule) ? rule : look(pc, key, place);
}

/* Return addresses may be signed on aarch64. */
WALKING uintptr_t plain_address(uintptr_t pc)
{
#if defined(__aarch64__)
    register uintptr_t x30 __asm__("x30") = pc;
    __asm__("hint 7" : "+r"(x30)); /* xpaclri; a no-op on processors without it */
    return x30;
#else
    return pc;
#endif
}

WALKING void note(struct ms_unwind_notes *notes, uintptr_t begin, uintptr_t address, uintptr_t value)
{
    intptr_t off = (intptr_t)(address - begin);
    if (notes->count == MS_UNWIND_NOTES || off < INT32_MIN || off > INT32_MAX) {
        notes->full = true;
        return;
    }
    notes->at[notes->count] = (int32_t)off;
    notes->value[notes->count++] = value;
}

struct unwind_walk {
    struct ms_unwind_thread *thread;
    struct ms_unwind_notes *notes; /* NULL: not recorded */
    uintptr_t begin;
    uintptr_t fp_at; /* where the frame pointer's value was read; 0: still the initial one */
};

WALKING bool load(const struct unwind_walk *w, uintptr_t address, uintptr_t *value)
{
    if (MS_UNLIKELY(!ms_stack_readable(&w->thread->range, address, sizeof(*value)) || address % sizeof(*value) != 0)) {
        return false;
    }
    *value = *(const volatile uintptr_t *)address;
    return true;
}

WALKING uintptr_t place(enum ms_unwind_base base, int64_t off, uintptr_t cfa, const struct ms_unwind_start *f)
{
    return (base == MS_UNWIND_CFA ? cfa : base == MS_UNWIND_SP ? f->sp : f->fp) + (uintptr_t)off * 8;
}

/* One frame further, by any rule. */
static __attribute__((noinline)) UNCHECKED bool step(struct unwind_walk *w, struct ms_unwind_rule rule,
                                                     struct ms_unwind_start *f)
{
    uintptr_t cfa = (rule.cfa_base == MS_UNWIND_FP ? f->fp : f->sp) + (uintptr_t)(int64_t)rule.cfa_off_b, at = cfa;
    if (rule.last || (rule.cfa_load && !load(w, at, &cfa)) || cfa <= f->sp) {
        return false;
    }
    if (w->notes != NULL && rule.uses_fp && w->fp_at == 0) {
        w->notes->has_fp = true;
        w->notes->fp = f->fp;
    } else if (w->notes != NULL && rule.uses_fp) {
        note(w->notes, w->begin, w->fp_at, f->fp);
    }
    if (w->notes != NULL && rule.cfa_load) {
        note(w->notes, w->begin, at, cfa);
    }
    uintptr_t pc_at = place(rule.pc_base, rule.pc_off, cfa, f), pc, fp = f->fp;
    if (!load(w, pc_at, &pc)) {
        return false;
    }
    if (w->notes != NULL) {
        note(w->notes, w->begin, pc_at, pc);
    }
    if (rule.fp_base != MS_UNWIND_KEPT) {
        w->fp_at = place(rule.fp_base, rule.fp_off, cfa, f);
        if (!load(w, w->fp_at, &fp)) {
            return false;
        }
    }
    *f = (struct ms_unwind_start){.pc = plain_address(pc), .sp = cfa, .fp = fp};
    return true;
}

/* The same by a plain rule, without notes. False: use step(). */
WALKING bool step_plainly(struct ms_stack_range range, struct ms_unwind_rule rule, struct ms_unwind_start *f)
{
    uintptr_t cfa = (rule.cfa_base == MS_UNWIND_FP ? f->fp : f->sp) + (uintptr_t)(int64_t)rule.cfa_off_b;
    /* Everything is between the current position and the new frame. */
    if (MS_UNLIKELY(!rule.plain || cfa <= f->sp || cfa > range.high || f->sp < range.low || cfa % 8 != 0)) {
        return false;
    }
    if (rule.fp_base != MS_UNWIND_KEPT) {
        uintptr_t fp_at = cfa + (uintptr_t)(int64_t)rule.fp_off * 8;
        if (MS_UNLIKELY(fp_at < f->sp)) {
            return false;
        }
        f->fp = *(const volatile uintptr_t *)fp_at;
    }
    f->pc = plain_address(*(const volatile uintptr_t *)(cfa - 8));
    f->sp = cfa;
    return true;
}

WALKING uint32_t go(struct ms_unwind_thread *thread, const struct ms_unwind_start *start, uintptr_t *pcs, uint32_t max,
                    struct ms_unwind_notes *notes)
{
    struct unwind_walk w = {.thread = thread, .notes = notes, .begin = start->sp};
    struct ms_unwind_start f = *start;
    struct ms_stack_range range = thread->range;
    uint64_t epoch = ms_def_modules_epoch();
    uint32_t count = 0;
    unsigned at = 0;
    bool interrupted = false; /* the frame was interrupted: its pc is an instruction, not the address after a call */
    while (count < max && f.pc != 0) {
        pcs[count++] = f.pc;
        struct ms_unwind_rule rule = rule_of(f.pc + interrupted, epoch, thread->callers, &at);
        interrupted = rule.interrupted;
        if (notes == NULL && MS_LIKELY(step_plainly(range, rule, &f))) {
            continue;
        }
        struct ms_unwind_start slow = f; /* f itself stays in registers */
        if (!step(&w, rule, &slow)) {
            break;
        }
        f = slow;
        range = thread->range;
    }
    return count;
}

UNCHECKED uint32_t ms_unwind(struct ms_unwind_thread *thread, const struct ms_unwind_start *start, uintptr_t *pcs,
                             uint32_t max)
{
    return go(thread, start, pcs, max, NULL);
}

UNCHECKED uint32_t ms_unwind_noted(struct ms_unwind_thread *thread, const struct ms_unwind_start *start, uintptr_t *pcs,
                                   uint32_t max, struct ms_unwind_notes *notes)
{
    notes->count = 0;
    notes->full = notes->has_fp = false;
    return go(thread, start, pcs, max, notes);
}
