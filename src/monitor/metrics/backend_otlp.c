/* SPDX-License-Identifier: Apache-2.0 */
/* Export by OTLP over HTTP.
 *
 * A snapshot of the store becomes one or more requests in a queue; one request is in flight at a time. If the receiver
 * is slow, down or overloaded, the queue grows to its limits (requests and bytes), and then the oldest request is
 * dropped: the newest state is the most useful, and totals are cumulative. A request is tried MAX_TRIES times with
 * growing delays for errors that the protocol defines as retryable; other errors drop it at once. Dropped requests are
 * counted by reason.
 *
 * Used only by the event loop thread. libevent resolves names asynchronously. A connection is reused until it fails or
 * is closed; the next request then opens a new one. */
#include "monitor/metrics/backend_otlp.h"

#include "base/clock.h"
#include "base/macros.h"
#include "base/parse.h"
#include "monitor/metrics/modules.h"
#include "monitor/metrics/otlp_json.h"
#include "monitor/store/series.h"

#include <arpa/inet.h>
#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <event2/dns.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <jansson.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/queue.h>

#define QUEUE_MAX_B  (32u << 20)
#define MAX_TRIES    5
#define RETRY_MAX_MS 30000
#define ANSWER_MAX_B 65536
#define DEFAULT_PATH "/v1/metrics"

struct otlp_request {
    struct otlp_request *next;
    char *body;
    size_t size_b;
};

struct mon_otlp {
    struct event_base *base;
    struct evdns_base *names;
    SSL_CTX *tls; /* NULL: http */
    char *host, *path, *host_header;
    uint16_t port;
    struct evkeyvalq headers;
    int timeout_ms, first_retry_ms;
    size_t max_queue;

    struct evhttp_connection *connection;
    bool broken;            /* the connection must not be used again */
    bool in_flight;         /* the first request of the queue is in flight */
    unsigned tries;         /* for the first request */
    int retry_ms;           /* next delay */
    struct event *next_try; /* also defers work from connection callbacks until the connection may be changed */
    struct otlp_request *first, **last;
    size_t length, bytes;
};

static struct mon_log_limit problems; /* one rate limit for all kinds of problems */

static void dropped(const char *reason, double count)
{
    mon_metric_record(MON_METRIC_BACKEND_DROPPED, MON_LABELS(.sink = "otlp", .reason = reason), count);
}

static void show_length(const struct mon_otlp *otlp)
{
    mon_metric_record(MON_METRIC_BACKEND_QUEUE, MON_LABELS(.sink = "otlp"), (double)otlp->length);
}

/* ---- the queue ---- */

static void remove_request(struct mon_otlp *otlp, struct otlp_request **at)
{
    struct otlp_request *gone = *at;
    *at = gone->next;
    if (otlp->last == &gone->next) {
        otlp->last = at;
    }
    otlp->length--;
    otlp->bytes -= gone->size_b;
    free(gone->body);
    free(gone);
}

static void put_request(void *context, struct ms_buffer *body)
{
    struct mon_otlp *otlp = context;
    struct otlp_request *request = calloc(1, sizeof(*request));
    if (request == NULL || body->used > QUEUE_MAX_B) {
        free(request);
        dropped("memory", 1);
        return;
    }
    request->body = body->s;
    request->size_b = body->used;
    *body = (struct ms_buffer){0};
    *otlp->last = request;
    otlp->last = &request->next;
    otlp->length++;
    otlp->bytes += request->size_b;
    while (otlp->length > otlp->max_queue || otlp->bytes > QUEUE_MAX_B) {
        /* The request in flight stays: the connection already has its bytes. */
        struct otlp_request **oldest = otlp->in_flight && otlp->first->next != NULL ? &otlp->first->next : &otlp->first;
        if (otlp->in_flight && *oldest == otlp->first) {
            break;
        }
        remove_request(otlp, oldest);
        otlp->tries = otlp->in_flight ? otlp->tries : 0;
        dropped("full", 1);
    }
}

/* ---- one request ---- */

static void try_after(struct mon_otlp *otlp, int pause_ms)
{
    struct timeval pause = {.tv_sec = pause_ms / 1000, .tv_usec = pause_ms % 1000 * 1000};
    event_add(otlp->next_try, &pause);
}

