/* SPDX-License-Identifier: Apache-2.0 */
/* Layout of the machine file, and helpers shared by machine.c, machine_observe.c and machine_share.c. */
#ifndef SOFTNPU_HAL_MACHINE_INTERNAL_H
#define SOFTNPU_HAL_MACHINE_INTERNAL_H

#include "softnpu/hal/machine.h"

#include <pthread.h>

#define SNPU_MACHINE_MAGIC   "softnpu\n"
#define SNPU_MACHINE_VERSION 1u
#define SNPU_MACHINE_SHARES  4096u
#define SNPU_CACHE_LINE      64

/* Lock bytes, the same in every version of the file: one for changes to the file, one per slot for its owner's life,
 * one that all observers hold together. */
#define SNPU_LOCK_FILE      ((off_t)1 << 40)
#define SNPU_LOCK_SLOT(i)   (SNPU_LOCK_FILE + 1 + (off_t)(i))
#define SNPU_LOCK_OBSERVERS SNPU_LOCK_SLOT(SNPU_MAX_PROCESSES)

/* One process on one device. Counters are changed only by their own process, read by all. */
struct machine_use {
    uint64_t used_b[SNPU_PAGE_TYPES];
    uint32_t in_flight; /* charges of this process between adding and deciding */
    uint32_t lost;
    struct snpu_activity activity __attribute__((aligned(SNPU_CACHE_LINE)));
    struct {
        uint64_t now_b, peak_b;
    } modules[SNPU_MODULES] __attribute__((aligned(SNPU_CACHE_LINE)));
} __attribute__((aligned(SNPU_CACHE_LINE)));

struct machine_slot {
    uint32_t taken;
    int32_t pid;
    uint64_t image; /* random number of the program image: distinguishes an exec'd program from its predecessor */
    uint64_t start_time;
    char name[16];
    uint64_t pinned_b;
    struct machine_use use[SNPU_MAX_DEVICES];
} __attribute__((aligned(SNPU_CACHE_LINE)));

struct machine_share {
    uint64_t token; /* 0: free */
    uint32_t owner_slot;
    uint32_t pid_count;
    uint32_t withdrawn;
    uint64_t users[SNPU_MAX_PROCESSES / 64]; /* slots that have imported the share */
    struct snpu_share_desc what;
    int32_t pids[SNPU_SHARE_PIDS];
};

struct machine_file {
    char magic[8]; /* written last */
    uint32_t version;
    uint32_t reserved;
    uint64_t file_b;
    struct snpu_config config;
    uint32_t slots_high; /* slots from here on were never taken */
    uint32_t shares_high;
    uint32_t exclusive[SNPU_MAX_DEVICES]; /* 1 while a process decides a charge under the file lock */
    struct machine_slot slots[SNPU_MAX_PROCESSES];
    struct machine_share shares[SNPU_MACHINE_SHARES];
};

struct snpu_machine {
    struct machine_file *file;
    int fd;               /* -1: private */
    uint32_t slot;        /* SNPU_MAX_PROCESSES: observer */
    pthread_mutex_t lock; /* excludes threads, the file lock excludes processes; taken first */
};

#define SNPU_LOAD(p)     __atomic_load_n((p), __ATOMIC_RELAXED)
#define SNPU_STORE(p, v) __atomic_store_n((p), (v), __ATOMIC_RELAXED)

/* Keeps the file from being removed while this process lives. False: its name was already removed. */
bool snpu__machine_lock_observer(int fd);
void snpu__machine_lock(struct snpu_machine *m);
void snpu__machine_unlock(struct snpu_machine *m);
/* Makes sure that these bytes of the file can be written. 0 or -ENOSPC. */
int snpu__machine_allocate(struct snpu_machine *m, const void *start, size_t size_b);
bool snpu__slot_alive(struct snpu_machine *m, uint32_t slot);
void snpu__drop_shares(struct snpu_machine *m,
                       uint32_t slot);               /* removes a dead process from all entries; file lock held */
void snpu__clear_dead_slots(struct snpu_machine *m); /* file lock held */
uint64_t snpu__image(void);

/* Checks the magic, version and size of a mapped file of `mapped_b` bytes. */
bool snpu__machine_valid(const struct machine_file *file, uint64_t mapped_b);

#endif
