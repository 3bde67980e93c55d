/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNTIME_RTS_RTS_MEM_H
#define RUNTIME_RTS_RTS_MEM_H

#include "../mem.h"

#endif
