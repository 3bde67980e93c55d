/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNTIME_RT_EXTERNAL_STREAM_H
#define RUNTIME_RT_EXTERNAL_STREAM_H

#include "stream.h"

#endif
