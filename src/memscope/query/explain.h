/* SPDX-License-Identifier: Apache-2.0 */
/* SQL errors that suggest what to write instead. */
#ifndef MS_QUERY_EXPLAIN_H
#define MS_QUERY_EXPLAIN_H

#include "base/buffer.h"

#include <sqlite3.h>

/* Appends the connection's last error, its position in the statement, and the alternatives; terminated. */
void ms_query_explain(sqlite3 *db, const char *sql, int code, struct ms_buffer *out);

#endif
