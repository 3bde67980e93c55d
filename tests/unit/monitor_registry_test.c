/* SPDX-License-Identifier: Apache-2.0 */
/* Registry, commands and states. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/macros.h"
#include "monitor_registry.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define MONITOR_START "NPU_MONITOR_START=true\nNPU_MONITOR_STOP=false\nDURATION=0"
#define TRACE         "ACTIVITIES_LOG_FILE=/tmp/x\nPROFILE_RECORD_SHAPES=false"
#define KINETO        "ACTIVITIES_LOG_FILE=/tmp/x.json\nPROFILE_START_TIME=0\nACTIVITIES_DURATION_MSECS=500"

static struct mon_request_result command(struct mon_registry *registry, int64_t job, int32_t pid, uint32_t limit,
                                         const char *config)
{
    struct mon_request_result result;
    struct mon_request request = {job, &pid, 1, limit, config, strlen(config)};
    assert_int_equal(mon_registry_request(registry, &request, &result), 0);
    assert_string_not_equal(result.reason, "");
    return result;
}

static enum mon_decision decision(struct mon_registry *registry, const char *config)
{
    struct mon_request_result result = command(registry, 0, 0, 100, config);
    enum mon_decision d = result.decision;
    mon_request_result_free(&result);
    /* The request was only a query: cancel its commands. */
    struct mon_request all = {.limit = 1};
    assert_int_equal(mon_registry_cancel(registry, &all, &result), 0);
    mon_request_result_free(&result);
    return d;
}

static void pids_select_processes_and_their_descendants(void **state)
{
    struct mon_registry *registry = *state;
    poll_as(registry, 7, 3, false, 103, 50, 10, 0);
    poll_as(registry, 7, 3, false, 102, 51, 10, 0);
    poll_as(registry, 7, 3, false, 101, 52, 11, 0);
    poll_as(registry, 8, 3, false, 104, 50, 10, 0);
    static const struct {
        int32_t pid;
        size_t matched;
    } cases[] = {{0, 3}, {103, 1}, {10, 2}, {52, 1}, {104, 0}, {9, 0}};
    for (size_t i = 0; i < MS_COUNT_OF(cases); i++) {
        struct mon_request_result result = command(registry, 7, cases[i].pid, 0, KINETO);
        assert_int_equal(result.matched_count, cases[i].matched);
        assert_int_equal(result.triggered_count, 0);
        mon_request_result_free(&result);
    }
    struct mon_request none = {.job = 7, .pid_count = 0, .limit = 5, .config = KINETO, .config_b = strlen(KINETO)};
    struct mon_request_result result;
    assert_int_equal(mon_registry_request(registry, &none, &result), 0);
    assert_int_equal(result.triggered_count, 3);
    mon_request_result_free(&result);
    int32_t two[] = {103, 10}; /* both select 103: it counts once */
    struct mon_request twice = {7, two, 2, 5, KINETO, strlen(KINETO)};
    assert_int_equal(mon_registry_request(registry, &twice, &result), 0);
    assert_int_equal(result.matched_count, 2);
    assert_int_equal(result.busy, 2);
    mon_request_result_free(&result);
}

static void limit_prefers_leaves(void **state)
{
    struct mon_registry *registry = *state;
    poll_as(registry, 0, 2, false, 10, 1, 0);     /* the launcher registered first */
    poll_as(registry, 0, 2, false, 20, 10, 1, 0); /* its children are the training processes */
    poll_as(registry, 0, 2, false, 21, 10, 1, 0);
    struct mon_request_result result = command(registry, 0, 0, 2, KINETO);
    assert_int_equal(result.matched_count, 3);
    assert_int_equal(result.triggered_count, 2);
    assert_int_equal(result.triggered[0], 20);
    assert_int_equal(result.triggered[1], 21);
    assert_non_null(strstr(result.reason, "limit of 2"));
    assert_int_equal(result.decision, MON_EFFECTIVE);
    mon_request_result_free(&result);
}

