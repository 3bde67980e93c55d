/* SPDX-License-Identifier: Apache-2.0 */
/* The session string, messages, registration and requests. */
#include "collect/protocol/session.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define SOCKET "s=0123456789abcdef0123456789abcdef"

static void text_round_trip(void **state)
{
    (void)state;
    struct ms_session out, in = {0};
    ms_session_init(&in);
    assert_int_equal(0, ms_session_new_socket(&in));
    in.event_mask = 0x47;
    in.c_depth = 20;
    in.pid_namespace = UINT64_MAX;
    in.only_pid = 4711;
    strcpy(in.fallback, "/tmp/a;b%c\x01/\xe4\xbd\xa0.sock");
    strcpy(in.watch, "op;0,op1");
    char text[MS_SESSION_MAX_B];
    size_t n = ms_session_format(&in, text, sizeof(text));
    assert_int_equal(n, strlen(text));
    assert_int_equal(0, ms_session_parse(text, &out));
    assert_memory_equal(&in, &out, sizeof(in));

    /* Truncated like snprintf, at every length. */
    for (size_t size = 0; size <= n; size++) {
        char *exact = malloc(size + 1);
        exact[size] = 'x';
        assert_int_equal(n, ms_session_format(&in, exact, size));
        assert_int_equal('x', exact[size]);
        free(exact);
    }
}

static void defaults_and_unknown_keys(void **state)
{
    (void)state;
    struct ms_session s;
    assert_int_equal(0, ms_session_parse("1;" SOCKET, &s));
    assert_int_equal(2, s.state);
    assert_int_equal(20, s.full_wait_ms);
    assert_int_equal(0xffffffff, s.npu_mask);
    assert_string_equal("", s.fallback);
    assert_int_equal(0, ms_session_parse("1;Z=what;" SOCKET ";;c=7;%=", &s));
    assert_int_equal(7, s.c_depth);
}

static void wrong_texts(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int rc;
    } cases[] = {
        {NULL, -EINVAL},
        {"", -EINVAL},
        {";" SOCKET, -EINVAL},
        {"x;" SOCKET, -EINVAL},
        {"0;" SOCKET, -EINVAL},
        {"2;" SOCKET, -EPROTONOSUPPORT},
        {"99999999999999999999999;" SOCKET, -EINVAL},
        {"1", -EINVAL},
        {"1;s=0123", -EINVAL},
        {"1;s=0123456789abcdef0123456789abcdeg", -EINVAL},
        {"1;s=0123456789abcdef0123456789abcdef0", -EINVAL},
        {"1;" SOCKET ";c=1001", -EINVAL},
        {"1;" SOCKET ";c=-1", -EINVAL},
        {"1;" SOCKET ";c=", -EINVAL},
        {"1;" SOCKET ";c", -EINVAL},
        {"1;" SOCKET ";N=18446744073709551616", -EINVAL},
        {"1;" SOCKET ";t=3", -EINVAL},
        {"1;" SOCKET ";W=%", -EINVAL},
        {"1;" SOCKET ";W=%4", -EINVAL},
        {"1;" SOCKET ";W=%zz", -EINVAL},
        {"1;" SOCKET ";W=%00", -EINVAL},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct ms_session s, before;
        memset(&s, 0x5a, sizeof(s));
        before = s;
        assert_int_equal(cases[i].rc, ms_session_parse(cases[i].text, &s));
        assert_memory_equal(&before, &s, sizeof(s));
    }
    char big[MS_SESSION_MAX_B + 100];
    memset(big, 'a', sizeof(big) - 1);
    big[sizeof(big) - 1] = '\0';
    memcpy(big, "1;" SOCKET ";W=", 38);
    struct ms_session s;
    assert_int_equal(-EINVAL, ms_session_parse(big, &s));
    big[900] = '\0';
    assert_int_equal(-EINVAL, ms_session_parse(big, &s)); /* longer than the field */
}

static void messages(void **state)
{
    (void)state;
    char data[MS_MESSAGE_MAX_B];
    struct ms_hello hello = {
        .head = ms_message_head(MS_MESSAGE_HELLO, sizeof(hello) + 5, 0), .pid = 1, .exe_b = 3, .command_b = 2};
    memset(data, 0, sizeof(data));
    memcpy(data, &hello, sizeof(hello));
    size_t n = sizeof(hello) + 5;
    assert_int_equal(MS_MESSAGE_HELLO, ms_message_check(data, n));
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(-EPROTO, ms_message_check(data, i));
    }
    assert_int_equal(-EPROTO, ms_message_check(data, n + 1));
    ((struct ms_hello *)(void *)data)->exe_b = 0xffff;
    assert_int_equal(-EPROTO, ms_message_check(data, n));

    struct ms_request request = {
        .head = ms_message_head(MS_MESSAGE_REQUEST, sizeof(request), 0), .kind = 1, .text_b = 1};
    assert_int_equal(-EPROTO, ms_message_check(&request, sizeof(request)));
    request.text_b = 0;
    assert_int_equal(MS_MESSAGE_REQUEST, ms_message_check(&request, sizeof(request)));
    request.head.kind = 77;
    assert_int_equal(-EPROTO, ms_message_check(&request, sizeof(request)));
}

