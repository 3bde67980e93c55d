/* SPDX-License-Identifier: Apache-2.0 */
/* Options of communicators: HcclCommConfig, HcclConfig, environment. */
#ifndef SOFTNPU_HCCL_OPTIONS_H
#define SOFTNPU_HCCL_OPTIONS_H

#include "softnpu/hccl/comm.h"

/* Fills everything except dev and buffers. config may be NULL. */
HcclResult hccl_setup_read(const char *function, const HcclCommConfig *config, struct hccl_setup *setup);

#endif
