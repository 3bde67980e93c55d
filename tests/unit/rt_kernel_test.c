/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel binaries, functions, arguments and launches through ACL. */
#include "rt_kernel_fixture.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

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
    assert_string_equal(name, "axpy_12"); /* without the suffix of its half */
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
    /* Read in stream order: after a slow kernel and a copy into the variable. */
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
    /* Freed before the kernel runs: the kernel fails, the process survives. */
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
    /* Many identical placeholders: more than fit on a launch's stack. */
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

    /* More lists than there is space for, each launched once: the oldest are recycled. */
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

int main(void)
{
    four_cores();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lookup),
        cmocka_unit_test(variables),
        cmocka_unit_test(launch_and_blocks),
        cmocka_unit_test(device_arguments),
        cmocka_unit_test(alignment_and_copies),
        cmocka_unit_test(placeholders),
        cmocka_unit_test(argument_lists),
        cmocka_unit_test(lists_in_own_memory),
        cmocka_unit_test(argument_arrays),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
