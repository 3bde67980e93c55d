/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EXPERIMENT_RUNTIME_RUNTIME_RTS_RTS_MEM_H
#define EXPERIMENT_RUNTIME_RUNTIME_RTS_RTS_MEM_H

#include "../../../../runtime/rts/rts_mem.h"

#endif
