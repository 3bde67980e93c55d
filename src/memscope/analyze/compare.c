/* SPDX-License-Identifier: Apache-2.0 */
/* The collecting half of compare: consumes one model after the other. See compare.h.
 *
 * A FREE row names the thread that freed, the model callback before it names the block; both are needed, so the
 * callback stores the block's facts for the row. Owners may change during a block's lifetime; the groups in which a
 * block was counted are remembered by its allocation id. */
#include "memscope/analyze/compare_internal.h"

#include "memscope/analyze/site.h"

#include "base/macros.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define OPS_OPEN 32u

struct open_op {
    uint32_t name;
    int64_t start[MS_LANE_COUNT], most[MS_LANE_COUNT];
};

struct compare_thread {
    uint32_t tid, device;
    int64_t sum[MS_LANE_COUNT];
    struct open_op ops[OPS_OPEN];
    uint32_t depth;       /* may exceed OPS_OPEN; deeper operators are not kept */
    struct open_op since; /* since the last kernel, or operator without a START */
};

struct compare_charge { /* how a block was accounted */
    bool valid;
    uint8_t lane;
    int64_t size_b;
    uint32_t owner, site; /* names */
};

struct ms_compare_process { /* one process */
    struct ms_compare *compare;
    struct ms_compare_side *side;
    int number; /* index of the side */
    struct ms_model *model;
    struct ms_stack_source stacks;
    struct ms_map owner_names, stack_names; /* by the process's ids */
    struct ms_map charged;                  /* allocation id -> owner and site as they were counted */
    struct ms_map thread_of;                /* tid and device -> index in threads */
    struct compare_thread **threads;
    size_t thread_count;
    struct compare_charge charge; /* set by the callback that precedes the row */
};

/* ---- names ---- */

static uint32_t name_of(struct ms_compare *compare, const char *s, size_t length_b)
{
    uint32_t name = ms_intern(&compare->names, s, length_b);
    if (name == 0 && length_b != 0) {
        compare->error = -ENOMEM;
    }
    return name;
}

static uint32_t site_of(struct ms_compare_process *r, const struct ms_block *block)
{
    bool python = block->python_stack != 0 && block->python_stack != MS_STACK_NO_GIL;
    uint64_t key = (uint64_t)block->c_stack << 32 | (python ? block->python_stack : 0);
    char text[2048];
    size_t used = 0;
    if (key == 0) {
        struct ms_text op = ms_model_text(r->model, block->op);
        used = op.length_b != 0
                   ? (size_t)snprintf(text, sizeof(text), "in %.*s", (int)op.length_b, op.s)
                   : (size_t)snprintf(text, sizeof(text), "blocks of %llu bytes", (unsigned long long)block->size_b);
        return name_of(r->compare, text, used < sizeof(text) ? used : sizeof(text) - 1);
    }
    uint64_t *known = ms_map_get(&r->stack_names, key);
    if (known != NULL) {
        return (uint32_t)*known;
    }
    if (python && r->stacks.python_stack != NULL) {
        used = ms_site_text(r->stacks.python_stack(r->stacks.self, block->python_stack), true, text, sizeof(text));
    }
    if (used == 0 && block->c_stack != 0 && r->stacks.c_stack != NULL) {
        used = ms_site_text(r->stacks.c_stack(r->stacks.self, block->c_stack), false, text, sizeof(text));
    }
    uint32_t name = used != 0 ? name_of(r->compare, text, used) : name_of(r->compare, "(no frames)", 11);
    ms_map_put(&r->stack_names, key, name);
    return name;
}

static uint32_t owner_of(struct ms_compare_process *r, const struct ms_block *block)
{
    uint64_t key = block->owner != 0 ? block->owner : (uint64_t)block->type << 32;
    uint64_t *known = ms_map_get(&r->owner_names, key);
    if (known != NULL) {
        return (uint32_t)*known;
    }
    struct ms_text text = ms_model_owner(r->model, block->owner);
    const char *type = ms_type_name(block->type);
    uint32_t name =
        text.length_b != 0 ? name_of(r->compare, text.s, text.length_b) : name_of(r->compare, type, strlen(type));
    ms_map_put(&r->owner_names, key, name);
    return name;
}

/* ---- devices and threads ---- */

