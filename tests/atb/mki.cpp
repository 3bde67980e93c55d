/* SPDX-License-Identifier: Apache-2.0 */
#include "mki.h"

namespace Mki
{

SVector<Tensor> &LaunchParam::GetInTensors()
{
    return inTensors_;
}

SVector<Tensor> &LaunchParam::GetOutTensors()
{
    return outTensors_;
}

void LaunchParam::AddInTensor(const Tensor &tensor)
{
    inTensors_.push_back(tensor);
}

void LaunchParam::AddOutTensor(const Tensor &tensor)
{
    outTensors_.push_back(tensor);
}

} // namespace Mki
