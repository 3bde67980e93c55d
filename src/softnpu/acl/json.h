/* SPDX-License-Identifier: Apache-2.0 */
/* Checks that a text is exactly one JSON value. */
#ifndef SOFTNPU_ACL_JSON_H
#define SOFTNPU_ACL_JSON_H

#include <stdbool.h>
#include <stddef.h>

/* On failure *bad is the offset of the first invalid byte. */
bool json_valid(const char *text, size_t *bad);

#endif
