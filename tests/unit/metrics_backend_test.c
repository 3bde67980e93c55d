/* SPDX-License-Identifier: Apache-2.0 */
/* Back ends that can be slow: the queue between threads, event files on disk, an OTLP receiver that misbehaves. */
#include "base/clock.h"
#include "base/macros.h"
#include "monitor/metrics/queue.h"
#include "monitor/metrics/backend_otlp.h"
#include "monitor/metrics/backend_tensorboard.h"
#include "monitor/metrics/tfevents.h"
#include "monitor/store/record.h"
#include "monitor/store/series.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <event2/buffer.h>
#include <event2/http.h>
#include <fcntl.h>
#include <ftw.h>
#include <jansson.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[64];

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *walk)
{
    return remove(path);
}

static int begin(void **state)
{
    snprintf(root, sizeof(root), "/tmp/metrics_backend_%d", getpid());
    mkdir(root, 0700);
    return mon_metrics_open("node1", 0);
}

static int end(void **state)
{
    mon_metrics_close();
    return nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static double lost(const char *sink, const char *reason)
{
    return mon_metric_value(MON_METRIC_BACKEND_DROPPED, MON_LABELS(.sink = sink, .reason = reason));
}

/* ---- queue ---- */

static void *take_all(void *queue)
{
    size_t size_b, sum = 0;
    bool closed = false;
    while (!closed) {
        int *number = mon_queue_take(queue, -1, &size_b, &closed);
        if (number != NULL) {
            sum += (size_t)*number;
            free(number);
        }
    }
    return (void *)sum;
}

static void queue_bounds(void **state)
{
    struct mon_queue *queue = mon_queue_new(3, 100);
    struct mon_queue_stats stats;
    size_t size_b;
    bool closed;
    assert_null(mon_queue_take(queue, 0, &size_b, &closed));
    assert_false(closed);
    char large[101] = "";
    assert_false(mon_queue_put(queue, large, sizeof(large))); /* larger than the queue */
    for (int i = 0; i < 5; i++) {
        assert_int_equal(mon_queue_put(queue, &i, sizeof(i)), i < 3);
    }
    mon_queue_stats(queue, &stats);
    assert_int_equal(stats.length, 3);
    assert_int_equal(stats.dropped, 3);
    mon_queue_close(queue);
    assert_false(mon_queue_put(queue, &size_b, 1));
    for (int i = 0; i < 3; i++) { /* queued messages of a closed queue can still be taken, in order */
        int *number = mon_queue_take(queue, -1, &size_b, &closed);
        assert_int_equal(*number, i);
        free(number);
    }
    assert_null(mon_queue_take(queue, -1, &size_b, &closed));
    assert_true(closed);
    mon_queue_free(queue);
}

static void queue_between_threads(void **state)
{
    struct mon_queue *queue = mon_queue_new(16, 1 << 20);
    struct mon_queue_stats stats;
    pthread_t thread;
    void *sum;
    size_t sent = 0;
    pthread_create(&thread, NULL, take_all, queue);
    for (int i = 1; i <= 100000; i++) {
        sent += mon_queue_put(queue, &i, sizeof(i)) ? (size_t)i : 0;
    }
    mon_queue_close(queue);
    pthread_join(thread, &sum);
    assert_int_equal((size_t)sum, sent);
    mon_queue_stats(queue, &stats);
    assert_int_equal(stats.taken + stats.dropped, 100000);
    mon_queue_free(queue);
}

/* ---- event files ---- */

static void report(struct mon_tensorboard *t, const char *device, const char *kind, const char *domain, uint64_t value)
{
    struct mon_record record = {.source = MON_RECORD_NPU, .time_ns = 5000000000u};
    mon_record_text(&record, "deviceId", device);
    mon_record_text(&record, "kind", kind);
    mon_record_uint(&record, "duration", value);
    if (domain != NULL) {
        mon_record_text(&record, "domain", domain);
    }
    mon_tensorboard_write(t, &record);
    mon_record_free(&record);
}

static uint32_t masked(const void *data, size_t size_b)
{
    uint32_t crc = mon_crc32c(data, size_b);
    return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

/* Checks all frames of a file; returns their number. *has is the number of payloads that contain a text. */
static int frames(const char *file, const char *text, int *has)
{
    static char bytes[16 << 20];
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", root, file);
    int fd = open(path, O_RDONLY), n = 0;
    if (fd < 0) {
        return -1;
    }
    ssize_t size = read(fd, bytes, sizeof(bytes));
    close(fd);
    *has = 0;
    for (ssize_t at = 0; at < size; n++) {
        uint64_t length;
        uint32_t crc;
        assert_true(at + 16 <= size);
        memcpy(&length, bytes + at, 8);
        memcpy(&crc, bytes + at + 8, 4);
        assert_int_equal(crc, masked(bytes + at, 8));
        assert_true(at + 16 + (ssize_t)length <= size);
        memcpy(&crc, bytes + at + 12 + length, 4);
        assert_int_equal(crc, masked(bytes + at + 12, length));
        *has += memmem(bytes + at + 12, length, text, strlen(text)) != NULL;
        assert_int_equal(n == 0, memmem(bytes + at + 12, length, "brain.Event:2", 13) != NULL);
        at += 16 + (ssize_t)length;
    }
    return n;
}

static void event_files(void **state)
{
    struct mon_tensorboard *t;
    struct mon_tensorboard_options options = {.directory = root, .keep = 2, .queue = 1000};
    char path[256];
    int has;
    snprintf(path, sizeof(path), "%s/device_0", root); /* left by an earlier run */
    mkdir(path, 0755);
    snprintf(path, sizeof(path), "%s/device_0/tfevents.pb.000007", root);
    close(open(path, O_CREAT | O_WRONLY, 0600));
    assert_int_equal(mon_tensorboard_open(&options, &t), 0);
    static const char *const kinds[] = {"Kernel", "API",    "AclAPI", "NodeAPI", "RuntimeAPI",
                                        "Hccl",   "Memory", "MemSet", "MemCpy",  "Communication"};
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < MS_COUNT_OF(kinds); i++) {
            report(t, "0", kinds[i], NULL, 1000);
        }
    }
    report(t, "-1", "Marker", "dom", 1);
    report(t, "-1", "Marker", NULL, 1);
    struct mon_record other = {.source = MON_RECORD_KERNEL};
    mon_record_int(&other, "uptime", 1);
    mon_tensorboard_write(t, &other);
    mon_record_free(&other);
    mon_tensorboard_close(t);
    assert_int_equal(frames("device_0/tfevents.pb", "Communication", &has), 31);
    assert_int_equal(has, 3);
    assert_int_equal(frames("device_host/tfevents.pb", "Marker/dom", &has), 3);
    assert_int_equal(has, 1);
    assert_int_equal(frames("device_host/tfevents.pb", "Marker/default", &has), 3);
    assert_int_equal(has, 1);
    assert_int_equal(access(path, F_OK), -1);
}

