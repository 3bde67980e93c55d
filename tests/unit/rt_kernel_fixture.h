/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the kernel tests: a loaded binary, its functions, memory for them. */
#ifndef RT_KERNEL_FIXTURE_H
#define RT_KERNEL_FIXTURE_H

#include "rt_fixture.h"

#include "runtime/rt.h"

static char kernels_path[512];
static aclrtBinHandle bin;

static inline aclrtFuncHandle function(const char *name)
{
    aclrtFuncHandle f = NULL;
    assert_int_equal(aclrtBinaryGetFunction(bin, name, &f), ACL_SUCCESS);
    return f;
}

struct fill_args {
    uint32_t *out;
    uint32_t add;
};

struct input_args {
    uint32_t *out;
    const uint32_t *input;
    uint32_t data[4];
};

static inline void check_filled(const uint32_t *out, uint32_t blocks, uint32_t add)
{
    for (uint32_t i = 0; i < blocks; i++) {
        assert_int_equal(out[i], i + add + 1000 * blocks);
    }
}

static inline int set_up(void **state)
{
    (void)state;
    snprintf(kernels_path, sizeof(kernels_path), "%s/tests/unit/rt_kernels.so", getenv("NPUSCOPE_BUILD"));
    return snpu_device_set("test", 0) != 0 || aclrtBinaryLoadFromFile(kernels_path, NULL, &bin) != 0;
}

static inline int tear_down(void **state)
{
    (void)state;
    return aclrtBinaryUnLoad(bin) != 0;
}

/* Call first in main. */
static inline void four_cores(void)
{
    hal_use_machine("1", "1G");
    setenv("SOFTNPU_CORES", "4", 1);
}

#endif
