/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon with clients of every version, over its sockets; with a sanitizer if the build has one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/macros.h"
#include "dynolog_rig.h"

#include <sys/stat.h>

#define KINETO "ACTIVITIES_LOG_FILE=/tmp/x.json\nPROFILE_START_TIME=0\nACTIVITIES_DURATION_MSECS=500"
#define TRACE  "ACTIVITIES_LOG_FILE=/tmp/x\nPROFILE_START_STEP=10\nPROFILE_RECORD_SHAPES=false"
#define START  "NPU_MONITOR_START=true\nNPU_MONITOR_STOP=false\nREPORT_INTERVAL_S=60\nDURATION=0"

enum { REPLY_MS = 5000, NEVER_MS = 150 };

static int setup(void **state)
{
    struct rig *rig = calloc(1, sizeof(*rig));
    *state = rig;
    rig_start(rig, NULL);
    return 0;
}

static int teardown(void **state)
{
    rig_stop(*state);
    free(*state);
    return 0;
}

static void send_status(const struct rig *rig, int fd, enum door door, enum mon_fabric_type type, int32_t status,
                        bool steps)
{
    char datagram[128];
    struct mon_fabric_status report = {status, 3, 10, 12, (int32_t)getpid(), 0, steps};
    client_send(rig, fd, door, datagram, mon_fabric_write_status(datagram, type, &report));
}

static void send_context(const struct rig *rig, int fd, enum door door, int32_t index)
{
    char datagram[128];
    struct mon_fabric_context context = {index, (int32_t)getpid(), 0};
    client_send(rig, fd, door, datagram, mon_fabric_write_context(datagram, &context));
}

/* A text of the status object, read after everything sent before has been handled. */
static char *status_text(const struct rig *rig, const char *key)
{
    static char text[64];
    int fd = client_open(rig, false);
    client_poll(rig, fd, ABSTRACT, 2, 999, (int32_t)getpid(), REPLY_MS); /* goes through the same queue */
    close(fd);
    json_t *status = rig_rpc(rig, json_pack("{ss}", "fn", "getStatus"));
    json_t *job = NULL;
    for (size_t i = 0; i < json_array_size(json_object_get(status, "jobs")); i++) {
        json_t *at = json_array_get(json_object_get(status, "jobs"), i);
        job = json_integer_value(json_object_get(at, "job_id")) == 0 ? at : job;
    }
    snprintf(text, sizeof(text), "%s", json_string_value(json_object_get(job, key)));
    json_decref(status);
    return text;
}

static const char *decision(const struct rig *rig, const char *config)
{
    static char text[32];
    json_t *answer = rig_command(rig, 0, config, 10);
    snprintf(text, sizeof(text), "%s", json_string_value(json_object_get(answer, "commandStatus")));
    json_decref(answer);
    return text;
}

static void kineto_client_gets_its_command(void **state)
{
    const struct rig *rig = *state;
    static const enum door doors[] = {ABSTRACT, DIRECTORY};
    for (size_t i = 0; i < MS_COUNT_OF(doors); i++) {
        int fd = client_open(rig, doors[i] == DIRECTORY);
        assert_string_equal(client_poll(rig, fd, doors[i], 2, 42, (int32_t)getpid(), REPLY_MS), "");
        json_t *answer = rig_command(rig, 42, KINETO, 3);
        assert_string_equal(json_string_value(json_object_get(answer, "commandStatus")), "effective");
        json_t *triggered = json_object_get(answer, "activityProfilersTriggered");
        assert_int_equal(json_integer_value(json_array_get(triggered, 0)), getpid());
        json_decref(answer);
        assert_string_equal(client_poll(rig, fd, doors[i], 0, 42, (int32_t)getpid(), REPLY_MS), ""); /* busy */
        const char *text = client_poll(rig, fd, doors[i], 2, 42, (int32_t)getpid(), REPLY_MS);
        assert_memory_equal(text, "\n" KINETO "\nREQUEST_TRACE_ID=", strlen("\n" KINETO "\nREQUEST_TRACE_ID="));
        assert_int_equal(text[strlen(text) - 1], '\n');
        assert_string_equal(client_poll(rig, fd, doors[i], 2, 42, (int32_t)getpid(), REPLY_MS), "");
        close(fd);
    }
}

