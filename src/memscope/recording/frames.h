/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of the call stacks in one trace, built once per stack.
 *
 *   C       module(function+0xOFFSET) [0xADDRESS] at file:line      a line per function, inlined ones included; unknown
 *           parts are left out: module(+0xOFFSET) [0xADDRESS], or [0xADDRESS] for code without a file
 *   Python  file(line): function, without frames of the msmemscope package
 *
 * Texts of C frames come from the trace if it has them, or else from the files that contain the addresses. Those are
 * added to the trace, so that it can be read on a machine without the files. */
#ifndef MS_RECORDING_FRAMES_H
#define MS_RECORDING_FRAMES_H

#include "memscope/model/stacks.h"
#include "memscope/recording/modules.h"
#include "trace/aux.h"
#include "trace/reader.h"

struct ms_frames;

/* files: where files are searched; NULL: nowhere. aux: where new texts are stored; NULL: they are not. All of them must
 * outlive the frames. */
int ms_frames_new(struct ms_trace *trace, struct ms_process_modules *files, struct ms_aux *aux, struct ms_frames **out);
struct ms_stack_source ms_frames_source(struct ms_frames *frames);
/* Builds the texts of all addresses that the trace has defined so far, even if no row has used them. */
void ms_frames_complete(struct ms_frames *frames);
void ms_frames_free(struct ms_frames *frames);

#endif
