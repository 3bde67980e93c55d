/* SPDX-License-Identifier: Apache-2.0 */
/* What the writing side of a trace knows across segments: the position of each stream, the meaning of its ids, and all
 * definitions of the process. It is saved in the trace (at the head of each segment, and step by step with the
 * definitions), so that a new collector can continue after a crash without lost or duplicate records. One thread. */
#ifndef MS_TRACE_CATALOG_H
#define MS_TRACE_CATALOG_H

#include "base/macros.h"
#include "trace/deftable.h"
#include "trace/definitions.h"
#include "trace/wire.h"

/* Streams 0 ... MS_STREAMS_MAX - 1 are threads; the next one holds the collector's own records. */
#define MS_STREAM_COLLECTOR MS_STREAMS_MAX
#define MS_CATALOG_STREAMS  (MS_STREAMS_MAX + 1)

struct ms_stream_state {
    uint64_t next_seq;
    uint64_t last_stamp;
    uint32_t clock_kind; /* of that stamp */
    uint32_t ids;        /* capacity of `meaning` */
    uint32_t *meaning;   /* id of the stream - 1 -> id of the process, 0: none */
};

struct ms_catalog {
    struct ms_stream_state *stream; /* MS_CATALOG_STREAMS of them */
    struct ms_deftable *definitions;
};

int ms_catalog_init(struct ms_catalog *catalog); /* 0 or -ENOMEM */
void ms_catalog_destroy(struct ms_catalog *catalog);

/* Binds an id of the stream to this meaning. 0 or -errno. */
int ms_catalog_bind(struct ms_catalog *catalog, uint32_t stream, uint32_t id, uint32_t meaning);

static inline uint32_t ms_catalog_meaning(const struct ms_catalog *catalog, uint32_t stream, uint32_t id)
{
    const struct ms_stream_state *s = &catalog->stream[stream];
    return id - 1 < s->ids ? s->meaning[id - 1] : 0;
}

/* ---- in the file ---- */

/* A growing buffer of bytes. */
struct ms_blob {
    uint8_t *data;
    size_t used_b, room_b;
};
/* Makes space for length_b more bytes; NULL: out of memory. */
uint8_t *ms_blob_room(struct ms_blob *buffer, size_t length_b);
int ms_blob_varint(struct ms_blob *buffer, uint64_t value);
int ms_blob_bytes(struct ms_blob *buffer, const void *bytes, size_t length_b); /* length first */
void ms_blob_free(struct ms_blob *buffer);

/* Content of a STREAMS block. */
int ms_catalog_save(const struct ms_catalog *catalog, struct ms_blob *to);
bool ms_catalog_load(struct ms_catalog *catalog, struct ms_bytes from); /* false: damaged */

/* Content of a DEFINITIONS block: definitions and meanings, in the order in which they were added. */
int ms_catalog_put_definition(struct ms_blob *to, const struct ms_def *def);
int ms_catalog_put_binding(struct ms_blob *to, uint32_t stream, uint32_t id, uint32_t meaning);
struct ms_definition_item {
    struct ms_def def; /* kind 0: a binding */
    uint32_t stream, id, meaning;
};
/* The next item; false: no more, or damaged (see ms_bytes_ok). */
bool ms_catalog_next_item(struct ms_bytes *from, struct ms_definition_item *item);

/* Whether content from a file is valid for a definition of this kind: the lengths add up. */
bool ms_definition_sound(unsigned kind, unsigned flags, const void *content, size_t content_b);

#endif