static void contexts_are_answered_only_to_clients_that_read(void **state)
{
    const struct rig *rig = *state;
    char reply[128];
    int fd = client_open(rig, false);
    send_context(rig, fd, ABSTRACT, 0);
    assert_int_equal(client_receive(rig, fd, ABSTRACT, reply, sizeof(reply), REPLY_MS), 44);
    assert_memory_equal(reply, "\4\0\0\0\0\0\0\0ctxt", 12);
    assert_memory_equal(reply + 40, "\1\0\0\0", 4);
    /* A client of the file socket: the first reply it reads is that to its first poll. */
    send_context(rig, fd, HOME, 0);
    assert_string_equal(client_poll(rig, fd, HOME, 3, 0, (int32_t)getpid(), REPLY_MS), "");
    assert_string_equal(decision(rig, TRACE), "effective");
    assert_non_null(strstr(client_poll(rig, fd, HOME, 3, 0, (int32_t)getpid(), REPLY_MS), "PROFILE_START_STEP=10"));
    assert_int_equal(client_receive(rig, fd, HOME, reply, sizeof(reply), NEVER_MS), -1);
    close(fd);
}

static void npu_client_passes_through_its_states(void **state)
{
    const struct rig *rig = *state;
    int fd = client_open(rig, false);
    send_context(rig, fd, HOME, 3);
    client_poll(rig, fd, HOME, 3, 0, (int32_t)getpid(), REPLY_MS);
    send_status(rig, fd, HOME, MON_FABRIC_TRACE_STATUS, 0, true);
    send_status(rig, fd, HOME, MON_FABRIC_MONITOR_STATUS, 0, true);
    assert_string_equal(status_text(rig, "nputrace"), "Idle");
    assert_string_equal(decision(rig, START), "effective");
    assert_non_null(strstr(client_poll(rig, fd, HOME, 3, 0, (int32_t)getpid(), REPLY_MS), "NPU_MONITOR_START=true"));
    send_status(rig, fd, HOME, MON_FABRIC_MONITOR_STATUS, 1, true);
    assert_string_equal(status_text(rig, "npumonitor"), "Running");
    assert_string_equal(decision(rig, TRACE), "ineffective");
    send_status(rig, fd, HOME, MON_FABRIC_MONITOR_STATUS, 0, true);
    send_status(rig, fd, HOME, MON_FABRIC_TRACE_STATUS, 2, true);
    assert_string_equal(status_text(rig, "nputrace"), "Ready");
    assert_string_equal(decision(rig, TRACE), "effective");
    client_poll(rig, fd, HOME, 3, 0, (int32_t)getpid(), REPLY_MS);
    send_status(rig, fd, HOME, MON_FABRIC_TRACE_STATUS, 1, true);
    assert_string_equal(status_text(rig, "nputrace"), "Running");
    assert_string_equal(decision(rig, START), "ineffective");
    send_status(rig, fd, HOME, MON_FABRIC_TRACE_STATUS, -1, true);
    send_status(rig, fd, HOME, MON_FABRIC_MONITOR_STATUS, -1, true);
    assert_string_equal(status_text(rig, "nputrace"), "Uninitialized");
    assert_string_equal(decision(rig, START), "ineffective");
    close(fd);
}

static void short_status_messages_of_older_clients_are_accepted(void **state)
{
    const struct rig *rig = *state;
    int fd = client_open(rig, false);
    client_poll(rig, fd, ABSTRACT, 3, 0, (int32_t)getpid(), REPLY_MS);
    assert_string_equal(status_text(rig, "npumonitor"), "Idle"); /* 8.1 never reports */
    send_status(rig, fd, ABSTRACT, MON_FABRIC_MONITOR_STATUS, 1, false);
    assert_string_equal(status_text(rig, "npumonitor"), "Running");
    assert_string_equal(decision(rig, TRACE), "ineffective");
    send_status(rig, fd, ABSTRACT, MON_FABRIC_MONITOR_STATUS, 0, false);
    assert_string_equal(decision(rig, TRACE), "effective");
    close(fd);
}

