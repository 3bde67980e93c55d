/* Reading memory of this process at an address that may be wrong. */
#ifndef MS_AGENT_PEEK_H
#define MS_AGENT_PEEK_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* As if it were another process's: a wrong address is an error, not a signal. False also where nobody may ask. A
 * system call: for what is done once. */
static inline bool ms_peek(uintptr_t address, void *out, size_t out_b)
{
    struct iovec to = {out, out_b}, from = {(void *)address, out_b};
    int error = errno;
    long n = syscall(SYS_process_vm_readv, syscall(SYS_getpid), &to, 1ul, &from, 1ul, 0ul);
    errno = error;
    return n == (long)out_b;
}

#endif
