/* See stack_memo.h. */
#include "agent/glibc_floor.h"
#include "agent/stack_memo.h"

#if defined(__x86_64__)

/* As libunwind numbers and lays them out, in all versions of its interface. */
enum { RBP = 6, RSP = 7, RIP = 16, IN_MEMORY = 1, CURSOR_WORDS = 127 };
struct place {
    int kind;
    uintptr_t address;
    char more[16];
};

struct frame {
    uintptr_t ip, sp, bp, bp_at; /* bp_at: where the frame pointer's value lies, 0: unknown */
};

static bool look(const struct ms_memo_unwinder *u, void *cursor, struct frame *out)
{
    struct place place = {0};
    if (u->get_register(cursor, RIP, &out->ip) != 0 || u->get_register(cursor, RSP, &out->sp) != 0 ||
        u->get_register(cursor, RBP, &out->bp) != 0) {
        return false;
    }
    out->bp_at = u->get_place(cursor, RBP, &place) == 0 && place.kind == IN_MEMORY ? place.address : 0;
    return true;
}

static bool add(struct ms_memo_stack *stack, uintptr_t begin, uintptr_t address, uintptr_t value)
{
    intptr_t off = (intptr_t)(address - begin);
    if (stack->checks == MS_MEMO_CHECKS || off < INT32_MIN || off > INT32_MAX) {
        return false;
    }
    stack->at[stack->checks] = (int32_t)off;
    stack->value[stack->checks++] = value;
    return true;
}

/* A frame that may be found through its frame pointer: that must have the value it has now. inner: the stack pointer of
 * the function that compares; what was saved below it is still in the register there. */
static bool add_frame_pointer(struct ms_memo_stack *stack, uintptr_t begin, uintptr_t inner, const struct frame *frame,
                              uintptr_t cfa)
{
    if (frame->bp < frame->sp || frame->bp > cfa) {
        return true; /* points elsewhere: a general register */
    }
    if (frame->bp_at >= inner && frame->bp_at < frame->sp) {
        return add(stack, begin, frame->bp_at, frame->bp);
    }
    stack->has_rbp = true;
    stack->rbp = frame->bp;
    return true;
}

/* False: it is not what the other walk found, or has something that we do not understand. */
static __attribute__((noinline, no_sanitize("address", "thread", "undefined"))) bool walk(
    struct ms_memo *memo, const struct ms_memo_unwinder *u, uintptr_t begin, const uintptr_t *pcs, uint32_t count,
    struct ms_memo_stack *stack)
{
    enum { OURS_MAX = 8 };
    void *cursor = memo->work, *context = memo->work + CURSOR_WORDS + 1;
    struct frame frame, next;
    uintptr_t inner = 0;
    if (u->get_context(context) != 0 || u->init(cursor, context) != 0 || !look(u, cursor, &frame)) {
        return false;
    }
    stack->checks = 0;
    stack->has_rbp = false;
    for (uint32_t i = 0, ours = 0; i < count; frame = next) {
        if (u->step(cursor) <= 0 || !look(u, cursor, &next)) {
            return false;
        }
        uintptr_t cfa = next.sp;
        if (inner == 0 && cfa != begin) { /* frames between the function that compares and here */
            if (++ours > OURS_MAX) {
                return false;
            }
            continue;
        }
        bool known = inner == 0; /* the frame of that function itself begins where it is said to begin */
        inner = known ? frame.sp : inner;
        if (cfa <= frame.sp || *(const uintptr_t *)(cfa - sizeof(uintptr_t)) != next.ip || next.ip != pcs[i++] ||
            !(known || add_frame_pointer(stack, begin, inner, &frame, cfa)) ||
            !add(stack, begin, cfa - sizeof(uintptr_t), next.ip)) {
            return false;
        }
    }
    return true;
}

void ms_memo_enter(struct ms_memo *memo, const struct ms_memo_unwinder *unwinder, uintptr_t begin, uintptr_t caller,
                   uint32_t depth, const uintptr_t *pcs, uint32_t count, const struct ms_def_key *key)
{
    enum { FREE = 256, PER_HITS = 64 }; /* a slow walk costs as much as so many hits save */
    if (unwinder->step == NULL || memo->entered >= FREE + memo->hits / PER_HITS) {
        return;
    }
    memo->entered++;
    uint32_t set = ms_memo_set(begin, caller), way = memo->oldest[set]++ % MS_MEMO_WAYS;
    struct ms_memo_stack *stack = &memo->stacks[set][way];
    memo->names[set][way].begin = 0;
    if (walk(memo, unwinder, begin, pcs, count, stack)) {
        stack->key = *key;
        stack->depth = depth;
        memo->names[set][way].caller = caller;
        memo->names[set][way].begin = begin;
    }
}

#else

void ms_memo_enter(struct ms_memo *memo, const struct ms_memo_unwinder *unwinder, uintptr_t begin, uintptr_t caller,
                   uint32_t depth, const uintptr_t *pcs, uint32_t count, const struct ms_def_key *key)
{
    (void)memo, (void)unwinder, (void)begin, (void)caller, (void)depth, (void)pcs, (void)count, (void)key;
}

#endif
