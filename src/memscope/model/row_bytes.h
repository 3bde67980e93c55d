/* SPDX-License-Identifier: Apache-2.0 */
/* A row as bytes: its numbers, then its attributes, then the bytes of its texts. For rows that wait in memory or in an
 * unnamed file; only the process that wrote them reads them. */
#ifndef MS_MODEL_ROW_BYTES_H
#define MS_MODEL_ROW_BYTES_H

#include "base/buffer.h"
#include "memscope/model/row.h"

void ms_row_pack(struct ms_buffer *buffer, const struct ms_row *row);

/* Length of the packed row that begins here; 0: it is incomplete. */
size_t ms_row_packed_b(const char *bytes, size_t bytes_b);

/* Unpacks a row; its texts point into bytes. */
void ms_row_unpack(const char *bytes, struct ms_row *row);

#endif