static void command_is_delivered_once_and_blocks_the_next(void **state)
{
    struct mon_registry *registry = *state;
    struct mon_process *process = poll_as(registry, 0, 3, true, 100, 0);
    struct mon_request_result result = command(registry, 0, 0, 3, TRACE);
    assert_int_equal(result.decision, MON_EFFECTIVE);
    mon_request_result_free(&result);
    assert_false(mon_registry_deliverable(process, 0)); /* its profiler is busy */
    assert_false(mon_registry_deliverable(process, 1)); /* requests only events */
    assert_true(mon_registry_deliverable(process, 2));
    assert_true(mon_registry_deliverable(process, 3));
    char expected[256];
    snprintf(expected, sizeof(expected), "\n" TRACE "\nREQUEST_TRACE_ID=%llu\n", (unsigned long long)process->trace_id);
    assert_int_equal(process->pending_b, strlen(expected));
    assert_memory_equal(process->pending, expected, strlen(expected));

    result = command(registry, 0, 0, 3, TRACE);
    assert_int_equal(result.busy, 1);
    assert_int_equal(result.triggered_count, 0);
    assert_int_equal(result.decision, MON_INEFFECTIVE);
    assert_non_null(strstr(result.reason, "not fetched"));
    mon_request_result_free(&result);

    mon_registry_delivered(process);
    assert_false(mon_registry_deliverable(process, 3));
    assert_int_equal(process->stage, MON_COMMAND_DELIVERED);
    result = command(registry, 0, 0, 3, TRACE);
    assert_int_equal(result.triggered_count, 1);
    mon_request_result_free(&result);
}

static void pending_commands_can_be_cancelled(void **state)
{
    struct mon_registry *registry = *state;
    struct mon_process *process = poll_as(registry, 0, 3, true, 100, 0);
    struct mon_request_result result = command(registry, 0, 0, 3, TRACE);
    mon_request_result_free(&result);
    struct mon_request all = {.limit = 1};
    assert_int_equal(mon_registry_cancel(registry, &all, &result), 0);
    assert_int_equal(result.decision, MON_EFFECTIVE);
    assert_int_equal(result.triggered_count, 1);
    mon_request_result_free(&result);
    assert_false(mon_registry_deliverable(process, 3));
    assert_int_equal(mon_state_stage(process), MON_COMMAND_CANCELLED);
    assert_int_equal(mon_registry_cancel(registry, &all, &result), 0);
    assert_int_equal(result.decision, MON_INEFFECTIVE);
    mon_request_result_free(&result);
}

static void no_match_is_explained(void **state)
{
    struct mon_registry *registry = *state;
    struct mon_request_result result = command(registry, 0, 0, 3, KINETO);
    assert_int_equal(result.decision, MON_INEFFECTIVE);
    assert_non_null(strstr(result.reason, "MSMONITOR_USE_DAEMON=1"));
    mon_request_result_free(&result);
    poll_as(registry, 4711, 2, false, 100, 0);
    result = command(registry, 0, 0, 3, KINETO);
    assert_non_null(strstr(result.reason, "processes of job 4711"));
    mon_request_result_free(&result);
    result = command(registry, 4711, 5, 3, KINETO);
    assert_non_null(strstr(result.reason, "or a descendant"));
    mon_request_result_free(&result);
    test_now_ns += 61 * SECOND_NS;
    result = command(registry, 4711, 0, 3, KINETO);
    assert_non_null(strstr(result.reason, "stopped polling"));
    assert_int_equal(result.matched_count, 0);
    mon_request_result_free(&result);
}

