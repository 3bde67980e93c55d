/* SPDX-License-Identifier: Apache-2.0 */
/* The machine: the state shared by all processes that use the same software NPUs. Linked statically into
 * libascend_hal.so (a participant), libdcmi.so and the softnpu command (observers).
 *
 * A device's used memory is by definition the sum over the slots of living processes: there is no total that could
 * drift. See machine.c for the file and the locks. */
#ifndef SOFTNPU_HAL_MACHINE_H
#define SOFTNPU_HAL_MACHINE_H

#include "softnpu/hal/hal_ext.h"
#include "softnpu/hal/settings.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SNPU_MAX_PROCESSES 256
#define SNPU_MODULES       77 /* module ids 0..76 of the driver */
enum { SNPU_MODULE_RUNTIME = 7, SNPU_MODULE_ASCENDCL = 48 };

enum snpu_page { SNPU_PAGE_NORMAL, SNPU_PAGE_HUGE, SNPU_PAGE_GIANT, SNPU_PAGE_TYPES };
#define SNPU_NORMAL_B ((uint64_t)4096)
#define SNPU_HUGE_B   ((uint64_t)2 << 20)
#define SNPU_GIANT_B  ((uint64_t)1 << 30)

struct snpu_machine;

/* ---- participants ---- */

/* Joins the machine named in `settings`, creating it if no process uses it, and claims a slot for this process.
 * Cannot fail: if the shared state is not available, the result is a private machine and `why` has the reason (empty
 * otherwise). Call once per process. The file descriptor stays open for the life of the process: closing any
 * descriptor of the file would release the lock that marks the slot as living. */
struct snpu_machine *snpu_machine_join(const struct snpu_settings *settings, char *why, size_t why_len);

/* In a forked child, which inherits the mapping but not the slot: claims its own. */
struct snpu_machine *snpu_machine_rejoin(struct snpu_machine *inherited, char *why, size_t why_len);

bool snpu_machine_is_private(const struct snpu_machine *m);
const struct snpu_config *snpu_machine_config(const struct snpu_machine *m);

/* Charges size_b of a device's capacity to this process. 0 or -ENOMEM. A module_id beyond the table counts as 0. */
int snpu_machine_charge(struct snpu_machine *m, uint32_t dev, enum snpu_page page, uint64_t size_b, uint32_t module_id);
void snpu_machine_uncharge(struct snpu_machine *m, uint32_t dev, enum snpu_page page, uint64_t size_b,
                           uint32_t module_id);
void snpu_machine_pin(struct snpu_machine *m, int64_t delta_b); /* this process's pinned host memory */

struct snpu_activity *snpu_machine_activity(struct snpu_machine *m, uint32_t dev);
void snpu_machine_set_lost(struct snpu_machine *m, uint32_t dev, bool lost); /* for this process */
bool snpu_machine_lost(const struct snpu_machine *m, uint32_t dev);
/* Bytes charged to this process by module. */
void snpu_machine_module(const struct snpu_machine *m, uint32_t dev, uint32_t module_id, uint64_t *now_b,
                         uint64_t *peak_b);

/* ---- observers ---- */

/* Opens an existing machine as an observer, for the rest of the process's life. 0; -ENOENT: no such machine;
 * -EPROTO: damaged, or written by another version; other -errno. Not thread-safe. */
int snpu_machine_observe(const char *name, struct snpu_machine **out);

/* True if a living process uses the machine. */
bool snpu_machine_in_use(struct snpu_machine *m);

/* A device's used bytes by page type, over all living processes. */
void snpu_machine_used(struct snpu_machine *m, uint32_t dev, uint64_t used_b[SNPU_PAGE_TYPES]);

struct snpu_process_device {
    uint64_t used_b[SNPU_PAGE_TYPES];
    struct snpu_activity activity;
    bool lost;
};
struct snpu_process {
    int32_t pid;
    uint64_t start_time; /* clock ticks after boot, as in /proc/<pid>/stat */
    char name[16];
    uint64_t pinned_b;
    struct snpu_process_device device[SNPU_MAX_DEVICES];
};
/* Copies the living processes; returns their number (at most `max` are copied). */
size_t snpu_machine_processes(struct snpu_machine *m, struct snpu_process *out, size_t max);

/* ---- removal ---- */

/* Calls fn with the name of every machine of this user that has a file. */
void snpu_machine_each(void (*fn)(void *argument, const char *name), void *argument);

/* Removes a machine's file. 0; -EBUSY: a living process uses or observes it; -ENOENT: no such file; -EPROTO: not a
 * machine file; other -errno. Must not be called by a participant or observer. */
int snpu_machine_remove(const char *name);

/* ---- shares: exported handles, IPC memory ---- */

#define SNPU_SHARE_NAME 65
#define SNPU_SHARE_PIDS 128

enum snpu_share_kind { SNPU_SHARE_NONE, SNPU_SHARE_HANDLE, SNPU_SHARE_IPC };

struct snpu_share_desc {
    enum snpu_share_kind kind;
    int32_t pid;       /* exporter */
    int32_t fd;        /* in the exporter */
    uint64_t file_dev; /* identity of that file, to detect a reused pid or descriptor */
    uint64_t file_ino;
    uint64_t offset_b; /* in the file */
    uint64_t size_b;
    uint32_t dev;
    uint32_t side; /* as drv_mem_prop */
    uint32_t module_id;
    uint32_t page; /* enum snpu_page */
    uint32_t mem_type;
    uint32_t open_to_all; /* process ids are not checked */
};

/* Publishes a share; other processes use the token, which is never 0. 0 or -ENOSPC. */
int snpu_share_publish(struct snpu_machine *m, const struct snpu_share_desc *share, uint64_t *token);

/* Reads a share and registers this process as a user until snpu_share_release. 0; -ENOENT: unknown token, withdrawn,
 * or its exporter is dead; -EPERM: this process is not on the list (the exporter always is). */
int snpu_share_import(struct snpu_machine *m, uint64_t token, struct snpu_share_desc *out);
void snpu_share_release(struct snpu_machine *m, uint64_t token);

/* For the exporter only (otherwise -EPERM, -ENOENT): snpu_share_admit adds process ids to the list (-ENOSPC if there
 * would be more than SNPU_SHARE_PIDS); snpu_share_open_to_all admits all processes; snpu_share_withdraw refuses
 * further imports. */
int snpu_share_admit(struct snpu_machine *m, uint64_t token, const int *pids, size_t count);
int snpu_share_open_to_all(struct snpu_machine *m, uint64_t token);
int snpu_share_withdraw(struct snpu_machine *m, uint64_t token);

/* For the exporter, after snpu_share_withdraw: true if no living process uses the share any more; the token is then
 * invalid. */
bool snpu_share_is_unused(struct snpu_machine *m, uint64_t token);

#endif
