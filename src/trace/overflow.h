/* SPDX-License-Identifier: Apache-2.0 */
/* Passes blocks through memory from a writer whose files have ended to a reader in the same process.
 *
 * A memfd that grows at its end and loses its pages at its beginning, at most MS_OVERFLOW_B in between. Without a
 * reader nothing is kept. Threads: one writer, one reader; a mutex (leaf) protects the positions. */
#ifndef MS_TRACE_OVERFLOW_H
#define MS_TRACE_OVERFLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MS_OVERFLOW_B ((uint64_t)64 << 20)

struct ms_overflow;
struct ms_overflow *ms_overflow_new(void);
void ms_overflow_release(struct ms_overflow *overflow); /* writer and reader each release their reference */

/* Writer. False: full, or no reader; nothing was kept. */
bool ms_overflow_append(struct ms_overflow *overflow, const void *data, size_t length_b);
/* Writer: this many records did not fit; since_stamp is the last stamp before them. */
void ms_overflow_lose(struct ms_overflow *overflow, uint64_t records, uint64_t since_stamp);

/* Bytes of all segment files: set by the writer, read from any thread. */
void ms_overflow_set_segments(struct ms_overflow *overflow, uint64_t bytes);
uint64_t ms_overflow_segments_b(const struct ms_overflow *overflow);

/* Reader: attaches; returns its own descriptor of the memory, or -errno. */
int ms_overflow_attach(struct ms_overflow *overflow);
/* Everything before the offset has been read and is no longer needed. */
void ms_overflow_consumed(struct ms_overflow *overflow, uint64_t offset);
/* Number of lost records, and since when. */
uint64_t ms_overflow_lost(struct ms_overflow *overflow, uint64_t *since_stamp);

#endif
