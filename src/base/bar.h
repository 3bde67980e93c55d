/* SPDX-License-Identifier: Apache-2.0 */
/* A progress bar for terminals. */
#ifndef MS_BASE_BAR_H
#define MS_BASE_BAR_H

#include <stdio.h>
#include <string.h>

#define MS_BAR_WIDTH 40
#define MS_BAR_B     (MS_BAR_WIDTH + 16)

/* "[=====>          ]  12 %" */
static inline void ms_bar(char out[MS_BAR_B], unsigned per_mille)
{
    char bar[MS_BAR_WIDTH + 1];
    per_mille = per_mille < 1000 ? per_mille : 1000;
    unsigned full = per_mille * MS_BAR_WIDTH / 1000;
    memset(bar, ' ', MS_BAR_WIDTH);
    memset(bar, '=', full);
    if (full < MS_BAR_WIDTH) {
        bar[full] = '>';
    }
    bar[MS_BAR_WIDTH] = '\0';
    snprintf(out, MS_BAR_B, "[%s] %3u %%", bar, per_mille / 10);
}

#endif
