/* Flags of the daemon, as gflags reads them: one or two dashes, --flag=value or --flag value, --flag and --noflag for
 * switches, dashes and underscores alike, --flagfile. The flags themselves stand in flags_table.h. */
#ifndef MS_DAEMON_FLAGS_H
#define MS_DAEMON_FLAGS_H

#include "monitor/daemon/flags_table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { MS_FLAG_FORK = 1, MS_FLAG_UPSTREAM = 2, MS_FLAG_OWN = 4, MS_FLAG_IGNORED = 8 };

/* flags.port, flags.certs_dir, flags.enable_ipc_monitor ... Texts are never NULL. In the order of the table. */
// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding)
struct ms_flags {
#define MS_NO_SECTION(title)
#define MS_BOOL_FIELD(name, value, where, help)          bool name;
#define MS_INT_FIELD(name, value, min, max, where, help) int32_t name;
#define MS_TEXT_FIELD(name, value, where, help)          char *name;
    MS_FLAG_TABLE(MS_NO_SECTION, MS_BOOL_FIELD, MS_INT_FIELD, MS_TEXT_FIELD)
#undef MS_BOOL_FIELD
#undef MS_INT_FIELD
#undef MS_TEXT_FIELD
    bool help, version, markdown; /* asked for in place of a run */
};

/* What a parse has to say that is no failure: one line each, to be logged once the log is open. */
struct ms_flag_notes {
    char (*lines)[256];
    size_t count, room;
};

int ms_flags_init(struct ms_flags *flags); /* defaults; 0 or -ENOMEM */
/* argv[0] is the program. 0, or -EINVAL with the message in error. Notes may be NULL. */
int ms_flags_parse(struct ms_flags *flags, int argc, char *const *argv, struct ms_flag_notes *notes, char *error,
                    size_t error_b);
/* The text of a flag file, for what has no file. Same results. */
int ms_flags_parse_text(struct ms_flags *flags, const char *program, const char *text, size_t text_b,
                         struct ms_flag_notes *notes, char *error, size_t error_b);
void ms_flags_free(struct ms_flags *flags);
void ms_flag_notes_free(struct ms_flag_notes *notes);

void ms_flags_help(FILE *out, const char *program);
void ms_flags_markdown(FILE *out); /* docs/dynolog-flags.md */

#endif
