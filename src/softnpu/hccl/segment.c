/* SPDX-License-Identifier: Apache-2.0 */
/* Gathering of ranks in a file of shared memory.
 *
 * Locks on bytes of the file (F_OFD_*, no data is there):
 *     0 .. n-1      rank r is alive; held from joining to leaving
 *     BYTE_MAKER    the process that created the file as root info is alive
 *     BYTE_GATHER   held while a rank changes the head; also guards removal of the name, so that only the file that has
 *                   the name is ever unlinked
 *
 * The file is created under a private name and renamed when its head is complete: every process that opens it finds a
 * valid head. The first rank to join determines n and thereby the layout. Memory is reserved (fallocate) before it is
 * used; otherwise a full /dev/shm would raise SIGBUS in a stream instead of returning an error code.
 *
 * Failure policy: a member that dies while gathering ends the gathering, and all ranks get HCCL_E_REMOTE; a member that
 * times out ends it as well, because the others could never become complete. */
#include "softnpu/hccl/segment.h"

#include "base/clock.h"
#include "base/macros.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC         0x314c434348554e53ull /* "SNUHCCL1" */
#define FOLDER        "/dev/shm"
#define BYTE_MAKER    (1 << 20)
#define BYTE_GATHER   (BYTE_MAKER + 1)
#define HEAD_B        4096
#define SLOT_B        (512u << 10)
#define MAIL_B        (256u << 10)
#define MAIL_SMALL_B  (64u << 10)
#define MAIL_MANY     32 /* ranks from which on pairs get the small slots */
#define RUBBISH_AGE_S 60 /* a file without an owner may just be being created */

_Static_assert(sizeof(struct hccl_head) <= HEAD_B, "head fits its page");
_Static_assert(HCCL_MAX_RANKS < BYTE_MAKER, "rank bytes and maker byte are distinct");

HcclResult hccl_explain(char *why, HcclResult result, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(why, HCCL_WHY_B, format, args);
    va_end(args);
    return result;
}

/* ---- names ---- */

static void prefix(char out[64])
{
    snprintf(out, 64, "softnpu-%u-hccl-", (unsigned)getuid());
}

void hccl_segment_path(char path[HCCL_PATH_B], const char *what)
{
    char p[64];
    prefix(p);
    snprintf(path, HCCL_PATH_B, FOLDER "/%s%s", p, what);
}

uint64_t hccl_hash(uint64_t seed, const void *data, size_t size_b)
{
    const unsigned char *p = data;
    uint64_t h = seed ^ 0xcbf29ce484222325ull; /* FNV-1a */
    for (size_t i = 0; i < size_b; i++) {
        h = (h ^ p[i]) * 0x100000001b3ull;
    }
    return h;
}

void hccl_random(void *out, size_t size_b)
{
    size_t have = 0;
    while (have < size_b) {
        ssize_t n = getrandom((char *)out + have, size_b - have, 0);
        if (n > 0) {
            have += (size_t)n;
        } else if (errno != EINTR) { /* no getrandom: the names must be unique, not secret */
            uint64_t x = hccl_hash(ms_clock_raw_ns(), &have, sizeof(have)) ^ ((uint64_t)getpid() << 32);
            size_t left = size_b - have;
            memcpy((char *)out + have, &x, left < sizeof(x) ? left : sizeof(x));
            have += left < sizeof(x) ? left : sizeof(x);
        }
    }
}

/* ---- locks ---- */

static int lock_byte(int fd, int command, short type, off_t at, off_t n)
{
    struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = at, .l_len = n};
    int r;
    do {
        r = fcntl(fd, command, &lock);
    } while (r != 0 && errno == EINTR);
    return r != 0 ? -errno : 0;
}

static bool held_by_other(int fd, off_t at, off_t n)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = at, .l_len = n};
    return fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

bool hccl_segment_alive(const struct hccl_segment *segment, uint32_t rank)
{
    return rank == segment->rank || held_by_other(segment->fd, rank, 1);
}

/* ---- layout ---- */

struct segment_layout {
    size_t ranks, counts, channels, staging, mail, total;
    uint32_t slot_b, mail_b;
};

static struct segment_layout layout_of(uint32_t n)
{
    size_t pairs = (size_t)n * n;
    struct segment_layout l = {.slot_b = SLOT_B, .mail_b = n < MAIL_MANY ? MAIL_B : MAIL_SMALL_B};
    l.ranks = HEAD_B;
    l.counts = l.ranks + n * sizeof(struct hccl_rank);
    l.channels = MS_ROUND_UP(l.counts + 2 * pairs * sizeof(uint64_t), 64);
    l.staging = MS_ROUND_UP(l.channels + pairs * sizeof(struct hccl_channel), 4096);
    l.mail = l.staging + (size_t)n * 2 * l.slot_b;
    l.total = l.mail + pairs * 2 * l.mail_b;
    return l;
}

