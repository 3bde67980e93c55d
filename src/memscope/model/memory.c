/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks: allocation, free, and the rows of both.
 *
 * Every allocation becomes a block, requested or not, so that its free can be matched. While not tracing (before
 * START, after STOP, outside --steps) blocks are kept as shadows; when tracing begins they get the MALLOC row that
 * they missed, and blocks that were freed meanwhile get their FREE row, both marked shadow:true. Blocks still live
 * at the end of the process get a FREE row marked the same way.
 *
 * A free is recorded before it is executed. If it fails, a record says so, and the block lives on under its
 * allocation id; since its FREE row is already written, a second MALLOC row (shadow:true) follows. */
#include "memscope/model/model_internal.h"

#include "ascend_hal.h" /* flags of halMemAlloc */
#include "base/macros.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- which event means what ---- */

enum { NOTHING, BEGINS, ENDS, REVIVES };

struct memory_kind {
    uint8_t what, space; /* space MS_SPACE_COUNT: that of the event's pool */
};

static const struct memory_kind memory_kinds[MS_R_LIMIT] = {
    [MS_R_HAL_ALLOC] = {BEGINS, MS_SPACE_HAL},
    [MS_R_HAL_FREE] = {ENDS, MS_SPACE_HAL},
    [MS_R_HAL_FREE_FAILED] = {REVIVES, MS_SPACE_HAL},
    [MS_R_HAL_CREATE] = {BEGINS, MS_SPACE_HANDLE},
    [MS_R_HAL_RELEASE] = {ENDS, MS_SPACE_HANDLE},
    [MS_R_HAL_RELEASE_FAILED] = {REVIVES, MS_SPACE_HANDLE},
    [MS_R_HOST_REGISTER] = {BEGINS, MS_SPACE_REGISTER},
    [MS_R_HOST_UNREGISTER] = {ENDS, MS_SPACE_REGISTER},
    [MS_R_HOST_UNREGISTER_FAILED] = {REVIVES, MS_SPACE_REGISTER},
    [MS_R_POOL_ALLOC] = {BEGINS, MS_SPACE_COUNT},
    [MS_R_POOL_FREE] = {ENDS, MS_SPACE_COUNT},
};

static const struct memory_kind *kind_of(const struct ms_event *event)
{
    return &memory_kinds[event->kind < MS_R_LIMIT ? event->kind : MS_R_NONE];
}

static enum ms_space space_of(const struct memory_kind *kind, const struct ms_event *event)
{
    return kind->space != MS_SPACE_COUNT ? kind->space : ms__space_of_pool(event->pool);
}

bool ms__frees_same(const struct ms_event *alloc, const struct ms_event *event)
{
    const struct memory_kind *a = kind_of(alloc), *b = kind_of(event);
    return a->what == BEGINS && b->what == ENDS && event->addr == alloc->addr &&
           space_of(a, alloc) == space_of(b, event) &&
           (event->device == alloc->device || event->device == MS_DEV_UNKNOWN || !MS_SPACE_IS_POOL(space_of(a, alloc)));
}

/* Everything that the event says about a new block. */
static struct ms_block describe(enum ms_space space, const struct ms_event *event)
{
    struct ms_block block = {
        .addr = event->addr,
        .size_b = event->size_b,
        .device = event->device,
        .tid = event->tid,
        .c_stack = event->c_stack,
        .python_stack = event->python_stack,
        .space = (uint8_t)space,
        .type = (uint8_t)ms_space_type(space),
    };
    switch (space) {
    case MS_SPACE_HAL:
        block.flag = event->flag;
        block.module_id = (uint8_t)(event->flag >> MEM_MODULE_ID_BIT);
        block.page_type = (event->flag & MEM_PAGE_GIANT) != 0  ? MEM_GIANT_PAGE_TYPE
                          : (event->flag & MEM_PAGE_HUGE) != 0 ? MEM_HUGE_PAGE_TYPE
                                                               : MEM_NORMAL_PAGE_TYPE;
        block.device = (uint32_t)(event->flag & MEM_DEVID_MASK);
        if ((event->flag & MEM_VIRT_MASK) == MEM_HOST) {
            block.device = MS_DEV_CPU;
            block.type = MS_TYPE_HOST_PINNED;
        }
        break;
    case MS_SPACE_HANDLE:
        block.module_id = event->module_id < 256 ? (uint8_t)event->module_id : 255;
        block.page_type = event->page_type < MEM_MAX_PAGE_TYPE ? (uint8_t)event->page_type : MEM_NORMAL_PAGE_TYPE;
        if (event->side != MEM_DEV_SIDE) { /* host memory, whatever device the property names */
            block.device = MS_DEV_CPU;
            block.type = MS_TYPE_HOST_PINNED;
        }
        break;
    case MS_SPACE_REGISTER:
    case MS_SPACE_HOST:
        block.device = MS_DEV_CPU;
        break;
    default:
        break;
    }
    return block;
}

