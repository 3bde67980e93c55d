/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of libdcmi.so; their prototypes are in dcmi_interface_api.h.
 *     DCMI_FN(status, name)        status: IMPLEMENTED or UNSUPPORTED
 * Define the macro before including this file; it is undefined at the end. */

/* clang-format off */
DCMI_FN(IMPLEMENTED, dcmi_get_card_list)
DCMI_FN(IMPLEMENTED, dcmi_get_card_num_list)
DCMI_FN(IMPLEMENTED, dcmi_get_device_errorcode_v2)
DCMI_FN(IMPLEMENTED, dcmi_get_device_frequency)
DCMI_FN(IMPLEMENTED, dcmi_get_device_hbm_info)
DCMI_FN(IMPLEMENTED, dcmi_get_device_health)
DCMI_FN(IMPLEMENTED, dcmi_get_device_id_in_card)
DCMI_FN(IMPLEMENTED, dcmi_get_device_logic_id)
DCMI_FN(IMPLEMENTED, dcmi_get_device_num_in_card)
DCMI_FN(IMPLEMENTED, dcmi_get_device_power_info)
DCMI_FN(IMPLEMENTED, dcmi_get_device_temperature)
DCMI_FN(IMPLEMENTED, dcmi_get_device_utilization_rate)
DCMI_FN(IMPLEMENTED, dcmi_get_device_voltage)
DCMI_FN(IMPLEMENTED, dcmi_get_driver_version)
DCMI_FN(IMPLEMENTED, dcmi_get_npu_proc_mem_info)
DCMI_FN(IMPLEMENTED, dcmi_init)
/* clang-format on */

#undef DCMI_FN
