/* SPDX-License-Identifier: Apache-2.0 */
/* Fills a store from a source: one consumer of the model per process. */
#ifndef MS_QUERY_GATHER_H
#define MS_QUERY_GATHER_H

#include "memscope/query/store.h"
#include "memscope/source/source.h"

#include <signal.h>

/* Reads every process of the source, as far as the store needs it. 0 or -errno; -EINTR: *stop was set. */
int ms_gather(struct ms_store *store, struct ms_source *source, const volatile sig_atomic_t *stop);

#endif
