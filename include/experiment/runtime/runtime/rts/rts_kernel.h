/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EXPERIMENT_RUNTIME_RUNTIME_RTS_RTS_KERNEL_H
#define EXPERIMENT_RUNTIME_RUNTIME_RTS_RTS_KERNEL_H

#include "../../../../runtime/rts/rts_kernel.h"

#endif
