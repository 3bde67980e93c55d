/* SPDX-License-Identifier: Apache-2.0 */
/* See queue.h. `lock` guards everything; only the allocator is called while it is held. */
#include "monitor/metrics/queue.h"

#include "base/clock.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct queued {
    struct queued *next;
    size_t size_b;
    void *data;
};

struct mon_queue {
    pthread_mutex_t lock;
    pthread_cond_t filled;
    size_t max_messages, max_bytes;
    struct queued *first, **last;
    struct mon_queue_stats stats;
    bool closed;
};

struct mon_queue *mon_queue_new(size_t max_messages, size_t max_bytes)
{
    struct mon_queue *queue = calloc(1, sizeof(*queue));
    if (queue == NULL) {
        return NULL;
    }
    pthread_condattr_t monotonic; /* clock changes must not affect timeouts */
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&queue->lock, NULL);
    pthread_cond_init(&queue->filled, &monotonic);
    pthread_condattr_destroy(&monotonic);
    queue->max_messages = max_messages;
    queue->max_bytes = max_bytes;
    queue->last = &queue->first;
    return queue;
}

void mon_queue_free(struct mon_queue *queue)
{
    if (queue == NULL) {
        return;
    }
    while (queue->first != NULL) {
        struct queued *m = queue->first;
        queue->first = m->next;
        free(m->data);
        free(m);
    }
    pthread_cond_destroy(&queue->filled);
    pthread_mutex_destroy(&queue->lock);
    free(queue);
}

bool mon_queue_put(struct mon_queue *queue, const void *data, size_t size_b)
{
    struct queued *m = malloc(sizeof(*m));
    void *copy = malloc(size_b != 0 ? size_b : 1);
    if (m != NULL && copy != NULL) {
        memcpy(copy, data, size_b);
        *m = (struct queued){.data = copy, .size_b = size_b};
    }
    pthread_mutex_lock(&queue->lock);
    bool good = m != NULL && copy != NULL && !queue->closed && queue->stats.length < queue->max_messages &&
                size_b <= queue->max_bytes - queue->stats.bytes;
    if (good) {
        *queue->last = m;
        queue->last = &m->next;
        queue->stats.length++;
        queue->stats.bytes += size_b;
        pthread_cond_signal(&queue->filled);
    } else {
        queue->stats.dropped++;
    }
    pthread_mutex_unlock(&queue->lock);
    if (!good) {
        free(copy);
        free(m);
    }
    return good;
}

void *mon_queue_take(struct mon_queue *queue, int timeout_ms, size_t *size_b, bool *closed)
{
    uint64_t until_ns = ms_clock_ns(CLOCK_MONOTONIC) + (uint64_t)(timeout_ms > 0 ? timeout_ms : 0) * 1000000u;
    struct timespec until = {.tv_sec = (time_t)(until_ns / 1000000000u), .tv_nsec = (long)(until_ns % 1000000000u)};
    int rc = 0;
    pthread_mutex_lock(&queue->lock);
    while (queue->first == NULL && !queue->closed && rc == 0) {
        rc = timeout_ms < 0 ? pthread_cond_wait(&queue->filled, &queue->lock)
                            : pthread_cond_timedwait(&queue->filled, &queue->lock, &until);
    }
    struct queued *m = queue->first;
    if (m != NULL) {
        queue->first = m->next;
        if (queue->first == NULL) {
            queue->last = &queue->first;
        }
        queue->stats.length--;
        queue->stats.bytes -= m->size_b;
        queue->stats.taken++;
    }
    if (closed != NULL) {
        *closed = m == NULL && queue->closed;
    }
    pthread_mutex_unlock(&queue->lock);
    void *data = NULL;
    if (m != NULL) {
        data = m->data;
        *size_b = m->size_b;
        free(m);
    }
    return data;
}

void mon_queue_close(struct mon_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
    queue->closed = true;
    pthread_cond_broadcast(&queue->filled);
    pthread_mutex_unlock(&queue->lock);
}

void mon_queue_stats(struct mon_queue *queue, struct mon_queue_stats *out)
{
    pthread_mutex_lock(&queue->lock);
    *out = queue->stats;
    pthread_mutex_unlock(&queue->lock);
}
