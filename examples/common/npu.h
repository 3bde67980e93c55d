/* SPDX-License-Identifier: Apache-2.0 */
/* One NPU as the examples use it: a device with a stream, the operator binary, and memory through the framework's
 * pools. Errors end the program with status 1 and a message that includes the runtime's own text. */
#ifndef EXAMPLES_COMMON_NPU_H
#define EXAMPLES_COMMON_NPU_H

#include "acl/acl.h"
#include "npupool/npupool.h"
#include "transformer_kernels.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One number per kernel of the operator binary: KERNEL_matmul, KERNEL_bias_add ... */
enum kernel {
#define KERNEL_NUMBER(name, key) KERNEL_##name,
    TK_KERNELS(KERNEL_NUMBER)
#undef KERNEL_NUMBER
        KERNEL_COUNT
};

struct npu;

/* Optional: called at the end of every operator. */
typedef void (*operator_hook)(struct npu *npu, const char *name, void *arg);

struct npu {
    int32_t device;
    aclrtStream stream;
    aclrtBinHandle binary;
    aclrtFuncHandle kernels[KERNEL_COUNT];
    uint32_t cores;
    npool_caching *pool;
    npool_workspace *workspace;
    npool_pinned *pinned; /* host buffers of copies */
    bool announce;        /* report operators and tensors to tools */
    char operator_name[96];
    operator_hook hook;
    void *hook_arg;
};

/* Message and exit status 1. */
void fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
/* Does nothing if ret is 0. */
void check_acl(aclError ret, const char *what);
void check_pool(aclError ret, const char *what);
extern const char *program_name;

/* kernels NULL: the transformer_kernels.so of the installed operators. announce: even if no tool is attached. */
void npu_open(struct npu *npu, int32_t device, const char *kernels, bool announce);
void npu_close(struct npu *npu);

/* Queues a kernel over `work` elements, which determine the number of blocks. */
void npu_launch(struct npu *npu, enum kernel kernel, size_t work, const void *args, size_t args_b);
#define NPU_LAUNCH(npu, kernel, work, args) npu_launch((npu), KERNEL_##kernel, (work), &(args), sizeof(args))

void npu_synchronize(struct npu *npu);

#endif
