/* SPDX-License-Identifier: Apache-2.0 */
/* CSV as it is found: records of cells, one at a time, from a file of any size.
 *
 * Cells may be quoted, with doubled quotes and line ends inside; lines may end with CR LF; a byte order mark is passed
 * over. Where that reading fails (the original writes names and stacks with quotes and commas as they come), a record
 * is read again with the quotes taken as text unless they stand at the edge of a cell.
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
    MS_CSV_CUT = 2,    /* the file ends inside of the record; cells that are there are given */
    MS_CSV_LONG = 3,   /* longer than can be kept */
    MS_CSV_UNEVEN = 4, /* not the number of cells that was asked for */
};

/* fd becomes the reader's. 0 or -errno. */
int ms_csv_open(struct ms_csv *csv, int fd);
void ms_csv_close(struct ms_csv *csv);

/* The next record. columns 0: any number of cells, else so many; if there are more, cell number `wide` (the one that
 * may hold free text) takes the surplus. A record without a single byte (an empty line) is passed over. After CUT, LONG
 * and UNEVEN the reader stands where it stood: go on with ms_csv_skip. Or -errno. */
int ms_csv_next(struct ms_csv *csv, unsigned columns, unsigned wide);

/* Passes over the line, and with `digits` over all that follow which do not begin with a digit (rows do). */
void ms_csv_skip(struct ms_csv *csv, bool digits);

/* From the first byte on again. 0 or -errno. */
int ms_csv_rewind(struct ms_csv *csv);

#endif
