/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels through the runtime's own functions, in graphs, with time limits; random numbers; the cores; faults outside
 * kernels. */
#include "rt_kernel_fixture.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* ---- the runtime's launch functions ---- */
static char *read_kernels(size_t *size_b)
{
    struct stat st;
    int fd = open(kernels_path, O_RDONLY);
    assert_true(fd >= 0 && fstat(fd, &st) == 0);
    char *data = malloc((size_t)st.st_size);
    assert_int_equal(read(fd, data, (size_t)st.st_size), st.st_size);
    close(fd);
    *size_b = (size_t)st.st_size;
    return data;
}

static void runtime_launches(void **state)
{
    (void)state;
    size_t size_b;
    char *data = read_kernels(&size_b);
    const rtDevBinary_t binary = {RT_DEV_BINARY_MAGIC_ELF, 0, data, size_b};
    void *hdl = NULL, *found = NULL;
    static int stub, stranger;
    assert_int_equal(rtDevBinaryRegister(&binary, &hdl), 0);
    assert_int_equal(rtFunctionRegister(hdl, &stub, "fill_stub", "fill_index", 0), 0);
    check_failed(rtFunctionRegister(hdl, &stub, "fill_stub", "fill_index", 0), ACL_ERROR_RT_KERNEL_DUPLICATE);
    check_failed(rtFunctionRegister(hdl, &stranger, "other", "no_such_kernel", 0), ACL_ERROR_RT_KERNEL_LOOKUP);
    assert_int_equal(rtQueryFunctionRegistered("fill_stub"), 0);
    check_failed(rtQueryFunctionRegistered("other"), ACL_ERROR_RT_KERNEL_LOOKUP);
    assert_int_equal(rtGetFunctionByName("fill_stub", &found), 0);
    assert_ptr_equal(found, &stub);
    assert_int_equal(aclrtGetFuncBySymbol(&stub, &found), ACL_SUCCESS);
    check_failed(aclrtGetFuncBySymbol(&stranger, &found), ACL_ERROR_RT_INVALID_DEVICE_FUNCTION);

    uint32_t *out = dev_memory(64);
    struct fill_args args = {out, 1};
    assert_int_equal(rtKernelLaunch(&stub, 2, &args, sizeof(args), NULL, NULL), 0);
    assert_int_equal(synchronize(), 0);
    check_filled(out, 2, 1);
    check_failed(rtKernelLaunch(&stranger, 2, &args, sizeof(args), NULL, NULL), ACL_ERROR_RT_PARAM_INVALID);

    rtArgsEx_t ex = {.args = &args, .argsSize = sizeof(args)};
    rtTaskCfgInfo_t cfg = {0};
    args.add = 2;
    assert_int_equal(rtKernelLaunchWithFlag(&stub, 2, &ex, NULL, NULL, 0), 0);
    assert_int_equal(synchronize(), 0);
    check_filled(out, 2, 2);
    args.add = 3;
    assert_int_equal(rtKernelLaunchWithFlagV2(&stub, 2, &ex, NULL, NULL, 0, &cfg), 0);
    assert_int_equal(synchronize(), 0);
    check_filled(out, 2, 3);
    args.add = 4;
    assert_int_equal(rtVectorCoreKernelLaunch(&stub, 2, &ex, NULL, NULL, 0, &cfg), 0);
    assert_int_equal(synchronize(), 0);
    check_filled(out, 2, 4);

    /* In three steps. */
    check_failed(rtLaunch(&stub), ACL_ERROR_RT_PARAM_INVALID);
    uint32_t add = 6;
    assert_int_equal(rtConfigureCall(3, NULL, NULL), 0);
    assert_int_equal(rtSetupArgument(&out, sizeof(out), 0), 0);
    assert_int_equal(rtSetupArgument(&add, sizeof(add), 8), 0);
    check_failed(rtSetupArgument(&add, sizeof(add), 4094), ACL_ERROR_RT_PARAM_INVALID);
    assert_int_equal(rtLaunch(&stub), 0);
    assert_int_equal(synchronize(), 0);
    check_filled(out, 3, 6);

    /* By binary and tiling key, with tiling data in the arguments. */
    float *y = dev_memory(4096), *x = dev_memory(4096);
    for (int i = 0; i < 1000; i++) {
        x[i] = (float)i;
    }
    struct {
        float *y;
        const float *x;
        float a;
        uint32_t n;
    } axpy = {y, x, 2, 1000};
    rtArgsEx_t axpy_ex = {.args = &axpy, .argsSize = sizeof(axpy)};
    assert_int_equal(rtKernelLaunchWithHandle(hdl, 7, 4, &axpy_ex, NULL, NULL, NULL), 0);
    assert_int_equal(rtKernelLaunchWithHandleV2(hdl, 12, 4, &axpy_ex, NULL, NULL, &cfg), 0);
    assert_int_equal(rtVectorCoreKernelLaunchWithHandle(hdl, 7, 4, &axpy_ex, NULL, NULL, &cfg), 0);
    assert_int_equal(synchronize(), 0);
    assert_true(y[999] == 6 * 999.0f && y[500] == 3000.0f);
    check_failed(rtKernelLaunchWithHandleV2(hdl, 13, 4, &axpy_ex, NULL, NULL, &cfg), ACL_ERROR_RT_KERNEL_LOOKUP);
    check_failed(rtKernelLaunchWithHandleV2(&stub, 7, 4, &axpy_ex, NULL, NULL, &cfg), ACL_ERROR_RT_PARAM_INVALID);
    check_failed(rtKernelLaunchWithHandleV2(hdl, 7, 4, NULL, NULL, NULL, &cfg), ACL_ERROR_RT_PARAM_INVALID);

    void *func = NULL;
    struct input_args in = {out, NULL, {7, 8, 9, 10}};
    rtHostInputInfo_t info = {offsetof(struct input_args, input), offsetof(struct input_args, data)};
    rtArgsEx_t in_ex = {.args = &in, .argsSize = sizeof(in), .hostInputInfoPtr = &info, .hostInputInfoNum = 1};
    assert_int_equal(rtBinaryGetFunctionByName(hdl, "read_host_input", &func), 0);
    assert_int_equal(rtLaunchKernelByFuncHandleV3(func, 4, &in_ex, NULL, NULL), 0);
    assert_int_equal(synchronize(), 0);
    assert_int_equal(out[3], 10);
    in.data[0] = 70;
    rtArgsEx_t tiling_ex = {.args = &in,
                            .argsSize = sizeof(in),
                            .hasTiling = 1,
                            .tilingAddrOffset = info.addrOffset,
                            .tilingDataOffset = info.dataOffset};
    assert_int_equal(rtLaunchKernelByFuncHandleV3(func, 1, &tiling_ex, NULL, NULL), 0);
    assert_int_equal(synchronize(), 0);
    assert_int_equal(out[0], 70);

    /* After unloading nothing can be launched; queued kernels still run. */
    uint32_t ms = 20;
    args.add = 55;
    assert_int_equal(rtBinaryGetFunctionByName(hdl, "spin_ms", &found), 0);
    assert_int_equal(aclrtLaunchKernel(found, 1, &ms, sizeof(ms), NULL), 0);
    assert_int_equal(rtKernelLaunch(&stub, 2, &args, sizeof(args), NULL, NULL), 0);
    assert_int_equal(rtDevBinaryUnRegister(hdl), 0);
    check_failed(rtKernelLaunch(&stub, 2, &args, sizeof(args), NULL, NULL), ACL_ERROR_RT_PARAM_INVALID);
    check_failed(rtLaunchKernelByFuncHandleV3(func, 1, &tiling_ex, NULL, NULL), ACL_ERROR_RT_PARAM_INVALID);
    check_failed(rtDevBinaryUnRegister(hdl), ACL_ERROR_RT_PARAM_INVALID);
    assert_int_equal(synchronize(), 0);
    check_filled(out, 2, 55);
    free(data);
    assert_int_equal(aclrtFree(out), 0);
    assert_int_equal(aclrtFree(x), 0);
    assert_int_equal(aclrtFree(y), 0);
}

