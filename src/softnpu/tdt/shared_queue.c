/* SPDX-License-Identifier: Apache-2.0 */
/* Queues that processes share; see shared_queue.h.
 *
 * A queue is a file /dev/shm/softnpu-queue-<uid>-<machine>-<device>-<number>, mode 0600, mapped by every process that
 * uses it; each string in it is a file of its own beside it, written before it is announced and removed by the process
 * that takes it. A process that uses a queue holds a shared lock on the file: a file without one belongs to processes
 * that have ended, and the next queue of that number replaces it.
 *
 * Invariants: `count` strings from `head` on are complete. `changes` is a futex across processes; it grows with every
 * change.
 * Threads and locks: a process-wide lock for the table of queues; in each queue a robust mutex shared by processes,
 * held only to change numbers. A process that dies with the mutex leaves the numbers as before or after its change.
 * Failure: 100032 for a queue that this process does not know, 207006 without permission, 207013 and 207014 for a queue
 * that stays empty or full. Everything in the file was written by processes of the same user, and is checked. */
#include "softnpu/tdt/shared_queue.h"

#include "acl/acl_tdt_queue.h"
#include "base/macros.h"
#include "softnpu/hal/settings.h"
#include "softnpu/runtime/error.h"
#include "softnpu/runtime/futex.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC      0x3171756e70732e00ull
#define QUEUES_MAX 1024 /* of a device */
#define GRANTS_MAX 64
#define ALL_RIGHTS                                                                                                     \
    (ACL_TDT_QUEUE_PERMISSION_MANAGE | ACL_TDT_QUEUE_PERMISSION_DEQUEUE | ACL_TDT_QUEUE_PERMISSION_ENQUEUE)

struct shared {
    uint64_t magic;
    pthread_mutex_t lock;
    uint32_t changes;
    uint32_t depth, head, count;
    uint32_t destroyed;
    uint32_t grant_count;
    uint64_t serial; /* of the next string */
    char name[SNPU_QUEUE_NAME];
    struct {
        int32_t pid;
        uint32_t permission;
    } grants[GRANTS_MAX];
    uint64_t strings[SNPU_QUEUE_DEPTH_MAX]; /* serial numbers, a ring of `depth` */
};

struct queue {
    struct queue *next;
    uint32_t dev, qid, permission;
    uint32_t users; /* threads inside a function; the table's own reference is one */
    int fd;
    struct shared *shared;
};

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static struct queue *queues;

/* ---- files ---- */
static bool base_path(uint32_t dev, uint32_t qid, char *out, size_t out_b)
{
    struct snpu_settings settings;
    char why[256];
    (void)snpu_settings_read(&settings, why, sizeof(why)); /* falls back to defaults */
    return snprintf(out, out_b, "/dev/shm/softnpu-queue-%u-%s-%u-%u", (unsigned)geteuid(), settings.machine, dev, qid) <
           (int)out_b;
}

static void string_path(const char *base, uint64_t serial, char *out, size_t out_b)
{
    snprintf(out, out_b, "%s.%llu", base, (unsigned long long)serial);
}

static bool sane(const struct shared *shared)
{
    return shared->magic == MAGIC && shared->depth >= SNPU_QUEUE_DEPTH_MIN && shared->depth <= SNPU_QUEUE_DEPTH_MAX &&
           shared->head < shared->depth && shared->count <= shared->depth && shared->grant_count <= GRANTS_MAX;
}

static void unlink_strings(const char *base, const struct shared *shared)
{
    char path[256];
    for (uint32_t i = 0; sane(shared) && i < shared->count; i++) {
        string_path(base, shared->strings[(shared->head + i) % shared->depth], path, sizeof(path));
        unlink(path);
    }
}