/* A child that polls once and then waits until it is released. */
static pid_t child_client(const struct rig *rig, int64_t job)
{
    int ready[2];
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        int fd = client_open(rig, false);
        bool answered = client_poll(rig, fd, ABSTRACT, 2, job, (int32_t)getpid(), REPLY_MS) != NO_ANSWER;
        ssize_t ignored = write(ready[1], answered ? "y" : "n", 1);
        (void)ignored;
        pause();
        _exit(0);
    }
    char answered = 'n';
    assert_int_equal(read(ready[0], &answered, 1), 1);
    assert_int_equal(answered, 'y');
    close(ready[0]);
    close(ready[1]);
    return pid;
}

static size_t jobs_there(const struct rig *rig)
{
    json_t *status = rig_rpc(rig, json_pack("{ss}", "fn", "getStatus"));
    size_t count = json_array_size(json_object_get(status, "jobs"));
    json_decref(status);
    return count;
}

static void killed_client_is_removed_with_its_command(void **state)
{
    const struct rig *rig = *state;
    pid_t pid = child_client(rig, 5);
    json_t *answer = rig_command(rig, 5, KINETO, 3);
    assert_string_equal(json_string_value(json_object_get(answer, "commandStatus")), "effective");
    json_decref(answer);
    assert_int_equal(jobs_there(rig), 1);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    uint64_t deadline = ms_clock_raw_ns() + 10000000000ull;
    while (jobs_there(rig) != 0 && ms_clock_raw_ns() < deadline) {
    }
    assert_int_equal(jobs_there(rig), 0);
}

/* ---- untrusted input ---- */

static void invalid_datagrams_are_refused(void **state)
{
    const struct rig *rig = *state;
    int fd = client_open(rig, false);
    char good[256], bytes[256];
    size_t length = make_request(good, 2, 0, (int32_t)getpid(), 1);
    srand(7);
    for (size_t cut = 0; cut <= length; cut++) {
        client_send(rig, fd, ABSTRACT, good, cut);
    }
    for (int i = 0; i < 400; i++) {
        memcpy(bytes, good, length);
        for (int k = rand() % 4; k >= 0; k--) {
            bytes[(size_t)rand() % length] = (char)rand();
        }
        client_send(rig, fd, (enum door)(rand() % 6), bytes, length);
    }
    static char huge[200000];
    client_send(rig, fd, ABSTRACT_DATA, huge, 150000);
    mon_fabric_head(huge, MON_FABRIC_OPSTATS, 60000);
    client_send(rig, fd, HOME_DATA, huge, 60040);
    mon_fabric_head(huge, MON_FABRIC_DATA, 10000);
    memset(huge + 40, '[', 10000);
    client_send(rig, fd, ABSTRACT_DATA, huge, 10040);
    close(fd);
    fd = client_open(rig, false);
    assert_string_equal(client_poll(rig, fd, ABSTRACT, 2, 0, (int32_t)getpid(), REPLY_MS), "");
    close(fd);
}

static void unnamed_senders_and_passed_descriptors_are_handled(void **state)
{
    const struct rig *rig = *state;
    char datagram[128], control[CMSG_SPACE(sizeof(int) * 4)];
    size_t length = make_request(datagram, 2, 0, (int32_t)getpid(), 1);
    int nameless = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), fds[4];
    client_send(rig, nameless, ABSTRACT, datagram, length);
    close(nameless);
    int fd = client_open(rig, false);
    struct sockaddr_un address;
    socklen_t address_b = door_address(rig, ABSTRACT, &address);
    for (int round = 0; round < 50; round++) {
        struct iovec vector = {datagram, length};
        struct msghdr header = {&address, address_b, &vector, 1, control, sizeof(control), 0};
        struct cmsghdr *c = CMSG_FIRSTHDR(&header);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof(fds));
        for (int i = 0; i < 4; i++) {
            fds[i] = fd;
        }
        memcpy(CMSG_DATA(c), fds, sizeof(fds));
        assert_int_equal(sendmsg(fd, &header, 0), length);
        char reply[128];
        assert_int_equal(client_receive(rig, fd, ABSTRACT, reply, sizeof(reply), REPLY_MS), 40);
    }
    /* The daemon kept none of the descriptors. */
    char path[64], text[8192];
    snprintf(path, sizeof(path), "ls /proc/%d/fd | wc -l", (int)rig->pid);
    FILE *out = popen(path, "r");
    assert_non_null(fgets(text, sizeof(text), out));
    pclose(out);
    assert_true(atoi(text) < 60);
    close(fd);
}

