/* SPDX-License-Identifier: Apache-2.0 */
/* The driver's profiling channels: per device, one for the task scheduler's firmware and one for the task log. The
 * runtime pushes records; a tool in the same process starts the channel and reads.
 *
 * Each channel is a ring of whole records, each preceded by its length. A record that does not fit is dropped and
 * counted; a sender never waits for the reader. A channel that is off costs the runtime one load.
 *
 * Reading an empty channel waits up to READ_WAIT_MS before it returns 0, because readers written for the original
 * poll in a loop. Readers and pollers wait on one condition variable for all channels; senders signal it only if a
 * thread waits.
 *
 * Locks: a channel's `lock` guards its ring; `wait_lock` guards the waiting; neither is held inside the other. */
#include "softnpu/hal/process.h"

#include "base/clock.h"
#include "base/macros.h"
#include "softnpu/hal/soc.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define RING_B       ((uint32_t)4 << 20) /* 58000 task log records: 100 ms at the highest launch rate */
#define READ_WAIT_MS 10
#define ERROR        (-1)

static const struct {
    uint32_t id;
    const char *name;
} kinds[] = {
    {SNPU_CHANNEL_TSFW, "tsfw"},
    {SNPU_CHANNEL_STARS, "stars_soc_log"},
};
#define KINDS MS_COUNT_OF(kinds)

struct channel {
    pthread_mutex_t lock;
    char *ring;          /* RING_B bytes, kept once allocated */
    uint64_t head, tail; /* bytes ever read and written */
    uint64_t payload_b;  /* unread, without the lengths */
    uint64_t dropped;
    bool ever_started;
};

static struct channel channels[SNPU_MAX_DEVICES][KINDS] = {
    [0 ... SNPU_MAX_DEVICES - 1] = {[0 ... KINDS - 1] = {.lock = PTHREAD_MUTEX_INITIALIZER}}};
static uint8_t on[SNPU_MAX_DEVICES][KINDS];
static uint64_t waiting_b[SNPU_MAX_DEVICES][KINDS]; /* copy of payload_b, read without the lock */

static pthread_mutex_t wait_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wait_cond = PTHREAD_COND_INITIALIZER;
static uint32_t waiters;

void snpu__prof_forget(void)
{
    for (uint32_t dev = 0; dev < SNPU_MAX_DEVICES; dev++) {
        for (uint32_t kind = 0; kind < KINDS; kind++) {
            struct channel *c = &channels[dev][kind];
            free(c->ring);
            *c = (struct channel){.lock = PTHREAD_MUTEX_INITIALIZER};
            on[dev][kind] = 0;
            waiting_b[dev][kind] = 0;
        }
    }
    wait_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    wait_cond = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
    waiters = 0;
}

static int kind_of(uint32_t channel)
{
    for (uint32_t kind = 0; kind < KINDS; kind++) {
        if (kinds[kind].id == channel) {
            return (int)kind;
        }
    }
    return -1;
}

/* NULL if the device or channel does not exist. */
static struct channel *channel_at(uint32_t dev, uint32_t id)
{
    int kind = kind_of(id);
    return kind >= 0 && snpu__device_exists(dev) ? &channels[dev][kind] : NULL;
}

/* ---- the sending side ---- */

bool snpu_hal_prof_on(uint32_t dev, uint32_t channel)
{
    int kind = kind_of(channel);
    return kind >= 0 && dev < SNPU_MAX_DEVICES && __atomic_load_n(&on[dev][kind], __ATOMIC_RELAXED);
}

/* Channel lock held. */
static void ring_write(struct channel *c, const void *data, uint32_t size_b)
{
    uint32_t at = (uint32_t)(c->tail % RING_B), first_b = RING_B - at < size_b ? RING_B - at : size_b;
    memcpy(c->ring + at, data, first_b);
    memcpy(c->ring, (const char *)data + first_b, size_b - first_b);
    c->tail += size_b;
}

static void ring_peek(const struct channel *c, uint64_t from, void *data, uint32_t size_b)
{
    uint32_t at = (uint32_t)(from % RING_B), first_b = RING_B - at < size_b ? RING_B - at : size_b;
    memcpy(data, c->ring + at, first_b);
    memcpy((char *)data + first_b, c->ring, size_b - first_b);
}

