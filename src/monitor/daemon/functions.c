/* SPDX-License-Identifier: Apache-2.0 */
/* RPC functions, see functions.h.
 *
 * Answers that existing command lines parse are identical to the originals' byte for byte; additions (reason, error,
 * jobs) are separate keys, which they print and ignore. The nesting of a request is checked before it is parsed.
 * Requests that change something are logged with the caller and the target, but without the configuration, which may
 * contain a user's paths. */
#include "monitor/daemon/functions.h"

#include "monitor/daemon/logger.h"
#include "monitor/daemon/state.h"
#include "monitor/wire/config_text.h"
#include "monitor/wire/frame.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#define PROCESS_LIMIT_DEFAULT 1000

static int append(const char *text, size_t text_b, void *out)
{
    ms_buffer_add(out, text, text_b);
    return 0;
}

/* Consumes the reference to answer. */
static void write_json(json_t *answer, struct ms_buffer *out)
{
    if (answer == NULL || json_dump_callback(answer, append, out, JSON_COMPACT | JSON_SORT_KEYS) != 0) {
        out->used = 0;
        MS_BUFFER_TEXT(out, "{\"error\":\"out of memory\",\"status\":\"failed\"}");
    }
    json_decref(answer);
}

void mon_rpc_error(const char *why, struct ms_buffer *out)
{
    write_json(json_pack("{ssss}", "error", why, "status", "failed"), out);
}

/* ---- status and version ---- */

static json_t *get_status(struct mon_rpc_call *call, json_t *request)
{
    (void)request;
    return mon_state_json(call->registry);
}

static json_t *get_version(struct mon_rpc_call *call, json_t *request)
{
    (void)call;
    (void)request;
    return json_pack("{ss}", "version", MON_RPC_VERSION);
}

/* ---- commands for processes ---- */

/* The format in which the original reports wrong types. */
static json_t *failed_with(const char *why)
{
    char text[320];
    snprintf(text, sizeof(text), "failed with exception = %s", why);
    return json_pack("{ss}", "status", text);
}

static const char *read_integer(json_t *request, const char *key, json_int_t min, json_int_t max, json_int_t *out)
{
    static char why[96];
    json_t *value = json_object_get(request, key);
    if (value == NULL) {
        return NULL;
    }
    if (!json_is_integer(value) || json_integer_value(value) < min || json_integer_value(value) > max) {
        snprintf(why, sizeof(why), "%s must be an integer from %lld to %lld", key, (long long)min, (long long)max);
        return why;
    }
    *out = json_integer_value(value);
    return NULL;
}

/* Fills in job, pids and limit. Returns NULL or an error text; the caller frees *pids. */
static const char *read_target(json_t *request, struct mon_request *target, int32_t **pids)
{
    json_int_t job = 0, limit = PROCESS_LIMIT_DEFAULT;
    const char *why = read_integer(request, "job_id", INT64_MIN, INT64_MAX, &job);
    if (why == NULL) {
        why = read_integer(request, "process_limit", 0, UINT32_MAX, &limit);
    }
    if (why != NULL) {
        return why;
    }
    json_t *list = json_object_get(request, "pids");
    size_t count = json_array_size(list);
    if (list != NULL && !json_is_array(list)) {
        return "pids must be an array of integers";
    }
    *pids = calloc(count + 1, sizeof(**pids));
    if (*pids == NULL) {
        return "out of memory";
    }
    for (size_t i = 0; i < count; i++) {
        json_t *pid = json_array_get(list, i);
        if (!json_is_integer(pid) || json_integer_value(pid) < 0 || json_integer_value(pid) > INT32_MAX) {
            return "pids must be an array of integers from 0 to 2147483647";
        }
        (*pids)[i] = (int32_t)json_integer_value(pid);
    }
    target->job = job;
    target->limit = (uint32_t)limit;
    target->pids = *pids;
    target->pid_count = count;
    return NULL;
}

static json_t *pid_array(const int32_t *pids, size_t count)
{
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++) {
        json_array_append_new(array, json_integer(pids[i]));
    }
    return array;
}

/* Upstream's command line panics if the native fields are missing; the fork's daemon omits them when it refuses. */
static json_t *request_answer(const struct mon_request_result *result)
{
    json_t *answer = json_pack("{ss}", "commandStatus", mon_decision_name(result->decision));
    bool partial = result->triggered_count < result->matched_count;
    if (result->decision == MON_EFFECTIVE || result->kind == MON_REQUEST_KINETO) {
        json_object_set_new(answer, "activityProfilersBusy", json_integer(result->busy));
        json_object_set_new(answer, "activityProfilersTriggered",
                            pid_array(result->triggered, result->triggered_count));
        json_object_set_new(answer, "eventProfilersBusy", json_integer(0));
        json_object_set_new(answer, "eventProfilersTriggered", json_array());
        json_object_set_new(answer, "processesMatched", pid_array(result->matched, result->matched_count));
    }
    if (result->decision != MON_EFFECTIVE || partial) {
        json_object_set_new(answer, "reason", json_string(result->reason));
    }
    return answer;
}

