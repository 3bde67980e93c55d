/* SPDX-License-Identifier: Apache-2.0 */
/* The ledger's second half: operators, and how they use blocks. A block can be freed only after the operator that used
 * it last has ended; so `last_to` is updated when that operator ends. */
#include "memscope/analyze/report/ledger.h"

#include "base/macros.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- operators ---- */

const struct ms_open_op *ms_ledger_op(struct ms_ledger *ledger, uint32_t tid)
{
    const uint64_t *known = ms_map_get(&ledger->thread_of, tid);
    struct ms_ledger_thread *thread = known != NULL ? ledger->threads[*known] : NULL;
    if (thread == NULL || thread->depth == 0) {
        return NULL;
    }
    return &thread->ops[(thread->depth < MS_OPS_OPEN ? thread->depth : MS_OPS_OPEN) - 1];
}

void ms_ledger_op_begin(struct ms_ledger *ledger, const struct ms_row *row)
{
    struct ms_ledger_thread *thread = ms_ledger_thread(ledger, row->tid);
    uint32_t device_at = 0;
    struct ms_ledger_device *device = ms_ledger_device(ledger, row->device, &device_at);
    ms_inefficient_op(&ledger->inefficient, row->type);
    if (thread == NULL || device == NULL) {
        return;
    }
    ledger->op_count++;
    if (thread->depth < MS_OPS_OPEN) {
        thread->ops[thread->depth] = (struct ms_open_op){
            .name = ms_intern(&ledger->ops, row->name.s, row->name.length_b),
            .device_at = device_at,
            .number = ledger->op_count,
            .start_now = device->now,
            .start_b = device->used_b,
            .most_b = device->used_b,
            .touched_from = thread->touched_count,
        };
    }
    thread->depth++;
}

const struct ms_open_op *ms_ledger_op_end(struct ms_ledger *ledger, const struct ms_row *row)
{
    const uint64_t *known = ms_map_get(&ledger->thread_of, row->tid);
    struct ms_ledger_thread *thread = known != NULL ? ledger->threads[*known] : NULL;
    ms_inefficient_op(&ledger->inefficient, row->type);
    if (thread == NULL || thread->depth == 0 || --thread->depth >= MS_OPS_OPEN) {
        return NULL;
    }
    struct ms_open_op *op = &thread->ops[thread->depth];
    for (size_t i = op->touched_from; i < thread->touched_count; i++) {
        struct ms_ledger_entry *entry = ms_ledger_at(ledger, thread->touched[i]);
        if (entry->alive && entry->use.op_number >= op->number) {
            entry->use.last_to = ledger->devices[entry->device_at]->now;
        }
    }
    if (thread->depth != 0) { /* accesses of a nested operator count for the enclosing one, too */
        struct ms_open_op *outer = &thread->ops[thread->depth - 1];
        outer->most_b = op->most_b > outer->most_b ? op->most_b : outer->most_b;
        outer->allocations += op->allocations;
        outer->allocated_b += op->allocated_b;
    } else {
        thread->touched_count = 0;
    }
    return op;
}

static void touch(struct ms_ledger *ledger, struct ms_ledger_thread *thread, uint32_t number)
{
    if (thread->touched_count == thread->touched_room) {
        size_t room = thread->touched_room != 0 ? thread->touched_room * 2 : 64;
        uint32_t *touched = realloc(thread->touched, room * sizeof(*touched));
        if (touched == NULL) {
            ledger->error = -ENOMEM;
            return;
        }
        thread->touched = touched;
        thread->touched_room = room;
    }
    thread->touched[thread->touched_count++] = number;
}

/* ---- which part of a block is used ---- */

/* Adds [from, to) to the ranges. With more than four, the two closest are merged: untouched bytes may then count as
 * touched, never the reverse. */
static void add_range(struct ms_use *use, uint64_t from, uint64_t to)
{
    uint64_t ranges[5][2];
    unsigned count = 0;
    bool placed = false;
    for (unsigned i = 0; i < use->range_count; i++) {
        uint64_t *range = use->range[i];
        if (range[1] < from) {
            memcpy(ranges[count++], range, sizeof(ranges[0]));
        } else if (range[0] <= to) {
            from = range[0] < from ? range[0] : from;
            to = range[1] > to ? range[1] : to;
        } else {
            if (!placed) {
                ranges[count][0] = from;
                ranges[count++][1] = to;
                placed = true;
            }
            memcpy(ranges[count++], range, sizeof(ranges[0]));
        }
    }
    if (!placed) {
        ranges[count][0] = from;
        ranges[count++][1] = to;
    }
    if (count == MS_COUNT_OF(ranges)) {
        unsigned closest = 0;
        for (unsigned i = 1; i + 1 < count; i++) {
            if (ranges[i + 1][0] - ranges[i][1] < ranges[closest + 1][0] - ranges[closest][1]) {
                closest = i;
            }
        }
        ranges[closest][1] = ranges[closest + 1][1];
        memmove(ranges[closest + 1], ranges[closest + 2], (count - closest - 2) * sizeof(ranges[0]));
        count--;
    }
    memcpy(use->range, ranges, count * sizeof(ranges[0]));
    use->range_count = (uint8_t)count;
}

