/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EXPERIMENT_RUNTIME_RUNTIME_RT_EXTERNAL_H
#define EXPERIMENT_RUNTIME_RUNTIME_RT_EXTERNAL_H

#include "../../../runtime/rt_external.h"

#endif
