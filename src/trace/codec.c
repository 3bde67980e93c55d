/* SPDX-License-Identifier: Apache-2.0 */
/* Encoder and decoder of runs, next to each other. A record begins with a byte:
 *
 *     0           a varint follows: the number of sequence numbers that belong to definitions
 *     1 ... 64    a record of that form
 *     65 ... 128  the same, and the form is defined here: kind, flags (bytes), arg (varint)
 *
 * then a group of numbers: the difference of the stamp, the fields of the shape, the stack ids; then the bytes of
 * inline texts. */
#include "trace/codec.h"

#include <string.h>

/* ---- encoding ---- */

void ms_encode_begin(struct ms_encoder *e, const struct ms_run *run, uint8_t *to)
{
    e->run = *run;
    e->run.records = 0;
    e->run.sequences = 0;
    e->stamp = run->first_stamp;
    e->skipped = 0;
    e->forms = e->next_form = 0;
    e->start = to;
    e->at = to + MS_RUN_HEAD_MAX_B;
}

/* The form of a record; *is_new: it must be defined. */
static inline uint32_t find_form(struct ms_encoder *e, const struct ms_record *r, bool *is_new)
{
    uint64_t key = r->kind | (uint32_t)r->flags << 8 | (uint64_t)r->arg << 32;
    *is_new = false;
    for (uint32_t i = 0; i < e->forms; i++) {
        if (e->key[i] == key) {
            return i;
        }
    }
    *is_new = true;
    uint32_t at = e->forms < MS_FORMS ? e->forms++ : e->next_form++ % MS_FORMS;
    e->key[at] = key;
    e->form[at] = (struct ms_form){.arg = r->arg, .kind = r->kind, .flags = r->flags};
    return at;
}

/* Converts the fields of the payload to the numbers of the group; returns the length of inline texts. */
static uint64_t payload_numbers(const struct ms_record *r, const char *shape, struct ms_form *form, uint64_t *number)
{
    const uint8_t *payload = (const uint8_t *)(r + 1);
    uint64_t texts_b = 0;
    for (uint32_t n = 0; shape[n] != 0; n++) {
        uint64_t value;
        if (shape[n] == 'd') {
            uint32_t narrow;
            memcpy(&narrow, payload, 4);
            payload += 4;
            value = narrow;
        } else {
            memcpy(&value, payload, 8);
            payload += 8;
        }
        if (shape[n] == 't') {
            uint32_t id = (uint32_t)value, length_b = (uint32_t)(value >> 32);
            number[n] = id != 0 ? (uint64_t)id << 1 : (uint64_t)length_b << 1 | 1;
            texts_b += id != 0 ? 0 : length_b;
        } else if (shape[n] == 'k') {
            number[n] = ms_fold(r->stamp - value);
        } else {
            number[n] = ms_fold(value - form->before[n]);
            form->before[n] = value;
        }
    }
    return texts_b;
}

/* Any record. */
static uint8_t *put_any(uint8_t *at, const struct ms_record *r, const struct ms_record_spec *spec, struct ms_form *form,
                        uint64_t stamp_number)
{
    uint64_t number[MS_GROUP_MAX];
    number[0] = stamp_number;
    uint64_t texts_b = payload_numbers(r, spec->shape, form, number + 1);
    unsigned numbers = 1u + spec->fields;
    if (r->flags & MS_RECORD_STACKS) {
        struct ms_stack_ids ids;
        memcpy(&ids, (const uint64_t *)r + r->words - 1, sizeof(ids));
        number[numbers++] = ms_fold((uint64_t)ids.c - form->stacks.c);
        number[numbers++] = ms_fold((uint64_t)ids.python - form->stacks.python);
        form->stacks = ids;
    }
    at = ms_put_group(at, number, numbers);
    if (texts_b != 0) {
        memcpy(at, (const uint8_t *)(r + 1) + spec->payload_b, texts_b);
        at += texts_b;
    }
    return at;
}

/* The same for a payload that consists of words only, as in most records: allocations and frees. The number of fields
 * is constant where this is inlined, and all numbers stay in registers. */