/* Opens and maps the file; a negative errno or 0. create: the file is new or unused. */
static int open_file(const char *path, bool create, int *fd_out, struct shared **out)
{
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | (create ? O_CREAT : 0), 0600);
    if (fd < 0) {
        return -errno;
    }
    struct stat status;
    int rc = flock(fd, (create ? LOCK_EX : LOCK_SH) | LOCK_NB) == 0 ? 0 : -errno;
    if (rc == 0 && (fstat(fd, &status) != 0 || status.st_uid != geteuid() || status.st_nlink == 0)) {
        rc = -EAGAIN;
    }
    bool old = rc == 0 && status.st_size == sizeof(struct shared);
    if (rc == 0 && create && !old) {
        rc = -posix_fallocate(fd, 0, sizeof(struct shared));
    } else if (rc == 0 && !create && !old) {
        rc = -EAGAIN;
    }
    void *map = rc == 0 ? mmap(NULL, sizeof(struct shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
    if (map == MAP_FAILED) {
        rc = rc != 0 ? rc : -errno;
        close(fd);
        return rc;
    }
    if (create && old) {
        unlink_strings(path, map);
    }
    *fd_out = fd;
    *out = map;
    return 0;
}

static void initialise(struct shared *shared, const char *name, uint32_t depth)
{
    pthread_mutexattr_t attr;
    memset(shared, 0, sizeof(*shared));
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&shared->lock, &attr);
    pthread_mutexattr_destroy(&attr);
    snprintf(shared->name, sizeof(shared->name), "%s", name);
    shared->depth = depth;
    __atomic_store_n(&shared->magic, MAGIC, __ATOMIC_RELEASE);
}

/* ---- the table of this process ---- */
static void drop_locked(struct queue *queue)
{
    if (--queue->users == 0) {
        munmap(queue->shared, sizeof(*queue->shared));
        close(queue->fd);
        free(queue);
    }
}

static struct queue *find_locked(uint32_t dev, uint32_t qid)
{
    struct queue *queue = queues;
    while (queue != NULL && (queue->dev != dev || queue->qid != qid)) {
        queue = queue->next;
    }
    return queue;
}

static struct queue *add_locked(uint32_t dev, uint32_t qid, uint32_t permission, int fd, struct shared *shared)
{
    struct queue *queue = calloc(1, sizeof(*queue));
    if (queue != NULL) {
        *queue = (struct queue){queues, dev, qid, permission, 1, fd, shared};
        queues = queue;
    }
    return queue;
}

static void remove_locked(struct queue *queue)
{
    struct queue **at = &queues;
    while (*at != queue) {
        at = &(*at)->next;
    }
    *at = queue->next;
    drop_locked(queue);
}

/* A queue that this process may use in the way that `permission` says; give it back with release. */
static aclError use(const char *function, uint32_t dev, uint32_t qid, uint32_t permission, struct queue **out)
{
    pthread_mutex_lock(&table_lock);
    struct queue *queue = find_locked(dev, qid);
    if (queue != NULL) {
        queue->users++;
    }
    pthread_mutex_unlock(&table_lock);
    if (queue == NULL) {
        return snpu_fail(ACL_ERROR_INVALID_QUEUE_ID,
                         "%s: this process has neither created queue %u on device %u nor attached to it", function, qid,
                         dev);
    }
    *out = queue;
    return (queue->permission & permission) == permission
               ? ACL_SUCCESS
               : snpu_fail(ACL_ERROR_RT_NO_PERMISSION, "%s: queue %u: this process has permission %u, not %u", function,
                           qid, queue->permission, permission);
}

static void release(struct queue *queue)
{
    pthread_mutex_lock(&table_lock);
    drop_locked(queue);
    pthread_mutex_unlock(&table_lock);
}

bool snpu_queue_known(uint32_t dev, uint32_t qid)
{
    pthread_mutex_lock(&table_lock);
    bool known = find_locked(dev, qid) != NULL;
    pthread_mutex_unlock(&table_lock);
    return known;
}

/* ---- changes of a queue ---- */
static void lock_queue(struct shared *shared)
{
    if (pthread_mutex_lock(&shared->lock) == EOWNERDEAD) {
        pthread_mutex_consistent(&shared->lock);
    }
}

/* Announces a change and unlocks. */
static void unlock_changed(struct shared *shared)
{
    __atomic_add_fetch(&shared->changes, 1, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&shared->lock);
    futex_wake_shared(&shared->changes, INT_MAX);
}

enum wish { WISH_STRING, WISH_ROOM, WISH_GRANT };

