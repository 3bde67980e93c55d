/* SPDX-License-Identifier: Apache-2.0 */
/* Routes: what arrives in one queue goes on to another. On a card a process of the device does this; here a thread of
 * the process that binds the route.
 *
 * Invariants: a bound route has a thread; it ends when the route is unbound or one of its queues is destroyed, which
 * makes the route abnormal. An entry that was taken from the source is put into the destination before the thread ends,
 * unless the destination is gone.
 * Threads and locks: one lock for the list of bound routes; each route's thread uses only the queues.
 * Failure: the list that a function gets carries the state of each route; the function fails if any of them failed. */
#include "acl/acl_tdt_queue.h"
#include "base/slab.h"
#include "softnpu/runtime/context.h"
#include "softnpu/runtime/error.h"
#include "softnpu/tdt/shared_queue.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define ROUTES_MAX 256 /* of a list */
#define SLICE_MS   20  /* how often a waiting route looks whether it was unbound */

struct acltdtQueueRoute {
    uint32_t src, dst;
    int32_t status;
};

struct acltdtQueueRouteList {
    size_t count;
    struct acltdtQueueRoute routes[ROUTES_MAX];
};

struct acltdtQueueRouteQueryInfo {
    acltdtQueueRouteQueryMode mode;
    uint32_t src, dst;
    bool have_mode, have_src, have_dst;
};

/* A bound route. */
struct line {
    struct line *next;
    uint32_t dev, src, dst;
    bool stop, abnormal;
    pthread_t thread;
};

static struct ms_slab routes = MS_SLAB_INIT(struct acltdtQueueRoute, 1 << 12);
static struct ms_slab lists = MS_SLAB_INIT(struct acltdtQueueRouteList, 1 << 8);
static struct ms_slab infos = MS_SLAB_INIT(struct acltdtQueueRouteQueryInfo, 1 << 8);
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct line *lines;

static aclError check(struct ms_slab *slab, const char *function, const void *object, const char *what)
{
    return ms_slab_check(slab, object)
               ? ACL_SUCCESS
               : snpu_fail(ACL_ERROR_INVALID_PARAM, "%s: %p is not a %s", function, object, what);
}

static void *create(struct ms_slab *slab, const char *function)
{
    void *object = ms_slab_alloc(slab);
    if (object == NULL) {
        snpu_fail(ACL_ERROR_BAD_ALLOC, "%s: too many of them", function);
    }
    return object;
}

static aclError destroy(struct ms_slab *slab, const char *function, const void *object, const char *what)
{
    aclError rc = check(slab, function, object, what);
    if (rc == ACL_SUCCESS) {
        ms_slab_free(slab, (void *)(uintptr_t)object);
    }
    return rc;
}

/* ---- routes and lists ---- */
acltdtQueueRoute *acltdtCreateQueueRoute(uint32_t srcId, uint32_t dstId)
{
    acltdtQueueRoute *route = create(&routes, "acltdtCreateQueueRoute");
    if (route != NULL) {
        *route = (acltdtQueueRoute){srcId, dstId, ACL_TDT_QUEUE_ROUTE_UNBIND};
    }
    return route;
}

aclError acltdtDestroyQueueRoute(const acltdtQueueRoute *route)
{
    return destroy(&routes, "acltdtDestroyQueueRoute", route, "route");
}

aclError acltdtGetQueueRouteParam(const acltdtQueueRoute *route, acltdtQueueRouteParamType type, size_t len,
                                  size_t *paramRetSize, void *param)
{
    static const char function[] = "acltdtGetQueueRouteParam";
    aclError rc = check(&routes, function, route, "route");
    if (rc != ACL_SUCCESS) {
        return rc;
    }
    if (paramRetSize == NULL || param == NULL || len < sizeof(uint32_t) || (int)type < 0 ||
        type > ACL_TDT_QUEUE_ROUTE_STATUS_INT32) {
        return snpu_fail(ACL_ERROR_INVALID_PARAM, "%s: NULL, unknown parameter %d, or %zu bytes are too few", function,
                         (int)type, len);
    }
    const void *from = type == ACL_TDT_QUEUE_ROUTE_SRC_UINT32   ? (const void *)&route->src
                       : type == ACL_TDT_QUEUE_ROUTE_DST_UINT32 ? (const void *)&route->dst
                                                                : (const void *)&route->status;
    memcpy(param, from, sizeof(uint32_t));
    *paramRetSize = sizeof(uint32_t);
    return ACL_SUCCESS;
}