/* Rows of the decision table: the last reports, and the decision for each command. -2: never reported. */
static void decisions_follow_the_table(void **state)
{
    static const struct {
        int32_t trace, monitor;
        enum mon_decision start, trace_too;
    } rows[] = {
        {-2, -2, MON_EFFECTIVE, MON_EFFECTIVE}, /* polls: Idle */
        {0, 0, MON_EFFECTIVE, MON_EFFECTIVE},     {2, 0, MON_EFFECTIVE, MON_EFFECTIVE},
        {1, 0, MON_INEFFECTIVE, MON_EFFECTIVE},   {0, 1, MON_EFFECTIVE, MON_INEFFECTIVE},
        {1, 1, MON_INEFFECTIVE, MON_INEFFECTIVE}, {-1, -1, MON_INEFFECTIVE, MON_INEFFECTIVE},
        {0, -1, MON_INEFFECTIVE, MON_UNKNOWN},    {-1, 0, MON_UNKNOWN, MON_INEFFECTIVE},
        {9, 0, MON_UNKNOWN, MON_EFFECTIVE},       {0, 9, MON_EFFECTIVE, MON_UNKNOWN},
        {0, -2, MON_EFFECTIVE, MON_EFFECTIVE}, /* the daemon was restarted: the monitor does not report again */
    };
    for (size_t i = 0; i < MS_COUNT_OF(rows); i++) {
        registry_teardown(state);
        registry_setup(state);
        struct mon_registry *registry = *state;
        poll_as(registry, 0, 3, true, 100, 0);
        if (rows[i].trace != -2) {
            report_as(registry, 100, MON_FABRIC_TRACE_STATUS, rows[i].trace);
        }
        if (rows[i].monitor != -2) {
            report_as(registry, 100, MON_FABRIC_MONITOR_STATUS, rows[i].monitor);
        }
        assert_int_equal(decision(registry, MONITOR_START), rows[i].start);
        assert_int_equal(decision(registry, TRACE), rows[i].trace_too);
        assert_int_equal(decision(registry, KINETO), MON_EFFECTIVE);
    }
}

static void one_refusing_process_does_not_stop_the_others(void **state)
{
    struct mon_registry *registry = *state;
    poll_as(registry, 0, 3, true, 100, 0);
    poll_as(registry, 0, 3, true, 101, 0);
    report_as(registry, 100, MON_FABRIC_MONITOR_STATUS, MON_STATE_RUNNING);
    struct mon_request_result result = command(registry, 0, 0, 3, TRACE);
    assert_int_equal(result.decision, MON_EFFECTIVE);
    assert_int_equal(result.matched_count, 2);
    assert_int_equal(result.triggered_count, 1);
    assert_int_equal(result.triggered[0], 101);
    assert_int_equal(result.refused, 1);
    mon_request_result_free(&result);
}

static void reports_of_the_parent_apply_to_the_child_that_polls(void **state)
{
    struct mon_registry *registry = *state;
    struct mon_process *helper = poll_as(registry, 0, 3, true, 200, 100, 50, 0);
    struct mon_process *parent = report_as(registry, 100, MON_FABRIC_TRACE_STATUS, MON_STATE_READY);
    assert_ptr_equal(mon_registry_reporter(helper), parent);
    assert_int_equal(mon_state_trace(helper, test_now_ns), MON_STATE_READY);
    report_as(registry, 100, MON_FABRIC_TRACE_STATUS, MON_STATE_RUNNING);
    assert_int_equal(decision(registry, MONITOR_START), MON_INEFFECTIVE);
    /* One row for both. */
    json_t *status = mon_state_json(registry);
    json_t *job = json_array_get(json_object_get(status, "jobs"), 0);
    assert_int_equal(json_array_size(json_object_get(job, "processes")), 1);
    assert_string_equal(json_string_value(json_object_get(job, "nputrace")), "Running");
    json_decref(status);
}

