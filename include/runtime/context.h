/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNTIME_CONTEXT_H
#define RUNTIME_CONTEXT_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

rtError_t rtCtxCreateEx(rtContext_t *createCtx, uint32_t flags, int32_t devId);
rtError_t rtCtxDestroyEx(rtContext_t destroyCtx);
rtError_t rtCtxSetCurrent(rtContext_t currentCtx);
rtError_t rtCtxGetCurrent(rtContext_t *currentCtx);
rtError_t rtCtxGetDevice(int32_t *devId);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
