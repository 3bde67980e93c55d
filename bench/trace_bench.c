/* SPDX-License-Identifier: Apache-2.0 */
/* The recorder without hooks: cost of an event in the program, the drain and the reader, and its size.
 *
 * Work: allocations and frees as a caching allocator's driver sees them: sizes of a few classes, addresses in steps of
 * 512 bytes, most blocks freed soon, some late. CPU times are of the threads themselves, so that a busy machine
 * disturbs less. Disturbances last for seconds: everything is measured once in each of several rounds, and a figure is
 * the smallest of them. */
#include "bench.h"
#include "trace/definitions.h"
#include "trace/drain.h"
#include "trace/reader.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define STEPS   (1u << 16) /* length of the work, which is repeated */
#define EVENTS  (1u << 21) /* per measurement, all threads together */
#define THREADS 8
#define ROUNDS  5

struct step {
    uint64_t addr;
    uint64_t size_b; /* 0: free */
};
static struct step work[STEPS];

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void make_work(void)
{
    static uint64_t live[STEPS];
    uint32_t count = 0;
    uint64_t seed = 88172645463325252u, top = 0x124080000000;
    static uint64_t freed[STEPS];
    uint32_t freed_count = 0;
    for (uint32_t i = 0; i < STEPS; i++) {
        uint64_t r = next_random(&seed);
        bool last = STEPS - i <= count;
        /* The order of kinds repeats, as in a program, where the processor can predict branches at call sites. */
        static const char order[] = "AAFAAAFFAFAAFFAAFAFFAAAFAFFFAFAF";
        bool grow = count < 1000 ? i % 8 != 7 : order[i % 32] == 'A';
        if (!last && (count == 0 || grow)) {
            static const uint64_t sizes[] = {512, 1024, 4096, 65536, 131072, 2097152, 20971520, 3145728};
            uint64_t size_b = sizes[(r >> 8) % 8] * (1 + (r >> 16) % 4);
            uint64_t addr = freed_count != 0 && (r >> 20) % 4 != 0 ? freed[--freed_count] : (top += size_b);
            live[count++] = addr;
            work[i] = (struct step){.addr = addr, .size_b = size_b};
        } else {
            uint32_t k = (r >> 24) % 4 != 0 ? count - 1 - (uint32_t)((r >> 32) % (count < 8 ? count : 8))
                                            : (uint32_t)((r >> 32) % count);
            uint64_t addr = live[k];
            live[k] = live[--count];
            freed[freed_count++] = addr;
            work[i] = (struct step){.addr = addr};
        }
    }
}

/* ---- what a hook does ---- */

static __attribute__((noinline)) void nothing(const struct step *step)
{
    __asm__ volatile("" ::"r"(step->addr), "r"(step->size_b) : "memory");
}

static __attribute__((noinline)) void record(const struct step *step)
{
    unsigned state = ms_rec_state();
    struct ms_slot slot;
    if (state == MS_STATE_OFF) {
        return;
    }
    if (step->size_b != 0) {
        struct ms_p_hal_alloc *p = ms_rec_begin(&slot, sizeof(*p), MS_ORDER_ALLOC);
        if (p != NULL) {
            *p = (struct ms_p_hal_alloc){.addr = step->addr, .size_b = step->size_b, .flag = 0x1400};
            ms_rec_commit(&slot, MS_R_HAL_ALLOC, ms_rec_flags(state), 0, ms_rec_stamp(&slot));
        }
    } else {
        struct ms_p_addr *p = ms_rec_begin(&slot, sizeof(*p), MS_ORDER_FREE);
        if (p != NULL) {
            p->addr = step->addr;
            ms_rec_commit(&slot, MS_R_HAL_FREE, ms_rec_flags(state), 0, ms_rec_stamp(&slot));
        }
    }
}

/* ---- one measurement ---- */

struct session {
    char path[48];
    int dir, memfd;
    struct ms_shm *shm;
    struct ms_writer *writer;
    struct ms_drain *drain;
    uint32_t clock_kind;
    uint32_t stop;
    double drain_ns;
};
static struct session session;

static struct ms_shm *attach(void)
{
    return session.shm;
}

static void begin_session(uint32_t clock_kind)
{
    session = (struct session){.clock_kind = clock_kind};
    snprintf(session.path, sizeof(session.path), "/tmp/npuscope-bench-%d", (int)getpid());
    char command[128];
    snprintf(command, sizeof(command), "rm -rf %s && mkdir %s", session.path, session.path);
    if (system(command) != 0) {
        exit(1);
    }
    session.dir = open(session.path, O_RDONLY | O_DIRECTORY);
    session.shm = ms_shm_create(MS_SHM_USUAL_B, (uint32_t)getpid(), clock_kind, &session.memfd);
    struct ms_process process = {.name = "bench", .pid = (uint32_t)getpid(), .clock_kind = clock_kind};
    if (session.dir < 0 || session.shm == NULL || ms_writer_open(session.dir, &process, NULL, &session.writer) != 0 ||
        ms_drain_open(session.memfd, session.writer, &session.drain) != 0) {
        perror("trace_bench");
        exit(1);
    }
    session.shm->state = MS_STATE_ON;
    ms_producer_setup(attach);
    ms_producer_forked(); /* attach again, to the new shared memory */
}

