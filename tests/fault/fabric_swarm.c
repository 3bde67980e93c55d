/* SPDX-License-Identifier: Apache-2.0 */
/* Many clients of the IPC fabric, each a process that polls as libkineto does; controlled by lines on stdin.
 *
 *     fabric_swarm NAME CLIENTS PERIOD_MS
 *     stats    prints {"answered":N,"unanswered":N,"commands":N,"least":N,"most":N,"slowest_us":N}
 *     kill K   sends SIGKILL to K of them
 *     quit
 *
 * Written only from the published layout. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct client {
    pid_t pid;
    uint32_t answered, unanswered, commands, slowest_us;
};

static socklen_t abstract(struct sockaddr_un *address, const char *name)
{
    size_t length = strlen(name);
    memset(address, 0, sizeof(*address));
    address->sun_family = AF_UNIX;
    memcpy(address->sun_path + 1, name, length);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + 2);
}

static uint64_t now_us(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

static void poll_once(int fd, const struct sockaddr_un *to, socklen_t to_b, struct client *self)
{
    struct {
        uint64_t size;
        char type[32];
        int32_t mask, count;
        int64_t job;
        int32_t pids[2];
    } request = {24, "req", 2, 2, 0, {(int32_t)getpid(), (int32_t)getppid()}};
    char reply[4096];
    struct sockaddr_un from;
    socklen_t from_b = sizeof(from);
    struct pollfd ready = {fd, POLLIN, 0};
    uint64_t start = now_us();
    int tries = 0; /* as real clients: ten times, with doubling delays */
    while (sendto(fd, &request, sizeof(request), MSG_DONTWAIT, (const struct sockaddr *)to, to_b) < 0) {
        if ((errno != EAGAIN && errno != ECONNREFUSED) || ++tries > 10) {
            self->unanswered++;
            return;
        }
        usleep(10000u << (tries - 1));
    }
    if (poll(&ready, 1, 2000) != 1) {
        self->unanswered++;
        return;
    }
    ssize_t n = recvfrom(fd, reply, sizeof(reply), 0, (struct sockaddr *)&from, &from_b);
    if (n < 40 || from_b != to_b || memcmp(&from, to, to_b) != 0) {
        abort(); /* as libkineto does */
    }
    self->answered++;
    self->commands += n > 40;
    uint32_t took = (uint32_t)(now_us() - start);
    self->slowest_us = took > self->slowest_us ? took : self->slowest_us;
}

static void live(const char *daemon_name, unsigned period_ms, struct client *self)
{
    struct sockaddr_un to, own;
    char name[64];
    socklen_t to_b = abstract(&to, daemon_name), own_b;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    snprintf(name, sizeof(name), "dynoconfigclient-swarm-%d", (int)getpid());
    own_b = abstract(&own, name);
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&own, own_b) != 0) {
        _exit(1);
    }
    srand((unsigned)getpid());
    usleep((unsigned)rand() % period_ms * 1000);
    for (;;) {
        poll_once(fd, &to, to_b, self);
        usleep(period_ms * 1000);
    }
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        return 2;
    }
    unsigned count = (unsigned)atoi(argv[2]), killed = 0, k;
    struct client *clients =
        mmap(NULL, count * sizeof(*clients), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (unsigned i = 0; i < count; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            live(argv[1], (unsigned)atoi(argv[3]), &clients[i]);
        }
        clients[i].pid = pid;
    }
    char line[64];
    while (fgets(line, sizeof(line), stdin) != NULL && strcmp(line, "quit\n") != 0) {
        if (sscanf(line, "kill %u", &k) == 1) {
            for (; k > 0 && killed < count; k--, killed++) {
                kill(clients[killed].pid, SIGKILL);
                waitpid(clients[killed].pid, NULL, 0);
            }
        }
        uint64_t answered = 0, unanswered = 0, commands = 0;
        uint32_t least = UINT32_MAX, most = 0, slowest = 0, polled = 0;
        for (unsigned i = killed; i < count; i++) {
            const struct client *c = &clients[i];
            answered += c->answered;
            unanswered += c->unanswered;
            commands += c->commands;
            polled += c->answered != 0;
            least = c->commands < least ? c->commands : least;
            most = c->commands > most ? c->commands : most;
            slowest = c->slowest_us > slowest ? c->slowest_us : slowest;
        }
        printf("{\"polled\":%u,\"answered\":%llu,\"unanswered\":%llu,\"commands\":%llu,\"least\":%u,\"most\":%u,"
               "\"slowest_us\":%u}\n",
               polled, (unsigned long long)answered, (unsigned long long)unanswered, (unsigned long long)commands,
               least, most, slowest);
        fflush(stdout);
    }
    for (unsigned i = killed; i < count; i++) {
        kill(clients[i].pid, SIGKILL);
        waitpid(clients[i].pid, NULL, 0);
    }
    return 0;
}
