/* SPDX-License-Identifier: Apache-2.0 */
/* The sockets of the RPC server: addresses, certificates, and the number of connections.
 *
 * Without certificates, any client that reaches the port can make jobs of this node write files. The port is therefore
 * only opened on the loopback addresses, unless --bind_address says otherwise. With certificates it is opened on all
 * addresses, IPv4 and IPv6. The daemon exits if the port is not available, but not if the machine lacks one of the
 * loopback addresses. */
#include "monitor/daemon/rpc_internal.h"

#include "monitor/store/series.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <event2/listener.h>

#define BACKLOG              4096
#define CONNECTIONS_MAX      16384
#define CONNECTIONS_MAX_TLS  4096 /* a handshake needs about 50 KiB */
#define DESCRIPTORS_RESERVED 1024 /* for everything else the daemon opens */
#define SWEEP_MS             250
#define RETRY_MS             100 /* delay after accept ran out of descriptors */

static struct mon_rpc *server;

static void on_accept(struct evconnlistener *listener, evutil_socket_t fd, struct sockaddr *address, int length,
                      void *context)
{
    struct mon_rpc *rpc = context;
    (void)listener;
    (void)length;
    if (rpc->connections >= rpc->connections_max && !mon__rpc_make_room(rpc)) {
        close(fd);
        return;
    }
    mon__rpc_accept(rpc, fd, address);
}

/* Out of descriptors: close one connection and pause the listeners, so that the loop does not spin. */
static void on_accept_error(struct evconnlistener *listener, void *context)
{
    struct mon_rpc *rpc = context;
    (void)listener;
    MON_LOG_LIMITED(MON_LEVEL_ERROR, "RPC: cannot accept a connection: %s", strerror(errno));
    mon__rpc_make_room(rpc);
    for (size_t i = 0; i < rpc->listener_count; i++) {
        evconnlistener_disable(rpc->listeners[i]);
    }
    event_add(rpc->resume, &(struct timeval){0, RETRY_MS * 1000});
}

static void on_resume(evutil_socket_t fd, short what, void *context)
{
    struct mon_rpc *rpc = context;
    (void)fd;
    (void)what;
    for (size_t i = 0; i < rpc->listener_count; i++) {
        evconnlistener_enable(rpc->listeners[i]);
    }
}

static void on_sweep(evutil_socket_t fd, short what, void *context)
{
    (void)fd;
    (void)what;
    mon__rpc_sweep(context);
}

/* ---- listening ---- */

static bool is_loopback(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET6) {
        return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)address)->sin6_addr);
    }
    return ntohl(((const struct sockaddr_in *)address)->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
}

static void set_port(struct sockaddr *address, uint16_t port)
{
    if (address->sa_family == AF_INET6) {
        ((struct sockaddr_in6 *)address)->sin6_port = htons(port);
    } else {
        ((struct sockaddr_in *)address)->sin_port = htons(port);
    }
}

static uint16_t bound_port(int fd)
{
    struct sockaddr_in6 bound = {0}; /* IPv4 has the port at the same offset */
    socklen_t length = sizeof(bound);
    return getsockname(fd, (struct sockaddr *)&bound, &length) == 0 ? ntohs(bound.sin6_port) : 0;
}

_Static_assert(offsetof(struct sockaddr_in, sin_port) == offsetof(struct sockaddr_in6, sin6_port), "see bound_port");

static int listening_socket(const struct sockaddr *address, socklen_t length)
{
    int yes = 1, no = 0;
    int fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return -errno;
    }
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes)); /* connections inherit it */
    if (address->sa_family == AF_INET6) {
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no)); /* accept IPv4 too */
    }
    if (bind(fd, address, length) != 0 || listen(fd, BACKLOG) != 0) {
        int rc = -errno;
        close(fd);
        return rc;
    }
    return fd;
}

/* Listens on one address; if *port is 0, sets it to the port chosen by the kernel. */
static int listen_on(struct mon_rpc *rpc, struct sockaddr *address, socklen_t length, uint16_t *port)
{
    char name[NI_MAXHOST] = "?";
    if (rpc->listener_count == MS_COUNT_OF(rpc->listeners)) {
        return -ENOSPC;
    }
    set_port(address, *port);
    getnameinfo(address, length, name, sizeof(name), NULL, 0, NI_NUMERICHOST);
    int fd = listening_socket(address, length);
    if (fd < 0) {
        return fd;
    }
    /* Backlog 0: the socket already listens; any other value would call listen() again. */
    struct evconnlistener *listener =
        evconnlistener_new(rpc->daemon->base, on_accept, rpc, LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, 0, fd);
    if (listener == NULL) {
        close(fd);
        return -ENOMEM;
    }
    evconnlistener_set_error_cb(listener, on_accept_error);
    rpc->listeners[rpc->listener_count++] = listener;
    *port = bound_port(fd);
    MON_LOG_INFO("RPC: listening on %s port %u, %s", name, *port,
                 rpc->tls != NULL ? "with TLS" : "without certificates");
    if (rpc->tls == NULL && !is_loopback(address)) {
        MON_LOG_WARNING("RPC on %s has no certificates: any client that reaches port %u can control the jobs of this "
                        "node and choose the files they write; use --certs_dir or --bind_address=127.0.0.1",
                        name, *port);
    }
    return 0;
}

static int listen_by_name(struct mon_rpc *rpc, const char *name, uint16_t *port)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE}, *found;
    int rc = getaddrinfo(name, NULL, &hints, &found);
    if (rc != 0) {
        MON_LOG_ERROR("--bind_address '%s': %s", name, gai_strerror(rc));
        return -EADDRNOTAVAIL;
    }
    rc = listen_on(rpc, found->ai_addr, found->ai_addrlen, port);
    freeaddrinfo(found);
    return rc;
}

