/* SPDX-License-Identifier: Apache-2.0 */
/* A daemon of this build (with a sanitizer if the build has one) that uses its own names, and clients for it. */
#ifndef NPUSCOPE_TESTS_DYNOLOG_RIG_H
#define NPUSCOPE_TESTS_DYNOLOG_RIG_H

#include "base/clock.h"
#include "monitor/wire/fabric.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

struct rig {
    pid_t pid;
    char directory[32], name[48], log[48];
    int notify; /* receives the daemon's notifications to its service manager */
    int port;
};

static inline char *rig_log(const struct rig *rig)
{
    static char text[1 << 18];
    FILE *in = fopen(rig->log, "r");
    size_t n = in != NULL ? fread(text, 1, sizeof(text) - 1, in) : 0;
    if (in != NULL) {
        fclose(in);
    }
    text[n] = '\0';
    return text;
}

/* Waits for a notification of the daemon to its service manager. */
static inline void rig_wait_for(struct rig *rig, const char *state)
{
    char text[256] = "";
    struct pollfd ready = {rig->notify, POLLIN, 0};
    do {
        if (poll(&ready, 1, 20000) != 1) {
            fail_msg("no %s from the daemon; its log:\n%s", state, rig_log(rig));
        }
        ssize_t n = recv(rig->notify, text, sizeof(text) - 1, 0);
        text[n > 0 ? n : 0] = '\0';
    } while (strstr(text, state) == NULL);
}

static inline void rig_launch(struct rig *rig, const char *extra)
{
    char program[512], flags[8][128], notify[64];
    snprintf(program, sizeof(program), "%s/src/cli/dynolog/dynolog", getenv("NPUSCOPE_BUILD"));
    snprintf(notify, sizeof(notify), "%s/notify", rig->directory);
    snprintf(flags[0], sizeof(flags[0]), "--ipc_name=%s", rig->name);
    snprintf(flags[1], sizeof(flags[1]), "--ipc_home_dir=%s", rig->directory);
    snprintf(flags[2], sizeof(flags[2]), "--ipc_socket_dir=%s", rig->directory);
    snprintf(flags[3], sizeof(flags[3]), "--state_file=%s/state", rig->directory);
    snprintf(flags[4], sizeof(flags[4]), "--log_file=%s", rig->log);
    rig->pid = fork();
    if (rig->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* do not outlive a failed test */
        setenv("NOTIFY_SOCKET", notify, 1);
        execl(program, "dynolog", "--enable_ipc_monitor", "--enable_npu_metrics=false", "--port=0", flags[0], flags[1],
              flags[2], flags[3], flags[4], extra, (char *)NULL);
        _exit(127);
    }
    assert_true(rig->pid > 0);
    rig_wait_for(rig, "READY=1");
    rig->port = 0;
    for (const char *at = rig_log(rig); (at = strstr(at, "RPC: listening on")) != NULL; at++) { /* use the last start */
        rig->port = atoi(strstr(at, " port ") + 6);
    }
}

static inline void rig_start(struct rig *rig, const char *extra)
{
    static int number;
    struct sockaddr_un address;
    strcpy(rig->directory, "/tmp/dynolog_XXXXXX");
    assert_non_null(mkdtemp(rig->directory));
    snprintf(rig->name, sizeof(rig->name), "dynolog-test-%d-%d", (int)getpid(), ++number);
    snprintf(rig->log, sizeof(rig->log), "%s/log", rig->directory);
    rig->notify = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    socklen_t length = mon_fabric_path(&address, rig->directory, "notify");
    assert_int_equal(bind(rig->notify, (struct sockaddr *)&address, length), 0);
    rig_launch(rig, extra);
}

/* Stops the daemon and returns its exit status, which a sanitizer's report makes nonzero. */
static inline int rig_end(struct rig *rig, int signal_number)
{
    int status;
    kill(rig->pid, signal_number);
    assert_int_equal(waitpid(rig->pid, &status, 0), rig->pid);
    return status;
}

static inline void rig_stop(struct rig *rig)
{
    char command[64];
    int status = rig_end(rig, SIGTERM);
    if (status != 0) {
        fail_msg("the daemon exited with %#x; its log:\n%s", status, rig_log(rig));
    }
    close(rig->notify);
    snprintf(command, sizeof(command), "rm -rf %s", rig->directory);
    assert_int_equal(system(command), 0);
}

/* A client socket, bound as clients do it: abstract, or in the directory. */
static inline int client_open(const struct rig *rig, bool in_directory)
{
    static int number;
    char name[64];
    struct sockaddr_un address;
    snprintf(name, sizeof(name), "dynoconfigclient%d-%d", (int)getpid(), ++number);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    socklen_t length =
        in_directory ? mon_fabric_path(&address, rig->directory, name) : mon_fabric_abstract(&address, name);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, length), 0);
    return fd;
}

