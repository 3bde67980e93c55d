/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks for tests of libhccl.so: each is a process, the test program started again with the name of a scenario. Buffers
 * are device memory, operations go through streams. */
#ifndef TESTS_HCCL_RANKS_H
#define TESTS_HCCL_RANKS_H

#include "hccl_ref.h"

#include "acl/acl.h"
#include "base/clock.h"
#include "base/macros.h"
#include "hccl/hccl.h"
#include "own_machine.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#define DEVICES    5
#define DEADLINE_S 60

static char folder[64]; /* shared memory of the ranks */

/* cmocka does not run in a rank: a failed check prints a text and exits. */
#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            const char *message_ = aclGetRecentErrMsg();                                                               \
            fprintf(stderr, "%s:%d: %s (%s)\n", __FILE__, __LINE__, #condition, message_ != NULL ? message_ : "");     \
            _exit(1);                                                                                                  \
        }                                                                                                              \
    } while (0)
#define OK(call) CHECK((call) == 0)

struct rank {
    uint32_t rank, n;
    HcclComm comm;
    aclrtStream stream;
};

/* ---- processes ---- */

static inline void path_of(char out[128], const char *name)
{
    snprintf(out, 128, "%s/%s", folder, name);
}

static inline void leave(const char *name, const void *data, size_t size_b)
{
    char path[128], making[160];
    path_of(path, name);
    snprintf(making, sizeof(making), "%s.%d", path, getpid());
    FILE *f = fopen(making, "w");
    CHECK(f != NULL && fwrite(data, 1, size_b, f) == size_b && fclose(f) == 0 && rename(making, path) == 0);
}

static inline void await(const char *name, void *data, size_t size_b)
{
    char path[128];
    path_of(path, name);
    uint64_t deadline = ms_clock_raw_ns() + DEADLINE_S * 1000000000ull;
    FILE *f;
    while ((f = fopen(path, "r")) == NULL) {
        CHECK(ms_clock_raw_ns() < deadline);
        usleep(1000);
    }
    CHECK(fread(data, 1, size_b, f) == size_b);
    fclose(f);
}

static inline HcclResult join_with(struct rank *r, const char *name, const HcclCommConfig *config)
{
    HcclRootInfo info;
    if (r->rank == 0) {
        OK(HcclGetRootInfo(&info));
        leave(name, &info, sizeof(info));
    } else {
        await(name, &info, sizeof(info));
    }
    return config != NULL ? HcclCommInitRootInfoConfig(r->n, &info, r->rank, config, &r->comm)
                          : HcclCommInitRootInfo(r->n, &info, r->rank, &r->comm);
}

struct scenario {
    const char *name;
    void (*fn)(struct rank *r);
};
#define SCENARIO(fn)                                                                                                   \
    {                                                                                                                  \
#fn, fn                                                                                                        \
    }

static inline void prepare(struct rank *r)
{
    OK(aclInit(NULL));
    OK(aclrtSetDevice((int32_t)r->rank));
    OK(aclrtCreateStream(&r->stream));
}

static inline pid_t start(const char *scenario, uint32_t rank, uint32_t n)
{
    char rank_text[12], n_text[12];
    snprintf(rank_text, sizeof(rank_text), "%u", rank);
    snprintf(n_text, sizeof(n_text), "%u", n);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        execl("/proc/self/exe", "hccl_test", scenario, rank_text, n_text, folder, (char *)NULL);
        _exit(127);
    }
    assert_true(pid > 0);
    return pid;
}

static inline int finish(pid_t pid)
{
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static inline void clear_folder(void)
{
    DIR *dir = opendir(folder);
    struct dirent *entry;
    char path[512];
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name);
        unlink(path);
    }
    closedir(dir);
}

static inline void play(const char *scenario, uint32_t n)
{
    pid_t pids[DEVICES];
    clear_folder();
    for (uint32_t r = 0; r < n; r++) {
        pids[r] = start(scenario, r, n);
    }
    int worst = 0;
    for (uint32_t r = 0; r < n; r++) {
        int result = finish(pids[r]);
        if (result != 0) {
            print_error("%s: rank %u of %u: %d\n", scenario, r, n, result);
            worst = result;
        }
    }
    assert_int_equal(worst, 0); /* after all have ended: the next scenario needs the devices */
}

/* ---- device memory ---- */

static inline void *device_memory(const void *from, size_t size_b)
{
    void *p = NULL;
    OK(aclrtMalloc(&p, size_b + 1, ACL_MEM_MALLOC_HUGE_FIRST));
    if (from != NULL && size_b != 0) {
        OK(aclrtMemcpy(p, size_b, from, size_b, ACL_MEMCPY_HOST_TO_DEVICE));
    }
    return p;
}

