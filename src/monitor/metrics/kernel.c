/* SPDX-License-Identifier: Apache-2.0 */
/* Processors and network of the node.
 *
 * The keys of the record are those of the original's kernel monitor. Intended differences: z is stolen time, the tick
 * length is the system's, sockets are counted, and a file that cannot be read only costs its values for one round.
 *
 * Used only by the event loop thread. Bounds: MAX_CPUS processors, MAX_SOCKETS sockets, MAX_NICS interfaces; further
 * ones are ignored. */
#include "monitor/metrics/kernel.h"

#include "base/macros.h"
#include "monitor/daemon/logger.h"
#include "monitor/metrics/kernel_file.h"
#include "monitor/store/record.h"
#include "monitor/store/series.h"

#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define MAX_CPUS    4096
#define MAX_SOCKETS 64
#define MAX_NICS    1024

/* Columns of a cpu line. */
enum { USER, NICE, SYSTEM, IDLE, IOWAIT, IRQ, SOFTIRQ, STEAL, GUEST, GUEST_NICE, CPU_COLUMNS };

static const struct {
    const char *mode;   /* label of host_cpu_seconds_total */
    const char *ms_key; /* time of the period in milliseconds; NULL: not in the record */
    const char *percent_key;
    int legacy_ms, legacy_percent; /* enum mon_metric, -1: none */
} cpu_columns[CPU_COLUMNS] = {
    [USER] = {"user", "cpu_u_ms", "cpu_u", MON_METRIC_L_CPU_U_MS, MON_METRIC_L_CPU_U},
    [NICE] = {"nice", "cpu_n_ms", NULL, MON_METRIC_L_CPU_N_MS, -1},
    [SYSTEM] = {"system", "cpu_s_ms", "cpu_s", MON_METRIC_L_CPU_S_MS, MON_METRIC_L_CPU_S},
    [IDLE] = {"idle", NULL, "cpu_i", -1, MON_METRIC_L_CPU_I},
    [IOWAIT] = {"iowait", "cpu_w_ms", NULL, MON_METRIC_L_CPU_W_MS, -1},
    [IRQ] = {"irq", "cpu_x_ms", NULL, MON_METRIC_L_CPU_X_MS, -1},
    [SOFTIRQ] = {"softirq", "cpu_y_ms", NULL, MON_METRIC_L_CPU_Y_MS, -1},
    [STEAL] = {"steal", "cpu_z_ms", NULL, MON_METRIC_L_CPU_Z_MS, -1},
    [GUEST] = {"guest", "cpu_guest_ms", "cpu_guest", -1, -1},
    [GUEST_NICE] = {"guest_nice", "cpu_guest_nice_ms", "cpu_guest_nice", -1, -1},
};

/* Columns of /proc/net/dev. */
static const struct {
    unsigned column;
    const char *key;
    enum mon_metric total, legacy;
} nic_columns[] = {
    {0, "rx_bytes", MON_METRIC_HOST_RX_BYTES, MON_METRIC_L_RX_BYTES},
    {1, "rx_packets", MON_METRIC_HOST_RX_PACKETS, MON_METRIC_L_RX_PACKETS},
    {2, "rx_errors", MON_METRIC_HOST_RX_ERRORS, MON_METRIC_L_RX_ERRORS},
    {3, "rx_drops", MON_METRIC_HOST_RX_DROPS, MON_METRIC_L_RX_DROPS},
    {8, "tx_bytes", MON_METRIC_HOST_TX_BYTES, MON_METRIC_L_TX_BYTES},
    {9, "tx_packets", MON_METRIC_HOST_TX_PACKETS, MON_METRIC_L_TX_PACKETS},
    {10, "tx_errors", MON_METRIC_HOST_TX_ERRORS, MON_METRIC_L_TX_ERRORS},
    {11, "tx_drops", MON_METRIC_HOST_TX_DROPS, MON_METRIC_L_TX_DROPS},
};
#define NIC_COLUMNS 16
#define NIC_VALUES  MS_COUNT_OF(nic_columns)

struct cpu_times {
    uint64_t ticks[CPU_COLUMNS];
};

struct nic {
    char name[IFNAMSIZ];
    uint64_t value[NIC_VALUES];
    bool seen;
};

