/* SPDX-License-Identifier: Apache-2.0 */
// Two matrices side by side, then transposed.
#include "aclnnop/aclnn_cat.h"
#include "aclnnop/aclnn_permute.h"
#include "sample.h"

int main()
{
    start();
    Tensor<float> left({2, 2}, ACL_FLOAT, {1, 2, 3, 4});
    Tensor<float> right({2, 1}, ACL_FLOAT, {5, 6});
    Tensor<float> joined({2, 3}, ACL_FLOAT);
    Tensor<float> out({3, 2}, ACL_FLOAT);
    // Destroying a list destroys its tensors: here they outlive it, and the list stays.
    const aclTensor *parts[] = {left, right};
    aclTensorList *list = aclCreateTensorList(parts, 2);
    RUN(aclnnCat, list, 1, joined);
    const int64_t order[] = {1, 0};
    aclIntArray *dims = aclCreateIntArray(order, 2);
    RUN(aclnnPermute, joined, dims, out);
    out.print();
    aclDestroyIntArray(dims);
    return finish();
}
