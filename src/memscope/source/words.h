/* SPDX-License-Identifier: Apache-2.0 */
/* Maps the contents of dumps back to numbers: the texts of columns.h and those of other generations, numbers,
 * attributes. For code that reads or changes dumps. */
#ifndef MS_SOURCE_WORDS_H
#define MS_SOURCE_WORDS_H

#include "memscope/model/row.h"

#include <stdbool.h>
#include <stddef.h>

/* COUNT: unknown */
unsigned ms__event_of(const char *s, size_t length_b);
unsigned ms__type_of(const char *s, size_t length_b);
unsigned ms__attr_of(const char *s, size_t length_b);    /* MS_ATTR_OTHER: unknown */
int ms__column_of(const char *s, size_t length_b);       /* of memscope_dump; -1: unknown */
int ms__slice_column_of(const char *s, size_t length_b); /* of python_trace; -1: unknown */

bool ms__parse_u64(const char *s, size_t length_b, uint64_t *out); /* decimal, the whole text */
bool ms__parse_hex(const char *s, size_t length_b, uint64_t *out); /* 0x and digits */

const struct ms_attr *ms__attr(const struct ms_row *row, enum ms_attr_key key); /* NULL: none */

#endif
