/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EXPERIMENT_RUNTIME_RUNTIME_STREAM_H
#define EXPERIMENT_RUNTIME_RUNTIME_STREAM_H

#include "../../../runtime/stream.h"

#endif
