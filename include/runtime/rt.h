/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime's own interface (libruntime.so), used by operator libraries and kernel launchers. */
#ifndef RUNTIME_RT_H
#define RUNTIME_RT_H

#include "base.h"
#include "dev.h"
#include "context.h"
#include "mem.h"
#include "stream.h"
#include "event.h"
#include "kernel.h"

#endif
