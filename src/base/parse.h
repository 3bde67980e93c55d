/* SPDX-License-Identifier: Apache-2.0 */
/* Parses numbers written by people: options, environment variables, configuration files.
 * Every function returns 0, or -EINVAL / -ERANGE and leaves the output untouched. */
#ifndef MS_BASE_PARSE_H
#define MS_BASE_PARSE_H

#include <stddef.h>
#include <stdint.h>

/* The whole text must be a decimal or 0x number between min and max. */
int ms_parse_u64(const char *text, uint64_t min, uint64_t max, uint64_t *out);
int ms_parse_i64(const char *text, int64_t min, int64_t max, int64_t *out);

/* "512", "64K", "16M", "1.5G", "64GiB", "2T": powers of 1024, with an optional B or iB after the letter. */
int ms_parse_size(const char *text, uint64_t *out_b);

/* "0,2,5": up to max numbers, *count of them. Spaces around numbers are allowed. */
int ms_parse_list(const char *text, uint64_t limit, uint64_t *out, size_t max, size_t *count);

/* "1.5 GiB", "640 B": at most 12 characters, always terminated. */
void ms_format_size(uint64_t size_b, char out[16]);

#endif