static inline __attribute__((always_inline)) uint8_t *put_words(uint8_t *at, const struct ms_record *r, unsigned fields,
                                                                struct ms_form *form, uint64_t stamp_number)
{
    const uint64_t *payload = (const uint64_t *)(r + 1);
    uint64_t number[1 + MS_WIDE_FIELDS] = {stamp_number};
    for (unsigned i = 0; i < fields; i++) {
        number[1 + i] = ms_fold(payload[i] - form->before[i]);
        form->before[i] = payload[i];
    }
    return ms_put_group(at, number, 1 + fields);
}

static uint8_t *put_wide(uint8_t *at, const struct ms_record *r, unsigned fields, struct ms_form *form,
                         uint64_t stamp_number)
{
    _Static_assert(MS_WIDE_FIELDS == 4, "cases");
    switch (fields) {
    case 0:
        return put_words(at, r, 0, form, stamp_number);
    case 1:
        return put_words(at, r, 1, form, stamp_number);
    case 2:
        return put_words(at, r, 2, form, stamp_number);
    case 3:
        return put_words(at, r, 3, form, stamp_number);
    default:
        return put_words(at, r, 4, form, stamp_number);
    }
}

void ms_encode(struct ms_encoder *e, const struct ms_record *r)
{
    const struct ms_record_spec *spec = &ms_record_specs[r->kind];
    uint8_t *at = e->at;
    bool is_new;
    uint32_t index = find_form(e, r, &is_new);
    struct ms_form *form = &e->form[index];

    if (e->skipped != 0) {
        *at++ = 0;
        at = ms_put_varint(at, e->skipped);
        e->skipped = 0;
    }
    *at++ = (uint8_t)(1 + index + (is_new ? MS_FORMS : 0));
    if (is_new) {
        *at++ = r->kind;
        *at++ = r->flags;
        at = ms_put_varint(at, r->arg);
    }
    if (MS_LIKELY(spec->wide && (r->flags & MS_RECORD_STACKS) == 0)) {
        e->at = put_wide(at, r, spec->fields, form, ms_fold(r->stamp - e->stamp));
    } else {
        e->at = put_any(at, r, spec, form, ms_fold(r->stamp - e->stamp));
    }
    e->stamp = r->stamp;
    e->run.records++;
    e->run.sequences++;
}

/* The head precedes the records and has a variable length: records were written after space for the longest head, and
 * are moved up to the actual one. */
uint8_t *ms_encode_end(struct ms_encoder *e)
{
    uint8_t *data = e->start + MS_RUN_HEAD_MAX_B;
    size_t data_b = (size_t)(e->at - data);
    uint8_t head[MS_RUN_HEAD_MAX_B], *at = head;
    at = ms_put_varint(at, e->run.stream);
    at = ms_put_varint(at, e->run.tid);
    at = ms_put_varint(at, e->run.clock_kind);
    at = ms_put_varint(at, e->run.records);
    at = ms_put_varint(at, e->run.first_seq);
    at = ms_put_varint(at, e->run.sequences);
    at = ms_put_varint(at, e->run.first_stamp);
    at = ms_put_varint(at, data_b);
    size_t head_b = (size_t)(at - head);
    memcpy(e->start, head, head_b);
    memmove(e->start + head_b, data, data_b);
    return e->start + head_b + data_b;
}

/* ---- decoding ---- */

bool ms_run_read(struct ms_bytes *in, struct ms_run *run, struct ms_bytes *data)
{
    uint64_t stream = ms_get_varint(in), tid = ms_get_varint(in), clock_kind = ms_get_varint(in);
    uint64_t records = ms_get_varint(in);
    *run = (struct ms_run){.stream = (uint32_t)stream,
                           .tid = (uint32_t)tid,
                           .clock_kind = (uint32_t)clock_kind,
                           .records = (uint32_t)records};
    run->first_seq = ms_get_varint(in);
    run->sequences = ms_get_varint(in);
    run->first_stamp = ms_get_varint(in);
    uint64_t data_b = ms_get_varint(in);
    data->at = ms_get_bytes(in, data_b);
    data->end = data->at != NULL ? data->at + data_b : NULL;
    return data->at != NULL && stream <= UINT32_MAX && tid <= UINT32_MAX && records <= data_b &&
           run->sequences >= records && run->first_seq + run->sequences >= run->first_seq;
}

