/* SPDX-License-Identifier: Apache-2.0 */
/* The /metrics pages of many daemons, served by one process; for scripts/simulate-cluster.
 *
 * Node i answers on 127.1.H.L, where H and L are the bytes of i + 1, all on one port, with the pages of a real store:
 * the metrics of a daemon on a node with NPUS devices and as many ranks, with values that change every second. The
 * daemon's own code generates the pages; only the host name, which has a fixed width, is replaced per node.
 *
 * usage: cluster_nodes NODES PORT [NPUS [OPERATORS]]      prints "ready" when all nodes listen */
#include "base/macros.h"
#include "monitor/metrics/text_format.h"
#include "monitor/store/series.h"

#include <arpa/inet.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define HOST "node00000"

static unsigned npus = 8, operators = 32;
static unsigned long second; /* since the start; pages are regenerated when it changes */
static struct page {
    uint32_t groups;
    unsigned long second;
    struct ms_buffer text;
} pages[8];

static double noise(double range)
{
    return range * ((double)rand() / RAND_MAX);
}

static void move_device(const char *device)
{
    static const enum mon_metric gauges[] = {MON_METRIC_NPU_HEALTH,           MON_METRIC_NPU_ERRORS,
                                             MON_METRIC_NPU_TEMPERATURE,      MON_METRIC_NPU_POWER,
                                             MON_METRIC_NPU_VOLTAGE,          MON_METRIC_NPU_FREQUENCY,
                                             MON_METRIC_NPU_MEMORY,           MON_METRIC_NPU_MEMORY_USED,
                                             MON_METRIC_NPU_MEMORY_FREQUENCY, MON_METRIC_NPU_MEMORY_TEMPERATURE,
                                             MON_METRIC_NPU_MEMORY_BANDWIDTH};
    static const char *const units[] = {"aicore", "hbm", "vector", "overall", "cube"};
    for (size_t i = 0; i < MS_COUNT_OF(gauges); i++) {
        mon_metric_record(gauges[i], MON_LABELS(.device = device), i < 2 ? 0 : 50 + noise(10));
    }
    for (size_t i = 0; i < MS_COUNT_OF(units); i++) {
        mon_metric_record(MON_METRIC_NPU_UTILIZATION, MON_LABELS(.device = device, .unit = units[i]), noise(1));
    }
}

static void move_rank(const char *number)
{
    static const char *const kinds[] = {"Kernel", "Communication", "API", "Marker"};
    static const enum mon_metric gauges[] = {MON_METRIC_PROCESS_RESIDENT, MON_METRIC_PROCESS_VIRTUAL,
                                             MON_METRIC_PROCESS_THREADS};
    const union mon_labels *process = MON_LABELS(.job = "123456", .rank = number, .device = number, .pid = number);
    mon_metric_record(MON_METRIC_PROCESS_CPU, process, noise(2));
    mon_metric_record(MON_METRIC_NPU_PROCESS_MEMORY, process, 6e10 + noise(1e6));
    for (size_t i = 0; i < MS_COUNT_OF(gauges); i++) {
        mon_metric_record(gauges[i], process, 1e9 + noise(1e6));
    }
    for (size_t i = 0; i < MS_COUNT_OF(kinds); i++) {
        const union mon_labels *kind = MON_LABELS(.job = "123456", .rank = number, .device = number, .kind = kinds[i]);
        mon_metric_record(MON_METRIC_ACTIVITY_TIME, kind, noise(1));
        mon_metric_record(MON_METRIC_ACTIVITY_REPORTS, kind, 1);
        mon_metric_record(MON_METRIC_ACTIVITY_LAST, kind, noise(1));
    }
    for (unsigned i = 0; i < operators / npus; i++) {
        char name[32];
        snprintf(name, sizeof(name), "aclnnOperator%u_Kernel", i);
        const union mon_labels *op =
            MON_LABELS(.job = "123456", .rank = number, .device = number, .kind = "Kernel", .name = name);
        mon_metric_record(MON_METRIC_OPERATOR, op, 1e-5 + noise(1e-3));
        mon_metric_record(MON_METRIC_OPERATOR_MIN, op, 1e-5);
        mon_metric_record(MON_METRIC_OPERATOR_MAX, op, 1e-3 + noise(1e-3));
    }
}