static void finish(struct mon_otlp *otlp, const char *reason)
{
    remove_request(otlp, &otlp->first);
    otlp->tries = 0;
    otlp->retry_ms = otlp->first_retry_ms;
    if (reason != NULL) {
        dropped(reason, 1);
    }
    show_length(otlp);
    if (otlp->first != NULL) {
        try_after(otlp, 0);
    }
}

static void retry(struct mon_otlp *otlp, const char *why, int at_least_ms)
{
    if (mon_log_allowed(&problems, __FILE__, __LINE__)) {
        MON_LOG_WARNING("OTLP: %s port %u: %s; attempt %u of %d, %zu requests queued", otlp->host, otlp->port, why,
                        otlp->tries, MAX_TRIES, otlp->length);
    }
    if (otlp->tries >= MAX_TRIES) {
        finish(otlp, "retries");
        /* The receiver is down: delay the next request too. */
        try_after(otlp, RETRY_MAX_MS < otlp->first_retry_ms * 16 ? RETRY_MAX_MS : otlp->first_retry_ms * 16);
        return;
    }
    try_after(otlp, otlp->retry_ms > at_least_ms ? otlp->retry_ms : at_least_ms);
    otlp->retry_ms = otlp->retry_ms * 2 < RETRY_MAX_MS ? otlp->retry_ms * 2 : RETRY_MAX_MS;
}

/* The number of points that the receiver rejected in an accepted request. */
static double rejected_points(struct evhttp_request *answer)
{
    struct evbuffer *body = evhttp_request_get_input_buffer(answer);
    size_t size_b = evbuffer_get_length(body);
    const char *text = size_b != 0 ? (const char *)evbuffer_pullup(body, -1) : NULL;
    json_t *object = text != NULL ? json_loadb(text, size_b, 0, NULL) : NULL;
    const json_t *count = json_object_get(json_object_get(object, "partialSuccess"), "rejectedDataPoints");
    double points = json_is_string(count) ? strtod(json_string_value(count), NULL) : json_number_value(count);
    json_decref(object);
    return points > 0 && points < 1e18 ? points : 0;
}

static void answered(struct evhttp_request *answer, void *context)
{
    struct mon_otlp *otlp = context;
    int code = answer != NULL ? evhttp_request_get_response_code(answer) : 0;
    char why[64];
    otlp->in_flight = false;
    if (code >= 200 && code < 300) {
        double points = rejected_points(answer);
        if (points > 0) {
            dropped("rejected_points", points);
        }
        finish(otlp, NULL);
        return;
    }
    if (code == 0) {
        otlp->broken = true;
        retry(otlp, "no answer", 0);
        return;
    }
    snprintf(why, sizeof(why), "status %d", code);
    if (code == 429 || code == 502 || code == 503 || code == 504) {
        uint64_t seconds = 0;
        const char *after = evhttp_find_header(evhttp_request_get_input_headers(answer), "Retry-After");
        if (after != NULL) {
            ms_parse_u64(after, 0, RETRY_MAX_MS / 1000, &seconds);
        }
        retry(otlp, why, (int)seconds * 1000);
        return;
    }
    if (mon_log_allowed(&problems, __FILE__, __LINE__)) {
        MON_LOG_WARNING("OTLP: %s port %u refused a request: %s (--otlp_endpoint, --otlp_headers)", otlp->host,
                        otlp->port, why);
    }
    finish(otlp, "refused");
}

static void connection_closed(struct evhttp_connection *connection, void *context)
{
    ((struct mon_otlp *)context)->broken = true;
}

static struct bufferevent *tls_stream(struct mon_otlp *otlp)
{
    SSL *ssl = SSL_new(otlp->tls);
    unsigned char address[16];
    if (ssl == NULL) {
        return NULL;
    }
    bool numeric = inet_pton(AF_INET, otlp->host, address) == 1 || inet_pton(AF_INET6, otlp->host, address) == 1;
    if (numeric) {
        X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), otlp->host);
    } else {
        SSL_set_tlsext_host_name(ssl, otlp->host);
        SSL_set1_host(ssl, otlp->host);
    }
    struct bufferevent *stream = bufferevent_openssl_socket_new(otlp->base, -1, ssl, BUFFEREVENT_SSL_CONNECTING,
                                                                BEV_OPT_CLOSE_ON_FREE | BEV_OPT_DEFER_CALLBACKS);
    if (stream == NULL) {
        SSL_free(ssl);
        return NULL;
    }
    bufferevent_openssl_set_allow_dirty_shutdown(stream, 1);
    return stream;
}