static void event_files_rotate(void **state)
{
    struct mon_tensorboard *t;
    struct mon_tensorboard_options options = {.directory = root, .max_b = 1000, .keep = 3, .queue = 1000};
    struct stat status;
    char path[256];
    int has, files = 0;
    assert_int_equal(mon_tensorboard_open(&options, &t), 0);
    for (int i = 0; i < 200; i++) {
        report(t, "3", "Kernel", NULL, (uint64_t)i);
    }
    mon_tensorboard_close(t);
    snprintf(path, sizeof(path), "%s/device_3", root);
    DIR *list = opendir(path);
    for (const struct dirent *entry; (entry = readdir(list)) != NULL;) {
        if (entry->d_name[0] != '.') {
            snprintf(path, sizeof(path), "device_3/%.60s", entry->d_name);
            assert_true(frames(path, "Kernel", &has) > 1);
            snprintf(path, sizeof(path), "%s/device_3/%.60s", root, entry->d_name);
            assert_int_equal(stat(path, &status), 0);
            assert_true(status.st_size <= 1000);
            files++;
        }
    }
    closedir(list);
    assert_int_equal(files, 3);
}

static void event_files_that_cannot_be_written(void **state)
{
    struct mon_tensorboard *t;
    char path[256];
    int has;
    snprintf(path, sizeof(path), "%s/file", root);
    close(open(path, O_CREAT | O_WRONLY, 0600));
    struct mon_tensorboard_options options = {.directory = path, .keep = 2, .queue = 1000};
    assert_int_equal(mon_tensorboard_open(&options, &t), -ENOTDIR);
    /* A path that leaves the directory, and text that is invalid in protobuf. */
    options.directory = root;
    snprintf(path, sizeof(path), "%s/device_1", root);
    assert_int_equal(symlink("/tmp", path), 0);
    assert_int_equal(mon_tensorboard_open(&options, &t), 0);
    report(t, "1", "Kernel", NULL, 1);
    char domain[400];
    memset(domain, 0, sizeof(domain));
    for (size_t i = 0; i + 3 < sizeof(domain); i += 3) {
        memcpy(domain + i, "\xe4\xb8\xad", 3);
    }
    report(t, "2", "Marker", domain, 1);
    for (int i = 0; i < 40; i++) {
        char kind[16];
        snprintf(kind, sizeof(kind), "kind%d", i);
        report(t, "2", kind, NULL, 1);
    }
    for (int i = 0; i < 200; i++) {
        char device[16];
        snprintf(device, sizeof(device), "%d", 10 + i);
        report(t, device, "Kernel", NULL, 1);
    }
    assert_true(lost("tensorboard", "limit") == 9 + 200 - (128 - 2));
    /* Wait until the thread has seen the link, then let the loop count it. */
    uint64_t deadline_ns = ms_clock_raw_ns() + 5000000000u;
    while (lost("tensorboard", "disk") == 0 && ms_clock_raw_ns() < deadline_ns) {
        report(t, "2", "Marker", domain, 1);
        usleep(1000);
    }
    assert_true(lost("tensorboard", "disk") >= 1);
    mon_tensorboard_close(t);
    assert_true(frames("device_2/tfevents.pb", "Marker/\xe4\xb8\xad", &has) > 30);
}

