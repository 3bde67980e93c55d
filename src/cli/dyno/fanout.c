/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the command on every host with a bounded number of threads; each takes the next host until none is left.
 *
 * The threads only read the invocation; each result is written by one thread; an atomic counter hands out hosts.
 * Threads are used instead of an event loop because name lookups block, and a few dozen stacks are cheap. */
#include "cli/dyno/cli.h"

#include "base/clock.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct fan_out {
    const struct dyno_run *run;
    struct dyno_result *results;
    atomic_size_t next;
};

static void judge(const struct dyno_run *run, struct dyno_result *result)
{
    result->json = json_loadb(result->answer.s, result->answer.used, 0, NULL);
    if (!json_is_object(result->json)) {
        result->status = DYNO_FAILED;
        snprintf(result->why, sizeof(result->why), "the answer is not a JSON object");
        return;
    }
    const char *error = json_string_value(json_object_get(result->json, "error"));
    const char *reason = json_string_value(json_object_get(result->json, "reason"));
    const char *status = json_string_value(json_object_get(result->json, "status"));
    result->status = error != NULL ? DYNO_FAILED : run->command->judge(run, result->json);
    const char *why = error != NULL ? error : reason != NULL ? reason : status;
    if (why != NULL && (result->status != DYNO_OK || reason != NULL)) {
        snprintf(result->why, sizeof(result->why), "%s", why);
    }
}

static void query(const struct dyno_run *run, struct dyno_result *result)
{
    const struct dyno_host *host = result->host;
    struct dyno_connection *connection;
    struct ms_buffer request = {0};
    uint64_t start = ms_clock_ns(CLOCK_MONOTONIC);
    int rc = dyno_connect(host->name, host->port != 0 ? host->port : run->port, run->tls, run->timeout_ms, &connection,
                          result->why);
    result->status = DYNO_CONNECT;
    if (rc == 0) {
        run->command->request(run, host->name, &request);
        rc = dyno_call(connection, request.s, request.used, run->timeout_ms, &result->answer, result->why);
        result->status = rc == -ECONNREFUSED ? DYNO_CONNECT : DYNO_FAILED;
        dyno_disconnect(connection);
        ms_buffer_free(&request);
    }
    if (rc == 0) {
        judge(run, result);
    }
    if (run->wait && result->status == DYNO_OK) {
        dyno_wait(run, result);
    }
    result->seconds = (double)(ms_clock_ns(CLOCK_MONOTONIC) - start) / 1e9;
}

static void *worker(void *context)
{
    struct fan_out *work = context;
    for (size_t i; (i = atomic_fetch_add(&work->next, 1)) < work->run->hosts.count;) {
        query(work->run, &work->results[i]);
    }
    return NULL;
}

void dyno_fan_out(const struct dyno_run *run, struct dyno_result *results)
{
    struct fan_out work = {.run = run, .results = results};
    size_t thread_count = run->hosts.count < run->parallel ? run->hosts.count : run->parallel;
    pthread_t *threads = calloc(thread_count, sizeof(*threads));
    size_t started = 0;
    pthread_attr_t attributes;
    for (size_t i = 0; i < run->hosts.count; i++) {
        results[i].host = &run->hosts.list[i];
    }
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 512 << 10);
    /* The main thread works too: a single host needs no extra thread, and if threads cannot be created it is only
     * slower. */
    while (threads != NULL && started + 1 < thread_count &&
           pthread_create(&threads[started], &attributes, worker, &work) == 0) {
        started++;
    }
    pthread_attr_destroy(&attributes);
    worker(&work);
    while (started-- > 0) {
        pthread_join(threads[started], NULL);
    }
    free(threads);
}
