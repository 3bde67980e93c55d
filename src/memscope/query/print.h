/* SPDX-License-Identifier: Apache-2.0 */
/* Results as text. */
#ifndef MS_QUERY_PRINT_H
#define MS_QUERY_PRINT_H

#include "memscope/query/query.h"

#include <sqlite3.h>

struct ms_print;

/* Columns are those of the statement. NULL: out of memory. */
struct ms_print *ms_print_begin(enum ms_query_output output, sqlite3_stmt *statement, FILE *file);
int ms_print_row(struct ms_print *print); /* the current row of the statement; 0 or -errno */
int ms_print_end(struct ms_print *print); /* frees it */

#endif
