/* SPDX-License-Identifier: Apache-2.0 */
/* The lists of `npu-smi info -t TOPIC -i N`: one name and one value per line. */
#include "cli/npusmi/npusmi.h"

#include "base/macros.h"
#include "softnpu/hal/derived.h"
#include "softnpu/hal/soc.h"

#include <stdarg.h>

void snpu_smi_print_field(const char *name, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    printf("\t%-30s : ", name);
    vprintf(format, args);
    putchar('\n');
    va_end(args);
}

static unsigned long long capacity_mb(const struct snpu_smi *smi)
{
    return smi->now.config.capacity_b / SNPU_SMI_MIB;
}

static unsigned used_percent(const struct snpu_smi *smi, uint32_t dev)
{
    return (unsigned)(snpu_snapshot_used_b(&smi->now, dev) / (smi->now.config.capacity_b / 100 + 1));
}

static void print_memory(const struct snpu_smi *smi, uint32_t dev)
{
    snpu_smi_print_field("DDR Capacity(MB)", "0");
    snpu_smi_print_field("DDR Clock Speed(MHz)", "0");
    snpu_smi_print_field("HBM Capacity(MB)", "%llu", capacity_mb(smi));
    snpu_smi_print_field("HBM Clock Speed(MHz)", "%d", SNPU_HBM_MHZ);
    snpu_smi_print_field("HBM Temperature(C)", "%d", snpu_celsius(snpu_smi_busy(smi, dev)));
    snpu_smi_print_field("HBM Manufacturer ID", "0x0");
    snpu_smi_print_field("Chip ID", "0");
}

static void print_usages(const struct snpu_smi *smi, uint32_t dev)
{
    unsigned busy = snpu_smi_busy(smi, dev);
    snpu_smi_print_field("DDR Capacity(MB)", "0");
    snpu_smi_print_field("DDR Usage Rate(%)", "0");
    snpu_smi_print_field("DDR Hugepages Total(page)", "0");
    snpu_smi_print_field("DDR Hugepages Usage Rate(%)", "0");
    snpu_smi_print_field("HBM Capacity(MB)", "%llu", capacity_mb(smi));
    snpu_smi_print_field("HBM Usage Rate(%)", "%u", used_percent(smi, dev));
    snpu_smi_print_field("Aicore Usage Rate(%)", "%u", busy);
    snpu_smi_print_field("Aivector Usage Rate(%)", "%u", busy);
    snpu_smi_print_field("Aicpu Usage Rate(%)", "0");
    snpu_smi_print_field("Ctrlcpu Usage Rate(%)", "0");
    snpu_smi_print_field("DDR Bandwidth Usage Rate(%)", "0");
    snpu_smi_print_field("HBM Bandwidth Usage Rate(%)", "%u", busy / 2);
    snpu_smi_print_field("NPU Utilization(%)", "%u", busy);
    snpu_smi_print_field("Chip ID", "0");
}

static void print_common(const struct snpu_smi *smi, uint32_t dev)
{
    const struct snpu_soc *soc = snpu_soc_find(smi->now.config.soc);
    unsigned busy = snpu_smi_busy(smi, dev);
    int watt = snpu_deciwatt(busy);
    snpu_smi_print_field("Chip ID", "0");
    snpu_smi_print_field("Memory Usage Rate(%)", "0");
    snpu_smi_print_field("HBM Usage Rate(%)", "%u", used_percent(smi, dev));
    snpu_smi_print_field("Aicore Usage Rate(%)", "%u", busy);
    snpu_smi_print_field("Aicore Freq(MHZ)", "%u", soc != NULL ? soc->frequency_mhz : 0);
    snpu_smi_print_field("Aicore curFreq(MHZ)", "%u", soc != NULL ? soc->frequency_mhz : 0);
    snpu_smi_print_field("Aicore Count", "%u", soc != NULL ? soc->cube_cores : 0);
    snpu_smi_print_field("Temperature(C)", "%d", snpu_celsius(busy));
    snpu_smi_print_field("NPU Real-time Power(W)", "%d.%d", watt / 10, watt % 10);
}

static void print_board(const struct snpu_smi *smi, uint32_t dev)
{
    snpu_smi_print_field("Chip Name", "%s", snpu_smi_chip(smi));
    snpu_smi_print_field("Chip Type", "Ascend");
    snpu_smi_print_field("Software Version", SNPU_DRIVER_VERSION);
    snpu_smi_print_field("Firmware Version", SNPU_FIRMWARE_VERSION);
    snpu_smi_print_field("PCIe Bus Info", SNPU_PCI_BUS_FORMAT, SNPU_PCI_BUS_FIRST + dev);
}

static void print_health(const struct snpu_smi *smi, uint32_t dev)
{
    bool lost = snpu_smi_lost(smi, dev);
    snpu_smi_print_field("Health Status", lost ? "Critical" : "OK");
    snpu_smi_print_field("Error Code", "NA");
    snpu_smi_print_field("Error Information", lost ? "device lost (fault plan)" : "NA");
}

static void print_temp(const struct snpu_smi *smi, uint32_t dev)
{
    snpu_smi_print_field("Chip ID", "0");
    snpu_smi_print_field("NPU Temperature (C)", "%d", snpu_celsius(snpu_smi_busy(smi, dev)));
}

static void print_power(const struct snpu_smi *smi, uint32_t dev)
{
    int watt = snpu_deciwatt(snpu_smi_busy(smi, dev));
    snpu_smi_print_field("Chip ID", "0");
    snpu_smi_print_field("NPU Real-time Power(W)", "%d.%d", watt / 10, watt % 10);
}

static void print_processes(const struct snpu_smi *smi, uint32_t dev)
{
    for (size_t i = 0; i < smi->now.process_count; i++) {
        const struct snpu_process *process = &smi->now.processes[i];
        uint64_t used_b = snpu_snapshot_process_used_b(process, dev);
        if (used_b > 0) {
            printf("\tProcess id:%d Process name:%-17s Process memory(MB):%llu\n", process->pid, process->name,
                   (unsigned long long)(used_b / SNPU_SMI_MIB));
        }
    }
    snpu_smi_print_field("Chip ID", "0");
}

const struct snpu_smi_topic snpu_smi_topics[] = {
    {"board", "chip, versions, PCIe address", print_board},
    {"common", "usage, frequency, temperature, power", print_common},
    {"health", "health of the device", print_health},
    {"memory", "capacity and clock of the memory", print_memory},
    {"power", "power in watts", print_power},
    {"proc-mem", "memory of each process", print_processes},
    {"temp", "temperature", print_temp},
    {"usages", "usage of memory and cores", print_usages},
};
const size_t snpu_smi_topic_count = MS_COUNT_OF(snpu_smi_topics);
