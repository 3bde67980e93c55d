/* SPDX-License-Identifier: Apache-2.0 */
/* Allocates and frees device memory in several threads, keeps an exact account in a shared file, and ends as
 * requested.
 *
 *     victim ACCOUNT THREADS COUNT ENDING [NUMBER]
 *
 * ACCOUNT  file for struct account, mapped shared: it survives any death
 * COUNT    allocations of each thread; 0: endless
 * ENDING   exit, _exit, abort, segv, raise (NUMBER: status or signal), memory (abort when no memory is left)
 *
 * The i-th allocation of a thread has 4096 + 512 * (i mod 1000) bytes. Each thread keeps its last LIVE blocks.
 * Allocations counted in `done` were published before the victim died; those in `begun` may have been. */
#define _GNU_SOURCE
#include <acl/acl.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define LIVE        16
#define THREADS_MAX 64

struct account {
    uint64_t pid, threads;
    struct {
        uint64_t tid, alloc_begun, alloc_done, free_begun, free_done;
    } thread[THREADS_MAX];
};

static struct account *account;
static uint64_t count;

static void *work(void *argument)
{
    uint64_t t = (uint64_t)(uintptr_t)argument;
    void *live[LIVE] = {0};
    if (aclrtSetDevice(0) != 0) {
        _exit(90);
    }
    account->thread[t].tid = (uint64_t)gettid();
    for (uint64_t i = 0; count == 0 || i < count; i++) {
        void **slot = &live[i % LIVE];
        if (*slot != NULL) {
            account->thread[t].free_begun++;
            aclrtFree(*slot);
            account->thread[t].free_done++;
        }
        account->thread[t].alloc_begun++;
        if (aclrtMalloc(slot, 4096 + 512 * (i % 1000), ACL_MEM_MALLOC_NORMAL_ONLY) != 0) {
            _exit(91);
        }
        __atomic_store_n(&account->thread[t].alloc_done, i + 1, __ATOMIC_RELEASE);
    }
    return NULL;
}

/* Uses all memory up to the limit, then works on without any. */
static void use_up_memory(void)
{
    struct rlimit limit = {256u << 20, 256u << 20};
    aclrtSetDevice(0);
    setrlimit(RLIMIT_DATA, &limit);
    for (size_t size = 16u << 20; size >= 16;) {
        char *p = malloc(size);
        if (p == NULL) {
            size /= 2;
        } else {
            memset(p, 1, size);
        }
    }
    void *p = NULL;
    if (aclrtMalloc(&p, 12352, ACL_MEM_MALLOC_NORMAL_ONLY) == 0) {
        aclrtFree(p);
    }
    abort();
}

int main(int argc, char **argv)
{
    int fd = argc > 4 ? open(argv[1], O_RDWR | O_CREAT, 0600) : -1;
    if (fd < 0 || ftruncate(fd, sizeof(*account)) != 0) {
        return 92;
    }
    account = mmap(NULL, sizeof(*account), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    uint64_t threads = strtoull(argv[2], NULL, 10);
    int number = argc > 5 ? atoi(argv[5]) : 0;
    pthread_t handles[THREADS_MAX];
    count = strtoull(argv[3], NULL, 10);
    if (account == MAP_FAILED || threads > THREADS_MAX || aclInit(NULL) != 0) {
        return 93;
    }
    account->threads = threads;
    account->pid = (uint64_t)getpid();
    for (uint64_t t = 0; t < threads; t++) {
        pthread_create(&handles[t], NULL, work, (void *)(uintptr_t)t);
    }
    for (uint64_t t = 0; t < threads; t++) {
        pthread_join(handles[t], NULL);
    }
    if (strcmp(argv[4], "_exit") == 0) {
        _exit(number);
    }
    if (strcmp(argv[4], "abort") == 0) {
        abort();
    }
    if (strcmp(argv[4], "segv") == 0) {
        *(volatile int *)8 = 1;
    }
    if (strcmp(argv[4], "raise") == 0) {
        signal(number, SIG_DFL);
        raise(number);
    }
    if (strcmp(argv[4], "memory") == 0) {
        use_up_memory();
    }
    return number;
}
