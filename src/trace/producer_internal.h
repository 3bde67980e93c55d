/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the producer. */
#ifndef MS_TRACE_PRODUCER_INTERNAL_H
#define MS_TRACE_PRODUCER_INTERNAL_H

#include "trace/producer.h"

#include <time.h>

/* Wait and wake on a word of shared (or private) memory; raw, no cancellation point. */
long ms__futex_wait(const uint32_t *word, uint32_t value, const struct timespec *timeout, bool shared);
void ms__futex_wake(const uint32_t *word, int count, bool shared);

/* Marks the context's chunk FULL; the context has none afterwards. */
void ms__chunk_give_up(struct ms_ctx *ctx);
/* Gives the context, which has none, an empty chunk; false: none is free, *cause says why. */
bool ms__chunk_take(struct ms_ctx *ctx, uint32_t *cause);
/* True while records are dropped because the collector makes no progress. */
bool ms__chunk_dropping(const struct ms_shm *shm);

/* Counts a lost record and sends the next one to the slow path, which reports it. */
void ms__count_lost(struct ms_ctx *ctx, unsigned order, uint32_t cause);

/* Unmaps what a parent process left behind. */
void ms__definitions_drop(struct ms_ctx *ctx);

#endif
