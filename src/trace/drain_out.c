/* SPDX-License-Identifier: Apache-2.0 */
/* Outgoing side of the drain: ids of streams become ids of the process, records become runs, runs become blocks.
 *
 * A definition is written before its first use in an epoch of the writer (a segment), after the definitions that it
 * refers to; so DEFINITIONS blocks always precede the RECORDS block that was filled meanwhile. */
#include "trace/drain_internal.h"

#include "trace/parts.h"

#include <errno.h>
#include <stdlib.h>

/* Space after block_end: the longest record with its head, and the head of its run. */
#define SLACK_B (MS_RECORD_MAX_B + MS_ENCODED_MAX_B + MS_RUN_HEAD_MAX_B)

static void empty_block(struct ms_outgoing *out)
{
    out->block_at = out->block;
    out->runs = out->records = 0;
    out->first_stamp = UINT64_MAX;
    out->last_stamp = 0;
}

int ms__out_init(struct ms_outgoing *out, struct ms_writer *writer, uint64_t *damage)
{
    *out = (struct ms_outgoing){.writer = writer, .catalog = ms__writer_catalog(writer), .damage = damage};
    out->block = malloc(MS_BLOCK_RAW_B + SLACK_B);
    if (out->block == NULL) {
        return -ENOMEM;
    }
    out->block_end = out->block + MS_BLOCK_RAW_B;
    empty_block(out);
    return 0;
}

void ms__out_destroy(struct ms_outgoing *out)
{
    free(out->block);
    ms_blob_free(&out->definitions);
}

void ms__out_break(struct ms_outgoing *out)
{
    if (out->run_open) {
        out->block_at = ms_encode_end(&out->encoder);
        out->records += out->encoder.run.records;
        out->runs++;
        out->run_open = false;
    }
}

int ms__out_flush(struct ms_outgoing *out)
{
    int rc = 0;
    ms__out_break(out);
    if (out->definition_items != 0) {
        struct ms_block_head head = {
            .kind = MS_BLOCK_DEFINITIONS, .stream = MS_STREAM_MANY, .items = out->definition_items};
        rc = ms__writer_add(out->writer, &head, out->definitions.data, out->definitions.used_b);
        out->definitions.used_b = 0;
        out->definition_items = 0;
    }
    if (rc == 0 && out->runs != 0) {
        struct ms_block_head head = {
            .kind = MS_BLOCK_RECORDS,
            .items = out->records,
            .runs = out->runs,
            .stream = MS_STREAM_MANY,
            .first_stamp = out->records != 0 ? out->first_stamp : 0, /* definitions have none */
            .last_stamp = out->last_stamp,
        };
        if (out->runs == 1) {
            head.stream = out->encoder.run.stream;
            head.first_seq = out->encoder.run.first_seq;
            head.last_seq = out->encoder.run.first_seq + out->encoder.run.sequences - 1;
        }
        rc = ms__writer_add(out->writer, &head, out->block, (size_t)(out->block_at - out->block));
        out->max_stamp = out->max_stamp < out->last_stamp ? out->last_stamp : out->max_stamp;
        empty_block(out);
    }
    return rc;
}

int ms__out_sweep(struct ms_outgoing *out, enum ms_block_kind kind, const struct ms_sweep *sweep)
{
    struct ms_block_head head = {.kind = (uint8_t)kind, .stream = MS_STREAM_MANY};
    return ms__writer_add(out->writer, &head, sweep, sizeof(*sweep));
}

/* ---- definitions ---- */

static int write_definition(struct ms_outgoing *out, struct ms_def *def)
{
    uint64_t epoch = ms__writer_epoch(out->writer);
    if (def->segment == epoch) {
        return 0;
    }
    def->segment = epoch; /* first, so that damaged frames that refer to their own stack end here */
    struct ms_parts parts;
    ms_parts(ms_record_spec(def->kind), def->flags, (void *)(uintptr_t)def->content, def->content_b, &parts);
    for (uint32_t i = 0; i < parts.frames; i++) {
        struct ms_def *in =
            parts.frame[i].in != 0 ? ms_deftable_get(out->catalog->definitions, parts.frame[i].in) : NULL;
        int rc =
            in != NULL && (in->kind == MS_R_DEF_MODULE || in->kind == MS_R_DEF_CODE) ? write_definition(out, in) : 0;
        if (rc != 0) {
            return rc;
        }
    }
    out->definition_items++;
    return ms_catalog_put_definition(&out->definitions, def);
}

/* Meaning of an id of the stream, if it is of that kind; 0: none (counted). The definition is in the trace
 * afterwards. */
static uint32_t resolve(struct ms_outgoing *out, uint32_t stream, uint32_t id, unsigned kind, bool write)
{
    uint32_t meaning = ms_catalog_meaning(out->catalog, stream, id);
    struct ms_def *def = meaning != 0 ? ms_deftable_get(out->catalog->definitions, meaning) : NULL;
    if (def == NULL || def->kind != kind || (write && write_definition(out, def) != 0)) {
        out->damage[MS_DAMAGE_REFERENCE]++;
        return 0;
    }
    return meaning;
}

