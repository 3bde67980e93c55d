/* SPDX-License-Identifier: Apache-2.0 */
/* Reads CSV as it occurs in practice: records of cells, one at a time, from a file of any size.
 *
 * Cells may be quoted, with doubled quotes and line ends inside; lines may end with CR LF; a byte order mark is
 * skipped. If that fails (the original writes names and stacks with unescaped quotes and commas), the record is read
 * again with quotes taken as text unless they are at the edge of a cell.
 *
 * One record must fit into memory: MS_CSV_RECORD_MAX_B. */
#ifndef MS_SOURCE_CSV_H
#define MS_SOURCE_CSV_H

#include "base/buffer.h"
#include "trace/event.h"

#include <stddef.h>

#define MS_CSV_CELLS_MAX    64u
#define MS_CSV_RECORD_MAX_B (16u << 20)

struct ms_csv {
    int fd;
    char *bytes;
    size_t room, at, end; /* [at, end) is not consumed */
    uint64_t offset;      /* in the file, of bytes[0] */
    bool eof;
    bool hole; /* the rest of the file was never written */
    int error; /* of read */

    uint64_t line;          /* of the record, from 1 */
    uint64_t record_offset; /* in the file */
    uint64_t next_line;
    unsigned count; /* cells of the record */
    bool loose;     /* it does not follow the rules of quotes */
    struct ms_text cells[MS_CSV_CELLS_MAX];
    struct ms_buffer scratch; /* cells with doubled quotes */
};

enum ms_csv_result {
    MS_CSV_RECORD = 1,
    MS_CSV_END = 0,
    MS_CSV_CUT = 2,    /* the file ends inside the record; returns its complete cells */
    MS_CSV_LONG = 3,   /* too long to keep */
    MS_CSV_UNEVEN = 4, /* not the requested number of cells */
};

/* Takes ownership of fd. 0 or -errno. */
int ms_csv_open(struct ms_csv *csv, int fd);
void ms_csv_close(struct ms_csv *csv);

/* The next record. columns 0: any number of cells, else exactly this many; if there are more, cell number `wide` (the
 * one with free text) takes the surplus. Empty lines are skipped. After CUT, LONG and UNEVEN the position is unchanged:
 * continue with ms_csv_skip. Or -errno. */
int ms_csv_next(struct ms_csv *csv, unsigned columns, unsigned wide);

/* Skips the line, and with `digits` all following lines that do not begin with a digit (rows do). */
void ms_csv_skip(struct ms_csv *csv, bool digits);

/* Back to the first byte. 0 or -errno. */
int ms_csv_rewind(struct ms_csv *csv);

#endif