/* ---- rows ---- */

static void statistics(struct ms_model *model, struct ms_row *row, const struct ms_block *block,
                       const struct ms_pool_state *pool)
{
    const struct ms_device *device = ms__device(model, block->device);
    bool usage = device != NULL && device->usage_known;
    switch (block->type) {
    case MS_TYPE_HOST:
        ms__attr_number(row, MS_ATTR_TOTAL, pool->used_b);
        return;
    case MS_TYPE_HOST_PINNED:
        ms__attr_text(row, MS_ATTR_PINNED, "true", 4);
        ms__attr_number(row, MS_ATTR_USED, pool->used_b);
        if (usage) {
            ms__attr_number(row, MS_ATTR_PROCESS_USED, device->usage_process_b);
        }
        return;
    case MS_TYPE_HAL:
        break;
    default:
        ms__attr_number(row, MS_ATTR_TOTAL, pool->total_b);
        break;
    }
    ms__attr_number(row, MS_ATTR_USED, pool->used_b);
    if (usage) {
        ms__attr_number(row, MS_ATTR_PROCESS_USED, device->usage_process_b);
        ms__attr_number(row, MS_ATTR_DEVICE_USED, device->usage_device_b);
    }
}

/* event NULL: synthetic. */
static void send_row(struct ms_model *model, bool malloc_row, struct ms_block *block, const struct ms_event *event,
                     const struct ms_pool_state *pool, bool shadow)
{
    static const char *const page_types[] = {"normal", "huge", "giant"};
    struct ms_row *row = ms__row(model, malloc_row ? MS_EV_MALLOC : MS_EV_FREE, block->type, event, block->device);
    row->has_addr = true;
    row->addr = block->addr;
    row->allocation_id = block->allocation_id;
    if (shadow) {
        row->tid = malloc_row ? block->tid : model->pid;
        row->c_stack = malloc_row ? block->c_stack : 0;
        row->python_stack = malloc_row ? block->python_stack : 0;
    }
    ms__attr_number(row, MS_ATTR_ALLOCATION_ID, block->allocation_id);
    ms__attr_form(row, MS_ATTR_ADDR, MS_FORM_ADDR, block->addr);
    ms__attr_number(row, MS_ATTR_SIZE, block->size_b);
    if (shadow) {
        ms__attr_text(row, MS_ATTR_SHADOW, "true", 4);
    } else {
        statistics(model, row, block, pool);
    }
    if (malloc_row) {
        block->malloc_row = row->id;
        if ((model->options.analysis & (MS_ANALYSIS_DECOMPOSE | MS_ANALYSIS_INEFFICIENT)) != 0) {
            row->late = true;
            struct ms_text owner = ms_model_owner(model, block->owner);
            if ((model->options.analysis & MS_ANALYSIS_DECOMPOSE) != 0 && owner.length_b != 0) {
                ms__attr_text(row, MS_ATTR_OWNER, owner.s, owner.length_b);
            }
        }
        if (block->type == MS_TYPE_HAL) {
            const char *page = page_types[block->page_type];
            ms__attr_text(row, MS_ATTR_PAGE_TYPE, page, strlen(page));
            if (block->space == MS_SPACE_HANDLE) {
                ms__attr_text(row, MS_ATTR_ALLOC_TYPE, "create", 6);
            } else {
                ms__attr_text(row, MS_ATTR_ALLOC_TYPE, "alloc", 5);
            }
        }
    }
    ms__row_send(model, malloc_row ? MS_WANT_ALLOC : MS_WANT_FREE);
}

