/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNTIME_RTS_RTS_H
#define RUNTIME_RTS_RTS_H

#include "../rt.h"

#endif
