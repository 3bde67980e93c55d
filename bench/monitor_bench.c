/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon with a thousand clients: the latency of a poll as seen by the client, and the cost of the daemon.
 *
 * Every client is a process that polls once a second at its own offset, as training processes do. For comparison, the
 * same datagrams are sent to a process that only sends each one back. */
#include "bench.h"
#include "monitor/wire/fabric.h"

#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CLIENTS = 1000, POLLS = 10, PATIENCE_MS = 1000, IDLE_PERIOD_S = 5 };

struct shared {
    uint64_t go_ns; /* when the first measured poll is due; 0: not yet */
    uint32_t ready, done;
    uint32_t latencies_ns[CLIENTS][POLLS]; /* UINT32_MAX: unanswered */
};
static struct shared *shared;
static char directory[] = "/tmp/monitor_bench_XXXXXX", name[32];

static int bind_client(int number)
{
    char own[64];
    struct sockaddr_un address;
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    snprintf(own, sizeof(own), "%s-client%d-%d", name, (int)getpid(), number);
    socklen_t length = mon_fabric_abstract(&address, own);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, length) != 0) {
        _exit(1);
    }
    return fd;
}

static uint32_t poll_once(int fd, const struct sockaddr_un *to, socklen_t to_b)
{
    char datagram[128], reply[256];
    struct mon_fabric_request request = {2, 0, 2, {(int32_t)getpid(), (int32_t)getppid()}};
    size_t length = mon_fabric_write_request(datagram, &request);
    struct pollfd ready = {fd, POLLIN, 0};
    uint64_t start = ms_clock_raw_ns();
    if (sendto(fd, datagram, length, 0, (const struct sockaddr *)to, to_b) < 0 || poll(&ready, 1, PATIENCE_MS) != 1 ||
        recv(fd, reply, sizeof(reply), 0) < MON_FABRIC_HEAD_B) {
        return UINT32_MAX;
    }
    return (uint32_t)(ms_clock_raw_ns() - start);
}

static void sleep_until(uint64_t ns)
{
    uint64_t now = ms_clock_raw_ns();
    if (ns > now) {
        usleep((useconds_t)((ns - now) / 1000));
    }
}

static void client(int number, const char *to_name, int polls)
{
    struct sockaddr_un to;
    socklen_t to_b = mon_fabric_abstract(&to, to_name);
    int fd = bind_client(number);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    poll_once(fd, &to, to_b); /* registers */
    __atomic_add_fetch(&shared->ready, 1, __ATOMIC_ACQ_REL);
    while (__atomic_load_n(&shared->go_ns, __ATOMIC_ACQUIRE) == 0) {
        usleep(20000);
    }
    uint64_t period = POLLS / (unsigned)polls * 1000000000ull, phase = period / CLIENTS * (unsigned)number;
    for (int i = 0; i < polls; i++) {
        sleep_until(shared->go_ns + phase + (unsigned)i * period);
        shared->latencies_ns[number][i] = poll_once(fd, &to, to_b);
    }
    __atomic_add_fetch(&shared->done, 1, __ATOMIC_ACQ_REL);
    pause();
}

static int by_size(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/* Processor time; exact, unlike the ticks of /proc/PID/stat. */
static double cpu_s(pid_t pid)
{
    char path[64];
    unsigned long long ns = 0;
    snprintf(path, sizeof(path), "/proc/%d/schedstat", (int)pid);
    FILE *in = fopen(path, "r");
    if (in == NULL || fscanf(in, "%llu", &ns) != 1) {
        fprintf(stderr, "monitor_bench: cannot read %s\n", path);
    }
    if (in != NULL) {
        fclose(in);
    }
    return (double)ns / 1e9;
}

static double resident_mib(pid_t pid)
{
    char path[64], line[256];
    unsigned long kib = 0;
    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    FILE *in = fopen(path, "r");
    while (in != NULL && fgets(line, sizeof(line), in) != NULL) {
        sscanf(line, "VmRSS: %lu", &kib);
    }
    if (in != NULL) {
        fclose(in);
    }
    return (double)kib / 1024;
}

struct result {
    double p50_us, p99_us, p999_us, cpu_share, resident_mib;
    unsigned unanswered;
};

/* Lets the clients poll the server for POLLS seconds, each of them `polls` times. */
static struct result measure(pid_t server, const char *to, int polls)
{
    pid_t pids[CLIENTS];
    memset(shared, 0, sizeof(*shared));
    for (int i = 0; i < CLIENTS; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            client(i, to, polls);
            _exit(0);
        }
        while (__atomic_load_n(&shared->ready, __ATOMIC_ACQUIRE) + 16 < (uint32_t)i) {
            usleep(1000); /* a queue of ten fills up quickly if all start at once */
        }
    }
    while (__atomic_load_n(&shared->ready, __ATOMIC_ACQUIRE) < CLIENTS) {
        usleep(1000);
    }
    uint64_t go = ms_clock_raw_ns() + 1000000000ull;
    __atomic_store_n(&shared->go_ns, go, __ATOMIC_RELEASE);
    sleep_until(go);
    double cpu = cpu_s(server);
    sleep_until(go + (POLLS * 1000000000ull));
    struct result result = {.cpu_share = (cpu_s(server) - cpu) / POLLS * 100, .resident_mib = resident_mib(server)};
    while (__atomic_load_n(&shared->done, __ATOMIC_ACQUIRE) < CLIENTS) {
        usleep(1000);
    }
    for (int i = 0; i < CLIENTS; i++) {
        kill(pids[i], SIGKILL);
        waitpid(pids[i], NULL, 0);
    }
    size_t count = 0;
    static uint32_t all[CLIENTS * POLLS];
    for (int i = 0; i < CLIENTS; i++) {
        for (int k = 0; k < polls; k++) {
            result.unanswered += shared->latencies_ns[i][k] == UINT32_MAX;
            all[count++] = shared->latencies_ns[i][k];
        }
    }
    qsort(all, count, sizeof(all[0]), by_size);
    result.p50_us = all[count / 2] / 1e3;
    result.p99_us = all[count * 99 / 100] / 1e3;
    result.p999_us = all[count * 999 / 1000] / 1e3;
    return result;
}

