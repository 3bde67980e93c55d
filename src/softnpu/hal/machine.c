/* SPDX-License-Identifier: Apache-2.0 */
/* The machine file: /dev/shm/softnpu-<uid>-<name>, mode 0600, mapped shared by every process on the machine.
 *
 * Contents: the configuration, 256 process slots, the table of shares. Most of the file's 24 MB are holes. A process
 * allocates the parts it is going to write, because writing to a hole when /dev/shm is full raises SIGBUS. Slots are
 * read and cleared only for the devices that the machine has, because reading fills holes too.
 *
 * Liveness: a process holds a POSIX write lock on its slot's byte. The kernel releases the lock however the process
 * ends, exec included (the descriptor is close-on-exec), and a forked child does not inherit it. Others test it with
 * F_GETLK; a slot without a lock is dead and no longer counts, whether or not it has been cleared.
 *
 * Locks: `lock` (threads of this process), then the byte SNPU_LOCK_FILE (processes). Both are held to create or
 * replace the file, to claim and clear slots, to change the table of shares, and to decide charges that may not fit.
 * No other lock is taken inside. Counters of a slot are relaxed atomics, changed only by its process.
 *
 * Charging is optimistic: add to the own slot, sum all slots, keep the charge if the sum fits. Two processes that
 * race for the last bytes may both see too large a sum. So a charge that does not fit takes the locks, blocks new
 * optimistic charges (`exclusive`), waits for those in flight, clears dead slots and makes the final decision. A
 * process that stops or dies in flight delays this by at most IN_FLIGHT_MAX_NS.
 *
 * The file remains when the last process ends: a killed process could not remove it, and a forked child may be about
 * to join. snpu_machine_remove deletes it under the file lock if no slot is locked and no observer is attached; a
 * process that gets the file lock afterwards finds the name gone and opens the file again.
 *
 * Failure policy: without the file (no /dev/shm, another owner, in use by another version, 256 processes) the
 * process gets a private machine and a message. A file of another user is never written. The file never shrinks, so
 * that readers' mappings stay valid. */
#include "softnpu/hal/machine_internal.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define IN_FLIGHT_MAX_NS 200000000u

uint64_t snpu__image(void)
{
    uint64_t image = 0;
    const void *random = (const void *)getauxval(AT_RANDOM);
    if (random != NULL) {
        memcpy(&image, random, sizeof(image));
    }
    return image;
}

static uint64_t start_time(void)
{
    char text[1024];
    int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return 0;
    }
    ssize_t n = read(fd, text, sizeof(text) - 1);
    close(fd);
    text[n > 0 ? n : 0] = '\0';
    /* Field 22; the name in field 2 may contain any character, so count from the last ')'. */
    const char *p = strrchr(text, ')');
    for (int field = 2; p != NULL && field < 22; field++) {
        p = strchr(p + 1, ' ');
    }
    return p != NULL ? strtoull(p + 1, NULL, 10) : 0;
}

static int byte_lock(int fd, int command, short type, off_t first, off_t count, struct flock *result)
{
    struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = first, .l_len = count};
    int rc;
    do {
        rc = fcntl(fd, command, &lock);
    } while (rc != 0 && (errno == EINTR || (errno == EDEADLK && command == F_SETLKW)));
    if (result != NULL) {
        *result = lock;
    }
    return rc == 0 ? 0 : -errno;
}

void snpu__machine_lock(struct snpu_machine *m)
{
    pthread_mutex_lock(&m->lock);
    if (m->fd >= 0) {
        byte_lock(m->fd, F_SETLKW, F_WRLCK, SNPU_LOCK_FILE, 1, NULL);
    }
}

void snpu__machine_unlock(struct snpu_machine *m)
{
    if (m->fd >= 0) {
        byte_lock(m->fd, F_SETLK, F_UNLCK, SNPU_LOCK_FILE, 1, NULL);
    }
    pthread_mutex_unlock(&m->lock);
}

static bool has_name(int fd)
{
    struct stat st;
    return fstat(fd, &st) != 0 || st.st_nlink != 0;
}

bool snpu__machine_lock_observer(int fd)
{
    byte_lock(fd, F_SETLK, F_RDLCK, SNPU_LOCK_OBSERVERS, 1, NULL); /* if locking is impossible, so is removal */
    return has_name(fd);
}

