/* SPDX-License-Identifier: Apache-2.0 */
/* The table of `npu-smi info`. Scripts parse it by line and column: line 7 is the first device, and the third word of
 * it is the chip. */
#include "cli/npusmi/npusmi.h"

#include "softnpu/hal/derived.h"

static const char rule[] =
    "+---------------------------+---------------+----------------------------------------------------+";
static const char heavy[] =
    "+===========================+===============+====================================================+";

static void print_devices(const struct snpu_smi *smi)
{
    puts("+------------------------------------------------------------------------------------------------+");
    printf("| npu-smi %-24s Version: %-52s |\n", SNPU_DRIVER_VERSION, SNPU_DRIVER_VERSION);
    puts(rule);
    puts("| NPU   Name                | Health        | Power(W)    Temp(C)           Hugepages-Usage(page)|");
    puts("| Chip                      | Bus-Id        | AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)        |");
    puts(heavy);
    for (uint32_t d = 0; d < smi->now.config.devices; d++) {
        unsigned busy = snpu_smi_busy(smi, d);
        int watt = snpu_deciwatt(busy);
        char bus[16], power[16];
        snprintf(bus, sizeof(bus), SNPU_PCI_BUS_FORMAT, SNPU_PCI_BUS_FIRST + d);
        snprintf(power, sizeof(power), "%d.%d", watt / 10, watt % 10);
        printf("| %-5u %-19s | %-13s | %-11s %-17d %-4d / %-14d|\n", d, snpu_smi_chip(smi),
               snpu_smi_lost(smi, d) ? "Critical" : "OK", power, snpu_celsius(busy), 0, 0);
        printf("| %-25u | %-13s | %-11u %-4d / %-10d %-5llu/ %-14llu|\n", 0u, bus, busy, 0, 0,
               (unsigned long long)(snpu_snapshot_used_b(&smi->now, d) / SNPU_SMI_MIB),
               (unsigned long long)(smi->now.config.capacity_b / SNPU_SMI_MIB));
        puts(heavy);
    }
}

void snpu_smi_print_table(const struct snpu_smi *smi)
{
    print_devices(smi);
    puts(rule);
    puts("| NPU     Chip              | Process id    | Process name             | Process memory(MB)      |");
    puts(heavy);
    for (uint32_t d = 0; d < smi->now.config.devices; d++) {
        bool any = false;
        for (size_t i = 0; i < smi->now.process_count; i++) {
            const struct snpu_process *process = &smi->now.processes[i];
            uint64_t used_b = snpu_snapshot_process_used_b(process, d);
            if (used_b > 0 || process->device[d].activity.streams > 0) {
                any = true;
                printf("| %-7u %-17u | %-13d | %-24.24s | %-23llu |\n", d, 0u, process->pid, process->name,
                       (unsigned long long)(used_b / SNPU_SMI_MIB));
            }
        }
        if (!any) {
            printf("| No running processes found in NPU %-60u |\n", d);
        }
        puts(heavy);
    }
}
