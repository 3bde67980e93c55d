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

/* Element-wise kernels: one engine behind all names; the arguments say which function. */
void op_map_base(const struct op_map_args *m, uint32_t block, uint32_t num_blocks);
void op_map_v3(const struct op_map_args *m, uint32_t block, uint32_t num_blocks);
#define MAP_ENTRY_2(name, expression)                                                                                  \
    MS_EXPORT void name(void *a, uint32_t block, uint32_t num_blocks);                                                 \
    void name(void *a, uint32_t block, uint32_t num_blocks)                                                            \
    {                                                                                                                  \
        if (a != NULL) {                                                                                               \
            BEST(op_map, a, block, num_blocks);                                                                        \
        }                                                                                                              \
    }
#define MAP_ENTRY_3(name, real, whole) MAP_ENTRY_2(name, real)
OP_MAP_ROWS(MAP_ENTRY_2, MAP_ENTRY_2, MAP_ENTRY_3)

/* One engine behind several names. */
#define SHARED(name, engine)                                                                                           \
    MS_EXPORT void name(void *a, uint32_t block, uint32_t num_blocks);                                                 \
    void name(void *a, uint32_t block, uint32_t num_blocks)                                                            \
    {                                                                                                                  \
        if (a != NULL) {                                                                                               \
            BEST(engine, a, block, num_blocks);                                                                        \
        }                                                                                                              \
    }
void op_reduce_base(const struct op_reduce_args *a, uint32_t block, uint32_t num_blocks);
void op_reduce_v3(const struct op_reduce_args *a, uint32_t block, uint32_t num_blocks);
#define REDUCE_ENTRY(name) SHARED(name, op_reduce)
OP_REDUCE_KERNELS(REDUCE_ENTRY)
void op_rows_base(const struct op_rows_args *a, uint32_t block, uint32_t num_blocks);
void op_rows_v3(const struct op_rows_args *a, uint32_t block, uint32_t num_blocks);
#define ROWS_ENTRY(name) SHARED(name, op_rows)
OP_ROW_KERNELS(ROWS_ENTRY)
void op_foreach_base(const struct op_foreach_args *a, uint32_t block, uint32_t num_blocks);
void op_foreach_v3(const struct op_foreach_args *a, uint32_t block, uint32_t num_blocks);
#define FOREACH_ENTRY(name) SHARED(name, op_foreach)
OP_FOREACH_KERNELS(FOREACH_ENTRY)
