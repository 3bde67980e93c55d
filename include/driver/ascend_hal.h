#ifndef DRIVER_ASCEND_HAL_H
#define DRIVER_ASCEND_HAL_H

#include "ascend_hal.h"

#endif
