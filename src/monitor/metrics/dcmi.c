/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of the driver's management library.
 *
 * Used by one thread at a time, the sampler's (see module_dcmi.c); does not touch state of the daemon. Failure policy:
 * the values of a function that is missing or returns an error are omitted. A call counts as failed only if the
 * function has succeeded before for that device: device families do not support everything, and return an error on
 * every call. */
#include "monitor/metrics/dcmi.h"

#include "base/macros.h"
#include "dcmi_interface_api.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ERROR_CODES 128
#define MIB         1048576.0

struct functions {
#define X(name) __typeof__(&dcmi_##name) name;
    MON_DCMI_FUNCTION_TABLE(X)
#undef X
};

static const struct {
    const char *name;
    size_t at;
} function_table[MON_DCMI_FUNCTIONS] = {
#define X(name) [MON_DCMI_##name] = {"dcmi_" #name, offsetof(struct functions, name)},
    MON_DCMI_FUNCTION_TABLE(X)
#undef X
};

struct mon_dcmi {
    void *handle;
    struct functions call;
    uint32_t
        succeeded_once[MON_DCMI_DEVICES + 1]; /* one bit per function; the last row is for functions without a device */
};

const char *mon_dcmi_function_name(enum mon_dcmi_function function)
{
    return function_table[function].name;
}

int mon_dcmi_open(const char *library, struct mon_dcmi **out, char *error, size_t error_b)
{
    struct mon_dcmi *dcmi = calloc(1, sizeof(*dcmi));
    if (dcmi == NULL) {
        snprintf(error, error_b, "out of memory");
        return -ENOMEM;
    }
    int rc = 0;
    dcmi->handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (dcmi->handle == NULL) {
        snprintf(error, error_b, "%s", dlerror());
        rc = -ELIBACC;
        goto out;
    }
    for (size_t i = 0; i < MON_DCMI_FUNCTIONS; i++) {
        void *symbol = dlsym(dcmi->handle, function_table[i].name);
        memcpy((char *)&dcmi->call + function_table[i].at, &symbol, sizeof(symbol));
    }
    if (dcmi->call.get_card_list == NULL) { /* older name, same arguments */
        dcmi->call.get_card_list = dcmi->call.get_card_num_list;
    }
    if (dcmi->call.init == NULL || dcmi->call.get_card_list == NULL || dcmi->call.get_device_num_in_card == NULL) {
        snprintf(error, error_b, "%s lacks dcmi_init, dcmi_get_card_list or dcmi_get_device_num_in_card", library);
        rc = -ENOSYS;
        goto out;
    }
    int answer = dcmi->call.init();
    if (answer != 0) {
        snprintf(error, error_b,
                 "dcmi_init failed with %d: check that the driver is loaded and that this user may use it", answer);
        rc = -EIO;
    }
out:
    if (rc != 0) {
        mon_dcmi_close(dcmi);
    } else {
        *out = dcmi;
    }
    return rc;
}

void mon_dcmi_close(struct mon_dcmi *dcmi)
{
    /* The library stays loaded: it has no counterpart to dcmi_init(), and its own threads may be running. */
    free(dcmi);
}

/* Records the result of a call; true if it succeeded. */
static bool succeeded(struct mon_dcmi *dcmi, struct mon_dcmi_sample *out, size_t row, enum mon_dcmi_function function,
                      int rc)
{
    uint32_t bit = 1u << function;
    if (rc == 0) {
        dcmi->succeeded_once[row] |= bit;
    } else if ((dcmi->succeeded_once[row] & bit) != 0) {
        out->failed[function]++;
    }
    return rc == 0;
}

static void set(struct mon_dcmi_device *device, enum mon_dcmi_value value, double number)
{
    device->present |= 1u << value;
    device->value[value] = number;
}

