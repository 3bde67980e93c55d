/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNTIME_RT_EXTERNAL_KERNEL_H
#define RUNTIME_RT_EXTERNAL_KERNEL_H

#include "kernel.h"

#endif
