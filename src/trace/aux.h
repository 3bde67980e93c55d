/* SPDX-License-Identifier: Apache-2.0 */
/* Aux files: checkpoints and symbols that the export thread adds to a trace, next to the segments. One ms_aux per
 * trace, used by the thread that reads it. */
#ifndef MS_TRACE_AUX_H
#define MS_TRACE_AUX_H

#include "trace/reader.h"

#include <sys/uio.h>

struct ms_aux;
int ms_aux_open(struct ms_trace *trace, struct ms_aux **out); /* 0 or -errno */
/* payload: any bytes, up to a gigabyte, in `pieces` pieces; ids: the definitions that it refers to (those that they
 * refer to are added). */
int ms_aux_checkpoint(struct ms_aux *aux, const struct ms_position *position, const struct iovec *payload,
                      unsigned pieces, const uint32_t *ids, size_t count);
int ms_aux_symbol(struct ms_aux *aux, uint32_t module, uint64_t offset, const char *text, size_t length_b);
int ms_aux_flush(struct ms_aux *aux);
void ms_aux_close(struct ms_aux *aux);

#endif