struct ms_compare_device *ms__compare_device(struct ms_compare *compare, struct ms_compare_side *side, uint32_t number)
{
    for (size_t i = 0; i < side->device_count; i++) {
        if (side->devices[i]->device == number) {
            return side->devices[i];
        }
    }
    struct ms_compare_device **devices =
        realloc(side->devices, (side->device_count + 1) * sizeof(struct ms_compare_device *));
    struct ms_compare_device *device = calloc(1, sizeof(*device));
    if (devices != NULL) {
        side->devices = devices;
    }
    if (devices == NULL || device == NULL) {
        free(device);
        compare->error = -ENOMEM;
        return NULL;
    }
    device->device = number;
    devices[side->device_count++] = device;
    return device;
}

static struct compare_thread *thread_of(struct ms_compare_process *r, uint32_t tid, uint32_t device)
{
    uint64_t key = (uint64_t)device << 32 | tid;
    uint64_t *known = ms_map_get(&r->thread_of, key);
    if (known != NULL) {
        return r->threads[*known];
    }
    struct compare_thread **threads = realloc(r->threads, (r->thread_count + 1) * sizeof(struct compare_thread *));
    struct compare_thread *thread = calloc(1, sizeof(*thread));
    if (threads != NULL) {
        r->threads = threads;
    }
    if (threads == NULL || thread == NULL || ms_map_put(&r->thread_of, key, r->thread_count) == NULL) {
        free(thread);
        r->compare->error = -ENOMEM;
        return NULL;
    }
    thread->tid = tid;
    thread->device = device;
    threads[r->thread_count++] = thread;
    return thread;
}

static struct open_op op_now(const struct compare_thread *thread, uint32_t name)
{
    struct open_op op = {.name = name};
    memcpy(op.start, thread->sum, sizeof(op.start));
    memcpy(op.most, thread->sum, sizeof(op.most));
    return op;
}

static bool is_wanted(const struct ms_compare_process *r, const struct ms_compare_device *device)
{
    uint32_t step = r->compare->options.steps[r->number];
    return step == 0 || device->step == step || (!device->step_seen && step == 1);
}

static int on_step(void *self, const struct ms_step_info *info)
{
    struct ms_compare_process *r = self;
    if (info->device >= MS_DEV_UNKNOWN) {
        return 0;
    }
    struct ms_compare_device *device = ms__compare_device(r->compare, r->side, info->device);
    if (device == NULL) {
        return -ENOMEM;
    }
    if (info->begins && !device->step_seen && r->compare->options.steps[r->number] == 1) {
        /* The first step begins here. If only step ends are recorded, it began with the recording. */
        device->item_count = device->group_count = 0;
        ms_map_free(&device->group_of);
        memset(device->use, 0, sizeof(device->use));
        for (size_t i = 0; i < r->thread_count; i++) {
            struct compare_thread *thread = r->threads[i];
            if (thread->device == info->device) {
                thread->since = op_now(thread, 0);
            }
        }
    }
    device->step_seen = true;
    device->step = info->begins ? info->step : 0;
    return 0;
}

/* ---- bytes ---- */

static void add_to_group(struct ms_compare_process *r, struct ms_compare_device *device,
                         enum ms_compare_group_kind kind, enum ms_compare_lane lane, uint32_t name, int64_t delta_b)
{
    uint64_t key = (uint64_t)name << 2 | (uint64_t)kind << 1 | (uint64_t)lane;
    bool added;
    uint64_t *index = ms_map_at(&device->group_of, key, device->group_count, &added);
    if (index != NULL && added) {
        if (device->group_count == device->group_room) {
            size_t room = device->group_room != 0 ? device->group_room * 2 : 64;
            struct ms_compare_group *groups = realloc(device->groups, room * sizeof(*groups));
            if (groups == NULL) {
                ms_map_remove(&device->group_of, key, NULL);
                r->compare->error = -ENOMEM;
                return;
            }
            device->groups = groups;
            device->group_room = room;
        }
        device->groups[device->group_count++] = (struct ms_compare_group){
            .name = name, .kind = (uint8_t)kind, .lane = (uint8_t)lane, .changed_at = UINT64_MAX};
    }
    if (index == NULL) {
        r->compare->error = -ENOMEM;
        return;
    }
    struct ms_compare_group *group = &device->groups[*index];
    uint64_t peak_number = device->use[lane].peak_number;
    if (group->changed_at != peak_number) {
        group->at_peak = group->live;
        group->changed_at = peak_number;
    }
    group->live += delta_b;
}

