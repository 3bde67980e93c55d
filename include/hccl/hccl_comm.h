/* SPDX-License-Identifier: Apache-2.0 */
/* Newer releases declare the communicator functions here; they are the same. */
#ifndef HCCL_HCCL_COMM_H
#define HCCL_HCCL_COMM_H

#include "hccl/hccl.h"

#endif
