/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon's RPC port, and dyno with a thousand hosts.
 *
 * Requests per second over kept connections, and over one connection each. Each figure is compared with the same
 * traffic to a process that only echoes a fixed answer. The thousand hosts are loopback addresses 127.0.0.x served by
 * such a process. */
#include "bench.h"
#include "monitor/wire/frame.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { KEPT = 32, KEPT_REQUESTS = 100000, SINGLE_REQUESTS = 10000, TOGETHER = 16, HOSTS = 1000, ROUNDS = 3 };

static const char request[] = "\x13\0\0\0{\"fn\":\"getVersion\"}";
static const char answer[] = "\x13\0\0\0{\"version\":\"0.3.2\"}";
#define FRAME_B (sizeof(request) - 1)

static char directory[] = "/tmp/rpc_bench_XXXXXX";

static void die(const char *what)
{
    fprintf(stderr, "rpc_bench: %s: %s\n", what, strerror(errno));
    exit(1);
}

static struct sockaddr_in loopback(unsigned host, uint16_t port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK + host);
    return address;
}

/* ---- a server that only answers ---- */

static int listen_at(unsigned host, uint16_t *port)
{
    struct sockaddr_in address = loopback(host, *port);
    socklen_t length = sizeof(address);
    int yes = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, length) != 0 || listen(fd, 4096) != 0) {
        die("listen");
    }
    getsockname(fd, (struct sockaddr *)&address, &length);
    *port = ntohs(address.sin_port);
    return fd;
}

/* Listens on `hosts` addresses with one port and answers every request. */
static pid_t start_echo(unsigned hosts, uint16_t *port)
{
    int *listeners = calloc(hosts, sizeof(*listeners));
    *port = 0;
    for (unsigned i = 0; i < hosts; i++) {
        listeners[i] = listen_at(i, port);
    }
    pid_t pid = fork();
    if (pid != 0) {
        for (unsigned i = 0; i < hosts; i++) {
            close(listeners[i]);
        }
        free(listeners);
        return pid;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    int epoll = epoll_create1(0);
    struct epoll_event events[64], event = {.events = EPOLLIN};
    for (unsigned i = 0; i < hosts; i++) {
        event.data.u64 = (uint64_t)listeners[i] << 1 | 1;
        epoll_ctl(epoll, EPOLL_CTL_ADD, listeners[i], &event);
    }
    for (;;) {
        int n = epoll_wait(epoll, events, 64, -1);
        for (int i = 0; i < n; i++) {
            int fd = (int)(events[i].data.u64 >> 1);
            char bytes[4096];
            if (events[i].data.u64 & 1) {
                fd = accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
                event.data.u64 = (uint64_t)fd << 1;
                epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
            } else if (read(fd, bytes, sizeof(bytes)) <= 0 || write(fd, answer, FRAME_B) < 0) {
                close(fd);
            }
        }
    }
}

/* ---- the daemon ---- */

static pid_t start_daemon(uint16_t *port)
{
    char log[64], flag[96], line[512];
    snprintf(log, sizeof(log), "%s/log", directory);
    snprintf(flag, sizeof(flag), "--log_file=%s", log);
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        int null = open("/dev/null", O_WRONLY);
        dup2(null, STDERR_FILENO);
        execl(DYNOLOG, "dynolog", "--port=0", "--ipc_name=", "--ipc_home=false", "--state_file=", flag, (char *)NULL);
        _exit(127);
    }
    *port = 0;
    for (int tries = 0; *port == 0 && tries < 1000; tries++) {
        FILE *in = fopen(log, "r");
        bool ready = false;
        unsigned number = 0;
        while (in != NULL && fgets(line, sizeof(line), in) != NULL) {
            const char *found = strstr(line, " port ");
            number = number == 0 && found != NULL ? (unsigned)atoi(found + 6) : number;
            ready |= strstr(line, "] ready") != NULL;
        }
        if (in != NULL) {
            fclose(in);
        }
        *port = ready ? (uint16_t)number : 0;
        usleep(10000);
    }
    if (*port == 0) {
        die("dynolog did not start");
    }
    return pid;
}

static void end(pid_t pid)
{
    kill(pid, SIGTERM);
    waitpid(pid, NULL, 0);
}

/* ---- traffic ---- */

static int open_connection(uint16_t port)
{
    struct sockaddr_in address = loopback(0, port);
    int yes = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
    if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0) {
        die("connect");
    }
    return fd;
}

static void ask(int fd)
{
    if (send(fd, request, FRAME_B, MSG_NOSIGNAL) != (ssize_t)FRAME_B) {
        die("send");
    }
}

