/* SPDX-License-Identifier: Apache-2.0 */
/* Name of the profiling library's header in newer releases. */
#ifndef PROFILING_APROF_PUB_H
#define PROFILING_APROF_PUB_H

#include "toolchain/prof_api.h"

#endif
