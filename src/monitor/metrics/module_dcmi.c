/* SPDX-License-Identifier: Apache-2.0 */
/* The device sampler: a thread that calls the driver's library, and the event loop, which receives its samples.
 *
 * The thread owns the library from loading to unloading and uses nothing else but the queue and its eventfds, so a call
 * that hangs affects only the thread. An eventfd notifies the loop of a sample. Stopping waits briefly for the thread;
 * if it hangs in the driver, it and everything it uses is leaked until the process exits. */
#include "base/macros.h"
#include "monitor/metrics/dcmi.h"
#include "monitor/metrics/modules.h"
#include "monitor/metrics/queue.h"
#include "monitor/store/series.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#define STOP_WAIT_S   1
#define SAMPLES_AHEAD 2

/* Shared by the loop and the thread; freed once the thread has been joined. */
struct sampler {
    pthread_t thread;
    struct mon_queue *queue; /* of struct mon_dcmi_sample; a message of another size is an error text */
    int sampled, stop;       /* eventfds: thread to loop, loop to thread */
    int interval_ms;
    char library[512];
};

static struct sampler *sampler;
static struct event *sampled_event;

static void notify(int fd)
{
    uint64_t one = 1;
    if (write(fd, &one, sizeof(one)) < 0) {
        /* Full: the other side has a pending notification. */
    }
}

static void *sample_loop(void *argument)
{
    struct sampler *s = argument;
    struct mon_dcmi *dcmi = NULL;
    struct mon_dcmi_sample *sample = malloc(sizeof(*sample));
    char error[256] = "out of memory";
    if (sample == NULL || mon_dcmi_open(s->library, &dcmi, error, sizeof(error)) != 0) {
        mon_queue_put(s->queue, error, strlen(error) + 1);
        notify(s->sampled);
        free(sample);
        return NULL;
    }
    struct pollfd stop = {.fd = s->stop, .events = POLLIN};
    do {
        mon_dcmi_sample(dcmi, sample);
        mon_queue_put(s->queue, sample, sizeof(*sample));
        notify(s->sampled);
    } while (poll(&stop, 1, s->interval_ms) <= 0);
    mon_dcmi_close(dcmi);
    free(sample);
    return NULL;
}

static int find_owner(void *context, int32_t pid, struct mon_dcmi_owner *out)
{
    size_t count;
    const struct mon_process_target *targets = mon_job_processes(&count);
    for (size_t i = 0; i < count; i++) {
        if (targets[i].pid == pid) {
            *out = (struct mon_dcmi_owner){.job = targets[i].job, .rank = targets[i].rank};
            return 1;
        }
    }
    return 0;
}

static void take_samples(evutil_socket_t fd, short what, void *context)
{
    uint64_t notifications;
    size_t size_b;
    void *message;
    if (read(fd, &notifications, sizeof(notifications)) < 0) {
        return;
    }
    while ((message = mon_queue_take(sampler->queue, 0, &size_b, NULL)) != NULL) {
        if (size_b == sizeof(struct mon_dcmi_sample)) {
            mon_dcmi_report(message, find_owner, NULL);
        } else {
            MON_LOG_INFO("NPU metrics are disabled: %s", (const char *)message);
        }
        free(message);
    }
}

static void free_sampler(struct sampler *s)
{
    mon_queue_free(s->queue);
    close(s->sampled);
    close(s->stop);
    free(s);
}

static int start(struct mon_daemon *daemon)
{
    if (!daemon->flags.enable_npu_metrics) {
        return 0;
    }
    struct sampler *s = calloc(1, sizeof(*s));
    if (s == NULL) {
        return -ENOMEM;
    }
    s->sampled = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    s->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    s->queue = mon_queue_new(SAMPLES_AHEAD, SAMPLES_AHEAD * sizeof(struct mon_dcmi_sample));
    s->interval_ms = daemon->flags.npu_reporting_interval_s * 1000;
    snprintf(s->library, sizeof(s->library), "%s", daemon->flags.dcmi_lib_path);
    sampled_event =
        s->sampled >= 0 ? event_new(daemon->base, s->sampled, EV_READ | EV_PERSIST, take_samples, daemon) : NULL;
    int rc =
        s->queue == NULL || s->stop < 0 || sampled_event == NULL || event_add(sampled_event, NULL) != 0 ? -ENOMEM : 0;
    /* The event loop handles signals. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = rc != 0 ? rc : -pthread_create(&s->thread, NULL, sample_loop, s);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc != 0) {
        if (sampled_event != NULL) {
            event_free(sampled_event);
            sampled_event = NULL;
        }
        free_sampler(s);
        return rc;
    }
    sampler = s;
    return 0;
}

static void stop(struct mon_daemon *daemon)
{
    if (sampler == NULL) {
        return;
    }
    struct timespec until;
    notify(sampler->stop);
    event_free(sampled_event);
    sampled_event = NULL;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += STOP_WAIT_S;
    if (pthread_timedjoin_np(sampler->thread, NULL, &until) == 0) {
        free_sampler(sampler);
    } else {
        MON_LOG_WARNING("NPU metrics: no answer from the driver's library for %d s; exiting without it", STOP_WAIT_S);
    }
    sampler = NULL;
}

const struct mon_daemon_module mon_module_dcmi = {.name = "NPU metrics", .start = start, .stop = stop};