struct mon_kernel {
    char *root;
    bool filter;
    char *prefixes;
    double tick_s;
    struct ms_buffer text;
    bool has_cpu; /* `all` and `socket` hold an earlier sample */
    struct cpu_times all, socket[MAX_SOCKETS];
    unsigned sockets; /* 0: unknown */
    unsigned cpus;    /* for which socket_of is known */
    uint8_t socket_of[MAX_CPUS];
    struct nic *nics;
    size_t nic_count;
};

struct mon_kernel *mon_kernel_new(const struct mon_kernel_options *options)
{
    struct mon_kernel *kernel = calloc(1, sizeof(*kernel));
    if (kernel == NULL) {
        return NULL;
    }
    kernel->root = strdup(options->root != NULL ? options->root : "");
    kernel->prefixes = strdup(options->prefixes != NULL ? options->prefixes : "");
    kernel->nics = calloc(MAX_NICS, sizeof(*kernel->nics));
    kernel->filter = options->filter;
    long hz = sysconf(_SC_CLK_TCK);
    kernel->tick_s = 1.0 / (double)(hz > 0 ? hz : 100);
    if (kernel->root == NULL || kernel->prefixes == NULL || kernel->nics == NULL) {
        mon_kernel_free(kernel);
        return NULL;
    }
    return kernel;
}

void mon_kernel_free(struct mon_kernel *kernel)
{
    if (kernel != NULL) {
        free(kernel->root);
        free(kernel->prefixes);
        free(kernel->nics);
        ms_buffer_free(&kernel->text);
        free(kernel);
    }
}

static int sample_uptime(struct mon_kernel *kernel, struct mon_record *record)
{
    uint64_t seconds;
    int rc = mon_kernel_file(kernel->root, "/proc/uptime", &kernel->text);
    if (rc != 0) {
        return rc;
    }
    const char *at = kernel->text.s;
    if (!mon_kernel_number(&at, &seconds)) {
        return -EBADMSG;
    }
    mon_record_int(record, "uptime", (int64_t)seconds);
    mon_metric_record(MON_METRIC_HOST_UPTIME, MON_NO_LABELS, (double)seconds);
    mon_metric_record(MON_METRIC_L_UPTIME, MON_NO_LABELS, (double)seconds);
    return 0;
}

/* ---- processors ---- */

static const char *next_line(const char *at)
{
    const char *end = strchr(at, '\n');
    return end != NULL ? end + 1 : NULL;
}

/* Requires at least user to idle; columns that an old kernel lacks are 0. */
static bool parse_cpu(const char *at, struct cpu_times *out)
{
    unsigned n = 0;
    *out = (struct cpu_times){0};
    while (n < CPU_COLUMNS && mon_kernel_number(&at, &out->ticks[n])) {
        n++;
    }
    return n > IDLE;
}

/* A counter that decreases (iowait does; all do when a processor is removed) counts as unchanged. */
static struct cpu_times difference(const struct cpu_times *now, const struct cpu_times *then)
{
    struct cpu_times d;
    for (unsigned i = 0; i < CPU_COLUMNS; i++) {
        d.ticks[i] = now->ticks[i] > then->ticks[i] ? now->ticks[i] - then->ticks[i] : 0;
    }
    return d;
}

static double total(const struct cpu_times *t)
{
    double sum = 0;
    for (unsigned i = USER; i <= STEAL; i++) { /* guest time is included in user time */
        sum += (double)t->ticks[i];
    }
    return sum;
}

static void find_sockets(struct mon_kernel *kernel, unsigned cpus)
{
    struct ms_buffer text = {0};
    kernel->cpus = cpus;
    kernel->sockets = 0;
    kernel->has_cpu = false;
    for (unsigned cpu = 0; cpu < cpus; cpu++) {
        char path[96];
        uint64_t socket = 0;
        snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u/topology/physical_package_id", cpu);
        kernel->socket_of[cpu] = UINT8_MAX;
        if (mon_kernel_file(kernel->root, path, &text) == 0) {
            const char *at = text.s;
            if (mon_kernel_number(&at, &socket) && socket < MAX_SOCKETS) {
                kernel->socket_of[cpu] = (uint8_t)socket;
                kernel->sockets = (unsigned)socket + 1 > kernel->sockets ? (unsigned)socket + 1 : kernel->sockets;
            }
        }
    }
    ms_buffer_free(&text);
}

