/* SPDX-License-Identifier: Apache-2.0 */
/* One look at a machine: what `info` and `top` show. Rates come from two looks. */
#ifndef SOFTNPU_CLI_VIEW_H
#define SOFTNPU_CLI_VIEW_H

#include "softnpu/hal/machine.h"

#include <stdio.h>

struct view {
    char machine_name[64];
    struct snpu_config config;
    bool exists;      /* the machine was created by a process some time */
    uint64_t time_ns; /* of the look */
    size_t process_count;
    struct snpu_process *processes; /* process_count entries, ordered by pid */
};

/* Opens the machine named by --machine, SOFTNPU_MACHINE or "default". 0, or an exit status after printing why. A
 * machine that nobody has created yet is no error: the view shows what a program started now would get. */
int view_open(const char *machine_option, struct snpu_machine **machine, struct view *view);

/* Looks again. */
void view_refresh(struct snpu_machine *machine, struct view *view);
void view_free(struct view *view);

/* Sums over processes. */
uint64_t view_used_b(const struct view *view, uint32_t dev);
uint64_t view_process_used_b(const struct snpu_process *process, uint32_t dev);

/* Part of the time between two looks in which streams of a process on a device were executing: 1.0 is one stream busy
 * all the time. 0 if the process is not in the earlier look. */
double view_busy(const struct view *earlier, const struct view *now, const struct snpu_process *process, uint32_t dev);
double view_task_rate(const struct view *earlier, const struct view *now, const struct snpu_process *process,
                      uint32_t dev);

/* Report as text (with rates if `earlier` is given) or JSON. */
void view_print(FILE *out, const struct view *earlier, const struct view *now);
void view_print_json(FILE *out, const struct view *earlier, const struct view *now);

#endif
