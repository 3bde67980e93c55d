/* SPDX-License-Identifier: Apache-2.0 */
/* Recording an event whose payload ends in a text. */
#ifndef MS_AGENT_RECORD_TEXT_H
#define MS_AGENT_RECORD_TEXT_H

#include "agent/agent.h"
#include "trace/definitions.h"

/* payload: payload_b bytes that end in the reference to the text, which is filled in here. recurring: the text will
 * recur, see ms_texts_add. Only while tracing. */
static inline __attribute__((always_inline)) void ms_record_text(enum ms_record_kind kind, uint32_t arg,
                                                                 const void *payload, size_t payload_b,
                                                                 const char *text, size_t length_b, bool recurring,
                                                                 bool with_stacks)
{
    struct ms_stack_ids ids;
    const struct ms_stack_ids *stacks = with_stacks ? ms_stacks(MS_STATE_ON, &ids) : NULL;
    struct ms_texts texts = {0};
    struct ms_slot slot;
    ms_texts_add(&texts, text, length_b, recurring);
    size_t text_b = ms_texts_tail_b(&texts);
    char *p = ms_rec_begin(&slot, payload_b + text_b + (stacks != NULL ? sizeof(*stacks) : 0), MS_ORDER_PLAIN);
    if (p == NULL) {
        return;
    }
    size_t numbers_b = payload_b - sizeof(texts.ref[0]);
    memcpy(p, payload, numbers_b);
    memcpy(p + numbers_b, &texts.ref[0], sizeof(texts.ref[0]));
    ms_texts_put(&texts, p + payload_b);
    if (stacks != NULL) {
        memcpy(p + payload_b + text_b, stacks, sizeof(*stacks));
        texts.flags |= MS_RECORD_STACKS;
    }
    ms_rec_commit(&slot, kind, texts.flags, arg, ms_rec_stamp(&slot));
}

#endif
