/* SPDX-License-Identifier: Apache-2.0 */
/* See csv.h. The buffer slides over the file: bytes of the current record move to its front, and it grows only for a
 * record that does not fit. A cell is a range of that buffer, except cells with doubled quotes, which are copied. */
#include "memscope/source/csv.h"

#include "base/swar.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BUFFER_B (256u * 1024)
#define LARGE_B  (1u << 20) /* a record of this size more likely has a stray quote */

enum { MORE = -1, BROKEN = -2, UNENDED = -3 };

struct record { /* its cells are in csv->cells, without their quotes; one bit each: */
    uint64_t quoted, doubled;
    const char *after;
    uint64_t lines;
    bool line_end; /* it is complete, not truncated */
};
_Static_assert(MS_CSV_CELLS_MAX <= 64, "a bit for each");

/* ---- bytes ---- */

/* The last byte is followed by commas, so that the search for the end of a cell needs no check for the end of the
 * buffer. */
static void put_fence(struct ms_csv *csv)
{
    memset(csv->bytes + csv->end, ',', MS_SWAR_B);
}

int ms_csv_open(struct ms_csv *csv, int fd)
{
    *csv = (struct ms_csv){.fd = fd, .room = BUFFER_B, .next_line = 1};
    csv->bytes = malloc(csv->room + MS_SWAR_B);
    if (csv->bytes == NULL) {
        close(fd);
        csv->fd = -1;
        return -ENOMEM;
    }
    put_fence(csv);
    posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    return 0;
}

void ms_csv_close(struct ms_csv *csv)
{
    if (csv->fd >= 0) {
        close(csv->fd);
    }
    free(csv->bytes);
    ms_buffer_free(&csv->scratch);
    *csv = (struct ms_csv){.fd = -1};
}

int ms_csv_rewind(struct ms_csv *csv)
{
    if (lseek(csv->fd, 0, SEEK_SET) < 0) {
        return -errno;
    }
    csv->at = csv->end = 0;
    put_fence(csv);
    csv->offset = 0;
    csv->eof = csv->hole = false;
    csv->next_line = 1;
    return 0;
}

/* A file that was not written to its end, as after a power failure, ends with a hole of any size. The bytes just read
 * are part of it: nothing follows them. */
static bool is_final_hole(const struct ms_csv *csv, size_t read_b)
{
    const char *bytes = csv->bytes + csv->end;
    uint64_t from = csv->offset + csv->end;
    bool zeros = bytes[0] == '\0' && memcmp(bytes, bytes + 1, read_b - 1) == 0;
    if (!zeros || lseek(csv->fd, (off_t)from, SEEK_DATA) >= 0 || errno != ENXIO) {
        lseek(csv->fd, (off_t)(from + read_b), SEEK_SET);
        return false;
    }
    return true;
}

/* Reads more bytes. False: the record is too long, or no memory. */
static bool refill(struct ms_csv *csv)
{
    memmove(csv->bytes, csv->bytes + csv->at, csv->end - csv->at);
    csv->offset += csv->at;
    csv->end -= csv->at;
    csv->at = 0;
    if (csv->end == csv->room) {
        char *grown = csv->room < MS_CSV_RECORD_MAX_B ? realloc(csv->bytes, csv->room * 2 + MS_SWAR_B) : NULL;
        if (grown == NULL) {
            return false;
        }
        csv->bytes = grown;
        csv->room *= 2;
    }
    ssize_t n;
    do {
        n = read(csv->fd, csv->bytes + csv->end, csv->room - csv->end);
    } while (n < 0 && errno == EINTR);
    if (n < 0) {
        csv->error = -errno;
    }
    csv->hole = n > 0 && is_final_hole(csv, (size_t)n);
    csv->eof = n <= 0 || csv->hole;
    csv->end += csv->eof ? 0 : (size_t)n;
    put_fence(csv);
    return true;
}

/* ---- records ---- */

/* Whether this is the edge of a cell. MORE: the deciding byte is not read yet. */
static int is_edge(const char *s, const char *end, bool eof)
{
    if (s == end) {
        return eof ? 1 : MORE;
    }
    if (*s == '\r') {
        return s + 1 < end ? s[1] == '\n' : eof ? 1 : MORE;
    }
    return *s == ',' || *s == '\n';
}