static void report_cpu(const struct mon_kernel *kernel, const struct cpu_times *d, struct mon_record *record)
{
    double all = total(d);
    for (unsigned i = 0; i < CPU_COLUMNS; i++) {
        double ms = (double)d->ticks[i] * kernel->tick_s * 1e3;
        if (cpu_columns[i].ms_key != NULL) {
            mon_record_int(record, cpu_columns[i].ms_key, (int64_t)(ms + 0.5));
        }
        if (cpu_columns[i].legacy_ms >= 0) {
            mon_metric_record((enum mon_metric)cpu_columns[i].legacy_ms, MON_NO_LABELS, ms);
        }
        if (cpu_columns[i].percent_key != NULL && all > 0) {
            double percent = (double)d->ticks[i] / all * 100;
            mon_record_float(record, cpu_columns[i].percent_key, percent);
            if (cpu_columns[i].legacy_percent >= 0) {
                mon_metric_record((enum mon_metric)cpu_columns[i].legacy_percent, MON_NO_LABELS, percent);
            }
        }
    }
    if (all > 0) {
        double percent = 100 * (1 - (double)d->ticks[IDLE] / all);
        mon_record_float(record, "cpu_util", percent);
        mon_metric_record(MON_METRIC_L_CPU_UTIL, MON_NO_LABELS, percent);
    }
}

static void report_socket(unsigned socket, const struct cpu_times *d, struct mon_record *record)
{
    static const unsigned columns[] = {USER, SYSTEM, IDLE};
    double all = total(d);
    for (size_t i = 0; i < MS_COUNT_OF(columns) && all > 0; i++) {
        char key[32];
        snprintf(key, sizeof(key), "%s_node%u", cpu_columns[columns[i]].percent_key, socket);
        mon_record_float(record, key, (double)d->ticks[columns[i]] / all * 100);
    }
}

static int sample_cpu(struct mon_kernel *kernel, struct mon_record *record)
{
    struct cpu_times all, socket[MAX_SOCKETS] = {0};
    int rc = mon_kernel_file(kernel->root, "/proc/stat", &kernel->text);
    if (rc != 0) {
        return rc;
    }
    const char *at = kernel->text.s;
    if (strncmp(at, "cpu ", 4) != 0 || !parse_cpu(at + 4, &all)) {
        return -EBADMSG;
    }
    unsigned cpus = 0; /* highest number + 1 */
    const char *lines = next_line(at);
    for (int pass = 0; pass < 2; pass++) {
        for (at = lines; at != NULL && strncmp(at, "cpu", 3) == 0; at = next_line(at)) {
            const char *rest = at + 3;
            uint64_t cpu;
            struct cpu_times one;
            if (!mon_kernel_number(&rest, &cpu) || cpu >= MAX_CPUS) {
                continue;
            }
            if (pass == 0) {
                cpus = (unsigned)cpu + 1 > cpus ? (unsigned)cpu + 1 : cpus;
            } else if (kernel->socket_of[cpu] < MAX_SOCKETS && parse_cpu(rest, &one)) {
                for (unsigned i = 0; i < CPU_COLUMNS; i++) {
                    socket[kernel->socket_of[cpu]].ticks[i] += one.ticks[i];
                }
            }
        }
        if (pass == 0 && cpus != kernel->cpus) {
            find_sockets(kernel, cpus);
        }
    }
    for (unsigned i = 0; i < CPU_COLUMNS; i++) {
        mon_metric_total(MON_METRIC_HOST_CPU, MON_LABELS(.mode = cpu_columns[i].mode),
                         (double)all.ticks[i] * kernel->tick_s);
    }
    if (kernel->has_cpu) {
        struct cpu_times d = difference(&all, &kernel->all);
        report_cpu(kernel, &d, record);
        for (unsigned i = 0; kernel->sockets > 1 && i < kernel->sockets; i++) {
            d = difference(&socket[i], &kernel->socket[i]);
            report_socket(i, &d, record);
        }
    }
    kernel->all = all;
    memcpy(kernel->socket, socket, sizeof(socket));
    kernel->has_cpu = true;
    return 0;
}

/* ---- network ---- */

static bool is_selected(const struct mon_kernel *kernel, const char *name)
{
    if (!kernel->filter) {
        return true;
    }
    for (const char *prefix = kernel->prefixes; *prefix != '\0';) {
        size_t length = strcspn(prefix, ",");
        if (length > 0 && strncmp(name, prefix, length) == 0) {
            return true;
        }
        prefix += length + (prefix[length] == ',');
    }
    return false;
}

