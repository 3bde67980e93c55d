/* SPDX-License-Identifier: Apache-2.0 */
/* softnpu info: devices, the processes that use them, and the coverage of the vendor's interface. */
#include "cli/softnpu/cli.h"
#include "cli/softnpu/snapshot.h"

#include "abi/coverage.h"

#include <string.h>

static void print_coverage_json(const struct abi_library *libraries, size_t count)
{
    printf("{\"libraries\": [");
    for (size_t i = 0; i < count; i++) {
        printf("%s{\"key\": \"%s\", \"file\": \"%s\", \"names\": [", i > 0 ? ", " : "", libraries[i].key,
               libraries[i].file);
        for (size_t k = 0; k < libraries[i].count; k++) {
            const struct abi_name *n = &libraries[i].names[k];
            printf("%s{\"name\": \"%s\", \"implemented\": %s, \"recommended\": %s}", k > 0 ? ", " : "", n->name,
                   n->status == ABI_IMPLEMENTED ? "true" : "false", n->set == ABI_RECOMMENDED ? "true" : "false");
        }
        printf("]}");
    }
    printf("]}\n");
}

static void print_missing(const struct abi_library *library)
{
    int column = 0;
    for (size_t k = 0; k < library->count; k++) {
        const struct abi_name *n = &library->names[k];
        if (n->status == ABI_IMPLEMENTED) {
            continue;
        }
        if (column == 0) {
            printf("\n%s returns \"not supported\" from:\n ", library->file);
            column = 1;
        }
        if (column + (int)strlen(n->name) + 1 > 118) {
            printf("\n ");
            column = 1;
        }
        column += printf(" %s", n->name);
    }
    if (column > 0) {
        putchar('\n');
    }
}

static int coverage(bool json)
{
    size_t count;
    const struct abi_library *libraries = abi_coverage(&count);
    if (json) {
        print_coverage_json(libraries, count);
        return SNPU_EXIT_OK;
    }
    printf("%-8s %-22s %11s  %11s  %13s\n", "", "library", "recommended", "implemented", "not supported");
    for (size_t i = 0; i < count; i++) {
        const struct abi_library *l = &libraries[i];
        size_t expected = abi_coverage_count(l, ABI_IMPLEMENTED, ABI_RECOMMENDED) +
                          abi_coverage_count(l, ABI_UNSUPPORTED, ABI_RECOMMENDED);
        char recommended[32];
        snprintf(recommended, sizeof(recommended), "%zu/%zu", abi_coverage_count(l, ABI_IMPLEMENTED, ABI_RECOMMENDED),
                 expected);
        printf("%-8s %-22s %11s  %11zu  %13zu\n", l->key, l->file, recommended,
               abi_coverage_count(l, ABI_IMPLEMENTED, -1), abi_coverage_count(l, ABI_UNSUPPORTED, -1));
    }
    for (size_t i = 0; i < count; i++) {
        print_missing(&libraries[i]);
    }
    return SNPU_EXIT_OK;
}

int snpu_cmd_info(int argc, char **argv)
{
    struct snpu_option_values options;
    int rest = snpu_cli_parse(SNPU_CMD_INFO, argc, argv, &options);
    if (rest < 0) {
        return SNPU_EXIT_USAGE;
    }
    if (rest < argc) {
        snpu_cli_error("info takes no argument ('%s')", argv[rest]);
        return SNPU_EXIT_USAGE;
    }
    bool json = options.value[SNPU_OPT_JSON] != NULL;
    if (options.value[SNPU_OPT_COVERAGE] != NULL) {
        return coverage(json);
    }
    struct snpu_machine *machine;
    struct snpu_snapshot snapshot;
    int status = snpu_snapshot_open(options.value[SNPU_OPT_MACHINE], &machine, &snapshot);
    if (status != SNPU_EXIT_OK) {
        return status;
    }
    if (json) {
        snpu_snapshot_print_json(stdout, NULL, &snapshot);
    } else {
        snpu_snapshot_print(stdout, NULL, &snapshot);
    }
    snpu_snapshot_free(&snapshot);
    return SNPU_EXIT_OK;
}
