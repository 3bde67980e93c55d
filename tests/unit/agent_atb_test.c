/* SPDX-License-Identifier: Apache-2.0 */
/* ATB operators and kernels: both kinds of std::string, both layouts of the pack, both libraries preloaded at once. */
#include "agent_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct seen seen[10000];

static int run_atb(const char *variant, const char *preload, const char *session, char *out, size_t out_b)
{
    static char path[8192];
    char run[512];
    snprintf(path, sizeof(path), "%s/tests/atb/%s/lib:%s", getenv("NPUSCOPE_BUILD"), variant,
             getenv("LD_LIBRARY_PATH"));
    snprintf(run, sizeof(run), "tests/atb/%s/lib/atb_run", variant);
    library_path = path;
    char *argv[] = {build_path(run), build_path("home/opp/built-in/op_impl/ai_core/tbe/kernel/transformer_kernels.so"),
                    "2", NULL};
    return run_program(preload_list(preload), session, argv, out, out_b);
}

/* ATB records, one per line, reduced to what the test checks. */
static void digest(struct process *process, char *out, size_t out_b)
{
    size_t count = records_of(process, seen, 10000), used = 0;
    static struct seen own[10000]; /* text_of uses the fixture's array */
    memcpy(own, seen, count * sizeof(seen[0]));
    out[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        const struct ms_record *r = own[i].record;
        static char name[512], more[512];
        if (r->kind >= MS_R_OP_START && r->kind <= MS_R_OP_KERNEL_END) {
            const struct ms_p_op *p = (const void *)(r + 1);
            const struct ms_text_ref refs[2] = {p->name, p->path};
            snprintf(name, sizeof(name), "%s", text_of(process, r, refs, 0));
            snprintf(more, sizeof(more), "%s", strchr(text_of(process, r, refs, 1), '/'));
            used += (size_t)snprintf(out + used, out_b - used, "%s %s %s %lu\n", ms_record_spec(r->kind)->name, name,
                                     more, (unsigned long)p->workspace_b);
        } else if (r->kind == MS_R_ACCESS) {
            const struct ms_p_access *p = (const void *)(r + 1);
            const struct ms_text_ref refs[2] = {p->name, p->attributes};
            snprintf(name, sizeof(name), "%s", text_of(process, r, refs, 0));
            used += (size_t)snprintf(out + used, out_b - used, "access %u %s %s %lu\n", p->type, name,
                                     text_of(process, r, refs, 1), (unsigned long)p->size_b);
            assert_true(p->addr != 0);
            assert_int_equal(r->arg, MS_POOL_ARG(MS_POOL_ATB, 0));
        }
    }
}

/* One execution, the same for every variant; two executions differ in the execution number. */
static const char execution[] =
    "OP_START LinearGeluOperation /%u/0_LinearGeluOperation 15360\n"
    "access 0 LinearGeluOperation dtype:ACL_FLOAT,format:ACL_FORMAT_ND,shape:[24,40,] 3840\n"
    "access 0 LinearGeluOperation dtype:ACL_FLOAT,format:ACL_FORMAT_ND,shape:[40,56,] 8960\n"
    "access 0 LinearGeluOperation dtype:ACL_FLOAT,format:ACL_FORMAT_ND,shape:[56,] 224\n"
    "access 2 LinearGeluOperation dtype:ACL_FLOAT,format:ACL_FORMAT_ND,shape:[24,56,] 5376\n"
    "OP_KERNEL_START 0_MatMulF32Kernel /%u/0_LinearGeluOperation/0_MatMulF32Kernel/before 0\n"
    "access 0 0_MatMulF32Kernel dtype:TENSOR_DTYPE_FLOAT,format:TENSOR_FORMAT_ND,shape:[24,40,] 3840\n"
    "access 0 0_MatMulF32Kernel dtype:TENSOR_DTYPE_FLOAT,format:TENSOR_FORMAT_ND,shape:[40,56,] 8960\n"
    "access 2 0_MatMulF32Kernel dtype:TENSOR_DTYPE_FLOAT,format:TENSOR_FORMAT_ND,shape:[24,56,] 5376\n"
    "access 0 0_MatMulF32Kernel dtype:TENSOR_DTYPE_FLOAT,format:TENSOR_FORMAT_ND,shape:[24,40,] 3840\n"
    "access 0 0_MatMulF32Kernel dtype:TENSOR_DTYPE_FLOAT,format:TENSOR_FORMAT_ND,shape:[40,56,] 8960\n"
    "access 2 0_MatMulF32Kernel dtype:TENSOR_DTYPE_FLOAT,format:TENSOR_FORMAT_ND,shape:[24,56,] 5376\n"
    "OP_KERNEL_END 0_MatMulF32Kernel /%u/0_LinearGeluOperation/0_MatMulF32Kernel/after 0\n"
    "OP_KERNEL_START 1_BiasAddF32Kernel /%u/0_LinearGeluOperation/1_BiasAddF32Kernel/before 0\n";

static void check(const char *variant, const char *preload)
{
    static char out[65536], expected[8192];
    char printed[1024];
    if (run_atb(variant, preload, session_text(), printed, sizeof(printed)) != 0) {
        fail_msg("%s: %s", variant, printed);
    }
    assert_non_null(strstr(printed, "executed 2 times"));
    digest(session_wait(), out, sizeof(out));
    const char *at = out;
    for (unsigned i = 0; i < 2; i++) {
        int n = snprintf(expected, sizeof(expected), execution, i, i, i, i);
        at = strstr(at, "OP_START");
        assert_non_null(at);
        if (strncmp(at, expected, (size_t)n) != 0) {
            fail_msg("%s with %s:\n%s\ninstead of\n%s", variant, preload, at, expected);
        }
        at = strstr(at, "OP_END LinearGeluOperation");
        assert_non_null(at);
    }
    unsigned starts = 0;
    for (at = out; (at = strstr(at, "OP_KERNEL_START")) != NULL; at++) {
        starts++;
    }
    assert_int_equal(starts, 6);
}

static void each_abi_with_its_library(void **state)
{
    check("cxx_abi_0", "ascend_kernel_hook atb_abi_0_hook");
    check("cxx_abi_1", "ascend_kernel_hook atb_abi_1_hook");
    check("older/cxx_abi_0", "atb_abi_0_hook ascend_kernel_hook");
    check("older/cxx_abi_1", "atb_abi_1_hook");
}

static void both_at_once(void **state)
{
    check("cxx_abi_0", "atb_abi_0_hook atb_abi_1_hook ascend_kernel_hook");
    check("cxx_abi_0", "atb_abi_1_hook atb_abi_0_hook ascend_kernel_hook");
    check("cxx_abi_1", "ascend_kernel_hook atb_abi_0_hook atb_abi_1_hook");
    check("cxx_abi_1", "ascend_kernel_hook atb_abi_1_hook atb_abi_0_hook");
}

static void without_a_session(void **state)
{
    char printed[1024];
    assert_int_equal(run_atb("cxx_abi_1", "atb_abi_1_hook", NULL, printed, sizeof(printed)), 0);
    assert_int_equal(run_atb("cxx_abi_0", "atb_abi_0_hook atb_abi_1_hook", NULL, printed, sizeof(printed)), 0);
    assert_null(session_poll());
}

static void configure(struct ms_session *session)
{
    session->event_mask = MS_WANT_LAUNCH | MS_WANT_ACCESS | MS_WANT_OP | MS_WANT_KERNEL;
}

int main(int argc, char **argv)
{
    session_begin(argv, configure);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_abi_with_its_library),
        cmocka_unit_test(both_at_once),
        cmocka_unit_test(without_a_session),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
