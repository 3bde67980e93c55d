/* SPDX-License-Identifier: Apache-2.0 */
// Sorted values and where they were.
#include "aclnnop/aclnn_sort.h"
#include "sample.h"

int main()
{
    start();
    Tensor<float> self({2, 4}, ACL_FLOAT, {3, 1, 4, 1, -5, 9, -2, 6});
    Tensor<float> values({2, 4}, ACL_FLOAT);
    Tensor<int64_t> indices({2, 4}, ACL_INT64);
    RUN(aclnnSort, self, true, 1, true, values, indices);
    values.print();
    indices.print();
    return finish();
}