static void stages_follow_what_npu_clients_report(void **state)
{
    struct mon_registry *registry = *state;
    struct mon_process *helper = poll_as(registry, 0, 3, true, 200, 100, 0);
    report_as(registry, 100, MON_FABRIC_TRACE_STATUS, MON_STATE_IDLE);
    struct mon_request_result result = command(registry, 0, 0, 3, TRACE);
    mon_request_result_free(&result);
    assert_int_equal(mon_state_stage(helper), MON_COMMAND_PENDING);
    mon_registry_delivered(helper);
    static const struct {
        int32_t report;
        enum mon_command_stage stage;
    } steps[] = {{MON_STATE_IDLE, MON_COMMAND_DELIVERED}, /* has not seen it yet */
                 {MON_STATE_READY, MON_COMMAND_ACKNOWLEDGED},
                 {MON_STATE_RUNNING, MON_COMMAND_ACKNOWLEDGED},
                 {MON_STATE_IDLE, MON_COMMAND_COMPLETED},
                 {MON_STATE_IDLE, MON_COMMAND_COMPLETED}};
    for (size_t i = 0; i < MS_COUNT_OF(steps); i++) {
        test_now_ns += SECOND_NS;
        report_as(registry, 100, MON_FABRIC_TRACE_STATUS, steps[i].report);
        assert_int_equal(mon_state_stage(helper), steps[i].stage);
    }
}

static void stages_follow_the_masks_of_libkineto(void **state)
{
    struct mon_registry *registry = *state;
    struct mon_process *process = poll_as(registry, 0, 2, false, 200, 0);
    assert_int_equal(process->client, MON_CLIENT_KINETO);
    struct mon_request_result result = command(registry, 0, 0, 3, KINETO);
    mon_request_result_free(&result);
    mon_registry_delivered(process);
    static const struct {
        int32_t mask;
        enum mon_command_stage stage;
    } polls[] = {{2, MON_COMMAND_DELIVERED},
                 {0, MON_COMMAND_ACKNOWLEDGED},
                 {0, MON_COMMAND_ACKNOWLEDGED},
                 {2, MON_COMMAND_COMPLETED}};
    for (size_t i = 0; i < MS_COUNT_OF(polls); i++) {
        test_now_ns += 5 * SECOND_NS;
        poll_as(registry, 0, polls[i].mask, false, 200, 0);
        assert_int_equal(mon_state_stage(process), polls[i].stage);
    }
}

static void monitor_ends_after_its_duration(void **state)
{
    struct mon_registry *registry = *state;
    struct mon_process *process = poll_as(registry, 0, 3, true, 100, 0);
    struct mon_request_result result =
        command(registry, 0, 0, 3, "NPU_MONITOR_START=true\nNPU_MONITOR_STOP=false\nDURATION=10.5\n");
    mon_request_result_free(&result);
    mon_registry_delivered(process);
    assert_int_equal(process->duration_ns, 10 * SECOND_NS + SECOND_NS / 2);
    report_as(registry, 100, MON_FABRIC_MONITOR_STATUS, MON_STATE_RUNNING);
    assert_int_equal(decision(registry, TRACE), MON_INEFFECTIVE);
    /* A change while it runs does not affect its duration. */
    result = command(registry, 0, 0, 3, "NPU_MONITOR_START=false\nNPU_MONITOR_STOP=false\nDURATION=0\n");
    mon_request_result_free(&result);
    mon_registry_delivered(process);
    test_now_ns += 5 * SECOND_NS;
    report_as(registry, 100, MON_FABRIC_MONITOR_STATUS, MON_STATE_RUNNING);
    assert_int_equal(mon_state_monitor(process, test_now_ns), MON_STATE_RUNNING);
    test_now_ns += 8 * SECOND_NS;
    assert_int_equal(mon_state_monitor(process, test_now_ns), MON_STATE_IDLE);
    poll_as(registry, 0, 3, true, 100, 0);
    assert_int_equal(decision(registry, TRACE), MON_EFFECTIVE);
}

static void long_silent_trace_is_uncertain(void **state)
{
    struct mon_registry *registry = *state;
    poll_as(registry, 0, 3, true, 100, 0);
    report_as(registry, 100, MON_FABRIC_TRACE_STATUS, MON_STATE_RUNNING);
    for (int i = 0; i < 13; i++) {
        test_now_ns += 50 * SECOND_NS;
        poll_as(registry, 0, 3, true, 100, 0);
    }
    assert_int_equal(decision(registry, MONITOR_START), MON_UNKNOWN);
}