/* The quote that ends the cell whose first quote is `begin`. NULL: *why. */
static const char *closing_quote(const char *begin, const char *end, bool eof, bool loose, bool *doubled, int *why)
{
    for (const char *quote = begin + 1; quote < end; quote++) {
        quote = memchr(quote, '"', (size_t)(end - quote));
        if (quote == NULL) {
            break;
        }
        int edge = is_edge(quote + 1, end, eof);
        if (edge == 1) {
            return quote;
        }
        if (edge == MORE) {
            break;
        }
        if (!loose && quote[1] == '"') {
            *doubled = true;
            quote++;
        } else if (!loose) {
            *why = BROKEN;
            return NULL;
        }
    }
    *why = eof ? UNENDED : MORE;
    return NULL;
}

static uint64_t count_lines(const char *s, const char *end)
{
    uint64_t lines = 0;
    while (s < end && (s = memchr(s, '\n', (size_t)(end - s))) != NULL) {
        lines++;
        s++;
    }
    return lines;
}

/* The comma or line end after an unquoted cell, or the fence. */
static const char *cell_end(const char *s)
{
    for (;; s += MS_SWAR_B) {
        uint64_t word = ms_swar_load(s);
        uint64_t marks = ms_swar_first_equal(word, ',') | ms_swar_first_equal(word, '\n');
        if (marks != 0) {
            return s + ms_swar_first(marks);
        }
    }
}

/* Splits the current record into csv->cells: number of its cells, or MORE, BROKEN, UNENDED. */
static int split(struct ms_csv *csv, bool loose, struct record *record)
{
    const char *s = csv->bytes + csv->at, *end = csv->bytes + csv->end;
    unsigned count = 0;
    *record = (struct record){.lines = 1};
    for (;;) {
        if (count == MS_CSV_CELLS_MAX) {
            return BROKEN;
        }
        struct ms_text *cell = &csv->cells[count++];
        const char *begin = s;
        if (*s == '"') {
            int why = 0;
            bool doubled = false;
            const char *quote = closing_quote(s, end, csv->eof, loose, &doubled, &why);
            if (quote == NULL) {
                return why;
            }
            record->quoted |= UINT64_C(1) << (count - 1);
            record->doubled |= (uint64_t)doubled << (count - 1);
            record->lines += count_lines(s, quote);
            *cell = (struct ms_text){.s = begin + 1, .length_b = (uint32_t)(quote - begin - 1)};
            s = quote + 1;
            s += s < end && *s == '\r';
        } else {
            s = cell_end(s);
            *cell = (struct ms_text){.s = begin, .length_b = (uint32_t)(s - begin)};
            if (*s == ',' && s < end) {
                s++;
                continue;
            }
            cell->length_b -= s > begin && s[-1] == '\r';
        }
        if (s == end) {
            record->after = s;
            return csv->eof ? (int)count : MORE;
        }
        if (*s++ == '\n') {
            record->after = s;
            record->line_end = true;
            return (int)count;
        }
    }
}

static void undouble(struct ms_buffer *scratch, struct ms_text *cell)
{
    size_t from = scratch->used;
    for (uint32_t i = 0; i < cell->length_b; i++) {
        i += cell->s[i] == '"' && i + 1 < cell->length_b && cell->s[i + 1] == '"';
        scratch->s[scratch->used++] = cell->s[i];
    }
    *cell = (struct ms_text){.s = scratch->s + from, .length_b = (uint32_t)(scratch->used - from)};
}

static void undouble_cells(struct ms_csv *csv, const struct record *record)
{
    csv->scratch.used = 0;
    if (!ms_buffer_reserve(&csv->scratch, (size_t)(record->after - (csv->bytes + csv->at)))) {
        csv->error = -ENOMEM;
        return;
    }
    for (uint64_t left = record->doubled; left != 0; left &= left - 1) {
        undouble(&csv->scratch, &csv->cells[__builtin_ctzll(left)]);
    }
}

