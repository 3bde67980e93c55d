/* SPDX-License-Identifier: Apache-2.0 */
/* The cost of recording for a program, on a driver whose calls do nothing, in each state of the recorder.
 *
 * Runs the program of bench/target with the agent preloaded and acts as its collector, which only frees full chunks, so
 * the figures are the target's own. Time is processor time of the target's threads.
 *
 * The machine may be busy with other work for seconds at a time. So everything is measured in rounds: each round runs
 * each program once without the agent and once with it, back to back, and both figures are the fastest lap of all
 * rounds. A lap is some dozen chunks long; the cost of recording on fresh memory is measured by trace_bench and
 * record_bench instead.
 *
 * usage: agent_bench [WORDS]   only figures whose names contain WORDS */
#include "bench.h"
#include "target_run.h"

#include "collect/protocol/session.h"
#include "trace/shm.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- a collector that discards everything ---- */

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

enum { ROUNDS = 10, TURNS = 200000, STACK_TURNS = 25000, PLACES_TURNS = 40960, FRAMES = 17 };

struct setting {
    bool preload, session, listened;
    unsigned state, event_mask, c_depth, python_depth;
};

#define MEMORY (MS_WANT_ALLOC | MS_WANT_FREE)
static const struct setting plain = {0}, listened = {.listened = true}, bare = {.preload = true},
                            off = {.preload = true, .session = true, .state = MS_STATE_OFF, .event_mask = MEMORY},
                            shadow = {.preload = true, .session = true, .state = MS_STATE_SHADOW, .event_mask = MEMORY},
                            on = {.preload = true, .session = true, .state = MS_STATE_ON, .event_mask = MEMORY};

static int begin_session(const struct setting *setting)
{
    struct ms_session session;
    char text[MS_SESSION_MAX_B];
    ms_session_init(&session);
    ms_session_new_socket(&session);
    session.event_mask = setting->event_mask;
    session.c_depth = setting->c_depth;
    session.python_depth = setting->python_depth;
    session.state = setting->state;
    session.clock_kind = MS_CLOCK_MONOTONIC;
#if defined(__x86_64__)
    session.clock_kind = MS_CLOCK_TSC;
#elif defined(__aarch64__)
    session.clock_kind = MS_CLOCK_CNTVCT;
#endif
    session.listener = (uint64_t)getpid();
    session.pid_namespace = ms_session_own_pid_namespace();
    ms_session_format(&session, text, sizeof(text));
    unsetenv(MS_SESSION_ENV);
    unsetenv("LD_PRELOAD");
    unsetenv("MSTX_INJECTION_PATH");
    if (setting->session) {
        setenv(MS_SESSION_ENV, text, 1);
    }
    if (setting->listened) {
        setenv("MSTX_INJECTION_PATH", NULL_TOOL, 1);
    }
    if (setting->preload) {
        setenv("LD_PRELOAD", AGENT_LIBRARY, 1);
        setenv("MSTX_INJECTION_PATH", AGENT_LIBRARY, 1);
    }
    return ms_session_listen(&session, false);
}

static void report_loss(const struct ms_shm *shm)
{
    uint64_t lost = 0;
    for (unsigned i = 0; i < 8; i++) {
        lost += shm->lost_total[i];
    }
    if (lost > 0) {
        fprintf(stderr, "agent_bench: %lu records were lost, the figures are too optimistic\n", lost);
    }
}

static struct target_figures run(const struct setting *setting, char *const argv[])
{
    struct target_figures figures = {0};
    pid_t pid;
    int out = -1;
    int listener = begin_session(setting);
    bool started = target_start(argv, &pid, &out);
    unsetenv("LD_PRELOAD");
    struct ms_shm *shm = NULL;
    struct pollfd end = {.fd = out, .events = 0};
    while (started && (poll(&end, 1, 1) == 0 || (end.revents & POLLHUP) == 0)) {
        if (shm == NULL) {
            shm = take_memory(listener);
        } else {
            hand_back(shm);
        }
    }
    if (started) {
        figures = target_read(out);
        waitpid(pid, NULL, 0);
    }
    if (shm != NULL) {
        report_loss(shm);
        munmap(shm, shm->size_b);
    }
    close(listener);
    return figures;
}

