/* SPDX-License-Identifier: Apache-2.0 */
/* Queries on a machine, for observers and participants. Nothing here writes to the file, and a file that is just
 * being replaced reads as a machine without devices. */
#include "softnpu/hal/machine_internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Opens the file for reading. A descriptor of a machine file is never closed: this process may be a participant
 * through libascend_hal.so, and closing any descriptor of the file would release its lock. So the descriptor of an
 * unusable file is kept for the next attempt. */
static int spare_fd = -1;

static int open_for_observing(const char *name)
{
    char path[128];
    struct stat named, spare;
    snprintf(path, sizeof(path), "/dev/shm/softnpu-%u-%s", (unsigned)geteuid(), name);
    if (spare_fd >= 0 && stat(path, &named) == 0 && fstat(spare_fd, &spare) == 0 && named.st_ino == spare.st_ino &&
        named.st_dev == spare.st_dev) {
        int fd = spare_fd;
        spare_fd = -1;
        return fd;
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    return fd >= 0 ? fd : -errno;
}

int snpu_machine_observe(const char *name, struct snpu_machine **out)
{
    struct stat st;
    struct snpu_machine *m = calloc(1, sizeof(*m));
    if (m == NULL) {
        return -ENOMEM;
    }
    int rc = m->fd = open_for_observing(name);
    if (m->fd < 0) {
        free(m);
        return rc;
    }
    rc = -EPROTO;
    if (fstat(m->fd, &st) == 0 && S_ISREG(st.st_mode) && (uint64_t)st.st_size >= sizeof(*m->file)) {
        m->file = mmap(NULL, sizeof(*m->file), PROT_READ, MAP_SHARED, m->fd, 0);
        if (m->file == MAP_FAILED) {
            rc = -errno;
        } else if (!snpu__machine_valid(m->file, (uint64_t)st.st_size)) {
            munmap(m->file, sizeof(*m->file));
        } else if (!snpu__machine_lock_observer(m->fd)) {
            munmap(m->file, sizeof(*m->file));
            rc = -ENOENT;
        } else {
            pthread_mutex_init(&m->lock, NULL);
            m->slot = SNPU_MAX_PROCESSES;
            *out = m;
            return 0;
        }
    }
    spare_fd = m->fd;
    free(m);
    return rc;
}

void snpu_machine_each(void (*fn)(void *argument, const char *name), void *argument)
{
    char prefix[32];
    int prefix_b = snprintf(prefix, sizeof(prefix), "softnpu-%u-", (unsigned)geteuid());
    DIR *folder = opendir("/dev/shm");
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        if (strncmp(entry->d_name, prefix, (size_t)prefix_b) == 0) {
            fn(argument, entry->d_name + prefix_b);
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
}

static uint32_t slots_high(const struct snpu_machine *m)
{
    uint32_t high = __atomic_load_n(&m->file->slots_high, __ATOMIC_SEQ_CST);
    return high <= SNPU_MAX_PROCESSES ? high : SNPU_MAX_PROCESSES;
}

bool snpu_machine_in_use(struct snpu_machine *m)
{
    uint32_t high = slots_high(m);
    for (uint32_t i = 0; i < high; i++) {
        if (snpu__slot_alive(m, i)) {
            return true;
        }
    }
    return false;
}

void snpu_machine_used(struct snpu_machine *m, uint32_t dev, uint64_t used_b[SNPU_PAGE_TYPES])
{
    uint32_t high = slots_high(m);
    memset(used_b, 0, SNPU_PAGE_TYPES * sizeof(*used_b));
    for (uint32_t i = 0; dev < SNPU_MAX_DEVICES && i < high; i++) {
        const struct machine_use *use = &m->file->slots[i].use[dev];
        uint64_t mine_b[SNPU_PAGE_TYPES], any_b = 0;
        for (int page = 0; page < SNPU_PAGE_TYPES; page++) {
            mine_b[page] = SNPU_LOAD(&use->used_b[page]);
            any_b |= mine_b[page];
        }
        /* Checking whether a process lives is a system call: only where it matters. */
        if (any_b != 0 && snpu__slot_alive(m, i)) {
            for (int page = 0; page < SNPU_PAGE_TYPES; page++) {
                used_b[page] += mine_b[page];
            }
        }
    }
}

size_t snpu_machine_processes(struct snpu_machine *m, struct snpu_process *out, size_t max)
{
    size_t count = 0;
    uint32_t high = slots_high(m);
    uint32_t devices = m->file->config.devices <= SNPU_MAX_DEVICES ? m->file->config.devices : SNPU_MAX_DEVICES;
    for (uint32_t i = 0; i < high; i++) {
        const struct machine_slot *s = &m->file->slots[i];
        if (!snpu__slot_alive(m, i)) {
            continue;
        }
        if (count < max) {
            struct snpu_process *p = &out[count];
            memset(p, 0, sizeof(*p));
            p->pid = SNPU_LOAD(&s->pid);
            p->start_time = SNPU_LOAD(&s->start_time);
            memcpy(p->name, s->name, sizeof(p->name));
            p->name[sizeof(p->name) - 1] = '\0';
            p->pinned_b = SNPU_LOAD(&s->pinned_b);
            for (uint32_t d = 0; d < devices; d++) {
                const struct machine_use *use = &s->use[d];
                for (int page = 0; page < SNPU_PAGE_TYPES; page++) {
                    p->device[d].used_b[page] = SNPU_LOAD(&use->used_b[page]);
                }
                p->device[d].activity.busy_ns = SNPU_LOAD(&use->activity.busy_ns);
                p->device[d].activity.tasks = SNPU_LOAD(&use->activity.tasks);
                p->device[d].activity.streams = SNPU_LOAD(&use->activity.streams);
                p->device[d].lost = SNPU_LOAD(&use->lost) != 0;
            }
        }
        count++;
    }
    return count;
}
