/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise functions in 64-bit integers; arithmetic wraps (-fwrapv). */
#include "softnpu/aclnn/kernels/map_loops.h"

#define ROW_ALL(name, expression) OP_MAP_LOOP(name, int64_t, expression)
#define ROW_REAL(name, real)
#define ROW_BOTH(name, real, whole) OP_MAP_LOOP(name, int64_t, whole)
OP_MAP_ROWS(ROW_ALL, ROW_REAL, ROW_BOTH)

#define ENTRY_ALL(name, expression)   name##_loop,
#define ENTRY_REAL(name, real)        NULL,
#define ENTRY_BOTH(name, real, whole) name##_loop,
op_map_loop_i64 *const op_map_i64[OP_MAP_CODES] = {OP_MAP_ROWS(ENTRY_ALL, ENTRY_REAL, ENTRY_BOTH)};
