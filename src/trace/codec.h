/* SPDX-License-Identifier: Apache-2.0 */
/* Runs: consecutive records of one stream, encoded in few bytes.
 *
 * Each record has a form (kind, flags and arg, defined once per run) and differences to the previous record of the
 * same form. A run can be decoded by itself. Definitions are not part of it, but their sequence numbers are skipped.
 * The decoder trusts nothing in its input. */
#ifndef MS_TRACE_CODEC_H
#define MS_TRACE_CODEC_H

#include "trace/records.h"
#include "trace/wire.h"

#include <stddef.h>

#define MS_FIELDS_MAX 8 /* of kinds that are not definitions */
#define MS_FORMS      64

struct ms_form {
    uint32_t arg;
    uint8_t kind, flags;
    uint64_t before[MS_FIELDS_MAX];
    struct ms_stack_ids stacks;
};

/* Common to all records of a run. */
struct ms_run {
    uint32_t stream;
    uint32_t tid;
    uint32_t clock_kind; /* of the first record */
    uint32_t records;    /* without definitions */
    uint64_t first_seq;
    uint64_t sequences; /* sequence numbers covered, definitions included */
    uint64_t first_stamp;
};

/* ---- encoding ---- */

struct ms_encoder {
    struct ms_run run;
    uint64_t stamp;
    uint64_t skipped; /* sequence numbers of definitions since the last record */
    uint32_t forms, next_form;
    uint8_t *start, *at;
    uint64_t key[MS_FORMS]; /* kind, flags and arg of each form */
    struct ms_form form[MS_FORMS];
};

/* Upper bound of the size of one record without its inline texts, including bytes written ahead. */
#define MS_ENCODED_MAX_B  160u
#define MS_RUN_HEAD_MAX_B (8 * MS_VARINT_MAX_B)

/* Begins a run at `to`; ms_encode_end writes its head. */
void ms_encode_begin(struct ms_encoder *encoder, const struct ms_run *run, uint8_t *to);
/* Adds a checked record with ids of the process. The caller has ensured that there is space. */
void ms_encode(struct ms_encoder *encoder, const struct ms_record *record);
/* A definition at this place in the stream. */
static inline void ms_encode_skip(struct ms_encoder *encoder)
{
    encoder->skipped++;
    encoder->run.sequences++;
}
/* Finishes the run; returns its end. */
uint8_t *ms_encode_end(struct ms_encoder *encoder);

/* ---- decoding ---- */

struct ms_decoded {
    uint64_t seq, stamp;
    uint32_t arg;
    uint8_t kind, flags;
    uint8_t fields;
    uint64_t field[MS_FIELDS_MAX]; /* one per letter of the shape; a text: id, or length << 32 */
    const char *text[2];           /* bytes of inline texts, in the block */
    uint32_t text_b[2];
    struct ms_stack_ids stacks;
};

struct ms_decoder {
    struct ms_run run;
    struct ms_bytes in;
    uint64_t seq, stamp;
    uint32_t left;  /* records */
    uint64_t known; /* bit per form */
    struct ms_form form[MS_FORMS];
};

/* Reads the head of the run at `in` and moves `in` past the run; `data` receives its records. False: damaged. */
bool ms_run_read(struct ms_bytes *in, struct ms_run *run, struct ms_bytes *data);
void ms_decode_begin(struct ms_decoder *decoder, const struct ms_run *run, struct ms_bytes data);
/* 1: a record; 0: end of the run; -1: damaged. */
int ms_decode(struct ms_decoder *decoder, struct ms_decoded *out);

#endif