static void silent_processes_expire(void **state)
{
    struct mon_registry *registry = *state;
    poll_as(registry, 1, 3, true, 100, 0);
    test_now_ns += 59 * SECOND_NS;
    poll_as(registry, 1, 3, true, 101, 0);
    mon_registry_expire(registry);
    assert_int_equal(mon_registry_count(registry), 2);
    test_now_ns += 2 * SECOND_NS;
    mon_registry_expire(registry);
    assert_int_equal(mon_registry_count(registry), 1);
    test_now_ns += 61 * SECOND_NS;
    mon_registry_expire(registry);
    assert_int_equal(mon_registry_count(registry), 0);
    assert_null(mon_registry_first(registry));
    assert_null(mon_registry_jobs(registry));
}

static void slow_pollers_do_not_expire_early(void **state)
{
    struct mon_registry *registry = *state;
    struct mon_process *process = poll_as(registry, 1, 2, false, 100, 0);
    test_now_ns += 50 * SECOND_NS;
    poll_as(registry, 1, 2, false, 100, 0);
    test_now_ns += 100 * SECOND_NS;
    assert_false(mon_registry_silent(process, test_now_ns));
    mon_registry_expire(registry);
    assert_int_equal(mon_registry_count(registry), 1);
    test_now_ns += 51 * SECOND_NS;
    assert_true(mon_registry_silent(process, test_now_ns));
}

static void tight_poll_loops_are_rate_limited(void **state)
{
    struct mon_registry *registry = *state;
    struct mon_process *process = poll_as(registry, 0, 3, true, 100, 0);
    for (int i = 0; i < 1000; i++) { /* 100 per second for ten seconds: always answered */
        test_now_ns += SECOND_NS / 100;
        assert_true(mon_registry_may_reply(process));
    }
    int answered = 0;
    for (int i = 0; i < 100000; i++) { /* 10,000 per second */
        test_now_ns += SECOND_NS / 10000;
        answered += mon_registry_may_reply(process);
    }
    assert_in_range(answered, 2000, 2300);
}

static void contexts_count_instances(void **state)
{
    struct mon_registry *registry = *state;
    enum mon_registry_fault fault;
    for (int32_t pid = 100; pid < 103; pid++) {
        struct mon_peer peer = {0, 1000, (uint64_t)pid};
        struct mon_process *process = mon_registry_enter(registry, 42, pid, &peer, &fault);
        assert_int_equal(mon_registry_context(process, 0, false), pid - 99);
        assert_int_equal(mon_registry_context(process, 0, false), pid - 99); /* again: not a new instance */
    }
    struct mon_peer peer = {0, 1000, 103};
    struct mon_process *process = mon_registry_enter(registry, 42, 103, &peer, &fault);
    assert_int_equal(mon_registry_context(process, 1, true), 1);
    assert_int_equal(process->rank, 1);
    struct mon_request_result result = command(registry, 42, 0, 10, KINETO);
    assert_int_equal(result.matched_count, 0); /* a context alone is not a poll */
    mon_request_result_free(&result);
}

/* ---- real processes ---- */

static pid_t child_of(uid_t uid)
{
    int ready[2];
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        if (uid != 0 && setuid(uid) != 0) {
            _exit(1);
        }
        close(ready[0]);
        close(ready[1]); /* the parent sees end of file once the user has changed */
        pause();
        _exit(0);
    }
    close(ready[1]);
    char byte;
    assert_int_equal(read(ready[0], &byte, 1), 0);
    close(ready[0]);
    return pid;
}

