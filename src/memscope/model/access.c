/* SPDX-License-Identifier: Apache-2.0 */
/* Accesses: which block was read or written.
 *
 * An access names its pool and an address anywhere in a block. If the pool has no such block, the other pools of the
 * device are searched, then the driver (programs that pass plain device memory to operators). An address without a
 * block becomes a ghost, a block of which only accesses are known, so that accesses to one address share an
 * allocation id. */
#include "memscope/model/model_internal.h"

#include "base/macros.h"
#include "trace/aten_mark.h"

#include <errno.h>
#include <string.h>

static uint32_t find_block(struct ms_model *model, enum ms_space space, uint32_t device, uint64_t addr)
{
    static const uint8_t others[] = {MS_SPACE_PTA,       MS_SPACE_ATB,  MS_SPACE_PTA_WORKSPACE,
                                     MS_SPACE_MINDSPORE, MS_SPACE_HOST, MS_SPACE_HAL};
    uint32_t number = ms__blocks_containing(&model->blocks, space, device, addr);
    for (unsigned i = 0; number == 0 && i < MS_COUNT_OF(others); i++) {
        if (others[i] != space) {
            number = ms__blocks_containing(&model->blocks, others[i], device, addr);
        }
    }
    return number;
}

static struct ms_block ghost_of(struct ms_model *model, enum ms_space space, const struct ms_event *event,
                                uint64_t addr, uint64_t size_b)
{
    return (struct ms_block){
        .addr = addr,
        .size_b = size_b,
        .device = event->device,
        .allocation_id = ++model->last_allocation,
        .space = (uint8_t)space,
        .type = MS_TYPE_PTA,
        .state = MS_BLOCK_GHOST,
    };
}

static uint32_t add_ghost(struct ms_model *model, enum ms_space space, const struct ms_event *event, uint64_t addr,
                          uint64_t size_b)
{
    if (model->stats.ghosts >= MS_GHOSTS_MAX) { /* further ones cost an id each, but no memory */
        return 0;
    }
    struct ms_block ghost = ghost_of(model, space, event, addr, size_b);
    model->stats.ghosts++;
    return ms__blocks_add(&model->blocks, &ghost);
}

static const char *pool_text(enum ms_space space)
{
    return ms_type_name(space == MS_SPACE_REGISTER ? MS_TYPE_HOST : ms_space_type(space));
}

/* Begins the row of an access; NULL: there is nothing to report. */
static struct ms_row *begin_row(struct ms_model *model, const struct ms_event *event, enum ms_space space,
                                uint32_t type, uint64_t addr, uint64_t size_b)
{
    static const uint8_t types[] = {
        [MS_ACCESS_UNKNOWN] = MS_TYPE_UNKNOWN, [MS_ACCESS_READ] = MS_TYPE_READ, [MS_ACCESS_WRITE] = MS_TYPE_WRITE};
    if (addr == 0 || (model->collect & MS_WANT_ACCESS) == 0) {
        return NULL;
    }
    uint32_t number = find_block(model, space, event->device, addr);
    if (number == 0 && event->device != MS_DEV_UNKNOWN) { /* the thread's device need not be the tensor's */
        number = find_block(model, space, MS_DEV_UNKNOWN, addr);
    }
    uint32_t device = number != 0 ? ms__block(&model->blocks, number)->device : event->device;
    struct ms_device *entry = ms__device(model, device);
    if (entry == NULL || !entry->wanted || !entry->active) {
        return NULL;
    }
    if (number == 0) {
        number = add_ghost(model, space, event, addr, size_b);
    }
    struct ms_block unknown;
    struct ms_block *block = &unknown;
    if (number != 0) {
        block = ms__block(&model->blocks, number);
    } else {
        unknown = ghost_of(model, space, event, addr, size_b);
    }
    uint64_t allocation_id = block->allocation_id;
    if (block->accesses++ == 0) {
        block->first_access_ns = event->time_ns;
    }
    block->last_access_ns = event->time_ns;
    if (block->state == MS_BLOCK_LIVE) {
        ms__owner_accessed(model, block);
    }
    if (block->state == MS_BLOCK_LIVE || block->state == MS_BLOCK_GHOST) {
        MS__REPORT(model, block, on_access, event);
    }
    struct ms_row *row =
        ms__row(model, MS_EV_ACCESS, types[type < MS_COUNT_OF(types) ? type : MS_ACCESS_UNKNOWN], event, device);
    row->has_addr = true;
    row->addr = addr;
    row->allocation_id = allocation_id;
    ms__attr_number(row, MS_ATTR_ALLOCATION_ID, allocation_id);
    ms__attr_form(row, MS_ATTR_ADDR, MS_FORM_ADDR, addr);
    ms__attr_number(row, MS_ATTR_SIZE, size_b);
    ms__attr_text(row, MS_ATTR_TYPE, pool_text(space), strlen(pool_text(space)));
    return row;
}

int ms__access(struct ms_model *model, const struct ms_event *event, enum ms_space space, uint32_t type)
{
    if (space == MS_SPACE_COUNT) {
        return 0;
    }
    struct ms_row *row = begin_row(model, event, space, type, event->addr, event->size_b);
    if (row != NULL) {
        row->name = event->text;
        ms__attr_parse(row, event->attributes.s, event->attributes.length_b);
        ms__row_send(model, MS_WANT_ACCESS);
    }
    return 0;
}

int ms__aten_access(struct ms_model *model, const struct ms_event *event, const char *s, size_t length_b)
{
    static const struct {
        const char *key;
        enum ms_attr_key attr;
    } kept[] = {{"dtype", MS_ATTR_DTYPE}, {"shape", MS_ATTR_SHAPE}};
    uint32_t type = ms_aten_is_true(s, length_b, "is_write")  ? MS_ACCESS_WRITE
                    : ms_aten_is_true(s, length_b, "is_read") ? MS_ACCESS_READ
                                                              : MS_ACCESS_UNKNOWN;
    struct ms_row *row = begin_row(model, event, MS_SPACE_PTA, type, ms_aten_number(s, length_b, "ptr"),
                                   ms_aten_number(s, length_b, "tensor_size"));
    if (row == NULL) {
        return 0;
    }
    struct ms_aten_value name = ms_aten_value(s, length_b, "name");
    row->name = (struct ms_text){.s = name.s != NULL ? name.s : "", .length_b = (uint32_t)name.length_b};
    for (size_t i = 0; i < MS_COUNT_OF(kept); i++) {
        struct ms_aten_value value = ms_aten_value(s, length_b, kept[i].key);
        if (value.s != NULL) {
            ms__attr_text(row, kept[i].attr, value.s, value.length_b);
        }
    }
    ms__row_send(model, MS_WANT_ACCESS);
    return 0;
}
