/* SPDX-License-Identifier: Apache-2.0 */
/* Formats that show memory by call stack. Each writes one process to fd, which remains the caller's; 0 or -errno.
 * Memory is O(sites and their texts). process: its name, may be NULL. */
#ifndef MS_EXPORT_STACKS_H
#define MS_EXPORT_STACKS_H

#include "memscope/export/sites.h"

int ms_collapsed_write(const struct ms_sites *sites, const char *process, int fd);
int ms_speedscope_write(const struct ms_sites *sites, const char *process, int fd);
int ms_pprof_write(const struct ms_sites *sites, const char *process, int fd);

#endif
