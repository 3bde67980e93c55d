/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of STREAMS and DEFINITIONS blocks: docs/format/trace.md. Content of definitions is padded to a multiple of 8 in
 * the (aligned) block, so it can be used in place. */
#include "trace/catalog.h"

#include "trace/parts.h"

#include <errno.h>
#include <stdlib.h>

int ms_catalog_init(struct ms_catalog *catalog)
{
    catalog->stream = calloc(MS_CATALOG_STREAMS, sizeof(*catalog->stream));
    catalog->definitions = ms_deftable_new();
    if (catalog->stream == NULL || catalog->definitions == NULL) {
        ms_catalog_destroy(catalog);
        return -ENOMEM;
    }
    return 0;
}

void ms_catalog_destroy(struct ms_catalog *catalog)
{
    for (uint32_t i = 0; catalog->stream != NULL && i < MS_CATALOG_STREAMS; i++) {
        free(catalog->stream[i].meaning);
    }
    free(catalog->stream);
    ms_deftable_free(catalog->definitions);
    *catalog = (struct ms_catalog){0};
}

int ms_catalog_bind(struct ms_catalog *catalog, uint32_t stream, uint32_t id, uint32_t meaning)
{
    if (stream >= MS_CATALOG_STREAMS || id - 1 >= MS_DEFINITION_IDS) {
        return -EINVAL;
    }
    struct ms_stream_state *s = &catalog->stream[stream];
    if (id > s->ids) {
        uint32_t ids = s->ids == 0 ? 64 : s->ids;
        while (ids < id) {
            ids *= 2;
        }
        uint32_t *grown = realloc(s->meaning, ids * sizeof(*grown));
        if (grown == NULL) {
            return -ENOMEM;
        }
        memset(grown + s->ids, 0, (ids - s->ids) * sizeof(*grown));
        s->meaning = grown;
        s->ids = ids;
    }
    s->meaning[id - 1] = meaning;
    return 0;
}

/* ---- buffer ---- */

uint8_t *ms_blob_room(struct ms_blob *b, size_t length_b)
{
    if (b->room_b - b->used_b < length_b) {
        size_t room_b = b->room_b == 0 ? 4096 : b->room_b;
        while (room_b - b->used_b < length_b) {
            room_b *= 2;
        }
        uint8_t *data = realloc(b->data, room_b);
        if (data == NULL) {
            return NULL;
        }
        b->data = data;
        b->room_b = room_b;
    }
    return b->data + b->used_b;
}

int ms_blob_varint(struct ms_blob *b, uint64_t value)
{
    uint8_t *at = ms_blob_room(b, MS_VARINT_MAX_B);
    if (at == NULL) {
        return -ENOMEM;
    }
    b->used_b = (size_t)(ms_put_varint(at, value) - b->data);
    return 0;
}

int ms_blob_bytes(struct ms_blob *b, const void *bytes, size_t length_b)
{
    if (ms_blob_varint(b, length_b) != 0 || ms_blob_room(b, length_b + 1) == NULL) {
        return -ENOMEM;
    }
    if (length_b != 0) {
        memcpy(b->data + b->used_b, bytes, length_b);
    }
    b->used_b += length_b;
    return 0;
}

void ms_blob_free(struct ms_blob *b)
{
    free(b->data);
    *b = (struct ms_blob){0};
}

/* ---- STREAMS ---- */

static int save_stream(const struct ms_stream_state *s, uint32_t stream, struct ms_blob *to)
{
    uint32_t bound = 0;
    for (uint32_t i = 0; i < s->ids; i++) {
        bound += s->meaning[i] != 0;
    }
    int rc = ms_blob_varint(to, (uint64_t)stream + 1);
    rc = rc != 0 ? rc : ms_blob_varint(to, s->next_seq);
    rc = rc != 0 ? rc : ms_blob_varint(to, s->last_stamp);
    rc = rc != 0 ? rc : ms_blob_varint(to, bound);
    uint32_t id = 0, meaning = 0;
    for (uint32_t i = 0; i < s->ids && rc == 0; i++) {
        if (s->meaning[i] != 0) {
            rc = ms_blob_varint(to, i + 1 - id);
            rc = rc != 0 ? rc : ms_blob_varint(to, ms_fold((uint64_t)s->meaning[i] - meaning));
            id = i + 1;
            meaning = s->meaning[i];
        }
    }
    return rc;
}

