/* SPDX-License-Identifier: Apache-2.0 */
/* Hooks for programs that were started without the agent: makes the tables through which loaded objects call each other
 * (GOT) point to the hooks. Objects loaded later are bound by calling this again; binding twice has no effect. */
#ifndef MS_AGENT_GOT_H
#define MS_AGENT_GOT_H

#include <stdint.h>

struct ms_got_result {
    uint32_t objects; /* examined */
    uint32_t bound;   /* entries that now point to a hook and did not before */
    uint32_t refused; /* entries whose page could not be made writable */
};

/* Takes the loader's lock: never call it from a hook. */
void ms_got_bind(struct ms_got_result *result);

#endif
