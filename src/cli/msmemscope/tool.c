/* SPDX-License-Identifier: Apache-2.0 */
/* msmemscope-collector: the collector, and the commands on recordings. The launcher, or the recorder
 * in a program, starts it with a clean environment. */
#include "cli/msmemscope/recordings.h"
#include "collect/collect_main.h"

#include "base/macros.h"
#include "memscope/symbols/symbolizer.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
} commands[] = {
    {"info", cmd_info},     {"export", cmd_export}, {"recover", cmd_export}, {"compare", cmd_compare},
    {"report", cmd_report}, {"query", cmd_query},   {"check", cmd_check},
};

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--collect") == 0) {
        return ms_collect_main();
    }
    if (argc == 2 && strcmp(argv[1], MS_SYMBOLS_ARGUMENT) == 0) {
        return ms_symbols_main();
    }
    if (argc == 3 && strcmp(argv[1], "--supervise") == 0) {
        return cmd_supervise(argv[2]);
    }
    for (size_t i = 0; argc > 1 && i < MS_COUNT_OF(commands); i++) {
        if (strcmp(argv[1], commands[i].name) == 0) {
            return commands[i].run(argc, argv);
        }
    }
    fprintf(stderr, "msmemscope-collector: internal program of msmemscope; run msmemscope instead.\n");
    return 2;
}
