/* SPDX-License-Identifier: Apache-2.0 */
/* Definitions of a process by content and by id: the drain renumbers with it, the reader looks up in it.
 *
 * Content is the payload and tail of a definition record (records.h), with ids of the process inside. Ids are 1, 2,
 * 3 ..., one series for all kinds. Entries are never removed; memory grows with the number of distinct definitions.
 * One thread. */
#ifndef MS_TRACE_DEFTABLE_H
#define MS_TRACE_DEFTABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ms_def {
    const uint8_t *content; /* aligned to 8 */
    uint32_t content_b;
    uint8_t kind;  /* enum ms_record_kind, 0: no such definition */
    uint8_t flags; /* MS_RECORD_CUT */
    uint32_t id;
    uint64_t hash;
    uint64_t segment; /* for the user of the table: where it was last written */
};

struct ms_deftable;
struct ms_deftable *ms_deftable_new(void);
void ms_deftable_free(struct ms_deftable *table);

/* Id of this content, a new one if it is unknown; 0: out of memory. */
uint32_t ms_deftable_intern(struct ms_deftable *table, unsigned kind, unsigned flags, const void *content,
                            size_t content_b);

/* Adds content under a given id, as a file says; an existing entry stays. 0 or -errno. */
int ms_deftable_set(struct ms_deftable *table, uint32_t id, unsigned kind, unsigned flags, const void *content,
                    size_t content_b);

/* NULL if there is none. Valid until the next entry is added; its content stays. */
struct ms_def *ms_deftable_get(const struct ms_deftable *table, uint32_t id);

uint32_t ms_deftable_count(const struct ms_deftable *table);                /* entries */
struct ms_def *ms_deftable_at(const struct ms_deftable *table, uint32_t i); /* entries in insertion order, from 0 */
uint32_t ms_deftable_last_id(const struct ms_deftable *table);              /* largest number in use */
/* Ids up to this one are in use, whether or not their content is known. */
void ms_deftable_reserve(struct ms_deftable *table, uint32_t id);
size_t ms_deftable_bytes(const struct ms_deftable *table);

#endif