static bool locked_by_others(int fd, off_t first, off_t count)
{
    struct flock result;
    return byte_lock(fd, F_GETLK, F_WRLCK, first, count, &result) == 0 && result.l_type != F_UNLCK;
}

bool snpu__slot_alive(struct snpu_machine *m, uint32_t slot)
{
    const struct machine_slot *s = &m->file->slots[slot];
    if (!SNPU_LOAD(&s->taken)) {
        return false;
    }
    if (slot == m->slot || m->fd < 0 || locked_by_others(m->fd, SNPU_LOCK_SLOT(slot), 1)) {
        return true;
    }
    /* This process's own lock does not show: another library's copy of this code may hold it. */
    return SNPU_LOAD(&s->pid) == getpid() && SNPU_LOAD(&s->image) == snpu__image();
}

int snpu__machine_allocate(struct snpu_machine *m, const void *start, size_t size_b)
{
    if (m->fd < 0 || fallocate(m->fd, 0, (const char *)start - (const char *)m->file, (off_t)size_b) == 0) {
        return 0;
    }
    return errno == EOPNOTSUPP ? 0 : -errno;
}

/* The part of a slot that is used on this machine. */
static size_t slot_b(const struct snpu_machine *m)
{
    return offsetof(struct machine_slot, use) + m->file->config.devices * sizeof(struct machine_use);
}

static void clear_slot(struct snpu_machine *m, struct machine_slot *s)
{
    uint64_t *word = (uint64_t *)(void *)s;
    /* Word by word, because other threads keep reading. `taken` is in the first word. */
    for (size_t i = 0; i < slot_b(m) / sizeof(*word); i++) {
        if (SNPU_LOAD(&word[i]) != 0) {
            SNPU_STORE(&word[i], 0);
        }
    }
}

void snpu__clear_dead_slots(struct snpu_machine *m)
{
    uint32_t high = SNPU_LOAD(&m->file->slots_high);
    for (uint32_t i = 0; i < high; i++) {
        if (SNPU_LOAD(&m->file->slots[i].taken) && !snpu__slot_alive(m, i)) {
            snpu__drop_shares(m, i);
            clear_slot(m, &m->file->slots[i]);
        }
    }
}

bool snpu__machine_valid(const struct machine_file *file, uint64_t mapped_b)
{
    return mapped_b >= sizeof(*file) && memcmp(file->magic, SNPU_MACHINE_MAGIC, sizeof(file->magic)) == 0 &&
           file->version == SNPU_MACHINE_VERSION && file->file_b == sizeof(*file) && file->config.devices >= 1 &&
           file->config.devices <= SNPU_MAX_DEVICES && file->slots_high <= SNPU_MAX_PROCESSES &&
           file->shares_high <= SNPU_MACHINE_SHARES && memchr(file->config.soc, '\0', sizeof(file->config.soc)) != NULL;
}

static void init_file(struct machine_file *file, const struct snpu_config *config)
{
    uint64_t magic;
    memcpy(&magic, SNPU_MACHINE_MAGIC, sizeof(magic));
    file->version = SNPU_MACHINE_VERSION;
    file->file_b = sizeof(*file);
    file->config = *config;
    __atomic_store_n((uint64_t *)(void *)file->magic, magic, __ATOMIC_RELEASE); /* after everything else */
}

static bool same_config(const struct snpu_config *a, const struct snpu_config *b)
{
    return a->devices == b->devices && a->capacity_b == b->capacity_b && strcmp(a->soc, b->soc) == 0;
}

