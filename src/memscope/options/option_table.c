/* SPDX-License-Identifier: Apache-2.0 */
/* The groups of options, in the order in which help shows them. */
#include "memscope/options/option_table.h"

const struct ms_option_group ms_option_groups[] = {
    {"General options", ms_options_general},
    {"Collection options", ms_options_collection},
    {"Analysis options", ms_options_analysis},
    {"Input / Output options", ms_options_files},
    {"Other: recorder and trace files", ms_options_recorder},
    {NULL, NULL},
};

const struct ms_option *ms_option_at(size_t index)
{
    for (const struct ms_option_group *group = ms_option_groups; group->title != NULL; group++) {
        for (const struct ms_option *option = group->options; option->name != NULL; option++) {
            if (index-- == 0) {
                return option;
            }
        }
    }
    return NULL;
}
