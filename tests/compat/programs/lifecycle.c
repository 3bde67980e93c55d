/* SPDX-License-Identifier: Apache-2.0 */
/* Initialisation and finalisation, contexts, options, queries about the system. */
#include "check.h"

#include <pthread.h>
#include <unistd.h>

static int inits, finals;

static aclError on_init(const char *config, size_t length, void *data)
{
    (void)config;
    (void)length;
    EXPECT(data == &inits);
    inits++;
    return ACL_SUCCESS;
}

static aclError on_final(void *data)
{
    EXPECT(data == &finals);
    finals++;
    return ACL_SUCCESS;
}

static void starting_and_ending(void)
{
    uint64_t left = 9;
    OK(aclInitCallbackRegister(ACL_REG_TYPE_OTHER, on_init, &inits));
    OK(aclFinalizeCallbackRegister(ACL_REG_TYPE_OTHER, on_final, &finals));
    FAILS(100037, aclFinalize());
    OK(aclInit(NULL));
    FAILS(100002, aclInit(NULL));
    EXPECT(inits == 1);
    OK(aclFinalizeReference(&left));
    EXPECT(left == 1 && finals == 0);
    OK(aclFinalizeReference(&left));
    EXPECT(left == 0 && finals == 1);
    OK(aclInitCallbackUnRegister(ACL_REG_TYPE_OTHER, on_init));
    OK(aclFinalizeCallbackUnRegister(ACL_REG_TYPE_OTHER, on_final));
    EXPECT(aclInit("no/such/file.json") != ACL_SUCCESS);
    OK(aclInit(""));
    OK(aclFinalize());
    EXPECT(inits == 1 && finals == 1);
}

static void *other_thread(void *context)
{
    aclrtContext mine = NULL;
    int32_t device = -1;
    FAILS(107002, aclrtGetDevice(&device)); /* the current context is per thread */
    OK(aclrtSetCurrentContext(context));
    OK(aclrtGetCurrentContext(&mine));
    EXPECT(mine == context);
    return NULL;
}

static void contexts(void)
{
    aclrtContext first = NULL, second = NULL, current = NULL;
    aclrtStream stream = NULL, of_first = NULL;
    int32_t device = -1, active = -1;
    int64_t value = -1;
    FAILS(107002, aclrtGetDevice(&device));
    FAILS(107002, aclrtCreateStream(&stream));
    FAILS(107001, aclrtSetDevice(99));
    OK(aclrtGetPrimaryCtxState(0, NULL, &active));
    EXPECT(active == 0);
    OK(aclrtSetDevice(0));
    OK(aclrtGetPrimaryCtxState(0, NULL, &active));
    EXPECT(active == 1);
    OK(aclrtCreateContext(&first, 0));
    OK(aclrtCreateStream(&of_first));
    OK(aclrtCreateContext(&second, 1)); /* becomes the current one */
    OK(aclrtGetCurrentContext(&current));
    EXPECT(current == second);
    OK(aclrtGetDevice(&device));
    EXPECT(device == 1);
    OK(aclrtCtxGetCurrentDefaultStream(&stream));
    OK(aclrtSynchronizeStream(stream));
    EXPECT(aclrtLaunchHostFunc(of_first, (aclrtHostFunc)free, NULL) != ACL_SUCCESS); /* belongs to another context */
    pthread_t thread;
    EXPECT(pthread_create(&thread, NULL, other_thread, first) == 0 && pthread_join(thread, NULL) == 0);

    OK(aclrtSetCurrentContext(first));
    OK(aclrtCtxSetSysParamOpt(ACL_OPT_DETERMINISTIC, 1));
    OK(aclrtSetCurrentContext(second));
    FAILS(107021, aclrtCtxGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value));
    OK(aclrtGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value));
    EXPECT(value == 0);
    OK(aclrtSetCurrentContext(first));
    OK(aclrtCtxGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value));
    EXPECT(value == 1);
    OK(aclrtDestroyStream(of_first));
    OK(aclrtDestroyContext(first));
    OK(aclrtDestroyContext(second));
    EXPECT(aclrtSetCurrentContext(first) != ACL_SUCCESS);
    OK(aclrtResetDevice(0));
    OK(aclrtGetPrimaryCtxState(0, NULL, &active));
    EXPECT(active == 0);
}

static void questions(void)
{
    uint32_t count = 0;
    int64_t value = 0;
    int32_t can = 0, number = 0, pid = 0, least = 0, greatest = 9, phy = -1, back = -1;
    aclrtRunMode mode;
    char runtime[] = "runtime", version[ACL_PKG_VERSION_MAX_SIZE] = "";
    OK(aclrtGetDeviceCount(&count));
    EXPECT(count == 2);
    OK(aclrtGetRunMode(&mode));
    EXPECT(mode == ACL_HOST);
    EXPECT(strncmp(aclrtGetSocName(), "Ascend", 6) == 0);
    OK(aclsysGetVersionStr(runtime, version));
    OK(aclsysGetVersionNum(runtime, &number));
    EXPECT(version[0] != '\0' && number > 0);
    OK(aclrtSetDevice(0));
    OK(aclrtGetDeviceInfo(0, ACL_DEV_ATTR_VECTOR_CORE_NUM, &value));
    EXPECT(value > 0);
    OK(aclrtDeviceGetStreamPriorityRange(&least, &greatest));
    EXPECT(least == 7 && greatest == 0);
    OK(aclrtDeviceCanAccessPeer(&can, 0, 1));
    EXPECT(can == 1);
    OK(aclrtDeviceEnablePeerAccess(1, 0));
    OK(aclrtDeviceDisablePeerAccess(1));
    OK(aclrtDeviceGetBareTgid(&pid));
    EXPECT(pid == getpid());
    OK(aclrtGetPhyDevIdByUserDevId(1, &phy));
    OK(aclrtGetUserDevIdByPhyDevId(phy, &back));
    EXPECT(back == 1);
    aclrtUuid uuid, other;
    OK(aclrtDeviceGetUuid(0, &uuid));
    OK(aclrtDeviceGetUuid(1, &other));
    EXPECT(memcmp(&uuid, &other, sizeof(uuid)) != 0);
    EXPECT(aclDataTypeSize(ACL_FLOAT16) == 2 && aclDataTypeSize(ACL_INT64) == 8);
    EXPECT(aclFloat16ToFloat(aclFloatToFloat16(1.625f)) == 1.625f);
    EXPECT(aclrtDeviceSetLimit(ACL_RT_DEV_LIMIT_SIMD_STACK_SIZE, 65536) == ACL_SUCCESS);
    OK(aclrtResetDeviceForce(0));
}

int main(void)
{
    starting_and_ending();
    OK(aclInit(NULL));
    contexts();
    questions();
    OK(aclFinalize());
    puts("lifecycle: all good");
    return 0;
}