static void end_child(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static void pids_of_other_users_are_refused(void **state)
{
    struct mon_registry *registry = *state;
    enum mon_registry_fault fault;
    struct mon_peer self = {(int32_t)getpid(), getuid(), 1};
    assert_non_null(mon_registry_enter(registry, 0, self.pid, &self, &fault));
    assert_null(mon_registry_enter(registry, 0, 0x3fffffff, &self, &fault));
    assert_int_equal(fault, MON_REGISTRY_FAULT_PID);
    if (getuid() == 0) {
        pid_t other = child_of(65534);
        assert_null(mon_registry_enter(registry, 0, other, &self, &fault));
        assert_int_equal(fault, MON_REGISTRY_FAULT_PID);
        end_child(other);
    }
    pid_t own = child_of(0); /* same user: it may act for it */
    struct mon_process *process = mon_registry_enter(registry, 0, own, &self, &fault);
    assert_non_null(process);
    assert_int_equal(process->host_pid, own);
    assert_ptr_equal(mon_registry_enter(registry, 0, own, &self, &fault), process);
    end_child(own);
}

static void end_of_a_process_is_detected_at_once(void **state)
{
    struct mon_registry *registry = *state;
    enum mon_registry_fault fault;
    pid_t pid = child_of(0);
    struct mon_peer peer = {pid, getuid(), 5};
    struct mon_process *process = mon_registry_enter(registry, 3, pid, &peer, &fault);
    assert_non_null(process);
    assert_int_not_equal(process->start_ticks, 0);
    struct pollfd watch = {mon_registry_watch_fd(registry), POLLIN, 0};
    assert_int_equal(poll(&watch, 1, 0), 0);
    end_child(pid);
    assert_int_equal(poll(&watch, 1, 5000), 1);
    mon_registry_remove_ended(registry);
    assert_int_equal(mon_registry_count(registry), 0);
    assert_int_equal(poll(&watch, 1, 0), 0);
}

/* Its last messages may be read after its end was detected: they must not register it again. */
static void ended_processes_do_not_register(void **state)
{
    struct mon_registry *registry = *state;
    enum mon_registry_fault fault;
    pid_t pid = child_of(0);
    struct mon_peer peer = {pid, getuid(), 5};
    end_child(pid);
    assert_null(mon_registry_enter(registry, 3, pid, &peer, &fault));
    assert_int_equal(fault, MON_REGISTRY_FAULT_ENDED);
    assert_int_equal(mon_registry_count(registry), 0);
}

static void sender_is_found_through_its_child(void **state)
{
    struct mon_registry *registry = *state;
    enum mon_registry_fault fault;
    pid_t pid = child_of(0);
    struct mon_peer peer = {pid, getuid(), 5};
    struct mon_process *process = mon_registry_enter(registry, 3, pid, &peer, &fault);
    struct mon_fabric_request request = {3, 3, 2, {pid, (int32_t)getpid()}};
    assert_null(mon_registry_find(registry, (int32_t)getppid()));
    assert_ptr_equal(mon_registry_find(registry, pid), process);
    mon_registry_poll(process, &request, true);
    assert_ptr_equal(mon_registry_find(registry, (int32_t)getpid()), process);
    end_child(pid);
}

static void number_of_processes_is_limited(void **state)
{
    struct mon_registry *registry = *state;
    enum mon_registry_fault fault;
    for (int32_t pid = 1; pid <= MON_REGISTRY_MAX / 2; pid++) {
        struct mon_peer peer = {0, 1000, (uint64_t)pid};
        assert_non_null(mon_registry_enter(registry, pid % 100, pid, &peer, &fault));
    }
    struct mon_peer greedy = {0, 1000, 1u << 30}, other = {0, 1001, 1u << 30};
    assert_null(mon_registry_enter(registry, 0, 99999, &greedy, &fault));
    assert_int_equal(fault, MON_REGISTRY_FAULT_FULL);
    assert_non_null(mon_registry_enter(registry, 0, 99999, &other, &fault)); /* a user cannot lock out another one */
}

static void one_process_cannot_register_unlimited_jobs(void **state)
{
    struct mon_registry *registry = *state;
    enum mon_registry_fault fault;
    struct mon_peer self = {(int32_t)getpid(), getuid(), 1};
    for (int64_t job = 0; job < 8; job++) {
        assert_non_null(mon_registry_enter(registry, job, self.pid, &self, &fault));
    }
    assert_null(mon_registry_enter(registry, 8, self.pid, &self, &fault));
    assert_int_equal(fault, MON_REGISTRY_FAULT_FULL);
    assert_non_null(mon_registry_enter(registry, 7, self.pid, &self, &fault));
}

/* ---- the status object ---- */

static void status_without_jobs_matches_the_documentation(void **state)
{
    json_t *status = mon_state_json(*state);
    char *text = json_dumps(status, JSON_COMPACT | JSON_SORT_KEYS);
    assert_string_equal(text, "{\"current_step\":-1,\"jobs\":[],\"npumonitor\":\"Uninitialized\","
                              "\"nputrace\":\"Uninitialized\",\"status\":1}");
    free(text);
    json_decref(status);
}

static void status_shows_the_most_recent_job_and_lists_all(void **state)
{
    struct mon_registry *registry = *state;
    poll_as(registry, 0, 3, true, 100, 0);
    report_as(registry, 100, MON_FABRIC_TRACE_STATUS, MON_STATE_READY);
    test_now_ns += SECOND_NS;
    poll_as(registry, 9, 2, false, 300, 0);
    json_t *status = mon_state_json(registry);
    assert_string_equal(json_string_value(json_object_get(status, "nputrace")), "Idle"); /* of job 9, the latest */
    assert_null(json_object_get(status, "start_step"));
    json_decref(status);
    test_now_ns += SECOND_NS;
    report_as(registry, 100, MON_FABRIC_TRACE_STATUS, MON_STATE_READY);
    status = mon_state_json(registry);
    assert_string_equal(json_string_value(json_object_get(status, "nputrace")), "Ready");
    assert_string_equal(json_string_value(json_object_get(status, "npumonitor")), "Idle");
    assert_int_equal(json_integer_value(json_object_get(status, "current_step")), 4);
    assert_int_equal(json_integer_value(json_object_get(status, "start_step")), 5);
    assert_int_equal(json_integer_value(json_object_get(status, "stop_step")), 10);
    assert_int_equal(json_integer_value(json_object_get(status, "status")), 1);
    assert_int_equal(json_array_size(json_object_get(status, "jobs")), 2);
    json_t *job = json_array_get(json_object_get(status, "jobs"), 1);
    json_t *process = json_array_get(json_object_get(job, "processes"), 0);
    assert_int_equal(json_integer_value(json_object_get(job, "job_id")), 9);
    assert_string_equal(json_string_value(json_object_get(process, "client")), "kineto");
    json_decref(status);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, registry_setup, registry_teardown)
    const struct CMUnitTest tests[] = {
        CASE(pids_select_processes_and_their_descendants),
        CASE(limit_prefers_leaves),
        CASE(command_is_delivered_once_and_blocks_the_next),
        CASE(pending_commands_can_be_cancelled),
        CASE(no_match_is_explained),
        CASE(decisions_follow_the_table),
        CASE(one_refusing_process_does_not_stop_the_others),
        CASE(reports_of_the_parent_apply_to_the_child_that_polls),
        CASE(stages_follow_what_npu_clients_report),
        CASE(stages_follow_the_masks_of_libkineto),
        CASE(monitor_ends_after_its_duration),
        CASE(long_silent_trace_is_uncertain),
        CASE(silent_processes_expire),
        CASE(slow_pollers_do_not_expire_early),
        CASE(tight_poll_loops_are_rate_limited),
        CASE(contexts_count_instances),
        CASE(pids_of_other_users_are_refused),
        CASE(end_of_a_process_is_detected_at_once),
        CASE(ended_processes_do_not_register),
        CASE(sender_is_found_through_its_child),
        CASE(number_of_processes_is_limited),
        CASE(one_process_cannot_register_unlimited_jobs),
        CASE(status_without_jobs_matches_the_documentation),
        CASE(status_shows_the_most_recent_job_and_lists_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