/* File lock held. 0, or -EAGAIN if living processes own all slots. */
static int claim_slot(struct snpu_machine *m)
{
    snpu__clear_dead_slots(m);
    for (uint32_t i = 0; i < SNPU_MAX_PROCESSES; i++) {
        struct machine_slot *s = &m->file->slots[i];
        if (SNPU_LOAD(&s->taken)) {
            continue;
        }
        int rc = m->fd >= 0 ? byte_lock(m->fd, F_SETLK, F_WRLCK, SNPU_LOCK_SLOT(i), 1, NULL) : 0;
        if (rc == -EAGAIN || rc == -EACCES) {
            continue;
        }
        if (rc == 0 && (rc = snpu__machine_allocate(m, s, slot_b(m))) != 0) {
            byte_lock(m->fd, F_SETLK, F_UNLCK, SNPU_LOCK_SLOT(i), 1, NULL);
        }
        if (rc != 0) {
            return rc;
        }
        clear_slot(m, s);
        SNPU_STORE(&s->pid, getpid());
        SNPU_STORE(&s->image, snpu__image());
        SNPU_STORE(&s->start_time, start_time());
        prctl(PR_GET_NAME, s->name);
        m->slot = i;
        if (i >= SNPU_LOAD(&m->file->slots_high)) {
            __atomic_store_n(&m->file->slots_high, i + 1, __ATOMIC_SEQ_CST);
        }
        __atomic_store_n(&s->taken, 1, __ATOMIC_SEQ_CST);
        return 0;
    }
    return -EAGAIN;
}

/* A process joins only one machine, so neither the handle nor a private machine is allocated: joining cannot fail. */
static struct snpu_machine joined;
static struct machine_file private_file;

static struct snpu_machine *join_privately(struct snpu_machine *m, const struct snpu_config *config)
{
    m->fd = -1;
    m->file = &private_file;
    for (uint32_t i = 0; i < m->file->slots_high; i++) {
        clear_slot(m, &m->file->slots[i]); /* a forked child finds its parent's data here */
    }
    for (uint32_t i = 0; i < m->file->shares_high; i++) {
        m->file->shares[i].token = 0;
    }
    init_file(m->file, config);
    claim_slot(m);
    return m;
}

static void path_of(const char *name, char path[128])
{
    snprintf(path, 128, "/dev/shm/softnpu-%u-%s", (unsigned)geteuid(), name);
}

static int open_file(const char *name, int flags)
{
    char path[128];
    struct stat st;
    path_of(name, path);
    int fd = open(path, flags | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        return -errno;
    }
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid()) {
        close(fd); /* not the machine file: closing it releases no lock */
        return -EACCES;
    }
    return fd;
}

/* File lock held. Makes the mapped file usable by this process, or fails. */
static int agree_on_file(struct snpu_machine *m, const struct snpu_config *config, uint64_t size_b)
{
    bool in_use = locked_by_others(m->fd, SNPU_LOCK_SLOT(0), SNPU_MAX_PROCESSES);
    bool valid = snpu__machine_valid(m->file, size_b);
    if (valid && (in_use || same_config(&m->file->config, config))) {
        return 0;
    }
    if (in_use) {
        return -EPROTO;
    }
    if (fallocate(m->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, (off_t)size_b) != 0) {
        memset(m->file, 0, sizeof(*m->file));
    }
    int rc = snpu__machine_allocate(m, m->file, offsetof(struct machine_file, slots));
    if (rc == 0) {
        init_file(m->file, config);
    }
    return rc;
}

static int map_file(struct snpu_machine *m, const struct snpu_config *config)
{
    struct stat st;
    if (fstat(m->fd, &st) != 0) {
        return -errno;
    }
    if ((uint64_t)st.st_size < sizeof(*m->file)) {
        if (ftruncate(m->fd, sizeof(*m->file)) != 0) {
            return -errno;
        }
        st.st_size = sizeof(*m->file);
    }
    m->file = mmap(NULL, sizeof(*m->file), PROT_READ | PROT_WRITE, MAP_SHARED, m->fd, 0);
    if (m->file == MAP_FAILED) {
        return -errno;
    }
    int rc = snpu__machine_allocate(m, m->file, offsetof(struct machine_file, slots));
    if (rc == 0) {
        rc = agree_on_file(m, config, (uint64_t)st.st_size);
    }
    if (rc == 0) {
        rc = claim_slot(m);
    }
    if (rc != 0) {
        munmap(m->file, sizeof(*m->file));
    }
    return rc;
}

static void explain(int error, const char *name, char *why, size_t why_len)
{
    const char *reason = error == -EPROTO   ? "it is in use by another version, or damaged"
                         : error == -EAGAIN ? "it already has the maximum number of processes"
                                            : strerror(-error);
    snprintf(why, why_len, "cannot share machine \"%s\", this process uses private devices: %s", name, reason);
}