static void move_all(evutil_socket_t fd, short what, void *context)
{
    static const char *const modes[] = {"user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"};
    static const char *const nets[] = {"lo", "eth0", "bond0", "hccn0"};
    static const char *const kinds[] = {"ctxt", "req", "npuTraceStatus", "npuMonitorStatus", "data", "npuOpStats"};
    second++;
    for (unsigned i = 0; i < npus; i++) {
        char number[16];
        snprintf(number, sizeof(number), "%u", i);
        move_device(number);
        move_rank(number);
    }
    for (size_t i = 0; i < MS_COUNT_OF(modes); i++) {
        mon_metric_record(MON_METRIC_HOST_CPU, MON_LABELS(.mode = modes[i]), noise(1));
    }
    for (size_t i = 0; i < MS_COUNT_OF(nets); i++) {
        for (int metric = MON_METRIC_HOST_RX_BYTES; metric <= MON_METRIC_HOST_TX_DROPS; metric++) {
            mon_metric_record((enum mon_metric)metric, MON_LABELS(.net = nets[i]), noise(1e5));
        }
    }
    for (size_t i = 0; i < MS_COUNT_OF(kinds); i++) {
        mon_metric_record(MON_METRIC_IPC_MESSAGES, MON_LABELS(.kind = kinds[i]), noise(20));
    }
    mon_metric_record(MON_METRIC_HOST_UPTIME, NULL, (double)second);
    mon_metric_record(MON_METRIC_BUILD_INFO, MON_LABELS(.version = "0.1.0"), 1);
    mon_metric_record(MON_METRIC_PROCESSES, MON_LABELS(.job = "123456"), npus);
}

static const struct ms_buffer *page_of(uint32_t groups)
{
    struct page *page = pages;
    while (page->groups != groups && page->groups != 0 && page + 1 < pages + MS_COUNT_OF(pages)) {
        page++;
    }
    if (page->groups != groups || page->second != second) {
        page->groups = groups;
        page->second = second;
        page->text.used = 0;
        mon_text_format(groups, &page->text);
    }
    return &page->text;
}

static uint32_t groups_of(struct evhttp_request *request)
{
    struct evkeyvalq parameters;
    uint32_t groups = 0;
    const char *query = evhttp_uri_get_query(evhttp_request_get_evhttp_uri(request));
    if (query != NULL && evhttp_parse_query_str(query, &parameters) == 0) {
        for (const struct evkeyval *pair = parameters.tqh_first; pair != NULL; pair = pair->next.tqe_next) {
            for (unsigned i = 0; i < MON_METRIC_GROUPS; i++) {
                groups |= strcmp(mon_group_info[i].name, pair->value) == 0 ? 1u << i : 0;
            }
        }
        evhttp_clear_headers(&parameters);
    }
    return groups != 0 ? groups : MON_ALL_GROUPS;
}

static void sent(const void *data, size_t size_b, void *copy)
{
    free(copy);
}

static void answer(struct evhttp_request *request, void *context)
{
    struct sockaddr_in here;
    socklen_t length = sizeof(here);
    evutil_socket_t fd = bufferevent_getfd(evhttp_connection_get_bufferevent(evhttp_request_get_connection(request)));
    getsockname(fd, (struct sockaddr *)&here, &length);
    char host[sizeof(HOST)];
    snprintf(host, sizeof(host), "node%05u", (unsigned)(ntohl(here.sin_addr.s_addr) & 0xffff));
    const struct ms_buffer *page = page_of(groups_of(request));
    char *copy = malloc(page->used);
    if (copy == NULL) {
        evhttp_send_error(request, HTTP_SERVUNAVAIL, "out of memory");
        return;
    }
    memcpy(copy, page->s, page->used);
    for (char *at = copy, *end = copy + page->used;
         (at = memmem(at, (size_t)(end - at), HOST, sizeof(HOST) - 1)) != NULL; at += sizeof(HOST) - 1) {
        memcpy(at, host, sizeof(HOST) - 1);
    }
    evbuffer_add_reference(evhttp_request_get_output_buffer(request), copy, page->used, sent, copy);
    evhttp_add_header(evhttp_request_get_output_headers(request), "Content-Type", "text/plain; version=0.0.4");
    evhttp_send_reply(request, HTTP_OK, "OK", NULL);
}

int main(int argc, char **argv)
{
    unsigned nodes = argc > 2 ? (unsigned)strtoul(argv[1], NULL, 10) : 0;
    if (nodes == 0 || nodes > 20000) {
        fputs("usage: cluster_nodes NODES PORT [NPUS [OPERATORS]]\n", stderr);
        return 2;
    }
    uint16_t port = (uint16_t)strtoul(argv[2], NULL, 10);
    npus = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : npus;
    operators = argc > 4 ? (unsigned)strtoul(argv[4], NULL, 10) : operators;
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    signal(SIGPIPE, SIG_IGN);
    struct event_base *base = event_base_new();
    struct evhttp *http = evhttp_new(base);
    if (mon_metrics_open(HOST, 1000000) != 0 || npus == 0 || http == NULL) {
        return 1;
    }
    evhttp_set_gencb(http, answer, NULL);
    for (unsigned i = 1; i <= nodes; i++) {
        char address[32];
        snprintf(address, sizeof(address), "127.1.%u.%u", i >> 8, i & 0xff);
        if (evhttp_bind_socket(http, address, port) != 0) {
            fprintf(stderr, "cluster_nodes: cannot listen on %s port %u\n", address, port);
            return 1;
        }
    }
    move_all(-1, 0, NULL);
    struct timeval every = {.tv_sec = 1};
    event_add(event_new(base, -1, EV_PERSIST, move_all, NULL), &every);
    puts("ready");
    fflush(stdout);
    return event_base_dispatch(base);
}