static bool reconnect(struct mon_otlp *otlp)
{
    if (otlp->connection != NULL) {
        evhttp_connection_set_closecb(otlp->connection, NULL, NULL);
        evhttp_connection_free(otlp->connection);
        otlp->connection = NULL;
    }
    struct bufferevent *stream = otlp->tls != NULL ? tls_stream(otlp) : NULL;
    if (otlp->tls != NULL && stream == NULL) {
        return false;
    }
    if (otlp->names == NULL) {
        otlp->names = evdns_base_new(otlp->base, EVDNS_BASE_INITIALIZE_NAMESERVERS | EVDNS_BASE_DISABLE_WHEN_INACTIVE);
    }
    otlp->connection = evhttp_connection_base_bufferevent_new(otlp->base, otlp->names, stream, otlp->host, otlp->port);
    if (otlp->connection == NULL) {
        if (stream != NULL) {
            bufferevent_free(stream);
        }
        return false;
    }
    struct timeval limit = {.tv_sec = otlp->timeout_ms / 1000, .tv_usec = otlp->timeout_ms % 1000 * 1000};
    evhttp_connection_set_timeout_tv(otlp->connection, &limit);
    evhttp_connection_set_max_body_size(otlp->connection, ANSWER_MAX_B);
    evhttp_connection_set_max_headers_size(otlp->connection, ANSWER_MAX_B);
    evhttp_connection_set_closecb(otlp->connection, connection_closed, otlp);
    otlp->broken = false;
    return true;
}

static void send_first(evutil_socket_t fd, short what, void *context)
{
    struct mon_otlp *otlp = context;
    if (otlp->first == NULL || otlp->in_flight) {
        return;
    }
    otlp->tries++;
    if ((otlp->connection == NULL || otlp->broken) && !reconnect(otlp)) {
        retry(otlp, "no memory for a connection", 0);
        return;
    }
    struct evhttp_request *request = evhttp_request_new(answered, otlp);
    if (request == NULL) {
        retry(otlp, "no memory for a request", 0);
        return;
    }
    struct evkeyvalq *headers = evhttp_request_get_output_headers(request);
    evhttp_add_header(headers, "Host", otlp->host_header);
    evhttp_add_header(headers, "Content-Type", "application/json");
    evhttp_add_header(headers, "User-Agent", "dynolog/" MON_DAEMON_VERSION);
    for (const struct evkeyval *pair = otlp->headers.tqh_first; pair != NULL; pair = pair->next.tqe_next) {
        evhttp_add_header(headers, pair->key, pair->value);
    }
    evbuffer_add(evhttp_request_get_output_buffer(request), otlp->first->body, otlp->first->size_b);
    otlp->in_flight = true;
    if (evhttp_make_request(otlp->connection, request, EVHTTP_REQ_POST, otlp->path) != 0) {
        otlp->in_flight = false;
        otlp->broken = true;
        retry(otlp, "could not send the request", 0);
    }
}

/* ---- options ---- */

