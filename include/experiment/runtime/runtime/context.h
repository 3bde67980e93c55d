/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EXPERIMENT_RUNTIME_RUNTIME_CONTEXT_H
#define EXPERIMENT_RUNTIME_RUNTIME_CONTEXT_H

#include "../../../runtime/context.h"

#endif
