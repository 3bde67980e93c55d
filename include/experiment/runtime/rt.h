/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EXPERIMENT_RUNTIME_RT_H
#define EXPERIMENT_RUNTIME_RT_H

#include "../../runtime/rt.h"

#endif
