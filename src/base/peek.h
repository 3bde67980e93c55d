/* SPDX-License-Identifier: Apache-2.0 */
/* Reading memory of this process at an address that may be wrong: an error then, not a signal.
 *
 * A system call or three: for what is done once. False also where nobody may ask. */
#ifndef MS_BASE_PEEK_H
#define MS_BASE_PEEK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool ms_peek(uintptr_t address, void *out, size_t out_b);

#endif