static void place(struct hccl_segment *s, char *base, const struct segment_layout *l)
{
    s->head = (struct hccl_head *)base;
    s->ranks = (struct hccl_rank *)(base + l->ranks);
    s->counts = (uint64_t *)(base + l->counts);
    s->channels = (struct hccl_channel *)(base + l->channels);
    s->staging = base + l->staging;
    s->mail = base + l->mail;
    s->slot_b = l->slot_b;
    s->mail_b = l->mail_b;
    s->map_b = l->total;
}

/* File systems without fallocate allocate on demand. */
static int reserve(int fd, size_t at, size_t size_b)
{
    int r;
    do {
        r = fallocate(fd, 0, (off_t)at, (off_t)size_b);
    } while (r != 0 && errno == EINTR);
    return r == 0 || errno == EOPNOTSUPP ? 0 : -errno;
}

int hccl_mail_back(const struct hccl_segment *segment, uint32_t from, uint32_t to)
{
    size_t at = (size_t)(hccl_mail(segment, from, to, 0) - (char *)segment->head);
    return reserve(segment->fd, at, 2 * (size_t)segment->mail_b);
}

/* ---- creating and finding ---- */

int hccl_segment_create(const char *path, const struct hccl_seed *seed, bool hold)
{
    uint64_t salt;
    char making[HCCL_PATH_B + 24];
    hccl_random(&salt, sizeof(salt));
    snprintf(making, sizeof(making), "%s.%llx", path, (unsigned long long)salt);
    int fd = open(making, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        return -errno;
    }
    int error = lock_byte(fd, F_OFD_SETLK, F_WRLCK, BYTE_MAKER, 1);
    if (error == 0) {
        char page[HEAD_B] = {0};
        struct hccl_head head = {.magic = MAGIC, .agreed = seed->agreed};
        memcpy(head.cookie, seed->cookie, sizeof(head.cookie));
        memcpy(head.name, seed->name, sizeof(head.name));
        head.name[sizeof(head.name) - 1] = '\0';
        memcpy(page, &head, sizeof(head));
        if (pwrite(fd, page, sizeof(page), 0) != (ssize_t)sizeof(page)) {
            error = errno != 0 ? -errno : -ENOSPC;
        } else if (renameat2(AT_FDCWD, making, AT_FDCWD, path, RENAME_NOREPLACE) != 0) {
            error = -errno;
        }
    }
    if (error != 0) {
        unlink(making);
        close(fd);
        return error;
    }
    if (!hold) {
        lock_byte(fd, F_OFD_SETLK, F_UNLCK, BYTE_MAKER, 1);
    }
    return fd;
}

int hccl_segment_open(const char *path)
{
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) {
        return -errno;
    }
    struct stat st;
    if (fstat(fd, &st) != 0 || st.st_uid != getuid() || !S_ISREG(st.st_mode) || st.st_size < HEAD_B) {
        close(fd);
        return -EINVAL; /* not created by us */
    }
    return fd;
}

/* The caller holds BYTE_GATHER of this file: the name is removed only if it still refers to this file. */
static void remove_name(int fd, const char *path)
{
    struct stat mine, named;
    if (fstat(fd, &mine) == 0 && stat(path, &named) == 0 && mine.st_ino == named.st_ino &&
        mine.st_dev == named.st_dev) {
        unlink(path);
    }
}

static bool abandoned(const struct hccl_segment *s)
{
    for (uint32_t r = 0; r < s->n; r++) {
        if (s->ranks[r].presence != HCCL_ABSENT && !held_by_other(s->fd, r, 1)) {
            return true;
        }
    }
    return false;
}

