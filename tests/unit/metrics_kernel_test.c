/* SPDX-License-Identifier: Apache-2.0 */
/* The collectors for kernel, processes and performance counters, with a fake /proc: valid and hostile. */
#include "base/macros.h"
#include "monitor/metrics/kernel.h"
#include "monitor/metrics/kernel_file.h"
#include "monitor/metrics/pmu.h"
#include "monitor/metrics/process.h"
#include "monitor/store/record.h"
#include "monitor/store/series.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <errno.h>
#include <ftw.h>
#include <linux/perf_event.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[64];
static struct mon_record last; /* copy of the last emitted record */
static int emitted;

static void keep(void *context, const struct mon_record *record)
{
    mon_record_free(&last);
    for (size_t i = 0; i < record->count; i++) {
        const struct mon_field *f = &record->field[i];
        const char *key = mon_record_key(record, f);
        switch (f->type) {
        case MON_FIELD_INT:
            mon_record_int(&last, key, f->i);
            break;
        case MON_FIELD_UINT:
            mon_record_uint(&last, key, f->u);
            break;
        case MON_FIELD_FLOAT:
            mon_record_float(&last, key, f->f);
            break;
        case MON_FIELD_TEXT:
            mon_record_text(&last, key, mon_record_string(record, f));
            break;
        }
    }
    emitted++;
}