static inline bool device_equals(const void *device, const void *want, size_t size_b)
{
    char *got = malloc(size_b + 1);
    if (size_b != 0) {
        OK(aclrtMemcpy(got, size_b, device, size_b, ACL_MEMCPY_DEVICE_TO_HOST));
    }
    bool equal = memcmp(got, want, size_b) == 0;
    free(got);
    return equal;
}

/* ---- every collective through its C function ---- */

static inline HcclResult call(const struct ref_case *c, const struct ref_op *o, const struct rank *r, void *send,
                              void *recv)
{
    HcclDataType t = c->dtype;
    const uint64_t(*v)[HCCL_MAX_RANKS] = o->vectors;
    switch (c->kind) {
    case HCCL_KIND_BARRIER:
        return HcclBarrier(r->comm, r->stream);
    case HCCL_KIND_BROADCAST:
        return HcclBroadcast(r->rank == c->root ? send : recv, c->count, t, c->root, r->comm, r->stream);
    case HCCL_KIND_SCATTER:
        return HcclScatter(send, recv, c->count, t, c->root, r->comm, r->stream);
    case HCCL_KIND_ALL_GATHER:
        return HcclAllGather(send, recv, c->count, t, r->comm, r->stream);
    case HCCL_KIND_ALL_GATHER_V:
        return HcclAllGatherV(send, o->send_count, recv, v[0], v[1], t, r->comm, r->stream);
    case HCCL_KIND_ALL_REDUCE:
        return HcclAllReduce(send, recv, c->count, t, c->reduce, r->comm, r->stream);
    case HCCL_KIND_REDUCE:
        return HcclReduce(send, recv, c->count, t, c->reduce, c->root, r->comm, r->stream);
    case HCCL_KIND_REDUCE_SCATTER:
        return HcclReduceScatter(send, recv, c->count, t, c->reduce, r->comm, r->stream);
    case HCCL_KIND_REDUCE_SCATTER_V:
        return HcclReduceScatterV(send, v[0], v[1], recv, o->recv_count, t, c->reduce, r->comm, r->stream);
    case HCCL_KIND_ALL_TO_ALL:
        return HcclAlltoAll(send, c->count, t, recv, c->count, t, r->comm, r->stream);
    default:
        return HcclAlltoAllV(send, v[0], v[1], t, recv, v[2], v[3], t, r->comm, r->stream);
    }
}

static inline void one_case(const struct rank *r, const struct ref_case *c)
{
    uint32_t size = hccl_dtype_size(c->dtype);
    struct ref_op o;
    ref_op_make(c, r->rank, &o);
    size_t recv_b = o.recv_count * size;
    char *input = ref_input(c, r->rank), *want = malloc(recv_b + 1);
    memset(want, 0xa5, recv_b + 1);
    void *send = device_memory(input, o.send_count * size), *recv = device_memory(want, recv_b);
    bool at_root = c->kind == HCCL_KIND_BROADCAST && r->rank == c->root;
    ref_expect(c, r->rank, want);
    OK(call(c, &o, r, send, recv));
    OK(aclrtSynchronizeStream(r->stream));
    if (!device_equals(at_root ? send : recv, want, recv_b)) {
        fprintf(stderr, "%s, type %u, reduction %u, count %llu: wrong on rank %u of %u\n", hccl_kind_function(c->kind),
                c->dtype, c->reduce, (unsigned long long)c->count, r->rank, r->n);
        _exit(1);
    }
    OK(aclrtFree(send));
    OK(aclrtFree(recv));
    free(input);
    free(want);
}

/* ---- main ---- */

static inline int ranks_play_one(char **argv, const struct scenario *list, size_t n)
{
    struct rank r = {.rank = (uint32_t)atoi(argv[2]), .n = (uint32_t)atoi(argv[3])};
    snprintf(folder, sizeof(folder), "%s", argv[4]);
    alarm(2 * DEADLINE_S); /* a rank that hangs is a failure, not a hang of the test */
    for (size_t i = 0; i < n; i++) {
        if (strcmp(list[i].name, argv[1]) == 0) {
            prepare(&r);
            list[i].fn(&r);
            OK(aclFinalize());
            return 0;
        }
    }
    return 2;
}

static inline void ranks_begin(void)
{
    char devices[16];
    snprintf(devices, sizeof(devices), "%d", DEVICES);
    own_machine_use(devices, "4G");
    setenv("HCCL_BUFFSIZE", "2", 1);
    unsetenv("ASCEND_RT_VISIBLE_DEVICES");
    strcpy(folder, "/tmp/hccl-test-XXXXXX");
    if (mkdtemp(folder) == NULL) {
        abort();
    }
}

static inline void ranks_end(void)
{
    clear_folder();
    rmdir(folder);
}

#endif