enum door { ABSTRACT, ABSTRACT_DATA, HOME, HOME_DATA, DIRECTORY, DIRECTORY_DATA };

static inline socklen_t door_address(const struct rig *rig, enum door door, struct sockaddr_un *out)
{
    char name[64];
    snprintf(name, sizeof(name), "%s_data", rig->name);
    switch (door) {
    case ABSTRACT:
        return mon_fabric_abstract(out, rig->name);
    case ABSTRACT_DATA:
        return mon_fabric_abstract(out, name);
    case HOME:
        return mon_fabric_path(out, rig->directory, "dynolog.sock");
    case HOME_DATA:
        return mon_fabric_path(out, rig->directory, "dynolog_data.sock");
    case DIRECTORY:
        return mon_fabric_path(out, rig->directory, "dynolog");
    default:
        return mon_fabric_path(out, rig->directory, "dynolog_data");
    }
}

/* Sends; waits while the daemon's queue is full. */
static inline void client_send(const struct rig *rig, int fd, enum door door, const void *bytes, size_t length)
{
    struct sockaddr_un address;
    socklen_t address_b = door_address(rig, door, &address);
    if (sendto(fd, bytes, length, 0, (struct sockaddr *)&address, address_b) != (ssize_t)length) {
        fail_msg("send: %s; the daemon's log:\n%s", strerror(errno), rig_log(rig));
    }
}

/* Receives with a timeout; returns the length or -1. The source must be the endpoint. */
static inline ssize_t client_receive(const struct rig *rig, int fd, enum door door, void *out, size_t out_b, int ms)
{
    struct pollfd ready = {fd, POLLIN, 0};
    struct sockaddr_un from, expected;
    socklen_t from_b = sizeof(from), expected_b = door_address(rig, door, &expected);
    if (poll(&ready, 1, ms) != 1) {
        return -1;
    }
    ssize_t n = recvfrom(fd, out, out_b, 0, (struct sockaddr *)&from, &from_b);
    assert_int_equal(from_b, expected_b);
    assert_memory_equal(&from, &expected, expected_b);
    return n;
}

static inline size_t make_request(void *out, int32_t mask, int64_t job, int32_t pid, int32_t parent)
{
    struct mon_fabric_request request = {mask, job, parent != 0 ? 2 : 1, {pid, parent}};
    return mon_fabric_write_request(out, &request);
}

static const char NO_ANSWER[] = "(no answer)";

/* Polls once: returns the payload, NUL-terminated, or NO_ANSWER after the timeout. */
static inline const char *client_poll(const struct rig *rig, int fd, enum door door, int32_t mask, int64_t job,
                                      int32_t pid, int ms)
{
    static char reply[70000];
    char datagram[128];
    client_send(rig, fd, door, datagram, make_request(datagram, mask, job, pid, (int32_t)getppid()));
    ssize_t n = client_receive(rig, fd, door, reply, sizeof(reply) - 1, ms);
    if (n < 0) {
        return NO_ANSWER;
    }
    uint64_t size;
    memcpy(&size, reply, sizeof(size));
    assert_true(n >= MON_FABRIC_HEAD_B);
    assert_int_equal(size, n - MON_FABRIC_HEAD_B);
    assert_string_equal(reply + 8, "req");
    reply[n] = '\0';
    return reply + MON_FABRIC_HEAD_B;
}

/* One RPC call; returns a new reference to the answer. */
static inline json_t *rig_rpc(const struct rig *rig, json_t *request)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)rig->port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct timeval patience = {20, 0};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    char *text = json_dumps(request, JSON_COMPACT);
    int32_t length = (int32_t)strlen(text);
    json_decref(request);
    assert_int_equal(write(fd, &length, 4), 4);
    assert_int_equal(write(fd, text, (size_t)length), length);
    free(text);
    assert_int_equal(recv(fd, &length, 4, MSG_WAITALL), 4);
    text = malloc((size_t)length);
    assert_int_equal(recv(fd, text, (size_t)length, MSG_WAITALL), length);
    json_t *answer = json_loadb(text, (size_t)length, 0, NULL);
    assert_non_null(answer);
    free(text);
    close(fd);
    return answer;
}

static inline json_t *rig_command(const struct rig *rig, int64_t job, const char *config, int limit)
{
    return rig_rpc(rig, json_pack("{sssssIs[i]si}", "fn", "setKinetOnDemandRequest", "config", config, "job_id",
                                  (json_int_t)job, "pids", 0, "process_limit", limit));
}

#endif
