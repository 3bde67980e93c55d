/* SPDX-License-Identifier: Apache-2.0 */
/* Hooks of aclInit, aclFinalize and aclrtSetDevice. */
#include "agent/agent.h"
#include "agent/hooks.h"
#include "agent/kernel.h"
#include "agent/stacks.h"

aclError aclInit(const char *configPath)
{
    if (ms_rec_state() != MS_STATE_OFF) {
        ms_stack_python_load(true); /* an interpreter may have been loaded after the agent */
    }
    if (ms_kernel_wanted()) {
        ms_kernel_prepare(); /* libraries are loaded, kernels are not: their names can be received from now on */
    }
    aclError result = MS_REAL(aclInit)(configPath);
    if ((result == ACL_SUCCESS || result == ACL_ERROR_REPEAT_INITIALIZE) && ms_tracing()) {
        MS_RECORD(ACL_INIT, MS_STATE_ON, 0, NULL);
    }
    return result;
}

aclError aclFinalize(void)
{
    if (ms_rec_state() != MS_STATE_OFF) { /* a forked child that attaches here has no reader to stop */
        ms_device_log_stop();
    }
    aclError result = MS_REAL(aclFinalize)();
    if (result == ACL_SUCCESS && ms_tracing()) {
        MS_RECORD(ACL_FINI, MS_STATE_ON, 0, NULL);
    }
    return result;
}

aclError aclrtSetDevice(int32_t deviceId)
{
    if (ms_kernel_wanted()) {
        ms_kernel_prepare();
    }
    aclError result = MS_REAL(aclrtSetDevice)(deviceId);
    if (ms_tracing()) {
        MS_RECORD(SET_DEVICE, MS_STATE_ON, ms_device_of_user((uint32_t)deviceId), NULL, .result = result);
    }
    return result;
}
