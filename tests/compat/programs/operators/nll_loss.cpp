/* SPDX-License-Identifier: Apache-2.0 */
// Negative log likelihood: the mean over the rows, weighted by class, without the class to ignore.
#include "aclnnop/aclnn_logsoftmax.h"
#include "aclnnop/aclnn_nll_loss.h"
#include "sample.h"

int main()
{
    start();
    Tensor<float> logits({3, 2}, ACL_FLOAT, {0, 1, 2, 0, 5, 5});
    Tensor<float> scores({3, 2}, ACL_FLOAT);
    Tensor<int64_t> target({3}, ACL_INT64, {1, 0, -100});
    Tensor<float> weight({2}, ACL_FLOAT, {1, 3});
    Tensor<float> out({}, ACL_FLOAT);
    Tensor<float> total({}, ACL_FLOAT);
    const int64_t mean = 1, ignored = -100;
    RUN(aclnnLogSoftmax, logits, 1, scores);
    RUN(aclnnNLLLoss, scores, target, weight, mean, ignored, out, total);
    out.print();
    total.print();
    return finish();
}
