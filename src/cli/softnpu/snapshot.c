/* SPDX-License-Identifier: Apache-2.0 */
/* See snapshot.h. */
#include "cli/softnpu/snapshot.h"

#include "cli/softnpu/cli.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "base/parse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int by_pid(const void *a, const void *b)
{
    int32_t x = ((const struct snpu_process *)a)->pid, y = ((const struct snpu_process *)b)->pid;
    return (x > y) - (x < y);
}

int snpu_snapshot_open(const char *machine_option, struct snpu_machine **machine, struct snpu_snapshot *snapshot)
{
    memset(snapshot, 0, sizeof(*snapshot));
    *machine = NULL;
    if (machine_option != NULL && setenv("SOFTNPU_MACHINE", machine_option, 1) != 0) {
        snpu_cli_error("out of memory");
        return SNPU_EXIT_FAILED;
    }
    char why[512];
    struct snpu_settings settings;
    if (snpu_settings_read(&settings, why, sizeof(why)) != 0) {
        snpu_cli_error("%.*s", (int)strcspn(why, "\n"), why);
        return SNPU_EXIT_USAGE;
    }
    memcpy(snapshot->machine_name, settings.machine, sizeof(settings.machine));
    snapshot->config = settings.config;
    int rc = snpu_machine_observe(settings.machine, machine);
    if (rc == -ENOENT) {
        *machine = NULL;
        return SNPU_EXIT_OK;
    }
    if (rc != 0) {
        snpu_cli_error("cannot read machine '%s': %s", settings.machine,
                       rc == -EPROTO ? "the file is damaged or belongs to another version" : strerror(-rc));
        return SNPU_EXIT_FAILED;
    }
    snpu_snapshot_refresh(*machine, snapshot);
    return SNPU_EXIT_OK;
}

void snpu_snapshot_refresh(struct snpu_machine *machine, struct snpu_snapshot *snapshot)
{
    snapshot->time_ns = ms_clock_raw_ns();
    if (machine == NULL) {
        return;
    }
    snapshot->exists = true;
    snapshot->config = *snpu_machine_config(machine);
    if (snapshot->processes == NULL) {
        snapshot->processes = calloc(SNPU_MAX_PROCESSES, sizeof(*snapshot->processes));
        if (snapshot->processes == NULL) {
            return;
        }
    }
    size_t n = snpu_machine_processes(machine, snapshot->processes, SNPU_MAX_PROCESSES);
    snapshot->process_count = n < SNPU_MAX_PROCESSES ? n : SNPU_MAX_PROCESSES;
    qsort(snapshot->processes, snapshot->process_count, sizeof(*snapshot->processes), by_pid);
}

void snpu_snapshot_free(struct snpu_snapshot *snapshot)
{
    free(snapshot->processes);
    snapshot->processes = NULL;
    snapshot->process_count = 0;
}

uint64_t snpu_snapshot_process_used_b(const struct snpu_process *process, uint32_t dev)
{
    uint64_t sum = 0;
    for (int page = 0; page < SNPU_PAGE_TYPES; page++) {
        sum += process->device[dev].used_b[page];
    }
    return sum;
}

uint64_t snpu_snapshot_used_b(const struct snpu_snapshot *snapshot, uint32_t dev)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < snapshot->process_count; i++) {
        sum += snpu_snapshot_process_used_b(&snapshot->processes[i], dev);
    }
    return sum;
}

static const struct snpu_process *same_process(const struct snpu_snapshot *snapshot, const struct snpu_process *process)
{
    for (size_t i = 0; snapshot != NULL && i < snapshot->process_count; i++) {
        if (snapshot->processes[i].pid == process->pid && snapshot->processes[i].start_time == process->start_time) {
            return &snapshot->processes[i];
        }
    }
    return NULL;
}

static double per_ns(const struct snpu_snapshot *earlier, const struct snpu_snapshot *now, uint64_t before,
                     uint64_t after)
{
    uint64_t ns = now->time_ns - earlier->time_ns;
    return ns > 0 && after > before ? (double)(after - before) / (double)ns : 0.0;
}

double snpu_snapshot_busy(const struct snpu_snapshot *earlier, const struct snpu_snapshot *now,
                          const struct snpu_process *process, uint32_t dev)
{
    const struct snpu_process *then = same_process(earlier, process);
    return then == NULL
               ? 0.0
               : per_ns(earlier, now, then->device[dev].activity.busy_ns, process->device[dev].activity.busy_ns);
}

double snpu_snapshot_task_rate(const struct snpu_snapshot *earlier, const struct snpu_snapshot *now,
                               const struct snpu_process *process, uint32_t dev)
{
    const struct snpu_process *then = same_process(earlier, process);
    return then == NULL
               ? 0.0
               : 1e9 * per_ns(earlier, now, then->device[dev].activity.tasks, process->device[dev].activity.tasks);
}

static bool uses(const struct snpu_process *process, uint32_t dev)
{
    return snpu_snapshot_process_used_b(process, dev) > 0 || process->device[dev].activity.streams > 0 ||
           process->device[dev].activity.tasks > 0;
}