/* ---- figures ---- */

struct comparison {
    char name[96];
    char *kind;
    const struct setting *without, *with;
    unsigned threads, turns, events; /* events of a turn */
    bool python;
    const char *goal, *original;
    double without_ns, with_ns; /* of a turn */
};
static struct comparison comparisons[64];
static unsigned comparison_count;
static const char *only = "";

static void compare(const struct comparison *comparison)
{
    if (strstr(comparison->name, only) != NULL && comparison_count < sizeof(comparisons) / sizeof(comparisons[0])) {
        comparisons[comparison_count++] = *comparison;
    }
}

/* Processor time of a turn, in ns. */
static double turn(const struct comparison *c, const struct setting *setting)
{
    char threads_text[16], turns_text[16], frames_text[16];
    snprintf(threads_text, sizeof(threads_text), "%u", c->threads);
    snprintf(turns_text, sizeof(turns_text), "%u", c->turns);
    snprintf(frames_text, sizeof(frames_text), "%u", (unsigned)FRAMES);
    char *program[] = {TARGET_PROGRAM, c->kind, threads_text, turns_text, frames_text, NULL};
    char *script[] = {"python3", TARGET_SCRIPT, TARGET_LIBRARY, c->kind, threads_text, turns_text, NULL};
    return run(setting, c->python ? script : program).lap;
}

static void measure(struct comparison *c)
{
    bench_least(&c->without_ns, turn(c, c->without));
    bench_least(&c->with_ns, turn(c, c->with));
}

static void print(const struct comparison *c)
{
    double more = (c->with_ns - c->without_ns) / c->events;
    bench_row(&(struct bench_row){.figure = c->name,
                                  .value = more,
                                  .unit = "ns",
                                  .against = "the bare call",
                                  .ratio = more / (c->without_ns / c->events),
                                  .goal = c->goal,
                                  .original = c->original});
}

struct subject {
    char *kind;
    const char *name;
    const struct setting *setting;
    bool python;
    const char *goal;
    const char *original[3]; /* with 1, 2 and 8 threads */
};

static void memory_events(const struct subject *subject)
{
    static const unsigned thread_counts[] = {1, 2, 8};
    bool stacks = subject->setting->c_depth + subject->setting->python_depth > 0;
    for (unsigned k = 0; k < 3; k++) {
        unsigned threads = thread_counts[k];
        struct comparison c = {.kind = subject->kind,
                               /* Without a tool, pools report nothing: the bare call uses a tool that does nothing. */
                               .without = strcmp(subject->kind, "pool") == 0 ? &listened : &plain,
                               .with = subject->setting,
                               .threads = threads,
                               .turns = (stacks ? STACK_TURNS : TURNS) * 4 / (threads + 3),
                               .events = 2,
                               .python = subject->python,
                               .goal = subject->goal,
                               .original = subject->original[k]};
        snprintf(c.name, sizeof(c.name), "%s event, %s, %u thread%s", subject->kind, subject->name, threads,
                 threads > 1 ? "s" : "");
        compare(&c);
    }
}

/* The other C stacks are those of a loop, which are known after the first turn. */
static void walked_stacks(const struct setting *setting)
{
    compare(&(struct comparison){.name = "hal event, C stack of 20 frames that must be walked, 1 thread",
                                 .kind = "places",
                                 .without = &plain,
                                 .with = setting,
                                 .threads = 1,
                                 .turns = PLACES_TURNS,
                                 .events = 2,
                                 .goal = "<= 285 ns"});
}

static void launches(void)
{
    static struct setting levels[3];
    static const struct comparison of_level[] = {
        {.name = "kernel launch, no launches wanted", .goal = "<= 3 ns"},
        {.name = "kernel launch, level op", .goal = "<= 3 ns", .original = "8.7 us"},
        {.name = "kernel launch, level kernel", .original = "8.7 us"}};
    static const unsigned masks[] = {MEMORY, MEMORY | MS_WANT_LAUNCH | MS_WANT_OP,
                                     MEMORY | MS_WANT_LAUNCH | MS_WANT_KERNEL};
    for (unsigned i = 0; i < 3; i++) {
        levels[i] = on;
        levels[i].event_mask = masks[i];
        struct comparison c = of_level[i];
        c.kind = "launch";
        c.without = &plain;
        c.with = &levels[i];
        c.threads = c.events = 1;
        c.turns = TURNS;
        compare(&c);
    }
}

