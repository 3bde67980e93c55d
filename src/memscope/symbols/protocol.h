/* SPDX-License-Identifier: Apache-2.0 */
/* Between a symbolizer and its child: fixed-size requests over a stream socket, replies followed by a text. Both ends
 * are the same program. */
#ifndef MS_SYMBOLS_PROTOCOL_H
#define MS_SYMBOLS_PROTOCOL_H

#include <stdint.h>

#define MS_SYMBOLS_FD     3
#define MS_SYMBOLS_TEXT_B (256u << 10)

enum { MS_SYMBOLS_OPEN = 1, MS_SYMBOLS_DESCRIBE = 2 };
enum { MS_SYMBOLS_LINES = 1, MS_SYMBOLS_DEBUG = 2 }; /* OPEN: read DWARF; a second descriptor is attached */

struct ms_symbols_request {
    uint32_t kind;
    uint32_t file;
    uint32_t flags;
    uint32_t reserved;
    uint64_t address;
};

struct ms_symbols_answer {
    int32_t error;   /* 0 or -errno */
    uint32_t text_b; /* OPEN: the build id */
};

#endif
