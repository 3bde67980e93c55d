/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded by tests: makes the n-th call of a function fail in the recorder only.
 *
 *     MSMEMSCOPE_TEST_FAIL=WHERE:FUNCTION:N[+]:ERRNO      WHERE: collector, or target (only calls of the agent)
 *     MSMEMSCOPE_TEST_FAIL_COUNT=FILE                     the number of calls is written there at the end
 *
 * N counts from 1; with "+" all later calls fail as well; 0: none fails, calls are only counted. In the target
 * FUNCTION may be the name of a system call that the agent makes with syscall(). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static char function[64];
static long wanted;
static int and_later, error_number, armed;
static long calls;
static uintptr_t from, to; /* only calls from this range count; 0, 0: all */

static int is_agent(struct dl_phdr_info *info, size_t size, void *argument)
{
    (void)size;
    (void)argument;
    if (info->dlpi_name == NULL || strstr(info->dlpi_name, "libascend_kernel_hook.so") == NULL) {
        return 0;
    }
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type == PT_LOAD && (p->p_flags & PF_X) != 0) {
            from = info->dlpi_addr + p->p_vaddr;
            to = from + p->p_memsz;
        }
    }
    return 1;
}

static __attribute__((constructor)) void read_wish(void)
{
    const char *text = getenv("MSMEMSCOPE_TEST_FAIL");
    char where[16], exe[4096] = "";
    if (text == NULL || sscanf(text, "%15[^:]:%63[^:]:%ld", where, function, &wanted) != 3) {
        return;
    }
    const char *last = strrchr(text, ':');
    error_number = atoi(last + 1);
    and_later = last > text && last[-1] == '+';
    ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
    exe[n > 0 ? n : 0] = '\0';
    int collector = strstr(exe, "msmemscope-collector") != NULL;
    if (strcmp(where, "collector") == 0) {
        armed = collector;
    } else {
        dl_iterate_phdr(is_agent, NULL);
        armed = !collector && from != 0;
    }
}

static __attribute__((destructor)) void tell_count(void)
{
    const char *path = getenv("MSMEMSCOPE_TEST_FAIL_COUNT");
    FILE *f = armed && path != NULL ? fopen(path, "w") : NULL;
    if (f != NULL) {
        fprintf(f, "%ld\n", calls);
        fclose(f);
    }
}

static int must_fail(const char *name, const void *caller)
{
    if (!armed || strcmp(name, function) != 0 || (to != 0 && ((uintptr_t)caller < from || (uintptr_t)caller >= to))) {
        return 0;
    }
    long n = __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
    if (wanted == 0 || n < wanted || (n > wanted && !and_later)) {
        return 0;
    }
    errno = error_number;
    return 1;
}

#define WRAP(type, name, failure, parameters, arguments)                                                               \
    type name parameters;                                                                                              \
    type name parameters                                                                                               \
    {                                                                                                                  \
        static type(*real) parameters;                                                                                 \
        if (real == NULL) {                                                                                            \
            real = (type(*) parameters)dlsym(RTLD_NEXT, #name);                                                        \
        }                                                                                                              \
        return must_fail(#name, __builtin_return_address(0)) ? (failure) : real arguments;                             \
    }

WRAP(ssize_t, write, -1, (int fd, const void *p, size_t n), (fd, p, n))
WRAP(ssize_t, pwrite64, -1, (int fd, const void *p, size_t n, off64_t at), (fd, p, n, at))
WRAP(ssize_t, pread64, -1, (int fd, void *p, size_t n, off64_t at), (fd, p, n, at))
WRAP(void *, mmap64, (void *)-1, (void *p, size_t n, int prot, int flags, int fd, off64_t at),
     (p, n, prot, flags, fd, at))
WRAP(int, madvise, -1, (void *p, size_t n, int advice), (p, n, advice))
WRAP(int, mkdirat, -1, (int fd, const char *path, mode_t mode), (fd, path, mode))
WRAP(int, openat64, -1, (int fd, const char *path, int flags, mode_t mode), (fd, path, flags, mode))
WRAP(int, fallocate64, -1, (int fd, int mode, off64_t at, off64_t n), (fd, mode, at, n))
WRAP(int, ftruncate64, -1, (int fd, off64_t n), (fd, n))
WRAP(int, memfd_create, -1, (const char *name, unsigned flags), (name, flags))
WRAP(int, renameat, -1, (int a, const char *from_path, int b, const char *to_path), (a, from_path, b, to_path))
WRAP(ssize_t, sendmsg, -1, (int fd, const struct msghdr *m, int flags), (fd, m, flags))
WRAP(ssize_t, recvmsg, -1, (int fd, struct msghdr *m, int flags), (fd, m, flags))
WRAP(int, epoll_create1, -1, (int flags), (flags))
WRAP(int, eventfd, -1, (unsigned n, int flags), (n, flags))
WRAP(FILE *, open_memstream, NULL, (char **p, size_t *n), (p, n))
WRAP(void *, dlopen, NULL, (const char *file, int flags), (file, flags))
WRAP(int, pthread_create, error_number,
     (pthread_t * thread, const pthread_attr_t *attr, void *(*f)(void *), void *argument), (thread, attr, f, argument))
WRAP(int, pthread_key_create, error_number, (pthread_key_t * key, void (*f)(void *)), (key, f))

extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t n, size_t each);
extern void *__libc_realloc(void *p, size_t n);

void *malloc(size_t n)
{
    return must_fail("malloc", __builtin_return_address(0)) ? NULL : __libc_malloc(n);
}

void *calloc(size_t n, size_t each)
{
    return must_fail("calloc", __builtin_return_address(0)) ? NULL : __libc_calloc(n, each);
}

void *realloc(void *p, size_t n)
{
    return must_fail("realloc", __builtin_return_address(0)) ? NULL : __libc_realloc(p, n);
}

static const char *name_of_call(long number)
{
    static const struct {
        long number;
        const char *name;
    } names[] = {{SYS_memfd_create, "memfd_create"},
                 {SYS_ftruncate, "ftruncate"},
                 {SYS_fcntl, "fcntl"},
                 {SYS_socket, "socket"},
                 {SYS_connect, "connect"},
                 {SYS_getsockopt, "getsockopt"},
                 {SYS_sendmsg, "sendmsg"},
                 {SYS_openat, "openat"},
                 {SYS_read, "read"},
                 {SYS_readlinkat, "readlinkat"},
                 {SYS_close, "close"},
                 {SYS_futex, "futex"},
                 {SYS_rt_sigprocmask, "sigprocmask"}};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (names[i].number == number) {
            return names[i].name;
        }
    }
    return "";
}

long syscall(long number, ...)
{
    static long (*real)(long, ...);
    if (real == NULL) {
        real = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
    }
    if (armed && must_fail(name_of_call(number), __builtin_return_address(0))) {
        return -1;
    }
    long a[6];
    __builtin_va_list list;
    __builtin_va_start(list, number);
    for (int i = 0; i < 6; i++) {
        a[i] = __builtin_va_arg(list, long);
    }
    __builtin_va_end(list);
    return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
