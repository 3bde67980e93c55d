/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of the producer; nobody else's. */
#ifndef MS_TRACE_PRODUCER_INTERNAL_H
#define MS_TRACE_PRODUCER_INTERNAL_H

#include "trace/producer.h"

#include <time.h>

/* Wait and wake on a word of shared (or private) memory; raw, no cancellation point. */
long ms__futex_wait(const uint32_t *word, uint32_t value, const struct timespec *timeout, bool shared);
void ms__futex_wake(const uint32_t *word, int count, bool shared);

/* Marks the context's chunk FULL; none is left. */
void ms__chunk_give_up(struct ms_ctx *ctx);
/* Gives the context, which has none, an empty chunk; false: there is no room, *cause says why. */
bool ms__chunk_take(struct ms_ctx *ctx, uint32_t *cause);
/* True while records are dropped because the collector does not move. */
bool ms__chunk_dropping(const struct ms_shm *shm);

/* Counts a record that is lost and sends the next one the slow way, which tells of it. */
void ms__count_lost(struct ms_ctx *ctx, unsigned order, uint32_t cause);

/* Unmaps what a parent process left behind. */
void ms__definitions_drop(struct ms_ctx *ctx);

#endif
