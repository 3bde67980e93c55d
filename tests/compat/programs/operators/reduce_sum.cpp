/* SPDX-License-Identifier: Apache-2.0 */
// Sums over the first and the last dimension.
#include "aclnnop/aclnn_reduce_sum.h"
#include "sample.h"

int main()
{
    start();
    Tensor<float> self({2, 3, 2}, ACL_FLOAT, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
    Tensor<float> out({1, 3, 1}, ACL_FLOAT);
    const int64_t axes[] = {0, -1};
    aclIntArray *dims = aclCreateIntArray(axes, 2);
    RUN(aclnnReduceSum, self, dims, true, ACL_FLOAT, out);
    out.print();
    aclDestroyIntArray(dims);
    return finish();
}
