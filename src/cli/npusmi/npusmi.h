/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of npu-smi. */
#ifndef NPUSMI_H
#define NPUSMI_H

#include "cli/softnpu/snapshot.h"

#define SNPU_SMI_MIB (1u << 20)

/* Two looks at the machine; rates are computed between them. */
struct snpu_smi {
    struct snpu_snapshot earlier, now;
};

/* Per cent of the time between the looks in which the device was busy. */
unsigned snpu_smi_busy(const struct snpu_smi *smi, uint32_t dev);
bool snpu_smi_lost(const struct snpu_smi *smi, uint32_t dev);

/* The name of the chip as npu-smi prints it: without "Ascend". */
const char *snpu_smi_chip(const struct snpu_smi *smi);

/* table.c */
void snpu_smi_print_table(const struct snpu_smi *smi);

/* topics.c: npu-smi info -t TOPIC */
struct snpu_smi_topic {
    const char *name;
    const char *summary;
    void (*print)(const struct snpu_smi *smi, uint32_t dev);
};
extern const struct snpu_smi_topic snpu_smi_topics[];
extern const size_t snpu_smi_topic_count;
void snpu_smi_print_field(const char *name, const char *format, ...) MS_PRINTF(2, 3);

#endif