__attribute__((visibility("default"))) uint32_t HostSideAdd(void *args);
uint32_t HostSideAdd(void *args)
{
    struct {
        int64_t *out;
        int64_t a, b;
    } p;
    memcpy(&p, args, sizeof(p));
    *p.out = p.a + p.b;
    return 0;
}

static void aicpu_kernels(void **state)
{
    (void)state;
    int64_t *out = dev_memory(64);
    struct {
        int64_t *out;
        int64_t a, b;
        char library[512];
        char name[16];
    } args = {.out = out, .a = 30, .b = 12};
    rtArgsEx_t ex = {.args = &args, .argsSize = sizeof(args)};
    assert_int_equal(rtCpuKernelLaunchWithFlag(kernels_path, "cpu_add", 1, &ex, NULL, NULL, 0), 0);
    assert_int_equal(synchronize(), 0);
    assert_int_equal(*out, 42);
    rtAicpuArgsEx_t cpu = {.args = &args, .argsSize = sizeof(args)};
    args.a = 1;
    assert_int_equal(rtAicpuKernelLaunchExWithArgs(0, "HostSideAdd", 1, &cpu, NULL, NULL, 0), 0);
    assert_int_equal(synchronize(), 0);
    assert_int_equal(*out, 13);
    args.a = 2;
    snprintf(args.library, sizeof(args.library), "%s", kernels_path);
    snprintf(args.name, sizeof(args.name), "cpu_add");
    cpu.soNameAddrOffset = (uint32_t)((char *)args.library - (char *)&args);
    cpu.kernelNameAddrOffset = (uint32_t)((char *)args.name - (char *)&args);
    assert_int_equal(rtAicpuKernelLaunchExWithArgs(0, NULL, 1, &cpu, NULL, NULL, 0), 0);
    assert_int_equal(synchronize(), 0);
    assert_int_equal(*out, 14);
    check_failed(rtCpuKernelLaunchWithFlag(kernels_path, "no_such", 1, &ex, NULL, NULL, 0), ACL_ERROR_RT_KERNEL_LOOKUP);
    check_failed(rtAicpuKernelLaunchExWithArgs(0, "strlen", 1, &cpu, NULL, NULL, 0), ACL_ERROR_RT_KERNEL_LOOKUP);
    cpu.kernelNameAddrOffset = UINT32_MAX;
    check_failed(rtAicpuKernelLaunchExWithArgs(0, "", 1, &cpu, NULL, NULL, 0), ACL_ERROR_RT_PARAM_INVALID);

    aclrtBinaryLoadOption option = {.type = ACL_RT_BINARY_LOAD_OPT_CPU_KERNEL_MODE, .value.cpuKernelMode = 2};
    aclrtBinaryLoadOptions options = {&option, 1};
    size_t size_b;
    char *data = read_kernels(&size_b), name[32];
    aclrtBinHandle cpu_bin = NULL;
    aclrtFuncHandle f = NULL;
    int64_t type;
    assert_int_equal(aclrtBinaryLoadFromData(data, size_b, &options, &cpu_bin), ACL_SUCCESS);
    assert_int_equal(aclrtRegisterCpuFunc(cpu_bin, "cpu_add", "AddOp", &f), ACL_SUCCESS);
    assert_int_equal(aclrtGetFunctionName(f, sizeof(name), name), ACL_SUCCESS);
    assert_string_equal(name, "AddOp");
    assert_int_equal(aclrtGetFunctionAttribute(f, ACL_FUNC_ATTR_KERNEL_TYPE, &type), ACL_SUCCESS);
    assert_int_equal(type, ACL_KERNEL_TYPE_AICPU);
    args.a = 5;
    assert_int_equal(aclrtLaunchKernelWithHostArgs(f, 1, NULL, NULL, &args, sizeof(args), NULL, 0), ACL_SUCCESS);
    assert_int_equal(synchronize(), 0);
    assert_int_equal(*out, 17);
    check_failed(aclrtRegisterCpuFunc(bin, "cpu_add", "AddOp", &f), ACL_ERROR_RT_PARAM_INVALID);
    assert_int_equal(aclrtBinaryUnLoad(cpu_bin), ACL_SUCCESS);
    free(data);
    assert_int_equal(aclrtFree(out), ACL_SUCCESS);
}

