/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EXPERIMENT_RUNTIME_RUNTIME_EVENT_H
#define EXPERIMENT_RUNTIME_RUNTIME_EVENT_H

#include "../../../runtime/event.h"

#endif
