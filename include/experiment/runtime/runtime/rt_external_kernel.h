/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EXPERIMENT_RUNTIME_RUNTIME_RT_EXTERNAL_KERNEL_H
#define EXPERIMENT_RUNTIME_RUNTIME_RT_EXTERNAL_KERNEL_H

#include "../../../runtime/rt_external_kernel.h"

#endif