struct snpu_machine *snpu_machine_join(const struct snpu_settings *settings, char *why, size_t why_len)
{
    struct snpu_machine *m = &joined;
    if (why_len > 0) {
        why[0] = '\0';
    }
    pthread_mutex_init(&m->lock, NULL);
    m->slot = SNPU_MAX_PROCESSES;
    int rc;
    while ((rc = m->fd = open_file(settings->machine, O_RDWR | O_CREAT)) >= 0) {
        snpu__machine_lock(m);
        bool there = has_name(m->fd);
        rc = there ? map_file(m, &settings->config) : 0;
        snpu__machine_unlock(m);
        if (there && rc == 0) {
            return m;
        }
        if (there) {
            break;
        }
        close(m->fd); /* removed between open and lock: closing it releases no lock */
    }
    explain(rc, settings->machine, why, why_len);
    return join_privately(m, &settings->config);
}

struct snpu_machine *snpu_machine_rejoin(struct snpu_machine *inherited, char *why, size_t why_len)
{
    struct snpu_machine *m = inherited;
    struct snpu_config config = m->file->config;
    pthread_mutex_init(&m->lock, NULL); /* a thread of the parent may have held it */
    m->slot = SNPU_MAX_PROCESSES;
    if (m->fd >= 0) {
        snpu__machine_lock(m);
        int rc = claim_slot(m);
        snpu__machine_unlock(m);
        if (rc == 0) {
            return m;
        }
        explain(rc, "inherited", why, why_len);
    }
    return join_privately(m, &config);
}

int snpu_machine_remove(const char *name)
{
    char path[128], magic[sizeof(((struct machine_file *)NULL)->magic)];
    struct snpu_machine m = {.lock = PTHREAD_MUTEX_INITIALIZER};
    m.fd = open_file(name, O_RDWR);
    if (m.fd < 0) {
        return m.fd;
    }
    int rc = 0;
    path_of(name, path);
    snpu__machine_lock(&m);
    if (pread(m.fd, magic, sizeof(magic), 0) != sizeof(magic) ||
        memcmp(magic, SNPU_MACHINE_MAGIC, sizeof(magic)) != 0) {
        rc = -EPROTO;
    } else if (locked_by_others(m.fd, SNPU_LOCK_SLOT(0), SNPU_MAX_PROCESSES + 1)) {
        rc = -EBUSY;
    } else if (has_name(m.fd) && unlink(path) != 0) {
        rc = -errno;
    }
    snpu__machine_unlock(&m);
    close(m.fd);
    return rc;
}

bool snpu_machine_is_private(const struct snpu_machine *m)
{
    return m->fd < 0;
}

const struct snpu_config *snpu_machine_config(const struct snpu_machine *m)
{
    return &m->file->config;
}

static uint64_t used_by_all(const struct machine_file *file, uint32_t dev)
{
    uint64_t sum_b = 0;
    uint32_t high = __atomic_load_n(&file->slots_high, __ATOMIC_SEQ_CST);
    for (uint32_t i = 0; i < high; i++) {
        const struct machine_use *use = &file->slots[i].use[dev];
        for (int page = 0; page < SNPU_PAGE_TYPES; page++) {
            sum_b += __atomic_load_n(&use->used_b[page], __ATOMIC_SEQ_CST);
        }
    }
    return sum_b;
}

static bool fits(const struct machine_file *file, uint32_t dev)
{
    return used_by_all(file, dev) <= file->config.capacity_b;
}

static bool any_in_flight(const struct machine_file *file, uint32_t dev)
{
    uint32_t high = __atomic_load_n(&file->slots_high, __ATOMIC_SEQ_CST);
    for (uint32_t i = 0; i < high; i++) {
        if (__atomic_load_n(&file->slots[i].use[dev].in_flight, __ATOMIC_SEQ_CST) != 0) {
            return true;
        }
    }
    return false;
}

static bool charge_optimistically(struct machine_file *file, struct machine_use *use, uint32_t dev, enum snpu_page page,
                                  uint64_t size_b)
{
    bool ok = false;
    if (__atomic_load_n(&file->exclusive[dev], __ATOMIC_SEQ_CST) != 0) {
        return false;
    }
    __atomic_fetch_add(&use->in_flight, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&file->exclusive[dev], __ATOMIC_SEQ_CST) == 0) {
        __atomic_fetch_add(&use->used_b[page], size_b, __ATOMIC_SEQ_CST);
        ok = fits(file, dev);
        if (!ok) {
            __atomic_fetch_sub(&use->used_b[page], size_b, __ATOMIC_SEQ_CST);
        }
    }
    __atomic_fetch_sub(&use->in_flight, 1, __ATOMIC_SEQ_CST);
    return ok;
}