/* A disk that does not respond: the loop is not delayed, and lost events are counted. */
static void slow_disk(void **state)
{
    struct mon_tensorboard *t;
    char path[256];
    snprintf(path, sizeof(path), "%s/device_0", root);
    mkdir(path, 0755);
    struct mon_tensorboard_options options = {.directory = root, .keep = 2, .queue = 100};
    assert_int_equal(mon_tensorboard_open(&options, &t), 0);
    uint64_t begun_ns = ms_clock_raw_ns();
    for (int i = 0; i < 20000; i++) { /* faster than any disk */
        report(t, "0", "Kernel", NULL, 1);
    }
    double ns = (double)(ms_clock_raw_ns() - begun_ns) / 20000;
    assert_true(ns < 1e6);
    mon_tensorboard_close(t);
    int has, n = frames("device_0/tfevents.pb", "Kernel", &has);
    assert_int_equal(has + (int)lost("tensorboard", "full"), n > 0 ? 20000 : -1);
}

/* ---- OTLP ---- */

struct receiver {
    struct event_base *base;
    struct evhttp *http;
    int port;
    int code;       /* status that it answers; 0: no answer */
    int good_after; /* number of requests after which it answers 200 */
    int requests;
    size_t points;
    char header[64], path[64];
    const char *answer;
};

