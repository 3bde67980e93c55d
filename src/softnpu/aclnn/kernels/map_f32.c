/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise functions in float. */
#include "softnpu/aclnn/kernels/map_loops.h"

#define F(name)              name##_f32
#define K(constant)          ((T)(constant))
#define ROW_2(name, real)    OP_MAP_LOOP(name, float, real)
#define ROW_3(name, real, i) OP_MAP_LOOP(name, float, real)
OP_MAP_ROWS(ROW_2, ROW_2, ROW_3)

#define ENTRY_2(name, real)    name##_loop,
#define ENTRY_3(name, real, i) name##_loop,
op_map_loop_f32 *const op_map_f32[OP_MAP_CODES] = {OP_MAP_ROWS(ENTRY_2, ENTRY_2, ENTRY_3)};