static void put(const char *path, const char *text)
{
    char full[512];
    snprintf(full, sizeof(full), "%s%s", root, path);
    for (char *at = full + strlen(root) + 1; (at = strchr(at, '/')) != NULL; at++) {
        *at = '\0';
        mkdir(full, 0755);
        *at = '/';
    }
    FILE *file = fopen(full, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *walk)
{
    return remove(path);
}

static int begin(void **state)
{
    snprintf(root, sizeof(root), "/tmp/metrics_kernel_%d", getpid());
    mkdir(root, 0755);
    emitted = 0;
    mon_record_add_backend(&(struct mon_record_backend){.name = "test", .write = keep, .context = &last});
    return mon_metrics_open("node1", 0);
}

static int end(void **state)
{
    mon_record_free(&last);
    mon_record_remove_backend(&last);
    mon_metrics_close();
    return nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static double number(const char *key)
{
    const struct mon_field *f = mon_record_find(&last, key);
    if (f == NULL) {
        return NAN;
    }
    return f->type == MON_FIELD_FLOAT ? f->f : f->type == MON_FIELD_INT ? (double)f->i : (double)f->u;
}

#define NET_HEAD                                                                                                       \
    "Inter-|   Receive                                                |  Transmit\n"                                   \
    " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier " \
    "compressed\n"

static void two_samples(void **state)
{
    put("/proc/uptime", "12345.67 999.00\n");
    put("/proc/stat",
        "cpu  100 10 50 800 20 5 6 9 30 3\ncpu0 50 5 25 400 10 2 3 4 15 1\ncpu1 50 5 25 400 10 3 3 5 15 2\n"
        "intr 12 3 4\nctxt 5\n");
    put("/proc/net/dev", NET_HEAD "    lo: 1000 10 0 0 0 0 0 0 1000 10 0 0 0 0 0 0\n"
                                  "  eth0:5000 50 1 2 0 0 0 0 7000 70 3 4 0 0 0 0\n");
    put("/sys/devices/system/cpu/cpu0/topology/physical_package_id", "0\n");
    put("/sys/devices/system/cpu/cpu1/topology/physical_package_id", "1\n");
    struct mon_kernel *kernel = mon_kernel_new(&(struct mon_kernel_options){.root = root});
    assert_int_equal(mon_kernel_sample(kernel), 0);
    assert_int_equal(last.count, 1); /* the first record has only the uptime */
    assert_true(number("uptime") == 12345);
    assert_true(mon_metric_value(MON_METRIC_HOST_CPU, MON_LABELS(.mode = "user")) == 1.0);
    assert_true(mon_metric_value(MON_METRIC_HOST_TX_BYTES, MON_LABELS(.net = "eth0")) == 7000);

    put("/proc/stat", "cpu  150 20 70 890 30 7 9 14 40 5\ncpu0 90 10 35 440 14 3 4 6 20 2\n"
                      "cpu1 60 10 35 450 16 4 5 8 20 3\nintr 12 3 4\n");
    put("/proc/net/dev", NET_HEAD "    lo: 1500 11 0 0 0 0 0 0 1500 11 0 0 0 0 0 0\n"
                                  "  eth0:100 1 0 0 0 0 0 0 7700 77 3 5 0 0 0 0\n"
                                  "  eth1:900 9 0 0 0 0 0 0 900 9 0 0 0 0 0 0\n");
    assert_int_equal(mon_kernel_sample(kernel), 0);
    /* Differences: user 50, nice 10, system 20, idle 90, iowait 10, irq 2, softirq 3, steal 5: 190 in total. */
    assert_true(fabs(number("cpu_u") - 50 / 1.9) < 1e-9);
    assert_true(fabs(number("cpu_s") - 20 / 1.9) < 1e-9);
    assert_true(fabs(number("cpu_i") - 90 / 1.9) < 1e-9);
    assert_true(fabs(number("cpu_util") - 100 / 1.9) < 1e-9);
    static const struct {
        const char *key;
        double value;
    } exact[] = {
        {"cpu_u_ms", 500},    {"cpu_n_ms", 100},      {"cpu_s_ms", 200},         {"cpu_w_ms", 100},
        {"cpu_x_ms", 20},     {"cpu_y_ms", 30},       {"cpu_z_ms", 50},          {"cpu_guest_ms", 100},
        {"uptime", 12345},    {"rx_bytes.lo", 500},   {"cpu_guest_nice_ms", 20}, {"tx_packets.lo", 1},
        {"rx_bytes.eth0", 0}, {"tx_bytes.eth0", 700}, {"tx_drops.eth0", 1},      {"rx_bytes.eth1", 0},
    };
    for (size_t i = 0; i < MS_COUNT_OF(exact); i++) {
        assert_true(number(exact[i].key) == exact[i].value);
    }
    /* Socket 0: 40 user of 40 + 5 + 10 + 40 + 4 + 1 + 1 + 2 = 103. */
    assert_true(fabs(number("cpu_u_node0") - 4000 / 103.0) < 1e-9);
    assert_true(fabs(number("cpu_i_node1") - 5000 / 87.0) < 1e-9);
    assert_true(mon_metric_value(MON_METRIC_L_CPU_U_MS, NULL) == 500);
    assert_true(mon_metric_value(MON_METRIC_L_TX_BYTES, MON_LABELS(.net = "eth0")) == 700);
    assert_true(mon_metric_value(MON_METRIC_HOST_RX_BYTES, MON_LABELS(.net = "eth0")) == 100);
    put("/proc/net/dev", NET_HEAD "    lo: 1500 11 0 0 0 0 0 0 1500 11 0 0 0 0 0 0\n");
    assert_int_equal(mon_kernel_sample(kernel), 0);
    assert_true(isnan(number("rx_bytes.eth1")));
    assert_true(mon_metric_value(MON_METRIC_HOST_RX_BYTES, MON_LABELS(.net = "eth1")) == 0);
    mon_kernel_free(kernel);
}

static void interface_filter(void **state)
{
    put("/proc/uptime", "1 1\n");
    put("/proc/stat", "cpu  1 1 1 1\n");
    put("/proc/net/dev", NET_HEAD "lo: 1 1 0 0 0 0 0 0 1 1 0 0 0 0 0 0\nens1: 2 1 0 0 0 0 0 0 1 1 0 0 0 0 0 0\n"
                                  "eth0: 3 1 0 0 0 0 0 0 1 1 0 0 0 0 0 0\n");
    struct mon_kernel *kernel =
        mon_kernel_new(&(struct mon_kernel_options){.root = root, .filter = true, .prefixes = "eno,,ens,enp"});
    assert_int_equal(mon_kernel_sample(kernel), 0);
    assert_true(mon_metric_value(MON_METRIC_HOST_RX_BYTES, MON_LABELS(.net = "ens1")) == 2);
    assert_true(mon_metric_value(MON_METRIC_HOST_RX_BYTES, MON_LABELS(.net = "eth0")) == 0);
    assert_true(mon_metric_value(MON_METRIC_HOST_RX_BYTES, MON_LABELS(.net = "lo")) == 0);
    mon_kernel_free(kernel);
}

/* None of these may crash, hang, or lose values of the other files. */
static void hostile_files(void **state)
{
    static const char *const stats[] = {
        "",
        "cpu",
        "cpu ",
        "cpu  1 2 3",
        "cpu  99999999999999999999999999 1 1 1\n",
        "intr 1\n",
        "\n\n\n",
        "cpu  1 2 3 4\ncpu99999999999999999999 1 1 1 1\ncpu4096 1 1 1 1\ncpux 1 1 1 1\ncpu0 1\n",
        "cpu  -1 -2 -3 -4\n",
        "cpu  18446744073709551615 18446744073709551615 1 1 1 1 1 1\ncpu0 1 1 1 1",
    };
    static const char *const nets[] = {
        "",
        ":",
        "::::\n",
        NET_HEAD "a_name_of_16_chr: 1 1 0 0 0 0 0 0 1 1 0 0 0 0 0 0\n",
        NET_HEAD "eth0: 1 2 3\n",
        NET_HEAD "eth0: x y z\n",
        NET_HEAD ": 1 1 0 0 0 0 0 0 1 1 0 0 0 0 0 0\n",
        NET_HEAD "eth0: 18446744073709551615 1 0 0 0 0 0 0 99999999999999999999 1 0 0 0 0 0 0\n",
    };
    put("/proc/uptime", "7 7\n");
    struct mon_kernel *kernel = mon_kernel_new(&(struct mon_kernel_options){.root = root});
    for (size_t i = 0; i < MS_COUNT_OF(stats); i++) {
        for (size_t j = 0; j < MS_COUNT_OF(nets); j++) {
            put("/proc/stat", stats[i]);
            put("/proc/net/dev", nets[j]);
            int before = emitted;
            mon_kernel_sample(kernel);
            assert_int_equal(emitted, before + 1);
            assert_true(number("uptime") == 7);
            for (size_t k = 0; k < last.count; k++) {
                assert_true(last.field[k].type != MON_FIELD_FLOAT || isfinite(last.field[k].f));
            }
        }
    }
    put("/proc/stat", "cpu  1 2 3");
    assert_int_equal(mon_kernel_sample(kernel), -EBADMSG);
    char path[128];
    snprintf(path, sizeof(path), "%s/proc/stat", root);
    unlink(path);
    assert_int_equal(mon_kernel_sample(kernel), -ENOENT);
    assert_true(number("uptime") == 7);
    assert_int_equal(mkfifo(path, 0600), 0); /* reading it would block forever */
    assert_int_equal(mon_kernel_sample(kernel), -EBADMSG);
    mon_kernel_free(kernel);
    /* An endless file is truncated. */
    struct ms_buffer text = {0};
    assert_int_equal(mon_kernel_file("", "/dev/zero", &text), 0);
    assert_true(text.used >= MON_KERNEL_FILE_MAX_B && text.used < 4 * MON_KERNEL_FILE_MAX_B);
    ms_buffer_free(&text);
}

static void processes(void **state)
{
    put("/proc/10/stat",
        "10 (py) tho) n) S 1 10 10 0 -1 4194304 1 2 3 4 250 50 7 8 20 0 16 0 777 1073741824 1000 184467\n");
    put("/proc/11/stat", "11 (x) S 1 10 10 0 -1 4194304 1 2 3 4 1 1 7 8 20 0 1 0 500 4096 1 0\n");
    put("/proc/12/stat", "12 (no end");
    put("/proc/13/stat", ") S 1 2");
    const struct mon_process_target targets[] = {
        {.pid = 10, .start_ticks = 777, .job = 42, .rank = 3},
        {.pid = 11, .start_ticks = 501, .job = 42, .rank = 4}, /* the pid was reused */
        {.pid = 12, .job = 42, .rank = INT32_MIN},
        {.pid = 13, .job = 42, .rank = INT32_MIN},
        {.pid = 99, .job = 42, .rank = INT32_MIN},
        {.pid = 0, .job = 42, .rank = INT32_MIN},
    };
    assert_int_equal(mon_process_sample(root, targets, MS_COUNT_OF(targets)), 1);
    const union mon_labels *labels = MON_LABELS(.job = "42", .rank = "3", .pid = "10");
    assert_true(mon_metric_value(MON_METRIC_PROCESS_CPU, labels) == 3.0);
    assert_true(mon_metric_value(MON_METRIC_PROCESS_RESIDENT, labels) == 1000.0 * (double)sysconf(_SC_PAGESIZE));
    assert_true(mon_metric_value(MON_METRIC_PROCESS_VIRTUAL, labels) == 1073741824.0);
    assert_true(mon_metric_value(MON_METRIC_PROCESS_THREADS, labels) == 16);
    put("/proc/10/stat", "10 (x) S 1 10 10 0 -1 4194304 1 2 3 4 260 60 7 8 20 0 16 0 777 1073741824 1000 184467\n");
    assert_int_equal(mon_process_sample(root, targets, MS_COUNT_OF(targets)), 1);
    assert_true(number("process_cpu_ms") == 200);
    assert_true(number("rank") == 3);
    /* When a process has ended, its series are removed. */
    uint64_t mark = mon_metrics_mark();
    assert_int_equal(mon_process_sample(root, NULL, 0), 0);
    mon_process_sweep(mark);
    assert_null(mon_metrics_first(MON_METRIC_PROCESS_CPU));
    assert_null(mon_metrics_first(MON_METRIC_PROCESS_THREADS));
}

static void put_process(int pid, int parent, const char *command)
{
    char path[64], text[256];
    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    snprintf(text, sizeof(text), "%d (python) S %d 1 1 0 -1 0 0 0 0 0 100 0 0 0 20 0 1 0 %d 4096 1 0\n", pid, parent,
             pid * 10);
    put(path, text);
    snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
    put(path, command);
}

static void training_behind_helpers(void **state)
{
    put_process(50, 1, "torchrun");
    put_process(100, 50, "python train.py"); /* forked 101 to talk to the daemon */
    put_process(101, 100, "python train.py");
    put_process(110, 50, "python train.py"); /* talks to the daemon itself; its parent runs another command */
    put_process(200, 1, "python main.py");   /* forked its ranks: a launcher */
    put_process(201, 200, "python main.py");
    put_process(202, 200, "python main.py");
    put_process(300, 1, "python x.py"); /* both are registered */
    put_process(301, 300, "python x.py");
    put_process(400, 1, "python y.py"); /* not an NPU client */
    put_process(401, 400, "python y.py");
    struct mon_process_target targets[32] = {
        {.pid = 101, .job = 7, .rank = 3, .helper = true},
        {.pid = 110, .helper = true},
        {.pid = 201, .helper = true},
        {.pid = 202, .helper = true},
        {.pid = 300, .helper = true},
        {.pid = 301, .helper = true},
        {.pid = 401, .helper = false},
        {.pid = 999, .helper = true},
        {.pid = 0, .helper = true},
    };
    assert_int_equal(mon_process_add_parents(root, targets, 9, 32), 10);
    assert_int_equal(targets[9].pid, 100);
    assert_int_equal(targets[9].job, 7);
    assert_int_equal(targets[9].rank, 3);
    assert_int_equal(targets[9].start_ticks, 1000);
    assert_int_equal(mon_process_add_parents(root, targets, 9, 9), 9); /* no capacity left */
    assert_int_equal(mon_process_sample(root, targets, 10), 8);
    assert_true(mon_metric_value(MON_METRIC_PROCESS_CPU, MON_LABELS(.job = "7", .rank = "3", .pid = "100")) == 1);
}

/* Uses counters that every kernel has, instead of those that a virtual machine may lack. */
static void counters(void **state)
{
    static const struct mon_pmu_event software[MON_PMU_EVENTS] = {{PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK},
                                                                  {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES}};
    struct mon_pmu *pmu = NULL;
    int rc = mon_pmu_open(software, &pmu);
    if (rc != 0) { /* not permitted: then the error must say so */
        assert_true(rc == -EACCES || rc == -EPERM || rc == -ENOSYS);
        return;
    }
    mon_pmu_sample(pmu);
    assert_int_equal(emitted, 0);
    double first = mon_metric_value(MON_METRIC_HOST_INSTRUCTIONS, NULL);
    for (volatile int i = 0; i < 20000000; i++) {
    }
    mon_pmu_sample(pmu);
    assert_int_equal(emitted, 1);
    double counted = mon_metric_value(MON_METRIC_HOST_INSTRUCTIONS, NULL) - first;
    assert_true(counted > 0);
    /* The clock counts one nanosecond per nanosecond: 1000 million per second and processor. */
    assert_true(number("mips") > 900 && number("mips") < 1100);
    assert_true(number("mega_cycles_per_second") >= 0);
    mon_pmu_close(pmu);
    static const struct mon_pmu_event none[MON_PMU_EVENTS] = {{0x7fffffff, 0}, {0x7fffffff, 0}};
    assert_true(mon_pmu_open(none, &pmu) < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(two_samples, begin, end),
        cmocka_unit_test_setup_teardown(interface_filter, begin, end),
        cmocka_unit_test_setup_teardown(hostile_files, begin, end),
        cmocka_unit_test_setup_teardown(processes, begin, end),
        cmocka_unit_test_setup_teardown(training_behind_helpers, begin, end),
        cmocka_unit_test_setup_teardown(counters, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