#define CALL(function, ...)                                                                                            \
    (dcmi->call.function != NULL &&                                                                                    \
     succeeded(dcmi, out, row, MON_DCMI_##function, dcmi->call.function(card, number, __VA_ARGS__)))

static void sample_memory(struct mon_dcmi *dcmi, struct mon_dcmi_sample *out, size_t row, int card, int number)
{
    struct mon_dcmi_device *device = &out->device[row];
    struct dcmi_hbm_info hbm = {0};
    if (CALL(get_device_hbm_info, &hbm)) {
        set(device, MON_DCMI_MEMORY, (double)hbm.memory_size * MIB);
        set(device, MON_DCMI_MEMORY_USED, (double)hbm.memory_usage * MIB);
        set(device, MON_DCMI_MEMORY_FREQUENCY, hbm.freq * 1e6);
        set(device, MON_DCMI_MEMORY_TEMPERATURE, hbm.temp);
        set(device, MON_DCMI_MEMORY_BANDWIDTH, hbm.bandwith_util_rate / 100.0);
    }
    /* The library does not know the size of the array: allow for more entries than it documents. */
    struct dcmi_proc_mem_info processes[MON_DCMI_PROCESSES * 4] = {{0}};
    int count = 0;
    if (CALL(get_npu_proc_mem_info, processes, &count)) {
        device->processes = count < 0 ? 0 : count > MON_DCMI_PROCESSES ? MON_DCMI_PROCESSES : (uint32_t)count;
        for (uint32_t i = 0; i < device->processes; i++) {
            device->process[i].pid = processes[i].proc_id;
            device->process[i].memory_b = processes[i].proc_mem_usage;
        }
    }
}

static void sample_health(struct mon_dcmi *dcmi, struct mon_dcmi_sample *out, size_t row, int card, int number)
{
    static const struct {
        enum mon_dcmi_value value;
        int kind;
    } parts[] = {{MON_DCMI_USE_AICORE, DCMI_UTILIZATION_RATE_AICORE},
                 {MON_DCMI_USE_HBM, DCMI_UTILIZATION_RATE_HBM},
                 {MON_DCMI_USE_VECTOR, DCMI_UTILIZATION_RATE_VECTORCORE},
                 {MON_DCMI_USE_OVERALL, DCMI_UTILIZATION_RATE_NPU},
                 {MON_DCMI_USE_CUBE, DCMI_UTILIZATION_RATE_AICUBE}};
    struct mon_dcmi_device *device = &out->device[row];
    unsigned health, volts, percent, mhz, codes[ERROR_CODES];
    int celsius, tenths, errors = 0;
    if (CALL(get_device_health, &health)) {
        set(device, MON_DCMI_HEALTH, health);
    }
    if (CALL(get_device_errorcode_v2, &errors, codes, ERROR_CODES)) {
        set(device, MON_DCMI_ERRORS, errors);
    }
    if (CALL(get_device_temperature, &celsius)) {
        set(device, MON_DCMI_TEMPERATURE, celsius);
    }
    if (CALL(get_device_power_info, &tenths)) {
        set(device, MON_DCMI_POWER, tenths / 10.0);
    }
    if (CALL(get_device_voltage, &volts)) {
        set(device, MON_DCMI_VOLTAGE, volts / 100.0);
    }
    if (CALL(get_device_frequency, DCMI_FREQ_AICORE_CURRENT, &mhz)) {
        set(device, MON_DCMI_FREQUENCY, mhz * 1e6);
    }
    for (size_t i = 0; i < MS_COUNT_OF(parts); i++) {
        /* Each kind is supported or not; one refusal does not mean that the function fails. */
        if (dcmi->call.get_device_utilization_rate != NULL &&
            dcmi->call.get_device_utilization_rate(card, number, parts[i].kind, &percent) == 0) {
            set(device, parts[i].value, percent / 100.0);
        }
    }
}

void mon_dcmi_sample(struct mon_dcmi *dcmi, struct mon_dcmi_sample *out)
{
    int cards = 0, list[MON_DCMI_DEVICES];
    memset(out, 0, sizeof(*out));
    if (!succeeded(dcmi, out, MON_DCMI_DEVICES, MON_DCMI_get_card_list,
                   dcmi->call.get_card_list(&cards, list, MON_DCMI_DEVICES))) {
        return;
    }
    cards = cards < MON_DCMI_DEVICES ? cards : MON_DCMI_DEVICES;
    for (int i = 0; i < cards; i++) {
        int devices = 0;
        if (!succeeded(dcmi, out, MON_DCMI_DEVICES, MON_DCMI_get_device_num_in_card,
                       dcmi->call.get_device_num_in_card(list[i], &devices))) {
            continue;
        }
        for (int number = 0; number < devices && out->devices < MON_DCMI_DEVICES; number++) {
            size_t row = out->devices++;
            int card = list[i], logic = -1;
            if (dcmi->call.get_device_logic_id == NULL ||
                !succeeded(dcmi, out, row, MON_DCMI_get_device_logic_id,
                           dcmi->call.get_device_logic_id(&logic, card, number))) {
                logic = (int)row;
            }
            out->device[row].logic = logic;
            sample_memory(dcmi, out, row, card, number);
            sample_health(dcmi, out, row, card, number);
        }
    }
}
