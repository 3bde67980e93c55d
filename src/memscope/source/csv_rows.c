/* SPDX-License-Identifier: Apache-2.0 */
/* CSV files of rows: memscope_dump and python_trace. Columns are found by name, in any order; files of an older
 * generation may lack some. */
#include "memscope/source/csv.h"
#include "memscope/source/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COLUMNS_MAX MS_DUMP_COLUMN_COUNT
#define NO_CELL     MS_CSV_CELLS_MAX
_Static_assert((int)MS_SLICE_COLUMN_COUNT <= (int)COLUMNS_MAX, "both kinds of files");

struct csv_rows {
    struct ms_row_reader rows;
    struct ms_csv csv;
    unsigned columns;             /* of the header */
    unsigned wide;                /* the cell with free text */
    uint8_t cell_of[COLUMNS_MAX]; /* by enum ms_dump_column or ms_slice_column; NO_CELL: missing */
    bool id_first;
    struct ms_buffer scratch;
    uint64_t row;      /* number, for files without ids */
    uint64_t reported; /* bytes reported as progress */
    bool ended;
};

static int fail_header(struct csv_rows *r, const char *why)
{
    struct ms_text first = r->csv.count != 0 ? r->csv.cells[0] : (struct ms_text){.s = ""};
    ms__problem(r->rows.source, r->rows.file->path, 1, 0, true, "%s; the first line begins with '%.*s'", why,
                (int)(first.length_b < 40 ? first.length_b : 40), first.s);
    return -EPROTO;
}

static int read_header(struct csv_rows *r)
{
    int rc = ms_csv_next(&r->csv, 0, 0);
    if (rc < 0) {
        return rc;
    }
    r->columns = r->csv.count;
    bool slices = r->rows.file->slices;
    unsigned seen = 0;
    r->wide = NO_CELL;
    memset(r->cell_of, NO_CELL, sizeof(r->cell_of));
    if (rc == MS_CSV_END) {
        ms__problem(r->rows.source, r->rows.file->path, 1, 0, true, "the file is empty");
        return -ENODATA;
    }
    for (unsigned i = 0; rc == MS_CSV_RECORD && i < r->csv.count; i++) {
        struct ms_text cell = r->csv.cells[i];
        while (cell.length_b != 0 && cell.s[cell.length_b - 1] == ' ') {
            cell.length_b--;
        }
        int column = slices ? ms__slice_column_of(cell.s, cell.length_b) : ms__column_of(cell.s, cell.length_b);
        if (column >= 0) {
            r->cell_of[column] = (uint8_t)i;
            seen |= 1u << column;
            r->wide = column == (slices ? (int)MS_SLICE_COL_FUNCTION : (int)MS_COL_NAME) ? i : r->wide;
            r->id_first = r->id_first || (i == 0 && !slices && column == MS_COL_ID);
        }
    }
    unsigned need = slices ? 1u << MS_SLICE_COL_FUNCTION | 1u << MS_SLICE_COL_START | 1u << MS_SLICE_COL_END
                           : 1u << MS_COL_EVENT | 1u << MS_COL_TYPE | 1u << MS_COL_TIME;
    if ((seen & need) != need) {
        return fail_header(r, slices ? "not a python_trace file" : "not a msmemscope dump");
    }
    return 0;
}

/* A record that could not be split. */
static void pass(struct csv_rows *r, int result)
{
    static const char *const reasons[] = {[MS_CSV_CUT] = "the file ends in the middle of this row",
                                          [MS_CSV_LONG] = "unterminated row: a quote is missing",
                                          [MS_CSV_UNEVEN] = "the number of cells differs from the header"};
    if (ms__is_new(&r->rows, r->csv.record_offset)) {
        r->rows.source->stats.bad_rows++;
        ms__problem(r->rows.source, r->rows.file->path, r->csv.line, r->csv.record_offset, true, "%s", reasons[result]);
    }
    ms_csv_skip(&r->csv, r->id_first);
}

static void report_progress(struct csv_rows *r)
{
    uint64_t at = r->csv.offset + r->csv.at;
    if (at - r->reported >= (1u << 20) || r->ended) {
        ms__progress(r->rows.source, at > r->reported ? at - r->reported : 0);
        r->reported = at;
    }
}

/* The next record that has the right number of cells: 1, 0 or -errno. */
static int next_record(struct csv_rows *r)
{
    for (;;) {
        int rc = ms_csv_next(&r->csv, r->columns, r->wide);
        r->ended = rc == MS_CSV_END;
        if (!r->rows.quiet) {
            report_progress(r);
        }
        if (rc == MS_CSV_END && r->csv.hole && ms__is_new(&r->rows, r->csv.offset + r->csv.end)) {
            ms__problem(r->rows.source, r->rows.file->path, r->csv.next_line, r->csv.offset + r->csv.end, true,
                        "the rest of the file is empty: it was not written completely");
        }
        if (rc <= 0 || rc == MS_CSV_RECORD) {
            if (rc < 0) {
                ms__problem(r->rows.source, r->rows.file->path, r->csv.line, r->csv.record_offset, true, "%s",
                            strerror(-rc));
            }
            return rc;
        }
        pass(r, rc);
    }
}