/* Under BYTE_GATHER, with the whole layout mapped. */
static HcclResult take_place(struct hccl_segment *s, const char *path, char *why)
{
    struct hccl_head *head = s->head;
    struct stat st;
    if (fstat(s->fd, &st) != 0 || st.st_nlink == 0 || hccl_bell_read(&head->state) != HCCL_OPEN) {
        return hccl_explain(why, HCCL_E_AGAIN, "all ranks of this communicator have already joined");
    }
    if (abandoned(s)) {
        hccl_bell_set(&head->state, HCCL_BROKEN);
        remove_name(s->fd, path);
        return hccl_explain(why, HCCL_E_AGAIN, "a rank died while the communicator was being set up");
    }
    int error = lock_byte(s->fd, F_OFD_SETLK, F_WRLCK, s->rank, 1);
    if (error != 0) {
        return hccl_explain(why, HCCL_E_PARA, "rank %u has already joined", s->rank);
    }
    error = reserve(s->fd, (size_t)(hccl_staging(s, s->rank, 0) - (char *)head), 2 * (size_t)s->slot_b);
    if (error != 0) {
        lock_byte(s->fd, F_OFD_SETLK, F_UNLCK, s->rank, 1);
        return hccl_explain(why, HCCL_E_MEMORY, "no room in " FOLDER ": %s", strerror(-error));
    }
    s->ranks[s->rank].pid = getpid();
    __atomic_store_n(&s->ranks[s->rank].presence, HCCL_PRESENT, __ATOMIC_RELEASE);
    if (++head->joined == s->n) {
        remove_name(s->fd, path);
        hccl_bell_set(&head->state, HCCL_COMPLETE);
    }
    return HCCL_SUCCESS;
}

static HcclResult map_and_take(struct hccl_segment *s, const char *path, const uint8_t *cookie, uint64_t agreed,
                               char *why)
{
    /* Map only the head first: it determines how much to map. */
    struct hccl_head head;
    if (pread(s->fd, &head, sizeof(head), 0) != (ssize_t)sizeof(head) || head.magic != MAGIC) {
        return hccl_explain(why, HCCL_E_PARA, "%s is not a communicator of this version", path);
    }
    if (cookie != NULL && memcmp(cookie, head.cookie, sizeof(head.cookie)) != 0) {
        return hccl_explain(why, HCCL_E_PARA, "the root info belongs to another communicator");
    }
    if (s->has_maker && !held_by_other(s->fd, BYTE_MAKER, 1)) {
        return hccl_explain(why, HCCL_E_REMOTE, "the process that created the root info is gone");
    }
    if (head.n_ranks != 0 && head.n_ranks != s->n) {
        return hccl_explain(why, HCCL_E_PARA, "other ranks joined with %u ranks, this one with %u", head.n_ranks, s->n);
    }
    if (head.agreed != agreed) {
        return hccl_explain(why, HCCL_E_PARA, "the ranks do not agree on the members of the communicator");
    }
    struct segment_layout l = layout_of(s->n);
    if (head.n_ranks == 0) {
        int error = ftruncate(s->fd, (off_t)l.total) != 0 ? -errno : reserve(s->fd, 0, l.staging);
        if (error != 0) {
            return hccl_explain(why, HCCL_E_MEMORY, "no room in " FOLDER ": %s", strerror(-error));
        }
    }
    char *base = mmap(NULL, l.total, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, s->fd, 0);
    if (base == MAP_FAILED) {
        return hccl_explain(why, HCCL_E_MEMORY, "cannot map %zu bytes: %s", l.total, strerror(errno));
    }
    place(s, base, &l);
    s->head->n_ranks = s->n;
    return take_place(s, path, why);
}

HcclResult hccl_segment_join(struct hccl_segment *segment, int fd, const char *path, const uint8_t *cookie,
                             uint64_t agreed, uint32_t n, uint32_t rank, char why[HCCL_WHY_B])
{
    memset(segment, 0, sizeof(*segment));
    segment->fd = fd;
    segment->n = n;
    segment->rank = rank;
    segment->has_maker = cookie != NULL;
    snprintf(segment->path, sizeof(segment->path), "%s", path);
    HcclResult result;
    int error = lock_byte(fd, F_OFD_SETLKW, F_WRLCK, BYTE_GATHER, 1);
    if (error != 0) {
        result = hccl_explain(why, HCCL_E_SYSCALL, "cannot lock %s: %s", path, strerror(-error));
    } else {
        result = map_and_take(segment, path, cookie, agreed, why);
        lock_byte(fd, F_OFD_SETLK, F_UNLCK, BYTE_GATHER, 1);
    }
    if (result != HCCL_SUCCESS) {
        hccl_segment_leave(segment);
    }
    return result;
}

/* Ends a gathering that cannot become complete. Returns its state afterwards: it may have become complete in the
 * meantime. */
static uint32_t break_gathering(struct hccl_segment *s)
{
    lock_byte(s->fd, F_OFD_SETLKW, F_WRLCK, BYTE_GATHER, 1);
    uint32_t state = hccl_bell_read(&s->head->state);
    if (state == HCCL_OPEN) {
        state = HCCL_BROKEN;
        hccl_bell_set(&s->head->state, state);
        remove_name(s->fd, s->path);
    }
    lock_byte(s->fd, F_OFD_SETLK, F_UNLCK, BYTE_GATHER, 1);
    return state;
}

