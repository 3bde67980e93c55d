/* The text of call stacks of one trace, made once per stack: frames of C as the module and the offset in it (with the
 * symbol where the trace has it), frames of Python as file, line and function. */
#ifndef MS_COLLECT_FRAMES_H
#define MS_COLLECT_FRAMES_H

#include "model/stacks.h"
#include "trace/reader.h"

struct ms_frames;

int ms_frames_new(struct ms_trace *trace, struct ms_frames **out); /* the trace must outlive it */
struct ms_stack_source ms_frames_source(struct ms_frames *frames);
void ms_frames_free(struct ms_frames *frames);

#endif
