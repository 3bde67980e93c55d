/* SPDX-License-Identifier: Apache-2.0 */
/* Flags of the daemon, parsed as gflags does: one or two dashes, --flag=value or --flag value, --flag and --noflag for
 * switches, dashes and underscores equivalent, --flagfile. flags_table.h lists the flags. */
#ifndef MON_DAEMON_FLAGS_H
#define MON_DAEMON_FLAGS_H

#include "monitor/daemon/flags_table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { MON_FLAG_FORK = 1, MON_FLAG_UPSTREAM = 2, MON_FLAG_OWN = 4, MON_FLAG_IGNORED = 8 };

/* flags.port, flags.certs_dir, flags.enable_ipc_monitor and so on, in table order. Texts are never NULL. */
// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding)
struct mon_flags {
#define MON_NO_SECTION(title)
#define MON_BOOL_FIELD(name, value, where, help)          bool name;
#define MON_INT_FIELD(name, value, min, max, where, help) int32_t name;
#define MON_TEXT_FIELD(name, value, where, help)          char *name;
    MON_FLAG_TABLE(MON_NO_SECTION, MON_BOOL_FIELD, MON_INT_FIELD, MON_TEXT_FIELD)
#undef MON_BOOL_FIELD
#undef MON_INT_FIELD
#undef MON_TEXT_FIELD
    bool help, version, markdown, man; /* print instead of running */
};

/* Warnings of a parse, one per line, to be logged once the log is open. */
struct mon_flag_notes {
    char (*lines)[256];
    size_t count, room;
};

int mon_flags_init(struct mon_flags *flags); /* sets defaults; 0 or -ENOMEM */
/* argv[0] is the program. 0, or -EINVAL with the message in error. notes may be NULL. */
int mon_flags_parse(struct mon_flags *flags, int argc, char *const *argv, struct mon_flag_notes *notes, char *error,
                    size_t error_b);
/* Parses the text of a flag file. Same results. */
int mon_flags_parse_text(struct mon_flags *flags, const char *program, const char *text, size_t text_b,
                         struct mon_flag_notes *notes, char *error, size_t error_b);
void mon_flags_free(struct mon_flags *flags);
void mon_flag_notes_free(struct mon_flag_notes *notes);

void mon_flags_help(FILE *out, const char *program);
void mon_flags_markdown(FILE *out); /* docs/reference/dynolog-flags.md */
void mon_flags_man(FILE *out);      /* dynolog(8) */

#endif
