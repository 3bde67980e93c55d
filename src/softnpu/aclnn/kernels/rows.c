/* SPDX-License-Identifier: Apache-2.0 */
/* The row engine: softmax, layer normalisation and their relatives, in float and double. A row belongs to one block.
 * Rows of other types are converted in runs; short rows are converted once for all passes. */
#include "softnpu/aclnn/kernels/op_kernel.h"

#include "softnpu/aclnn/kernels/map_math.h"
#include "softnpu/aclnn/kernels/op_float.h"
#include "softnpu/aclnn/kernels/op_wide.h"

enum { LANES = 32 };

#define T     float
#define R(x)  x##_f32
#define ROOM  2048
#define LOAD  op_load_f32
#define STORE op_store_f32
#define TYPE  TK_FLOAT
#include "softnpu/aclnn/kernels/rows_body.h"

#define T     double
#define R(x)  x##_f64
#define ROOM  1024
#define LOAD  op_load_f64
#define STORE op_store_f64
#define TYPE  TK_DOUBLE
#include "softnpu/aclnn/kernels/rows_body.h"

void TK_NAME(op_rows)(const struct op_rows_args *a, uint32_t block, uint32_t num_blocks)
{
    if (a->data[0] == NULL || a->count == 0) {
        return;
    }
    const struct tk_range mine = tk_share(op_loop_count(&a->loop), 1, block, num_blocks);
    if (a->wide) {
        run_f64(a, mine);
    } else {
        run_f32(a, mine);
    }
}