/* The interface with that name, created if possible; *is_new says whether it is new. */
static struct nic *nic_of(struct mon_kernel *kernel, const char *name, bool *is_new)
{
    for (size_t i = 0; i < kernel->nic_count; i++) {
        if (strcmp(kernel->nics[i].name, name) == 0) {
            *is_new = false;
            return &kernel->nics[i];
        }
    }
    if (kernel->nic_count == MAX_NICS) {
        return NULL;
    }
    struct nic *nic = &kernel->nics[kernel->nic_count++];
    *nic = (struct nic){0};
    memcpy(nic->name, name, strlen(name) + 1);
    *is_new = true;
    return nic;
}

static void report_nic(struct nic *nic, bool is_new, bool first_sample, const uint64_t column[NIC_COLUMNS],
                       struct mon_record *record)
{
    const union mon_labels *labels = MON_LABELS(.net = nic->name);
    nic->seen = true;
    for (size_t i = 0; i < NIC_VALUES; i++) {
        uint64_t now = column[nic_columns[i].column];
        /* A new interface starts at 0, and so does one that was recreated under the same name. */
        uint64_t more = is_new || now < nic->value[i] ? 0 : now - nic->value[i];
        nic->value[i] = now;
        mon_metric_total(nic_columns[i].total, labels, (double)now);
        if (!first_sample) {
            char key[16 + IFNAMSIZ];
            snprintf(key, sizeof(key), "%s.%s", nic_columns[i].key, nic->name);
            mon_record_uint(record, key, more);
            mon_metric_record(nic_columns[i].legacy, labels, (double)more);
        }
    }
}

static int sample_network(struct mon_kernel *kernel, struct mon_record *record, bool first_sample)
{
    int rc = mon_kernel_file(kernel->root, "/proc/net/dev", &kernel->text);
    if (rc != 0) {
        return rc;
    }
    uint64_t mark = mon_metrics_mark();
    for (size_t i = 0; i < kernel->nic_count; i++) {
        kernel->nics[i].seen = false;
    }
    for (const char *at = kernel->text.s, *next; at != NULL && *at != '\0'; at = next) {
        next = next_line(at);
        size_t length = strcspn(at, "\n");
        const char *colon = memchr(at, ':', length);
        if (colon == NULL) {
            continue; /* the two header lines */
        }
        while (*at == ' ') {
            at++;
        }
        char name[IFNAMSIZ];
        if (colon == at || (size_t)(colon - at) >= sizeof(name)) {
            MON_LOG_LIMITED(
                MON_LEVEL_ERROR,
                "kernel monitor: skipping an interface in /proc/net/dev whose name has %zu characters (1 to %zu are "
                "valid)",
                (size_t)(colon - at), sizeof(name) - 1);
            continue;
        }
        memcpy(name, at, (size_t)(colon - at));
        name[colon - at] = '\0';
        uint64_t column[NIC_COLUMNS];
        unsigned n = 0;
        const char *number = colon + 1;
        while (n < NIC_COLUMNS && mon_kernel_number(&number, &column[n])) {
            n++;
        }
        bool is_new;
        struct nic *nic = n == NIC_COLUMNS && is_selected(kernel, name) ? nic_of(kernel, name, &is_new) : NULL;
        if (nic != NULL) {
            report_nic(nic, is_new, first_sample, column, record);
        }
    }
    size_t kept = 0;
    for (size_t i = 0; i < kernel->nic_count; i++) {
        if (kernel->nics[i].seen) {
            kernel->nics[kept++] = kernel->nics[i];
        }
    }
    kernel->nic_count = kept;
    for (size_t i = 0; i < NIC_VALUES; i++) {
        mon_metrics_sweep(nic_columns[i].total, mark);
        mon_metrics_sweep(nic_columns[i].legacy, mark);
    }
    return 0;
}

int mon_kernel_sample(struct mon_kernel *kernel)
{
    struct mon_record record = {.source = MON_RECORD_KERNEL};
    bool first_sample = !kernel->has_cpu;
    int uptime = sample_uptime(kernel, &record);
    int cpu = sample_cpu(kernel, &record);
    int network = sample_network(kernel, &record, first_sample);
    mon_record_emit(&record);
    mon_record_free(&record);
    return uptime != 0 ? uptime : cpu != 0 ? cpu : network;
}
