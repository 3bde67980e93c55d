/* SPDX-License-Identifier: Apache-2.0 */
/* Checks that a text is exactly one JSON value, and finds values in it. */
#ifndef SOFTNPU_ACL_JSON_H
#define SOFTNPU_ACL_JSON_H

#include <stdbool.h>
#include <stddef.h>

/* On failure *bad is the offset of the first invalid byte. */
bool json_valid(const char *text, size_t *bad);

/* The value of a member of the object at the start of a valid text, or NULL. */
const char *json_member(const char *text, const char *name);

/* Copies the string or number at the start of a valid text, without quotes; false if it is neither or does not fit. */
bool json_scalar(const char *text, char *out, size_t out_b);

#endif
