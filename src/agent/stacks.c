/* Call stacks of an event, as ids of definitions. A process without an unwinder has none. */
#include "agent/agent.h"

const struct ms_stack_ids *ms_stacks_take(struct ms_stack_ids *ids, uint32_t c_depth, uint32_t python_depth)
{
    *ids = (struct ms_stack_ids){0};
    return NULL;
}
