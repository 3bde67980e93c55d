/* SPDX-License-Identifier: Apache-2.0 */
/* The Prometheus exporter (--use_prometheus): GET /metrics, GET /metrics?collect[]=npu&collect[]=host ...
 *
 * A page is generated at most every PAGE_FRESH_NS for the same groups and shared by all connections that request it
 * meanwhile, so a flood of scrapes costs little time and memory. A connection that is idle for TIMEOUT_S is closed.
 * Used only by the event loop thread. */
#include "base/clock.h"
#include "base/macros.h"
#include "monitor/metrics/modules.h"
#include "monitor/metrics/text_format.h"
#include "monitor/store/series.h"

#include <arpa/inet.h>
#include <errno.h>
#include <event2/buffer.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>

#define TIMEOUT_S     10
#define PAGE_FRESH_NS UINT64_C(100000000)
#define HEADERS_MAX_B 16384
#define BODY_MAX_B    1024

struct page {
    unsigned users; /* references: evbuffers and `newest` */
    uint32_t groups;
    uint64_t made_ns;
    struct ms_buffer text;
};

static struct evhttp *server;
static struct page *newest;

static void release(struct page *page)
{
    if (page != NULL && --page->users == 0) {
        ms_buffer_free(&page->text);
        free(page);
    }
}

static void written(const void *data, size_t length, void *page)
{
    release(page);
}

static struct page *fresh_page(uint32_t groups)
{
    uint64_t now_ns = ms_clock_ns(CLOCK_MONOTONIC);
    if (newest != NULL && newest->groups == groups && now_ns - newest->made_ns < PAGE_FRESH_NS) {
        return newest;
    }
    struct page *page = calloc(1, sizeof(*page));
    if (page == NULL) {
        return NULL;
    }
    page->groups = groups;
    page->made_ns = now_ns;
    mon_metric_record(MON_METRIC_SERIES, MON_NO_LABELS, (double)mon_metrics_series());
    mon_text_format(groups, &page->text);
    if (page->text.failed) {
        ms_buffer_free(&page->text);
        free(page);
        return NULL;
    }
    page->users = 1;
    release(newest);
    newest = page;
    return page;
}

/* Parses the groups of a query; all without a collect[]. False: an unknown group. */
static bool wanted_groups(const char *query, uint32_t *groups)
{
    struct evkeyvalq parameters;
    *groups = MON_ALL_GROUPS;
    if (query == NULL) {
        return true;
    }
    if (evhttp_parse_query_str(query, &parameters) != 0) {
        return false;
    }
    uint32_t chosen = 0;
    bool good = true;
    for (const struct evkeyval *pair = parameters.tqh_first; pair != NULL; pair = pair->next.tqe_next) {
        if (strcmp(pair->key, "collect[]") != 0) {
            continue;
        }
        unsigned group = 0;
        while (group < MON_METRIC_GROUPS && strcmp(mon_group_info[group].name, pair->value) != 0) {
            group++;
        }
        good = good && group < MON_METRIC_GROUPS;
        chosen |= group < MON_METRIC_GROUPS ? 1u << group : 0;
    }
    evhttp_clear_headers(&parameters);
    *groups = chosen != 0 ? chosen : MON_ALL_GROUPS;
    return good;
}

static void serve_metrics(struct evhttp_request *request, void *context)
{
    uint32_t groups;
    if (!wanted_groups(evhttp_uri_get_query(evhttp_request_get_evhttp_uri(request)), &groups)) {
        evhttp_send_error(request, HTTP_BADREQUEST, "collect[] is not a group of metrics");
        return;
    }
    mon_metric_record(MON_METRIC_SCRAPES, MON_NO_LABELS, 1);
    struct page *page = fresh_page(groups);
    struct evbuffer *body = evhttp_request_get_output_buffer(request);
    if (page == NULL || evbuffer_add_reference(body, page->text.s, page->text.used, written, page) != 0) {
        evhttp_send_error(request, HTTP_SERVUNAVAIL, "out of memory");
        return;
    }
    page->users++;
    evhttp_add_header(evhttp_request_get_output_headers(request), "Content-Type",
                      "text/plain; version=0.0.4; charset=utf-8");
    evhttp_send_reply(request, HTTP_OK, "OK", NULL);
}

static void serve_index(struct evhttp_request *request, void *context)
{
    static const char index[] = "<html><head><title>dynolog</title></head>"
                                "<body><a href=\"/metrics\">Metrics</a></body></html>\n";
    if (strcmp(evhttp_uri_get_path(evhttp_request_get_evhttp_uri(request)), "/") != 0) {
        evhttp_send_error(request, HTTP_NOTFOUND, "Not Found");
        return;
    }
    evbuffer_add_reference(evhttp_request_get_output_buffer(request), index, sizeof(index) - 1, NULL, NULL);
    evhttp_add_header(evhttp_request_get_output_headers(request), "Content-Type", "text/html");
    evhttp_send_reply(request, HTTP_OK, "OK", NULL);
}

static int port_of(evutil_socket_t fd)
{
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } address = {.any.sa_family = AF_UNSPEC};
    socklen_t length = sizeof(address);
    if (getsockname(fd, &address.any, &length) != 0) {
        return 0;
    }
    return ntohs(address.any.sa_family == AF_INET6 ? address.v6.sin6_port : address.v4.sin_port);
}

static void stop(struct mon_daemon *daemon)
{
    if (server != NULL) {
        evhttp_free(server);
        server = NULL;
    }
    release(newest);
    newest = NULL;
}

static int start(struct mon_daemon *daemon)
{
    if (!daemon->flags.use_prometheus) {
        return 0;
    }
    const char *address = daemon->flags.prometheus_address;
    server = evhttp_new(daemon->base);
    if (server == NULL) {
        return -ENOMEM;
    }
    evhttp_set_timeout(server, TIMEOUT_S);
    evhttp_set_max_headers_size(server, HEADERS_MAX_B);
    evhttp_set_max_body_size(server, BODY_MAX_B);
    evhttp_set_allowed_methods(server, EVHTTP_REQ_GET | EVHTTP_REQ_HEAD);
    evhttp_set_cb(server, "/metrics", serve_metrics, NULL);
    evhttp_set_gencb(server, serve_index, NULL);
    struct evhttp_bound_socket *bound =
        evhttp_bind_socket_with_handle(server, address, (uint16_t)daemon->flags.prometheus_port);
    if (bound == NULL) {
        int rc = errno != 0 ? -errno : -EADDRNOTAVAIL;
        MON_LOG_ERROR("Prometheus exporter: %s port %d: %s (--prometheus_address, --prometheus_port)", address,
                      (int)daemon->flags.prometheus_port, strerror(-rc));
        stop(daemon);
        return rc;
    }
    MON_LOG_INFO("Prometheus exporter: http://%s:%d/metrics", address, port_of(evhttp_bound_socket_get_fd(bound)));
    return 0;
}

const struct mon_daemon_module mon_module_prometheus = {.name = "Prometheus exporter", .start = start, .stop = stop};
