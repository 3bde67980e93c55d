/* SPDX-License-Identifier: Apache-2.0 */
/* Health and management of devices (libdcmi.so). Every function returns 0 or a negative error. */
#ifndef DCMI_INTERFACE_API_H
#define DCMI_INTERFACE_API_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct dcmi_hbm_info {
    unsigned long long memory_size; /* MiB */
    unsigned int freq;
    unsigned long long memory_usage; /* MiB */
    int temp;
    unsigned int bandwith_util_rate;
};

struct dcmi_proc_mem_info {
    int proc_id;
    unsigned long proc_mem_usage; /* bytes */
};

/* Kinds of dcmi_get_device_utilization_rate. */
#define DCMI_UTILIZATION_RATE_AICORE     2
#define DCMI_UTILIZATION_RATE_HBM        6
#define DCMI_UTILIZATION_RATE_VECTORCORE 12
#define DCMI_UTILIZATION_RATE_NPU        13
#define DCMI_UTILIZATION_RATE_AICUBE     14

#define DCMI_FREQ_AICORE_CURRENT         7

int dcmi_init(void);
int dcmi_get_driver_version(char *driver_ver, unsigned int len);

int dcmi_get_card_list(int *card_num, int *card_list, int list_len);
int dcmi_get_card_num_list(int *card_num, int *card_list, int list_len);
int dcmi_get_device_num_in_card(int card_id, int *device_num);
int dcmi_get_device_id_in_card(int card_id, int *device_id_max, int *mcu_id, int *cpu_id);
int dcmi_get_device_logic_id(int *device_logic_id, int card_id, int device_id);

int dcmi_get_device_hbm_info(int card_id, int device_id, struct dcmi_hbm_info *hbm_info);
int dcmi_get_npu_proc_mem_info(int card_id, int device_id, struct dcmi_proc_mem_info *proc_info, int *proc_num);

int dcmi_get_device_health(int card_id, int device_id, unsigned int *health);
int dcmi_get_device_temperature(int card_id, int device_id, int *temperature);
int dcmi_get_device_power_info(int card_id, int device_id, int *power); /* tenths of a watt */
int dcmi_get_device_voltage(int card_id, int device_id, unsigned int *voltage);
int dcmi_get_device_utilization_rate(int card_id, int device_id, int input_type, unsigned int *utilization_rate);
int dcmi_get_device_frequency(int card_id, int device_id, int input_type, unsigned int *frequency); /* MHz */
int dcmi_get_device_errorcode_v2(int card_id, int device_id, int *error_count, unsigned int *error_code_list,
                                 unsigned int list_len);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