static void flood_does_not_delay_other_clients(void **state)
{
    const struct rig *rig = *state;
    pid_t flooder = fork();
    if (flooder == 0) {
        char datagram[128];
        size_t length = make_request(datagram, 2, 0, (int32_t)getpid(), 1);
        int fd = client_open(rig, false);
        struct sockaddr_un address;
        socklen_t address_b = door_address(rig, ABSTRACT, &address);
        for (;;) {
            sendto(fd, datagram, length, 0, (struct sockaddr *)&address, address_b); /* replies stay unread */
        }
    }
    int fd = client_open(rig, false);
    uint64_t deadline = ms_clock_raw_ns() + 20000000000ull;
    do { /* as fast as the fastest real client */
        assert_string_equal(client_poll(rig, fd, ABSTRACT, 2, 1, (int32_t)getpid(), REPLY_MS), "");
        poll(NULL, 0, 10);
    } while (strstr(rig_log(rig), "rate limit") == NULL && ms_clock_raw_ns() < deadline);
    assert_true(jobs_there(rig) >= 1);
    kill(flooder, SIGKILL);
    waitpid(flooder, NULL, 0);
    close(fd);
    assert_non_null(strstr(rig_log(rig), "rate limit"));
    assert_true(strlen(rig_log(rig)) < 20000);
}

/* Opens sockets whose replies stay unread, with fewer polls than the burst limit of one process. */
static void leave_unread(const struct rig *rig)
{
    enum { SOCKETS = 16, EACH = 10 };
    struct sockaddr_un address;
    socklen_t address_b = door_address(rig, ABSTRACT, &address);
    for (int i = 0; i < SOCKETS * EACH; i++) {
        static int fd;
        char datagram[128];
        size_t length = make_request(datagram, 2, 0, (int32_t)getpid(), 1);
        fd = i % EACH == 0 ? client_open(rig, false) : fd;
        sendto(fd, datagram, length, 0, (struct sockaddr *)&address, address_b);
    }
}

/* Starts a chain of such processes; the last one signals when it is done. All wait until the test closes its end of
 * release. */
static void hold_unread(const struct rig *rig, int processes, int done, int release)
{
    char byte = 'd';
    pid_t next = 0;
    while (next == 0 && processes-- > 0) {
        leave_unread(rig);
        next = processes > 0 ? fork() : 0;
    }
    ssize_t ignored = next == 0 ? write(done, &byte, 1) : 0;
    ignored = read(release, &byte, 1);
    (void)ignored;
    if (next > 0) {
        waitpid(next, NULL, 0);
    }
    _exit(0);
}

/* Unread replies count against the send buffer of the daemon's socket; here they would fill it. */
static void clients_that_do_not_read_do_not_block_others(void **state)
{
    const struct rig *rig = *state;
    int done[2], release[2];
    assert_int_equal(pipe(done), 0);
    assert_int_equal(pipe(release), 0);
    pid_t child = fork();
    if (child == 0) {
        close(release[1]);
        hold_unread(rig, 80, done[1], release[0]);
    }
    /* A poll may be lost during the switch; like real clients, poll again. */
    int fd = client_open(rig, false), unanswered = 0;
    struct pollfd finished = {done[0], POLLIN, 0};
    do {
        unanswered += client_poll(rig, fd, ABSTRACT, 2, 1, (int32_t)getpid(), 500) == NO_ANSWER;
    } while (poll(&finished, 1, 10) == 0);
    assert_true(unanswered <= 3);
    for (int i = 0; i < 20; i++) {
        assert_string_equal(client_poll(rig, fd, ABSTRACT, 2, 1, (int32_t)getpid(), REPLY_MS), "");
    }
    assert_non_null(strstr(rig_log(rig), "replaced the socket"));
    close(release[1]);
    waitpid(child, NULL, 0);
    close(fd);
    close(done[0]);
    close(done[1]);
    close(release[0]);
}

