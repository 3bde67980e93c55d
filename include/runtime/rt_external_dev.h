/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNTIME_RT_EXTERNAL_DEV_H
#define RUNTIME_RT_EXTERNAL_DEV_H

#include "dev.h"

#endif
