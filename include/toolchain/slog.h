/* SPDX-License-Identifier: Apache-2.0 */
/* Older name of the logging header. */
#ifndef TOOLCHAIN_SLOG_H
#define TOOLCHAIN_SLOG_H
#include "base/dlog_pub.h"
#endif
