/* SPDX-License-Identifier: Apache-2.0 */
/* --wait: polls the status until the processes that received a command are done with it.
 *
 * npuscope's daemon reports the progress of the command for each process. The originals' daemons report one state for
 * all processes; the row of the command decides what it means. Processes that end meanwhile are not waited for. */
#include "cli/dyno/cli.h"

#include "base/clock.h"

#include <string.h>
#include <time.h>

#define FIRST_MS 100
#define LAST_MS  1000

enum progress { IN_PROGRESS, DONE, LOST };

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text != NULL ? text : "";
}

static const json_t *find_process(const json_t *jobs, json_int_t pid)
{
    for (size_t i = 0; i < json_array_size(jobs); i++) {
        const json_t *processes = json_object_get(json_array_get(jobs, i), "processes");
        for (size_t j = 0; j < json_array_size(processes); j++) {
            const json_t *process = json_array_get(processes, j);
            if (json_integer_value(json_object_get(process, "pid")) == pid) {
                return process;
            }
        }
    }
    return NULL;
}

static enum progress by_process(const struct dyno_run *run, const json_t *triggered, const json_t *jobs, char *shown,
                                size_t shown_b)
{
    size_t all = json_array_size(triggered), done = 0, ended = 0;
    const char *slowest = "";
    for (size_t i = 0; i < all; i++) {
        const json_t *process = find_process(jobs, json_integer_value(json_array_get(triggered, i)));
        const char *stage = text_of(json_object_get(process, "command"), "stage");
        if (process == NULL) {
            ended++;
        } else if (run->command->done(run, process, stage)) {
            done++;
        } else {
            slowest = stage;
        }
    }
    if (done + ended < all) {
        snprintf(shown, shown_b, "%zu of %zu processes are done, others %s", done, all, slowest);
        return IN_PROGRESS;
    }
    if (ended > 0) {
        snprintf(shown, shown_b, "%zu of %zu processes are done, %zu ended before completion", done, all, ended);
        return LOST;
    }
    snprintf(shown, shown_b, "%zu of %zu processes are done", done, all);
    return DONE;
}

static enum progress by_state(const struct dyno_run *run, const json_t *status, bool *active, char *shown,
                              size_t shown_b)
{
    const char *state = run->command->state_key != NULL ? text_of(status, run->command->state_key) : "";
    if (state[0] == '\0') {
        snprintf(shown, shown_b, "this daemon does not report when a command is done");
        return LOST;
    }
    snprintf(shown, shown_b, "%s is %s", run->command->state_key, state);
    *active = *active || strcmp(state, "Running") == 0 || strcmp(state, "Ready") == 0;
    return run->command->state_done(run, state, *active) ? DONE : IN_PROGRESS;
}

static int query_status(const struct dyno_run *run, const struct dyno_host *host, json_t **out, char *why)
{
    static const char request[] = "{\"fn\":\"getStatus\"}";
    struct dyno_connection *connection;
    struct ms_buffer answer = {0};
    int rc =
        dyno_connect(host->name, host->port != 0 ? host->port : run->port, run->tls, run->timeout_ms, &connection, why);
    if (rc != 0) {
        return rc;
    }
    rc = dyno_call(connection, request, sizeof(request) - 1, run->timeout_ms, &answer, why);
    dyno_disconnect(connection);
    *out = rc == 0 ? json_loadb(answer.s, answer.used, 0, NULL) : NULL;
    ms_buffer_free(&answer);
    return rc;
}

void dyno_wait(const struct dyno_run *run, struct dyno_result *result)
{
    uint64_t deadline = ms_clock_ns(CLOCK_MONOTONIC) + (uint64_t)run->wait_timeout_ms * 1000000;
    const json_t *triggered = json_object_get(result->json, "activityProfilersTriggered");
    enum progress progress = IN_PROGRESS;
    bool active = false;
    if (run->command->done == NULL || json_array_size(triggered) == 0) {
        return;
    }
    for (long pause_ms = FIRST_MS; progress == IN_PROGRESS;
         pause_ms = pause_ms < LAST_MS / 2 ? pause_ms * 2 : LAST_MS) {
        json_t *status = NULL;
        if (ms_clock_ns(CLOCK_MONOTONIC) >= deadline) {
            snprintf(result->why, sizeof(result->why), "not done after %u s: %.600s", run->wait_timeout_ms / 1000,
                     result->waited);
            result->status = DYNO_NOT_DONE;
            return;
        }
        nanosleep(&(struct timespec){pause_ms / 1000, pause_ms % 1000 * 1000000}, NULL);
        if (query_status(run, result->host, &status, result->waited) == 0) {
            const json_t *jobs = json_object_get(status, "jobs");
            progress = json_is_array(jobs) ? by_process(run, triggered, jobs, result->waited, sizeof(result->waited))
                                           : by_state(run, status, &active, result->waited, sizeof(result->waited));
        }
        json_decref(status);
    }
    if (progress == LOST) {
        snprintf(result->why, sizeof(result->why), "%s", result->waited);
        result->status = DYNO_NOT_DONE;
    }
}