acltdtQueueRouteList *acltdtCreateQueueRouteList(void)
{
    return create(&lists, "acltdtCreateQueueRouteList");
}

aclError acltdtDestroyQueueRouteList(const acltdtQueueRouteList *routeList)
{
    return destroy(&lists, "acltdtDestroyQueueRouteList", routeList, "list of routes");
}

aclError acltdtAddQueueRoute(acltdtQueueRouteList *routeList, const acltdtQueueRoute *route)
{
    static const char function[] = "acltdtAddQueueRoute";
    aclError rc = check(&lists, function, routeList, "list of routes");
    rc = rc != ACL_SUCCESS ? rc : check(&routes, function, route, "route");
    if (rc == ACL_SUCCESS && routeList->count == ROUTES_MAX) {
        rc = snpu_fail(ACL_ERROR_STORAGE_OVER_LIMIT, "%s: a list has at most %d routes", function, ROUTES_MAX);
    }
    if (rc == ACL_SUCCESS) {
        routeList->routes[routeList->count++] = *route;
    }
    return rc;
}

aclError acltdtGetQueueRoute(const acltdtQueueRouteList *routeList, size_t index, acltdtQueueRoute *route)
{
    static const char function[] = "acltdtGetQueueRoute";
    aclError rc = check(&lists, function, routeList, "list of routes");
    rc = rc != ACL_SUCCESS ? rc : check(&routes, function, route, "route");
    if (rc == ACL_SUCCESS && index >= routeList->count) {
        rc = snpu_fail(ACL_ERROR_INVALID_PARAM, "%s: route %zu of %zu", function, index, routeList->count);
    }
    if (rc == ACL_SUCCESS) {
        *route = routeList->routes[index];
    }
    return rc;
}

size_t acltdtGetQueueRouteNum(const acltdtQueueRouteList *routeList)
{
    return check(&lists, "acltdtGetQueueRouteNum", routeList, "list of routes") == ACL_SUCCESS ? routeList->count : 0;
}

/* ---- binding ---- */
static bool stopped(struct line *line)
{
    return __atomic_load_n(&line->stop, __ATOMIC_ACQUIRE);
}

static void *forward(void *argument)
{
    struct line *line = argument;
    aclError rc = ACL_SUCCESS;
    while (!stopped(line) && (rc == ACL_SUCCESS || rc == ACL_ERROR_RT_QUEUE_EMPTY)) {
        struct iovec entry = {NULL, 0};
        rc = snpu_queue_take("queue route", line->dev, line->src, SLICE_MS, SIZE_MAX, &entry.iov_base, &entry.iov_len);
        if (rc != ACL_SUCCESS) {
            continue;
        }
        do {
            rc = snpu_queue_put("queue route", line->dev, line->dst, &entry, 1, SLICE_MS);
        } while (rc == ACL_ERROR_RT_QUEUE_FULL && !stopped(line));
        free(entry.iov_base);
    }
    if (!stopped(line)) {
        __atomic_store_n(&line->abnormal, true, __ATOMIC_RELEASE);
    }
    return NULL;
}

/* Lock held. */
static struct line **find_line(uint32_t dev, uint32_t src, uint32_t dst)
{
    struct line **at = &lines;
    while (*at != NULL && ((*at)->dev != dev || (*at)->src != src || (*at)->dst != dst)) {
        at = &(*at)->next;
    }
    return at;
}