static void raise_most(struct open_op *op, enum ms_compare_lane lane, int64_t sum)
{
    op->most[lane] = op->most[lane] > sum ? op->most[lane] : sum;
}

static void account(struct ms_compare_process *r, uint32_t device_number, const struct compare_charge *charge,
                    bool allocated, uint32_t tid, uint64_t time_ns)
{
    struct ms_compare_device *device = ms__compare_device(r->compare, r->side, device_number);
    if (device == NULL || !is_wanted(r, device)) {
        return;
    }
    enum ms_compare_lane lane = charge->lane;
    int64_t delta_b = allocated ? charge->size_b : -charge->size_b;
    add_to_group(r, device, MS_GROUP_BY_OWNER, lane, charge->owner, delta_b);
    add_to_group(r, device, MS_GROUP_BY_SITE, lane, charge->site, delta_b);
    struct compare_thread *thread = tid != MS_ID_NONE ? thread_of(r, tid, device_number) : NULL;
    struct ms_compare_use *use = &device->use[lane];
    use->events++;
    use->total += delta_b;
    if (use->total > use->peak) {
        use->peak = use->total;
        use->peak_number++;
        use->peak_ns = time_ns;
        use->peak_step = device->step;
        uint32_t depth = thread != NULL ? thread->depth : 0;
        use->peak_op = depth != 0 ? thread->ops[(depth < OPS_OPEN ? depth : OPS_OPEN) - 1].name : 0;
    }
    if (thread != NULL) {
        thread->sum[lane] += delta_b;
        raise_most(&thread->since, lane, thread->sum[lane]);
        for (uint32_t i = 0; i < thread->depth && i < OPS_OPEN; i++) {
            raise_most(&thread->ops[i], lane, thread->sum[lane]);
        }
    }
}

static bool charge_of(struct ms_compare_process *r, const struct ms_block *block, struct compare_charge *out)
{
    bool driver = block->type == MS_TYPE_HAL;
    if ((!driver && !MS_SPACE_IS_POOL(block->space)) || block->device >= MS_DEV_UNKNOWN) {
        return false;
    }
    *out = (struct compare_charge){.valid = true,
                                   .lane = driver ? MS_LANE_DRIVER : MS_LANE_POOLS,
                                   .size_b = (int64_t)block->size_b,
                                   .owner = owner_of(r, block),
                                   .site = site_of(r, block)};
    return true;
}

static int on_malloc(void *self, const struct ms_block *block, const struct ms_pool_state *pool)
{
    struct ms_compare_process *r = self;
    struct compare_charge charge;
    (void)pool;
    if (charge_of(r, block, &charge)) {
        ms_map_put(&r->charged, block->allocation_id, (uint64_t)charge.owner << 32 | charge.site);
        account(r, block->device, &charge, true, block->tid, block->malloc_ns);
    }
    return r->compare->error;
}

static int on_free(void *self, const struct ms_block *block, enum ms_block_end how, const struct ms_pool_state *pool,
                   uint64_t time_ns)
{
    struct ms_compare_process *r = self;
    uint64_t groups;
    (void)pool;
    r->charge.valid = false;
    if (how == MS_END_EXIT || !charge_of(r, block, &r->charge)) {
        return 0;
    }
    if (ms_map_remove(&r->charged, block->allocation_id, &groups)) {
        r->charge.owner = (uint32_t)(groups >> 32);
        r->charge.site = (uint32_t)groups;
    }
    if (how != MS_END_FREE) { /* not attributed to a thread, and without a row of its own */
        account(r, block->device, &r->charge, false, MS_ID_NONE, time_ns);
        r->charge.valid = false;
    }
    return r->compare->error;
}

static int on_late(void *self, const struct ms_block *block)
{
    struct ms_compare_process *r = self;
    uint64_t *groups = ms_map_get(&r->charged, block->allocation_id);
    struct compare_charge now;
    if (groups == NULL || !charge_of(r, block, &now) || now.owner == (uint32_t)(*groups >> 32)) {
        return r->compare->error;
    }
    struct ms_compare_device *device = ms__compare_device(r->compare, r->side, block->device);
    if (device != NULL && is_wanted(r, device)) {
        add_to_group(r, device, MS_GROUP_BY_OWNER, now.lane, (uint32_t)(*groups >> 32), -now.size_b);
        add_to_group(r, device, MS_GROUP_BY_OWNER, now.lane, now.owner, now.size_b);
    }
    *groups = (uint64_t)now.owner << 32 | (uint32_t)*groups;
    return r->compare->error;
}

