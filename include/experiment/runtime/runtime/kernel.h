/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EXPERIMENT_RUNTIME_RUNTIME_KERNEL_H
#define EXPERIMENT_RUNTIME_RUNTIME_KERNEL_H

#include "../../../runtime/kernel.h"

#endif
