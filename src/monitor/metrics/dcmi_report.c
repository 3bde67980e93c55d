/* SPDX-License-Identifier: Apache-2.0 */
/* Series and records from a sample of the devices. Used only by the event loop thread. */
#include "base/macros.h"
#include "monitor/metrics/dcmi.h"
#include "monitor/metrics/process.h"
#include "monitor/store/record.h"
#include "monitor/store/series.h"

#include <inttypes.h>
#include <stdio.h>

static const struct {
    enum mon_metric metric;
    const char *unit; /* label; NULL: the metric has none */
    const char *key;  /* in the record; fractions are percentages there, as in the records of other devices */
} values[MON_DCMI_VALUES] = {
    [MON_DCMI_HEALTH] = {MON_METRIC_NPU_HEALTH, NULL, "npu_health"},
    [MON_DCMI_ERRORS] = {MON_METRIC_NPU_ERRORS, NULL, "npu_error_codes"},
    [MON_DCMI_TEMPERATURE] = {MON_METRIC_NPU_TEMPERATURE, NULL, "npu_temperature"},
    [MON_DCMI_POWER] = {MON_METRIC_NPU_POWER, NULL, "npu_power_draw"},
    [MON_DCMI_VOLTAGE] = {MON_METRIC_NPU_VOLTAGE, NULL, "npu_voltage"},
    [MON_DCMI_FREQUENCY] = {MON_METRIC_NPU_FREQUENCY, NULL, "npu_frequency_hz"},
    [MON_DCMI_USE_AICORE] = {MON_METRIC_NPU_UTILIZATION, "aicore", "npu_aicore_utilization"},
    [MON_DCMI_USE_HBM] = {MON_METRIC_NPU_UTILIZATION, "hbm", "npu_memory_utilization"},
    [MON_DCMI_USE_VECTOR] = {MON_METRIC_NPU_UTILIZATION, "vector", "npu_vector_utilization"},
    [MON_DCMI_USE_OVERALL] = {MON_METRIC_NPU_UTILIZATION, "overall", "npu_device_utilization"},
    [MON_DCMI_USE_CUBE] = {MON_METRIC_NPU_UTILIZATION, "cube", "npu_cube_utilization"},
    [MON_DCMI_MEMORY] = {MON_METRIC_NPU_MEMORY, NULL, "hbm_capacity_bytes"},
    [MON_DCMI_MEMORY_USED] = {MON_METRIC_NPU_MEMORY_USED, NULL, "hbm_used_bytes"},
    [MON_DCMI_MEMORY_FREQUENCY] = {MON_METRIC_NPU_MEMORY_FREQUENCY, NULL, "hbm_frequency_hz"},
    [MON_DCMI_MEMORY_TEMPERATURE] = {MON_METRIC_NPU_MEMORY_TEMPERATURE, NULL, "hbm_temperature"},
    [MON_DCMI_MEMORY_BANDWIDTH] = {MON_METRIC_NPU_MEMORY_BANDWIDTH, NULL, "hbm_mem_bw_util"},
};

static void report_device(const struct mon_dcmi_device *device, mon_dcmi_find_fn *find, void *context)
{
    char name[16];
    struct mon_record record = {.source = MON_RECORD_DEVICE};
    snprintf(name, sizeof(name), "%" PRId32, device->logic);
    mon_record_int(&record, "device", device->logic);
    for (unsigned i = 0; i < MON_DCMI_VALUES; i++) {
        if ((device->present & 1u << i) == 0) {
            continue;
        }
        double value = device->value[i];
        bool fraction = values[i].unit != NULL || i == MON_DCMI_MEMORY_BANDWIDTH;
        mon_metric_record(values[i].metric, MON_LABELS(.device = name, .unit = values[i].unit), value);
        if (!fraction && value == (double)(int64_t)value) {
            mon_record_int(&record, values[i].key, (int64_t)value);
        } else {
            mon_record_float(&record, values[i].key, fraction ? value * 100 : value);
        }
    }
    for (uint32_t i = 0; i < device->processes; i++) {
        char pid[16], job[24] = "", rank[16] = "";
        struct mon_dcmi_owner owner;
        snprintf(pid, sizeof(pid), "%" PRId32, device->process[i].pid);
        if (find != NULL && find(context, device->process[i].pid, &owner)) {
            snprintf(job, sizeof(job), "%" PRId64, owner.job);
            mon_rank_text(owner.rank, rank);
        }
        mon_metric_record(MON_METRIC_NPU_PROCESS_MEMORY,
                          MON_LABELS(.job = job, .rank = rank, .device = name, .pid = pid),
                          (double)device->process[i].memory_b);
    }
    mon_record_emit(&record);
    mon_record_free(&record);
}

void mon_dcmi_report(const struct mon_dcmi_sample *sample, mon_dcmi_find_fn *find, void *context)
{
    uint64_t mark = mon_metrics_mark();
    for (uint32_t i = 0; i < sample->devices; i++) {
        report_device(&sample->device[i], find, context);
    }
    /* Remove values that the driver no longer reports. */
    for (unsigned i = 0; i < MON_DCMI_VALUES; i++) {
        mon_metrics_sweep(values[i].metric, mark);
    }
    mon_metrics_sweep(MON_METRIC_NPU_PROCESS_MEMORY, mark);
    mon_metric_record(MON_METRIC_NPU_SAMPLES, MON_NO_LABELS, 1);
    for (unsigned i = 0; i < MON_DCMI_FUNCTIONS; i++) {
        if (sample->failed[i] != 0) {
            mon_metric_record(MON_METRIC_NPU_SAMPLE_FAILURES,
                              MON_LABELS(.reason = mon_dcmi_function_name((enum mon_dcmi_function)i)),
                              sample->failed[i]);
        }
    }
}