/* In us. */
static struct beginnings {
    double first, thread, exec;
} beginnings_without, beginnings_with;

static void first_events(const struct setting *setting, struct beginnings *best)
{
    char *program[] = {TARGET_PROGRAM, "first", NULL};
    struct target_figures one = run(setting, program);
    bench_least(&best->first, one.first);
    bench_least(&best->thread, one.thread);
}

/* Wall time from the start to the end of a program that records nothing. */
static void start_and_end(const struct setting *setting, struct beginnings *best)
{
    char *program[] = {"true", NULL};
    int listener = begin_session(setting);
    pid_t pid;
    int out;
    uint64_t start = ms_clock_raw_ns();
    if (target_start(program, &pid, &out)) {
        waitpid(pid, NULL, 0);
        bench_least(&best->exec, (double)(ms_clock_raw_ns() - start) / 1000);
        close(out);
    }
    close(listener);
    unsetenv("LD_PRELOAD");
}

static void measure_beginnings(void)
{
    enum { FIRSTS = 4, STARTS = 80 };
    for (int i = 0; i < FIRSTS; i++) {
        first_events(&plain, &beginnings_without);
        first_events(&on, &beginnings_with);
    }
    for (int i = 0; i < STARTS; i++) {
        start_and_end(&plain, &beginnings_without);
        start_and_end(&on, &beginnings_with);
    }
}

static void print_beginnings(void)
{
    const struct beginnings *without = &beginnings_without, *with = &beginnings_with;
    double exec = with->exec - without->exec;
    bench_figure("first event of a process", with->first - without->first, "us", NULL, 0, "<= 150 us");
    bench_figure("first event of a thread", with->thread - without->thread, "us", NULL, 0, "<= 20 us");
    bench_figure("exec of a program that records nothing", exec, "us", "without the tool", exec / without->exec,
                 "<= 120 us");
}

int main(int argc, char **argv)
{
    unsetenv("LD_LIBRARY_PATH"); /* the real libraries have the same names as the null driver's */
    only = argc > 1 ? argv[1] : only;
    struct setting c_stack = on, python_stack = on;
    c_stack.c_depth = 20;
    python_stack.python_depth = 50;
    const struct subject subjects[] = {
        {"hal", "preloaded without a session", &bare, false, "<= 3 ns", {0}},
        {"hal", "recorder off", &off, false, "<= 3 ns", {0}},
        {"hal", "shadow", &shadow, false, "<= 35 ns", {0}},
        {"hal", "on", &on, false, "<= 35 ns", {"2.8 us", NULL, "25-28 us"}},
        {"pool", "on", &on, false, "<= 35 ns", {"2.8 us", NULL, "25-28 us"}},
        {"hal", "C stack of 20 frames", &c_stack, false, "<= 285 ns", {"43 us", NULL, NULL}},
        {"pool", "C stack of 20 frames", &c_stack, false, "<= 285 ns", {"43 us", NULL, NULL}},
        {"hal", "Python stack of 28 frames", &python_stack, true, "<= 435 ns", {0}},
        {"pool", "Python stack of 28 frames", &python_stack, true, "<= 435 ns", {0}},
    };
    for (unsigned i = 0; i < sizeof(subjects) / sizeof(subjects[0]); i++) {
        memory_events(&subjects[i]);
    }
    walked_stacks(&c_stack);
    launches();
    for (int round = 0; round < ROUNDS; round++) {
        for (unsigned i = 0; i < comparison_count; i++) {
            measure(&comparisons[i]);
        }
        if (only[0] == '\0') {
            measure_beginnings();
        }
    }
    for (unsigned i = 0; i < comparison_count; i++) {
        print(&comparisons[i]);
    }
    if (only[0] == '\0') {
        print_beginnings();
    }
    return 0;
}