static inline void take_cells(const struct csv_rows *r, struct ms_text *at, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        at[i] = r->cell_of[i] != NO_CELL ? r->csv.cells[r->cell_of[i]] : (struct ms_text){0};
    }
}

static int next_row(struct ms_row_reader *rows, struct ms_row *row)
{
    struct csv_rows *r = MS_CONTAINER_OF(rows, struct csv_rows, rows);
    int rc;
    while ((rc = next_record(r)) == MS_CSV_RECORD) {
        struct ms_cells cells;
        take_cells(r, cells.at, MS_DUMP_COLUMN_COUNT);
        cells.name_quotes = r->csv.loose ? MS_QUOTES_ALL : MS_QUOTES_NONE;
        cells.wish = rows->source->wish;
        enum ms_dump_column column;
        enum ms_parse parsed = ms__parse_row(&rows->source->stacks, &r->scratch, &cells, row, &column);
        if (parsed == MS_PARSED) {
            row->id = cells.at[MS_COL_ID].s != NULL ? row->id : r->row;
            r->row++;
            return 1;
        }
        ms__bad_row(rows, parsed, &cells, column, r->csv.line, r->csv.record_offset);
    }
    return rc;
}

static int next_slice(struct ms_row_reader *rows, struct ms_slice *slice)
{
    struct csv_rows *r = MS_CONTAINER_OF(rows, struct csv_rows, rows);
    int rc;
    while ((rc = next_record(r)) == MS_CSV_RECORD) {
        struct ms_text cells[MS_SLICE_COLUMN_COUNT];
        take_cells(r, cells, MS_SLICE_COLUMN_COUNT);
        if (ms__parse_slice(cells, slice)) {
            slice->device = rows->file->device;
            return 1;
        }
        rows->source->stats.bad_rows++;
        ms__problem(rows->source, rows->file->path, r->csv.line, r->csv.record_offset, true,
                    "invalid time or number of a call");
    }
    return rc;
}

static int go_back(struct csv_rows *r)
{
    int rc = ms_csv_rewind(&r->csv);
    if (rc == 0) {
        rc = ms_csv_next(&r->csv, 0, 0); /* the header */
        rc = rc > 0 ? 0 : rc;
    }
    r->row = 0;
    r->ended = false;
    r->reported = 0;
    return rc;
}

static int rest_in_order(struct ms_row_reader *rows, enum ms_source_order order, uint64_t after, bool *in_order)
{
    struct csv_rows *r = MS_CONTAINER_OF(rows, struct csv_rows, rows);
    unsigned cell = r->cell_of[order == MS_ORDER_TIME ? MS_COL_TIME : MS_COL_ID];
    *in_order = true;
    rows->quiet = true;
    int rc = 1;
    while (cell != NO_CELL && *in_order && (rc = next_record(r)) == MS_CSV_RECORD) {
        uint64_t key;
        if (ms__parse_u64(r->csv.cells[cell].s, r->csv.cells[cell].length_b, &key)) {
            *in_order = key >= after;
            after = key;
        }
    }
    rows->quiet = false;
    uint64_t reported = r->reported;
    int back = go_back(r);
    r->reported = reported;
    return rc < 0 ? rc : back;
}

static void csv_close(struct ms_row_reader *rows)
{
    struct csv_rows *r = MS_CONTAINER_OF(rows, struct csv_rows, rows);
    ms_csv_close(&r->csv);
    ms_buffer_free(&r->scratch);
    free(r);
}

static const struct ms_rows_ops dump_ops = {.next = next_row, .rest_in_order = rest_in_order, .close = csv_close};
static const struct ms_rows_ops slice_ops = {.next_slice = next_slice, .close = csv_close};

int ms__csv_rows_open(struct ms_source *source, const struct ms_source_file *file, bool quiet,
                      struct ms_row_reader **out)
{
    int fd = open(file->path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        int rc = -errno;
        ms__problem(source, file->path, 0, 0, true, "%s", strerror(errno));
        return rc;
    }
    struct csv_rows *r = calloc(1, sizeof(*r));
    if (r == NULL) {
        close(fd);
        return -ENOMEM;
    }
    r->rows = (struct ms_row_reader){
        .ops = file->slices ? &slice_ops : &dump_ops, .source = source, .file = file, .quiet = quiet};
    int rc = ms_csv_open(&r->csv, fd);
    rc = rc != 0 ? rc : read_header(r);
    if (rc != 0) {
        csv_close(&r->rows);
        return rc;
    }
    *out = &r->rows;
    return 0;
}