static void process_of_another_user_cannot_be_impersonated(void **state)
{
    const struct rig *rig = *state;
    if (getuid() != 0) {
        return; /* needs a second user */
    }
    pid_t victim = child_client(rig, 6);
    json_t *answer = rig_command(rig, 6, KINETO, 3);
    json_decref(answer);
    chmod(rig->directory, 0755);
    pid_t thief = fork();
    if (thief == 0) {
        if (setuid(65534) != 0) {
            _exit(2);
        }
        int fd = client_open(rig, false);
        const char *text = client_poll(rig, fd, ABSTRACT, 2, 6, (int32_t)victim, 500);
        _exit(text == NO_ANSWER ? 0 : 1);
    }
    int status;
    waitpid(thief, &status, 0);
    assert_int_equal(status, 0);
    assert_non_null(strstr(rig_log(rig), "pid is not the sender's"));
    kill(victim, SIGKILL);
    waitpid(victim, NULL, 0);
}

/* ---- restart ---- */

static void restart_keeps_commands_and_states(void **state)
{
    struct rig *rig = *state;
    static const int ends[] = {SIGKILL, SIGTERM};
    int fd = client_open(rig, false);
    for (size_t i = 0; i < MS_COUNT_OF(ends); i++) {
        client_poll(rig, fd, HOME, 3, 0, (int32_t)getpid(), REPLY_MS);
        send_status(rig, fd, HOME, MON_FABRIC_TRACE_STATUS, 0, true);
        send_status(rig, fd, HOME, MON_FABRIC_MONITOR_STATUS, 1, true);
        assert_string_equal(status_text(rig, "npumonitor"), "Running");
        json_t *answer = rig_command(rig, 0, START, 3); /* the answer promised that it will be fetched */
        assert_string_equal(json_string_value(json_object_get(answer, "commandStatus")), "effective");
        json_decref(answer);
        int status = rig_end(rig, ends[i]);
        assert_true(ends[i] == SIGTERM ? status == 0 : WIFSIGNALED(status));
        rig_launch(rig, NULL);
        assert_string_equal(status_text(rig, "npumonitor"), "Running");
        assert_string_equal(decision(rig, TRACE), "ineffective");
        assert_non_null(
            strstr(client_poll(rig, fd, HOME, 3, 0, (int32_t)getpid(), REPLY_MS), "NPU_MONITOR_START=true"));
    }
    close(fd);
}

/* A process with a new address is still the same client; a reused pid is a new process. */
static void addresses_may_change(void **state)
{
    const struct rig *rig = *state;
    for (int i = 0; i < 3; i++) {
        int fd = client_open(rig, false);
        assert_string_equal(client_poll(rig, fd, ABSTRACT, 2, 0, (int32_t)getpid(), REPLY_MS), "");
        close(fd);
    }
    assert_int_equal(jobs_there(rig), 1);
}

static void socket_files_have_the_right_modes_and_are_removed(void **state)
{
    struct rig *rig = *state;
    static const struct {
        const char *name;
        mode_t mode;
    } files[] = {{"dynolog.sock", 0600}, {"dynolog_data.sock", 0600}, {"dynolog", 0666}, {"dynolog_data", 0666}};
    char path[96];
    struct stat st;
    for (size_t i = 0; i < MS_COUNT_OF(files); i++) {
        snprintf(path, sizeof(path), "%s/%s", rig->directory, files[i].name);
        assert_int_equal(lstat(path, &st), 0);
        assert_true(S_ISSOCK(st.st_mode));
        assert_int_equal(st.st_mode & 0777, files[i].mode);
    }
    rig_end(rig, SIGKILL);
    assert_int_equal(lstat(path, &st), 0); /* left behind, but not in the way */
    rig_launch(rig, NULL);
    assert_int_equal(rig_end(rig, SIGTERM), 0);
    assert_int_equal(lstat(path, &st), -1);
    rig_launch(rig, NULL);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(kineto_client_gets_its_command),
        CASE(contexts_are_answered_only_to_clients_that_read),
        CASE(npu_client_passes_through_its_states),
        CASE(short_status_messages_of_older_clients_are_accepted),
        CASE(killed_client_is_removed_with_its_command),
        CASE(invalid_datagrams_are_refused),
        CASE(unnamed_senders_and_passed_descriptors_are_handled),
        CASE(flood_does_not_delay_other_clients),
        CASE(clients_that_do_not_read_do_not_block_others),
        CASE(process_of_another_user_cannot_be_impersonated),
        CASE(restart_keeps_commands_and_states),
        CASE(addresses_may_change),
        CASE(socket_files_have_the_right_modes_and_are_removed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
