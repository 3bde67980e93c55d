/* SPDX-License-Identifier: Apache-2.0 */
/* Builds rows, one at a time, in model->row. Sending a row increments the id whether or not any consumer writes it, so
 * that ids do not depend on what is written. */
#include "memscope/model/model_internal.h"

#include "base/macros.h"

#include <string.h>

/* Time of a row: that of its event, but after the previous row. Device times are unchanged. */
void ms__row_at(struct ms_model *model, uint64_t time_ns)
{
    model->row.time_ns = time_ns > model->last_ns ? time_ns : model->last_ns + 1;
}

struct ms_row *ms__row(struct ms_model *model, enum ms_row_event event, enum ms_row_type type, const struct ms_event *e,
                       uint32_t device)
{
    struct ms_row *row = &model->row;
    row->id = model->options.event_ids && e != NULL ? e->index : model->next_row;
    row->pid = model->pid;
    row->tid = e != NULL ? e->tid : model->pid;
    row->device = device;
    row->event = (uint8_t)event;
    row->type = (uint8_t)type;
    row->has_addr = false;
    row->late = false;
    row->addr = 0;
    row->allocation_id = 0;
    row->range_id = 0;
    row->name = (struct ms_text){.s = ""};
    row->c_stack = e != NULL ? e->c_stack : 0;
    row->python_stack = e != NULL ? e->python_stack : 0;
    row->attr_count = 0;
    ms__row_at(model, e != NULL ? e->time_ns : 0);
    return row;
}

static struct ms_attr *next_attr(struct ms_row *row, enum ms_attr_key key, enum ms_attr_form form)
{
    /* A full row overwrites its last attribute: only a foreign "k:v" text can be that long. */
    struct ms_attr *attr = &row->attr[row->attr_count < MS_ROW_ATTRS_MAX ? row->attr_count++ : MS_ROW_ATTRS_MAX - 1];
    attr->key = (uint8_t)key;
    attr->form = (uint8_t)form;
    return attr;
}

void ms__attr_form(struct ms_row *row, enum ms_attr_key key, enum ms_attr_form form, uint64_t number)
{
    next_attr(row, key, form)->number = number;
}

void ms__attr_number(struct ms_row *row, enum ms_attr_key key, uint64_t number)
{
    next_attr(row, key, MS_FORM_NUMBER)->number = number;
}

void ms__attr_text(struct ms_row *row, enum ms_attr_key key, const char *s, size_t length_b)
{
    next_attr(row, key, MS_FORM_TEXT)->text = (struct ms_text){.s = s, .length_b = (uint32_t)length_b};
}

void ms__attr_rate(struct ms_row *row, enum ms_attr_key key, double rate)
{
    next_attr(row, key, MS_FORM_RATE)->rate = rate;
}

static unsigned key_of(const char *s, size_t length_b)
{
    for (unsigned key = 0; key < MS_ATTR_KEY_COUNT; key++) {
        const char *name = ms_attr_name(key);
        if (strlen(name) == length_b && memcmp(name, s, length_b) == 0) {
            return key;
        }
    }
    return MS_ATTR_OTHER;
}

/* Values may contain commas ("shape:[1,5,]"): a key begins after the last comma before its colon. */
void ms__attr_parse(struct ms_row *row, const char *s, size_t length_b)
{
    const char *end = s + length_b;
    const char *key = s;
    const char *colon = memchr(key, ':', length_b);
    while (colon != NULL) {
        const char *value = colon + 1;
        const char *next_colon = value;
        const char *value_end = end;
        /* a colon inside a value has no comma since the key: "a:b:c" */
        while ((next_colon = memchr(next_colon, ':', (size_t)(end - next_colon))) != NULL) {
            const char *comma = memrchr(value, ',', (size_t)(next_colon - value));
            if (comma != NULL) {
                value_end = comma;
                break;
            }
            next_colon++;
        }
        unsigned number = key_of(key, (size_t)(colon - key));
        struct ms_attr *attr = next_attr(row, number, MS_FORM_TEXT);
        attr->text = (struct ms_text){.s = value, .length_b = (uint32_t)(value_end - value)};
        attr->other_key = key;
        attr->other_key_b = (uint32_t)(colon - key);
        key = value_end + 1;
        colon = next_colon;
    }
}

void ms__row_send(struct ms_model *model, uint32_t wants)
{
    struct ms_row *row = &model->row;
    model->next_row = row->id >= model->next_row ? row->id + 1 : model->next_row;
    if (row->type != MS_TYPE_KERNEL_EXECUTE_START && row->type != MS_TYPE_KERNEL_EXECUTE_END) {
        model->last_ns = row->time_ns;
    }
    if (wants != 0 && (model->dump & wants) == 0) {
        return;
    }
    model->stats.row_counts[row->event]++;
    MS__CALL(model, on_row, MS__SELF, row);
}