/* ---- graphs ---- */
static void captured(void **state)
{
    (void)state;
    aclrtStream stream = NULL;
    aclmdlRI model = NULL;
    uint32_t *out = dev_memory(64), *copy = dev_memory(64), *pinned = NULL, pageable = 1;
    uint64_t *where = dev_memory(64);
    aclrtBinHandle own = NULL;
    aclrtFuncHandle fill = NULL, spoil = NULL;
    size_t size_b;
    char *data = read_kernels(&size_b);
    assert_int_equal(aclrtCreateStream(&stream), ACL_SUCCESS);
    assert_int_equal(aclrtMallocHost((void **)&pinned, 64), ACL_SUCCESS);
    assert_int_equal(aclrtBinaryLoadFromData(data, size_b, NULL, &own), ACL_SUCCESS);
    free(data);
    assert_int_equal(aclrtBinaryGetFunction(own, "fill_index", &fill), ACL_SUCCESS);
    assert_int_equal(aclrtBinaryGetFunction(own, "check_alignment", &spoil), ACL_SUCCESS);
    struct fill_args args = {out, 5};
    assert_int_equal(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED), ACL_SUCCESS);
    assert_int_equal(aclrtLaunchKernel(fill, 4, &args, sizeof(args), stream), ACL_SUCCESS);
    assert_int_equal(aclrtMemcpyAsync(copy, 16, out, 16, ACL_MEMCPY_DEVICE_TO_DEVICE, stream), ACL_SUCCESS);
    assert_int_equal(aclrtMemcpyAsync(copy + 4, 4, &pageable, 4, ACL_MEMCPY_HOST_TO_DEVICE, stream), ACL_SUCCESS);
    assert_int_equal(aclrtMemcpyAsync(pinned, 20, copy, 20, ACL_MEMCPY_DEVICE_TO_HOST, stream), ACL_SUCCESS);
    assert_int_equal(aclrtMemsetAsync(copy, 64, 0xff, 16, stream), ACL_SUCCESS);
    /* A kernel that overwrites its arguments finds the original ones at every replay. */
    assert_int_equal(aclrtLaunchKernel(spoil, 1, &where, sizeof(where), stream), ACL_SUCCESS);
    assert_int_equal(aclmdlRICaptureEnd(stream, &model), ACL_SUCCESS);
    assert_int_equal(out[0], 0); /* nothing has run */
    memset(&args, 0, sizeof(args));
    assert_int_equal(aclrtBinaryUnLoad(own), ACL_SUCCESS); /* the graph keeps the code */
    for (uint32_t round = 1; round <= 3; round++) {
        pageable = 100 * round; /* read when the graph runs */
        memset(out, 0, 64);
        *where = 0;
        assert_int_equal(aclmdlRIExecuteAsync(model, stream), ACL_SUCCESS);
        assert_int_equal(aclrtSynchronizeStream(stream), ACL_SUCCESS);
        check_filled(out, 4, 5);
        check_filled(pinned, 4, 5);
        assert_int_equal(pinned[4], 100 * round);
        assert_int_equal(copy[3], 0xffffffff);
        assert_true(*where != 0);
    }
    assert_int_equal(aclmdlRIDestroy(model), ACL_SUCCESS);
    assert_int_equal(aclrtFreeHost(pinned), ACL_SUCCESS);
    assert_int_equal(aclrtFree(out), ACL_SUCCESS);
    assert_int_equal(aclrtFree(copy), ACL_SUCCESS);
    assert_int_equal(aclrtFree(where), ACL_SUCCESS);
    assert_int_equal(aclrtDestroyStream(stream), ACL_SUCCESS);
}