static int32_t status_of(struct line *line)
{
    return __atomic_load_n(&line->abnormal, __ATOMIC_ACQUIRE) ? ACL_TDT_QUEUE_ROUTE_BIND_ABNORMAL
                                                              : ACL_TDT_QUEUE_ROUTE_BIND;
}

/* Lock held. */
static aclError bind_one(uint32_t dev, struct acltdtQueueRoute *route)
{
    static const char function[] = "acltdtBindQueueRoutes";
    if (*find_line(dev, route->src, route->dst) != NULL) {
        return snpu_fail(ACL_ERROR_INVALID_PARAM, "%s: the route from queue %u to queue %u is bound already", function,
                         route->src, route->dst);
    }
    if (route->src == route->dst || !snpu_queue_known(dev, route->src) || !snpu_queue_known(dev, route->dst)) {
        return snpu_fail(ACL_ERROR_INVALID_QUEUE_ID, "%s: route from queue %u to queue %u: %s", function, route->src,
                         route->dst,
                         route->src == route->dst ? "they are the same" : "this process does not know one of them");
    }
    struct line *line = calloc(1, sizeof(*line));
    if (line != NULL) {
        *line = (struct line){.next = lines, .dev = dev, .src = route->src, .dst = route->dst};
        if (pthread_create(&line->thread, NULL, forward, line) == 0) {
            lines = line;
            route->status = ACL_TDT_QUEUE_ROUTE_BIND;
            return ACL_SUCCESS;
        }
    }
    free(line);
    return snpu_fail(ACL_ERROR_BAD_ALLOC, "%s: cannot start a route", function);
}

static aclError current(const char *function, const acltdtQueueRouteList *list, uint32_t *dev)
{
    struct snpu_ctx *ctx;
    aclError rc = check(&lists, function, list, "list of routes");
    rc = rc != ACL_SUCCESS ? rc : snpu_ctx_need(function, &ctx);
    if (rc == ACL_SUCCESS) {
        *dev = ctx->dev;
    }
    return rc;
}

aclError acltdtBindQueueRoutes(acltdtQueueRouteList *qRouteList)
{
    uint32_t dev;
    aclError rc = current("acltdtBindQueueRoutes", qRouteList, &dev);
    pthread_mutex_lock(&lock);
    for (size_t i = 0; rc == ACL_SUCCESS && i < qRouteList->count; i++) {
        rc = bind_one(dev, &qRouteList->routes[i]);
    }
    pthread_mutex_unlock(&lock);
    return rc;
}

aclError acltdtUnbindQueueRoutes(acltdtQueueRouteList *qRouteList)
{
    static const char function[] = "acltdtUnbindQueueRoutes";
    uint32_t dev;
    aclError rc = current(function, qRouteList, &dev);
    for (size_t i = 0; rc == ACL_SUCCESS && i < qRouteList->count; i++) {
        struct acltdtQueueRoute *route = &qRouteList->routes[i];
        pthread_mutex_lock(&lock);
        struct line **at = find_line(dev, route->src, route->dst), *line = *at;
        if (line != NULL) {
            *at = line->next;
        }
        pthread_mutex_unlock(&lock);
        if (line == NULL) {
            rc = snpu_fail(ACL_ERROR_INVALID_PARAM, "%s: the route from queue %u to queue %u is not bound", function,
                           route->src, route->dst);
        } else {
            __atomic_store_n(&line->stop, true, __ATOMIC_RELEASE);
            pthread_join(line->thread, NULL);
            free(line);
            route->status = ACL_TDT_QUEUE_ROUTE_UNBIND;
        }
    }
    return rc;
}

/* ---- queries ---- */
acltdtQueueRouteQueryInfo *acltdtCreateQueueRouteQueryInfo(void)
{
    return create(&infos, "acltdtCreateQueueRouteQueryInfo");
}

aclError acltdtDestroyQueueRouteQueryInfo(const acltdtQueueRouteQueryInfo *info)
{
    return destroy(&infos, "acltdtDestroyQueueRouteQueryInfo", info, "query of routes");
}