/* ---- warnings for the log; a limited number of each kind, the rest is counted ---- */

#define WARNINGS_MAX 100u

static const char *pool_name(const struct ms_block *block)
{
    return ms_type_name(block->type);
}

static void warn_double(struct ms_model *model, const struct ms_block *block)
{
    model->stats.double_mallocs++;
    if (model->logged[0]++ >= WARNINGS_MAX) {
        return;
    }
    if (block->type == MS_TYPE_HAL) {
        ms__note(model, 2, "server already has malloc record in addr: 0x%llx", (unsigned long long)block->addr);
    } else {
        ms__note(model, 2, "[npu%u malloc][client %u]:!!! ------double malloc in %s------!!!, ptr: %llu", block->device,
                 model->pid, pool_name(block), (unsigned long long)block->addr);
    }
}

static void warn_unmatched(struct ms_model *model, enum ms_space space, const struct ms_event *event)
{
    model->stats.unmatched_frees++;
    if (model->logged[1]++ >= WARNINGS_MAX) {
        return;
    }
    if (!MS_SPACE_IS_POOL(space)) {
        ms__note(model, 2, "No matching malloc operation found for free operator: addr: 0x%llx",
                 (unsigned long long)event->addr);
    } else {
        ms__note(model, 2, "[npu%u free][client %u]:!!! ------free error in %s------!!!, ptr: %llu", event->device,
                 model->pid, ms_type_name(ms_space_type(space)), (unsigned long long)event->addr);
    }
}

/* ---- allocation and free ---- */

static void pool_add(struct ms_pool_state *pool, uint64_t size_b)
{
    pool->used_b += size_b;
    pool->live_blocks++;
    if (pool->used_b > pool->peak_used_b) {
        pool->peak_used_b = pool->used_b;
    }
}

static void pool_sub(struct ms_pool_state *pool, uint64_t size_b)
{
    pool->used_b -= size_b < pool->used_b ? size_b : pool->used_b;
    pool->live_blocks -= pool->live_blocks != 0;
}

static bool counts(const struct ms_block *block)
{
    return block->state != MS_BLOCK_GHOST;
}

static void forget(struct ms_model *model, uint32_t number)
{
    model->stats.live_b -= counts(ms__block(&model->blocks, number)) ? ms__block(&model->blocks, number)->size_b : 0;
    ms__blocks_remove(&model->blocks, number);
}

/* Another allocation got the address, so the block must be gone. */
static void residual(struct ms_model *model, uint32_t number, const struct ms_event *event)
{
    struct ms_block *block = ms__block(&model->blocks, number);
    struct ms_pool_entry *pool = ms__pool(model, block->space, block->device);
    if (pool != NULL && counts(block)) {
        pool_sub(&pool->state, block->size_b);
    }
    if (block->state == MS_BLOCK_LIVE) {
        warn_double(model, block);
        if (pool != NULL) {
            MS__REPORT(model, block, on_free, MS_END_RESIDUAL, &pool->state, event->time_ns);
        }
        send_row(model, false, block, event, NULL, true);
    }
    forget(model, number);
}

