/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EXPERIMENT_RUNTIME_RUNTIME_BASE_H
#define EXPERIMENT_RUNTIME_RUNTIME_BASE_H

#include "../../../runtime/base.h"

#endif
