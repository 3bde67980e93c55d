/* SPDX-License-Identifier: Apache-2.0 */
/* Exporting one process of a source, whatever the source is, into a directory. */
#ifndef MS_CLI_EXPORT_DUMPS_H
#define MS_CLI_EXPORT_DUMPS_H

#include "memscope/export/exporter.h"
#include "memscope/source/source.h"

/* dir is made if it is not there. fd: where the one file of the format goes instead, if not 0. 0 or -errno; -ENODATA
 * has been told. */
int export_process(struct ms_source *source, size_t at, const struct ms_exporter *format, const char *dir, int fd);

#endif