/* ---- items ---- */

static struct ms_compare_item *add_item(struct ms_compare *compare, struct ms_compare_device *device)
{
    if (device->item_count == device->item_room) {
        size_t room = device->item_room != 0 ? device->item_room * 2 : 1024;
        struct ms_compare_item *items = realloc(device->items, room * sizeof(*items));
        if (items == NULL) {
            compare->error = -ENOMEM;
            return NULL;
        }
        device->items = items;
        device->item_room = room;
    }
    struct ms_compare_item *item = &device->items[device->item_count++];
    memset(item, 0, sizeof(*item));
    return item;
}

static struct open_op end_op(struct compare_thread *thread, uint32_t name)
{
    uint32_t kept = thread->depth < OPS_OPEN ? thread->depth : OPS_OPEN;
    for (uint32_t i = kept; i-- > 0;) {
        if (thread->ops[i].name == name) { /* the operators above it have lost their ENDs */
            thread->depth = i;
            return thread->ops[i];
        }
    }
    struct open_op since = thread->since;
    thread->since = op_now(thread, 0);
    return since;
}

static int on_item_row(struct ms_compare_process *r, const struct ms_row *row)
{
    uint32_t level = row->event == MS_EV_OP_LAUNCH ? MS_WANT_OP : MS_WANT_KERNEL;
    bool start = row->type == MS_TYPE_ATEN_START || row->type == MS_TYPE_ATB_START;
    bool end = row->type == MS_TYPE_ATEN_END || row->type == MS_TYPE_ATB_END;
    bool kernel = row->type == MS_TYPE_KERNEL_LAUNCH;
    if (row->device >= MS_DEV_UNKNOWN || (!start && !end && !kernel)) {
        return 0;
    }
    struct ms_compare_device *device = ms__compare_device(r->compare, r->side, row->device);
    struct compare_thread *thread = thread_of(r, row->tid, row->device);
    uint32_t name = name_of(r->compare, row->name.s, row->name.length_b);
    if (device == NULL || thread == NULL) {
        return -ENOMEM;
    }
    struct open_op op = {0};
    if (start) {
        if (thread->depth < OPS_OPEN) {
            thread->ops[thread->depth] = op_now(thread, name);
        }
        thread->depth++;
        return 0;
    }
    if (end) {
        op = end_op(thread, name);
    } else {
        op = thread->since;
        thread->since = op_now(thread, 0);
    }
    if ((r->compare->options.levels & level) == 0 || !is_wanted(r, device)) {
        return 0;
    }
    struct ms_compare_item *item = add_item(r->compare, device);
    if (item == NULL) {
        return -ENOMEM;
    }
    item->name = name;
    item->step = device->step;
    item->row = row->id;
    item->event = row->event;
    item->type = row->type;
    for (int lane = 0; lane < MS_LANE_COUNT; lane++) {
        item->net[lane] = thread->sum[lane] - op.start[lane];
        item->peak[lane] = op.most[lane] - op.start[lane];
    }
    return 0;
}

static int on_row(void *self, const struct ms_row *row)
{
    struct ms_compare_process *r = self;
    if (row->event == MS_EV_FREE && r->charge.valid) {
        account(r, row->device, &r->charge, false, row->tid, row->time_ns);
        r->charge.valid = false;
    } else if (row->event == MS_EV_OP_LAUNCH || row->event == MS_EV_KERNEL_LAUNCH) {
        on_item_row(r, row);
    }
    return r->compare->error;
}

/* ---- the number of the first releases ---- */

