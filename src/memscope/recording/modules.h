/* SPDX-License-Identifier: Apache-2.0 */
/* Files of recorded programs, from which addresses get their texts.
 *
 * A module is opened as soon as a process reports it, in that process's own file system, and its descriptor is kept:
 * the file may have been deleted or replaced by the time of a lookup. Files with equal build ids are one, whichever
 * process reported them. A separate thread opens files, because a file server may not respond and neither the drain nor
 * the event loop may wait for it. The symbolizer, a separate process, starts at the first lookup.
 *
 * Threads: ms_modules_* and ms_process_modules_* may be called from any thread. A process must be freed before its
 * modules. */
#ifndef MS_RECORDING_MODULES_H
#define MS_RECORDING_MODULES_H

#include "trace/drain.h"
#include "trace/reader.h"

struct ms_modules;
struct ms_process_modules; /* one process: root directory, program, generated code */

struct ms_modules *ms_modules_new(void); /* NULL: no memory */
void ms_modules_free(struct ms_modules *modules);

/* pid 0: a process that has ended; its paths are used as they are. pid_inside: in its own namespace. NULL: no
 * memory. */
struct ms_process_modules *ms_process_modules_new(struct ms_modules *modules, uint32_t pid, uint32_t pid_inside);
void ms_process_modules_free(struct ms_process_modules *files);

/* For ms_drain_observe: opens reported modules as soon as possible. */
struct ms_drain_observer ms_process_modules_observer(struct ms_process_modules *files);

/* Text of an address in a module, as in memscope/symbols/image.h; the caller frees it. NULL: unknown. */
char *ms_process_modules_text(struct ms_process_modules *files, const struct ms_module *module, uint64_t offset,
                              size_t *length_b);

/* The same for generated code: NAME or NAME(FUNCTION+0xOFFSET), where NAME is the mapping's. */
char *ms_process_modules_generated_text(struct ms_process_modules *files, uint64_t pc, size_t *length_b);

/* Copies the map of generated code, if the process wrote one (/tmp/perf-PID.map), to the trace's directory. */
void ms_process_modules_keep_perf_map(struct ms_process_modules *files, int dirfd, const char *trace_name);
#define MS_PERF_MAP_SUFFIX ".perf.map"
/* Reads that copy instead. */
void ms_process_modules_use_perf_map(struct ms_process_modules *files, int dirfd, const char *trace_name);

#endif