static bool charge_exclusively(struct snpu_machine *m, struct machine_use *use, uint32_t dev, enum snpu_page page,
                               uint64_t size_b)
{
    struct machine_file *file = m->file;
    snpu__machine_lock(m);
    __atomic_store_n(&file->exclusive[dev], 1, __ATOMIC_SEQ_CST);
    if (any_in_flight(file, dev)) {
        snpu__clear_dead_slots(m);
        for (uint64_t end = ms_clock_raw_ns() + IN_FLIGHT_MAX_NS;
             any_in_flight(file, dev) && ms_clock_raw_ns() < end;) {
            sched_yield();
        }
    }
    __atomic_fetch_add(&use->used_b[page], size_b, __ATOMIC_SEQ_CST);
    bool ok = fits(file, dev);
    if (!ok) {
        snpu__clear_dead_slots(m);
        ok = fits(file, dev);
    }
    if (!ok) {
        __atomic_fetch_sub(&use->used_b[page], size_b, __ATOMIC_SEQ_CST);
    }
    __atomic_store_n(&file->exclusive[dev], 0, __ATOMIC_SEQ_CST);
    snpu__machine_unlock(m);
    return ok;
}

int snpu_machine_charge(struct snpu_machine *m, uint32_t dev, enum snpu_page page, uint64_t size_b, uint32_t module_id)
{
    struct machine_use *use = &m->file->slots[m->slot].use[dev];
    if (size_b > m->file->config.capacity_b) {
        return -ENOMEM;
    }
    if (!charge_optimistically(m->file, use, dev, page, size_b) && !charge_exclusively(m, use, dev, page, size_b)) {
        return -ENOMEM;
    }
    uint32_t module = module_id < SNPU_MODULES ? module_id : 0;
    uint64_t now_b = __atomic_add_fetch(&use->modules[module].now_b, size_b, __ATOMIC_RELAXED);
    uint64_t peak_b = SNPU_LOAD(&use->modules[module].peak_b);
    while (now_b > peak_b && !__atomic_compare_exchange_n(&use->modules[module].peak_b, &peak_b, now_b, true,
                                                          __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
    return 0;
}

void snpu_machine_uncharge(struct snpu_machine *m, uint32_t dev, enum snpu_page page, uint64_t size_b,
                           uint32_t module_id)
{
    struct machine_use *use = &m->file->slots[m->slot].use[dev];
    uint32_t module = module_id < SNPU_MODULES ? module_id : 0;
    __atomic_fetch_sub(&use->modules[module].now_b, size_b, __ATOMIC_RELAXED);
    __atomic_fetch_sub(&use->used_b[page], size_b, __ATOMIC_SEQ_CST);
}

void snpu_machine_pin(struct snpu_machine *m, int64_t delta_b)
{
    __atomic_fetch_add(&m->file->slots[m->slot].pinned_b, (uint64_t)delta_b, __ATOMIC_RELAXED);
}

struct snpu_activity *snpu_machine_activity(struct snpu_machine *m, uint32_t dev)
{
    return &m->file->slots[m->slot].use[dev].activity;
}

void snpu_machine_set_lost(struct snpu_machine *m, uint32_t dev, bool lost)
{
    SNPU_STORE(&m->file->slots[m->slot].use[dev].lost, lost);
}

bool snpu_machine_lost(const struct snpu_machine *m, uint32_t dev)
{
    return SNPU_LOAD(&m->file->slots[m->slot].use[dev].lost) != 0;
}

void snpu_machine_module(const struct snpu_machine *m, uint32_t dev, uint32_t module_id, uint64_t *now_b,
                         uint64_t *peak_b)
{
    const struct machine_use *use = &m->file->slots[m->slot].use[dev];
    *now_b = SNPU_LOAD(&use->modules[module_id].now_b);
    *peak_b = SNPU_LOAD(&use->modules[module_id].peak_b);
}
