/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNTIME_RT_EXTERNAL_EVENT_H
#define RUNTIME_RT_EXTERNAL_EVENT_H

#include "event.h"

#endif