static void take(int fd)
{
    char bytes[FRAME_B];
    if (recv(fd, bytes, FRAME_B, MSG_WAITALL) != (ssize_t)FRAME_B || memcmp(bytes, answer, FRAME_B) != 0) {
        die("answer");
    }
}

/* Every connection has one request in flight. */
static double kept_per_s(uint16_t port)
{
    int fds[KEPT], epoll = epoll_create1(0);
    struct epoll_event events[KEPT];
    for (int i = 0; i < KEPT; i++) {
        fds[i] = open_connection(port);
        struct epoll_event event = {.events = EPOLLIN, .data.fd = fds[i]};
        epoll_ctl(epoll, EPOLL_CTL_ADD, fds[i], &event);
    }
    uint64_t start = ms_clock_raw_ns();
    for (int i = 0; i < KEPT; i++) {
        ask(fds[i]);
    }
    for (int done = 0; done < KEPT_REQUESTS;) {
        int n = epoll_wait(epoll, events, KEPT, 10000);
        if (n <= 0) {
            die("no answer");
        }
        for (int i = 0; i < n; i++, done++) {
            take(events[i].data.fd);
            ask(events[i].data.fd);
        }
    }
    double seconds = (double)(ms_clock_raw_ns() - start) / 1e9;
    for (int i = 0; i < KEPT; i++) {
        close(fds[i]);
    }
    close(epoll);
    return KEPT_REQUESTS / seconds;
}

/* Several clients at a time, each with a connection per request. */
static double single_per_s(uint16_t port)
{
    int fds[TOGETHER];
    uint64_t start = ms_clock_raw_ns();
    for (int done = 0; done < SINGLE_REQUESTS; done += TOGETHER) {
        for (int i = 0; i < TOGETHER; i++) {
            fds[i] = open_connection(port);
            ask(fds[i]);
        }
        for (int i = 0; i < TOGETHER; i++) {
            take(fds[i]);
            close(fds[i]);
        }
    }
    return SINGLE_REQUESTS / ((double)(ms_clock_raw_ns() - start) / 1e9);
}

static double best(double (*measure)(uint16_t port), uint16_t port)
{
    double most = 0;
    for (int i = 0; i < ROUNDS; i++) {
        double rate = measure(port);
        most = rate > most ? rate : most;
    }
    return most;
}

/* Runs dyno version on all hosts; returns the time in seconds. */
static double fan_out_s(uint16_t port, const char *parallel)
{
    char ports[16];
    snprintf(ports, sizeof(ports), "%u", port);
    uint64_t start = ms_clock_raw_ns();
    pid_t pid = fork();
    if (pid == 0) {
        int null = open("/dev/null", O_WRONLY);
        dup2(null, STDOUT_FILENO);
        execl(DYNO, "dyno", "--port", ports, "--parallel", parallel, "--hosts",
              "127.0.0.[1-255],127.0.1.[0-255],127.0.2.[0-255],127.0.3.[0-232]", "version", (char *)NULL);
        _exit(127);
    }
    int status;
    if (waitpid(pid, &status, 0) != pid || status != 0) {
        die("dyno");
    }
    return (double)(ms_clock_raw_ns() - start) / 1e9;
}

int main(void)
{
    struct rlimit limit = {4096, 4096};
    uint16_t echo_port, port;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max < 65536 ? limit.rlim_max : 65536;
    setrlimit(RLIMIT_NOFILE, &limit);
    if (mkdtemp(directory) == NULL) {
        die(directory);
    }
    pid_t echo = start_echo(1, &echo_port), daemon = start_daemon(&port);
    double kept = best(kept_per_s, port), kept_echo = best(kept_per_s, echo_port);
    bench_figure("dynolog: RPC requests, 32 kept connections", kept, "/s", "a server that only echoes",
                 kept / kept_echo, ">= 20000 /s");
    double single = best(single_per_s, port), single_echo = best(single_per_s, echo_port);
    bench_figure("dynolog: RPC requests, one connection each", single, "/s", "a server that only echoes",
                 single / single_echo, ">= 5000 /s");
    end(daemon);
    end(echo);
    echo = start_echo(HOSTS, &echo_port);
    double fan = fan_out_s(echo_port, "128"), serial = fan_out_s(echo_port, "1");
    bench_figure("dyno: 1,000 simulated hosts", fan, "s", "one after the other", fan / serial, "<= 3 s");
    end(echo);
    char log[64];
    snprintf(log, sizeof(log), "%s/log", directory);
    unlink(log);
    rmdir(directory);
    return 0;
}