/* What a collector receives. */
static ssize_t receive(int listener, void *out, size_t out_b, int *fd, int *connection)
{
    struct pollfd wait = {listener, POLLIN, 0};
    assert_int_equal(1, poll(&wait, 1, 10000));
    *connection = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    assert_true(*connection >= 0);
    char control[CMSG_SPACE(sizeof(int))];
    struct iovec part = {out, out_b};
    struct msghdr header = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)};
    ssize_t n = recvmsg(*connection, &header, MSG_CMSG_CLOEXEC);
    struct cmsghdr *c = CMSG_FIRSTHDR(&header);
    *fd = -1;
    if (c != NULL && c->cmsg_type == SCM_RIGHTS) {
        memcpy(fd, CMSG_DATA(c), sizeof(int));
    }
    return n;
}

static void check_registration(const struct ms_session *s, int listener)
{
    int memfd = memfd_create("test", MFD_CLOEXEC);
    assert_true(memfd >= 0);
    assert_int_equal(6, write(memfd, "shared", 6));
    assert_int_equal(0, ms_session_register(s, memfd, 4096, 2));
    close(memfd);

    union {
        struct ms_hello hello;
        char bytes[MS_MESSAGE_MAX_B];
    } got;
    int fd, connection;
    ssize_t n = receive(listener, &got, sizeof(got), &fd, &connection);
    assert_int_equal(MS_MESSAGE_HELLO, ms_message_check(&got, (size_t)n));
    assert_int_equal(getpid(), got.hello.pid);
    assert_int_equal(getppid(), got.hello.ppid);
    assert_int_equal(4096, got.hello.shm_b);
    assert_int_equal(2, got.hello.clock_kind);
    assert_int_equal(ms_session_own_pid_namespace(), got.hello.pid_namespace);
    assert_int_not_equal(0, got.hello.pid_namespace);
    char exe[1024] = "", copy[16] = "";
    assert_true(readlink("/proc/self/exe", exe, sizeof(exe) - 1) > 0);
    size_t exe_b = strlen(exe);
    assert_int_equal(exe_b, got.hello.exe_b);
    assert_memory_equal(exe, got.bytes + sizeof(got.hello), got.hello.exe_b);
    char command[4096];
    int cmdline = open("/proc/self/cmdline", O_RDONLY);
    ssize_t command_b = read(cmdline, command, sizeof(command));
    close(cmdline);
    assert_int_equal(command_b, got.hello.command_b);
    assert_memory_equal(command, got.bytes + sizeof(got.hello) + exe_b, command_b);
    assert_int_equal(6, pread(fd, copy, sizeof(copy), 0));
    assert_string_equal("shared", copy);
    uint32_t uid, pid;
    assert_int_equal(0, ms_session_peer(connection, &uid, &pid));
    assert_int_equal(getuid(), uid);
    assert_int_equal(getpid(), pid);

    /* Start time as in /proc. */
    unsigned long long start = 0;
    FILE *f = fopen("/proc/self/stat", "r");
    assert_int_equal(
        1, fscanf(f, "%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
                  &start));
    fclose(f);
    assert_int_equal(start, got.hello.start_time);

    /* Nothing is kept: the connection is closed. */
    assert_int_equal(0, recv(connection, &got, sizeof(got), 0));
    close(fd);
    close(connection);
}

static void registration(void **state)
{
    (void)state;
    struct ms_session s;
    ms_session_init(&s);
    assert_int_equal(0, ms_session_new_socket(&s));
    assert_int_equal(-ECONNREFUSED, ms_session_register(&s, 0, 0, 0));
    int listener = ms_session_listen(&s, false);
    assert_true(listener >= 0);
    s.pid_namespace = ms_session_own_pid_namespace();
    check_registration(&s, listener);
    s.listener = (uint64_t)getpid();
    check_registration(&s, listener);
    s.listener++; /* the pid differs from the one the listener has: the namespace is looked up */
    s.pid_namespace++;
    int memfd = memfd_create("test", MFD_CLOEXEC), fd, connection;
    assert_int_equal(0, ms_session_register(&s, memfd, 4096, 2));
    close(memfd);
    union {
        struct ms_hello hello;
        char bytes[MS_MESSAGE_MAX_B];
    } got;
    assert_true(receive(listener, &got, sizeof(got), &fd, &connection) > 0);
    assert_int_equal(ms_session_own_pid_namespace(), got.hello.pid_namespace);
    close(fd);
    close(connection);
    close(listener);
}

