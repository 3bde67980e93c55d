/* SPDX-License-Identifier: Apache-2.0 */
#ifndef EXPERIMENT_MSPROF_TOOLCHAIN_PROF_API_H
#define EXPERIMENT_MSPROF_TOOLCHAIN_PROF_API_H

#include "../../../toolchain/prof_api.h"

#endif
