/* SPDX-License-Identifier: Apache-2.0 */
/* Health and memory of devices, from the driver's management library (libdcmi.so).
 *
 * The library is loaded at run time by the given name and called by one thread only, never by the event loop: with a
 * faulty device, a call can take seconds. Every value is optional; device families differ in what they report. */
#ifndef MON_METRICS_DCMI_H
#define MON_METRICS_DCMI_H

#include <stddef.h>
#include <stdint.h>

#define MON_DCMI_DEVICES   64
#define MON_DCMI_PROCESSES 64

/* Values of a device; dcmi_report.c has a table of them. */
enum mon_dcmi_value {
    MON_DCMI_HEALTH,
    MON_DCMI_ERRORS,
    MON_DCMI_TEMPERATURE,
    MON_DCMI_POWER,
    MON_DCMI_VOLTAGE,
    MON_DCMI_FREQUENCY,
    MON_DCMI_USE_AICORE,
    MON_DCMI_USE_HBM,
    MON_DCMI_USE_VECTOR,
    MON_DCMI_USE_OVERALL,
    MON_DCMI_USE_CUBE,
    MON_DCMI_MEMORY,
    MON_DCMI_MEMORY_USED,
    MON_DCMI_MEMORY_FREQUENCY,
    MON_DCMI_MEMORY_TEMPERATURE,
    MON_DCMI_MEMORY_BANDWIDTH,
    MON_DCMI_VALUES
};

/* Functions of the library; failures are counted per function. */
#define MON_DCMI_FUNCTION_TABLE(X)                                                                                     \
    X(init)                                                                                                            \
    X(get_card_list)                                                                                                   \
    X(get_card_num_list)                                                                                               \
    X(get_device_num_in_card)                                                                                          \
    X(get_device_logic_id)                                                                                             \
    X(get_device_hbm_info)                                                                                             \
    X(get_npu_proc_mem_info)                                                                                           \
    X(get_device_health)                                                                                               \
    X(get_device_temperature)                                                                                          \
    X(get_device_power_info)                                                                                           \
    X(get_device_voltage)                                                                                              \
    X(get_device_utilization_rate)                                                                                     \
    X(get_device_frequency)                                                                                            \
    X(get_device_errorcode_v2)
#define X(name) MON_DCMI_##name,
enum mon_dcmi_function { MON_DCMI_FUNCTION_TABLE(X) MON_DCMI_FUNCTIONS };
#undef X
const char *mon_dcmi_function_name(enum mon_dcmi_function function);

struct mon_dcmi_device {
    int32_t logic;                 /* device number as programs use it */
    uint32_t present;              /* one bit per value */
    double value[MON_DCMI_VALUES]; /* in the units of the metric */
    uint32_t processes;
    struct {
        int32_t pid;
        uint64_t memory_b;
    } process[MON_DCMI_PROCESSES];
};

/* One round over all devices. Plain data: passed between threads as bytes. */
struct mon_dcmi_sample {
    uint32_t failed[MON_DCMI_FUNCTIONS]; /* failed calls, counted once a function has succeeded before */
    uint32_t devices;
    struct mon_dcmi_device device[MON_DCMI_DEVICES];
};

struct mon_dcmi;
/* Loads and initialises the library; both can take long. 0; -ELIBACC: cannot be loaded; -ENOSYS: a required function is
 * missing; -EIO: initialisation failed. error receives the reason. */
int mon_dcmi_open(const char *library, struct mon_dcmi **out, char *error, size_t error_b);
void mon_dcmi_close(struct mon_dcmi *dcmi);
void mon_dcmi_sample(struct mon_dcmi *dcmi, struct mon_dcmi_sample *out);

/* Called by the event loop: records series and emits records from a sample. find(), which may be NULL, returns the
 * owner of a process. */
struct mon_dcmi_owner {
    int64_t job;
    int32_t rank; /* INT32_MIN: unknown */
};
typedef int mon_dcmi_find_fn(void *context, int32_t pid, struct mon_dcmi_owner *out); /* 1: found */
void mon_dcmi_report(const struct mon_dcmi_sample *sample, mon_dcmi_find_fn *find, void *context);

#endif