static int begins(struct ms_model *model, enum ms_space space, const struct ms_event *event)
{
    struct ms_block block = describe(space, event);
    uint32_t there = ms__blocks_find(&model->blocks, space, block.device, block.addr);
    if (there != 0) {
        uint8_t state = ms__block(&model->blocks, there)->state;
        if ((state == MS_BLOCK_LIVE || state == MS_BLOCK_SHADOW) && !model->forced) {
            return MS_HOLD;
        }
        residual(model, there, event);
    }
    struct ms_device *device = ms__device(model, block.device);
    struct ms_pool_entry *pool = ms__pool(model, space, block.device);
    if (device == NULL || pool == NULL) {
        return -ENOMEM;
    }
    block.state = !device->wanted ? MS_BLOCK_HIDDEN : device->active ? MS_BLOCK_LIVE : MS_BLOCK_SHADOW;
    if (block.state != MS_BLOCK_HIDDEN) {
        block.allocation_id = ++model->last_allocation;
    }
    block.kernel_index = model->kernel_index;
    block.step = ms__steps_of(model, block.device)->number;
    block.malloc_ns = event->time_ns;
    block.op = ms__running_op(model, event->tid);
    block.owner = event->text.length_b == 0 ? ms__owner_at_malloc(model, &block) : ms__owner_given(model, event->text);
    uint32_t number = ms__blocks_add(&model->blocks, &block);
    if (number == 0) {
        return -ENOMEM;
    }
    model->stats.live_b += block.size_b;
    pool_add(&pool->state, block.size_b);
    if (block.state == MS_BLOCK_LIVE) {
        struct ms_block *stored = ms__block(&model->blocks, number);
        stored->malloc_ns = event->time_ns > model->last_ns ? event->time_ns : model->last_ns + 1;
        MS__CALL(model, on_malloc, MS__SELF, stored, &pool->state);
        send_row(model, true, stored, event, &pool->state, false);
    }
    return 0;
}

static void remember_freed(struct ms_model *model, const struct ms_block *block)
{
    if (MS_SPACE_IS_POOL(block->space) || block->space == MS_SPACE_HOST) {
        return; /* frees reported by a pool do not fail */
    }
    if (model->freed == NULL) {
        model->freed = calloc(MS_FREED_KEPT, sizeof(*model->freed));
        if (model->freed == NULL) {
            return;
        }
    }
    model->freed[model->freed_count++ % MS_FREED_KEPT] = *block;
}

static int ends(struct ms_model *model, enum ms_space space, const struct ms_event *event)
{
    uint32_t number = ms__blocks_find(&model->blocks, space, event->device, event->addr);
    struct ms_block *block = number != 0 ? ms__block(&model->blocks, number) : NULL;
    if (block == NULL || block->state == MS_BLOCK_GHOST) {
        if (block != NULL) {
            forget(model, number);
        }
        if (space != MS_SPACE_HOST) { /* CPU tensors older than the recording are unknown */
            warn_unmatched(model, space, event);
        }
        return 0;
    }
    struct ms_pool_entry *pool = ms__pool(model, space, block->device);
    if (pool == NULL) {
        return -ENOMEM;
    }
    pool_sub(&pool->state, block->size_b);
    remember_freed(model, block);
    if (block->state != MS_BLOCK_LIVE) { /* hidden, or without a row */
        forget(model, number);
        return 0;
    }
    if (ms__active(model, block->device)) {
        MS__REPORT(model, block, on_free, MS_END_FREE, &pool->state, event->time_ns);
        send_row(model, false, block, event, &pool->state, false);
        forget(model, number);
    } else {
        MS__REPORT(model, block, on_free, MS_END_SHADOW, &pool->state, event->time_ns);
        ms__blocks_hide(&model->blocks, number);
        block->state = MS_BLOCK_SHADOW_FREE;
    }
    return 0;
}