static void receive(struct evhttp_request *request, void *context)
{
    struct receiver *r = context;
    struct evbuffer *body = evhttp_request_get_input_buffer(request);
    const char *value = evhttp_find_header(evhttp_request_get_input_headers(request), "x-token");
    snprintf(r->header, sizeof(r->header), "%s", value != NULL ? value : "");
    snprintf(r->path, sizeof(r->path), "%s", evhttp_request_get_uri(request));
    json_t *object = json_loadb((const char *)evbuffer_pullup(body, -1), evbuffer_get_length(body), 0, NULL);
    assert_non_null(object);
    json_decref(object);
    r->requests++;
    int code = r->good_after >= 0 && r->requests > r->good_after ? 200 : r->code;
    if (code == 0) {
        return; /* never answers; the request belongs to the connection */
    }
    if (code == 200 && r->answer != NULL) {
        evbuffer_add(evhttp_request_get_output_buffer(request), r->answer, strlen(r->answer));
    }
    evhttp_send_reply(request, code, "reply", NULL);
}

static void start_receiver(struct receiver *r)
{
    struct sockaddr_in address;
    socklen_t length = sizeof(address);
    r->base = event_base_new();
    r->http = evhttp_new(r->base);
    evhttp_set_gencb(r->http, receive, r);
    struct evhttp_bound_socket *bound = evhttp_bind_socket_with_handle(r->http, "127.0.0.1", 0);
    getsockname(evhttp_bound_socket_get_fd(bound), (struct sockaddr *)&address, &length);
    r->port = ntohs(address.sin_port);
}

static struct mon_otlp *start_export(const struct receiver *r, size_t max_queue, int timeout_ms)
{
    static char endpoint[64];
    struct mon_otlp *otlp = NULL;
    char error[256];
    snprintf(endpoint, sizeof(endpoint), "http://127.0.0.1:%d/", r->port);
    struct mon_otlp_options options = {.endpoint = endpoint,
                                       .headers = "x-token=abc, x-other=1",
                                       .timeout_ms = timeout_ms,
                                       .max_queue = max_queue,
                                       .retry_ms = 5};
    assert_int_equal(mon_otlp_open(r->base, &options, &otlp, error, sizeof(error)), 0);
    return otlp;
}

/* Runs the loop until the condition holds; fails after ten seconds. */
#define RUN_UNTIL(base, condition)                                                                                     \
    do {                                                                                                               \
        uint64_t deadline_ns = ms_clock_raw_ns() + 10000000000u;                                                       \
        while (!(condition)) {                                                                                         \
            assert_true(ms_clock_raw_ns() < deadline_ns);                                                              \
            event_base_loop(base, EVLOOP_NONBLOCK);                                                                    \
            usleep(500);                                                                                               \
        }                                                                                                              \
    } while (0)

static void finish(struct receiver *r, struct mon_otlp *otlp)
{
    mon_otlp_close(otlp);
    evhttp_free(r->http);
    event_base_free(r->base);
}

static void otlp_arrives(void **state)
{
    struct receiver r = {.good_after = 0, .answer = "{\"partialSuccess\":{\"rejectedDataPoints\":\"3\"}}"};
    start_receiver(&r);
    struct mon_otlp *otlp = start_export(&r, 10, 5000);
    for (int i = 0; i < 3; i++) {
        mon_otlp_export(otlp, "dynolog", "1");
        RUN_UNTIL(r.base, mon_otlp_waiting(otlp) == 0);
    }
    assert_int_equal(r.requests, 3);
    assert_string_equal(r.path, "/v1/metrics");
    assert_string_equal(r.header, "abc");
    assert_true(lost("otlp", "rejected_points") == 9);
    finish(&r, otlp);
}

static void otlp_retries(void **state)
{
    struct receiver r = {.code = 503, .good_after = 3};
    start_receiver(&r);
    struct mon_otlp *otlp = start_export(&r, 10, 5000);
    mon_otlp_export(otlp, "dynolog", "1");
    RUN_UNTIL(r.base, mon_otlp_waiting(otlp) == 0);
    assert_int_equal(r.requests, 4);
    assert_true(lost("otlp", "retries") == 0);
    r.good_after = -1; /* never again: given up after five attempts */
    mon_otlp_export(otlp, "dynolog", "1");
    RUN_UNTIL(r.base, mon_otlp_waiting(otlp) == 0);
    assert_int_equal(r.requests, 9);
    assert_true(lost("otlp", "retries") == 1);
    r.code = 400; /* not retried */
    mon_otlp_export(otlp, "dynolog", "1");
    RUN_UNTIL(r.base, mon_otlp_waiting(otlp) == 0);
    assert_int_equal(r.requests, 10);
    assert_true(lost("otlp", "refused") == 1);
    finish(&r, otlp);
}

