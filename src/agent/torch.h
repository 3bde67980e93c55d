/* SPDX-License-Identifier: Apache-2.0 */
/* PyTorch in this process: what its presence requires beyond the hooks of its allocators. */
#ifndef MS_AGENT_TORCH_H
#define MS_AGENT_TORCH_H

#include "agent/agent.h"

/* Installs or removes the operator observers, and calls the Python side, as the session now requires and as far as
 * PyTorch is loaded. Takes locks of PyTorch and of the loader: must not be called from within an observer. */
void ms_torch_update(void);

/* The config_version of the session state that is currently applied. */
extern uint32_t ms_torch_version __attribute__((visibility("hidden")));

/* The same for a hook that PyTorch calls often: only if something has changed. */
static inline void ms_torch_follow(void)
{
    ms_rec_state(); /* attaches on first use */
    const struct ms_shm *shm = ms_rec_shm();
    if (MS_UNLIKELY(shm != NULL && __atomic_load_n(&shm->config_version, __ATOMIC_RELAXED) !=
                                       __atomic_load_n(&ms_torch_version, __ATOMIC_RELAXED))) {
        ms_torch_update();
    }
}

/* ---- the parts; called by one thread at a time ---- */

/* hooks/ops.c: operator observers. False: PyTorch is not loaded yet, retry. */
bool ms_ops_update(bool wanted);

/* python_collect.c: the interpreter's exit and (wanted) labels and accesses, which are collected in Python. False:
 * Python has not replied yet, or PyTorch is still being imported. */
bool ms_python_collect(bool wanted);

#endif
