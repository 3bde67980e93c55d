/* A bounded queue of byte messages from one thread to another: what is slow (a disk, a driver) is done by a thread of
 * its own, and the loop never waits for it.
 *
 * Bounds: a number of messages and a number of bytes. A message that finds no room is dropped and counted: the newest
 * is the one that gives way, so that what a reader sees has no hole in the middle. */
#ifndef MS_METRICS_QUEUE_H
#define MS_METRICS_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ms_queue;

struct ms_queue_stats {
    size_t length, bytes;
    uint64_t taken, dropped;
};

struct ms_queue *ms_queue_new(size_t max_messages, size_t max_bytes); /* NULL: no memory */
void ms_queue_free(struct ms_queue *queue);                           /* nobody may use it any more */

/* Never waits. False: full, closed, or no memory; counted. */
bool ms_queue_put(struct ms_queue *queue, const void *data, size_t size_b);
/* The oldest message, to be given to free(). timeout_ms < 0: waits until there is one. NULL: none in time, or the queue
 * is closed and empty (*closed tells; may be NULL). */
void *ms_queue_take(struct ms_queue *queue, int timeout_ms, size_t *size_b, bool *closed);
void ms_queue_close(struct ms_queue *queue); /* wakes the taker; what is in the queue can still be taken */
void ms_queue_stats(struct ms_queue *queue, struct ms_queue_stats *out);

#endif
