/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/macros.h"
#include "monitor/daemon/persist.h"
#include "monitor_registry.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define CONFIG "NPU_MONITOR_START=true\nDURATION=60"

/* This process, registered, with a pending command and reports. */
static struct mon_process *sample(struct mon_registry *registry)
{
    enum mon_registry_fault fault;
    struct mon_peer peer = {(int32_t)getpid(), getuid(), 77};
    struct mon_process *process = mon_registry_enter(registry, -5, peer.pid, &peer, &fault);
    assert_non_null(process);
    struct mon_fabric_request request = {3, -5, 2, {peer.pid, (int32_t)getppid()}};
    mon_registry_poll(process, &request, true);
    mon_registry_report(process, MON_FABRIC_TRACE_STATUS, &(struct mon_fabric_status){2, 4, 5, 10, peer.pid, -5, true});
    mon_registry_report(process, MON_FABRIC_MONITOR_STATUS,
                        &(struct mon_fabric_status){1, -1, -1, -1, peer.pid, -5, true});
    assert_int_equal(mon_registry_queue_command(process, MON_REQUEST_NPU_MONITOR, CONFIG, strlen(CONFIG)), 0);
    return process;
}

static void new_daemon_restores_the_state(void **state)
{
    struct ms_buffer text = {NULL, 0, 0, false};
    struct mon_process *old = sample(*state);
    mon_persist_write(*state, "boot", &text);
    struct mon_registry *fresh = mon_registry_new("node");
    mon_registry_set_clock(fresh, test_clock);
    test_now_ns += 5 * SECOND_NS;
    assert_int_equal(mon_persist_read(fresh, "boot", text.s, text.used), 1);
    struct mon_process *process = mon_registry_first(fresh);
    assert_int_equal(process->job, -5);
    assert_int_equal(process->pid_count, 2);
    assert_int_equal(process->pids[1], getppid());
    assert_int_equal(process->trace.status, MON_STATE_READY);
    assert_int_equal(process->trace.stop_step, 10);
    assert_int_equal(process->monitor.status, MON_STATE_RUNNING);
    assert_int_equal(process->client, MON_CLIENT_NPU_STEPS);
    assert_int_equal(mon_state_stage(process), MON_COMMAND_PENDING);
    assert_true(process->trace_id == old->trace_id);
    assert_int_equal(process->pending_b, old->pending_b);
    assert_memory_equal(process->pending, old->pending, old->pending_b);
    /* The next poll finds the process and its command. */
    enum mon_registry_fault fault;
    struct mon_peer peer = {(int32_t)getpid(), getuid(), 77};
    assert_ptr_equal(mon_registry_enter(fresh, -5, peer.pid, &peer, &fault), process);
    assert_true(mon_registry_deliverable(process, 3));
    mon_registry_free(fresh);
    ms_buffer_free(&text);
}

static void ended_processes_are_not_restored(void **state)
{
    struct ms_buffer text = {NULL, 0, 0, false};
    enum mon_registry_fault fault;
    pid_t child = fork();
    if (child == 0) {
        pause();
        _exit(0);
    }
    struct mon_peer peer = {child, getuid(), 1};
    struct mon_process *process = mon_registry_enter(*state, 0, child, &peer, &fault);
    assert_int_equal(mon_registry_queue_command(process, MON_REQUEST_KINETO, "A=1", 3), 0);
    sample(*state);
    mon_persist_write(*state, "boot", &text);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    struct mon_registry *fresh = mon_registry_new("node");
    assert_int_equal(mon_persist_read(fresh, "boot", text.s, text.used), 1);
    assert_int_equal(mon_registry_count(fresh), 1);
    assert_int_equal(mon_registry_first(fresh)->pid, getpid());
    mon_registry_free(fresh);
    ms_buffer_free(&text);
}

static void state_of_another_boot_is_ignored(void **state)
{
    struct ms_buffer text = {NULL, 0, 0, false};
    sample(*state);
    mon_persist_write(*state, "boot", &text);
    struct mon_registry *fresh = mon_registry_new("node");
    assert_int_equal(mon_persist_read(fresh, "other", text.s, text.used), 0);
    assert_int_equal(mon_registry_count(fresh), 0);
    mon_registry_free(fresh);
    ms_buffer_free(&text);
}

static void damaged_file_is_handled(void **state)
{
    struct ms_buffer text = {NULL, 0, 0, false};
    sample(*state);
    mon_persist_write(*state, "boot", &text);
    for (size_t cut = 0; cut < text.used; cut++) {
        char *copy = malloc(cut + 1);
        memcpy(copy, text.s, cut);
        struct mon_registry *fresh = mon_registry_new("node");
        int result = mon_persist_read(fresh, "boot", copy, cut);
        assert_true(result == -EBADMSG || result == 0 || result == 1);
        mon_registry_free(fresh);
        free(copy);
    }
    srand(1);
    for (int i = 0; i < 3000; i++) {
        char *copy = malloc(text.used);
        memcpy(copy, text.s, text.used);
        for (int k = 0; k < 3; k++) {
            copy[(size_t)rand() % text.used] = " 0123456789-\nx"[rand() % 14];
        }
        struct mon_registry *fresh = mon_registry_new("node");
        mon_persist_read(fresh, "boot", copy, text.used);
        json_decref(mon_state_json(fresh));
        mon_registry_free(fresh);
        free(copy);
    }
    ms_buffer_free(&text);
}

static void files_of_other_users_are_refused(void **state)
{
    char path[] = "/tmp/persist_test_XXXXXX", alias[64];
    close(mkstemp(path));
    sample(*state);
    struct mon_registry *fresh = mon_registry_new("node");
    assert_int_equal(mon_persist_save(*state, path), 0);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(chmod(path, 0666), 0);
    assert_int_equal(mon_persist_load(fresh, path), -EPERM);
    assert_int_equal(chmod(path, 0600), 0);
    snprintf(alias, sizeof(alias), "%s.link", path);
    assert_int_equal(symlink(path, alias), 0);
    assert_int_equal(mon_persist_load(fresh, alias), -ELOOP);
    if (getuid() == 0) {
        assert_int_equal(chown(path, 65534, 65534), 0);
        assert_int_equal(mon_persist_load(fresh, path), -EPERM);
        assert_int_equal(chown(path, 0, 0), 0);
    }
    assert_int_equal(mon_persist_load(fresh, path), 1);
    assert_int_equal(mon_persist_load(fresh, "/does/not/exist"), -ENOENT);
    assert_int_equal(mon_persist_save(*state, "/does/not/exist"), -ENOENT);
    mon_registry_free(fresh);
    unlink(alias);
    unlink(path);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, registry_setup, registry_teardown)
    const struct CMUnitTest tests[] = {
        CASE(new_daemon_restores_the_state),    CASE(ended_processes_are_not_restored),
        CASE(state_of_another_boot_is_ignored), CASE(damaged_file_is_handled),
        CASE(files_of_other_users_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
