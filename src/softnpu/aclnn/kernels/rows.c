/* SPDX-License-Identifier: Apache-2.0 */
/* The row engine: softmax, layer normalisation and their relatives, in float and double. A row belongs to one block.
 * Rows of other types are converted in runs; short rows are converted once for all passes. */
#include "softnpu/aclnn/kernels/op_kernel.h"

#include "softnpu/aclnn/kernels/map_math.h"
#include "softnpu/aclnn/kernels/op_float.h"
#include "softnpu/aclnn/kernels/op_wide.h"

enum { LANES = 64, COLUMNS = 256 };

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

/* Whether the rows of a softmax are interleaved: neighbours in memory belong to different rows. */
static bool by_columns(const struct op_rows_args *a)
{
    if (a->code > OP_ROW_LOG_SOFTMAX_GRAD || a->loop.dims[a->loop.rank - 1] < 8) {
        return false;
    }
    for (int i = 0; i < 3; i++) {
        if (a->data[i] != NULL && op_inner_step(&a->loop, &a->side[i]) != 1) {
            return false;
        }
    }
    return a->step[0] != 1;
}

void TK_NAME(op_rows)(const struct op_rows_args *a, uint32_t block, uint32_t num_blocks)
{
    if (a->data[0] == NULL || a->count == 0) {
        return;
    }
    if (by_columns(a)) {
        if (a->wide) {
            run_columns_f64(a, block, num_blocks);
        } else {
            run_columns_f32(a, block, num_blocks);
        }
        return;
    }
    const struct tk_range mine = tk_share(op_loop_count(&a->loop), 1, block, num_blocks);
    if (a->wide) {
        run_f64(a, mine);
    } else {
        run_f32(a, mine);
    }
}
