/* SPDX-License-Identifier: Apache-2.0 */
/* Catching faults of kernels; see trap.h.
 *
 * The first kernel of a process installs handlers for the four signals that faults raise. A handler jumps back into
 * snpu__trap_run if the thread is inside a kernel and the fault is the kernel's own. Everything else is passed to the
 * previous handler, so programs, debuggers and crash reporters see what they would have seen without this file.
 *
 * Threads and locks: each thread has its own frame, as a thread-specific value: reading it allocates nothing, as a
 * handler requires, and unlike static TLS it allows this library to be opened late. A kernel that faults while it holds
 * a lock (in malloc, say) keeps it: that is the price of running kernels in this process. Failure: a signal whose
 * handler cannot be installed, or that a program takes over later, keeps its old meaning. */
#include "softnpu/runtime/trap.h"

#include "base/macros.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mman.h>

#define STACK_B (64u * 1024) /* for the handler alone; wide vector registers take up to 11 KiB of it */

struct frame {
    sigjmp_buf back;
    int signal;
    uintptr_t addr;
};

static pthread_key_t frame_key;
static bool have_key;

static const struct {
    int signal;
    const char *text;
} faults[] = {
    {SIGSEGV, "invalid access to"},
    {SIGBUS, "access without backing memory to"},
    {SIGFPE, "arithmetic fault at"},
    {SIGILL, "invalid instruction at"},
};
static struct sigaction before[MS_COUNT_OF(faults)];

/* Behaves as if our handler were not installed. */
static void pass_on(const struct sigaction *old, int signal, siginfo_t *info, void *context)
{
    bool sent = info->si_code <= 0; /* by a process, not by an instruction */
    if ((old->sa_flags & SA_SIGINFO) != 0) {
        old->sa_sigaction(signal, info, context);
    } else if (old->sa_handler != SIG_DFL && old->sa_handler != SIG_IGN) {
        old->sa_handler(signal);
    } else if (!(sent && old->sa_handler == SIG_IGN)) {
        struct sigaction none = {.sa_handler = SIG_DFL};
        sigaction(signal, &none, NULL);
        if (sent) {
            raise(signal);
        } /* otherwise the instruction runs again, and its fault ends the process */
    }
}

static void on_fault(int signal, siginfo_t *info, void *context)
{
    struct frame *here = pthread_getspecific(frame_key); /* the handler is only installed if the key exists */
    if (here != NULL && info->si_code > 0) {
        here->signal = signal;
        here->addr = (uintptr_t)info->si_addr;
        siglongjmp(here->back, 1);
    }
    for (size_t i = 0; i < MS_COUNT_OF(faults); i++) {
        if (faults[i].signal == signal) {
            pass_on(&before[i], signal, info, context);
        }
    }
}

static void install(void)
{
    have_key = pthread_key_create(&frame_key, NULL) == 0;
    if (!have_key) {
        return;
    }
    /* Not blocked while it runs: it exits through a jump that does not restore the mask. */
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    for (size_t i = 0; i < MS_COUNT_OF(faults); i++) {
        sigaction(faults[i].signal, &action, &before[i]);
    }
}

static void enter(struct frame *frame)
{
    if (have_key) {
        pthread_setspecific(frame_key, frame); /* on failure (no memory), faults keep their old meaning */
    }
}

/* The jump returns into this function: it has a frame of its own, and its later state is in memory. */
__attribute__((noinline)) bool snpu__trap_run(snpu_block_fn fn, void *args, uint32_t first, uint32_t end,
                                              uint32_t blocks, struct snpu_trap *trap)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, install);
    struct frame here;
    struct frame *volatile outer = have_key ? pthread_getspecific(frame_key) : NULL;
    volatile uint32_t block = first;
    if (sigsetjmp(here.back, 0) == 0) {
        enter(&here);
        for (; block < end; block = block + 1) {
            fn(args, block, blocks);
        }
        enter(outer);
        return true;
    }
    enter(outer);
    *trap = (struct snpu_trap){.signal = here.signal, .block = block, .addr = here.addr};
    return false;
}

void snpu__trap_describe(const struct snpu_trap *trap, char *text, size_t text_b)
{
    for (size_t i = 0; i < MS_COUNT_OF(faults); i++) {
        if (faults[i].signal == trap->signal) {
            snprintf(text, text_b, "%s %p", faults[i].text, (void *)trap->addr);
        }
    }
}

void *snpu__trap_stack_begin(void)
{
    void *stack = mmap(NULL, STACK_B, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (stack != MAP_FAILED && sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = STACK_B}, NULL) == 0) {
        return stack;
    }
    if (stack != MAP_FAILED) {
        munmap(stack, STACK_B);
    }
    return NULL;
}

void snpu__trap_stack_end(void *stack)
{
    if (stack != NULL) {
        sigaltstack(&(stack_t){.ss_flags = SS_DISABLE}, NULL);
        munmap(stack, STACK_B);
    }
}

void snpu__mask_but_faults(sigset_t *mask)
{
    static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGPROF};
    sigfillset(mask);
    for (size_t i = 0; i < MS_COUNT_OF(own); i++) {
        sigdelset(mask, own[i]);
    }
}