/* Listens on the addresses of --bind_address or on the defaults. A missing default address is not an error. */
static int listen_all(struct mon_rpc *rpc)
{
    const struct mon_flags *flags = &rpc->daemon->flags;
    uint16_t port = (uint16_t)flags->port;
    bool chosen = flags->bind_address[0] != '\0';
    const char *names = chosen ? flags->bind_address : rpc->tls != NULL ? "::,0.0.0.0" : "127.0.0.1,::1";
    char *list = strdup(names), *rest = list;
    int rc = list == NULL ? -ENOMEM : 0;
    for (char *name; rc == 0 && (name = strsep(&rest, ",")) != NULL;) {
        rc = listen_by_name(rpc, name, &port);
        if (rc == -EADDRINUSE && rpc->listener_count == 1 && strcmp(names, "::,0.0.0.0") == 0) {
            rc = 0; /* the first one accepts IPv4 too */
        }
        if (!chosen && (rc == -EADDRNOTAVAIL || rc == -EAFNOSUPPORT)) {
            rc = 0; /* a machine without IPv4 or IPv6 */
        }
        if (rc != 0) {
            MON_LOG_ERROR("RPC: cannot listen on %s port %u: %s (--port, --bind_address)", name, port, strerror(-rc));
        }
    }
    free(list);
    if (rc == 0 && rpc->listener_count == 0) {
        MON_LOG_ERROR("RPC: no address to listen on (--bind_address)");
        rc = -EADDRNOTAVAIL;
    }
    if (rc == 0 && !chosen && rpc->tls == NULL) {
        MON_LOG_WARNING("no certificates: RPC is only reachable from this machine; --certs_dir=DIR makes it "
                        "reachable and secure, --bind_address=ADDRESS only reachable");
    }
    return rc;
}

/* ---- the module ---- */

static void say_to_log(void *context, enum mon_say_level level, const char *text)
{
    static const enum mon_log_level levels[] = {
        [MON_SAY_NOTE] = MON_LEVEL_INFO, [MON_SAY_WARNING] = MON_LEVEL_WARNING, [MON_SAY_ERROR] = MON_LEVEL_ERROR};
    (void)context;
    mon_log_write(levels[level], __FILE__, __LINE__, "%s", text);
}

static int open_tls(struct mon_rpc *rpc)
{
    const struct mon_flags *flags = &rpc->daemon->flags;
    struct mon_tls_options options = {
        .side = MON_TLS_SERVER,
        .dir = flags->certs_dir,
        .passphrase_file = flags->certs_passphrase_file,
        .passphrase_env = "DYNOLOG_CERTS_PASSPHRASE",
        .prompt = true,
        .say = {say_to_log, NULL},
    };
    char why[MON_TLS_WHY_B];
    if (strcmp(flags->certs_dir, MON_TLS_NO_CERTS) == 0) {
        return 0;
    }
    int rc = mon_tls_open(&options, &rpc->tls, why);
    if (rc != 0) {
        MON_LOG_ERROR("certificates: %s", why);
    }
    return rc;
}

static size_t most_connections(const struct mon_rpc *rpc)
{
    struct rlimit limit;
    size_t most = rpc->tls != NULL ? CONNECTIONS_MAX_TLS : CONNECTIONS_MAX;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < most + DESCRIPTORS_RESERVED) {
        most = limit.rlim_cur > 2 * DESCRIPTORS_RESERVED ? limit.rlim_cur - DESCRIPTORS_RESERVED : limit.rlim_cur / 2;
    }
    return most;
}

static void stop(struct mon_daemon *daemon)
{
    struct mon_rpc *rpc = server;
    (void)daemon;
    for (size_t i = 0; i < rpc->listener_count; i++) {
        evconnlistener_free(rpc->listeners[i]);
    }
    mon__rpc_close_all(rpc);
    if (rpc->sweep != NULL) {
        event_free(rpc->sweep);
    }
    if (rpc->resume != NULL) {
        event_free(rpc->resume);
    }
    mon_tls_close(rpc->tls);
    free(rpc);
    server = NULL;
}

static int start(struct mon_daemon *daemon)
{
    struct mon_rpc *rpc = calloc(1, sizeof(*rpc));
    if (rpc == NULL) {
        return -ENOMEM;
    }
    server = rpc;
    rpc->daemon = daemon;
    for (size_t i = 0; i < MON_RPC_PHASES; i++) {
        TAILQ_INIT(&rpc->queues[i]);
    }
    rpc->sweep = event_new(daemon->base, -1, EV_PERSIST, on_sweep, rpc);
    rpc->resume = event_new(daemon->base, -1, 0, on_resume, rpc);
    int rc = rpc->sweep == NULL || rpc->resume == NULL ? -ENOMEM : open_tls(rpc);
    if (rc == 0) {
        rpc->connections_max = most_connections(rpc);
        rc = listen_all(rpc);
    }
    if (rc != 0) {
        stop(daemon);
        return rc;
    }
    event_add(rpc->sweep, &(struct timeval){0, SWEEP_MS * 1000});
    return 0;
}

/* New connections use the new certificates; if these are not acceptable, the old ones stay in use. */
static void reload(struct mon_daemon *daemon)
{
    char why[MON_TLS_WHY_B];
    (void)daemon;
    if (server->tls == NULL) {
        return;
    }
    if (mon_tls_reload(server->tls, why) == 0) {
        MON_LOG_INFO("certificates reloaded");
    } else {
        MON_LOG_ERROR("certificates not reloaded, the old ones stay in use: %s", why);
    }
}

const struct mon_daemon_module mon_module_rpc = {.name = "rpc", .start = start, .stop = stop, .reload = reload};