void snpu_snapshot_print(FILE *out, const struct snpu_snapshot *earlier, const struct snpu_snapshot *now)
{
    char size[16], total[16];
    fprintf(out, "machine %s, %s%s\n\n", now->machine_name, now->config.soc,
            now->exists ? "" : " (not created yet; a program started now would get these devices)");
    fprintf(out, "device        used    capacity  %%mem   %%busy   tasks/s\n");
    for (uint32_t d = 0; d < now->config.devices; d++) {
        double busy = 0, rate = 0;
        bool lost = false;
        for (size_t i = 0; i < now->process_count; i++) {
            busy += snpu_snapshot_busy(earlier, now, &now->processes[i], d);
            rate += snpu_snapshot_task_rate(earlier, now, &now->processes[i], d);
            lost |= now->processes[i].device[d].lost;
        }
        uint64_t used_b = snpu_snapshot_used_b(now, d);
        ms_format_size(used_b, size);
        ms_format_size(now->config.capacity_b, total);
        fprintf(out, "%6u  %10s  %10s  %4.0f  %6.0f  %8.0f%s\n", d, size, total,
                100.0 * (double)used_b / (double)now->config.capacity_b, 100.0 * busy, rate, lost ? "  lost" : "");
    }
    fprintf(out, "\n   pid  device        used  pinned host  streams   %%busy     tasks  name\n");
    for (size_t i = 0; i < now->process_count; i++) {
        const struct snpu_process *p = &now->processes[i];
        bool shown = false;
        for (uint32_t d = 0; d < now->config.devices; d++) {
            if (!uses(p, d)) {
                continue;
            }
            shown = true;
            ms_format_size(snpu_snapshot_process_used_b(p, d), size);
            ms_format_size(p->pinned_b, total);
            fprintf(out, "%6d  %6u  %10s  %11s  %7u  %6.0f  %8llu  %s\n", p->pid, d, size, total,
                    p->device[d].activity.streams, 100.0 * snpu_snapshot_busy(earlier, now, p, d),
                    (unsigned long long)p->device[d].activity.tasks, p->name);
        }
        if (!shown) {
            ms_format_size(p->pinned_b, total);
            fprintf(out, "%6d  %6s  %10s  %11s  %7s  %6s  %8s  %s\n", p->pid, "-", "0 B", total, "-", "-", "-",
                    p->name);
        }
    }
    if (now->process_count == 0) {
        fprintf(out, "        no processes\n");
    }
}

/* Process names are arbitrary bytes. */
static void print_json_string(FILE *out, const char *text)
{
    struct ms_buffer buffer = {0};
    ms_buffer_json(&buffer, text, strlen(text));
    fprintf(out, "\"%.*s\"", (int)buffer.used, buffer.used > 0 ? buffer.s : "");
    ms_buffer_free(&buffer);
}

void snpu_snapshot_print_json(FILE *out, const struct snpu_snapshot *earlier, const struct snpu_snapshot *now)
{
    fprintf(out, "{\"machine\": ");
    print_json_string(out, now->machine_name);
    fprintf(out, ", \"soc\": ");
    print_json_string(out, now->config.soc);
    fprintf(out, ", \"exists\": %s, \"devices\": [", now->exists ? "true" : "false");
    for (uint32_t d = 0; d < now->config.devices; d++) {
        fprintf(out, "%s{\"id\": %u, \"capacity\": %llu, \"used\": %llu}", d > 0 ? ", " : "", d,
                (unsigned long long)now->config.capacity_b, (unsigned long long)snpu_snapshot_used_b(now, d));
    }
    fprintf(out, "], \"processes\": [");
    for (size_t i = 0; i < now->process_count; i++) {
        const struct snpu_process *p = &now->processes[i];
        fprintf(out, "%s{\"pid\": %d, \"name\": ", i > 0 ? ", " : "", p->pid);
        print_json_string(out, p->name);
        fprintf(out, ", \"pinned\": %llu, \"devices\": [", (unsigned long long)p->pinned_b);
        const char *comma = "";
        for (uint32_t d = 0; d < now->config.devices; d++) {
            if (!uses(p, d)) {
                continue;
            }
            const struct snpu_process_device *on = &p->device[d];
            fprintf(
                out,
                "%s{\"id\": %u, \"used\": %llu, \"normal\": %llu, \"huge\": %llu, \"giant\": %llu, \"streams\": %u, "
                "\"tasks\": %llu, \"busy_ns\": %llu, \"busy\": %.3f, \"lost\": %s}",
                comma, d, (unsigned long long)snpu_snapshot_process_used_b(p, d),
                (unsigned long long)on->used_b[SNPU_PAGE_NORMAL], (unsigned long long)on->used_b[SNPU_PAGE_HUGE],
                (unsigned long long)on->used_b[SNPU_PAGE_GIANT], on->activity.streams,
                (unsigned long long)on->activity.tasks, (unsigned long long)on->activity.busy_ns,
                snpu_snapshot_busy(earlier, now, p, d), on->lost ? "true" : "false");
            comma = ", ";
        }
        fprintf(out, "]}");
    }
    fprintf(out, "]}\n");
}
