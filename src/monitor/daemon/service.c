/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon as a service.
 *
 * Pid file: opened, locked, then written; the file of a killed daemon does not matter, and a second daemon is
 * refused. Only the owner removes it at exit. Readiness: one datagram to $NOTIFY_SOCKET, the sd_notify protocol, which
 * needs no library. Signals: SIGTERM and SIGINT end the loop, SIGHUP reloads, SIGPIPE is ignored. */
#include "monitor/daemon/service.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static struct {
    struct event *term, *interrupt, *hangup;
    int pid_fd;
} service = {.pid_fd = -1};

void mon_service_notify(const char *state)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (path == NULL || (path[0] != '/' && path[0] != '@') || strlen(path) >= sizeof(address.sun_path)) {
        return;
    }
    memcpy(address.sun_path, path, strlen(path));
    if (path[0] == '@') {
        address.sun_path[0] = '\0';
    }
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        return;
    }
    socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));
    if (sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&address, length) < 0) {
        MON_LOG_WARNING("cannot notify the service manager ('%s'): %s", state, strerror(errno));
    }
    close(fd);
}

static int take_pid_file(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (fd < 0) {
        int error = errno;
        MON_LOG_ERROR("pid file %s: %s (--pid_file)", path, strerror(error));
        return -error;
    }
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        char owner[32] = "";
        ssize_t n = read(fd, owner, sizeof(owner) - 1);
        owner[n > 0 ? strcspn(owner, "\n") : 0] = '\0';
        MON_LOG_ERROR("pid file %s is held by another daemon (pid %s); stop it or choose another --pid_file", path,
                      owner);
        close(fd);
        return -EBUSY;
    }
    char text[32];
    int length = snprintf(text, sizeof(text), "%d\n", (int)getpid());
    if (ftruncate(fd, 0) != 0 || write(fd, text, (size_t)length) != length) {
        int error = errno;
        MON_LOG_ERROR("pid file %s: %s", path, strerror(error));
        close(fd);
        return -error;
    }
    service.pid_fd = fd;
    return 0;
}

static void on_end(evutil_socket_t number, short events, void *daemon)
{
    MON_LOG_INFO("%s: stopping", number == SIGTERM ? "SIGTERM" : "SIGINT");
    mon_daemon_stop(daemon);
}

static void on_hangup(evutil_socket_t number, short events, void *daemon)
{
    char state[64];
    snprintf(state, sizeof(state), "RELOADING=1\nMONOTONIC_USEC=%llu",
             (unsigned long long)(ms_clock_ns(CLOCK_MONOTONIC) / 1000));
    mon_service_notify(state);
    mon_daemon_reload(daemon);
    mon_service_notify("READY=1");
}

static struct event *on_signal(struct mon_daemon *daemon, int number, event_callback_fn callback)
{
    struct event *event = evsignal_new(daemon->base, number, callback, daemon);
    if (event != NULL && event_add(event, NULL) != 0) {
        event_free(event);
        event = NULL;
    }
    return event;
}

static void service_stop(struct mon_daemon *daemon)
{
    struct event **const events[] = {&service.term, &service.interrupt, &service.hangup};
    for (size_t i = 0; i < MS_COUNT_OF(events); i++) {
        if (*events[i] != NULL) {
            event_free(*events[i]);
            *events[i] = NULL;
        }
    }
    if (service.pid_fd >= 0) {
        unlink(daemon->flags.pid_file);
        close(service.pid_fd);
        service.pid_fd = -1;
    }
}

static int service_start(struct mon_daemon *daemon)
{
    if (daemon->flags.pid_file[0] != '\0') {
        int result = take_pid_file(daemon->flags.pid_file);
        if (result != 0) {
            return result;
        }
    }
    service.term = on_signal(daemon, SIGTERM, on_end);
    service.interrupt = on_signal(daemon, SIGINT, on_end);
    service.hangup = on_signal(daemon, SIGHUP, on_hangup);
    if (service.term == NULL || service.interrupt == NULL || service.hangup == NULL) {
        MON_LOG_ERROR("cannot set up signal handlers");
        service_stop(daemon);
        return -ENOMEM;
    }
    return 0;
}

static void service_reload(struct mon_daemon *daemon)
{
    int result = mon_log_reopen();
    if (result != 0) {
        MON_LOG_ERROR("cannot reopen log file %s: %s; continuing with the old one", mon_log_path(), strerror(-result));
    }
}

const struct mon_daemon_module mon_module_service = {"service", service_start, service_stop, service_reload};
