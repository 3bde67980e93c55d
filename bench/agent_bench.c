/* What recording costs a program: pairs of allocation and free on a driver whose calls do nothing, in each state of the
 * recorder, on 1, 2 and 8 threads; and a kernel launch while kernels are not recorded.
 *
 * The program runs itself as the target, with the agent preloaded, and plays the collector meanwhile: it only hands
 * full chunks back, so that the figures are the target's own. Time is processor time of the target per event (its
 * threads share two or so cores with everybody else), for the steady state after a first lap. */
#include "bench.h"

#include "ascend_hal.h"
#include "collect/session.h"
#include "runtime/rt.h"
#include "trace/shm.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- the target ---- */

enum { PAIRS = 400000, WARM = 20000, THREADS_MAX = 8, FRAMES = 17 };

static pthread_barrier_t barrier;

static void pairs(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        void *p;
        halMemAlloc(&p, 512, MEM_DEV | MEM_TYPE_HBM);
        halMemFree(p);
    }
}

/* The same from further down, so that there is a stack to walk. */
static __attribute__((noinline)) void pairs_from(unsigned frames, unsigned count)
{
    if (frames > 0) {
        pairs_from(frames - 1, count);
        __asm__ volatile("" ::: "memory"); /* a call, not a jump */
        return;
    }
    pairs(count);
}

/* And from a place that is another one each time, so that no stack is recognised: it must be walked. */
static __attribute__((noinline)) void pairs_from_places(unsigned count)
{
    enum { PLACES = 4096, STEP_B = 16 };
    for (unsigned i = 0; i < count; i++) {
        volatile char *room = __builtin_alloca(1);
        room[0] = 0;
        pairs_from(FRAMES - 1, 1);
        if (i % PLACES == PLACES - 1) {
            return;
        }
    }
}