static void updated_graph(void **state)
{
    (void)state;
    aclrtStream stream = NULL, streams[4];
    aclmdlRI model = NULL;
    aclmdlRITask tasks[4];
    aclmdlRITaskParams params;
    uint32_t *out = dev_memory(64), stream_count = MS_COUNT_OF(streams), task_count = MS_COUNT_OF(tasks);
    struct fill_args args = {out, 5}, got;
    assert_int_equal(aclrtCreateStream(&stream), ACL_SUCCESS);
    assert_int_equal(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_RELAXED), ACL_SUCCESS);
    assert_int_equal(aclrtLaunchKernel(function("fill_index"), 4, &args, sizeof(args), stream), ACL_SUCCESS);
    assert_int_equal(aclmdlRICaptureEnd(stream, &model), ACL_SUCCESS);
    assert_int_equal(aclmdlRIGetStreams(model, streams, &stream_count), ACL_SUCCESS);
    assert_int_equal(stream_count, 1);
    assert_int_equal(aclmdlRIGetTasksByStream(streams[0], tasks, &task_count), ACL_SUCCESS);
    assert_int_equal(task_count, 1);
    memset(&params, 0, sizeof(params));
    assert_int_equal(aclmdlRITaskGetParams(tasks[0], &params), ACL_SUCCESS);
    assert_int_equal(params.type, ACL_MODEL_RI_TASK_KERNEL);
    assert_ptr_equal(params.kernelTaskParams.funcHandle, function("fill_index"));
    assert_int_equal(params.kernelTaskParams.numBlocks, 4);
    assert_int_equal(params.kernelTaskParams.argsSize, sizeof(args));
    assert_int_equal(params.kernelTaskParams.isHostArgs, 1);
    memcpy(&got, params.kernelTaskParams.args, sizeof(got));
    assert_int_equal(got.add, 5);
    got.add = 70;
    params.kernelTaskParams.args = &got;
    params.kernelTaskParams.numBlocks = 2;
    assert_int_equal(aclmdlRITaskSetParams(tasks[0], &params), ACL_SUCCESS);
    assert_int_equal(aclmdlRIUpdate(model), ACL_SUCCESS);
    memset(&got, 0, sizeof(got));
    assert_int_equal(aclmdlRIExecuteAsync(model, stream), ACL_SUCCESS);
    assert_int_equal(aclrtSynchronizeStream(stream), ACL_SUCCESS);
    check_filled(out, 2, 70);
    params.kernelTaskParams.funcHandle = (void *)64;
    check_failed(aclmdlRITaskSetParams(tasks[0], &params), ACL_ERROR_RT_PARAM_INVALID);
    params.kernelTaskParams.funcHandle = function("fill_index");
    params.kernelTaskParams.numBlocks = 0;
    check_failed(aclmdlRITaskSetParams(tasks[0], &params), ACL_ERROR_RT_PARAM_INVALID);
    assert_int_equal(aclmdlRIDestroy(model), ACL_SUCCESS);
    assert_int_equal(aclrtFree(out), ACL_SUCCESS);
    assert_int_equal(aclrtDestroyStream(stream), ACL_SUCCESS);
}

