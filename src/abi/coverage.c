/* SPDX-License-Identifier: Apache-2.0 */
/* The function tables as data. */
#include "abi/coverage.h"

#include "base/macros.h"

#define ROW(status, set, name) {#name, ABI_##status, ABI_##set},

static const struct abi_name acl_names[] = {
#define ACL_FN(status, ret, name, params, args)       ROW(status, RECOMMENDED, name)
#define ACL_FN_EXTRA(status, ret, name, params, args) ROW(status, EXTRA, name)
#include "abi/acl_functions.h"
};

static const struct abi_name aclop_names[] = {
#define ACLOP_FN(status, ret, name, params, args) ROW(status, RECOMMENDED, name)
#include "abi/aclop_functions.h"
};

static const struct abi_name aclcompiler_names[] = {
#define ACLCOMPILER_FN(status, ret, name, params) ROW(status, RECOMMENDED, name)
#include "abi/aclcompiler_functions.h"
};

static const struct abi_name acltdt_names[] = {
#define ACLTDT_FN(status, ret, name, params) ROW(status, RECOMMENDED, name)
#include "abi/acltdt_functions.h"
};

static const struct abi_name acltdt_queue_names[] = {
#define ACLTDT_QUEUE_FN(status, ret, name, params) ROW(status, RECOMMENDED, name)
#include "abi/acltdt_queue_functions.h"
};

static const struct abi_name rt_names[] = {
#define RT_FN(status, ret, name, params) ROW(status, RECOMMENDED, name)
#include "abi/rt_functions.h"
};

static const struct abi_name hal_names[] = {
#define HAL_FN(status, ret, name, params) ROW(status, RECOMMENDED, name)
#include "abi/hal_functions.h"
};

static const struct abi_name hccl_names[] = {
#define HCCL_FN(status, ret, name, params) ROW(status, RECOMMENDED, name)
#include "abi/hccl_functions.h"
};

static const struct abi_name mstx_names[] = {
#define MSTX_FN(status, ret, name, params) ROW(status, RECOMMENDED, name)
#include "abi/mstx_functions.h"
};

static const struct abi_name profapi_names[] = {
#define PROFAPI_FN(status, ret, name, params) ROW(status, RECOMMENDED, name)
#include "abi/profapi_functions.h"
};

static const struct abi_name aclprof_names[] = {
#define ACLPROF_FN(status, ret, name, params) ROW(status, RECOMMENDED, name)
#include "abi/aclprof_functions.h"
};

#define LIBRARY(key, file)                                                                                             \
    {                                                                                                                  \
#key, file, key##_names, MS_COUNT_OF(key##_names)                                                              \
    }

static const struct abi_library libraries[] = {
    LIBRARY(acl, "libascendcl.so"),
    LIBRARY(rt, "libruntime.so"),
    LIBRARY(hal, "libascend_hal.so"),
    LIBRARY(hccl, "libhccl.so"),
    LIBRARY(mstx, "libms_tools_ext.so"),
    LIBRARY(profapi, "libprofapi.so"),
    LIBRARY(aclprof, "libmsprofiler.so"),
    LIBRARY(aclop, "libascendcl.so"),
    LIBRARY(aclcompiler, "libacl_op_compiler.so"),
    LIBRARY(acltdt, "libacl_tdt_channel.so"),
    LIBRARY(acltdt_queue, "libacl_tdt_queue.so"),
};

const struct abi_library *abi_coverage(size_t *count)
{
    *count = MS_COUNT_OF(libraries);
    return libraries;
}

size_t abi_coverage_count(const struct abi_library *library, enum abi_status status, int set)
{
    size_t n = 0;
    for (size_t i = 0; i < library->count; i++) {
        const struct abi_name *name = &library->names[i];
        n += name->status == status && (set < 0 || name->set == (enum abi_set)set);
    }
    return n;
}
