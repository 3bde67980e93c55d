/* SPDX-License-Identifier: Apache-2.0 */
/* What the injected test tool has seen. Found by the symbol "mstx_tool". */
#ifndef TESTS_UNIT_MSTX_TOOL_H
#define TESTS_UNIT_MSTX_TOOL_H

#include <stdint.h>

struct mstx_tool {
    int inits;
    int refused_unknown_modules; /* of -1, 0, 4, 5 */
    unsigned int table_size[4];  /* by module */
    int calls[4][6];             /* by module and slot */
    const char *last_message;
    const void *last_stream, *last_domain, *last_desc;
    uint64_t last_id;
};

#endif