/* ---- timeouts ---- */
static void timeout_attribute(void **state)
{
    (void)state;
    uint32_t ms = 20;
    aclrtLaunchKernelAttr attr;
    memset(&attr, 0, sizeof(attr));
    attr.id = ACL_RT_LAUNCH_KERNEL_ATTR_TIMEOUT_US;
    attr.value.timeoutUs.timeoutLow = 1000;
    aclrtLaunchKernelCfg cfg = {&attr, 1};
    assert_int_equal(aclrtLaunchKernelV2(function("spin_ms"), 1, &ms, sizeof(ms), &cfg, NULL), ACL_SUCCESS);
    assert_int_equal(synchronize(), ACL_ERROR_RT_AICORE_TIMEOUT);
    attr.id = (aclrtLaunchKernelAttrId)77;
    check_failed(aclrtLaunchKernelV2(function("spin_ms"), 1, &ms, sizeof(ms), &cfg, NULL), ACL_ERROR_RT_PARAM_INVALID);
    cfg.attrs = NULL;
    check_failed(aclrtLaunchKernelV2(function("spin_ms"), 1, &ms, sizeof(ms), &cfg, NULL), ACL_ERROR_RT_PARAM_INVALID);
}

/* ---- random numbers ---- */
static aclrtRandomNumTaskInfo random_task(aclDataType type, aclrtRandomNumFuncType kind, const void *a, const void *b,
                                          uint8_t size, uint64_t count, void *counter, void *out)
{
    aclrtRandomNumTaskInfo info;
    uint64_t seed = 42;
    memset(&info, 0, sizeof(info));
    info.dataType = type;
    info.randomNumFuncParaInfo.funcType = kind;
    aclrtUniformDisInfo *operands = &info.randomNumFuncParaInfo.paramInfo.uniformDisInfo;
    memcpy(operands->min.valueOrAddr, a, size);
    operands->min.size = size;
    memcpy(operands->max.valueOrAddr, b, size);
    operands->max.size = size;
    memcpy(info.randomSeed.valueOrAddr, &seed, sizeof(seed));
    info.randomSeed.size = sizeof(seed);
    memcpy(info.randomNum.valueOrAddr, &count, sizeof(count));
    info.randomNum.size = sizeof(count);
    info.randomCounterAddr = counter;
    info.randomResultAddr = out;
    return info;
}