static json_t *set_on_demand(struct mon_rpc_call *call, json_t *request)
{
    json_t *config = json_object_get(request, "config");
    struct mon_request target = {0};
    struct mon_request_result result;
    int32_t *pids = NULL;
    json_t *answer = NULL;
    if (config == NULL || json_object_get(request, "pids") == NULL) {
        return json_pack("{ss}", "status", "failed");
    }
    const char *why = json_is_string(config) ? read_target(request, &target, &pids) : "config must be a string";
    if (why == NULL) {
        target.config = json_string_value(config);
        target.config_b = json_string_length(config);
        why = mon_config_unsafe(target.config, target.config_b);
    }
    if (why != NULL) {
        answer = failed_with(why);
        goto out;
    }
    int rc = mon_registry_request(call->registry, &target, &result);
    if (rc != 0) {
        answer =
            failed_with(rc == -EMSGSIZE ? "the configuration is too long for the process's socket" : strerror(-rc));
        goto out;
    }
    answer = request_answer(&result);
    MON_LOG_INFO("%s: %s for job %lld, %zu pids given: %s, %zu matched, %zu triggered, %u busy: %s", call->peer,
                 mon_config_recognise(target.config, target.config_b)->name, (long long)target.job, target.pid_count,
                 mon_decision_name(result.decision), result.matched_count, result.triggered_count, result.busy,
                 result.reason);
    mon_request_result_free(&result);
out:
    free(pids);
    return answer;
}

static json_t *cancel_on_demand(struct mon_rpc_call *call, json_t *request)
{
    struct mon_request target = {0};
    struct mon_request_result result;
    int32_t *pids = NULL;
    json_t *answer;
    const char *why = read_target(request, &target, &pids);
    int rc = why == NULL ? mon_registry_cancel(call->registry, &target, &result) : 0;
    if (why != NULL || rc != 0) {
        answer = failed_with(why != NULL ? why : strerror(-rc));
    } else {
        answer = json_pack("{sssoso}", "commandStatus", mon_decision_name(result.decision), "processesCancelled",
                           pid_array(result.triggered, result.triggered_count), "processesMatched",
                           pid_array(result.matched, result.matched_count));
        json_object_set_new(answer, "reason", json_string(result.reason));
        MON_LOG_INFO("%s: cancel for job %lld: %zu cancelled: %s", call->peer, (long long)target.job,
                     result.triggered_count, result.reason);
        mon_request_result_free(&result);
    }
    free(pids);
    return answer;
}

/* ---- DCGM: answers of a daemon without it ---- */

static json_t *dcgm_pause(struct mon_rpc_call *call, json_t *request)
{
    (void)call;
    if (json_object_get(request, "duration_s") == NULL) {
        return json_pack("{ss}", "status", "failed");
    }
    return json_pack("{sb}", "status", 0);
}

static json_t *dcgm_resume(struct mon_rpc_call *call, json_t *request)
{
    (void)call;
    (void)request;
    return json_pack("{sb}", "status", 0);
}

/* ---- the table ---- */

static json_t *get_capabilities(struct mon_rpc_call *call, json_t *request);

static const struct {
    const char *name;
    json_t *(*call)(struct mon_rpc_call *call, json_t *request);
} functions[] = {
    {"getStatus", get_status},
    {"getVersion", get_version},
    {"setKinetOnDemandRequest", set_on_demand},
    {"dcgmProfPause", dcgm_pause},
    {"dcgmProfResume", dcgm_resume},
    {"cancelOnDemandRequest", cancel_on_demand},
    {"getCapabilities", get_capabilities},
};

static json_t *function_names(void)
{
    json_t *names = json_array();
    for (size_t i = 0; i < MS_COUNT_OF(functions); i++) {
        json_array_append_new(names, json_string(functions[i].name));
    }
    return names;
}

/* What this daemon supports, so that command lines of other versions need not guess. */
static json_t *get_capabilities(struct mon_rpc_call *call, json_t *request)
{
    (void)call;
    (void)request;
    return json_pack("{sssssosisi}", "program", "npuscope dynolog", "program_version", NPUSCOPE_VERSION, "functions",
                     function_names(), "request_max_bytes", (int)MON_FRAME_REQUEST_MAX_B, "config_max_bytes",
                     (int)MON_REGISTRY_CONFIG_B);
}

static json_t *refuse(struct mon_rpc_call *call, const char *word, const char *why)
{
    call->refused = word;
    return json_pack("{ssss}", "error", why, "status", "failed");
}

static json_t *dispatch(struct mon_rpc_call *call, json_t *request)
{
    const char *name = json_string_value(json_object_get(request, "fn"));
    if (!json_is_object(request)) {
        return refuse(call, "not an object", "a request must be a JSON object");
    }
    if (name == NULL) {
        return refuse(call, "no function", "a request must have a string \"fn\", the function to call");
    }
    call->keep = json_is_true(json_object_get(request, "keep"));
    for (size_t i = 0; i < MS_COUNT_OF(functions); i++) {
        if (strcmp(name, functions[i].name) == 0) {
            call->function = functions[i].name;
            return functions[i].call(call, request);
        }
    }
    json_t *answer = refuse(call, "unknown function", "unknown function");
    json_object_set_new(answer, "functions", function_names());
    return answer;
}

void mon_rpc_answer(struct mon_rpc_call *call, const char *body, size_t body_b, struct ms_buffer *out)
{
    json_error_t error;
    call->function = call->refused = NULL;
    call->keep = false;
    if (mon_frame_depth(body, body_b) > MON_FRAME_DEPTH_MAX) {
        write_json(refuse(call, "nested too deeply", "objects and arrays are nested more than 10 levels deep"), out);
        return;
    }
    json_t *request = json_loadb(body, body_b, JSON_REJECT_DUPLICATES, &error);
    if (request == NULL) {
        char why[JSON_ERROR_TEXT_LENGTH + 64];
        snprintf(why, sizeof(why), "invalid JSON, line %d column %d: %s", error.line, error.column, error.text);
        for (char *c = why; *c != '\0'; c++) { /* the parser quotes its input, which may not be text */
            *c = *c >= ' ' && *c <= '~' ? *c : '?';
        }
        write_json(refuse(call, "invalid JSON", why), out);
        return;
    }
    write_json(dispatch(call, request), out);
    json_decref(request);
}
