/* SPDX-License-Identifier: Apache-2.0 */
/* Three encodings, each read from the start to the entry that covers the instruction:
 *
 *   3.9         pairs of (bytes of code, signed lines): a line begins after that many bytes
 *   3.10        pairs of (bytes of code, signed lines): an entry covers its bytes; -128: no line
 *   3.11 ...    entries that begin with a byte of 1 <kind:4> <length-1:3>, length in units of two bytes, followed by
 *               data that depends on the kind; columns are skipped */
#include "memscope/symbols/python_lines.h"

#include <stdbool.h>

struct line_reader {
    const uint8_t *at, *end;
};

static bool pair(struct line_reader *r, uint32_t *code_b, int32_t *lines)
{
    if (r->end - r->at < 2) {
        return false;
    }
    *code_b = r->at[0];
    *lines = (int8_t)r->at[1];
    r->at += 2;
    return true;
}

static int64_t line_of_39(struct line_reader r, int64_t line, uint64_t instruction)
{
    uint64_t at = 0;
    uint32_t code_b;
    int32_t lines;
    while (pair(&r, &code_b, &lines)) {
        at += code_b;
        if (at > instruction) {
            break;
        }
        line += lines;
    }
    return line;
}

static int64_t line_of_310(struct line_reader r, int64_t line, uint64_t instruction)
{
    enum { NO_LINE = -128 };
    uint64_t at = 0;
    uint32_t code_b;
    int32_t lines;
    int64_t last = line;
    while (pair(&r, &code_b, &lines)) {
        line += lines == NO_LINE ? 0 : lines;
        at += code_b;
        last = lines == NO_LINE ? last : line;
        if (at > instruction) {
            break;
        }
    }
    return last;
}

static uint64_t varint(struct line_reader *r)
{
    uint64_t value = 0;
    unsigned shift = 0;
    while (r->at < r->end) {
        uint8_t byte = *r->at++;
        value |= shift < 60 ? (uint64_t)(byte & 63) << shift : 0;
        shift += 6;
        if ((byte & 64) == 0) {
            break;
        }
    }
    return value;
}

static int64_t signed_varint(struct line_reader *r)
{
    uint64_t value = varint(r);
    return (value & 1) != 0 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

static int64_t line_of_311(struct line_reader r, int64_t line, uint64_t instruction)
{
    enum { SHORT_LAST = 9, ONE_LINE_FIRST = 10, ONE_LINE_LAST = 12, NO_COLUMNS = 13, LONG = 14, NO_LOCATION = 15 };
    uint64_t at = 0;
    int64_t last = line;
    while (r.at < r.end) {
        uint8_t head = *r.at++;
        unsigned kind = head >> 3 & 15;
        at += ((uint64_t)(head & 7) + 1) * 2;
        if (kind == NO_COLUMNS || kind == LONG) {
            line += signed_varint(&r);
        } else if (kind >= ONE_LINE_FIRST && kind <= ONE_LINE_LAST) {
            line += kind - ONE_LINE_FIRST;
        }
        if (kind == LONG) { /* lines, column, end column */
            varint(&r);
            varint(&r);
            varint(&r);
        } else if (kind <= SHORT_LAST) {
            r.at += r.end - r.at < 1 ? 0 : 1;
        } else if (kind <= ONE_LINE_LAST) {
            r.at += r.end - r.at < 2 ? r.end - r.at : 2;
        }
        last = kind == NO_LOCATION ? last : line;
        if (at > instruction) {
            break;
        }
    }
    return last;
}

uint32_t ms_python_line(uint32_t version, const uint8_t *table, size_t table_b, uint32_t first_line,
                        uint64_t instruction)
{
    if (version == 0) {
        return instruction > 0 && instruction <= INT32_MAX ? (uint32_t)instruction : first_line;
    }
    struct line_reader r = {table, table + table_b};
    int64_t line = version >= 0x030b   ? line_of_311(r, first_line, instruction)
                   : version == 0x030a ? line_of_310(r, first_line, instruction)
                                       : line_of_39(r, first_line, instruction);
    return line > 0 && line <= INT32_MAX ? (uint32_t)line : first_line;
}
