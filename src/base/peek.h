/* SPDX-License-Identifier: Apache-2.0 */
/* Reads this process's memory at an address that may be invalid: returns false instead of raising a signal.
 *
 * Costs one to four system calls: for rare use. Also returns false if the kernel refuses both ways of reading. */
#ifndef MS_BASE_PEEK_H
#define MS_BASE_PEEK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool ms_peek(uintptr_t address, void *out, size_t out_b);

#endif
