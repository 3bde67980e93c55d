/* SPDX-License-Identifier: Apache-2.0 */
/* C stacks: by the unwind tables (unwind.h), by frame pointers on request (stack_fp.h); recognised without a walk if
 * seen before (stack_memo.h). Addresses are looked up only when their stack is seen for the first time. */
#include "agent/glibc_floor.h"
#include "agent/stacks.h"

#include "agent/loaded.h"
#include "agent/stack_fp.h"
#include "agent/stack_memo.h"

/* Per thread, in its scratch memory. */
struct walks {
    struct ms_memo memo;
    struct ms_unwind_thread thread;
};
_Static_assert(sizeof(struct walks) <= MS_SCRATCH_MORE_B, "must fit into a thread's scratch memory");

enum { OURS = 2 }; /* frames before the caller of the hook: ms_stacks_take, the hook */

static uint32_t by_pointers MS_EARLY;      /* atomic: frame pointers are requested and have not been found wrong */
static uint32_t pointers_checked MS_EARLY; /* atomic: distinct stacks compared so far */

void ms_stack_c_load(bool wanted, bool frame_pointers)
{
    if (__atomic_load_n(&pointers_checked, __ATOMIC_RELAXED) == 0 || !frame_pointers) {
        __atomic_store_n(&by_pointers, frame_pointers, __ATOMIC_RELAXED);
    }
    ms_loaded_setup(wanted);
}

/* Number of frames above ours, at most depth; 0 also if the hook is not where it must be. */
static uint32_t beyond_ours(const uintptr_t *pcs, uint32_t got, uintptr_t hook, uint32_t depth)
{
    uint32_t count = got > OURS && pcs[OURS - 1] == hook ? got - OURS : 0;
    return count < depth ? count : depth;
}

static uint32_t with_ours(uint32_t depth)
{
    return depth + OURS < MS_FRAMES_MAX ? depth + OURS : MS_FRAMES_MAX;
}

/* Walks the stack, defines it, and caches it if it recurs. */
static __attribute__((noinline)) uint32_t walk(struct ms_scratch *scratch, const struct ms_unwind_start *start,
                                               uintptr_t hook, uintptr_t caller, uint32_t depth)
{
    struct walks *walks = (void *)scratch->more;
    uint32_t got = ms_unwind(&walks->thread, start, scratch->pcs, with_ours(depth));
    uint32_t count = beyond_ours(scratch->pcs, got, hook, depth);
    if (count == 0) {
        return 0;
    }
    struct ms_def_key key;
    bool again;
    uint32_t id = ms_def_c_stack(scratch->pcs + OURS, count, 0, ms_loaded_module, &key, &again);
    struct ms_memo_stack *slot = again ? ms_memo_slot(&walks->memo, start->sp, caller) : NULL;
    if (slot != NULL) {
        ms_unwind_noted(&walks->thread, start, scratch->pcs, with_ours(depth), &slot->notes);
        slot->key = key;
        slot->depth = depth;
        if (!slot->notes.full) {
            ms_memo_enter(&walks->memo, slot, start->sp, caller);
        }
    }
    return id;
}

/* ---- by frame pointers ---- */

/* A new stack: does it match the unwind tables? */
static __attribute__((noinline)) bool matches_tables(struct ms_scratch *scratch, const struct ms_unwind_start *start,
                                                     uint32_t count, uint32_t depth, uintptr_t hook)
{
    enum { CHECKED = 100 };
    if (__atomic_load_n(&pointers_checked, __ATOMIC_RELAXED) >= CHECKED) {
        return true;
    }
    __atomic_fetch_add(&pointers_checked, 1, __ATOMIC_RELAXED);
    struct walks *walks = (void *)scratch->more;
    uintptr_t *tables = (uintptr_t *)(void *)scratch->py;
    uint32_t got = ms_unwind(&walks->thread, start, tables, with_ours(depth));
    uint32_t table_count = beyond_ours(tables, got, hook, depth);
    return table_count > 0 && ms_fp_agrees(scratch->pcs + OURS, count, tables + OURS, table_count, table_count < depth);
}

/* 0: frame pointers are not usable here. */
static uint32_t take_by_pointers(struct ms_scratch *scratch, const struct ms_unwind_start *start, uintptr_t frame,
                                 uintptr_t hook, uint32_t depth)
{
    struct walks *walks = (void *)scratch->more;
    uint32_t got = ms_fp_walk(&walks->thread.range, frame, scratch->pcs, with_ours(depth));
    uint32_t count = beyond_ours(scratch->pcs, got, hook, depth);
    bool again = false;
    uint32_t id = count > 0 ? ms_def_c_stack(scratch->pcs + OURS, count, 0, ms_loaded_module, NULL, &again) : 0;
    if (MS_LIKELY(again) || (id != 0 && matches_tables(scratch, start, count, depth, hook))) {
        return id;
    }
    if (__atomic_exchange_n(&by_pointers, 0, __ATOMIC_RELAXED) != 0) {
        ms_agent_log(
            "--call-stack=c:fp: the frame pointers of this program are not reliable; using unwind tables instead");
    }
    return 0;
}

/* ---- both ---- */

__attribute__((noinline)) uint32_t ms_stack_c_take(uintptr_t hook, uintptr_t caller, uint32_t depth)
{
    struct ms_scratch *scratch = ms_def_scratch();
    if (MS_UNLIKELY(scratch == NULL)) {
        return 0;
    }
    const uintptr_t *frame = __builtin_frame_address(0);
    struct ms_unwind_start start = {
        .pc = (uintptr_t)__builtin_return_address(0), .sp = (uintptr_t)__builtin_dwarf_cfa(), .fp = frame[0]};
    if (MS_UNLIKELY(__atomic_load_n(&by_pointers, __ATOMIC_RELAXED) != 0)) {
        uint32_t id = take_by_pointers(scratch, &start, (uintptr_t)frame, hook, depth);
        if (id != 0) {
            return id;
        }
    }
    struct ms_memo *memo = &((struct walks *)(void *)scratch->more)->memo;
    uint32_t epoch = ms_def_modules_epoch();
    if (MS_UNLIKELY(memo->epoch != epoch)) {
        memset(memo->names, 0, sizeof(memo->names));
        memo->epoch = epoch;
    }
    const struct ms_def_key *key = ms_memo_find(memo, &start, caller, depth);
    uint32_t id = key != NULL ? ms_def_known(key) : 0;
    return MS_LIKELY(id != 0) ? id : walk(scratch, &start, hook, caller, depth);
}
