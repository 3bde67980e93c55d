/* SPDX-License-Identifier: Apache-2.0 */
/* Where exporters and reports get the text of call stacks: provided by the reader of the trace, once per id. */
#ifndef MS_MODEL_STACKS_H
#define MS_MODEL_STACKS_H

#include "trace/event.h"

/* One line per frame, innermost first, each ended by a newline; valid until the source is destroyed, so that a stack is
 * built once and written often.
 *   C       module(symbol+0xoffset) [0xaddress]
 *   Python  file(line): function
 * Empty if the id is unknown. */
struct ms_stack_source {
    void *self;
    struct ms_text (*c_stack)(void *self, uint32_t id);
    struct ms_text (*python_stack)(void *self, uint32_t id);
};

#endif
