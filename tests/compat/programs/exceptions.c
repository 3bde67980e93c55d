/* SPDX-License-Identifier: Apache-2.0 */
/* Failing kernels: what is reported to the program, and what still works afterwards. argv[1]: the kernel binary. */
#include "check.h"

static struct {
    int calls;
    uint32_t code, device, stream, args_b;
    aclrtFuncHandle function;
} heard;

static void on_exception(aclrtExceptionInfo *info)
{
    void *args = NULL;
    heard.calls++;
    heard.code = aclrtGetErrorCodeFromExceptionInfo(info);
    heard.device = aclrtGetDeviceIdFromExceptionInfo(info);
    heard.stream = aclrtGetStreamIdFromExceptionInfo(info);
    OK(aclrtGetFuncHandleFromExceptionInfo(info, &heard.function));
    OK(aclrtGetArgsFromExceptionInfo(info, &args, &heard.args_b));
}

struct arguments {
    uint32_t *ran;
    uint32_t how;
};

static uint32_t ran(const uint32_t *device)
{
    uint32_t value = 0;
    OK(aclrtMemcpy(&value, sizeof(value), device, sizeof(value), ACL_MEMCPY_DEVICE_TO_HOST));
    return value;
}

static void faults(aclrtFuncHandle faulty, uint32_t *counter, aclrtStream stream)
{
    static const char *const words[] = {"invalid access", "arithmetic fault", "invalid access"};
    int32_t id;
    OK(aclrtStreamGetId(stream, &id));
    for (uint32_t how = 0; how < 3; how++) {
        for (uint32_t blocks = 1; blocks <= 32; blocks *= 4) {
            struct arguments bad = {counter, how}, good = {counter, 9};
            heard.calls = 0;
            OK(aclrtMemset(counter, sizeof(*counter), 0, sizeof(*counter)));
            OK(aclrtLaunchKernelWithHostArgs(faulty, blocks, stream, NULL, &bad, sizeof(bad), NULL, 0));
            int code = aclrtSynchronizeStream(stream);
            const char *text = aclGetRecentErrMsg();
            EXPECT(code == 507015 && text != NULL && strstr(text, "kernel faulty, block ") != NULL &&
                   strstr(text, words[how]) != NULL);
            EXPECT(heard.calls == 1 && heard.code == 507015 && heard.device == 0 && heard.stream == (uint32_t)id);
            EXPECT(heard.function == faulty && heard.args_b == sizeof(bad));
            aclrtErrorInfo verbose;
            OK(aclrtGetErrorVerbose(0, &verbose));
            EXPECT(verbose.errorType == ACL_RT_ERROR_AICORE);
            /* By default the stream continues. */
            OK(aclrtMemset(counter, sizeof(*counter), 0, sizeof(*counter)));
            OK(aclrtLaunchKernelWithHostArgs(faulty, blocks, stream, NULL, &good, sizeof(good), NULL, 0));
            OK(aclrtSynchronizeStream(stream));
            EXPECT(ran(counter) == blocks);
        }
    }
}

static void stop_on_failure(aclrtFuncHandle faulty, uint32_t *counter)
{
    aclrtContext context;
    aclrtStream stream;
    struct arguments bad = {counter, 0}, good = {counter, 9};
    OK(aclrtCreateContext(&context, 0)); /* the mode applies to a context */
    OK(aclrtCreateStream(&stream));
    OK(aclrtMemset(counter, sizeof(*counter), 0, sizeof(*counter)));
    OK(aclrtSetStreamFailureMode(stream, ACL_STOP_ON_FAILURE));
    OK(aclrtLaunchKernelWithHostArgs(faulty, 1, stream, NULL, &good, sizeof(good), NULL, 0));
    OK(aclrtLaunchKernelWithHostArgs(faulty, 1, stream, NULL, &bad, sizeof(bad), NULL, 0));
    (void)aclrtLaunchKernelWithHostArgs(faulty, 1, stream, NULL, &good, sizeof(good), NULL, 0); /* may be refused */
    FAILS(507015, aclrtSynchronizeStream(stream));
    EXPECT(ran(counter) == 1);
    OK(aclrtDestroyStreamForce(stream));
    OK(aclrtDestroyContext(context));
}

static void last_error(void)
{
    OK(aclrtSetDevice(0));
    (void)aclrtGetLastError(ACL_RT_THREAD_LEVEL);
    EXPECT(aclrtGetRunMode(NULL) == 100000);
    EXPECT(aclrtPeekAtLastError(ACL_RT_THREAD_LEVEL) == 100000);
    EXPECT(aclrtGetLastError(ACL_RT_THREAD_LEVEL) == 100000);
    EXPECT(aclrtGetLastError(ACL_RT_THREAD_LEVEL) == 0);
    EXPECT(aclGetRecentErrMsg() != NULL);
    EXPECT(aclGetRecentErrMsg() == NULL); /* returned only once */
}

int main(int argc, char **argv)
{
    aclrtStream stream;
    aclrtBinHandle binary;
    aclrtFuncHandle faulty;
    uint32_t *counter;
    EXPECT(argc == 2);
    OK(aclInit(NULL));
    OK(aclrtSetDevice(0));
    OK(aclrtCreateStream(&stream));
    OK(aclrtSetExceptionInfoCallback(on_exception));
    OK(aclrtBinaryLoadFromFile(argv[1], NULL, &binary));
    OK(aclrtBinaryGetFunction(binary, "faulty", &faulty));
    OK(aclrtMalloc((void **)&counter, sizeof(*counter), ACL_MEM_MALLOC_HUGE_FIRST));
    faults(faulty, counter, stream);
    stop_on_failure(faulty, counter);
    last_error();
    OK(aclrtFree(counter));
    OK(aclrtBinaryUnLoad(binary));
    OK(aclrtDestroyStream(stream));
    OK(aclrtResetDevice(0));
    OK(aclFinalize());
    puts("exceptions: all good");
    return 0;
}
