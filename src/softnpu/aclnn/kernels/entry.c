/* SPDX-License-Identifier: Apache-2.0 */
/* The exported side of opapi_kernels.so: each kernel under its name, in the variant of this machine. */
#include "base/macros.h"
#include "softnpu/aclnn/kernels/op_args.h"
#include "softnpu/kernels/variant.h"

#ifdef TK_HAVE_V3
#define BEST(name, ...) (tk_machine_is_v3() ? name##_v3(__VA_ARGS__) : name##_base(__VA_ARGS__))
#else
#define BEST(name, ...) name##_base(__VA_ARGS__)
#endif

#define ENTRY(name, args)                                                                                              \
    void name##_base(const struct args *a, uint32_t block, uint32_t num_blocks);                                       \
    void name##_v3(const struct args *a, uint32_t block, uint32_t num_blocks);                                         \
    MS_EXPORT void name(void *a, uint32_t block, uint32_t num_blocks);                                                 \
    void name(void *a, uint32_t block, uint32_t num_blocks)                                                            \
    {                                                                                                                  \
        if (a != NULL) {                                                                                               \
            BEST(name, a, block, num_blocks);                                                                          \
        }                                                                                                              \
    }
OP_KERNELS(ENTRY)
