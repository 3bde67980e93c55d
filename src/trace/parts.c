/* SPDX-License-Identifier: Apache-2.0 */
/* One walk over the shape. Alignment: content is aligned to 8, and all parts but texts are whole words. */
#include "trace/parts.h"

#include "base/macros.h"
#include "trace/reader.h"

#include <string.h>

bool ms_parts(const struct ms_record_spec *spec, unsigned flags, void *content, size_t content_b, struct ms_parts *out)
{
    char *payload = content;
    *out = (struct ms_parts){.texts = 0};
    uint64_t need_b = spec->payload_b;
    uint64_t stacks_b = flags & MS_RECORD_STACKS ? sizeof(struct ms_stack_ids) : 0;
    if (content_b < need_b + stacks_b) {
        return false;
    }
    out->stacks = stacks_b != 0 ? (struct ms_stack_ids *)(void *)(payload + content_b - stacks_b) : NULL;
    if (spec->plain) {
        return content_b == need_b + stacks_b;
    }
    uint64_t texts_b = 0;
    uint32_t offset = 0;
    for (const char *field = spec->shape; *field != 0; field++) {
        switch (*field) {
        case 't': {
            struct ms_text_ref *ref = (struct ms_text_ref *)(void *)(payload + offset);
            out->ref[out->texts++] = ref;
            texts_b += ref->id == 0 ? ref->length_b : 0;
            offset += 8;
            break;
        }
        case 'f':
            memcpy(&out->frames, payload + offset, 4);
            offset += 4;
            break;
        case 'l':
            memcpy(&out->bytes_b, payload + offset, 4);
            offset += 4;
            break;
        case 'd':
            offset += 4;
            break;
        default:
            offset += 8;
            break;
        }
    }
    uint64_t texts_at = need_b;
    need_b += MS_ROUND_UP(texts_b, 8);
    uint64_t frames_at = need_b;
    need_b += (uint64_t)out->frames * sizeof(struct ms_frame) + MS_ROUND_UP((uint64_t)out->bytes_b, 8) + stacks_b;
    if (need_b != content_b) {
        return false;
    }
    out->texts_b = (uint32_t)texts_b;
    char *text = payload + texts_at;
    for (uint32_t i = 0; i < out->texts; i++) {
        out->text[i] = text;
        text += out->ref[i]->id == 0 ? out->ref[i]->length_b : 0;
    }
    out->frame = (struct ms_frame *)(void *)(payload + frames_at);
    out->bytes = (uint8_t *)payload + frames_at;
    return true;
}

void ms__module_of(const void *content, const struct ms_parts *parts, struct ms_module *out)
{
    const struct ms_p_module *p = content;
    *out = (struct ms_module){
        .base = p->base,
        .size_b = p->size_b,
        .build_id = p->build_id,
        .build_id_b = p->build_id_b <= sizeof(p->build_id) ? p->build_id_b : sizeof(p->build_id),
        .path = {.s = parts->text[0], .length_b = parts->ref[0]->id == 0 ? parts->ref[0]->length_b : 0},
    };
}
