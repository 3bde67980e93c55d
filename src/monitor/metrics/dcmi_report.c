/* A sample of the devices as series and records. Threads: the event loop's. */
#include "base/macros.h"
#include "monitor/metrics/dcmi.h"
#include "monitor/metrics/process.h"
#include "monitor/store/record.h"
#include "monitor/store/series.h"

#include <inttypes.h>
#include <stdio.h>

static const struct {
    enum ms_metric metric;
    const char *unit; /* label; NULL: the metric has none */
    const char *key;  /* in the record; fractions are percent there, as in the records of other devices */
} values[MS_DCMI_VALUES] = {
    [MS_DCMI_HEALTH] = {MS_METRIC_NPU_HEALTH, NULL, "npu_health"},
    [MS_DCMI_ERRORS] = {MS_METRIC_NPU_ERRORS, NULL, "npu_error_codes"},
    [MS_DCMI_TEMPERATURE] = {MS_METRIC_NPU_TEMPERATURE, NULL, "npu_temperature"},
    [MS_DCMI_POWER] = {MS_METRIC_NPU_POWER, NULL, "npu_power_draw"},
    [MS_DCMI_VOLTAGE] = {MS_METRIC_NPU_VOLTAGE, NULL, "npu_voltage"},
    [MS_DCMI_FREQUENCY] = {MS_METRIC_NPU_FREQUENCY, NULL, "npu_frequency_hz"},
    [MS_DCMI_USE_AICORE] = {MS_METRIC_NPU_UTILIZATION, "aicore", "npu_aicore_utilization"},
    [MS_DCMI_USE_HBM] = {MS_METRIC_NPU_UTILIZATION, "hbm", "npu_memory_utilization"},
    [MS_DCMI_USE_VECTOR] = {MS_METRIC_NPU_UTILIZATION, "vector", "npu_vector_utilization"},
    [MS_DCMI_USE_OVERALL] = {MS_METRIC_NPU_UTILIZATION, "overall", "npu_device_utilization"},
    [MS_DCMI_USE_CUBE] = {MS_METRIC_NPU_UTILIZATION, "cube", "npu_cube_utilization"},
    [MS_DCMI_MEMORY] = {MS_METRIC_NPU_MEMORY, NULL, "hbm_capacity_bytes"},
    [MS_DCMI_MEMORY_USED] = {MS_METRIC_NPU_MEMORY_USED, NULL, "hbm_used_bytes"},
    [MS_DCMI_MEMORY_FREQUENCY] = {MS_METRIC_NPU_MEMORY_FREQUENCY, NULL, "hbm_frequency_hz"},
    [MS_DCMI_MEMORY_TEMPERATURE] = {MS_METRIC_NPU_MEMORY_TEMPERATURE, NULL, "hbm_temperature"},
    [MS_DCMI_MEMORY_BANDWIDTH] = {MS_METRIC_NPU_MEMORY_BANDWIDTH, NULL, "hbm_mem_bw_util"},
};

static void report_device(const struct ms_dcmi_device *device, ms_dcmi_find_fn *find, void *context)
{
    char name[16];
    struct ms_record record = {.source = MS_RECORD_DEVICE};
    snprintf(name, sizeof(name), "%" PRId32, device->logic);
    ms_record_int(&record, "device", device->logic);
    for (unsigned i = 0; i < MS_DCMI_VALUES; i++) {
        if ((device->present & 1u << i) == 0) {
            continue;
        }
        double value = device->value[i];
        bool fraction = values[i].unit != NULL || i == MS_DCMI_MEMORY_BANDWIDTH;
        ms_metric_record(values[i].metric, MS_LABELS(.device = name, .unit = values[i].unit), value);
        if (!fraction && value == (double)(int64_t)value) {
            ms_record_int(&record, values[i].key, (int64_t)value);
        } else {
            ms_record_float(&record, values[i].key, fraction ? value * 100 : value);
        }
    }
    for (uint32_t i = 0; i < device->processes; i++) {
        char pid[16], job[24] = "", rank[16] = "";
        struct ms_dcmi_owner owner;
        snprintf(pid, sizeof(pid), "%" PRId32, device->process[i].pid);
        if (find != NULL && find(context, device->process[i].pid, &owner)) {
            snprintf(job, sizeof(job), "%" PRId64, owner.job);
            ms_rank_text(owner.rank, rank);
        }
        ms_metric_record(MS_METRIC_NPU_PROCESS_MEMORY,
                          MS_LABELS(.job = job, .rank = rank, .device = name, .pid = pid),
                          (double)device->process[i].memory_b);
    }
    ms_record_emit(&record);
    ms_record_free(&record);
}

void ms_dcmi_report(const struct ms_dcmi_sample *sample, ms_dcmi_find_fn *find, void *context)
{
    uint64_t mark = ms_metrics_mark();
    for (uint32_t i = 0; i < sample->devices; i++) {
        report_device(&sample->device[i], find, context);
    }
    /* What the driver does not tell any more is not shown any more. */
    for (unsigned i = 0; i < MS_DCMI_VALUES; i++) {
        ms_metrics_sweep(values[i].metric, mark);
    }
    ms_metrics_sweep(MS_METRIC_NPU_PROCESS_MEMORY, mark);
    ms_metric_record(MS_METRIC_NPU_SAMPLES, MS_NO_LABELS, 1);
    for (unsigned i = 0; i < MS_DCMI_FUNCTIONS; i++) {
        if (sample->failed[i] != 0) {
            ms_metric_record(MS_METRIC_NPU_SAMPLE_FAILURES,
                              MS_LABELS(.reason = ms_dcmi_function_name((enum ms_dcmi_function)i)),
                              sample->failed[i]);
        }
    }
}