static void random_numbers(void **state)
{
    (void)state;
    enum { N = 20000 };
    uint64_t *counter = dev_memory(64);
    float *out = dev_memory(N * 4), *again = dev_memory(N * 4), a = -2, b = 6;
    aclrtRandomNumTaskInfo info =
        random_task(ACL_FLOAT, ACL_RT_RANDOM_NUM_FUNC_TYPE_UNIFORM_DIS, &a, &b, 4, N, counter, out);
    double sum = 0, squares = 0;
    assert_int_equal(aclrtRandomNumAsync(&info, NULL, NULL), ACL_SUCCESS);
    info.randomResultAddr = again;
    assert_int_equal(aclrtRandomNumAsync(&info, NULL, NULL), ACL_SUCCESS);
    assert_int_equal(synchronize(), 0);
    assert_memory_equal(out, again, N * 4); /* same seed and offset */
    for (int i = 0; i < N; i++) {
        assert_true(out[i] >= a && out[i] <= b);
        sum += out[i];
    }
    assert_true(sum / N > 1.9 && sum / N < 2.1);
    *counter = 5000; /* further along the same sequence */
    assert_int_equal(aclrtRandomNumAsync(&info, NULL, NULL), ACL_SUCCESS);
    assert_int_equal(synchronize(), 0);
    assert_memory_equal(out + 5000, again, (N - 5000) * 4);

    a = 10, b = 3, sum = 0;
    info = random_task(ACL_FLOAT, ACL_RT_RANDOM_NUM_FUNC_TYPE_NORMAL_DIS, &a, &b, 4, N, counter, out);
    assert_int_equal(aclrtRandomNumAsync(&info, NULL, NULL), ACL_SUCCESS);
    info = random_task(ACL_FLOAT, ACL_RT_RANDOM_NUM_FUNC_TYPE_TRUNCATED_NORMAL_DIS, &a, &b, 4, N, counter, again);
    assert_int_equal(aclrtRandomNumAsync(&info, NULL, NULL), ACL_SUCCESS);
    assert_int_equal(synchronize(), 0);
    for (int i = 0; i < N; i++) {
        sum += out[i];
        squares += (out[i] - 10.0) * (out[i] - 10.0);
        assert_true(again[i] >= 4 && again[i] <= 16);
    }
    assert_true(sum / N > 9.9 && sum / N < 10.1 && squares / N > 8.5 && squares / N < 9.5);

    int32_t low = -3, high = 4, seen[7] = {0};
    info = random_task(ACL_INT32, ACL_RT_RANDOM_NUM_FUNC_TYPE_UNIFORM_DIS, &low, &high, 4, N, counter, out);
    assert_int_equal(aclrtRandomNumAsync(&info, NULL, NULL), ACL_SUCCESS);
    assert_int_equal(synchronize(), 0);
    for (int i = 0; i < N; i++) {
        int32_t value = ((int32_t *)(void *)out)[i];
        assert_true(value >= low && value < high);
        seen[value - low]++;
    }
    for (int i = 0; i < 7; i++) {
        assert_true(seen[i] > N / 7 * 9 / 10);
    }
    float dropped = 0.25f;
    int kept = 0;
    info = random_task(ACL_FLOAT, ACL_RT_RANDOM_NUM_FUNC_TYPE_DROPOUT_BITMASK, &dropped, &dropped, 4, N, counter, out);
    assert_int_equal(aclrtRandomNumAsync(&info, NULL, NULL), ACL_SUCCESS);
    assert_int_equal(synchronize(), 0);
    for (int i = 0; i < N; i++) {
        kept += ((uint8_t *)out)[i / 8] >> (i % 8) & 1;
    }
    assert_true(kept > N * 0.74 && kept < N * 0.76);

    info.dataType = ACL_INT32;
    check_failed(aclrtRandomNumAsync(&info, NULL, NULL), ACL_ERROR_RT_PARAM_INVALID);
    info = random_task(ACL_FLOAT, ACL_RT_RANDOM_NUM_FUNC_TYPE_NORMAL_DIS, &a, &b, 3, N, counter, out);
    check_failed(aclrtRandomNumAsync(&info, NULL, NULL), ACL_ERROR_RT_PARAM_INVALID);
    info = random_task(ACL_FLOAT, ACL_RT_RANDOM_NUM_FUNC_TYPE_NORMAL_DIS, &a, &b, 4, UINT64_MAX, counter, out);
    assert_int_equal(aclrtRandomNumAsync(&info, NULL, NULL), ACL_SUCCESS);
    assert_int_equal(synchronize(), ACL_ERROR_RT_SYS_DMA); /* more than the buffer holds */
    info.randomCounterAddr = (void *)8;
    check_failed(aclrtRandomNumAsync(&info, NULL, NULL), ACL_ERROR_RT_PARAM_INVALID);
    assert_int_equal(aclrtFree(counter), ACL_SUCCESS);
    assert_int_equal(aclrtFree(out), ACL_SUCCESS);
    assert_int_equal(aclrtFree(again), ACL_SUCCESS);
}

