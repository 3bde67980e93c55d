/* SPDX-License-Identifier: Apache-2.0 */
// A 2 by 2 filter with bias over a 3 by 3 image with a border of zeros on every side.
#include "aclnnop/aclnn_convolution.h"
#include "sample.h"

int main()
{
    start();
    Tensor<float> input({1, 1, 3, 3}, ACL_FLOAT, {1, 2, 3, 4, 5, 6, 7, 8, 9});
    Tensor<float> weight({1, 1, 2, 2}, ACL_FLOAT, {1, 2, 3, 4});
    Tensor<float> bias({1}, ACL_FLOAT, {0.5f});
    Tensor<float> out({1, 1, 4, 4}, ACL_FLOAT);
    const int64_t ones[] = {1, 1}, zeros[] = {0, 0};
    aclIntArray *one = aclCreateIntArray(ones, 2), *zero = aclCreateIntArray(zeros, 2);
    const int8_t keep_type = 0;
    RUN(aclnnConvolution, input, weight, bias, one, one, one, false, zero, 1, out, keep_type);
    out.print();
    aclDestroyIntArray(one);
    aclDestroyIntArray(zero);
    return finish();
}