static bool granted(const struct shared *shared, uint32_t *permission)
{
    for (uint32_t i = 0; i < shared->grant_count; i++) {
        if (shared->grants[i].pid == getpid()) {
            *permission = shared->grants[i].permission;
            return true;
        }
    }
    return false;
}

/* Waits until the wish is true, and returns with the queue locked; or an ACL code. */
static aclError await(const char *function, uint32_t qid, struct shared *shared, enum wish wish, int32_t timeout,
                      uint32_t *permission)
{
    static const int codes[] = {
        [WISH_STRING] = ACL_ERROR_RT_QUEUE_EMPTY,
        [WISH_ROOM] = ACL_ERROR_RT_QUEUE_FULL,
        [WISH_GRANT] = ACL_ERROR_RT_NO_PERMISSION,
    };
    static const char *const reasons[] = {"is empty", "is full", "is not granted to this process"};
    int64_t until = deadline_after_ms(timeout);
    for (;;) {
        lock_queue(shared);
        if (!sane(shared) || shared->destroyed) {
            pthread_mutex_unlock(&shared->lock);
            return snpu_fail(ACL_ERROR_INVALID_QUEUE_ID, "%s: queue %u was destroyed", function, qid);
        }
        uint32_t rights = 0;
        bool fulfilled = wish == WISH_STRING ? shared->count > 0
                         : wish == WISH_ROOM ? shared->count < shared->depth
                                             : granted(shared, &rights);
        if (fulfilled) {
            if (permission != NULL) {
                *permission = rights;
            }
            return ACL_SUCCESS;
        }
        uint32_t seen = __atomic_load_n(&shared->changes, __ATOMIC_ACQUIRE);
        pthread_mutex_unlock(&shared->lock);
        int64_t left = deadline_left_ns(until);
        if (left == 0) {
            return snpu_fail(codes[wish], "%s: queue %u %s after %d ms", function, qid, reasons[wish], timeout);
        }
        (void)futex_wait_shared(&shared->changes, seen, left);
    }
}

static aclError check_timeout(const char *function, int32_t timeout)
{
    return timeout >= -1 ? ACL_SUCCESS
                         : snpu_fail(ACL_ERROR_INVALID_PARAM, "%s: the timeout %d is below -1", function, timeout);
}

/* ---- life ---- */
aclError snpu_queue_create(const char *function, uint32_t dev, const char *name, uint32_t depth, uint32_t *qid)
{
    char path[200];
    int rc = -ENOSPC, fd = -1;
    struct shared *shared = NULL;
    pthread_mutex_lock(&table_lock);
    for (uint32_t n = 0; rc != 0 && n < QUEUES_MAX; n++) {
        if (find_locked(dev, n) != NULL || !base_path(dev, n, path, sizeof(path))) {
            continue;
        }
        rc = open_file(path, true, &fd, &shared);
        if (rc == 0) {
            initialise(shared, name, depth);
            (void)flock(fd, LOCK_SH);
            *qid = n;
        } else if (rc != -EWOULDBLOCK && rc != -EAGAIN) {
            break;
        }
    }
    struct queue *queue = rc == 0 ? add_locked(dev, *qid, ALL_RIGHTS, fd, shared) : NULL;
    pthread_mutex_unlock(&table_lock);
    if (rc == 0 && queue != NULL) {
        return ACL_SUCCESS;
    }
    if (rc == 0) {
        unlink(path);
        munmap(shared, sizeof(*shared));
        close(fd);
    }
    return snpu_fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "%s: cannot create another queue on device %u: %s", function,
                     dev, strerror(rc == 0 ? ENOMEM : -rc));
}

aclError snpu_queue_destroy(const char *function, uint32_t dev, uint32_t qid)
{
    struct queue *queue = NULL;
    char path[200];
    aclError rc = use(function, dev, qid, ACL_TDT_QUEUE_PERMISSION_MANAGE, &queue);
    if (rc == ACL_SUCCESS) {
        lock_queue(queue->shared);
        if (base_path(dev, qid, path, sizeof(path))) {
            unlink_strings(path, queue->shared);
            unlink(path);
        }
        queue->shared->destroyed = 1;
        queue->shared->count = 0;
        unlock_changed(queue->shared);
        pthread_mutex_lock(&table_lock);
        if (find_locked(dev, qid) == queue) {
            remove_locked(queue);
        }
        pthread_mutex_unlock(&table_lock);
    }
    if (queue != NULL) {
        release(queue);
    }
    return rc;
}