aclError acltdtSetQueueRouteQueryInfo(acltdtQueueRouteQueryInfo *param, acltdtQueueRouteQueryInfoParamType type,
                                      size_t len, const void *value)
{
    static const char function[] = "acltdtSetQueueRouteQueryInfo";
    uint32_t number;
    aclError rc = check(&infos, function, param, "query of routes");
    if (rc != ACL_SUCCESS) {
        return rc;
    }
    if (value == NULL || len != sizeof(number)) {
        return snpu_fail(ACL_ERROR_INVALID_PARAM, "%s: value is NULL, or %zu bytes are not its length", function, len);
    }
    memcpy(&number, value, sizeof(number));
    switch (type) {
    case ACL_TDT_QUEUE_ROUTE_QUERY_MODE_ENUM:
        if (number > ACL_TDT_QUEUE_ROUTE_QUERY_SRC_AND_DST && number != ACL_TDT_QUEUE_ROUTE_QUERY_ABNORMAL) {
            return snpu_fail(ACL_ERROR_INVALID_PARAM, "%s: unknown mode %u", function, number);
        }
        param->mode = (acltdtQueueRouteQueryMode)number;
        param->have_mode = true;
        return ACL_SUCCESS;
    case ACL_TDT_QUEUE_ROUTE_QUERY_SRC_ID_UINT32:
        param->src = number;
        param->have_src = true;
        return ACL_SUCCESS;
    case ACL_TDT_QUEUE_ROUTE_QUERY_DST_ID_UINT32:
        param->dst = number;
        param->have_dst = true;
        return ACL_SUCCESS;
    }
    return snpu_fail(ACL_ERROR_INVALID_PARAM, "%s: unknown parameter %d", function, (int)type);
}

static bool matches(const struct acltdtQueueRouteQueryInfo *info, struct line *line)
{
    bool src = line->src == info->src, dst = line->dst == info->dst;
    switch (info->mode) {
    case ACL_TDT_QUEUE_ROUTE_QUERY_SRC:
        return src;
    case ACL_TDT_QUEUE_ROUTE_QUERY_DST:
        return dst;
    case ACL_TDT_QUEUE_ROUTE_QUERY_SRC_AND_DST:
        return src && dst;
    default:
        return status_of(line) == ACL_TDT_QUEUE_ROUTE_BIND_ABNORMAL;
    }
}

aclError acltdtQueryQueueRoutes(const acltdtQueueRouteQueryInfo *queryInfo, acltdtQueueRouteList *qRouteList)
{
    static const char function[] = "acltdtQueryQueueRoutes";
    uint32_t dev;
    aclError rc = check(&infos, function, queryInfo, "query of routes");
    rc = rc != ACL_SUCCESS ? rc : current(function, qRouteList, &dev);
    if (rc != ACL_SUCCESS) {
        return rc;
    }
    bool src =
        queryInfo->mode == ACL_TDT_QUEUE_ROUTE_QUERY_SRC || queryInfo->mode == ACL_TDT_QUEUE_ROUTE_QUERY_SRC_AND_DST;
    bool dst =
        queryInfo->mode == ACL_TDT_QUEUE_ROUTE_QUERY_DST || queryInfo->mode == ACL_TDT_QUEUE_ROUTE_QUERY_SRC_AND_DST;
    if (!queryInfo->have_mode || (src && !queryInfo->have_src) || (dst && !queryInfo->have_dst)) {
        return snpu_fail(ACL_ERROR_INVALID_PARAM, "%s: the query lacks its mode, or a queue that the mode needs",
                         function);
    }
    pthread_mutex_lock(&lock);
    qRouteList->count = 0;
    for (struct line *line = lines; line != NULL && qRouteList->count < ROUTES_MAX; line = line->next) {
        if (line->dev == dev && matches(queryInfo, line)) {
            qRouteList->routes[qRouteList->count++] = (struct acltdtQueueRoute){line->src, line->dst, status_of(line)};
        }
    }
    pthread_mutex_unlock(&lock);
    return ACL_SUCCESS;
}
