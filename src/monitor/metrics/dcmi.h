/* Health and memory of devices, through the driver's management library (libdcmi.so).
 *
 * The library is loaded at run time under the name given, and called by one thread alone, never by the event loop: a
 * sick device can make its calls take seconds. Every value is optional; families of devices differ in what they tell.
 */
#ifndef MS_METRICS_DCMI_H
#define MS_METRICS_DCMI_H

#include <stddef.h>
#include <stdint.h>

#define MS_DCMI_DEVICES   64
#define MS_DCMI_PROCESSES 64

/* Values of a device, see the table in dcmi_report.c. */
enum ms_dcmi_value {
    MS_DCMI_HEALTH,
    MS_DCMI_ERRORS,
    MS_DCMI_TEMPERATURE,
    MS_DCMI_POWER,
    MS_DCMI_VOLTAGE,
    MS_DCMI_FREQUENCY,
    MS_DCMI_USE_AICORE,
    MS_DCMI_USE_HBM,
    MS_DCMI_USE_VECTOR,
    MS_DCMI_USE_OVERALL,
    MS_DCMI_USE_CUBE,
    MS_DCMI_MEMORY,
    MS_DCMI_MEMORY_USED,
    MS_DCMI_MEMORY_FREQUENCY,
    MS_DCMI_MEMORY_TEMPERATURE,
    MS_DCMI_MEMORY_BANDWIDTH,
    MS_DCMI_VALUES
};

/* Functions of the library; failures are counted by them. */
#define MS_DCMI_FUNCTION_TABLE(X)                                                                                     \
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
#define X(name) MS_DCMI_##name,
enum ms_dcmi_function { MS_DCMI_FUNCTION_TABLE(X) MS_DCMI_FUNCTIONS };
#undef X
const char *ms_dcmi_function_name(enum ms_dcmi_function function);

struct ms_dcmi_device {
    int32_t logic;                 /* number that programs know the device by */
    uint32_t present;              /* bit per value */
    double value[MS_DCMI_VALUES]; /* in the units of the metric */
    uint32_t processes;
    struct {
        int32_t pid;
        uint64_t memory_b;
    } process[MS_DCMI_PROCESSES];
};

/* One round over all devices. Plain data: it travels between threads as bytes. */
struct ms_dcmi_sample {
    uint32_t failed[MS_DCMI_FUNCTIONS]; /* answers that were errors, where the function had answered before */
    uint32_t devices;
    struct ms_dcmi_device device[MS_DCMI_DEVICES];
};

struct ms_dcmi;
/* Loads the library and initialises it; both may take long. 0; -ELIBACC: cannot be loaded (error says why);
 * -ENOSYS: a function without which nothing works is missing; -EIO: initialisation failed. */
int ms_dcmi_open(const char *library, struct ms_dcmi **out, char *error, size_t error_b);
void ms_dcmi_close(struct ms_dcmi *dcmi);
void ms_dcmi_sample(struct ms_dcmi *dcmi, struct ms_dcmi_sample *out);

/* In the loop: series and records from a sample. Whose a process is, find() tells; it may be NULL. */
struct ms_dcmi_owner {
    int64_t job;
    int32_t rank; /* INT32_MIN: unknown */
};
typedef int ms_dcmi_find_fn(void *context, int32_t pid, struct ms_dcmi_owner *out); /* 1: found */
void ms_dcmi_report(const struct ms_dcmi_sample *sample, ms_dcmi_find_fn *find, void *context);

#endif