static int read_endpoint(struct mon_otlp *otlp, const char *endpoint, bool *secure, char *error, size_t error_b)
{
    struct evhttp_uri *uri = evhttp_uri_parse(endpoint);
    const char *scheme = uri != NULL ? evhttp_uri_get_scheme(uri) : NULL;
    const char *host = uri != NULL ? evhttp_uri_get_host(uri) : NULL;
    int rc = -EINVAL;
    if (scheme == NULL || host == NULL || host[0] == '\0' ||
        (strcasecmp(scheme, "http") != 0 && strcasecmp(scheme, "https") != 0)) {
        snprintf(error, error_b, "'%s' is not of the form http://HOST:PORT or https://HOST:PORT", endpoint);
        goto out;
    }
    *secure = strcasecmp(scheme, "https") == 0;
    int port = evhttp_uri_get_port(uri);
    otlp->port = (uint16_t)(port > 0 ? port : *secure ? 443 : 80);
    /* The header needs the brackets around an IPv6 address, the resolver must not get them. */
    size_t length = strlen(host);
    otlp->host = host[0] == '[' && host[length - 1] == ']' ? strndup(host + 1, length - 2) : strdup(host);
    if (asprintf(&otlp->host_header, port > 0 ? "%s:%d" : "%s", host, port) < 0) {
        otlp->host_header = NULL;
    }
    const char *path = evhttp_uri_get_path(uri);
    length = path != NULL ? strlen(path) : 0;
    while (length > 0 && path[length - 1] == '/') {
        length--;
    }
    bool complete = length >= sizeof(DEFAULT_PATH) - 1 &&
                    strncmp(path + length - (sizeof(DEFAULT_PATH) - 1), DEFAULT_PATH, sizeof(DEFAULT_PATH) - 1) == 0;
    if (asprintf(&otlp->path, "%.*s%s", (int)length, path != NULL ? path : "", complete ? "" : DEFAULT_PATH) < 0) {
        otlp->path = NULL;
    }
    rc = otlp->host != NULL && otlp->host_header != NULL && otlp->path != NULL ? 0 : -ENOMEM;
out:
    if (uri != NULL) {
        evhttp_uri_free(uri);
    }
    return rc;
}

static int read_headers(struct mon_otlp *otlp, const char *text, char *error, size_t error_b)
{
    char *copy = strdup(text), *rest = copy;
    int rc = copy != NULL ? 0 : -ENOMEM;
    for (char *pair; rc == 0 && (pair = strsep(&rest, ",")) != NULL;) {
        pair += strspn(pair, " ");
        char *value = strchr(pair, '=');
        if (pair[0] == '\0') {
            continue;
        }
        if (value == NULL || value == pair) {
            snprintf(error, error_b, "header '%s' is not of the form name=value", pair);
            rc = -EINVAL;
            break;
        }
        *value++ = '\0';
        if (strpbrk(pair, "\r\n: ") != NULL || evhttp_add_header(&otlp->headers, pair, value) != 0) {
            snprintf(error, error_b, "header '%s' contains an invalid character", pair);
            rc = -EINVAL;
        }
    }
    free(copy);
    return rc;
}

static int open_tls(struct mon_otlp *otlp, const struct mon_otlp_options *options, char *error, size_t error_b)
{
    const char *ca = options->ca_file, *certificate = options->certificate_file, *key = options->key_file;
    otlp->tls = SSL_CTX_new(TLS_client_method());
    if (otlp->tls == NULL) {
        return -ENOMEM;
    }
    SSL_CTX_set_min_proto_version(otlp->tls, TLS1_2_VERSION);
    SSL_CTX_set_verify(otlp->tls, SSL_VERIFY_PEER, NULL);
    ERR_clear_error();
    int good = ca != NULL && ca[0] != '\0' ? SSL_CTX_load_verify_locations(otlp->tls, ca, NULL)
                                           : SSL_CTX_set_default_verify_paths(otlp->tls);
    const char *file = ca;
    if (good == 1 && certificate != NULL && certificate[0] != '\0') {
        file = certificate;
        good = SSL_CTX_use_certificate_chain_file(otlp->tls, certificate);
        if (good == 1) {
            file = key != NULL && key[0] != '\0' ? key : certificate;
            good = SSL_CTX_use_PrivateKey_file(otlp->tls, file, SSL_FILETYPE_PEM);
        }
    }
    if (good != 1) {
        snprintf(error, error_b, "'%s': %s", file != NULL ? file : "system certificates",
                 ERR_reason_error_string(ERR_peek_last_error()));
        return -EINVAL;
    }
    return 0;
}

int mon_otlp_open(struct event_base *base, const struct mon_otlp_options *options, struct mon_otlp **out, char *error,
                  size_t error_b)
{
    struct mon_otlp *otlp = calloc(1, sizeof(*otlp));
    bool secure = false;
    if (otlp == NULL) {
        return -ENOMEM;
    }
    snprintf(error, error_b, "out of memory");
    TAILQ_INIT(&otlp->headers);
    otlp->base = base;
    otlp->last = &otlp->first;
    otlp->timeout_ms = options->timeout_ms;
    otlp->max_queue = options->max_queue;
    otlp->first_retry_ms = otlp->retry_ms = options->retry_ms > 0 ? options->retry_ms : 1000;
    otlp->next_try = evtimer_new(base, send_first, otlp);
    int rc = otlp->next_try != NULL ? read_endpoint(otlp, options->endpoint, &secure, error, error_b) : -ENOMEM;
    if (rc == 0 && options->headers != NULL) {
        rc = read_headers(otlp, options->headers, error, error_b);
    }
    if (rc == 0 && secure) {
        rc = open_tls(otlp, options, error, error_b);
    }
    if (rc != 0) {
        mon_otlp_close(otlp);
        return rc;
    }
    *out = otlp;
    return 0;
}

