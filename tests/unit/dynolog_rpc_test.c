/* SPDX-License-Identifier: Apache-2.0 */
/* The RPC port with misbehaving clients: slow senders, ten thousand connections, floods, partial messages, random
 * bytes. Other clients must be served all the time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dynolog_rig.h"

#include <sys/resource.h>

#define CONNECTIONS 10000

static const char get_version[] = "\x13\0\0\0{\"fn\":\"getVersion\"}";
#define REQUEST_B (sizeof(get_version) - 1)

static int connect_to(const struct rig *rig)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)rig->port)};
    struct timeval patience = {20, 0};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    return fd;
}

/* A well-behaved client is served quickly. */
static void expect_service(const struct rig *rig)
{
    uint64_t start = ms_clock_raw_ns();
    json_t *answer = rig_rpc(rig, json_pack("{ss}", "fn", "getVersion"));
    assert_string_equal(json_string_value(json_object_get(answer, "version")), "0.3.2");
    json_decref(answer);
    assert_true(ms_clock_raw_ns() - start < 5000000000ull);
}

static bool is_closed(int fd)
{
    char byte;
    ssize_t n = recv(fd, &byte, 1, MSG_DONTWAIT);
    return n == 0 || (n < 0 && errno != EAGAIN);
}

/* A byte now and then keeps a request incomplete; it still times out after three seconds. */
static void test_slow_senders(void **state)
{
    struct rig rig;
    int fds[200];
    rig_start(&rig, NULL);
    for (size_t i = 0; i < 200; i++) {
        fds[i] = connect_to(&rig);
    }
    uint64_t start = ms_clock_raw_ns();
    size_t closed = 0;
    for (unsigned round = 0; closed < 200; round++) {
        closed = 0;
        for (size_t i = 0; i < 200; i++) {
            closed += is_closed(fds[i]);
            if (round + 1 < REQUEST_B) {
                send(fds[i], get_version + round, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
            }
        }
        assert_true(ms_clock_raw_ns() - start < 20000000000ull);
        if (round % 4 == 0) {
            expect_service(&rig);
        }
        poll(NULL, 0, 250);
    }
    assert_true(ms_clock_raw_ns() - start > 2000000000ull);
    assert_non_null(strstr(rig_log(&rig), "slow request"));
    for (size_t i = 0; i < 200; i++) {
        close(fds[i]);
    }
    rig_stop(&rig);
}

static void test_ten_thousand_connections(void **state)
{
    struct rig rig;
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = limit.rlim_max < CONNECTIONS + 1000 ? limit.rlim_max : CONNECTIONS + 1000;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    size_t count = limit.rlim_cur - 500 < CONNECTIONS ? limit.rlim_cur - 500 : CONNECTIONS;
    int *fds = calloc(count, sizeof(*fds));
    rig_start(&rig, NULL);
    for (size_t i = 0; i < count; i++) {
        fds[i] = connect_to(&rig);
        if (i % 1000 == 999) {
            expect_service(&rig);
        }
    }
    /* The most recent connections are still served. */
    for (size_t i = count - 100; i < count; i++) {
        char answer[REQUEST_B];
        assert_int_equal(send(fds[i], get_version, REQUEST_B, MSG_NOSIGNAL), REQUEST_B);
        assert_int_equal(recv(fds[i], answer, REQUEST_B, MSG_WAITALL), REQUEST_B);
    }
    expect_service(&rig);
    for (size_t i = 0; i < count; i++) {
        close(fds[i]);
    }
    free(fds);
    expect_service(&rig);
    rig_stop(&rig);
}

/* A client that sends requests without reading answers: the daemon stops reading from it, but serves all others. */
static void test_flood(void **state)
{
    struct rig rig;
    rig_start(&rig, NULL);
    int fd = connect_to(&rig);
    int small = 4096;
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
    char many[REQUEST_B * 1000];
    for (size_t i = 0; i < 1000; i++) {
        memcpy(many + i * REQUEST_B, get_version, REQUEST_B);
    }
    uint64_t sent = 0;
    for (unsigned idle = 0; idle < 20;) {
        size_t from = sent % sizeof(many); /* send may accept part of a request: continue there */
        ssize_t n = send(fd, many + from, sizeof(many) - from, MSG_DONTWAIT | MSG_NOSIGNAL);
        sent += n > 0 ? (uint64_t)n : 0;
        idle = n > 0 ? 0 : idle + 1;
        assert_true(sent < 1u << 30); /* the daemon must not accept a gigabyte without answering */
        if (idle > 0) {
            expect_service(&rig);
        }
    }
    close(fd);
    expect_service(&rig);
    rig_stop(&rig);
}

/* The same with invalid input: it is answered, then the connection is closed, however much follows. */
static void test_flood_of_random_bytes(void **state)
{
    struct rig rig;
    rig_start(&rig, NULL);
    int fd = connect_to(&rig);
    char noise[65536];
    memset(noise, 0xff, sizeof(noise));
    uint64_t sent = 0;
    ssize_t n;
    while ((n = send(fd, noise, sizeof(noise), MSG_NOSIGNAL)) > 0) {
        sent += (uint64_t)n;
        assert_true(sent < 256u << 20);
    }
    close(fd);
    expect_service(&rig);
    rig_stop(&rig);
}

static void test_partial_requests(void **state)
{
    struct rig rig;
    rig_start(&rig, NULL);
    for (size_t cut = 0; cut < REQUEST_B; cut++) {
        for (int reset = 0; reset < 2; reset++) {
            int fd = connect_to(&rig);
            struct linger hard = {reset, 0};
            setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
            assert_int_equal(send(fd, get_version, cut, MSG_NOSIGNAL), cut);
            close(fd);
        }
        /* Sent in two pieces, it is a normal request. */
        int fd = connect_to(&rig);
        char answer[REQUEST_B];
        send(fd, get_version, cut, MSG_NOSIGNAL);
        expect_service(&rig);
        send(fd, get_version + cut, REQUEST_B - cut, MSG_NOSIGNAL);
        assert_int_equal(recv(fd, answer, REQUEST_B, MSG_WAITALL), REQUEST_B);
        close(fd);
    }
    rig_stop(&rig);
}

/* Many large requests that are never completed: their memory is bounded, the oldest connections are closed. */
static void test_large_partial_requests(void **state)
{
    struct rig rig;
    static int fds[1000];
    static char most[60000];
    int32_t length = 65536;
    rig_start(&rig, NULL);
    memcpy(most, &length, 4);
    for (size_t i = 0; i < 1000; i++) {
        fds[i] = connect_to(&rig);
        size_t sent = 0;
        while (sent < sizeof(most)) {
            ssize_t n = send(fds[i], most + sent, sizeof(most) - sent, MSG_NOSIGNAL);
            if (n <= 0) {
                break; /* already closed */
            }
            sent += (size_t)n;
        }
        if (i % 100 == 0) {
            expect_service(&rig);
        }
    }
    expect_service(&rig);
    size_t closed = 0;
    for (size_t i = 0; i < 1000; i++) {
        closed += is_closed(fds[i]);
        close(fds[i]);
    }
    assert_true(closed > 100);
    assert_non_null(strstr(rig_log(&rig), "too many incomplete requests"));
    rig_stop(&rig);
}

static void test_random_bytes(void **state)
{
    struct rig rig;
    unsigned seed = 20260101;
    rig_start(&rig, NULL);
    for (int i = 0; i < 1000; i++) {
        unsigned char bytes[300];
        for (size_t j = 0; j < sizeof(bytes); j++) {
            bytes[j] = (unsigned char)rand_r(&seed);
        }
        int32_t length = 1 + rand_r(&seed) % 296;
        if (i % 2 == 0) {
            memcpy(bytes, &length, 4); /* a plausible length before the random bytes */
        }
        int fd = connect_to(&rig);
        send(fd, bytes, sizeof(bytes), MSG_NOSIGNAL);
        close(fd);
    }
    expect_service(&rig);
    rig_stop(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slow_senders),
        cmocka_unit_test(test_ten_thousand_connections),
        cmocka_unit_test(test_flood),
        cmocka_unit_test(test_flood_of_random_bytes),
        cmocka_unit_test(test_partial_requests),
        cmocka_unit_test(test_large_partial_requests),
        cmocka_unit_test(test_random_bytes),
    };
    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
