/* SPDX-License-Identifier: Apache-2.0 */
/* A registry with a clock controlled by the test, and processes that need not exist (they are outside our pid
 * namespace, so they are not verified). */
#ifndef NPUSCOPE_TESTS_MONITOR_REGISTRY_H
#define NPUSCOPE_TESTS_MONITOR_REGISTRY_H

#include "monitor/daemon/logger.h"
#include "monitor/daemon/registry_internal.h"
#include "monitor/daemon/state.h"

#include <stdio.h>
#include <string.h>

#define SECOND_NS 1000000000ull

static uint64_t test_now_ns;

static inline uint64_t test_clock(void)
{
    return test_now_ns;
}

static int registry_setup(void **state)
{
    test_now_ns = 1000 * SECOND_NS;
    mon_log_open(&(struct mon_log_options){.file = "/dev/null"});
    mon_log_started();
    struct mon_registry *registry = mon_registry_new("node");
    mon_registry_set_clock(registry, test_clock);
    *state = registry;
    return 0;
}

static int registry_teardown(void **state)
{
    mon_registry_free(*state);
    mon_log_close();
    return 0;
}

/* Registers a process that polls: pid, then its ancestors, terminated by 0. */
static inline struct mon_process *poll_as(struct mon_registry *registry, int64_t job, int32_t mask, bool npu, ...)
    __attribute__((unused));
static inline struct mon_process *poll_as(struct mon_registry *registry, int64_t job, int32_t mask, bool npu, ...)
{
    struct mon_fabric_request request = {.mask = mask, .job = job};
    va_list pids;
    va_start(pids, npu);
    for (int32_t pid; (pid = va_arg(pids, int32_t)) != 0;) {
        request.pids[request.count++] = pid;
    }
    va_end(pids);
    struct mon_peer peer = {0, 1000, (uint64_t)(uint32_t)request.pids[0]};
    enum mon_registry_fault fault;
    struct mon_process *process = mon_registry_enter(registry, job, request.pids[0], &peer, &fault);
    assert_non_null(process);
    mon_registry_poll(process, &request, npu);
    return process;
}

static inline struct mon_process *report_as(struct mon_registry *registry, int32_t pid, enum mon_fabric_type type,
                                            int32_t status)
{
    struct mon_fabric_status report = {status, 4, 5, 10, pid, 0, true};
    struct mon_peer peer = {0, 1000, (uint64_t)(uint32_t)pid};
    enum mon_registry_fault fault;
    struct mon_process *process = mon_registry_enter(registry, 0, pid, &peer, &fault);
    assert_non_null(process);
    mon_registry_report(process, type, &report);
    return process;
}

#endif