void mon_otlp_close(struct mon_otlp *otlp)
{
    if (otlp->length != 0) {
        dropped("end", (double)otlp->length);
    }
    if (otlp->connection != NULL) {
        evhttp_connection_set_closecb(otlp->connection, NULL, NULL);
        evhttp_connection_free(otlp->connection); /* calls answered() for the request in flight */
    }
    while (otlp->first != NULL) {
        remove_request(otlp, &otlp->first);
    }
    if (otlp->next_try != NULL) {
        event_free(otlp->next_try);
    }
    if (otlp->names != NULL) {
        evdns_base_free(otlp->names, 0);
    }
    evhttp_clear_headers(&otlp->headers);
    SSL_CTX_free(otlp->tls);
    free(otlp->host);
    free(otlp->host_header);
    free(otlp->path);
    free(otlp);
}

void mon_otlp_export(struct mon_otlp *otlp, const char *service, const char *version)
{
    struct mon_otlp_source source = {service, version, ms_clock_ns(CLOCK_REALTIME)};
    size_t before = otlp->length;
    if (mon_otlp_json(&source, put_request, otlp) < 0) {
        dropped("memory", 1);
    }
    mon_metric_record(MON_METRIC_BACKEND_RECORDS, MON_LABELS(.sink = "otlp"), 1);
    show_length(otlp);
    if (before == 0 && otlp->first != NULL && !otlp->in_flight && !evtimer_pending(otlp->next_try, NULL)) {
        try_after(otlp, 0);
    }
}

size_t mon_otlp_waiting(const struct mon_otlp *otlp)
{
    return otlp->length;
}

/* ---- as a module ---- */

static struct mon_otlp *backend;
static struct event *timer;
static const char *service_name;

static void export_now(evutil_socket_t fd, short what, void *context)
{
    mon_otlp_export(backend, service_name, MON_DAEMON_VERSION);
}

static const char *from_environment(const char *variable, const char *flag)
{
    const char *value = getenv(variable);
    return value != NULL && value[0] != '\0' ? value : flag;
}

static int start(struct mon_daemon *daemon)
{
    const struct mon_flags *flags = &daemon->flags;
    char error[256];
    if (!flags->use_otlp) {
        return 0;
    }
    struct mon_otlp_options options = {
        .endpoint = from_environment("OTEL_EXPORTER_OTLP_ENDPOINT", flags->otlp_endpoint),
        .headers = flags->otlp_headers,
        .ca_file = flags->otlp_ssl_ca_cert_path,
        .certificate_file = flags->otlp_ssl_client_cert_path,
        .key_file = flags->otlp_ssl_client_key_path,
        .timeout_ms = flags->otlp_timeout_ms,
        .max_queue = (size_t)flags->otlp_max_queue_size,
    };
    int rc = mon_otlp_open(daemon->base, &options, &backend, error, sizeof(error));
    if (rc != 0) {
        MON_LOG_ERROR("OTLP: %s (--otlp_endpoint, --otlp_headers, --otlp_ssl_...)", error);
        return rc;
    }
    service_name = from_environment("OTEL_SERVICE_NAME", flags->otlp_service_name);
    timer = mon_timer_start(daemon, flags->otlp_interval_s, export_now, NULL);
    if (timer == NULL) {
        mon_otlp_close(backend);
        backend = NULL;
        return -ENOMEM;
    }
    MON_LOG_INFO("OTLP: exporting to %s every %d s", options.endpoint, (int)flags->otlp_interval_s);
    return 0;
}

static void stop(struct mon_daemon *daemon)
{
    if (backend != NULL) {
        event_free(timer);
        mon_otlp_close(backend);
        timer = NULL;
        backend = NULL;
    }
}

const struct mon_daemon_module mon_module_otlp = {.name = "OTLP", .start = start, .stop = stop};
