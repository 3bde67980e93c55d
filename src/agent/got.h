/* SPDX-License-Identifier: Apache-2.0 */
/* Hooks for programs that were started without us: the tables through which loaded objects call other objects (GOT)
 * are made to point to our functions. What is loaded later is bound by doing it again; binding twice does nothing. */
#ifndef MS_AGENT_GOT_H
#define MS_AGENT_GOT_H

#include <stdint.h>

struct ms_got_result {
    uint32_t objects; /* looked at */
    uint32_t bound;   /* entries that point to us now and did not before */
    uint32_t refused; /* entries whose page could not be made writable */
};

/* Takes the loader's lock, so never from a hook. */
void ms_got_bind(struct ms_got_result *result);

#endif
