/* SPDX-License-Identifier: Apache-2.0 */
// Layer norm with weight and bias, without the optional outputs.
#include "aclnnop/aclnn_layer_norm.h"
#include "sample.h"

int main()
{
    start();
    Tensor<float> input({2, 4}, ACL_FLOAT, {1, 2, 3, 4, -4, 0, 4, 8});
    Tensor<float> weight({4}, ACL_FLOAT, {1, 2, 1, 2});
    Tensor<float> bias({4}, ACL_FLOAT, {0, 0, 1, 1});
    Tensor<float> out({2, 4}, ACL_FLOAT);
    const int64_t normalized[] = {4};
    aclIntArray *shape = aclCreateIntArray(normalized, 1);
    RUN(aclnnLayerNorm, input, shape, weight, bias, 1e-5, out, nullptr, nullptr);
    out.print();
    aclDestroyIntArray(shape);
    return finish();
}
