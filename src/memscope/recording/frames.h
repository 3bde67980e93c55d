/* SPDX-License-Identifier: Apache-2.0 */
/* The text of call stacks of one trace, made once per stack.
 *
 *   C       module(function+0xOFFSET) [0xADDRESS] at file:line      a line per function, inlined ones included; without
 *           what is not known, down to module(+0xOFFSET) [0xADDRESS], and [0xADDRESS] for code of no file
 *   Python  file(line): function, without those of our own package
 *
 * Texts of C frames are taken from the trace if they are there; else from the files that the addresses belong to, and
 * then put into the trace, so that it can be read where these files are not. */
#ifndef MS_RECORDING_FRAMES_H
#define MS_RECORDING_FRAMES_H

#include "memscope/model/stacks.h"
#include "memscope/recording/modules.h"
#include "trace/aux.h"
#include "trace/reader.h"

struct ms_frames;

/* view: where files are looked for, NULL: nowhere. aux: where new texts are kept, NULL: they are not. All of them must
 * outlive it. */
int ms_frames_new(struct ms_trace *trace, struct ms_view *view, struct ms_aux *aux, struct ms_frames **out);
struct ms_stack_source ms_frames_source(struct ms_frames *frames);
/* Makes the texts of all addresses that the trace has defined so far, also those that no row has shown. */
void ms_frames_complete(struct ms_frames *frames);
void ms_frames_free(struct ms_frames *frames);

#endif