/* Joins cell `wide` and the surplus cells after it to one text. */
static void join_cells(struct ms_csv *csv, const struct record *record, unsigned wide, unsigned surplus)
{
    struct ms_text *first = &csv->cells[wide];
    const struct ms_text *last = first + surplus;
    const char *begin = first->s - (record->quoted >> wide & 1);
    const char *end = last->s + last->length_b + (record->quoted >> (wide + surplus) & 1);
    bool quoted = begin[0] == '"' && end[-1] == '"' && end - begin >= 2;
    *first = (struct ms_text){.s = begin + quoted, .length_b = (uint32_t)(end - begin - 2 * quoted)};
    memmove(first + 1, last + 1, (csv->count - wide - surplus - 1) * sizeof(*first));
    csv->count -= surplus;
}

/* Prepares cells for the caller. Only records that follow the rules have doubled quotes, and only the others have
 * surplus cells. */
static void give(struct ms_csv *csv, const struct record *record, unsigned count, unsigned columns, unsigned wide)
{
    csv->count = count;
    if (record->doubled != 0) {
        undouble_cells(csv, record);
    }
    if (columns != 0 && count > columns) {
        join_cells(csv, record, wide, count - columns);
    }
}

static bool fits(int count, unsigned columns, unsigned wide, bool loose)
{
    return count > 0 &&
           (columns == 0 || (unsigned)count == columns || (loose && (unsigned)count > columns && wide < columns));
}

static bool at_empty_line(const struct ms_csv *csv)
{
    const char *s = csv->bytes + csv->at;
    return *s == '\n' || (*s == '\r' && csv->at + 1 < csv->end && s[1] == '\n');
}

static void pass_mark(struct ms_csv *csv)
{
    if (csv->offset == 0 && csv->at == 0 && csv->end >= 3 && memcmp(csv->bytes, "\xef\xbb\xbf", 3) == 0) {
        csv->at = 3;
    }
}

int ms_csv_next(struct ms_csv *csv, unsigned columns, unsigned wide)
{
    struct record record;
    for (;;) {
        pass_mark(csv);
        while (csv->at < csv->end && at_empty_line(csv)) {
            csv->at += csv->bytes[csv->at] == '\r' ? 2 : 1;
            csv->next_line++;
        }
        if (csv->error != 0) {
            return csv->error;
        }
        if (csv->at == csv->end && csv->eof) {
            return MS_CSV_END;
        }
        csv->line = csv->next_line;
        csv->record_offset = csv->offset + csv->at;
        int count = csv->at < csv->end ? split(csv, false, &record) : MORE;
        bool loose = false;
        if (!fits(count, columns, wide, false) && (count != MORE || csv->end - csv->at >= LARGE_B)) {
            loose = true;
            int loose_count = split(csv, true, &record);
            count = count == MORE && !fits(loose_count, columns, wide, true) ? MORE : loose_count;
        }
        if (count == MORE) {
            if (!refill(csv)) {
                return MS_CSV_LONG;
            }
            continue;
        }
        if (!fits(count, columns, wide, loose)) {
            bool cut = count == UNENDED || (count > 0 && !record.line_end);
            return cut ? MS_CSV_CUT : MS_CSV_UNEVEN;
        }
        give(csv, &record, (unsigned)count, columns, wide);
        if (csv->error != 0) {
            return csv->error;
        }
        csv->at = (size_t)(record.after - csv->bytes);
        csv->next_line += record.lines;
        csv->loose = loose;
        return MS_CSV_RECORD;
    }
}

static bool at_digit(struct ms_csv *csv)
{
    while (csv->at == csv->end && !csv->eof && refill(csv)) {
    }
    return csv->at == csv->end || (csv->bytes[csv->at] >= '0' && csv->bytes[csv->at] <= '9');
}

void ms_csv_skip(struct ms_csv *csv, bool digits)
{
    do {
        for (;;) {
            char *line_end = memchr(csv->bytes + csv->at, '\n', csv->end - csv->at);
            if (line_end != NULL) {
                csv->at = (size_t)(line_end - csv->bytes) + 1;
                csv->next_line++;
                break;
            }
            csv->at = csv->end;
            if (csv->eof || !refill(csv)) {
                return;
            }
        }
    } while (digits && !at_digit(csv));
}