static pid_t start_daemon(void)
{
    char flags[4][128], log[64];
    snprintf(flags[0], sizeof(flags[0]), "--ipc_name=%s", name);
    snprintf(flags[1], sizeof(flags[1]), "--ipc_home_dir=%s", directory);
    snprintf(flags[2], sizeof(flags[2]), "--log_file=%s/log", directory);
    snprintf(flags[3], sizeof(flags[3]), "--state_file=%s/state", directory);
    snprintf(log, sizeof(log), "%s/log", directory);
    pid_t pid = fork();
    if (pid == 0) {
        if (freopen("/dev/null", "w", stderr) == NULL) {
            _exit(126);
        }
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        execl(DYNOLOG, "dynolog", "--enable_ipc_monitor", "--port=0", flags[0], flags[1], flags[2], flags[3],
              (char *)NULL);
        _exit(127);
    }
    for (int i = 0; i < 5000; i++) { /* its log says when it is ready */
        char text[16384] = "";
        FILE *in = fopen(log, "r");
        size_t n = in != NULL ? fread(text, 1, sizeof(text) - 1, in) : 0;
        if (in != NULL) {
            fclose(in);
        }
        text[n] = '\0';
        if (strstr(text, "] ready\n") != NULL) {
            return pid;
        }
        usleep(2000);
    }
    fprintf(stderr, "monitor_bench: the daemon did not start, see %s\n", log);
    kill(pid, SIGKILL);
    exit(1);
}

static pid_t start_echo(const char *echo_name)
{
    struct sockaddr_un address, from;
    socklen_t length = mon_fabric_abstract(&address, echo_name);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (bind(fd, (struct sockaddr *)&address, length) != 0) {
        exit(1);
    }
    pid_t pid = fork();
    if (pid != 0) {
        close(fd);
        return pid;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) {
        char datagram[256];
        socklen_t from_b = sizeof(from);
        ssize_t n = recvfrom(fd, datagram, sizeof(datagram), 0, (struct sockaddr *)&from, &from_b);
        if (n > 0) {
            sendto(fd, datagram, (size_t)n, MSG_DONTWAIT, (struct sockaddr *)&from, from_b);
        }
    }
}

int main(void)
{
    char command[64], echo_name[80];
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED || mkdtemp(directory) == NULL) {
        return 1;
    }
    snprintf(name, sizeof(name), "monitor-bench-%d", (int)getpid());
    snprintf(echo_name, sizeof(echo_name), "%s-echo", name);

    pid_t echo = start_echo(echo_name);
    struct result bare = measure(echo, echo_name, POLLS);
    kill(echo, SIGKILL);
    waitpid(echo, NULL, 0);

    pid_t daemon = start_daemon();
    struct result result = measure(daemon, name, POLLS);
    struct result idle = measure(daemon, name, POLLS / IDLE_PERIOD_S);
    kill(daemon, SIGTERM);
    waitpid(daemon, NULL, 0);
    snprintf(command, sizeof(command), "rm -rf %s", directory);
    if (system(command) != 0 || result.unanswered != 0) {
        fprintf(stderr, "monitor_bench: %u polls were not answered\n", result.unanswered);
        return 1;
    }

    const char *against = "a process that sends each datagram back";
    bench_figure("dynolog: poll to reply, 1,000 clients once a second, median", result.p50_us, "us", against,
                 result.p50_us / bare.p50_us, NULL);
    bench_figure("dynolog: poll to reply, 1,000 clients once a second, p99", result.p99_us, "us", against,
                 result.p99_us / bare.p99_us, "<= 1000 us");
    bench_figure("dynolog: poll to reply, 1,000 clients once a second, p99.9", result.p999_us, "us", against,
                 result.p999_us / bare.p999_us, NULL);
    bench_figure("dynolog: processor, 1,000 clients once a second", result.cpu_share, "% of a core", against,
                 result.cpu_share / bare.cpu_share, NULL);
    bench_figure("dynolog: processor, 1,000 idle clients (libkineto's poll every 5 s)", idle.cpu_share, "% of a core",
                 NULL, 0, "<= 2 %");
    bench_figure("dynolog: resident with 1,000 clients", idle.resident_mib, "MiB", NULL, 0, "<= 20 MiB");
    return 0;
}