static void wake_waiters(void)
{
    if (__atomic_load_n(&waiters, __ATOMIC_SEQ_CST) != 0) {
        pthread_mutex_lock(&wait_lock);
        pthread_cond_broadcast(&wait_cond);
        pthread_mutex_unlock(&wait_lock);
    }
}

void snpu_hal_prof_push(uint32_t dev, uint32_t channel, const void *record, uint32_t size_b)
{
    if (!snpu_hal_prof_on(dev, channel) || record == NULL || size_b == 0) {
        return;
    }
    int kind = kind_of(channel);
    struct channel *c = &channels[dev][kind];
    pthread_mutex_lock(&c->lock);
    bool fits = size_b <= RING_B && c->tail - c->head + sizeof(size_b) + size_b <= RING_B;
    if (fits && on[dev][kind]) {
        ring_write(c, &size_b, sizeof(size_b));
        ring_write(c, record, size_b);
        c->payload_b += size_b;
        __atomic_store_n(&waiting_b[dev][kind], c->payload_b, __ATOMIC_SEQ_CST);
    } else {
        c->dropped++;
    }
    pthread_mutex_unlock(&c->lock);
    wake_waiters();
}

/* ---- waiting ---- */

static bool has_data(uint32_t dev, uint32_t kind)
{
    return __atomic_load_n(&waiting_b[dev][kind], __ATOMIC_SEQ_CST) != 0;
}

/* Fills `out` with the channels that have data; counts only up to max. */
static int channels_with_data(struct prof_poll_info *out, int max)
{
    int n = 0;
    for (uint32_t dev = 0; dev < snpu_hal_device_count(); dev++) {
        for (uint32_t kind = 0; kind < KINDS && n < max; kind++) {
            if (has_data(dev, kind)) {
                out[n++] = (struct prof_poll_info){.device_id = dev, .channel_id = kinds[kind].id};
            }
        }
    }
    return n;
}

struct wait_for {
    uint32_t dev, kind;         /* read: one channel */
    struct prof_poll_info *out; /* poll: any channel; the result */
    int max;
};

static int ready(const struct wait_for *w)
{
    return w->out != NULL ? channels_with_data(w->out, w->max) : has_data(w->dev, w->kind);
}

static int wait_until_ready(const struct wait_for *w, uint64_t timeout_ns)
{
    int n = ready(w);
    if (n > 0 || timeout_ns == 0) {
        return n;
    }
    uint64_t end_ns = ms_clock_ns(CLOCK_MONOTONIC) + timeout_ns;
    struct timespec end = {.tv_sec = (time_t)(end_ns / 1000000000u), .tv_nsec = (long)(end_ns % 1000000000u)};
    pthread_mutex_lock(&wait_lock);
    __atomic_fetch_add(&waiters, 1, __ATOMIC_SEQ_CST);
    while ((n = ready(w)) == 0) {
        if (pthread_cond_clockwait(&wait_cond, &wait_lock, CLOCK_MONOTONIC, &end) == ETIMEDOUT) {
            n = ready(w);
            break;
        }
    }
    __atomic_fetch_sub(&waiters, 1, __ATOMIC_SEQ_CST);
    pthread_mutex_unlock(&wait_lock);
    return n;
}

/* ---- the receiving side ---- */

int prof_drv_get_channels(unsigned int device_id, channel_list_t *list)
{
    if (list == NULL || !snpu__device_exists(device_id)) {
        return ERROR;
    }
    const struct snpu_soc *soc = snpu_soc_find(snpu_hal_soc_name());
    memset(list, 0, sizeof(*list));
    list->chip_type = soc != NULL ? soc->chip_type : 0;
    list->channel_num = KINDS;
    for (uint32_t kind = 0; kind < KINDS; kind++) {
        snprintf(list->channel[kind].channel_name, sizeof(list->channel[kind].channel_name), "%s", kinds[kind].name);
        list->channel[kind].channel_id = kinds[kind].id;
    }
    return 0;
}