void ms_decode_begin(struct ms_decoder *d, const struct ms_run *run, struct ms_bytes data)
{
    d->run = *run;
    d->in = data;
    d->seq = run->first_seq;
    d->stamp = run->first_stamp;
    d->left = run->records;
    d->known = 0;
}

static uint8_t read_byte(struct ms_bytes *in)
{
    const uint8_t *byte = ms_get_bytes(in, 1);
    return byte != NULL ? *byte : 0;
}

static struct ms_form *read_form(struct ms_decoder *d)
{
    uint8_t code = read_byte(&d->in);
    while (MS_UNLIKELY(code == 0) && ms_bytes_ok(&d->in)) {
        d->seq += ms_get_varint(&d->in);
        code = read_byte(&d->in);
    }
    if (code == 0 || code > 2 * MS_FORMS) {
        return NULL;
    }
    unsigned index = (code - 1u) % MS_FORMS;
    struct ms_form *form = &d->form[index];
    if (MS_UNLIKELY(code > MS_FORMS)) {
        uint8_t kind = read_byte(&d->in), flags = read_byte(&d->in);
        uint64_t arg = ms_get_varint(&d->in);
        const struct ms_record_spec *spec = ms_record_spec(kind);
        if (spec == NULL || spec->order == MS_ORDER_DEF || (flags & ~MS_RECORD_FLAGS) != 0 || arg > UINT32_MAX) {
            return NULL;
        }
        *form = (struct ms_form){.arg = (uint32_t)arg, .kind = kind, .flags = flags};
        d->known |= 1ull << index;
    }
    return d->known >> index & 1 ? form : NULL;
}

/* Converts the numbers of the group to the fields of the shape; false: an impossible text. */
static bool payload_fields(struct ms_decoder *d, const char *shape, struct ms_form *form, const uint64_t *number,
                           struct ms_decoded *out)
{
    unsigned texts = 0;
    for (uint32_t n = 0; shape[n] != 0; n++) {
        if (shape[n] == 't') {
            uint64_t of = number[n] >> 1;
            bool in_place = number[n] & 1;
            out->field[n] = in_place ? of << 32 : of;
            out->text_b[texts++] = in_place ? (uint32_t)of : 0;
            if (of > UINT32_MAX) {
                return false;
            }
        } else if (shape[n] == 'k') {
            out->field[n] = d->stamp - ms_unfold(number[n]);
        } else {
            form->before[n] += ms_unfold(number[n]);
            out->field[n] = form->before[n];
        }
    }
    for (unsigned i = 0; i < texts; i++) {
        out->text[i] = (const char *)ms_get_bytes(&d->in, out->text_b[i]);
    }
    return true;
}

int ms_decode(struct ms_decoder *d, struct ms_decoded *out)
{
    if (d->left == 0) {
        return 0;
    }
    struct ms_form *form = read_form(d);
    if (form == NULL) {
        return -1;
    }
    const struct ms_record_spec *spec = &ms_record_specs[form->kind];
    uint64_t number[MS_GROUP_MAX];
    unsigned stacks = form->flags & MS_RECORD_STACKS ? 2 : 0;
    ms_get_group(&d->in, number, 1u + spec->fields + stacks);
    d->stamp += ms_unfold(number[0]);
    out->seq = d->seq++;
    out->stamp = d->stamp;
    out->arg = form->arg;
    out->kind = form->kind;
    out->flags = form->flags;
    out->fields = spec->fields;
    out->stacks = (struct ms_stack_ids){0};
    if (stacks != 0) {
        form->stacks.c += (uint32_t)ms_unfold(number[1u + spec->fields]);
        form->stacks.python += (uint32_t)ms_unfold(number[2u + spec->fields]);
        out->stacks = form->stacks;
    }
    if (!payload_fields(d, spec->shape, form, number + 1, out) || !ms_bytes_ok(&d->in)) {
        return -1;
    }
    d->left--;
    return 1;
}
