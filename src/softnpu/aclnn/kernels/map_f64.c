/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise functions in double. */
#include "softnpu/aclnn/kernels/map_loops.h"

#define F(name)              name##_f64
#define K(constant)          ((T)(constant))
#define ROW_2(name, real)    OP_MAP_LOOP(name, double, real)
#define ROW_3(name, real, i) OP_MAP_LOOP(name, double, real)
OP_MAP_ROWS(ROW_2, ROW_2, ROW_3)

#define ENTRY_2(name, real)    name##_loop,
#define ENTRY_3(name, real, i) name##_loop,
op_map_loop_f64 *const op_map_f64[OP_MAP_CODES] = {OP_MAP_ROWS(ENTRY_2, ENTRY_2, ENTRY_3)};
