/* SPDX-License-Identifier: Apache-2.0 */
/* The line that an instruction of a Python code object belongs to. */
#ifndef MS_SYMBOLS_PYTHON_LINES_H
#define MS_SYMBOLS_PYTHON_LINES_H

#include <stddef.h>
#include <stdint.h>

/* version: 0x0309 ... as in records, 0: the instruction is the line; table: co_lnotab of 3.9, co_linetable later;
 * instruction: byte offset in the code. Returns first_line if the table has no entry (damaged, truncated, or no source
 * line). */
uint32_t ms_python_line(uint32_t version, const uint8_t *table, size_t table_b, uint32_t first_line,
                        uint64_t instruction);

#endif