int prof_drv_start(unsigned int device_id, unsigned int channel_id, struct prof_start_para *start_para)
{
    struct channel *c = channel_at(device_id, channel_id);
    if (c == NULL || start_para == NULL) {
        return ERROR;
    }
    int kind = kind_of(channel_id), rc = 0;
    pthread_mutex_lock(&c->lock);
    if (c->ring == NULL) {
        c->ring = malloc(RING_B);
    }
    if (c->ring == NULL) {
        rc = ERROR;
    } else if (!on[device_id][kind]) {
        c->head = c->tail;
        c->payload_b = c->dropped = 0;
        c->ever_started = true;
        __atomic_store_n(&waiting_b[device_id][kind], 0, __ATOMIC_SEQ_CST);
        __atomic_store_n(&on[device_id][kind], 1, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&c->lock);
    return rc;
}

int prof_stop(unsigned int device_id, unsigned int channel_id)
{
    struct channel *c = channel_at(device_id, channel_id);
    if (c == NULL) {
        return ERROR;
    }
    int kind = kind_of(channel_id);
    pthread_mutex_lock(&c->lock);
    int rc = on[device_id][kind] ? 0 : ERROR;
    __atomic_store_n(&on[device_id][kind], 0, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&c->lock);
    wake_waiters();
    return rc;
}

/* Copies as many whole records as fit into the buffer. */
static int read_records(struct channel *c, uint64_t *left_b, char *out, uint32_t out_b)
{
    uint32_t filled_b = 0;
    pthread_mutex_lock(&c->lock);
    while (c->head != c->tail) {
        uint32_t size_b;
        ring_peek(c, c->head, &size_b, sizeof(size_b));
        if (size_b > out_b - filled_b) {
            break;
        }
        ring_peek(c, c->head + sizeof(size_b), out + filled_b, size_b);
        c->head += sizeof(size_b) + size_b;
        c->payload_b -= size_b;
        filled_b += size_b;
    }
    __atomic_store_n(left_b, c->payload_b, __ATOMIC_SEQ_CST);
    pthread_mutex_unlock(&c->lock);
    return (int)filled_b;
}

int prof_channel_read(unsigned int device_id, unsigned int channel_id, char *out_buf, unsigned int buf_size)
{
    struct channel *c = channel_at(device_id, channel_id);
    if (c == NULL || out_buf == NULL || buf_size == 0 || buf_size > INT32_MAX) {
        return ERROR;
    }
    uint32_t kind = (uint32_t)kind_of(channel_id);
    bool live = __atomic_load_n(&on[device_id][kind], __ATOMIC_ACQUIRE);
    if (!live && !has_data(device_id, kind)) {
        return ERROR; /* never started, or stopped and read to the end */
    }
    struct wait_for w = {.dev = device_id, .kind = kind};
    wait_until_ready(&w, READ_WAIT_MS * 1000000u);
    int n = read_records(c, &waiting_b[device_id][kind], out_buf, buf_size);
    return n == 0 && has_data(device_id, kind) ? ERROR : n; /* there is data, but the buffer is too small for one
                                                             * record */
}

int prof_channel_poll(struct prof_poll_info *out_buf, int num, int timeout)
{
    if (out_buf == NULL || num <= 0 || timeout < 0) {
        return ERROR;
    }
    struct wait_for w = {.out = out_buf, .max = num};
    return wait_until_ready(&w, (uint64_t)timeout * 1000000000u);
}

/* Records are in the ring as soon as they are pushed; this only reports how much is unread. */
int halProfDataFlush(unsigned int device_id, unsigned int channel_id, unsigned int *data_len)
{
    struct channel *c = channel_at(device_id, channel_id);
    if (c == NULL || data_len == NULL) {
        return ERROR;
    }
    *data_len = (unsigned)__atomic_load_n(&waiting_b[device_id][kind_of(channel_id)], __ATOMIC_SEQ_CST);
    return 0;
}

uint64_t snpu_hal_prof_dropped(uint32_t dev, uint32_t channel)
{
    struct channel *c = channel_at(dev, channel);
    uint64_t dropped = 0;
    if (c != NULL) {
        pthread_mutex_lock(&c->lock);
        dropped = c->dropped;
        pthread_mutex_unlock(&c->lock);
    }
    return dropped;
}
