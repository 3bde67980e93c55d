/* SPDX-License-Identifier: Apache-2.0 */
/* See print.h. A table is aligned by its first rows, which are buffered; later rows may exceed the widths. CSV follows
 * RFC 4180 with NULL as an empty cell; JSON is one array of objects. */
#include "memscope/query/print.h"

#include "base/buffer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FLUSH_B      (64u * 1024)
#define ALIGNED_ROWS 1000u
#define WIDTH_MAX    96u /* wider cells overflow, so that one does not displace all others */

struct print_ops {
    const char *name;
    void (*begin)(struct ms_print *print);
    void (*row)(struct ms_print *print);
    void (*end)(struct ms_print *print);
};

struct ms_print {
    const struct print_ops *ops;
    sqlite3_stmt *statement;
    FILE *file;
    int columns;
    struct ms_buffer out;
    uint64_t rows;
    /* for tables */
    struct ms_buffer kept; /* cells: length, is number, bytes */
    unsigned *widths;
};

/* ---- CSV ---- */

static void csv_cell(struct ms_buffer *out, const char *s, size_t length_b)
{
    bool quote = false;
    for (size_t i = 0; i < length_b && !quote; i++) {
        quote = s[i] == ',' || s[i] == '"' || s[i] == '\n' || s[i] == '\r';
    }
    if (quote) {
        ms_buffer_char(out, '"');
        ms_buffer_csv(out, s, length_b);
        ms_buffer_char(out, '"');
    } else {
        ms_buffer_add(out, s, length_b);
    }
}

static void csv_begin(struct ms_print *print)
{
    for (int i = 0; i < print->columns; i++) {
        const char *name = sqlite3_column_name(print->statement, i);
        csv_cell(&print->out, name, strlen(name));
        ms_buffer_char(&print->out, i + 1 < print->columns ? ',' : '\n');
    }
}

static void csv_row(struct ms_print *print)
{
    for (int i = 0; i < print->columns; i++) {
        const char *s = (const char *)sqlite3_column_text(print->statement, i);
        csv_cell(&print->out, s, (size_t)sqlite3_column_bytes(print->statement, i));
        ms_buffer_char(&print->out, i + 1 < print->columns ? ',' : '\n');
    }
}

static void nothing(struct ms_print *print)
{
    (void)print;
}

/* ---- JSON ---- */

static void json_text(struct ms_buffer *out, const char *s, size_t length_b)
{
    ms_buffer_char(out, '"');
    ms_buffer_json(out, s, length_b);
    ms_buffer_char(out, '"');
}

static void json_begin(struct ms_print *print)
{
    ms_buffer_char(&print->out, '[');
}

static void json_row(struct ms_print *print)
{
    struct ms_buffer *out = &print->out;
    sqlite3_stmt *statement = print->statement;
    if (print->rows != 0) {
        ms_buffer_char(out, ',');
    }
    ms_buffer_add(out, "\n{", 2);
    for (int i = 0; i < print->columns; i++) {
        const char *name = sqlite3_column_name(statement, i);
        if (i != 0) {
            ms_buffer_char(out, ',');
        }
        json_text(out, name, strlen(name));
        ms_buffer_char(out, ':');
        int type = sqlite3_column_type(statement, i);
        if (type == SQLITE_NULL) {
            MS_BUFFER_TEXT(out, "null");
            continue;
        }
        const char *s = (const char *)sqlite3_column_text(statement, i);
        size_t length_b = (size_t)sqlite3_column_bytes(statement, i);
        if (type == SQLITE_INTEGER ||
            (type == SQLITE_FLOAT && memchr("-0123456789", s[0], 11) != NULL && s[1] != 'I')) {
            ms_buffer_add(out, s, length_b);
        } else { /* JSON has no Inf */
            json_text(out, s, length_b);
        }
    }
    ms_buffer_char(out, '}');
}

static void json_end(struct ms_print *print)
{
    MS_BUFFER_TEXT(&print->out, "\n]\n");
}

/* ---- tables ---- */

struct kept_cell {
    uint32_t length_b, width;
    bool number;
};

/* Terminal columns: counts characters, not bytes. */
static uint32_t width_of(const char *s, size_t length_b)
{
    uint32_t width = 0;
    for (size_t i = 0; i < length_b; i++) {
        width += ((unsigned char)s[i] & 0xc0) != 0x80;
    }
    return width;
}

static void pad(struct ms_buffer *out, unsigned count)
{
    for (; count != 0; count--) {
        ms_buffer_char(out, ' ');
    }
}

