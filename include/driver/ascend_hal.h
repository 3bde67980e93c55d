/* SPDX-License-Identifier: Apache-2.0 */
#ifndef DRIVER_ASCEND_HAL_H
#define DRIVER_ASCEND_HAL_H

#include "ascend_hal.h"

#endif
