/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EXPERIMENT_RUNTIME_RUNTIME_DEV_H
#define EXPERIMENT_RUNTIME_RUNTIME_DEV_H

#include "../../../runtime/dev.h"

#endif
