/* SPDX-License-Identifier: Apache-2.0 */
/* Command line options, described once in a table that parser, checks and --help use. */
#ifndef EXAMPLES_COMMON_OPTIONS_H
#define EXAMPLES_COMMON_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum option_kind {
    OPTION_INT,    /* int64_t between min and max */
    OPTION_NUMBER, /* double, greater than 0 */
    OPTION_TEXT,   /* const char * */
    OPTION_FLAG,   /* bool */
    OPTION_SIZE,   /* int64_t bytes: 512, 64K, 16M, 1G */
};

struct option_spec {
    const char *name; /* without the dashes */
    enum option_kind kind;
    size_t offset; /* offset of the member in the options struct */
    int64_t min, max;
    const char *value; /* name of the value in the help; in brackets: optional, see preset */
    int64_t preset;    /* value of OPTION_SIZE if omitted */
    const char *help;  /* NULL: not shown */
};

/* Fills *options. Returns 0, or 2 after a message on stderr, or -1 after printing the requested help. */
int options_parse(const char *program, const char *summary, const struct option_spec *specs, size_t count, int argc,
                  char **argv, void *options);

#endif
