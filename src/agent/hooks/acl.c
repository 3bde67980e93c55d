/* Hooks of the life of the ACL library in a process. */
#include "agent/agent.h"
#include "agent/hooks.h"

aclError aclInit(const char *configPath)
{
    aclError result = MS_REAL(aclInit)(configPath);
    if ((result == ACL_SUCCESS || result == ACL_ERROR_REPEAT_INITIALIZE) && ms_tracing()) {
        MS_RECORD(ACL_INIT, MS_STATE_ON, 0, NULL);
    }
    return result;
}

aclError aclFinalize(void)
{
    aclError result = MS_REAL(aclFinalize)();
    if (result == ACL_SUCCESS && ms_tracing()) {
        MS_RECORD(ACL_FINI, MS_STATE_ON, 0, NULL);
    }
    return result;
}

aclError aclrtSetDevice(int32_t deviceId)
{
    aclError result = MS_REAL(aclrtSetDevice)(deviceId);
    if (ms_tracing()) {
        MS_RECORD(SET_DEVICE, MS_STATE_ON, ms_device_of_user((uint32_t)deviceId), NULL, .result = result);
    }
    return result;
}