static void tell_watch(const struct ms_outgoing *out, const struct ms_record *r, const struct ms_parts *parts)
{
    const struct ms_drain_observer *observer = &out->observer;
    if (r->kind == MS_R_DEF_MODULE && observer->module != NULL) {
        struct ms_module module;
        ms__module_of((const void *)(r + 1), parts, &module);
        observer->module(observer->argument, &module);
    }
    for (uint32_t i = 0; r->kind == MS_R_DEF_STACK && observer->generated != NULL && i < parts->frames; i++) {
        if (parts->frame[i].in == 0) {
            observer->generated(observer->argument, parts->frame[i].offset);
        }
    }
}

static int define(struct ms_outgoing *out, uint32_t stream, struct ms_record *r, struct ms_parts *parts,
                  size_t content_b)
{
    unsigned frames_in = r->kind == MS_R_DEF_PYSTACK ? MS_R_DEF_CODE : MS_R_DEF_MODULE;
    uint32_t last_in = 0, last_meaning = 0;
    for (uint32_t i = 0; i < parts->frames; i++) {
        struct ms_frame *frame = &parts->frame[i];
        if (frame->in != 0 && frame->in != last_in) {
            last_in = frame->in;
            last_meaning = resolve(out, stream, frame->in, frames_in, false);
        }
        frame->in = frame->in != 0 ? last_meaning : 0;
        frame->reserved = 0;
    }
    for (uint32_t i = 0; i < parts->texts; i++) {
        if (parts->ref[i]->id != 0) { /* never done by a producer: definitions hold their texts inline */
            *parts->ref[i] = (struct ms_text_ref){0};
            out->damage[MS_DAMAGE_REFERENCE]++;
        }
    }
    uint32_t known = ms_deftable_count(out->catalog->definitions);
    uint32_t meaning =
        ms_deftable_intern(out->catalog->definitions, r->kind, r->flags & MS_RECORD_CUT, r + 1, content_b);
    if (meaning == 0) {
        return -ENOMEM;
    }
    if (ms_deftable_count(out->catalog->definitions) != known) {
        tell_watch(out, r, parts);
    }
    if (ms_catalog_bind(out->catalog, stream, r->arg, meaning) != 0) {
        out->damage[MS_DAMAGE_REFERENCE]++;
        return 0;
    }
    out->definition_items++;
    return ms_catalog_put_binding(&out->definitions, stream, r->arg, meaning);
}

/* ---- records ---- */

static void renumber(struct ms_outgoing *out, uint32_t stream, struct ms_parts *parts)
{
    for (uint32_t i = 0; i < parts->texts; i++) {
        struct ms_text_ref *ref = parts->ref[i];
        if (ref->id != 0) {
            *ref = (struct ms_text_ref){.id = resolve(out, stream, ref->id, MS_R_DEF_TEXT, true)};
        }
    }
    struct ms_stack_ids *stacks = parts->stacks;
    if (stacks != NULL && stacks->c != 0) {
        stacks->c = resolve(out, stream, stacks->c, MS_R_DEF_STACK, true);
    }
    if (stacks != NULL && stacks->python != 0 && stacks->python != MS_STACK_NO_GIL) {
        stacks->python = resolve(out, stream, stacks->python, MS_R_DEF_PYSTACK, true);
    }
}

static int run_for(struct ms_outgoing *out, const struct ms_run *where, size_t record_b)
{
    const struct ms_run *run = &out->encoder.run;
    if (out->run_open &&
        (run->stream != where->stream || run->tid != where->tid || run->clock_kind != where->clock_kind ||
         run->first_seq + run->sequences != where->first_seq)) {
        ms__out_break(out);
    }
    uint8_t *at = out->run_open ? out->encoder.at : out->block_at;
    if (at + record_b > out->block_end) {
        int rc = ms__out_flush(out);
        if (rc != 0) {
            return rc;
        }
    }
    if (!out->run_open) {
        ms_encode_begin(&out->encoder, where, out->block_at);
        out->run_open = true;
    }
    return 0;
}

static inline void encode(struct ms_outgoing *out, const struct ms_record *r)
{
    ms_encode(&out->encoder, r);
    out->first_stamp = r->stamp < out->first_stamp ? r->stamp : out->first_stamp;
    out->last_stamp = r->stamp > out->last_stamp ? r->stamp : out->last_stamp;
}

int ms__out_record(struct ms_outgoing *out, const struct ms_run *where, struct ms_record *r)
{
    const struct ms_record_spec *spec = ms_record_spec(r->kind);
    size_t content_b = (size_t)r->words * 8 - sizeof(*r);
    struct ms_parts parts;
    if (spec->plain && (r->flags & MS_RECORD_STACKS) == 0) { /* no ids and no lengths: nothing to decode */
        int rc = content_b == spec->payload_b ? run_for(out, where, (size_t)r->words * 8) : -EBADMSG;
        if (rc == 0) {
            encode(out, r);
        }
        return rc;
    }
    if (!ms_parts(spec, r->flags, r + 1, content_b, &parts)) {
        return -EBADMSG;
    }
    int rc = run_for(out, where, (size_t)r->words * 8);
    if (rc != 0) {
        return rc;
    }
    if (spec->order == MS_ORDER_DEF) {
        ms_encode_skip(&out->encoder);
        return define(out, where->stream, r, &parts, content_b);
    }
    if (parts.texts != 0 || parts.stacks != NULL) {
        renumber(out, where->stream, &parts);
    }
    encode(out, r);
    return 0;
}
