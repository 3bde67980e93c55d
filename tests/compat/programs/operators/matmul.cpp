/* SPDX-License-Identifier: Apache-2.0 */
// A batch of matrices times one matrix.
#include "aclnnop/aclnn_matmul.h"
#include "sample.h"

int main()
{
    start();
    Tensor<float> self({2, 2, 3}, ACL_FLOAT, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
    Tensor<float> mat2({3, 2}, ACL_FLOAT, {1, 0, 0, 1, 1, 1});
    Tensor<float> out({2, 2, 2}, ACL_FLOAT);
    const int8_t keep_type = 0;
    RUN(aclnnMatmul, self, mat2, out, keep_type);
    out.print();
    return finish();
}