/* A rank that will never join, or has joined and died: its number, or n for the creator of the root info. -1: none. */
static int32_t lost_member(const struct hccl_segment *s)
{
    for (uint32_t r = 0; r < s->n; r++) {
        if (__atomic_load_n(&s->ranks[r].presence, __ATOMIC_ACQUIRE) != HCCL_ABSENT && !hccl_segment_alive(s, r)) {
            return (int32_t)r;
        }
    }
    return s->has_maker && !held_by_other(s->fd, BYTE_MAKER, 1) ? (int32_t)s->n : -1;
}

static uint32_t missing(const struct hccl_segment *s, char *list, size_t size_b)
{
    uint32_t n = 0;
    size_t used = 0;
    list[0] = '\0';
    for (uint32_t r = 0; r < s->n; r++) {
        if (__atomic_load_n(&s->ranks[r].presence, __ATOMIC_ACQUIRE) == HCCL_ABSENT && ++n <= 8 && used < size_b) {
            used += (size_t)snprintf(list + used, size_b - used, "%s%u", n > 1 ? "," : "", r);
        }
    }
    return n;
}

HcclResult hccl_segment_gather(struct hccl_segment *s, int64_t timeout_ms, char why[HCCL_WHY_B])
{
    uint64_t deadline = ms_clock_raw_ns() + (uint64_t)timeout_ms * 1000000u;
    uint32_t state;
    while ((state = hccl_bell_read(&s->head->state)) == HCCL_OPEN) {
        uint64_t now = ms_clock_raw_ns();
        if (now >= deadline) {
            char list[80];
            uint32_t n = missing(s, list, sizeof(list));
            if (break_gathering(s) == HCCL_COMPLETE) {
                return HCCL_SUCCESS;
            }
            return hccl_explain(why, HCCL_E_TIMEOUT, "%u of %u ranks did not join within %lld s: %s", n, s->n,
                                (long long)(timeout_ms / 1000), list);
        }
        uint64_t left_ms = (deadline - now) / 1000000u + 1;
        int32_t slice = (int32_t)(left_ms < HCCL_SLICE_MS ? left_ms : HCCL_SLICE_MS);
        if (hccl_bell_sleep(&s->head->state, HCCL_OPEN, &hccl_plain_waiter, slice) != -ETIMEDOUT) {
            continue;
        }
        int32_t lost = lost_member(s);
        if (lost >= 0 && break_gathering(s) != HCCL_COMPLETE) {
            return lost == (int32_t)s->n
                       ? hccl_explain(why, HCCL_E_REMOTE, "the process that created the root info is gone")
                       : hccl_explain(why, HCCL_E_REMOTE, "rank %d died while the communicator was being set up", lost);
        }
    }
    if (state != HCCL_COMPLETE) {
        return hccl_explain(why, HCCL_E_REMOTE, "another rank gave up or died while the communicator was being set up");
    }
    return HCCL_SUCCESS;
}

void hccl_segment_leave(struct hccl_segment *s)
{
    if (s->head != NULL) {
        munmap(s->head, s->map_b);
        s->head = NULL;
    }
    if (s->fd >= 0) {
        close(s->fd); /* drops the locks */
        s->fd = -1;
    }
}

void hccl_segment_forget(struct hccl_segment *s)
{
    if (s->fd >= 0) {
        close(s->fd);
        s->fd = -1;
    }
}

void hccl_segment_sweep(void)
{
    char p[64];
    prefix(p);
    DIR *dir = opendir(FOLDER);
    if (dir == NULL) {
        return;
    }
    struct dirent *entry;
    while ((entry = readdir(dir)) != NULL) {
        if (strncmp(entry->d_name, p, strlen(p)) != 0) {
            continue;
        }
        char path[HCCL_PATH_B + 64];
        snprintf(path, sizeof(path), FOLDER "/%s", entry->d_name);
        int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
        struct stat st;
        if (fd < 0) {
            continue;
        }
        if (fstat(fd, &st) == 0 && st.st_uid == getuid() && time(NULL) - st.st_mtime > RUBBISH_AGE_S &&
            !held_by_other(fd, 0, BYTE_GATHER + 1) && lock_byte(fd, F_OFD_SETLK, F_WRLCK, BYTE_GATHER, 1) == 0) {
            remove_name(fd, path);
        }
        close(fd);
    }
    closedir(dir);
}
