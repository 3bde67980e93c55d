/* Kernel binaries, functions, arguments and launches through ACL and through the runtime's own functions; the cores. */
#include "hal_test.h"

#include "acl/acl.h"
#include "runtime/rt.h"
#include "softnpu/runtime/context_life.h"
#include "softnpu/runtime/error.h"
#include "softnpu/runtime/task.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

static char kernels_path[512];
static aclrtBinHandle bin;

static void check_failed(aclError code, aclError expected)
{
    assert_int_equal(code, expected);
    assert_non_null(snpu_take_message());
}

static aclError synchronize(void)
{
    struct snpu_stream *stream;
    assert_int_equal(snpu_stream_resolve("test", NULL, &stream), 0);
    return snpu_stream_synchronize(stream, -1);
}

static aclrtFuncHandle function(const char *name)
{
    aclrtFuncHandle f = NULL;
    assert_int_equal(aclrtBinaryGetFunction(bin, name, &f), ACL_SUCCESS);
    return f;
}

static void *dev_memory(size_t size_b)
{
    void *p = NULL;
    assert_int_equal(aclrtMalloc(&p, size_b, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    memset(p, 0, size_b);
    return p;
}

struct fill_args {
    uint32_t *out;
    uint32_t add;
};

static void check_filled(const uint32_t *out, uint32_t blocks, uint32_t add)
{
    for (uint32_t i = 0; i < blocks; i++) {
        assert_int_equal(out[i], i + add + 1000 * blocks);
    }
}

/* ---- lookup ---- */
static void lookup(void **state)
{
    (void)state;
    aclrtFuncHandle f = NULL, g = NULL;
    char name[64];
    int64_t type;
    assert_int_equal(aclrtBinaryGetFunction(bin, "fill_index", &f), ACL_SUCCESS);
    assert_int_equal(aclrtBinaryGetFunction(bin, "fill_index", &g), ACL_SUCCESS);
    assert_ptr_equal(f, g);
    assert_int_equal(aclrtGetFunctionName(f, sizeof(name), name), ACL_SUCCESS);
    assert_string_equal(name, "fill_index");
    check_failed(aclrtGetFunctionName(f, 10, name), ACL_ERROR_RT_PARAM_INVALID);
    assert_int_equal(aclrtGetFunctionName(f, 11, name), ACL_SUCCESS);

    assert_int_equal(aclrtBinaryGetFunctionByEntry(bin, 7, &f), ACL_SUCCESS);
    assert_int_equal(aclrtGetFunctionName(f, sizeof(name), name), ACL_SUCCESS);
    assert_string_equal(name, "axpy_7");
    assert_int_equal(aclrtBinaryGetFunctionByEntry(bin, 12, &f), ACL_SUCCESS);
    assert_int_equal(aclrtGetFunctionName(f, sizeof(name), name), ACL_SUCCESS);
    assert_string_equal(name, "axpy_12"); /* without the ending of its half */
    assert_int_equal(aclrtGetFunctionAttribute(f, ACL_FUNC_ATTR_KERNEL_TYPE, &type), ACL_SUCCESS);
    assert_int_equal(type, ACL_KERNEL_TYPE_MIX);
    assert_int_equal(aclrtBinaryGetFunction(bin, "axpy_12", &g), ACL_SUCCESS);
    assert_ptr_equal(f, g);
    assert_int_equal(aclrtGetFunctionAttribute(function("nothing"), ACL_FUNC_ATTR_KERNEL_TYPE, &type), ACL_SUCCESS);
    assert_int_equal(type, ACL_KERNEL_TYPE_AICORE);

    check_failed(aclrtBinaryGetFunction(bin, "no_such_kernel", &f), ACL_ERROR_RT_KERNEL_LOOKUP);
    check_failed(aclrtBinaryGetFunction(bin, "tuning_table", &f), ACL_ERROR_RT_KERNEL_LOOKUP);
    check_failed(aclrtBinaryGetFunctionByEntry(bin, 2, &f), ACL_ERROR_RT_KERNEL_LOOKUP);
    check_failed(aclrtBinaryGetFunction(NULL, "nothing", &f), ACL_ERROR_INVALID_PARAM);
    check_failed(aclrtBinaryGetFunction((void *)64, "nothing", &f), ACL_ERROR_RT_PARAM_INVALID);
    check_failed(aclrtGetFunctionAttribute((void *)&bin, ACL_FUNC_ATTR_KERNEL_TYPE, &type), ACL_ERROR_RT_PARAM_INVALID);

    aclrtBinHandle of = NULL;
    assert_int_equal(aclrtFunctionGetBinary(g, &of), ACL_SUCCESS);
    assert_ptr_equal(of, bin);
    void *aic = NULL, *aiv = NULL;
    assert_int_equal(aclrtGetFunctionAddr(function("nothing"), &aic, &aiv), ACL_SUCCESS);
    assert_non_null(aic);
    assert_null(aiv);
    size_t aic_b = 0, aiv_b = 1;
    assert_int_equal(aclrtGetFunctionSize(function("nothing"), &aic_b, &aiv_b), ACL_SUCCESS);
    assert_true(aic_b > 0 && aiv_b == 0);
}

static void variables(void **state)
{
    (void)state;
    int32_t *table = NULL, *out = dev_memory(64), numbers[2] = {40, 50};
    size_t size_b = 0;
    assert_int_equal(aclrtBinaryGetGlobal(bin, "tuning_table", (void **)&table, &size_b), ACL_SUCCESS);
    assert_int_equal(size_b, 16);
    assert_int_equal(table[3], 4);
    assert_int_equal(aclrtMemcpyToSymbol(table, numbers, sizeof(numbers), 8, ACL_MEMCPY_HOST_TO_DEVICE), ACL_SUCCESS);
    assert_int_equal(aclrtLaunchKernel(function("scale_variable"), 1, &out, sizeof(out), NULL), ACL_SUCCESS);
    assert_int_equal(synchronize(), 0);
    assert_int_equal(*out, 1 + 50);
    check_failed(aclrtMemcpyToSymbol(table, numbers, sizeof(numbers), 12, ACL_MEMCPY_HOST_TO_DEVICE),
                 ACL_ERROR_RT_PARAM_INVALID);
    check_failed(aclrtMemcpyToSymbol(&size_b, numbers, 4, 0, ACL_MEMCPY_HOST_TO_DEVICE), ACL_ERROR_RT_INVALID_SYMBOL);
    check_failed(aclrtBinaryGetGlobal(bin, "nothing", (void **)&table, &size_b), ACL_ERROR_RT_SYMBOL_NOT_FOUND);
    check_failed(aclrtBinaryGetGlobal(bin, "tuning_table", NULL, NULL), ACL_ERROR_INVALID_PARAM);
    /* Read in stream order: behind a slow kernel and a copy into the variable. */
    uint32_t ms = 20;
    int32_t seen = 0;
    assert_int_equal(aclrtLaunchKernel(function("spin_ms"), 1, &ms, sizeof(ms), NULL), ACL_SUCCESS);
    assert_int_equal(aclrtMemcpyToSymbolAsync(table, numbers, 4, 0, ACL_MEMCPY_HOST_TO_DEVICE, NULL), ACL_SUCCESS);
    assert_int_equal(aclrtMemcpyFromSymbolAsync(&seen, 4, table, 4, 0, ACL_MEMCPY_DEVICE_TO_HOST, NULL), ACL_SUCCESS);
    assert_int_equal(synchronize(), 0);
    assert_int_equal(seen, 40);
    assert_int_equal(aclrtFunctionGetAvailDynUbufPerBlock(function("nothing"), 0, &size_b), ACL_SUCCESS);
    assert_int_equal(size_b, 0);
    check_failed(aclrtFunctionGetAvailDynUbufPerBlock(&seen, 0, &size_b), ACL_ERROR_RT_PARAM_INVALID);
    void *base = NULL;
    assert_int_equal(aclrtBinaryGetDevAddress(bin, &base, &size_b), ACL_SUCCESS);
    assert_non_null(base);
    assert_int_equal(aclrtFree(out), ACL_SUCCESS);
}

/* ---- launching by function ---- */
static void launch_and_blocks(void **state)
{
    (void)state;
    static const uint32_t counts[] = {1, 2, 3, 8, 64, 1000};
    uint32_t *out = dev_memory(4096 * 4);
    for (size_t i = 0; i < MS_COUNT_OF(counts); i++) {
        struct fill_args args = {out, 5};
        assert_int_equal(aclrtLaunchKernel(function("fill_index"), counts[i], &args, sizeof(args), NULL), ACL_SUCCESS);
        memset(&args, 0xff, sizeof(args)); /* the launch has its own copy */
        assert_int_equal(synchronize(), 0);
        check_filled(out, counts[i], 5);
    }
    struct fill_args args = {out, 5};
    check_failed(aclrtLaunchKernel(function("fill_index"), 0, &args, sizeof(args), NULL), ACL_ERROR_RT_PARAM_INVALID);
    check_failed(aclrtLaunchKernel(function("fill_index"), 65536, &args, sizeof(args), NULL),
                 ACL_ERROR_RT_PARAM_INVALID);
    check_failed(aclrtLaunchKernel(function("fill_index"), 1, NULL, 16, NULL), ACL_ERROR_RT_PARAM_INVALID);
    check_failed(aclrtLaunchKernel(function("fill_index"), 1, &args, 1 << 20, NULL), ACL_ERROR_RT_PARAM_INVALID);
    check_failed(aclrtLaunchKernel((void *)0x1000, 1, &args, sizeof(args), NULL), ACL_ERROR_RT_PARAM_INVALID);
    check_failed(aclrtLaunchKernel(function("fill_index"), 1, &args, sizeof(args), (void *)0x1000),
                 ACL_ERROR_RT_PARAM_INVALID);
    assert_int_equal(aclrtLaunchKernel(function("nothing"), 1, NULL, 0, NULL), ACL_SUCCESS);
    assert_int_equal(synchronize(), 0);
    assert_int_equal(aclrtFree(out), ACL_SUCCESS);
}

/* Arguments in device memory are read when the kernel runs, in stream order. */
static void device_arguments(void **state)
{
    (void)state;
    uint32_t *out = dev_memory(64);
    struct fill_args args = {out, 21}, *dev_args = dev_memory(sizeof(args));
    uint32_t ms = 20;
    assert_int_equal(aclrtLaunchKernel(function("spin_ms"), 1, &ms, sizeof(ms), NULL), ACL_SUCCESS);
    assert_int_equal(aclrtMemcpyAsync(dev_args, sizeof(args), &args, sizeof(args), ACL_MEMCPY_HOST_TO_DEVICE, NULL),
                     ACL_SUCCESS);
    args.add = 99; /* pageable memory was read in the call */
    assert_int_equal(aclrtLaunchKernelV2(function("fill_index"), 2, dev_args, sizeof(args), NULL, NULL), ACL_SUCCESS);
    assert_int_equal(synchronize(), 0);
    check_filled(out, 2, 21);
    /* Freed before the kernel runs: the kernel fails, the process does not. */
    assert_int_equal(aclrtLaunchKernel(function("spin_ms"), 1, &ms, sizeof(ms), NULL), ACL_SUCCESS);
    assert_int_equal(aclrtLaunchKernel(function("fill_index"), 2, dev_args, sizeof(args), NULL), ACL_SUCCESS);
    assert_int_equal(aclrtFree(dev_args), ACL_SUCCESS);
    assert_int_equal(synchronize(), ACL_ERROR_RT_AICORE_EXCEPTION);
    assert_int_equal(aclrtFree(out), ACL_SUCCESS);
}

static void alignment_and_copies(void **state)
{
    (void)state;
    uint64_t *out = dev_memory(64);
    char args[300 + 7];
    memset(args, 0, sizeof(args));
    for (size_t shift = 0; shift < 8; shift++) {
        memcpy(args + shift, &out, sizeof(out));
        *out = 1;
        assert_int_equal(
            aclrtLaunchKernelWithHostArgs(function("check_alignment"), 1, NULL, NULL, args + shift, 300, NULL, 0),
            ACL_SUCCESS);
        assert_int_equal(synchronize(), 0);
        assert_int_equal(*out % 64, 0);
    }
    char *large = calloc(1, 200000);
    memcpy(large, &out, sizeof(out));
    *out = 1;
    assert_int_equal(aclrtLaunchKernelWithHostArgs(function("check_alignment"), 1, NULL, NULL, large, 200000, NULL, 0),
                     ACL_SUCCESS);
    free(large);
    assert_int_equal(synchronize(), 0);
    assert_int_equal(*out % 64, 0);
    assert_true(*out != 0);
    assert_int_equal(aclrtFree(out), ACL_SUCCESS);
}

struct input_args {
    uint32_t *out;
    const uint32_t *input;
    uint32_t data[4];
};

static void placeholders(void **state)
{
    (void)state;
    uint32_t *out = dev_memory(64);
    struct input_args args = {out, NULL, {11, 22, 33, 44}};
    aclrtPlaceHolderInfo hole = {offsetof(struct input_args, input), offsetof(struct input_args, data)};
    assert_int_equal(
        aclrtLaunchKernelWithHostArgs(function("read_host_input"), 4, NULL, NULL, &args, sizeof(args), &hole, 1),
        ACL_SUCCESS);
    assert_int_equal(synchronize(), 0);
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(out[i], args.data[i]);
    }
    static const aclrtPlaceHolderInfo wrong[] = {
        {sizeof(args) - 7, 0}, {0, sizeof(args) + 1}, {UINT32_MAX, 0}, {0, UINT32_MAX}};
    for (size_t i = 0; i < MS_COUNT_OF(wrong); i++) {
        hole = wrong[i];
        check_failed(aclrtLaunchKernelWithHostArgs(function("nothing"), 1, NULL, NULL, &args, sizeof(args), &hole, 1),
                     ACL_ERROR_RT_PARAM_INVALID);
    }
    check_failed(aclrtLaunchKernelWithHostArgs(function("nothing"), 1, NULL, NULL, &args, sizeof(args), NULL, 1),
                 ACL_ERROR_RT_PARAM_INVALID);
    /* Many placeholders, all the same: beyond what fits on the stack of a launch. */
    aclrtPlaceHolderInfo holes[500];
    for (size_t i = 0; i < MS_COUNT_OF(holes); i++) {
        holes[i] = (aclrtPlaceHolderInfo){offsetof(struct input_args, input), offsetof(struct input_args, data)};
    }
    out[0] = 0;
    assert_int_equal(aclrtLaunchKernelWithHostArgs(function("read_host_input"), 1, NULL, NULL, &args, sizeof(args),
                                                   holes, MS_COUNT_OF(holes)),
                     ACL_SUCCESS);
    assert_int_equal(synchronize(), 0);
    assert_int_equal(out[0], 11);
    assert_int_equal(aclrtFree(out), ACL_SUCCESS);
}

/* ---- argument lists ---- */
static void argument_lists(void **state)
{
    (void)state;
    uint32_t *out = dev_memory(64);
    aclrtArgsHandle list = NULL;
    aclrtParamHandle p_out = NULL, p_in = NULL;
    uint32_t *data = NULL;
    aclrtFuncHandle f = function("read_host_input");
    assert_int_equal(aclrtKernelArgsInit(f, &list), ACL_SUCCESS);
    assert_int_equal(aclrtKernelArgsAppend(list, &out, sizeof(out), &p_out), ACL_SUCCESS);
    assert_int_equal(aclrtKernelArgsAppendPlaceHolder(list, &p_in), ACL_SUCCESS);
    check_failed(aclrtKernelArgsFinalize(list), ACL_ERROR_RT_PARAM_INVALID); /* the placeholder has no data */
    assert_int_equal(aclrtKernelArgsGetPlaceHolderBuffer(list, p_in, 16, (void **)&data), ACL_SUCCESS);
    check_failed(aclrtLaunchKernelWithConfig(f, 1, NULL, NULL, list, NULL), ACL_ERROR_RT_PARAM_INVALID);
    assert_int_equal(aclrtKernelArgsFinalize(list), ACL_SUCCESS);
    for (uint32_t round = 1; round <= 3; round++) {
        data[0] = round, data[1] = 10 * round;
        assert_int_equal(aclrtLaunchKernelWithConfig(f, 2, NULL, NULL, list, NULL), ACL_SUCCESS);
        data[0] = data[1] = 0;
        assert_int_equal(synchronize(), 0);
        assert_int_equal(out[0], round);
        assert_int_equal(out[1], 10 * round);
    }
    uint32_t *other = dev_memory(64);
    assert_int_equal(aclrtKernelArgsParaUpdate(list, p_out, &other, sizeof(other)), ACL_SUCCESS);
    assert_int_equal(aclrtKernelArgsFinalize(list), ACL_SUCCESS);
    data[0] = 5;
    assert_int_equal(rtLaunchKernelByFuncHandleV2(f, 1, list, NULL, NULL), ACL_SUCCESS);
    assert_int_equal(synchronize(), 0);
    assert_int_equal(other[0], 5);

    check_failed(aclrtKernelArgsParaUpdate(list, p_out, &other, 4), ACL_ERROR_RT_PARAM_INVALID);
    check_failed(aclrtKernelArgsParaUpdate(list, (void *)&other, &other, 8), ACL_ERROR_RT_PARAM_INVALID);
    check_failed(aclrtKernelArgsGetPlaceHolderBuffer(list, p_out, 8, (void **)&data), ACL_ERROR_RT_PARAM_INVALID);
    check_failed(aclrtKernelArgsAppend(list, &other, sizeof(other), &p_out), ACL_ERROR_RT_PARAM_INVALID);
    check_failed(aclrtKernelArgsFinalize((void *)&other), ACL_ERROR_RT_PARAM_INVALID);
    check_failed(aclrtKernelArgsFinalize((void *)8), ACL_ERROR_RT_PARAM_INVALID);
    check_failed(aclrtKernelArgsInit((void *)8, &list), ACL_ERROR_RT_PARAM_INVALID);

    /* More lists than there is room for, each launched once: the oldest make place. */
    uint32_t add = 3;
    aclrtFuncHandle fill = function("fill_index");
    for (uint32_t i = 0; i < 5000; i++) {
        assert_int_equal(aclrtKernelArgsInit(fill, &list), ACL_SUCCESS);
        assert_int_equal(aclrtKernelArgsAppend(list, &out, sizeof(out), &p_out), ACL_SUCCESS);
        assert_int_equal(aclrtKernelArgsAppend(list, &add, sizeof(add), &p_in), ACL_SUCCESS);
        assert_int_equal(aclrtKernelArgsFinalize(list), ACL_SUCCESS);
        assert_int_equal(aclrtLaunchKernelWithConfig(fill, 1, NULL, NULL, list, NULL), ACL_SUCCESS);
    }
    assert_int_equal(synchronize(), 0);
    check_filled(out, 1, 3);
    assert_int_equal(aclrtFree(out), ACL_SUCCESS);
    assert_int_equal(aclrtFree(other), ACL_SUCCESS);
}

static void lists_in_own_memory(void **state)
{
    (void)state;
    uint32_t *out = dev_memory(64), add = 8;
    size_t list_b = 0, args_b = 0;
    aclrtParamHandle p;
    aclrtFuncHandle f = function("fill_index");
    assert_int_equal(aclrtKernelArgsGetHandleMemSize(f, &list_b), ACL_SUCCESS);
    assert_int_equal(aclrtKernelArgsGetMemSize(f, 16, &args_b), ACL_SUCCESS);
    assert_true(list_b > 0 && args_b >= 16);
    void *list = malloc(list_b), *memory = malloc(args_b);
    assert_int_equal(aclrtKernelArgsInitByUserMem(f, list, memory, args_b), ACL_SUCCESS);
    assert_int_equal(aclrtKernelArgsAppend(list, &out, sizeof(out), &p), ACL_SUCCESS);
    assert_int_equal(aclrtKernelArgsAppend(list, &add, sizeof(add), &p), ACL_SUCCESS);
    check_failed(aclrtKernelArgsAppend(list, &add, sizeof(add), &p), ACL_ERROR_RT_PARAM_INVALID);
    assert_int_equal(aclrtKernelArgsFinalize(list), ACL_SUCCESS);
    assert_int_equal(aclrtLaunchKernelWithConfig(f, 3, NULL, NULL, list, NULL), ACL_SUCCESS);
    memset(memory, 0, args_b);
    assert_int_equal(synchronize(), 0);
    check_filled(out, 3, 8);
    free(list);
    free(memory);
    assert_int_equal(aclrtFree(out), ACL_SUCCESS);
}

static void argument_arrays(void **state)
{
    (void)state;
    uint32_t *out = dev_memory(64), add = 17;
    size_t count = 0, offset = 0, size_b = 0;
    void *args[] = {&out, &add};
    aclrtFuncHandle f = function("fill_index");
    assert_int_equal(aclrtFunctionGetParamCount(f, &count), ACL_SUCCESS);
    assert_int_equal(count, 2);
    assert_int_equal(aclrtFunctionGetParamInfo(f, 1, &offset, &size_b), ACL_SUCCESS);
    assert_int_equal(offset, 8);
    assert_int_equal(size_b, 4);
    check_failed(aclrtFunctionGetParamInfo(f, 2, &offset, &size_b), ACL_ERROR_RT_PARAM_INVALID);
    assert_int_equal(aclrtLaunchKernelWithArgsArray(f, 4, NULL, NULL, args), ACL_SUCCESS);
    assert_int_equal(synchronize(), 0);
    check_filled(out, 4, 17);
    check_failed(aclrtLaunchKernelWithArgsArray(function("nothing"), 4, NULL, NULL, args),
                 ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
    check_failed(aclrtFunctionGetParamCount(&out, &count), ACL_ERROR_RT_PARAM_INVALID);
    assert_int_equal(aclrtFree(out), ACL_SUCCESS);
}

/* ---- launching the runtime's ways ---- */
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

    /* After unloading, nothing of it is left to launch; what was queued still runs. */
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
    /* A kernel that spoils its arguments finds them fresh at every replay. */
    assert_int_equal(aclrtLaunchKernel(spoil, 1, &where, sizeof(where), stream), ACL_SUCCESS);
    assert_int_equal(aclmdlRICaptureEnd(stream, &model), ACL_SUCCESS);
    assert_int_equal(out[0], 0); /* nothing ran */
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
    assert_memory_equal(out, again, N * 4); /* the same seed and offset */
    for (int i = 0; i < N; i++) {
        assert_true(out[i] >= a && out[i] <= b);
        sum += out[i];
    }
    assert_true(sum / N > 1.9 && sum / N < 2.1);
    *counter = 5000; /* further on in the same sequence */
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
    assert_int_equal(synchronize(), ACL_ERROR_RT_SYS_DMA); /* more than there is room for */
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

/* ---- faults outside of kernels; those inside need a program without the test harness's handlers ---- */
static void say_so(int signal)
{
    _exit(signal == SIGSEGV ? 42 : 1);
}

/* How a child ends that has run a kernel and then faults outside of one. */
static int end_of_child(void (*handler)(int), bool sent)
{
    pid_t child = fork();
    if (child == 0) {
        alarm(20);
        signal(SIGSEGV, handler);
        struct work w = {.blocks = 1};
        snpu_cores_run(count_block, &w, 1); /* the first kernel: from now on faults are looked at */
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

static void other_faults_are_not_ours(void **state)
{
    (void)state;
    assert_int_equal(WEXITSTATUS(end_of_child(say_so, false)), 42);
    assert_int_equal(WEXITSTATUS(end_of_child(say_so, true)), 42);
    assert_int_equal(WTERMSIG(end_of_child(SIG_DFL, false)), SIGSEGV);
    assert_int_equal(WTERMSIG(end_of_child(SIG_DFL, true)), SIGSEGV);
    assert_int_equal(WTERMSIG(end_of_child(SIG_IGN, false)), SIGSEGV);
    assert_int_equal(WEXITSTATUS(end_of_child(SIG_IGN, true)), 7);
}

static int set_up(void **state)
{
    (void)state;
    snprintf(kernels_path, sizeof(kernels_path), "%s/tests/unit/rt_kernels.so", getenv("NPUSCOPE_BUILD"));
    return snpu_device_set("test", 0) != 0 || aclrtBinaryLoadFromFile(kernels_path, NULL, &bin) != 0;
}

static int tear_down(void **state)
{
    (void)state;
    return aclrtBinaryUnLoad(bin) != 0;
}

int main(void)
{
    hal_use_machine("1", "1G");
    setenv("SOFTNPU_CORES", "4", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_faults_are_not_ours), /* first: no kernel has run in this process */
        cmocka_unit_test(lookup),
        cmocka_unit_test(variables),
        cmocka_unit_test(launch_and_blocks),
        cmocka_unit_test(device_arguments),
        cmocka_unit_test(alignment_and_copies),
        cmocka_unit_test(placeholders),
        cmocka_unit_test(argument_lists),
        cmocka_unit_test(lists_in_own_memory),
        cmocka_unit_test(argument_arrays),
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