aclError snpu_queue_grant(const char *function, uint32_t dev, uint32_t qid, int32_t pid, uint32_t permission)
{
    struct queue *queue = NULL;
    aclError rc = use(function, dev, qid, ACL_TDT_QUEUE_PERMISSION_MANAGE, &queue);
    if (rc == ACL_SUCCESS && (pid <= 0 || permission == 0 || (permission & ~(uint32_t)ALL_RIGHTS) != 0)) {
        rc = snpu_fail(ACL_ERROR_INVALID_PARAM, "%s: queue %u: invalid process %d or permission %u", function, qid, pid,
                       permission);
    }
    if (rc == ACL_SUCCESS) {
        struct shared *shared = queue->shared;
        lock_queue(shared);
        uint32_t i = 0, count = shared->grant_count <= GRANTS_MAX ? shared->grant_count : 0;
        while (i < count && shared->grants[i].pid != pid) {
            i++;
        }
        if (i < GRANTS_MAX) {
            shared->grants[i].pid = pid;
            shared->grants[i].permission = permission;
            shared->grant_count = i == count ? count + 1 : count;
        }
        unlock_changed(shared);
        if (i == GRANTS_MAX) {
            rc = snpu_fail(ACL_ERROR_STORAGE_OVER_LIMIT, "%s: queue %u is granted to %d processes already", function,
                           qid, GRANTS_MAX);
        }
    }
    if (queue != NULL) {
        release(queue);
    }
    return rc;
}

aclError snpu_queue_attach(const char *function, uint32_t dev, uint32_t qid, int32_t timeout, uint32_t *permission)
{
    char path[200];
    int fd = -1;
    struct shared *shared = NULL;
    aclError rc = check_timeout(function, timeout);
    pthread_mutex_lock(&table_lock);
    struct queue *known = find_locked(dev, qid);
    if (known != NULL) {
        *permission = known->permission;
    }
    pthread_mutex_unlock(&table_lock);
    if (rc != ACL_SUCCESS || known != NULL) {
        return rc;
    }
    int opened = base_path(dev, qid, path, sizeof(path)) ? open_file(path, false, &fd, &shared) : -ENAMETOOLONG;
    if (opened != 0) {
        return snpu_fail(ACL_ERROR_INVALID_QUEUE_ID, "%s: device %u has no queue %u", function, dev, qid);
    }
    uint32_t rights = 0;
    rc = await(function, qid, shared, WISH_GRANT, timeout, &rights);
    if (rc == ACL_SUCCESS) {
        pthread_mutex_unlock(&shared->lock);
        pthread_mutex_lock(&table_lock);
        struct queue *queue = add_locked(dev, qid, rights, fd, shared);
        pthread_mutex_unlock(&table_lock);
        *permission = rights;
        rc = queue != NULL ? ACL_SUCCESS : snpu_fail(ACL_ERROR_BAD_ALLOC, "%s: out of host memory", function);
    }
    if (rc != ACL_SUCCESS) {
        munmap(shared, sizeof(*shared));
        close(fd);
    }
    return rc;
}

/* ---- strings ---- */
static int write_string(const char *path, const struct iovec *parts, int count)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        return -errno;
    }
    int rc = 0;
    for (int i = 0; rc == 0 && i < count; i++) {
        const char *from = parts[i].iov_base;
        size_t left = parts[i].iov_len;
        while (rc == 0 && left > 0) {
            ssize_t n = write(fd, from, left);
            if (n > 0) {
                from += n, left -= (size_t)n;
            } else if (n == 0 || errno != EINTR) {
                rc = n == 0 ? -ENOSPC : -errno;
            }
        }
    }
    close(fd);
    if (rc != 0) {
        unlink(path);
    }
    return rc;
}

