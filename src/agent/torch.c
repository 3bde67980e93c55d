/* SPDX-License-Identifier: Apache-2.0 */
/* See torch.h. PyTorch does not announce that it was loaded: its allocators' first report shows it, as does a
 * report after the session has changed. Parts not found yet are searched for again after 1, 2, 4, 8 ... further
 * reports, and immediately when the session changes again. */
#include "agent/torch.h"

#include "trace/wanted.h"

uint32_t ms_torch_version = UINT32_MAX;

void ms_torch_update(void)
{
    static uint32_t busy, misses, tried;
    const struct ms_shm *shm = ms_rec_shm();
    if (shm == NULL || __atomic_exchange_n(&busy, 1, __ATOMIC_ACQUIRE) != 0) {
        return;
    }
    const uint32_t operators = MS_WANT_LAUNCH | MS_WANT_OP, accesses = MS_WANT_ACCESS | MS_WANT_OP;
    uint32_t version = __atomic_load_n(&shm->config_version, __ATOMIC_ACQUIRE);
    uint32_t mask = __atomic_load_n(&shm->event_mask, __ATOMIC_RELAXED);
    bool on = __atomic_load_n(&shm->state, __ATOMIC_RELAXED) == MS_STATE_ON;
    const struct ms_session *session = ms_agent_session();
    bool labels = session != NULL && (session->analysis & MS_ANALYSIS_DECOMPOSE) != 0;
    misses = tried == version ? misses + 1 : 1;
    tried = version;
    if ((misses & (misses - 1)) == 0) {
        bool done = ms_ops_update(on && (mask & operators) == operators);
        done = ms_python_collect(on && ((mask & accesses) == accesses || labels)) && done;
        if (done) {
            misses = 0;
            __atomic_store_n(&ms_torch_version, version, __ATOMIC_RELAXED);
        }
    }
    __atomic_store_n(&busy, 0, __ATOMIC_RELEASE);
}
