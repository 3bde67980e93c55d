/* SPDX-License-Identifier: Apache-2.0 */
// A sequence of reals, then the same as integers.
#include "aclnnop/aclnn_arange.h"
#include "aclnnop/aclnn_cast.h"
#include "sample.h"

int main()
{
    start();
    Tensor<float> sequence({6}, ACL_FLOAT);
    Tensor<int32_t> out({6}, ACL_INT32);
    float values[] = {-1.5f, 4.5f, 1.0f};
    aclScalar *first = aclCreateScalar(&values[0], ACL_FLOAT);
    aclScalar *end = aclCreateScalar(&values[1], ACL_FLOAT);
    aclScalar *step = aclCreateScalar(&values[2], ACL_FLOAT);
    RUN(aclnnArange, first, end, step, sequence);
    RUN(aclnnCast, sequence, ACL_INT32, out);
    out.print();
    aclDestroyScalar(first);
    aclDestroyScalar(end);
    aclDestroyScalar(step);
    return finish();
}
