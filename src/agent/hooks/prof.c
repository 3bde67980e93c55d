/* SPDX-License-Identifier: Apache-2.0 */
/* Coexistence with another profiler: there is one slot per callback and one reader per log, so the second tool would
 * steal from the first. These hooks let both have everything: callbacks are chained, switches are combined, and a log
 * that the other tool reads is parsed on the way. While kernels are not recorded they only observe. */
#include "agent/device_log.h"
#include "agent/hooks.h"
#include "agent/kernel.h"

int32_t MsprofRegisterProfileCallback(int32_t callbackType, VOID_PTR callback, uint32_t len)
{
    if (len >= sizeof(void *) && ms_self.suppressed == 0 && ms_kernel_chain(callbackType, callback)) {
        return 0;
    }
    return MS_REAL(MsprofRegisterProfileCallback)(callbackType, callback, len);
}

int32_t profSetProfCommand(VOID_PTR command, uint32_t len)
{
    struct MsprofCommandHandle own;
    if (command == NULL || len < sizeof(own) || ms_self.suppressed != 0) {
        return MS_REAL(profSetProfCommand)(command, len);
    }
    memcpy(&own, command, sizeof(own));
    bool on = own.type == PROF_COMMANDHANDLE_TYPE_START, off = own.type == PROF_COMMANDHANDLE_TYPE_STOP;
    uint64_t keep = 0;
    for (uint32_t i = 0; i < own.devNums && i < MSPROF_MAX_DEV_NUM && (on || off); i++) {
        keep |= ms_device_log_others_switches(own.devIdList[i], on ? own.profSwitch : 0, off ? own.profSwitch : 0);
    }
    if (!off || (own.profSwitch & keep) == 0) {
        return MS_REAL(profSetProfCommand)(command, len);
    }
    own.profSwitch &= ~keep;
    return MS_REAL(profSetProfCommand)(&own, sizeof(own));
}

int prof_drv_start(unsigned int device_id, unsigned int channel_id, struct prof_start_para *start_para)
{
    bool log = channel_id == CHANNEL_STARS_SOC_LOG_BUFFER && ms_self.suppressed == 0;
    if (log) {
        ms_device_log_others(device_id, true); /* before it can read */
    }
    int result = MS_REAL(prof_drv_start)(device_id, channel_id, start_para);
    if (log && ms_device_log_is_ours(device_id)) {
        return 0; /* it is running, even if the driver refuses a second start */
    }
    if (log && result != 0) {
        ms_device_log_others(device_id, false);
    }
    return result;
}

int prof_channel_read(unsigned int device_id, unsigned int channel_id, char *out_buf, unsigned int buf_size)
{
    int got = MS_REAL(prof_channel_read)(device_id, channel_id, out_buf, buf_size);
    if (got > 0 && channel_id == CHANNEL_STARS_SOC_LOG_BUFFER && ms_device_log_is_ours(device_id) &&
        ms_self.suppressed == 0) {
        ms_device_log_parse(device_id, out_buf, (size_t)got < buf_size ? (size_t)got : buf_size);
    }
    return got;
}

int prof_stop(unsigned int device_id, unsigned int channel_id)
{
    if (channel_id == CHANNEL_STARS_SOC_LOG_BUFFER && ms_self.suppressed == 0) {
        ms_device_log_others(device_id, false);
        if (ms_device_log_is_ours(device_id)) {
            return 0; /* we continue reading */
        }
    }
    return MS_REAL(prof_stop)(device_id, channel_id);
}
