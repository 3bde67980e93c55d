/* SPDX-License-Identifier: Apache-2.0 */
/* A bounded queue of byte messages between two threads: slow operations (disk, driver) run in a separate thread, and
 * the event loop never waits for them.
 *
 * Bounds: a number of messages and a number of bytes. A message that does not fit is dropped and counted. The newest
 * message is dropped, not the oldest, so that the reader sees no gap in the middle. */
#ifndef MON_METRICS_QUEUE_H
#define MON_METRICS_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mon_queue;

struct mon_queue_stats {
    size_t length, bytes;
    uint64_t taken, dropped;
};

struct mon_queue *mon_queue_new(size_t max_messages, size_t max_bytes); /* NULL: out of memory */
void mon_queue_free(struct mon_queue *queue);                           /* no thread may use it any longer */

/* Never blocks. False: full, closed or out of memory; counted as dropped. */
bool mon_queue_put(struct mon_queue *queue, const void *data, size_t size_b);
/* Removes the oldest message; the caller frees it. timeout_ms < 0: wait until there is one. NULL: timeout, or the queue
 * is closed and empty (*closed says which; may be NULL). */
void *mon_queue_take(struct mon_queue *queue, int timeout_ms, size_t *size_b, bool *closed);
void mon_queue_close(struct mon_queue *queue); /* wakes the reader; queued messages can still be taken */
void mon_queue_stats(struct mon_queue *queue, struct mon_queue_stats *out);

#endif
