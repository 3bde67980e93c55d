/* SPDX-License-Identifier: Apache-2.0 */
// Rows of a table by index, one of them twice.
#include "aclnnop/aclnn_gather_v2.h"
#include "sample.h"

int main()
{
    start();
    Tensor<float> self({4, 2}, ACL_FLOAT, {0, 1, 10, 11, 20, 21, 30, 31});
    Tensor<int64_t> index({3}, ACL_INT64, {2, 0, 2});
    Tensor<float> out({3, 2}, ACL_FLOAT);
    RUN(aclnnGatherV2, self, 0, index, out);
    out.print();
    return finish();
}
