/* SPDX-License-Identifier: Apache-2.0 */
/* Reads at addresses that may be invalid: with process_vm_readv, and where that is forbidden. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/peek.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* True if valid and invalid addresses are distinguished, and errno is preserved. */
static bool detects_invalid(void)
{
    size_t page_b = (size_t)sysconf(_SC_PAGESIZE);
    char *pages = mmap(NULL, 2 * page_b, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(pages + page_b, page_b);
    strcpy(pages + page_b - 8, "at last");
    char out[8] = "";
    errno = 77;
    bool right = ms_peek((uintptr_t)pages + page_b - 8, out, 8) && strcmp(out, "at last") == 0;
    bool wrong = ms_peek((uintptr_t)pages + page_b, out, 8) || ms_peek((uintptr_t)pages + page_b - 4, out, 8) ||
                 ms_peek(16, out, 8) || ms_peek(UINTPTR_MAX - 15, out, 8);
    munmap(pages, page_b);
    return right && !wrong && errno == 77;
}

static void addresses(void **state)
{
    assert_true(detects_invalid());
}

static void where_it_is_forbidden(void **state)
{
    pid_t pid = fork();
    if (pid == 0) {
        struct sock_filter rules[] = {
            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        };
        struct sock_fprog program = {sizeof(rules) / sizeof(rules[0]), rules};
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program); /* emulators support neither this nor the call */
        bool forbidden = syscall(SYS_process_vm_readv, getpid(), NULL, 0ul, NULL, 0ul, 0ul) != 0;
        _exit(forbidden && detects_invalid() ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(addresses),
        cmocka_unit_test(where_it_is_forbidden),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
