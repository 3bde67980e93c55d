/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNTIME_RT_EXTERNAL_MEM_H
#define RUNTIME_RT_EXTERNAL_MEM_H

#include "mem.h"

#endif
