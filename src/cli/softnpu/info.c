/* SPDX-License-Identifier: Apache-2.0 */
/* softnpu info: devices, the processes that use them, and the coverage of the vendor's interface. */
#include "cli/softnpu/cli.h"
#include "cli/softnpu/snapshot.h"

#include "abi/coverage.h"

#include <string.h>

static const char *const status_words[] = {
    [ABI_IMPLEMENTED] = "implemented", [ABI_UNSUPPORTED] = "unsupported", [ABI_ABSENT] = "absent"};

static void print_coverage_json(const struct abi_library *families, size_t count)
{
    printf("{\"libraries\": [");
    for (size_t i = 0; i < count; i++) {
        printf("%s{\"key\": \"%s\", \"file\": \"%s\", \"header\": \"%s\", \"names\": [", i > 0 ? ", " : "",
               families[i].key, families[i].file, families[i].header);
        for (size_t k = 0; k < families[i].count; k++) {
            const struct abi_name *n = &families[i].names[k];
            printf("%s{\"name\": \"%s\", \"status\": \"%s\", \"implemented\": %s, \"recommended\": %s}",
                   k > 0 ? ", " : "", n->name, status_words[n->status], n->status == ABI_IMPLEMENTED ? "true" : "false",
                   n->set == ABI_RECOMMENDED ? "true" : "false");
        }
        printf("]}");
    }
    printf("]}\n");
}

static void print_names(const struct abi_library *family, enum abi_status status, const char *what)
{
    int column = 0;
    for (size_t k = 0; k < family->count; k++) {
        const struct abi_name *n = &family->names[k];
        if (n->status != status) {
            continue;
        }
        if (column == 0) {
            printf("\n%s (%s) %s:\n ", family->key, family->file, what);
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
    size_t count, total = 0, sums[MS_COUNT_OF(status_words)] = {0};
    const struct abi_library *families = abi_coverage(&count);
    if (json) {
        print_coverage_json(families, count);
        return SNPU_EXIT_OK;
    }
    printf("%-12s %-22s %8s %11s %13s %6s  %s\n", "family", "library", "names", "implemented", "not supported",
           "absent", "declared in");
    for (size_t i = 0; i < count; i++) {
        const struct abi_library *f = &families[i];
        size_t of[MS_COUNT_OF(status_words)];
        for (size_t s = 0; s < MS_COUNT_OF(of); s++) {
            of[s] = abi_coverage_count(f, (enum abi_status)s, -1);
            sums[s] += of[s];
        }
        total += f->count;
        printf("%-12s %-22s %8zu %11zu %13zu %6zu  %s\n", f->key, f->file, f->count, of[ABI_IMPLEMENTED],
               of[ABI_UNSUPPORTED], of[ABI_ABSENT], f->header);
    }
    printf("%-12s %-22s %8zu %11zu %13zu %6zu\n", "all", "", total, sums[ABI_IMPLEMENTED], sums[ABI_UNSUPPORTED],
           sums[ABI_ABSENT]);
    for (size_t i = 0; i < count; i++) {
        print_names(&families[i], ABI_UNSUPPORTED, "returns \"not supported\" from");
        print_names(&families[i], ABI_ABSENT, "lacks");
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
