/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNTIME_RT_EXTERNAL_H
#define RUNTIME_RT_EXTERNAL_H

#include "rt.h"

#endif
