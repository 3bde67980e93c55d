/* SPDX-License-Identifier: Apache-2.0 */
/* Errors of the commands on a software machine, with the name of the command in front. */
#include "cli/softnpu/cli.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

void snpu_cli_error(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "%s: ", program_invocation_short_name);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
}
