/* SPDX-License-Identifier: Apache-2.0 */
/* The exported side of transformer_kernels.so: for each kernel one function `void name(void *args, uint32_t block,
 * uint32_t num_blocks)`, an alias `<name>_<tiling key>`, and a table of all of them. The functions choose the best
 * variant for this machine. */
#include "base/macros.h"
#include "softnpu/kernels/variant.h"

/* Kernels by name and by tiling key. */
#define ENTRY(name, key)                                                                                               \
    TK_VARIANTS_OF(name)                                                                                               \
    MS_EXPORT void name(void *args, uint32_t block, uint32_t num_blocks);                                              \
    MS_EXPORT void name##_##key(void *args, uint32_t block, uint32_t num_blocks) __attribute__((alias(#name)));        \
    void name(void *args, uint32_t block, uint32_t num_blocks)                                                         \
    {                                                                                                                  \
        if (args != NULL) {                                                                                            \
            TK_CALL_BEST(name, args, block, num_blocks);                                                               \
        }                                                                                                              \
    }
TK_KERNELS(ENTRY)

#define INFO(name, key) {#name, key, sizeof(struct tk_##name##_args)},
extern MS_EXPORT const struct tk_kernel_info transformer_kernels_table[];
extern MS_EXPORT const uint64_t transformer_kernels_count;
const struct tk_kernel_info transformer_kernels_table[] = {TK_KERNELS(INFO)};
const uint64_t transformer_kernels_count = MS_COUNT_OF(transformer_kernels_table);

#define ASSERT_LAYOUT(name, key)                                                                                       \
    _Static_assert(sizeof(struct tk_##name##_args) % 8 == 0, "arguments of " #name " are eight-byte fields");
TK_KERNELS(ASSERT_LAYOUT)
