/* SPDX-License-Identifier: Apache-2.0 */
/* Version and banner, worded as in msMemScope. */
#include "cli/msmemscope/cli.h"
#include "version.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool colourful(void)
{
    const char *term = getenv("TERM");
    return isatty(2) && term != NULL && strcmp(term, "dumb") != 0 && strcmp(term, "unknown") != 0 && *term != '\0';
}

void banner_print(void)
{
    static const char rule[] = "=================================================================";
    const char *on = colourful() ? "\033[1;34m" : "", *off = *on != '\0' ? "\033[0m" : "";
    fprintf(stderr,
            "%s%s\n"
            "                   >>>>>   MindStudio   <<<<<\n"
            "    THE END-TO-END TOOLCHAIN TO UNLEASH HUAWEI ASCEND COMPUTE\n"
            "%s%s\n\n",
            on, rule, rule, off);
}

void version_print(void)
{
    banner_print();
    puts("msmemscope (MindStudio MemScope) \xe2\x80\x94 Ascend NPU memory debugging and profiling tool.\n\n"
         "msmemscope version " NPUSCOPE_VERSION "-" NPUSCOPE_COMMIT);
}
