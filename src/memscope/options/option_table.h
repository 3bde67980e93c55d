/* SPDX-License-Identifier: Apache-2.0 */
/* The table of options as the files that use it see it. */
#ifndef MS_OPTIONS_OPTION_TABLE_H
#define MS_OPTIONS_OPTION_TABLE_H

#include "memscope/options/settings.h"

enum ms_option_group { GENERAL, COLLECTION, ANALYSIS, FILES, RECORDER, OPTION_GROUPS };

enum ms_option_action { SET, FLAG, HELP, VERSION };

struct ms_option {
    const char *name;
    const char *alias;    /* another long name; NULL: none */
    char letters[3];      /* one-letter names */
    const char *argument; /* NULL: takes none; in brackets: may be left out */
    enum ms_option_group group;
    enum ms_option_action action;
    ms_setting_rule rule; /* of SET */
    size_t flag;          /* of FLAG: offset of the bool that becomes true */
    const char *initial;  /* default, as text; NULL: nothing to say */
    const char *help;     /* lines */
    bool later;           /* not of the original: never in the way of an abbreviation of one that is */
};

#define MS_OPTIONS 28
extern const struct ms_option ms_options[MS_OPTIONS];

static inline bool *ms_option_flag(const struct ms_option *option, struct ms_settings *settings)
{
    return (bool *)((char *)settings + option->flag);
}

#endif
