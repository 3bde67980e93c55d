/* SPDX-License-Identifier: Apache-2.0 */
/* Files of recorded programs, for the text of their addresses.
 *
 * A module is opened as soon as a process reports it, in that process's own file system, and its descriptor is kept:
 * the file may be gone, or be another one, when somebody asks. Equal build ids are one file, whatever process they came
 * from. Opening happens in a thread of its own (a file server may not answer, and neither the drain nor the event loop
 * may wait for it); text is made by a symbolizer, in a process of its own, at the first question.
 *
 * Threads: ms_modules_* and ms_view_* from any. Views must be gone before their modules. */
#ifndef MS_RECORDING_MODULES_H
#define MS_RECORDING_MODULES_H

#include "trace/drain.h"
#include "trace/reader.h"

struct ms_modules;
struct ms_view; /* of one process: its root directory, its program, its generated code */

struct ms_modules *ms_modules_new(void); /* NULL: no memory */
void ms_modules_free(struct ms_modules *modules);

/* pid 0: a process of the past; its paths are tried as they stand. pid_inside: as it calls itself. NULL: no memory. */
struct ms_view *ms_view_new(struct ms_modules *modules, uint32_t pid, uint32_t pid_inside);
void ms_view_free(struct ms_view *view);

/* For ms_drain_observe: opens what is reported, as soon as possible. */
struct ms_drain_observer ms_view_watch(struct ms_view *view);

/* What is known about an address in a module, as in memscope/symbols/image.h, to be freed; NULL: nothing. */
char *ms_view_text(struct ms_view *view, const struct ms_module *module, uint64_t offset, size_t *length_b);

/* The same for generated code: NAME, or NAME(FUNCTION+0xOFFSET), NAME being that of the mapping. */
char *ms_view_generated_text(struct ms_view *view, uint64_t pc, size_t *length_b);

/* Keeps the map of generated code beside the trace, if the process wrote one (/tmp/perf-PID.map). */
void ms_view_keep_perf_map(struct ms_view *view, int dirfd, const char *trace_name);
#define MS_PERF_MAP_SUFFIX ".perf.map"
/* Uses such a copy. */
void ms_view_use_perf_map(struct ms_view *view, int dirfd, const char *trace_name);

#endif
