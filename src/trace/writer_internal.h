/* SPDX-License-Identifier: Apache-2.0 */
/* The writer as the drain uses it. */
#ifndef MS_TRACE_WRITER_INTERNAL_H
#define MS_TRACE_WRITER_INTERNAL_H

#include "trace/block.h"
#include "trace/catalog.h"
#include "trace/segment.h"
#include "trace/writer.h"

/* ---- what the drain does with a writer ---- */

struct ms_catalog *ms__writer_catalog(struct ms_writer *writer);
/* Number that changes whenever definitions must be written again before their next use. */
uint64_t ms__writer_epoch(const struct ms_writer *writer);
/* Packs a block after those that wait to be written. */
int ms__writer_add(struct ms_writer *writer, struct ms_block_head *head, const void *raw, size_t raw_b);
/* Writes waiting blocks. A full disk is not a failure of this function, see writer.h. */
int ms__writer_flush(struct ms_writer *writer);
bool ms__writer_should_flush(const struct ms_writer *writer); /* many blocks wait */
/* Begins a new segment if the current one is long enough. Between sweeps only. */
int ms__writer_rotate(struct ms_writer *writer);
/* Losses by cause, for the end block. */
void ms__writer_lost(struct ms_writer *writer, const uint64_t lost[MS_GAP_CAUSES]);

#endif
