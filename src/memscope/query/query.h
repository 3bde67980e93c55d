/* SPDX-License-Identifier: Apache-2.0 */
/* SQL on recordings and dumps. A statement is first planned, which determines what must be read; then the sources are
 * read; then it runs on the collected data.
 *
 *     ms_query_new(&query);
 *     ms_query_prepare(query, "SELECT ...");
 *     ms_query_read(query, source);           // as often as needed
 *     ms_query_run(query, MS_QUERY_TABLE, stdout);
 *
 * Statements can only read: no other database, file, extension or pragma. Functions return 0 or -errno; ms_query_error
 * has the reason as text for users. Single-threaded, except ms_query_stop. */
#ifndef MS_QUERY_QUERY_H
#define MS_QUERY_QUERY_H

#include "memscope/source/source.h"

#include <stdio.h>

struct ms_query;

enum ms_query_output { MS_QUERY_TABLE, MS_QUERY_CSV, MS_QUERY_JSON };
/* Looks up an output format by name; false: unknown. */
bool ms_query_output_find(const char *name, enum ms_query_output *out);

int ms_query_new(struct ms_query **out);
void ms_query_free(struct ms_query *query);

int ms_query_prepare(struct ms_query *query, const char *sql); /* -EINVAL: see ms_query_error */
int ms_query_read(struct ms_query *query, struct ms_source *source);
/* -EINVAL; -EINTR: stopped; -ETIME: time limit exceeded; -EIO, -ENOSPC: output error. Output printed so far remains. */
int ms_query_run(struct ms_query *query, enum ms_query_output output, FILE *file);
const char *ms_query_error(const struct ms_query *query); /* may have several lines; empty: no error */

void ms_query_limit(struct ms_query *query, double seconds); /* time limit for ms_query_run; 0: none */
void ms_query_stop(struct ms_query *query);                  /* ends reading and running; async-signal-safe */

#endif
