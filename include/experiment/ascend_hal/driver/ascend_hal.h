/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EXPERIMENT_ASCEND_HAL_DRIVER_ASCEND_HAL_H
#define EXPERIMENT_ASCEND_HAL_DRIVER_ASCEND_HAL_H

#include "../../../ascend_hal.h"

#endif
