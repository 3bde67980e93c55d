/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EXPERIMENT_RUNTIME_RUNTIME_RTS_RTS_H
#define EXPERIMENT_RUNTIME_RUNTIME_RTS_RTS_H

#include "../../../../runtime/rts/rts.h"

#endif