static void end_session(void)
{
    ms_drain_close(session.drain);
    ms_writer_close(session.writer, MS_ENDING_PROCESS);
    ms_producer_forked();
    munmap(session.shm, session.shm->size_b);
    close(session.memfd);
    close(session.dir);
    char command[128];
    snprintf(command, sizeof(command), "rm -rf %s", session.path);
    if (system(command) != 0) {
        exit(1);
    }
}

static double thread_ns(void)
{
    return (double)ms_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

static void *drain_loop(void *argument)
{
    (void)argument;
    double start = thread_ns();
    unsigned pause_ms = 1;
    while (__atomic_load_n(&session.stop, __ATOMIC_ACQUIRE) == 0) {
        int64_t n = ms_drain_sweep(session.drain);
        pause_ms = n > 4096 ? 1 : pause_ms < 16 ? pause_ms * 2 : pause_ms;
        ms_drain_sleep(&session.drain, 1, pause_ms);
    }
    ms_drain_finish(session.drain);
    session.drain_ns = thread_ns() - start;
    return NULL;
}

/* A loop that only records is faster than the drain: it would use fresh memory until the backlog is full. A program
 * does other work as well; with pauses, in which the drain catches up, chunks are reused as they are there. */
enum pace { ALWAYS, IN_BURSTS };
#define BURST 8192u

struct producer {
    pthread_t thread;
    void (*hook)(const struct step *step);
    uint32_t events;
    enum pace pace;
    double ns;
};

static double burst(const struct producer *p, uint32_t from, uint32_t to)
{
    double start = thread_ns();
    for (uint32_t i = from; i < to; i++) {
        p->hook(&work[i % STEPS]);
    }
    double ns = thread_ns() - start;
    struct timespec pause = {.tv_nsec = 100000};
    while (p->pace == IN_BURSTS && __atomic_load_n(&session.shm->full_chunks, __ATOMIC_RELAXED) != 0) {
        nanosleep(&pause, NULL);
    }
    return ns;
}

static void *produce(void *argument)
{
    struct producer *p = argument;
    uint32_t warm = p->events / 8; /* attach, first chunks */
    uint32_t length = p->pace == IN_BURSTS ? BURST : p->events;
    burst(p, 0, warm);
    p->ns = 0;
    for (uint32_t i = warm; i < p->events; i += length) {
        p->ns += burst(p, i, p->events - i < length ? p->events : i + length) / (p->events - warm);
    }
    return NULL;
}

/* CPU of the producing threads per event. */
static double run_threads(unsigned threads, uint32_t events, void (*hook)(const struct step *step), enum pace pace)
{
    struct producer p[THREADS];
    double ns = 0;
    for (unsigned i = 0; i < threads; i++) {
        p[i] = (struct producer){.hook = hook, .events = events / threads, .pace = pace};
        pthread_create(&p[i].thread, NULL, produce, &p[i]);
    }
    for (unsigned i = 0; i < threads; i++) {
        pthread_join(p[i].thread, NULL);
        ns += p[i].ns / threads;
    }
    return ns;
}

/* ---- figures ---- */

struct result {
    double producer_ns, drain_ns, reader_ns, bytes, lost, wall_ns;
};

static double read_all(uint64_t *events)
{
    struct ms_trace *trace;
    struct ms_event event;
    if (ms_trace_open(session.dir, "bench", NULL, &trace) != 0) {
        exit(1);
    }
    double start = thread_ns();
    *events = 0;
    while (ms_trace_next(trace, &event) == MS_TRACE_EVENT) {
        (*events)++;
    }
    double ns = thread_ns() - start;
    ms_trace_close(trace);
    return ns;
}

/* Producers and drain concurrently. */
static void record_and_drain(uint32_t clock_kind, unsigned threads, enum pace pace, struct result *best)
{
    pthread_t drainer;
    begin_session(clock_kind);
    session.shm->full_wait_ms = 1000;
    pthread_create(&drainer, NULL, drain_loop, NULL);
    uint64_t start = ms_clock_raw_ns();
    double ns = run_threads(threads, EVENTS, record, pace);
    double wall_ns = (double)(ms_clock_raw_ns() - start);
    __atomic_store_n(&session.stop, 1, __ATOMIC_RELEASE);
    pthread_join(drainer, NULL);
    struct ms_writer_stats written;
    ms_writer_stats(session.writer, &written);
    struct ms_drain_stats drained;
    ms_drain_stats(session.drain, &drained);
    uint64_t events;
    double reader_ns = read_all(&events);
    bench_least(&best->producer_ns, ns);
    bench_least(&best->drain_ns, session.drain_ns / (double)drained.records);
    bench_least(&best->reader_ns, reader_ns / (double)events);
    bench_least(&best->wall_ns, wall_ns / EVENTS);
    best->bytes = (double)written.bytes / (double)drained.records;
    for (unsigned k = 0; k < MS_GAP_CAUSES; k++) {
        best->lost += (double)drained.lost[k];
    }
    end_session();
}

/* Every chunk is used for the first time: none is returned. */
static double first_touch(uint32_t clock_kind, unsigned threads)
{
    begin_session(clock_kind);
    session.shm->backlog_max = MS_CHUNKS_MAX;
    double ns = run_threads(threads, EVENTS / 2, record, ALWAYS);
    end_session();
    return ns;
}

static double off(void)
{
    begin_session(MS_CLOCK_MONOTONIC);
    session.shm->state = MS_STATE_OFF;
    double ns = run_threads(1, EVENTS, record, ALWAYS);
    end_session();
    return ns;
}

/* A clock and a number of threads. */
struct shape {
    uint32_t clock_kind;
    unsigned threads;
    const char *clock, *steady_goal, *touch_goal;
    struct result always;
    double steady_ns, touch_ns;
};

static void measure(struct shape *shape)
{
    struct result in_bursts = {0};
    record_and_drain(shape->clock_kind, shape->threads, ALWAYS, &shape->always);
    record_and_drain(shape->clock_kind, shape->threads, IN_BURSTS, &in_bursts);
    shape->always.lost += in_bursts.lost;
    bench_least(&shape->steady_ns, in_bursts.producer_ns);
    bench_least(&shape->touch_ns, first_touch(shape->clock_kind, shape->threads));
}

static void figure(const char *what, const struct shape *shape, double ns, double plain, const char *goal)
{
    char name[96];
    snprintf(name, sizeof(name), "trace: %s, %u thread%s, %s", what, shape->threads, shape->threads > 1 ? "s" : "",
             shape->clock);
    bench_figure(name, ns, "ns/event", "loop without recording", ns / plain, goal);
}

static void print(const struct shape *shape, double plain)
{
    const struct result *r = &shape->always;
    figure("record, target CPU steady", shape, shape->steady_ns, plain, shape->steady_goal);
    figure("record, target CPU first touch", shape, shape->touch_ns, plain, shape->touch_goal);
    figure("record, wall with the drain on the same cores", shape, r->wall_ns, plain, "<= 100 ns");
    figure("drain, collector CPU", shape, r->drain_ns, plain, "<= 80 ns");
    figure("read, CPU", shape, r->reader_ns, plain, NULL);
    char name[96];
    snprintf(name, sizeof(name), "trace: size, %u threads, %s", shape->threads, shape->clock);
    bench_figure(name, r->bytes, "B/event", "record in memory (32 B)", r->bytes / 32, "<= 10 B");
    if (r->lost != 0) {
        bench_figure("trace: LOST", r->lost, "events", NULL, 0, "<= 0 events");
    }
}

int main(void)
{
    static const unsigned threads[] = {1, 2, 8};
    const struct shape clocks[] = {
        {.clock_kind = ms_clock_choose(), .clock = "counter", .steady_goal = "<= 35 ns", .touch_goal = "<= 60 ns"},
        {.clock_kind = MS_CLOCK_MONOTONIC,
         .clock = "clock_gettime",
         .steady_goal = "<= 55 ns",
         .touch_goal = "<= 80 ns"},
    };
    struct shape shapes[6];
    unsigned count = 0;
    for (unsigned k = clocks[0].clock_kind == MS_CLOCK_MONOTONIC ? 1 : 0; k < 2; k++) {
        for (unsigned i = 0; i < 3; i++) {
            shapes[count] = clocks[k];
            shapes[count++].threads = threads[i];
        }
    }
    make_work();
    double plain = 0, off_ns = 0;
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < 4; i++) {
            bench_least(&plain, run_threads(1, EVENTS, nothing, ALWAYS));
            bench_least(&off_ns, off());
        }
        for (unsigned i = 0; i < count; i++) {
            measure(&shapes[i]);
        }
    }
    bench_figure("trace: loop without recording", plain, "ns/event", NULL, 0, NULL);
    bench_figure("trace: state off, 1 thread, more than the loop", off_ns - plain, "ns/event", "loop without recording",
                 (off_ns - plain) / plain, "<= 3 ns");
    for (unsigned i = 0; i < count; i++) {
        print(&shapes[i], plain);
    }
    return 0;
}
