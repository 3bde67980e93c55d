/* SPDX-License-Identifier: Apache-2.0 */
/* Exports one process of any source to a directory. */
#ifndef MS_CLI_EXPORT_DUMPS_H
#define MS_CLI_EXPORT_DUMPS_H

#include "memscope/export/exporter.h"
#include "memscope/source/source.h"

/* Creates dir if it does not exist. fd: if not 0, the format's file is written there instead. 0 or -errno; -ENODATA was
 * reported. */
int export_process(struct ms_source *source, size_t at, const struct ms_exporter *format, const char *dir, int fd);

#endif