/* ---- cores ---- */
struct work {
    uint32_t blocks;
    uint32_t seen[512];
};

static void count_block(void *args, uint32_t block, uint32_t blocks)
{
    struct work *w = args;
    assert_int_equal(blocks, w->blocks);
    for (volatile int i = 0; i < 20000; i++) {
    }
    __atomic_fetch_add(&w->seen[block], 1, __ATOMIC_RELAXED);
}

static void nested(void *args, uint32_t block, uint32_t blocks)
{
    (void)block;
    (void)blocks;
    struct work *w = calloc(1, sizeof(*w));
    w->blocks = 7;
    snpu_cores_run(count_block, w, 7);
    for (uint32_t i = 0; i < 7; i++) {
        __atomic_fetch_add((uint32_t *)args, w->seen[i], __ATOMIC_RELAXED);
    }
    free(w);
}

static void *use_cores(void *unused)
{
    struct work *w = malloc(sizeof(*w));
    for (uint32_t round = 0; round < 20; round++) {
        memset(w, 0, sizeof(*w));
        w->blocks = 1 + round * 13 % 512;
        snpu_cores_run(count_block, w, w->blocks);
        for (uint32_t i = 0; i < w->blocks; i++) {
            assert_int_equal(w->seen[i], 1);
        }
    }
    free(w);
    return unused;
}

static void cores(void **state)
{
    (void)state;
    pthread_t threads[3];
    for (size_t i = 0; i < MS_COUNT_OF(threads); i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, use_cores, NULL), 0);
    }
    for (size_t i = 0; i < MS_COUNT_OF(threads); i++) {
        pthread_join(threads[i], NULL);
    }
    uint32_t total = 0;
    snpu_cores_run(nested, &total, 5);
    assert_int_equal(total, 35);
    snpu_cores_run(nested, &total, 0);
    assert_int_equal(total, 35);
}

/* ---- faults outside kernels; those inside need a program without the test harness's handlers ---- */
static void say_so(int signal)
{
    _exit(signal == SIGSEGV ? 42 : 1);
}

/* Exit status of a child that has run a kernel and then faults outside one. */
static int end_of_child(void (*handler)(int), bool sent)
{
    pid_t child = fork();
    if (child == 0) {
        alarm(20);
        signal(SIGSEGV, handler);
        struct work w = {.blocks = 1};
        snpu_cores_run(count_block, &w, 1); /* the first kernel: faults are handled from now on */
        if (sent) {
            raise(SIGSEGV);
        } else {
            int *volatile nowhere = (int *)16;
            *nowhere = 1;
        }
        _exit(7);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void other_faults_are_passed_on(void **state)
{
    (void)state;
    assert_int_equal(WEXITSTATUS(end_of_child(say_so, false)), 42);
    assert_int_equal(WEXITSTATUS(end_of_child(say_so, true)), 42);
    assert_int_equal(WTERMSIG(end_of_child(SIG_DFL, false)), SIGSEGV);
    assert_int_equal(WTERMSIG(end_of_child(SIG_DFL, true)), SIGSEGV);
    assert_int_equal(WTERMSIG(end_of_child(SIG_IGN, false)), SIGSEGV);
    assert_int_equal(WEXITSTATUS(end_of_child(SIG_IGN, true)), 7);
}

int main(void)
{
    four_cores();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_faults_are_passed_on), /* first: no kernel has run in this process */
        cmocka_unit_test(runtime_launches),
        cmocka_unit_test(aicpu_kernels),
        cmocka_unit_test(timeout_attribute),
        cmocka_unit_test(captured),
        cmocka_unit_test(updated_graph),
        cmocka_unit_test(random_numbers),
        cmocka_unit_test(cores),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