static uint64_t size_of(const struct ms_row *row)
{
    for (uint32_t i = 0; i < row->attr_count; i++) {
        if (row->attr[i].key == MS_ATTR_SIZE && row->attr[i].form == MS_FORM_NUMBER) {
            return row->attr[i].number;
        }
    }
    return 0;
}

struct moment_of_use {
    uint64_t number, start_now, now; /* of the operator; now: changes so far */
    uint32_t op;
};

/* An in-place operator ("index_copy_.default") modifies its target, unless it replaces all of it. */
static bool replaces(struct ms_text op)
{
    static const char *const whole[] = {"copy_", "fill_", "zero_", "normal_", "uniform_", "random_", "bernoulli_"};
    if (op.s == NULL) {
        return true;
    }
    const char *end = op.s + op.length_b;
    const char *dot = memrchr(op.s, '.', op.length_b);
    const char *from = dot != NULL && dot > op.s ? memrchr(op.s, '.', (size_t)(dot - op.s)) : NULL;
    from = from != NULL ? from + 1 : op.s;
    end = dot != NULL ? dot : end;
    if (end == from || end[-1] != '_') {
        return true;
    }
    for (size_t i = 0; i < MS_COUNT_OF(whole); i++) {
        if ((size_t)(end - from) == strlen(whole[i]) && memcmp(from, whole[i], (size_t)(end - from)) == 0) {
            return true;
        }
    }
    return false;
}

static void note_write(struct ms_use *use, unsigned type, struct ms_text op, const struct moment_of_use *at)
{
    if (type != MS_TYPE_WRITE || !replaces(op)) {
        use->unread = false;
        return;
    }
    if (use->unread && at->number != 0 && use->unread_op_number != at->number) {
        uint64_t to = at->start_now != 0 ? at->start_now - 1 : 0;
        if (to > use->unread_from && to - use->unread_from > use->dead_to - use->dead_from) {
            use->dead_from = use->unread_from;
            use->dead_to = to;
            use->dead_from_op = use->unread_op;
            use->dead_to_op = at->op;
        }
    }
    if (!use->unread || use->unread_op_number != at->number) {
        use->unread_from = at->now;
        use->unread_op = at->op;
    }
    use->unread = true;
    use->unread_op_number = at->number;
}

uint32_t ms_ledger_access(struct ms_ledger *ledger, const struct ms_row *row, unsigned *found)
{
    uint32_t number = ms_ledger_find(ledger, row->allocation_id);
    *found = 0;
    ledger->accesses++;
    if (number == 0) {
        return 0;
    }
    struct ms_ledger_entry *entry = ms_ledger_at(ledger, number);
    struct ms_use *use = &entry->use;
    const struct ms_ledger_device *device = ledger->devices[entry->device_at];
    const struct ms_open_op *op = ms_ledger_op(ledger, row->tid);
    bool same_device = op != NULL && op->device_at == entry->device_at;
    struct moment_of_use at = {
        .number = op != NULL ? op->number : 0,
        .start_now = same_device ? op->start_now : device->now,
        .now = device->now,
        .op = op != NULL ? op->name : ms_intern(&ledger->ops, row->name.s, row->name.length_b),
    };
    unsigned framework = ms_inefficient_framework(entry->space);
    struct ms_stamps stamps_before = use->stamps;
    if (framework != MS_FRAMEWORK_NONE) {
        *found = ms_inefficient_access(&ledger->inefficient, framework, &use->stamps);
    }
    bool idle =
        stamps_before.last_is_access && use->stamps.last_api - stamps_before.last_api > ledger->inefficient.threshold;
    uint64_t before = at.start_now != 0 ? at.start_now - 1 : 0;
    if (use->accesses == 0) {
        use->first_from = before;
        use->first_op = at.op;
    } else if (idle && before > use->last_to && before - use->last_to > use->idle_to - use->idle_from) {
        use->idle_from = use->last_to;
        use->idle_to = before;
        use->idle_from_op = use->last_op;
        use->idle_to_op = at.op;
    }
    note_write(use, row->type, row->name, &at);
    use->accesses++;
    use->last_op = at.op;
    use->last_to = device->now;
    use->last_step = device->step;
    if (at.number != 0 && use->op_number != at.number) {
        struct ms_ledger_thread *thread = ms_ledger_thread(ledger, row->tid);
        if (thread != NULL) {
            touch(ledger, thread, number);
        }
    }
    use->op_number = at.number;
    uint64_t size_b = size_of(row);
    if (row->addr >= entry->addr && row->addr - entry->addr < entry->size_b) {
        uint64_t from = row->addr - entry->addr, rest = entry->size_b - from;
        add_range(use, from, from + (size_b != 0 && size_b < rest ? size_b : rest));
    }
    return number;
}
