/* SPDX-License-Identifier: Apache-2.0 */
// Softmax of rows, one of which is large.
#include "aclnnop/aclnn_softmax.h"
#include "sample.h"

int main()
{
    start();
    Tensor<float> self({2, 3}, ACL_FLOAT, {0, 1, 2, 1000, 1000, 1001});
    Tensor<float> out({2, 3}, ACL_FLOAT);
    RUN(aclnnSoftmax, self, -1, out);
    out.print();
    return finish();
}
