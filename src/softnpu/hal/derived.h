/* SPDX-License-Identifier: Apache-2.0 */
/* Readings that a software device does not have, derived from those it has, for libdcmi.so and npu-smi. */
#ifndef SOFTNPU_HAL_DERIVED_H
#define SOFTNPU_HAL_DERIVED_H

#define SNPU_HBM_MHZ 1600

/* percent: share of the time in which the device was busy. */
static inline int snpu_celsius(unsigned percent)
{
    return 40 + (int)percent / 4;
}

/* In tenths of a watt: 90 W idle, 340 W at full load. */
static inline int snpu_deciwatt(unsigned percent)
{
    return 900 + (int)percent * 25;
}

#define SNPU_PCI_BUS_FORMAT   "0000:%02X:00.0"
#define SNPU_PCI_BUS_FIRST    0x81 /* of device 0 */
#define SNPU_DRIVER_VERSION   "25.2.0"
#define SNPU_FIRMWARE_VERSION "7.7.0.1.231"

#endif