/* An item's number is the size of the first row of the framework's pool at or after it, MALLOC or FREE. */
static int on_legacy_row(void *self, const struct ms_row *row)
{
    struct ms_compare_process *r = self;
    struct ms_compare *compare = r->compare;
    bool framework = row->type == MS_TYPE_PTA || row->type == MS_TYPE_MINDSPORE;
    if (framework && r->side->framework != 0 && r->side->framework != row->type) {
        snprintf(compare->error_text, sizeof(compare->error_text), "%s has memory of both PTA and MINDSPORE",
                 compare->options.names[r->number]);
        return -EINVAL;
    }
    r->side->framework = framework ? row->type : r->side->framework;
    uint32_t level = row->type == MS_TYPE_ATEN_END || row->type == MS_TYPE_ATB_END ? MS_WANT_OP
                     : row->type == MS_TYPE_KERNEL_LAUNCH                          ? MS_WANT_KERNEL
                                                                                   : 0;
    bool item_row = (compare->options.levels & level) != 0;
    if (row->device >= MS_DEV_UNKNOWN || (!framework && !item_row)) {
        return 0;
    }
    struct ms_compare_device *device = ms__compare_device(compare, r->side, row->device);
    if (device == NULL) {
        return -ENOMEM;
    }
    if (item_row) {
        struct ms_compare_item *item = add_item(compare, device);
        if (item != NULL) {
            item->name = name_of(compare, row->name.s, row->name.length_b);
            item->row = row->id;
            item->event = row->event;
            item->type = row->type;
        }
        return compare->error;
    }
    int64_t size_b = 0;
    for (uint32_t i = 0; i < row->attr_count; i++) {
        if (row->attr[i].key == MS_ATTR_SIZE && row->attr[i].form == MS_FORM_NUMBER) {
            size_b = (int64_t)row->attr[i].number;
        }
    }
    for (; device->legacy_pending < device->item_count; device->legacy_pending++) {
        device->items[device->legacy_pending].net[MS_LANE_POOLS] = size_b;
    }
    return 0;
}

/* ---- interface ---- */

static void end_process(struct ms_compare_side *side)
{
    struct ms_compare_process *r = side->process;
    if (r == NULL) {
        return;
    }
    ms_map_free(&r->owner_names);
    ms_map_free(&r->stack_names);
    ms_map_free(&r->charged);
    ms_map_free(&r->thread_of);
    for (size_t i = 0; i < r->thread_count; i++) {
        free(r->threads[i]);
    }
    free(r->threads);
    free(r);
    side->process = NULL;
}

static struct ms_compare_process *begin_process(struct ms_compare *compare, int number)
{
    struct ms_compare_side *side = &compare->sides[number];
    end_process(side);
    struct ms_compare_process *r = calloc(1, sizeof(*r));
    if (r != NULL) {
        *r = (struct ms_compare_process){.compare = compare, .side = side, .number = number};
        side->process = r;
    }
    for (size_t i = 0; r != NULL && i < side->device_count; i++) { /* steps are counted per process */
        side->devices[i]->step = 0;
        side->devices[i]->step_seen = false;
    }
    return r;
}

void ms_compare_model_options(struct ms_model_options *out)
{
    *out = (struct ms_model_options)MS_MODEL_OPTIONS_DEFAULT;
    out->levels = MS_WANT_OP | MS_WANT_KERNEL;
    out->analysis = MS_ANALYSIS_DECOMPOSE;
}

int ms_compare_begin(struct ms_compare *compare, int side, struct ms_model *model, struct ms_stack_source stacks)
{
    struct ms_compare_process *r = begin_process(compare, side);
    if (r == NULL) {
        return -ENOMEM;
    }
    r->model = model;
    r->stacks = stacks;
    struct ms_consumer consumer = {.self = r,
                                   .on_row = on_row,
                                   .on_malloc = on_malloc,
                                   .on_free = on_free,
                                   .on_late = on_late,
                                   .on_step = on_step};
    return ms_model_add(model, &consumer);
}

struct ms_consumer ms_compare_legacy_rows(struct ms_compare *compare, int side)
{
    struct ms_compare_process *r = begin_process(compare, side);
    return (struct ms_consumer){.self = r, .on_row = r != NULL ? on_legacy_row : NULL};
}

int ms_compare_new(const struct ms_compare_options *options, struct ms_compare **out)
{
    struct ms_compare *compare = calloc(1, sizeof(*compare));
    if (compare == NULL) {
        return -ENOMEM;
    }
    compare->options = *options;
    *out = compare;
    return 0;
}

void ms_compare_free(struct ms_compare *compare)
{
    if (compare == NULL) {
        return;
    }
    for (int side = 0; side < MS_COMPARE_SIDES; side++) {
        end_process(&compare->sides[side]);
        for (size_t i = 0; i < compare->sides[side].device_count; i++) {
            struct ms_compare_device *device = compare->sides[side].devices[i];
            free(device->items);
            free(device->groups);
            ms_map_free(&device->group_of);
            free(device);
        }
        free(compare->sides[side].devices);
    }
    for (size_t i = 0; i < compare->pair_count; i++) {
        free(compare->pairs[i].match);
    }
    free(compare->pairs);
    ms_intern_free(&compare->names);
    free(compare);
}