static void table_cell(struct ms_print *print, int at, const char *s, const struct kept_cell *cell)
{
    struct ms_buffer *out = &print->out;
    unsigned room = print->widths[at] > cell->width ? print->widths[at] - cell->width : 0;
    if (cell->number) {
        pad(out, room);
    }
    ms_buffer_add(out, s, cell->length_b);
    if (at + 1 < print->columns) {
        pad(out, (cell->number ? 0 : room) + 2);
    } else {
        ms_buffer_char(out, '\n');
    }
}

static void keep_cell(struct ms_print *print, int at, const char *s, size_t length_b, bool number)
{
    struct ms_buffer *kept = &print->kept;
    size_t start = kept->used;
    struct kept_cell cell = {.number = number};
    ms_buffer_add(kept, (const char *)&cell, sizeof(cell));
    for (size_t i = 0; i < length_b; i++) { /* a single line, without control characters */
        unsigned char c = (unsigned char)s[i];
        if (c == '\n' && i + 1 == length_b) {
            break;
        }
        ms_buffer_char(kept, c < ' ' || c == 0x7f ? (c == '\n' ? '|' : '?') : (char)c);
    }
    if (kept->failed) {
        return;
    }
    cell.length_b = (uint32_t)(kept->used - start - sizeof(cell));
    cell.width = width_of(kept->s + start + sizeof(cell), cell.length_b);
    memcpy(kept->s + start, &cell, sizeof(cell));
    unsigned width = cell.width < WIDTH_MAX ? cell.width : WIDTH_MAX;
    print->widths[at] = width > print->widths[at] && print->rows <= ALIGNED_ROWS ? width : print->widths[at];
}

static void print_kept(struct ms_print *print)
{
    struct ms_buffer *kept = &print->kept;
    int at = 0;
    for (size_t i = 0; i < kept->used && !kept->failed;) {
        struct kept_cell cell;
        memcpy(&cell, kept->s + i, sizeof(cell));
        table_cell(print, at, kept->s + i + sizeof(cell), &cell);
        i += sizeof(cell) + cell.length_b;
        at = (at + 1) % print->columns;
    }
    print->out.failed = print->out.failed || kept->failed;
    kept->used = 0;
}

static void table_begin(struct ms_print *print)
{
    for (int i = 0; i < print->columns; i++) {
        const char *name = sqlite3_column_name(print->statement, i);
        keep_cell(print, i, name, strlen(name), false);
    }
}

static void table_row(struct ms_print *print)
{
    for (int i = 0; i < print->columns; i++) {
        int type = sqlite3_column_type(print->statement, i);
        const char *s = (const char *)sqlite3_column_text(print->statement, i);
        keep_cell(print, i, s, (size_t)sqlite3_column_bytes(print->statement, i),
                  type == SQLITE_INTEGER || type == SQLITE_FLOAT);
    }
    if (print->rows >= ALIGNED_ROWS) {
        print_kept(print);
    }
}

/* ---- all formats ---- */

static const struct print_ops formats[] = {
    [MS_QUERY_TABLE] = {"table", table_begin, table_row, print_kept},
    [MS_QUERY_CSV] = {"csv", csv_begin, csv_row, nothing},
    [MS_QUERY_JSON] = {"json", json_begin, json_row, json_end},
};

bool ms_query_output_find(const char *name, enum ms_query_output *out)
{
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        if (strcmp(formats[i].name, name) == 0) {
            *out = (enum ms_query_output)i;
            return true;
        }
    }
    return false;
}

static int flush(struct ms_print *print, size_t from)
{
    int rc = print->out.failed ? -ENOMEM : 0;
    if (rc == 0 && print->out.used >= from) {
        if (fwrite(print->out.s, 1, print->out.used, print->file) != print->out.used) {
            rc = errno != 0 ? -errno : -EIO;
        }
        print->out.used = 0;
    }
    return rc;
}

struct ms_print *ms_print_begin(enum ms_query_output output, sqlite3_stmt *statement, FILE *file)
{
    struct ms_print *print = calloc(1, sizeof(*print));
    if (print != NULL) {
        *print = (struct ms_print){
            .ops = &formats[output], .statement = statement, .file = file, .columns = sqlite3_column_count(statement)};
        print->widths = calloc((size_t)print->columns + 1, sizeof(*print->widths));
    }
    if (print == NULL || print->widths == NULL) {
        free(print);
        return NULL;
    }
    print->ops->begin(print);
    return print;
}

int ms_print_row(struct ms_print *print)
{
    print->ops->row(print);
    print->rows++;
    return flush(print, FLUSH_B);
}

int ms_print_end(struct ms_print *print)
{
    print->ops->end(print);
    int rc = flush(print, 0);
    if (fflush(print->file) != 0 && rc == 0) {
        rc = -errno;
    }
    ms_buffer_free(&print->out);
    ms_buffer_free(&print->kept);
    free(print->widths);
    free(print);
    return rc;
}