static void otlp_silent_receiver(void **state)
{
    struct receiver r = {.code = 0, .good_after = -1};
    start_receiver(&r);
    struct mon_otlp *otlp = start_export(&r, 3, 50);
    for (int i = 0; i < 10; i++) {
        mon_otlp_export(otlp, "dynolog", "1");
        event_base_loop(r.base, EVLOOP_NONBLOCK);
    }
    assert_true(mon_otlp_waiting(otlp) <= 3);
    assert_true(lost("otlp", "full") >= 6);
    RUN_UNTIL(r.base, r.requests >= 2); /* the request timed out and was retried */
    r.good_after = 0;
    RUN_UNTIL(r.base, mon_otlp_waiting(otlp) == 0);
    finish(&r, otlp);
}

static void otlp_no_receiver(void **state)
{
    struct receiver r = {.good_after = 0};
    start_receiver(&r);
    struct mon_otlp *otlp = start_export(&r, 3, 1000);
    evhttp_free(r.http); /* nothing listens there any more */
    mon_otlp_export(otlp, "dynolog", "1");
    RUN_UNTIL(r.base, lost("otlp", "retries") == 1);
    mon_otlp_export(otlp, "dynolog", "1");
    mon_otlp_close(otlp);
    assert_true(lost("otlp", "end") == 1);
    event_base_free(r.base);
}

static void otlp_options(void **state)
{
    static const char *const endpoints[] = {"", "localhost:4318", "ftp://x/", "http://", "http:///v1/metrics", "::::"};
    struct event_base *base = event_base_new();
    struct mon_otlp *otlp = NULL;
    char error[256];
    for (size_t i = 0; i < MS_COUNT_OF(endpoints); i++) {
        struct mon_otlp_options options = {.endpoint = endpoints[i], .timeout_ms = 1, .max_queue = 1};
        assert_int_equal(mon_otlp_open(base, &options, &otlp, error, sizeof(error)), -EINVAL);
        assert_non_null(strstr(error, "http://HOST:PORT"));
    }
    static const char *const headers[] = {"novalue", "=x", "a b=c", "a=b\r\nEvil: 1", "a:=b"};
    for (size_t i = 0; i < MS_COUNT_OF(headers); i++) {
        struct mon_otlp_options options = {.endpoint = "http://[::1]:1", .headers = headers[i], .max_queue = 1};
        assert_int_equal(mon_otlp_open(base, &options, &otlp, error, sizeof(error)), -EINVAL);
    }
    struct mon_otlp_options options = {.endpoint = "https://x:1", .ca_file = "/not/there", .max_queue = 1};
    assert_int_equal(mon_otlp_open(base, &options, &otlp, error, sizeof(error)), -EINVAL);
    assert_non_null(strstr(error, "/not/there"));
    event_base_free(base);
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(queue_bounds, begin, end),
        cmocka_unit_test_setup_teardown(queue_between_threads, begin, end),
        cmocka_unit_test_setup_teardown(event_files, begin, end),
        cmocka_unit_test_setup_teardown(event_files_rotate, begin, end),
        cmocka_unit_test_setup_teardown(event_files_that_cannot_be_written, begin, end),
        cmocka_unit_test_setup_teardown(slow_disk, begin, end),
        cmocka_unit_test_setup_teardown(otlp_arrives, begin, end),
        cmocka_unit_test_setup_teardown(otlp_retries, begin, end),
        cmocka_unit_test_setup_teardown(otlp_silent_receiver, begin, end),
        cmocka_unit_test_setup_teardown(otlp_no_receiver, begin, end),
        cmocka_unit_test_setup_teardown(otlp_options, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
