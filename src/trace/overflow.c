/* SPDX-License-Identifier: Apache-2.0 */
/* The memfd is created when the reader attaches: most writers never need it. Pages that were read are punched out, so
 * the file is long but uses little memory. */
#include "trace/overflow.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define PUNCH_B ((uint64_t)1 << 20)

struct ms_overflow {
    pthread_mutex_t lock;
    int fd; /* -1: no reader */
    uint64_t written, consumed, punched;
    uint64_t lost, lost_since_stamp;
    unsigned users;
    uint64_t segments_b; /* atomic */
};

struct ms_overflow *ms_overflow_new(void)
{
    struct ms_overflow *o = calloc(1, sizeof(*o));
    if (o != NULL) {
        pthread_mutex_init(&o->lock, NULL);
        o->fd = -1;
        o->users = 1;
    }
    return o;
}

void ms_overflow_release(struct ms_overflow *o)
{
    if (o == NULL) {
        return;
    }
    pthread_mutex_lock(&o->lock);
    unsigned left = --o->users;
    pthread_mutex_unlock(&o->lock);
    if (left == 0) {
        if (o->fd >= 0) {
            close(o->fd);
        }
        pthread_mutex_destroy(&o->lock);
        free(o);
    }
}

bool ms_overflow_append(struct ms_overflow *o, const void *data, size_t length_b)
{
    pthread_mutex_lock(&o->lock);
    bool room = o->fd >= 0 && o->written - o->consumed + length_b <= MS_OVERFLOW_B;
    size_t done = 0;
    while (room && done < length_b) {
        ssize_t n = pwrite(o->fd, (const char *)data + done, length_b - done, (off_t)(o->written + done));
        if (n < 0 && errno == EINTR) {
            continue;
        }
        room = n > 0;
        done += n > 0 ? (size_t)n : 0;
    }
    if (room) {
        o->written += length_b;
    } else if (done != 0 && ftruncate(o->fd, (off_t)o->written) != 0) {
        close(o->fd); /* part of a block would remain: rather nothing from here on */
        o->fd = -1;
    }
    pthread_mutex_unlock(&o->lock);
    return room;
}

void ms_overflow_lose(struct ms_overflow *o, uint64_t records, uint64_t since_stamp)
{
    pthread_mutex_lock(&o->lock);
    o->lost_since_stamp = o->lost == 0 ? since_stamp : o->lost_since_stamp;
    o->lost += records;
    pthread_mutex_unlock(&o->lock);
}

uint64_t ms_overflow_lost(struct ms_overflow *o, uint64_t *since_stamp)
{
    pthread_mutex_lock(&o->lock);
    uint64_t lost = o->lost;
    *since_stamp = o->lost_since_stamp;
    pthread_mutex_unlock(&o->lock);
    return lost;
}

void ms_overflow_set_segments(struct ms_overflow *o, uint64_t bytes)
{
    __atomic_store_n(&o->segments_b, bytes, __ATOMIC_RELAXED);
}

uint64_t ms_overflow_segments_b(const struct ms_overflow *o)
{
    return __atomic_load_n(&o->segments_b, __ATOMIC_RELAXED);
}

int ms_overflow_attach(struct ms_overflow *o)
{
    pthread_mutex_lock(&o->lock);
    if (o->fd < 0) {
        o->fd = memfd_create("npuscope-overflow", MFD_CLOEXEC);
    }
    int fd = o->fd < 0 ? -errno : fcntl(o->fd, F_DUPFD_CLOEXEC, 3);
    fd = fd == -1 ? -errno : fd;
    o->users += fd >= 0;
    pthread_mutex_unlock(&o->lock);
    return fd;
}

void ms_overflow_consumed(struct ms_overflow *o, uint64_t offset)
{
    pthread_mutex_lock(&o->lock);
    o->consumed = offset;
    if (o->fd >= 0 && offset - o->punched >= PUNCH_B) {
        uint64_t whole_b = (offset - o->punched) & ~(PUNCH_B - 1);
        fallocate(o->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)o->punched, (off_t)whole_b);
        o->punched += whole_b;
    }
    pthread_mutex_unlock(&o->lock);
}
