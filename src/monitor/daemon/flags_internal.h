/* SPDX-License-Identifier: Apache-2.0 */
/* The rows that flags_table.h expands to, for the parser (flags.c) and the printed pages (flags_pages.c). */
#ifndef MON_DAEMON_FLAGS_INTERNAL_H
#define MON_DAEMON_FLAGS_INTERNAL_H

#include "monitor/daemon/flags.h"

enum mon_flag_type { MON_FLAG_SECTION, MON_FLAG_BOOL, MON_FLAG_INT, MON_FLAG_TEXT };

struct mon_flag {
    enum mon_flag_type type;
    unsigned where;
    const char *name; /* of a section: its title */
    size_t at;        /* offset in struct mon_flags */
    int64_t number, min, max;
    const char *text;
    const char *help;
};

extern const struct mon_flag mon__flags[];
extern const size_t mon__flag_count;

#endif
