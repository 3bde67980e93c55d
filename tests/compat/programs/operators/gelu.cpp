/* SPDX-License-Identifier: Apache-2.0 */
// An activation in half precision: the input is converted, the result is converted back.
#include "aclnnop/aclnn_cast.h"
#include "aclnnop/aclnn_gelu.h"
#include "sample.h"

int main()
{
    start();
    Tensor<float> self({5}, ACL_FLOAT, {-2, -1, 0, 1, 2});
    Tensor<uint16_t> half({5}, ACL_FLOAT16);
    Tensor<uint16_t> activated({5}, ACL_FLOAT16);
    Tensor<float> out({5}, ACL_FLOAT);
    RUN(aclnnCast, self, ACL_FLOAT16, half);
    RUN(aclnnGelu, half, activated);
    RUN(aclnnCast, activated, ACL_FLOAT, out);
    out.print();
    return finish();
}