/* A recorded free failed. */
static int revives(struct ms_model *model, enum ms_space space, const struct ms_event *event)
{
    uint64_t kept = model->freed_count < MS_FREED_KEPT ? model->freed_count : MS_FREED_KEPT;
    struct ms_block *freed = NULL;
    for (uint64_t i = 0; i < kept && freed == NULL; i++) {
        struct ms_block *candidate = &model->freed[(model->freed_count - 1 - i) % MS_FREED_KEPT];
        if (candidate->state != 0 && candidate->space == space && candidate->addr == event->addr) {
            freed = candidate;
        }
    }
    if (freed == NULL || ms__blocks_find(&model->blocks, space, freed->device, freed->addr) != 0) {
        return 0; /* the block was not known */
    }
    struct ms_block block = *freed;
    freed->state = 0;
    model->stats.revived++;
    struct ms_pool_entry *pool = ms__pool(model, space, block.device);
    if (pool == NULL) {
        return -ENOMEM;
    }
    for (uint32_t n = model->blocks.newest; n != 0; n = ms__block(&model->blocks, n)->older) {
        struct ms_block *there = ms__block(&model->blocks, n);
        if (there->state == MS_BLOCK_SHADOW_FREE && there->allocation_id == block.allocation_id) {
            there->state = MS_BLOCK_LIVE; /* its FREE row is not written yet */
            there->shadow = 1;
            there->revived++;
            pool_add(&pool->state, block.size_b);
            MS__CALL(model, on_malloc, MS__SELF, there, &pool->state);
            return ms__blocks_show(&model->blocks, n) ? 0 : -ENOMEM;
        }
    }
    block.revived++;
    bool active = ms__active(model, block.device);
    if (block.state != MS_BLOCK_HIDDEN) { /* its rows, if any, are written: it begins again */
        block.state = active ? MS_BLOCK_LIVE : MS_BLOCK_SHADOW;
    }
    uint32_t number = ms__blocks_add(&model->blocks, &block);
    if (number == 0) {
        return -ENOMEM;
    }
    model->stats.live_b += block.size_b;
    pool_add(&pool->state, block.size_b);
    if (block.state == MS_BLOCK_LIVE) {
        struct ms_block *stored = ms__block(&model->blocks, number);
        stored->shadow = 1;
        MS__CALL(model, on_malloc, MS__SELF, stored, &pool->state);
        send_row(model, true, stored, event, NULL, true);
    }
    return 0;
}

int ms__memory_event(struct ms_model *model, const struct ms_event *event)
{
    const struct memory_kind *kind = kind_of(event);
    const uint32_t both = MS_WANT_ALLOC | MS_WANT_FREE;
    if (kind->what == NOTHING || (model->collect & both) != both) {
        return 0;
    }
    enum ms_space space = space_of(kind, event);
    if (space == MS_SPACE_COUNT) {
        return 0;
    }
    switch (kind->what) {
    case BEGINS:
        return begins(model, space, event);
    case ENDS:
        return ends(model, space, event);
    default:
        return revives(model, space, event);
    }
}

/* ---- shadows ---- */

void ms__promote(struct ms_model *model, uint32_t device, const struct ms_event *event)
{
    for (uint32_t n = model->blocks.oldest, newer; n != 0; n = newer) {
        struct ms_block *block = ms__block(&model->blocks, n);
        newer = block->newer;
        if (block->device != device) {
            continue;
        }
        struct ms_pool_entry *pool = ms__pool(model, block->space, block->device);
        if (block->state == MS_BLOCK_SHADOW && pool != NULL) {
            block->state = MS_BLOCK_LIVE;
            block->shadow = 1;
            block->malloc_ns = event->time_ns > model->last_ns ? event->time_ns : model->last_ns + 1;
            MS__CALL(model, on_malloc, MS__SELF, block, &pool->state);
            send_row(model, true, block, event, NULL, true);
        } else if (block->state == MS_BLOCK_SHADOW_FREE) {
            send_row(model, false, block, event, NULL, true);
            forget(model, n);
        }
    }
}

/* The process has ended: every block with a MALLOC row gets its FREE row. */
void ms__end_blocks(struct ms_model *model)
{
    for (uint32_t n = model->blocks.oldest, newer; n != 0; n = newer) {
        struct ms_block *block = ms__block(&model->blocks, n);
        newer = block->newer;
        struct ms_pool_entry *pool = ms__pool(model, block->space, block->device);
        if (block->state == MS_BLOCK_LIVE || block->state == MS_BLOCK_SHADOW_FREE) {
            if (block->state == MS_BLOCK_LIVE && pool != NULL) {
                pool_sub(&pool->state, block->size_b);
                MS__REPORT(model, block, on_free, MS_END_EXIT, &pool->state, model->last_ns + 1);
            }
            send_row(model, false, block, NULL, NULL, true);
        }
        forget(model, n);
    }
}