int ms_catalog_save(const struct ms_catalog *catalog, struct ms_blob *to)
{
    int rc = ms_blob_varint(to, ms_deftable_last_id(catalog->definitions));
    for (uint32_t i = 0; i < MS_CATALOG_STREAMS && rc == 0; i++) {
        const struct ms_stream_state *s = &catalog->stream[i];
        if (s->next_seq != 0 || s->ids != 0) {
            rc = save_stream(s, i, to);
        }
    }
    return rc != 0 ? rc : ms_blob_varint(to, 0);
}

bool ms_catalog_load(struct ms_catalog *catalog, struct ms_bytes from)
{
    ms_deftable_reserve(catalog->definitions, (uint32_t)ms_get_varint(&from));
    for (uint64_t stream = ms_get_varint(&from); stream != 0; stream = ms_get_varint(&from)) {
        if (stream > MS_CATALOG_STREAMS) {
            return false;
        }
        struct ms_stream_state *s = &catalog->stream[stream - 1];
        s->next_seq = ms_get_varint(&from);
        s->last_stamp = ms_get_varint(&from);
        uint64_t bound = ms_get_varint(&from);
        uint64_t id = 0, meaning = 0;
        for (uint64_t i = 0; i < bound && ms_bytes_ok(&from); i++) {
            id += ms_get_varint(&from);
            meaning += ms_unfold(ms_get_varint(&from));
            if (id > MS_DEFINITION_IDS ||
                ms_catalog_bind(catalog, (uint32_t)stream - 1, (uint32_t)id, (uint32_t)meaning) != 0) {
                return false;
            }
        }
    }
    return ms_bytes_ok(&from);
}

/* ---- DEFINITIONS ---- */

int ms_catalog_put_definition(struct ms_blob *to, const struct ms_def *def)
{
    int rc = ms_blob_varint(to, def->kind);
    rc = rc != 0 ? rc : ms_blob_varint(to, def->flags);
    rc = rc != 0 ? rc : ms_blob_varint(to, def->id);
    rc = rc != 0 ? rc : ms_blob_varint(to, def->content_b);
    uint8_t *at = rc == 0 ? ms_blob_room(to, def->content_b + 8) : NULL;
    if (at == NULL) {
        return -ENOMEM;
    }
    while (to->used_b % 8 != 0) {
        to->data[to->used_b++] = 0;
    }
    memcpy(to->data + to->used_b, def->content, def->content_b);
    to->used_b += def->content_b;
    return 0;
}

int ms_catalog_put_binding(struct ms_blob *to, uint32_t stream, uint32_t id, uint32_t meaning)
{
    int rc = ms_blob_varint(to, 0);
    rc = rc != 0 ? rc : ms_blob_varint(to, stream);
    rc = rc != 0 ? rc : ms_blob_varint(to, id);
    return rc != 0 ? rc : ms_blob_varint(to, meaning);
}

bool ms_catalog_next_item(struct ms_bytes *from, struct ms_definition_item *item)
{
    if (!ms_bytes_ok(from) || from->at == from->end) {
        return false;
    }
    *item = (struct ms_definition_item){.def.kind = (uint8_t)ms_get_varint(from)};
    if (item->def.kind == 0) {
        item->stream = (uint32_t)ms_get_varint(from);
        item->id = (uint32_t)ms_get_varint(from);
        item->meaning = (uint32_t)ms_get_varint(from);
        return ms_bytes_ok(from);
    }
    item->def.flags = (uint8_t)ms_get_varint(from);
    item->def.id = (uint32_t)ms_get_varint(from);
    uint64_t content_b = ms_get_varint(from);
    ms_get_bytes(from, (0 - (uintptr_t)from->at) & 7);
    item->def.content = ms_get_bytes(from, content_b);
    item->def.content_b = (uint32_t)content_b;
    return ms_bytes_ok(from);
}

bool ms_definition_sound(unsigned kind, unsigned flags, const void *content, size_t content_b)
{
    const struct ms_record_spec *spec = ms_record_spec(kind);
    struct ms_parts parts;
    return spec != NULL && spec->order == MS_ORDER_DEF && (flags & ~MS_RECORD_CUT) == 0 &&
           ms_parts(spec, flags, (void *)(uintptr_t)content, content_b, &parts);
}