/* Arguments as a constructor sees them; those that were moved are not trusted. */
static char **own_argv;
static int own_argc;
static __attribute__((constructor)) void keep_arguments(int argc, char **argv)
{
    own_argc = argc;
    own_argv = argv;
}

static void arguments(void **state)
{
    char *moved[] = {own_argv[0], "elsewhere", NULL}, *below[] = {own_argv[0], NULL};
    ms_session_own_arguments(2, moved);
    registration(state);
    ms_session_own_arguments(0, below);
    registration(state);
    ms_session_own_arguments(own_argc, own_argv);
    registration(state);
}

static void registration_by_file(void **state)
{
    (void)state;
    char directory[300];
    snprintf(directory, sizeof(directory), "/tmp/session-test-%d-%0200d", getpid(), 0);
    assert_int_equal(-1, access(directory, F_OK));
    assert_int_equal(0, mkdir(directory, 0700));
    struct ms_session s;
    ms_session_init(&s);
    assert_int_equal(0, ms_session_new_socket(&s)); /* no listener there */
    snprintf(s.fallback, sizeof(s.fallback), "%s/sock", directory);
    int listener = ms_session_listen(&s, true);
    assert_true(listener >= 0);
    check_registration(&s, listener);
    close(listener);
    assert_int_equal(-ECONNREFUSED, ms_session_connect(&s));
    assert_int_equal(0, unlink(s.fallback));
    assert_int_equal(0, rmdir(directory));
    assert_int_equal(-ENOENT, ms_session_connect(&s));
}

static void *answer(void *argument)
{
    int listener = *(int *)argument;
    for (int i = 0; i < 3; i++) {
        union {
            struct ms_request request;
            char bytes[MS_MESSAGE_MAX_B];
        } got;
        int fd, connection;
        ssize_t n = receive(listener, &got, sizeof(got), &fd, &connection);
        if (ms_message_check(&got, (size_t)n) != MS_MESSAGE_REQUEST) {
            abort();
        }
        struct {
            struct ms_reply reply;
            char text[8];
        } out = {.reply.head = ms_message_head(MS_MESSAGE_REPLY, sizeof(out.reply), 0), .reply.status = EINPROGRESS};
        if (got.request.kind == MS_REQUEST_STOP) {
            send(connection, &out, sizeof(out.reply), MSG_NOSIGNAL);
            out.reply.head = ms_message_head(MS_MESSAGE_REPLY, sizeof(out), 0);
            out.reply.status = got.request.value == 42 ? -EILSEQ : 0;
            out.reply.text_b = 8;
            memcpy(out.text, got.bytes + sizeof(got.request), 8);
            send(connection, &out, sizeof(out), MSG_NOSIGNAL);
        } else if (got.request.kind == MS_REQUEST_STEP) {
            send(connection, "nonsense", 8, MSG_NOSIGNAL);
        }
        close(connection);
    }
    return NULL;
}

static void requests(void **state)
{
    (void)state;
    struct ms_session s;
    ms_session_init(&s);
    assert_int_equal(0, ms_session_new_socket(&s));
    int listener = ms_session_listen(&s, false);
    pthread_t thread;
    assert_int_equal(0, pthread_create(&thread, NULL, answer, &listener));
    char text[5] = "xxxx";
    assert_int_equal(-EILSEQ, ms_session_request(&s, MS_REQUEST_STOP, 42, "whatever", text, sizeof(text)));
    assert_string_equal("what", text);
    assert_int_equal(-EPIPE, ms_session_request(&s, MS_REQUEST_START, 0, NULL, text, sizeof(text)));
    assert_string_equal("", text);
    assert_int_equal(-EPROTO, ms_session_request(&s, MS_REQUEST_STEP, 0, NULL, NULL, 0));
    pthread_join(thread, NULL);
    close(listener);
    assert_int_equal(-ECONNREFUSED, ms_session_request(&s, MS_REQUEST_STEP, 0, NULL, NULL, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_round_trip), cmocka_unit_test(defaults_and_unknown_keys),
        cmocka_unit_test(wrong_texts),     cmocka_unit_test(messages),
        cmocka_unit_test(registration),    cmocka_unit_test(registration_by_file),
        cmocka_unit_test(requests),        cmocka_unit_test(arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
