/* SPDX-License-Identifier: Apache-2.0 */
/* PyTorch in this process: what follows from its being there, beyond the hooks of its allocators. */
#ifndef MS_AGENT_TORCH_H
#define MS_AGENT_TORCH_H

#include "agent/agent.h"

/* Has the observers of operators set or removed, and the Python side called, as the session wants it now and as far as
 * PyTorch is loaded. Takes locks of PyTorch's and of the loader: not from within an observer. */
void ms_torch_update(void);

/* The state of the session that everything stands for: its config_version. */
extern uint32_t ms_torch_version __attribute__((visibility("hidden")));

/* The same for a hook that PyTorch calls often: only if something has changed since. */
static inline void ms_torch_follow(void)
{
    ms_rec_state(); /* attaches at first */
    const struct ms_shm *shm = ms_rec_session();
    if (MS_UNLIKELY(shm != NULL && __atomic_load_n(&shm->config_version, __ATOMIC_RELAXED) !=
                                       __atomic_load_n(&ms_torch_version, __ATOMIC_RELAXED))) {
        ms_torch_update();
    }
}

/* ---- the parts; called by one thread at a time ---- */

/* hooks/ops.c: observers of operators. False: PyTorch is not there yet, ask again. */
bool ms_ops_update(bool wanted);

/* python_collect.c: the end of the interpreter, and (wanted) labels and accesses, which are collected in Python. False:
 * Python was asked and has not answered, or PyTorch is still being imported. */
bool ms_python_collect(bool wanted);

#endif
