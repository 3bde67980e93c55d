/* SPDX-License-Identifier: Apache-2.0 */
// self + alpha * other, with a row that is broadcast.
#include "aclnnop/aclnn_add.h"
#include "sample.h"

int main()
{
    start();
    Tensor<float> self({4, 2}, ACL_FLOAT, {0, 1, 2, 3, 4, 5, 6, 7});
    Tensor<float> other({2}, ACL_FLOAT, {1, 10});
    Tensor<float> out({4, 2}, ACL_FLOAT);
    float value = 1.2f;
    aclScalar *alpha = aclCreateScalar(&value, ACL_FLOAT);
    RUN(aclnnAdd, self, other, alpha, out);
    out.print();
    aclDestroyScalar(alpha);
    return finish();
}
