/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EXPERIMENT_RUNTIME_RUNTIME_RT_EXTERNAL_DEV_H
#define EXPERIMENT_RUNTIME_RUNTIME_RT_EXTERNAL_DEV_H

#include "../../../runtime/rt_external_dev.h"

#endif
