/* Encoder and decoder of runs, side by side. A record begins with a number:
 *
 *     0                        so many (next number) sequence numbers belong to definitions
 *     1 + (form << 1)          a record of a known form
 *     1 + (form << 1 | 1)      a form, told: kind, flags, arg; then the record
 *
 * then the difference of the stamp, the fields of the shape, the stack ids, the bytes of inline texts. */
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
    e->forms = e->next_form = e->last_form = 0;
    e->start = to;
    e->at = to + MS_RUN_HEAD_MAX_B;
}

static bool is_form(const struct ms_form *form, const struct ms_record *r)
{
    return form->kind == r->kind && form->flags == r->flags && form->arg == r->arg;
}

/* The form of a record; *told: it is new. */
static uint32_t find_form(struct ms_encoder *e, const struct ms_record *r, bool *told)
{
    *told = false;
    for (uint32_t i = 0; i < e->forms; i++) {
        if (is_form(&e->form[i], r)) {
            return i;
        }
    }
    *told = true;
    uint32_t at = e->forms < MS_FORMS ? e->forms++ : e->next_form++ % MS_FORMS;
    e->form[at] = (struct ms_form){.arg = r->arg, .kind = r->kind, .flags = r->flags};
    return at;
}

void ms_encode(struct ms_encoder *e, const struct ms_record *r)
{
    const struct ms_record_spec *spec = ms_record_spec(r->kind);
    const uint8_t *payload = (const uint8_t *)(r + 1);
    uint8_t *at = e->at;
    bool told;
    uint32_t index = find_form(e, r, &told);
    struct ms_form *form = &e->form[index];

    if (e->skipped != 0) {
        *at++ = 0;
        at = ms_put_varint(at, e->skipped);
        e->skipped = 0;
    }
    at = ms_put_varint(at, 1 + (index << 1 | told));
    if (told) {
        *at++ = r->kind;
        *at++ = r->flags;
        at = ms_put_varint(at, r->arg);
    }
    at = ms_put_varint(at, ms_fold(r->stamp - e->stamp));
    e->stamp = r->stamp;
    uint64_t texts_b = 0;
    uint32_t n = 0;
    for (const char *field = spec->shape; *field != 0; field++, n++) {
        uint64_t value = 0;
        unsigned width_b = *field == 'd' ? 4 : 8;
        if (width_b == 4) {
            uint32_t narrow;
            memcpy(&narrow, payload, 4);
            value = narrow;
        } else {
            memcpy(&value, payload, 8);
        }
        payload += width_b;
        switch (*field) {
        case 't': {
            uint32_t id = (uint32_t)value, length_b = (uint32_t)(value >> 32);
            at = ms_put_varint(at, id != 0 ? (uint64_t)id << 1 : (uint64_t)length_b << 1 | 1);
            texts_b += id != 0 ? 0 : length_b;
            break;
        }
        case 'k':
            at = ms_put_varint(at, ms_fold(r->stamp - value));
            break;
        default:
            at = ms_put_varint(at, ms_fold(value - form->before[n]));
            form->before[n] = value;
            break;
        }
    }
    if (r->flags & MS_RECORD_STACKS) {
        struct ms_stack_ids ids;
        memcpy(&ids, (const uint64_t *)r + r->words - 1, sizeof(ids));
        at = ms_put_varint(at, ms_fold((uint64_t)ids.c - form->stacks.c));
        at = ms_put_varint(at, ms_fold((uint64_t)ids.python - form->stacks.python));
        form->stacks = ids;
    }
    memcpy(at, payload, texts_b);
    e->at = at + texts_b;
    e->run.records++;
    e->run.sequences++;
}

/* The head stands in front of the records and is as long as it is: records were written behind room for the longest one
 * and move up to it. */
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
    data->end = data->at + (data->at != NULL ? data_b : 0);
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

static struct ms_form *read_form(struct ms_decoder *d)
{
    uint64_t code = ms_get_varint(&d->in);
    while (code == 0 && ms_bytes_ok(&d->in)) {
        d->seq += ms_get_varint(&d->in);
        code = ms_get_varint(&d->in);
    }
    uint64_t index = (code - 1) >> 1;
    if (code == 0 || index >= MS_FORMS) {
        return NULL;
    }
    struct ms_form *form = &d->form[index];
    if ((code - 1) & 1) {
        uint64_t kind = ms_get_varint(&d->in), flags = ms_get_varint(&d->in), arg = ms_get_varint(&d->in);
        const struct ms_record_spec *spec = ms_record_spec((unsigned)(kind & 0xff));
        if (kind > 0xff || spec == NULL || spec->order == MS_ORDER_DEF || flags & ~(uint64_t)MS_RECORD_FLAGS) {
            return NULL;
        }
        *form = (struct ms_form){.arg = (uint32_t)arg, .kind = (uint8_t)kind, .flags = (uint8_t)flags};
        d->known |= 1ull << index;
    }
    return d->known >> index & 1 ? form : NULL;
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
    const struct ms_record_spec *spec = ms_record_spec(form->kind);
    d->stamp += ms_unfold(ms_get_varint(&d->in));
    out->seq = d->seq++;
    out->stamp = d->stamp;
    out->arg = form->arg;
    out->kind = form->kind;
    out->flags = form->flags;
    uint32_t n = 0, texts = 0;
    uint64_t text_b[2] = {0};
    for (const char *field = spec->shape; *field != 0; field++, n++) {
        uint64_t code = ms_get_varint(&d->in);
        switch (*field) {
        case 't':
            text_b[texts++] = code & 1 ? code >> 1 : 0;
            out->field[n] = code & 1 ? code >> 1 << 32 : code >> 1;
            if (code >> 33 != 0) {
                return -1;
            }
            break;
        case 'k':
            out->field[n] = d->stamp - ms_unfold(code);
            break;
        default:
            form->before[n] += ms_unfold(code);
            out->field[n] = form->before[n];
            break;
        }
    }
    out->fields = (uint8_t)n;
    out->stacks = (struct ms_stack_ids){0};
    if (form->flags & MS_RECORD_STACKS) {
        form->stacks.c += (uint32_t)ms_unfold(ms_get_varint(&d->in));
        form->stacks.python += (uint32_t)ms_unfold(ms_get_varint(&d->in));
        out->stacks = form->stacks;
    }
    for (uint32_t i = 0; i < texts; i++) {
        out->text[i] = (const char *)ms_get_bytes(&d->in, text_b[i]);
    }
    if (!ms_bytes_ok(&d->in)) {
        return -1;
    }
    d->left--;
    return 1;
}
