/* SPDX-License-Identifier: Apache-2.0 */
/* npu-smi: the devices of a software machine in the format of the vendor's command, for scripts that parse it. The data
 * are those of `softnpu top`. Commands that configure or update hardware are refused. */
#include "cli/npusmi/npusmi.h"

#include "base/parse.h"
#include "cli/softnpu/cli.h"
#include "softnpu/hal/derived.h"

#include <string.h>
#include <time.h>

#define LOOK_NS 50000000 /* between the two looks from which rates are computed */

enum view { VIEW_TABLE, VIEW_LIST, VIEW_MAPPING, VIEW_TOPIC };

unsigned snpu_smi_busy(const struct snpu_smi *smi, uint32_t dev)
{
    double busy = 0;
    for (size_t i = 0; i < smi->now.process_count; i++) {
        busy += snpu_snapshot_busy(&smi->earlier, &smi->now, &smi->now.processes[i], dev);
    }
    return busy < 1 ? (unsigned)(100 * busy) : 100;
}

bool snpu_smi_lost(const struct snpu_smi *smi, uint32_t dev)
{
    bool lost = false;
    for (size_t i = 0; i < smi->now.process_count; i++) {
        lost |= smi->now.processes[i].device[dev].lost;
    }
    return lost;
}

const char *snpu_smi_chip(const struct snpu_smi *smi)
{
    static const char family[] = "Ascend";
    const char *soc = smi->now.config.soc;
    return strncmp(soc, family, sizeof(family) - 1) == 0 ? soc + sizeof(family) - 1 : soc;
}

static void print_help(void)
{
    puts("Usage: npu-smi info                    table of devices and processes\n"
         "       npu-smi info -l                 list of devices\n"
         "       npu-smi info -m                 devices and their chips\n"
         "       npu-smi info -t TOPIC -i N      one device [-c CHIP]\n"
         "       npu-smi -v                      version\n"
         "\n"
         "Shows the devices of a software machine (SOFTNPU_MACHINE, see softnpu(1)). Topics:");
    for (size_t i = 0; i < snpu_smi_topic_count; i++) {
        printf("  %-10s %s\n", snpu_smi_topics[i].name, snpu_smi_topics[i].summary);
    }
}

static void print_list(const struct snpu_smi *smi)
{
    snpu_smi_print_field("Total Count", "%u", smi->now.config.devices);
    for (uint32_t d = 0; d < smi->now.config.devices; d++) {
        putchar('\n');
        snpu_smi_print_field("NPU ID", "%u", d);
        snpu_smi_print_field("Chip Count", "1");
    }
}

static void print_mapping(const struct snpu_smi *smi)
{
    printf("\t%-30s %-30s %-30s %-30s\n", "NPU ID", "Chip ID", "Chip Logic ID", "Chip Name");
    for (uint32_t d = 0; d < smi->now.config.devices; d++) {
        printf("\t%-30u %-30u %-30u Ascend %s\n", d, 0u, d, snpu_smi_chip(smi));
    }
}

static int look(struct snpu_smi *smi)
{
    struct snpu_machine *machine;
    memset(smi, 0, sizeof(*smi));
    int status = snpu_snapshot_open(NULL, &machine, &smi->earlier);
    if (status != SNPU_EXIT_OK) {
        return status;
    }
    smi->now = smi->earlier;
    if (machine != NULL) {
        const struct timespec pause = {.tv_nsec = LOOK_NS};
        nanosleep(&pause, NULL);
        smi->now.processes = NULL;
        smi->now.process_count = 0;
        snpu_snapshot_refresh(machine, &smi->now);
    }
    return SNPU_EXIT_OK;
}

static int parse_id(const char *option, const char *text, uint64_t max, uint64_t *out)
{
    if (text != NULL && ms_parse_u64(text, 0, max, out) == 0) {
        return 0;
    }
    snpu_cli_error("%s needs a number from 0 to %llu%s%s", option, (unsigned long long)max,
                   text != NULL ? ", not " : "", text != NULL ? text : "");
    return -1;
}

static int info(int argc, char **argv)
{
    enum view view = VIEW_TABLE;
    const struct snpu_smi_topic *topic = NULL;
    const char *card = NULL, *chip = NULL;
    for (int i = 0; i < argc; i++) {
        const char *word = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(word, "-h") == 0 || strcmp(word, "--help") == 0) {
            print_help();
            return SNPU_EXIT_OK;
        }
        if (strcmp(word, "-l") == 0 || strcmp(word, "-m") == 0) {
            view = word[1] == 'l' ? VIEW_LIST : VIEW_MAPPING;
        } else if (strcmp(word, "-i") == 0 || strcmp(word, "-c") == 0) {
            *(word[1] == 'i' ? &card : &chip) = value != NULL ? value : "";
            i++;
        } else if (strcmp(word, "-t") == 0) {
            view = VIEW_TOPIC;
            for (size_t k = 0; k < snpu_smi_topic_count; k++) {
                topic = value != NULL && strcmp(snpu_smi_topics[k].name, value) == 0 ? &snpu_smi_topics[k] : topic;
            }
            if (topic == NULL) {
                snpu_cli_error("info: topic '%s' is not supported by softnpu (see 'npu-smi info -h')",
                               value != NULL ? value : "");
                return SNPU_EXIT_USAGE;
            }
            i++;
        } else {
            snpu_cli_error("info: unknown option '%s' (see 'npu-smi info -h')", word);
            return SNPU_EXIT_USAGE;
        }
    }
    struct snpu_smi smi;
    int status = look(&smi);
    uint64_t dev = 0, chip_id = 0;
    if (status != SNPU_EXIT_OK) {
        return status;
    }
    if ((card != NULL && parse_id("info -i", card, smi.now.config.devices - 1, &dev) != 0) ||
        (chip != NULL && parse_id("info -c", chip, 0, &chip_id) != 0)) {
        return SNPU_EXIT_USAGE;
    }
    switch (view) {
    case VIEW_TABLE:
        snpu_smi_print_table(&smi);
        break;
    case VIEW_LIST:
        print_list(&smi);
        break;
    case VIEW_MAPPING:
        print_mapping(&smi);
        break;
    case VIEW_TOPIC:
        if (card == NULL) {
            snpu_cli_error("info: -t %s needs a device: -i N", topic->name);
            return SNPU_EXIT_USAGE;
        }
        snpu_smi_print_field("NPU ID", "%llu", (unsigned long long)dev);
        snpu_smi_print_field("Chip Count", "1");
        putchar('\n');
        topic->print(&smi, (uint32_t)dev);
        break;
    }
    return SNPU_EXIT_OK;
}

int main(int argc, char **argv)
{
    if (argc < 2 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "--help") == 0) {
        print_help();
        return argc < 2 ? SNPU_EXIT_USAGE : SNPU_EXIT_OK;
    }
    if (strcmp(argv[1], "-v") == 0 || strcmp(argv[1], "--version") == 0) {
        puts("npu-smi version: " SNPU_DRIVER_VERSION);
        return SNPU_EXIT_OK;
    }
    if (strcmp(argv[1], "info") == 0) {
        return info(argc - 2, argv + 2);
    }
    snpu_cli_error("'%s' is not supported by softnpu, which has no hardware to change (see 'npu-smi -h')", argv[1]);
    return SNPU_EXIT_USAGE;
}
