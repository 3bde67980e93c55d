/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EXPERIMENT_RUNTIME_RUNTIME_MEM_H
#define EXPERIMENT_RUNTIME_RUNTIME_MEM_H

#include "../../../runtime/mem.h"

#endif
