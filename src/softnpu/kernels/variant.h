/* SPDX-License-Identifier: Apache-2.0 */
/* Choosing between the instruction sets that the kernels were compiled for. Not an indirect function (ifunc), because
 * the loader resolves those before sanitizers and preloads are ready. */
#ifndef TK_VARIANT_H
#define TK_VARIANT_H

#include "transformer_kernels.h"

#include <stdbool.h>
#include <stddef.h>

#define TK_DECLARE_VARIANT(name, variant)                                                                              \
    void name##_##variant(const struct tk_##name##_args *a, uint32_t block, uint32_t num_blocks);

#ifdef TK_HAVE_V3
/* Every processor with AVX2 has F16C too. */
static inline bool tk_machine_is_v3(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
#define TK_VARIANTS_OF(name)    TK_DECLARE_VARIANT(name, base) TK_DECLARE_VARIANT(name, v3)
#define TK_CALL_BEST(name, ...) (tk_machine_is_v3() ? name##_v3(__VA_ARGS__) : name##_base(__VA_ARGS__))
#else
#define TK_VARIANTS_OF(name)    TK_DECLARE_VARIANT(name, base)
#define TK_CALL_BEST(name, ...) name##_base(__VA_ARGS__)
#endif

#endif
