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
#define ABSENT_COMPILER(name) ROW(ABSENT, EXTRA, name)
#include "abi/absent_functions.h"
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

static const struct abi_name aclmdl_names[] = {
#define ACLMDL_FN(status, ret, name, params, args) ROW(status, RECOMMENDED, name)
#include "abi/aclmdl_functions.h"
};

static const struct abi_name acldump_names[] = {
#define ACLDUMP_FN(status, ret, name, params) ROW(status, RECOMMENDED, name)
#include "abi/acldump_functions.h"
};

static const struct abi_name dcmi_names[] = {
#define DCMI_FN(status, name) ROW(status, RECOMMENDED, name)
#include "abi/dcmi_functions.h"
#define ABSENT_DCMI(name) ROW(ABSENT, EXTRA, name)
#include "abi/absent_functions.h"
};

static const struct abi_name aclnn_names[] = {
#define ACLNN_FN(status, name) ROW(status, RECOMMENDED, name)
#include "aclnn_names.h" /* generated from aclnn_operators.txt and the rows of the operators */
#undef ACLNN_FN
#define ABSENT_OPAPI(name) ROW(ABSENT, EXTRA, name)
#include "abi/absent_functions.h"
};

static const struct abi_name mspti_names[] = {
#define ABSENT_MSPTI(name) ROW(ABSENT, EXTRA, name)
#include "abi/absent_functions.h"
};

static const struct abi_name cblas_names[] = {
#define ABSENT_CBLAS(name) ROW(ABSENT, EXTRA, name)
#include "abi/absent_functions.h"
};

static const struct abi_name dvpp_names[] = {
#define ABSENT_DVPP(name) ROW(ABSENT, EXTRA, name)
#include "abi/absent_functions.h"
};

static const struct abi_name fv_names[] = {
#define ABSENT_FV(name) ROW(ABSENT, EXTRA, name)
#include "abi/absent_functions.h"
};

static const struct abi_name fft_names[] = {
#define ABSENT_FFT(name) ROW(ABSENT, EXTRA, name)
#include "abi/absent_functions.h"
};

static const struct abi_name lcal_names[] = {
#define ABSENT_LCAL(name) ROW(ABSENT, EXTRA, name)
#include "abi/absent_functions.h"
};

static const struct abi_name ml_names[] = {
#define ABSENT_ML(name) ROW(ABSENT, EXTRA, name)
#include "abi/absent_functions.h"
};

static const struct abi_name sk_names[] = {
#define ABSENT_SK(name) ROW(ABSENT, EXTRA, name)
#include "abi/absent_functions.h"
};

static const struct abi_name ge_names[] = {
#define ABSENT_GE(name) ROW(ABSENT, EXTRA, name)
#include "abi/absent_functions.h"
};

#define FAMILY(key, file, header)                                                                                      \
    {                                                                                                                  \
#key, file, header, key##_names, MS_COUNT_OF(key##_names)                                                      \
    }

static const struct abi_library families[] = {
    FAMILY(acl, "libascendcl.so", "acl/acl_rt.h, acl/acl_base.h"),
    FAMILY(aclop, "libascendcl.so", "acl/acl_op.h, tensor descriptors of acl/acl_base.h"),
    FAMILY(aclmdl, "libascendcl.so", "acl/acl_mdl.h, offline models"),
    FAMILY(aclcompiler, "libacl_op_compiler.so", "acl/acl_op_compiler.h"),
    FAMILY(acltdt, "libacl_tdt_channel.so", "acl/acl_tdt.h"),
    FAMILY(acltdt_queue, "libacl_tdt_queue.so", "acl/acl_tdt_queue.h"),
    FAMILY(acldump, "libascend_dump.so", "acl/acl_dump.h"),
    FAMILY(aclprof, "libmsprofiler.so", "acl/acl_prof.h"),
    FAMILY(aclnn, "libopapi.so", "aclnnop/, operators"),
    FAMILY(hccl, "libhccl.so", "hccl/hccl.h"),
    FAMILY(mstx, "libms_tools_ext.so", "mstx/ms_tools_ext.h"),
    FAMILY(rt, "libruntime.so", "runtime/rt.h"),
    FAMILY(hal, "libascend_hal.so", "ascend_hal.h"),
    FAMILY(profapi, "libprofapi.so", "toolchain/prof_api.h"),
    FAMILY(dcmi, "libdcmi.so", "dcmi_interface_api.h"),
    FAMILY(mspti, "libmspti.so", "mspti"),
    FAMILY(cblas, "libacl_cblas.so", "acl/ops/acl_cblas.h"),
    FAMILY(dvpp, "libacl_dvpp.so", "acl/ops/acl_dvpp.h"),
    FAMILY(fv, "libacl_retr.so", "acl/ops/acl_fv.h"),
    FAMILY(fft, "libasdsip.so", "Fourier transforms"),
    FAMILY(lcal, "liblcal.so", "collectives within a node"),
    FAMILY(ml, "libascend_ml.so", "hardware tests"),
    FAMILY(sk, "libascendsk.so", "super kernels"),
    FAMILY(ge, "libge_runner.so", "graph engine, C++"),
};

const struct abi_library *abi_coverage(size_t *count)
{
    *count = MS_COUNT_OF(families);
    return families;
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