static double cpu_ns(void)
{
    return (double)ms_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

static void *worker(void *result)
{
    pairs_from(FRAMES, WARM);
    pthread_barrier_wait(&barrier);
    double start = cpu_ns();
    pairs_from(FRAMES, PAIRS);
    *(double *)result = (cpu_ns() - start) / (2.0 * PAIRS);
    return NULL;
}

static int target_of_places(void)
{
    enum { LAPS = 100, PLACES = 4096 };
    pairs_from_places(PLACES);
    double start = cpu_ns();
    for (unsigned i = 0; i < LAPS; i++) {
        pairs_from_places(PLACES);
    }
    printf("1 %.3f\n", (cpu_ns() - start) / (2.0 * LAPS * PLACES));
    return 0;
}

/* 27 calls of one function and the script itself. */
static const char target_in_python[] = "import ctypes, sys, time\n"
                                       "calls = ctypes.PyDLL(sys.argv[1], ctypes.RTLD_GLOBAL)\n"
                                       "def down(n, count):\n"
                                       "    return down(n - 1, count) if n > 0 else calls.pairs(count)\n"
                                       "down(26, 20000)\n"
                                       "down(26, 20000)\n"
                                       "start = time.thread_time_ns()\n"
                                       "down(26, 400000)\n"
                                       "print(1, (time.thread_time_ns() - start) / 800000)\n";

/* Prints: threads, then ns of processor time per event. */
static void measure_threads(unsigned threads)
{
    pthread_t thread[THREADS_MAX];
    double result[THREADS_MAX], sum = 0;
    pthread_barrier_init(&barrier, NULL, threads);
    for (unsigned i = 0; i < threads; i++) {
        pthread_create(&thread[i], NULL, worker, &result[i]);
    }
    for (unsigned i = 0; i < threads; i++) {
        pthread_join(thread[i], NULL);
        sum += result[i];
    }
    printf("%u %.3f\n", threads, sum / threads);
    pthread_barrier_destroy(&barrier);
}

static int target(void)
{
    double first = cpu_ns();
    pairs(1);
    double cold_us = (cpu_ns() - first) / 1000;
    measure_threads(1);
    measure_threads(2);
    measure_threads(8);
    enum { LAUNCHES = 2000000 };
    double start = cpu_ns();
    for (unsigned i = 0; i < LAUNCHES; i++) {
        rtKernelLaunch(NULL, 1, NULL, 0, NULL, NULL);
    }
    printf("launch %.3f\n", (cpu_ns() - start) / LAUNCHES);
    printf("first %.3f\n", cold_us);
    return 0;
}

/* ---- a collector that throws everything away ---- */

static void hand_back(struct ms_shm *shm)
{
    uint32_t chunks = __atomic_load_n(&shm->fresh, __ATOMIC_ACQUIRE);
    unsigned freed = 0;
    for (uint32_t i = 0; i < chunks && i < shm->chunk_max; i++) {
        struct ms_chunk_entry *entry = ms_shm_entry(shm, i);
        uint32_t state = __atomic_load_n(&entry->state, __ATOMIC_ACQUIRE);
        if ((state & MS_CHUNK_STATE) != MS_CHUNK_FULL) {
            continue;
        }
        __atomic_store_n(&entry->state, (state & ~(uint32_t)MS_CHUNK_STATE) + 4 + MS_CHUNK_FREE, __ATOMIC_RELEASE);
        __atomic_fetch_sub(&shm->full_chunks, 1, __ATOMIC_RELAXED);
        uint64_t top = __atomic_load_n(&shm->free_top, __ATOMIC_RELAXED), next;
        do {
            __atomic_store_n(&entry->next, (uint32_t)top, __ATOMIC_RELAXED);
            next = ((top >> 32) + 1) << 32 | (i + 1);
        } while (!__atomic_compare_exchange_n(&shm->free_top, &top, next, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
        freed++;
    }
    if (freed > 0) {
        __atomic_fetch_add(&shm->progress, 1, __ATOMIC_RELEASE);
    }
}

static struct ms_shm *take_memory(int listener)
{
    struct pollfd wait = {.fd = listener, .events = POLLIN};
    if (poll(&wait, 1, 0) <= 0) {
        return NULL;
    }
    int connection = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    struct ms_hello hello;
    char rest[4096];
    union {
        struct cmsghdr head;
        char space[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec parts[2] = {{&hello, sizeof(hello)}, {rest, sizeof(rest)}};
    struct msghdr header = {
        .msg_iov = parts, .msg_iovlen = 2, .msg_control = &control, .msg_controllen = sizeof(control)};
    if (recvmsg(connection, &header, MSG_CMSG_CLOEXEC) < (ssize_t)sizeof(hello) || CMSG_FIRSTHDR(&header) == NULL) {
        return NULL;
    }
    int memfd;
    memcpy(&memfd, CMSG_DATA(CMSG_FIRSTHDR(&header)), sizeof(memfd));
    void *shm = mmap(NULL, hello.shm_b, PROT_READ | PROT_WRITE, MAP_SHARED, memfd, 0);
    close(memfd);
    close(connection);
    return shm != MAP_FAILED ? shm : NULL;
}

/* ---- runs ---- */

struct figures {
    double event[THREADS_MAX + 1], launch, first_us;
};

static void read_figures(FILE *in, struct figures *out)
{
    char what[32];
    double value;
    while (fscanf(in, "%31s %lf", what, &value) == 2) {
        if (strcmp(what, "launch") == 0) {
            out->launch = value;
        } else if (strcmp(what, "first") == 0) {
            out->first_us = value;
        } else if (atoi(what) > 0 && atoi(what) <= THREADS_MAX) {
            out->event[atoi(what)] = value;
        }
    }
}

enum program { IN_C, IN_C_FROM_PLACES, IN_PYTHON };
static const char *const arguments[][5] = {
    [IN_C] = {"/proc/self/exe", "--target"},
    [IN_C_FROM_PLACES] = {"/proc/self/exe", "--target-of-places"},
    [IN_PYTHON] = {"/usr/bin/python3", "-c", target_in_python, AGENT_CALLS},
};

/* state below 0: without the agent. */
static struct figures run(enum program program, int state, bool with_session, unsigned c_depth, unsigned python_depth)
{
    struct ms_session session;
    char text[MS_SESSION_MAX_B];
    struct figures figures = {0};
    ms_session_init(&session);
    ms_session_new_socket(&session);
    session.event_mask = MS_WANT_ALLOC | MS_WANT_FREE;
    session.c_depth = c_depth;
    session.python_depth = python_depth;
    session.state = state > 0 ? (uint64_t)state : 0;
    session.clock_kind = MS_CLOCK_MONOTONIC;
#if defined(__x86_64__)
    session.clock_kind = MS_CLOCK_TSC;
#elif defined(__aarch64__)
    session.clock_kind = MS_CLOCK_CNTVCT;
#endif
    ms_session_format(&session, text, sizeof(text));
    int listener = ms_session_listen(&session, false);
    if (with_session) {
        setenv(MS_SESSION_ENV, text, 1);
    } else {
        unsetenv(MS_SESSION_ENV);
        setenv("MSMEMSCOPE_SHADOW", "0", 1); /* or it would start a collector of its own */
    }
    if (state >= 0) {
        setenv("LD_PRELOAD", AGENT_LIBRARY, 1);
    } else {
        unsetenv("LD_PRELOAD");
    }
    int out[2];
    if (pipe2(out, O_CLOEXEC) != 0) {
        return figures;
    }
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, out[1], 1);
    char *const *argv = (char *const *)(uintptr_t)arguments[program];
    pid_t pid;
    extern char **environ;
    int failed = posix_spawn(&pid, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(out[1]);
    unsetenv("LD_PRELOAD");
    struct ms_shm *shm = NULL;
    struct pollfd end = {.fd = out[0], .events = 0};
    while (!failed && (poll(&end, 1, 1) == 0 || (end.revents & POLLHUP) == 0)) {
        if (shm == NULL) {
            shm = take_memory(listener);
        } else {
            hand_back(shm);
        }
    }
    FILE *in = fdopen(out[0], "r");
    read_figures(in, &figures);
    fclose(in);
    if (!failed) {
        waitpid(pid, NULL, 0);
    }
    if (shm != NULL) {
        uint64_t lost = 0;
        for (unsigned i = 0; i < 8; i++) {
            lost += shm->lost_total[i];
        }
        if (lost > 0) {
            fprintf(stderr, "agent_bench: %lu records were lost, figures are too good\n", lost);
        }
        munmap(shm, shm->size_b);
    }
    close(listener);
    return figures;
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--target") == 0) {
        return target();
    }
    if (argc > 1 && strcmp(argv[1], "--target-of-places") == 0) {
        return target_of_places();
    }
    struct figures plain = run(IN_C, -1, false, 0, 0), bare = run(IN_C, 0, false, 0, 0);
    struct figures off = run(IN_C, MS_STATE_OFF, true, 0, 0), shadow = run(IN_C, MS_STATE_SHADOW, true, 0, 0);
    struct figures on = run(IN_C, MS_STATE_ON, true, 0, 0), stacks = run(IN_C, MS_STATE_ON, true, 20, 0);
    struct figures plain_places = run(IN_C_FROM_PLACES, -1, false, 0, 0);
    struct figures places = run(IN_C_FROM_PLACES, MS_STATE_ON, true, 20, 0);
    struct figures plain_python = run(IN_PYTHON, -1, false, 0, 0);
    struct figures python = run(IN_PYTHON, MS_STATE_ON, true, 0, 50);
    static const unsigned threads[] = {1, 2, 8};
    char name[128];
    const struct {
        const char *name, *goal;
        const struct figures *figures;
    } rows[] = {{"preloaded without a session", "<= 3 ns", &bare},
                {"recorder off", "<= 3 ns", &off},
                {"shadow", "<= 35 ns", &shadow},
                {"on", "<= 35 ns", &on},
                {"on, with a C stack of 20 frames", "<= 285 ns", &stacks}};
    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        for (unsigned k = 0; k < 3; k++) {
            double more = rows[i].figures->event[threads[k]] - plain.event[threads[k]];
            snprintf(name, sizeof(name), "alloc or free, %s, %u thread%s", rows[i].name, threads[k],
                     threads[k] > 1 ? "s" : "");
            bench_figure(name, more, "ns added (target CPU)", "the bare call", more / plain.event[threads[k]],
                         rows[i].goal);
        }
    }
    double more = places.event[1] - plain_places.event[1];
    bench_figure("alloc or free, on, with a C stack of 20 frames that was never there before", more,
                 "ns added (target CPU)", "the bare call", more / plain_places.event[1], "<= 12 ns per frame");
    if (python.event[1] > 0) { /* there is a Python */
        more = python.event[1] - plain_python.event[1];
        bench_figure("alloc or free, on, with a Python stack of 28 frames", more, "ns added (target CPU)",
                     "the bare call", more / plain_python.event[1], "<= 435 ns");
    }
    bench_figure("kernel launch, kernels not recorded", on.launch - plain.launch, "ns added", "the bare call",
                 (on.launch - plain.launch) / plain.launch, "<= 3 ns");
    bench_figure("first event of a process", on.first_us - plain.first_us, "us (target CPU)", NULL, 0, "<= 150 us");
    return 0;
}
