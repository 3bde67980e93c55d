/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNTIME_RTS_RTS_KERNEL_H
#define RUNTIME_RTS_RTS_KERNEL_H

#include "../kernel.h"

#endif
