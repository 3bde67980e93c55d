/* SPDX-License-Identifier: Apache-2.0 */
/* See peek.h. Uses process_vm_readv on this process; where that call is missing or forbidden (containers, sandboxes,
 * emulators), /proc/self/mem. Raw system calls, because the C library's wrappers are cancellation points. */
#include "base/peek.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static long from_file(uintptr_t address, void *out, size_t out_b)
{
    long fd = syscall(SYS_openat, AT_FDCWD, "/proc/self/mem", O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0) {
        return -1;
    }
    long n = syscall(SYS_pread64, fd, out, out_b, (long)address);
    syscall(SYS_close, fd);
    return n;
}

bool ms_peek(uintptr_t address, void *out, size_t out_b)
{
    struct iovec to = {out, out_b}, from = {(void *)address, out_b};
    int error = errno;
    long n = syscall(SYS_process_vm_readv, syscall(SYS_getpid), &to, 1ul, &from, 1ul, 0ul);
    if (n < 0 && (errno == ENOSYS || errno == EPERM)) {
        n = from_file(address, out, out_b);
    }
    errno = error;
    return n == (long)out_b;
}
