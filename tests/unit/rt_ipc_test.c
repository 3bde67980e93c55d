/* SPDX-License-Identifier: Apache-2.0 */
/* Events and notifies between two processes. The child is started before the runtime is used; the two communicate over
 * a socket. */
#include "rt_test.h"

#include <sys/socket.h>
#include <sys/wait.h>

struct message {
    aclrtIpcEventHandle event;
    char there[65], back[65], secret[65];
};

static int line[2]; /* parent, child */

static void send_all(int fd, const void *data, size_t size_b)
{
    assert_int_equal(send(fd, data, size_b, 0), (ssize_t)size_b);
}

static int receive_all(int fd, void *data, size_t size_b)
{
    return recv(fd, data, size_b, MSG_WAITALL) == (ssize_t)size_b ? 0 : -1;
}

#define CHECK(call, code)                                                                                              \
    do {                                                                                                               \
        aclError got_ = (call);                                                                                        \
        if (got_ != (code)) {                                                                                          \
            fprintf(stderr, "line %d: %s returned %d: %s\n", __LINE__, #call, got_, aclGetRecentErrMsg());             \
            return 1;                                                                                                  \
        }                                                                                                              \
    } while (0)

static int child_main(int fd)
{
    struct message m;
    aclrtEvent event;
    aclrtNotify there, back, secret;
    aclrtStream stream;
    char go;
    alarm(30);
    if (receive_all(fd, &m, sizeof(m)) != 0) {
        return 2;
    }
    CHECK(aclrtSetDevice(0), 0);
    CHECK(aclrtCreateStream(&stream), 0);
    CHECK(aclrtIpcOpenEventHandle(m.event, &event), 0);
    CHECK(aclrtNotifyImportByKey(&there, m.there, 0), 0);
    CHECK(aclrtNotifyImportByKey(&back, m.back, ACL_RT_NOTIFY_IMPORT_FLAG_ENABLE_PEER_ACCESS), 0);
    CHECK(aclrtNotifyImportByKey(&secret, m.secret, 0), ACL_ERROR_RT_NO_PERMISSION);
    m.there[strlen(m.there) - 1] ^= 1; /* a wrong cookie */
    CHECK(aclrtNotifyImportByKey(&secret, m.there, 0), ACL_ERROR_RT_PARAM_INVALID);
    CHECK(aclrtNotifyImportByKey(&secret, "snpu-notify:1:2:3", 0), ACL_ERROR_RT_PARAM_INVALID);
    /* Another process, with an impossible id: an id near the parent's may be that of one of the parent's threads, which
     * leads to the same files. */
    m.event.reserved[3] ^= 0x7f;
    aclrtEvent wrong;
    if (aclrtIpcOpenEventHandle(m.event, &wrong) == ACL_SUCCESS) {
        return 3;
    }
    /* The parent's record blocks this stream; its notify arrives; the reply goes back. */
    CHECK(aclrtStreamWaitEvent(stream, event), 0);
    CHECK(aclrtWaitAndResetNotify(there, stream, 0), 0);
    CHECK(aclrtRecordNotify(back, stream), 0);
    CHECK(aclrtSynchronizeStreamWithTimeout(stream, 20), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
    if (send(fd, "1", 1, 0) != 1) {
        return 4;
    }
    CHECK(aclrtSynchronizeStreamWithTimeout(stream, 20000), 0);
    CHECK(aclrtSynchronizeEvent(event), 0);
    aclrtEventStatus status;
    CHECK(aclrtQueryEvent(event, &status), 0);
    if (status != ACL_EVENT_STATUS_COMPLETE) {
        return 5;
    }
    /* Recorded here, waited for in the parent. */
    CHECK(aclrtRecordEvent(event, stream), 0);
    CHECK(aclrtSynchronizeStream(stream), 0);
    if (send(fd, "2", 1, 0) != 1 || receive_all(fd, &go, 1) != 0) {
        return 6;
    }
    CHECK(aclrtDestroyNotify(there), 0);
    CHECK(aclrtDestroyNotify(back), 0);
    CHECK(aclrtDestroyEvent(event), 0);
    CHECK(aclrtResetDevice(0), 0);
    return 0;
}

static pid_t child;

/* Waits for the child's next message; if the child exited instead, reports its status. */
static void receive(char *word)
{
    if (receive_all(line[0], word, 1) != 0) {
        int status = 0;
        waitpid(child, &status, 0);
        fail_msg("the child ended with status 0x%x", (unsigned)status);
    }
}

static void events_and_notifies_cross_processes(void **state)
{
    struct message m;
    aclrtEvent event, plain;
    aclrtNotify there, back, secret;
    aclrtStream stream;
    struct gate gate;
    char go;
    OK(aclrtSetDevice(0));
    OK(aclrtCreateStream(&stream));
    OK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_IPC));
    OK(aclrtCreateEvent(&plain));
    OK(aclrtCreateNotify(&there, 0));
    OK(aclrtCreateNotify(&back, 0));
    OK(aclrtCreateNotify(&secret, 0));
    FAILS(aclrtIpcGetEventHandle(plain, &m.event), ACL_ERROR_RT_PARAM_INVALID);
    OK(aclrtIpcGetEventHandle(event, &m.event));
    FAILS(aclrtNotifyGetExportKey(there, m.there, 10, 0), ACL_ERROR_RT_PARAM_INVALID);
    FAILS(aclrtNotifyGetExportKey(there, m.there, 65, 0x80), ACL_ERROR_RT_PARAM_INVALID);
    OK(aclrtNotifyGetExportKey(there, m.there, sizeof(m.there), ACL_RT_NOTIFY_EXPORT_FLAG_DEFAULT));
    OK(aclrtNotifySetImportPid(there, &child, 1));
    OK(aclrtNotifyGetExportKey(back, m.back, sizeof(m.back), ACL_RT_NOTIFY_EXPORT_FLAG_DISABLE_PID_VALIDATION));
    OK(aclrtNotifyGetExportKey(secret, m.secret, sizeof(m.secret), ACL_RT_NOTIFY_EXPORT_FLAG_DEFAULT));
    aclrtEvent again;
    FAILS(aclrtIpcOpenEventHandle(m.event, &again), ACL_ERROR_RT_PARAM_INVALID); /* it is our own */

    gate_close(&gate, stream);
    OK(aclrtRecordEvent(event, stream));
    OK(aclrtRecordNotify(there, stream));
    OK(aclrtWaitAndResetNotify(back, stream, 0));
    send_all(line[0], &m, sizeof(m));
    receive(&go);
    gate_open(&gate);
    OK(aclrtSynchronizeStreamWithTimeout(stream, 20000));
    receive(&go);
    OK(aclrtStreamWaitEvent(stream, event));
    OK(aclrtSynchronizeStreamWithTimeout(stream, 20000));
    uint64_t stamp = 0;
    OK(aclrtEventGetTimestamp(event, &stamp));
    assert_true(stamp > 0);
    send_all(line[0], "3", 1);
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    OK(aclrtDestroyNotify(there));
    OK(aclrtDestroyNotify(back));
    OK(aclrtDestroyNotify(secret));
    OK(aclrtDestroyEvent(event));
    OK(aclrtDestroyEvent(plain));
    OK(aclrtDestroyStream(stream));
    OK(aclrtResetDevice(0));
}

int main(void)
{
    own_machine();
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, line) != 0 || (child = fork()) < 0) {
        return 1;
    }
    if (child == 0) {
        close(line[0]);
        _exit(child_main(line[1]));
    }
    close(line[1]);
    const struct CMUnitTest tests[] = {cmocka_unit_test(events_and_notifies_cross_processes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
