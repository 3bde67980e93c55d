/* SPDX-License-Identifier: Apache-2.0 */
/* A bounded queue of byte messages from one thread to another: what is slow (a disk, a driver) is done by a thread of
 * its own, and the loop never waits for it.
 *
 * Bounds: a number of messages and a number of bytes. A message that finds no room is dropped and counted: the newest
 * is the one that gives way, so that what a reader sees has no hole in the middle. */
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

struct mon_queue *mon_queue_new(size_t max_messages, size_t max_bytes); /* NULL: no memory */
void mon_queue_free(struct mon_queue *queue);                           /* nobody may use it any more */

/* Never waits. False: full, closed, or no memory; counted. */
bool mon_queue_put(struct mon_queue *queue, const void *data, size_t size_b);
/* The oldest message, to be given to free(). timeout_ms < 0: waits until there is one. NULL: none in time, or the queue
 * is closed and empty (*closed tells; may be NULL). */
void *mon_queue_take(struct mon_queue *queue, int timeout_ms, size_t *size_b, bool *closed);
void mon_queue_close(struct mon_queue *queue); /* wakes the taker; what is in the queue can still be taken */
void mon_queue_stats(struct mon_queue *queue, struct mon_queue_stats *out);

#endif
