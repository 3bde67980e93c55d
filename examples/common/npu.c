/* SPDX-License-Identifier: Apache-2.0 */
#include "npu.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *program_name = "example";

void fail(const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    fflush(stdout);
    fprintf(stderr, "%s: %s\n", program_name, text);
    exit(1);
}

void check_acl(aclError ret, const char *what)
{
    if (ret != ACL_SUCCESS) {
        const char *why = aclGetRecentErrMsg();
        fail("%s failed with error %d%s%s", what, ret, why != NULL ? ": " : "", why != NULL ? why : "");
    }
}

void check_pool(aclError ret, const char *what)
{
    if (ret != ACL_SUCCESS) {
        fail("%s: %s", what, npool_last_error());
    }
}

/* The directory of operator binaries in an installation. */
static void default_kernels(char *path, size_t size)
{
    static const char below[] = "built-in/op_impl/ai_core/tbe/kernel/transformer_kernels.so";
    const char *opp = getenv("ASCEND_OPP_PATH"), *home = getenv("ASCEND_HOME_PATH");
    if (opp != NULL) {
        snprintf(path, size, "%s/%s", opp, below);
    } else if (home != NULL) {
        snprintf(path, size, "%s/opp/%s", home, below);
    } else {
        fail("set ASCEND_OPP_PATH or ASCEND_HOME_PATH, or name the operator binary with --kernels");
    }
}

static void load_kernels(struct npu *npu, const char *path)
{
    char found[4096];
    if (path == NULL) {
        default_kernels(found, sizeof(found));
        path = found;
    }
    if (access(path, R_OK) != 0) {
        fail("cannot read the operator binary %s", path);
    }
    check_acl(aclrtBinaryLoadFromFile(path, NULL, &npu->binary), "aclrtBinaryLoadFromFile");
    static const char *const names[] = {
#define KERNEL_NAME(name, key) #name,
        TK_KERNELS(KERNEL_NAME)
#undef KERNEL_NAME
    };
    for (size_t i = 0; i < KERNEL_COUNT; i++) {
        aclError ret = aclrtBinaryGetFunction(npu->binary, names[i], &npu->kernels[i]);
        if (ret != ACL_SUCCESS) {
            fail("the operator binary %s has no kernel %s", path, names[i]);
        }
    }
}

void npu_open(struct npu *npu, int32_t device, const char *kernels, bool announce)
{
    *npu = (struct npu){.device = device};
    check_acl(aclInit(NULL), "aclInit");
    uint32_t count = 0;
    check_acl(aclrtGetDeviceCount(&count), "aclrtGetDeviceCount");
    if ((uint32_t)device >= count) {
        fail("no device %d: this machine has %u", device, count);
    }
    check_acl(aclrtSetDevice(device), "aclrtSetDevice");
    check_acl(aclrtCreateStream(&npu->stream), "aclrtCreateStream");
    int64_t cores = 0;
    if (aclrtGetDeviceInfo((uint32_t)device, ACL_DEV_ATTR_AICORE_CORE_NUM, &cores) != ACL_SUCCESS || cores < 1) {
        cores = 1;
    }
    npu->cores = (uint32_t)cores;
    load_kernels(npu, kernels);
    npu->pool = npool_caching_create(NULL);
    npu->workspace = npool_workspace_create();
    npu->pinned = npool_pinned_create(NULL);
    if (npu->pool == NULL || npu->workspace == NULL || npu->pinned == NULL) {
        fail("memory pool: %s", npool_last_error());
    }
    check_pool(npool_attach_workspace(npu->pool, npu->workspace), "memory pool");
    npu->announce = announce || npool_reporting();
}

void npu_close(struct npu *npu)
{
    check_acl(aclrtSynchronizeStream(npu->stream), "aclrtSynchronizeStream");
    npool_pinned_destroy(npu->pinned);
    npool_workspace_destroy(npu->workspace);
    npool_caching_destroy(npu->pool);
    check_acl(aclrtBinaryUnLoad(npu->binary), "aclrtBinaryUnLoad");
    check_acl(aclrtDestroyStream(npu->stream), "aclrtDestroyStream");
    check_acl(aclrtResetDevice(npu->device), "aclrtResetDevice");
    check_acl(aclFinalize(), "aclFinalize");
}

void npu_launch(struct npu *npu, enum kernel kernel, size_t work, const void *args, size_t args_b)
{
    size_t blocks = work / 8192 + 1;
    if (blocks > npu->cores) {
        blocks = npu->cores;
    }
    check_acl(aclrtLaunchKernel(npu->kernels[kernel], (uint32_t)blocks, args, args_b, npu->stream),
              "aclrtLaunchKernel");
}

void npu_synchronize(struct npu *npu)
{
    check_acl(aclrtSynchronizeStream(npu->stream), "aclrtSynchronizeStream");
}