static int read_string(const char *path, void **bytes, size_t *size_b)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 || fstat(fd, &status) != 0) {
        int rc = -errno;
        if (fd >= 0) {
            close(fd);
        }
        return rc;
    }
    size_t size = (size_t)status.st_size, got = 0;
    char *text = malloc(size > 0 ? size : 1);
    int rc = text != NULL ? 0 : -ENOMEM;
    while (rc == 0 && got < size) {
        ssize_t n = read(fd, text + got, size - got);
        if (n > 0) {
            got += (size_t)n;
        } else if (n == 0 || errno != EINTR) {
            rc = n == 0 ? -EIO : -errno;
        }
    }
    close(fd);
    if (rc != 0) {
        free(text);
        return rc;
    }
    *bytes = text;
    *size_b = size;
    return 0;
}

aclError snpu_queue_put(const char *function, uint32_t dev, uint32_t qid, const struct iovec *parts, int count,
                        int32_t timeout)
{
    struct queue *queue = NULL;
    char base[200], path[256];
    aclError rc = check_timeout(function, timeout);
    rc = rc != ACL_SUCCESS ? rc : use(function, dev, qid, ACL_TDT_QUEUE_PERMISSION_ENQUEUE, &queue);
    rc = rc != ACL_SUCCESS ? rc : await(function, qid, queue->shared, WISH_ROOM, timeout, NULL);
    if (rc == ACL_SUCCESS) {
        struct shared *shared = queue->shared;
        uint64_t serial = shared->serial++;
        (void)base_path(dev, qid, base, sizeof(base));
        string_path(base, serial, path, sizeof(path));
        int written = write_string(path, parts, count);
        if (written == 0) {
            shared->strings[(shared->head + shared->count) % shared->depth] = serial;
            shared->count++;
        }
        unlock_changed(shared);
        if (written != 0) {
            rc = snpu_fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "%s: queue %u: cannot store the data: %s", function, qid,
                           strerror(-written));
        }
    }
    if (queue != NULL) {
        release(queue);
    }
    return rc;
}

/* Takes the first string out of the locked queue, unless it is too long. */
static aclError take_locked(const char *function, uint32_t qid, struct shared *shared, const char *base, size_t limit_b,
                            char *path, size_t path_b)
{
    struct stat status;
    string_path(base, shared->strings[shared->head], path, path_b);
    if (stat(path, &status) == 0 && (size_t)status.st_size > limit_b) {
        pthread_mutex_unlock(&shared->lock);
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID,
                         "%s: queue %u: the first entry is %zu bytes too long for the buffer; it stays in the queue",
                         function, qid, (size_t)status.st_size - limit_b);
    }
    shared->head = (shared->head + 1) % shared->depth;
    shared->count--;
    unlock_changed(shared);
    return ACL_SUCCESS;
}

aclError snpu_queue_take(const char *function, uint32_t dev, uint32_t qid, int32_t timeout, size_t limit_b,
                         void **bytes, size_t *size_b)
{
    struct queue *queue = NULL;
    char base[200], path[256];
    aclError rc = check_timeout(function, timeout);
    rc = rc != ACL_SUCCESS ? rc : use(function, dev, qid, ACL_TDT_QUEUE_PERMISSION_DEQUEUE, &queue);
    rc = rc != ACL_SUCCESS ? rc : await(function, qid, queue->shared, WISH_STRING, timeout, NULL);
    if (rc == ACL_SUCCESS) {
        (void)base_path(dev, qid, base, sizeof(base));
        rc = take_locked(function, qid, queue->shared, base, limit_b, path, sizeof(path));
    }
    if (rc == ACL_SUCCESS) {
        int got = read_string(path, bytes, size_b);
        unlink(path);
        if (got != 0) {
            rc = snpu_fail(ACL_ERROR_RT_INTERNAL_ERROR, "%s: queue %u: cannot read the data: %s", function, qid,
                           strerror(-got));
        }
    }
    if (queue != NULL) {
        release(queue);
    }
    return rc;
}

/* Removes the files of queues that no other process uses. */
__attribute__((destructor)) static void remove_unused(void)
{
    char path[200];
    for (struct queue *queue = queues; queue != NULL; queue = queue->next) {
        if (base_path(queue->dev, queue->qid, path, sizeof(path)) && flock(queue->fd, LOCK_EX | LOCK_NB) == 0) {
            unlink_strings(path, queue->shared);
            unlink(path);
        }
    }
}
