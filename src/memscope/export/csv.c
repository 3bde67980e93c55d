/* SPDX-License-Identifier: Apache-2.0 */
/* Dumps as CSV: one row per line, except that a quoted cell may contain line ends (stacks have one per frame).
 *
 * The header and the order and form of attributes are defined in columns.h. MSTX names, attributes and stacks are
 * always quoted, other names only if necessary; quotes inside are doubled. Python calls go to one file per thread. */
#include "memscope/export/cells.h"

#include "base/swar.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BUFFER_B       (256u * 1024)
#define SLICE_BUFFER_B (16u * 1024)

struct slice_file {
    uint32_t tid;
    char path[128];
    struct ms_buffer buffer; /* the file is open only while this is written: there may be thousands of threads */
};

struct kept_number { /* as text: the same in many rows */
    uint64_t number;
    size_t length_b; /* 0: none yet */
    char digits[24];
};

struct csv {
    struct ms_buffer buffer;
    struct kept_number seconds, pid, tids[8];
    struct ms_map slice_of_tid;
    struct slice_file *slices;
    uint32_t slice_count, slice_room;
};

/* ---- cells ---- */

static void add_header(struct ms_buffer *buffer)
{
    static const char header[] =
#define X(name, text, sql) "," text
        MS_DUMP_COLUMNS(X)
#undef X
            "\n";
    ms_buffer_add(buffer, header + 1, sizeof(header) - 2);
}

static void add_quoted(struct ms_buffer *buffer, const char *s, size_t length_b)
{
    ms_buffer_char(buffer, '"');
    ms_buffer_csv(buffer, s, length_b);
    ms_buffer_char(buffer, '"');
}

/* Most names contain no byte below '-', which is tested first. */
static bool has_special(uint64_t word)
{
    bool any = ((word - MS_SWAR_EACH('-')) & ~word & MS_SWAR_EACH(0x80)) != 0;
    return any && (ms_swar_first_equal(word, ',') | ms_swar_first_equal(word, '"') | ms_swar_first_equal(word, '\n') |
                   ms_swar_first_equal(word, '\r')) != 0;
}

static bool must_quote(const char *s, size_t length_b)
{
    if (length_b < MS_SWAR_B) {
        return has_special(ms_swar_load_part(s, length_b));
    }
    bool special = has_special(ms_swar_load(s + length_b - MS_SWAR_B)); /* tests some bytes twice */
    for (size_t i = 0; i + MS_SWAR_B < length_b && !special; i += MS_SWAR_B) {
        special = has_special(ms_swar_load(s + i));
    }
    return special;
}

/* Unquoted, unless that would end the cell. */
static void add_cell(struct ms_buffer *buffer, const char *s, size_t length_b)
{
    if (must_quote(s, length_b)) {
        add_quoted(buffer, s, length_b);
    } else {
        ms_buffer_add(buffer, s, length_b);
    }
}

static const struct ms_cell_style style = {
    .plain = add_cell,
    .quoted = add_quoted,
    .inside = ms_buffer_csv,
#define X(name, text) [MS_ATTR_##name] = MS_CELL_WORD("," text ":"),
    .key = {MS_ATTR_KEYS(X)},
#undef X
    .other_begin = MS_CELL_WORD(","),
    .other_end = MS_CELL_WORD(":"),
    .attrs_begin = MS_CELL_WORD("\""),
    .attrs_end = MS_CELL_WORD("}\""),
};

/* Replaces the comma after the last cell. */
static void end_line(struct ms_buffer *buffer)
{
    if (!buffer->failed) {
        buffer->s[buffer->used - 1] = '\n';
    }
}

static void keep(struct kept_number *kept, uint64_t number)
{
    struct ms_buffer text = {.s = kept->digits, .room = sizeof(kept->digits)};
    ms_buffer_u64(&text, number);
    kept->number = number;
    kept->length_b = text.used;
}

static void add_kept(struct ms_buffer *buffer, struct kept_number *kept, uint64_t number)
{
    if (kept->number != number || kept->length_b == 0) {
        keep(kept, number);
    }
    if (ms_buffer_reserve(buffer, sizeof(kept->digits))) {
        memcpy(buffer->s + buffer->used, kept->digits, sizeof(kept->digits));
        buffer->used += kept->length_b;
    }
}

/* The text of the seconds is cached; nine digits follow. */
static void add_time(struct ms_buffer *buffer, struct kept_number *seconds, uint64_t time_ns)
{
    enum { SECOND_NS = 1000000000, EIGHT = 100000000 };
    if (time_ns < SECOND_NS) {
        ms_buffer_u64(buffer, time_ns);
        return;
    }
    uint32_t rest_ns = (uint32_t)(time_ns % SECOND_NS);
    add_kept(buffer, seconds, time_ns / SECOND_NS);
    ms_buffer_char(buffer, (char)('0' + rest_ns / EIGHT));
    if (ms_buffer_reserve(buffer, MS_SWAR_B)) {
        ms_swar_store(buffer->s + buffer->used, ms_swar_digits(rest_ns % EIGHT) | MS_SWAR_EACH('0'));
        buffer->used += MS_SWAR_B;
    }
}

static void add_number(struct csv *csv, enum ms_dump_column column, uint64_t number)
{
    struct ms_buffer *buffer = &csv->buffer;
    switch (column) {
    case MS_COL_TIME:
        add_time(buffer, &csv->seconds, number);
        break;
    case MS_COL_PID:
        add_kept(buffer, &csv->pid, number);
        break;
    case MS_COL_TID:
        add_kept(buffer, &csv->tids[number % (sizeof(csv->tids) / sizeof(csv->tids[0]))], number);
        break;
    default:
        ms_buffer_u64(buffer, number);
        break;
    }
}

static void add_row(struct csv *csv, const struct ms_dump *dump, const struct ms_row *row)
{
    struct ms_buffer *buffer = &csv->buffer;
    uint64_t number;
    ms_buffer_reserve(buffer, 512);
#define X(name, text, sql)                                                                                             \
    if (ms__cell_number(row, MS_COL_##name, &number)) {                                                                \
        add_number(csv, MS_COL_##name, number);                                                                        \
    } else {                                                                                                           \
        ms__cell_text(buffer, dump, row, MS_COL_##name, &style);                                                       \
    }                                                                                                                  \
    ms_buffer_char(buffer, ',');
    MS_DUMP_COLUMNS(X)
#undef X
    end_line(buffer);
}

/* ---- the file ---- */

static int csv_open(struct ms_dump_file *file)
{
    struct csv *csv = file->state;
    if (csv == NULL) {
        csv = file->state = calloc(1, sizeof(*csv));
        if (csv == NULL) {
            return -ENOMEM;
        }
    }
    ms_buffer_reserve(&csv->buffer, BUFFER_B + 4096);
    add_header(&csv->buffer);
    return csv->buffer.failed ? -ENOMEM : ms_buffer_write(&csv->buffer, file->fd);
}

static int csv_row(struct ms_dump_file *file, const struct ms_row *row)
{
    struct csv *csv = file->state;
    add_row(csv, file->dump, row);
    return csv->buffer.used >= BUFFER_B ? ms_buffer_write(&csv->buffer, file->fd) : 0;
}

/* ---- Python calls ---- */

static int slice_write(struct ms_dump_file *file, struct slice_file *slices)
{
    int fd = openat(ms__dump_dirfd(file->dump), slices->path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) {
        return -errno;
    }
    int rc = ms_buffer_write(&slices->buffer, fd);
    close(fd);
    return rc;
}

static struct slice_file *slice_file_of(struct ms_dump_file *file, uint32_t tid, int *rc)
{
    struct csv *csv = file->state;
    uint64_t *known = ms_map_get(&csv->slice_of_tid, tid);
    if (known != NULL) {
        return &csv->slices[*known];
    }
    if (csv->slice_count == csv->slice_room) {
        uint32_t room = csv->slice_room != 0 ? csv->slice_room * 2 : 16;
        struct slice_file *slices = realloc(csv->slices, room * sizeof(*slices));
        if (slices == NULL) {
            *rc = -ENOMEM;
            return NULL;
        }
        csv->slices = slices;
        csv->slice_room = room;
    }
    char directory[sizeof(file->path)], stem[48];
    memcpy(directory, file->path, sizeof(directory));
    *strrchr(directory, '/') = 0;
    snprintf(stem, sizeof(stem), "python_trace_%u_", tid);
    struct slice_file *slices = &csv->slices[csv->slice_count];
    *slices = (struct slice_file){.tid = tid};
    int fd = ms__create_file(ms__dump_dirfd(file->dump), directory, stem, "csv", ms__dump_time(file->dump),
                             slices->path, sizeof(slices->path));
    if (fd < 0) {
        *rc = fd;
        return NULL;
    }
    close(fd);
    if (ms_map_put(&csv->slice_of_tid, tid, csv->slice_count) == NULL) {
        *rc = -ENOMEM;
        return NULL;
    }
    csv->slice_count++;
    ms__dump_created(file->dump, slices->path, NULL);
    static const char header[] =
#define X(name, text, sql) "," text
        MS_SLICE_COLUMNS(X)
#undef X
            "\n";
    ms_buffer_add(&slices->buffer, header + 1, sizeof(header) - 2);
    return slices;
}

static int csv_slice(struct ms_dump_file *file, const struct ms_slice *slice)
{
    int rc = 0;
    struct slice_file *slices = slice_file_of(file, slice->tid, &rc);
    if (slices == NULL) {
        return rc;
    }
    struct ms_buffer *buffer = &slices->buffer;
    uint64_t number;
#define X(name, text, sql)                                                                                             \
    if (ms__cell_slice_number(slice, MS_SLICE_COL_##name, &number)) {                                                  \
        ms_buffer_u64(buffer, number);                                                                                 \
    } else {                                                                                                           \
        ms__cell_slice_text(buffer, slice, MS_SLICE_COL_##name, &style);                                               \
    }                                                                                                                  \
    ms_buffer_char(buffer, ',');
    MS_SLICE_COLUMNS(X)
#undef X
    end_line(buffer);
    return buffer->used >= SLICE_BUFFER_B ? slice_write(file, slices) : 0;
}

static int csv_flush(struct ms_dump_file *file)
{
    struct csv *csv = file->state;
    int rc = ms_buffer_write(&csv->buffer, file->fd);
    for (uint32_t i = 0; i < csv->slice_count; i++) {
        int one = csv->slices[i].buffer.used != 0 ? slice_write(file, &csv->slices[i]) : 0;
        rc = rc != 0 ? rc : one;
    }
    return rc;
}

static int csv_close(struct ms_dump_file *file)
{
    struct csv *csv = file->state;
    if (csv == NULL) {
        return 0;
    }
    int rc = csv_flush(file);
    for (uint32_t i = 0; i < csv->slice_count; i++) {
        ms_buffer_free(&csv->slices[i].buffer);
    }
    free(csv->slices);
    ms_map_free(&csv->slice_of_tid);
    ms_buffer_free(&csv->buffer);
    free(csv);
    file->state = NULL;
    return rc;
}

const struct ms_dump_ops ms__csv_ops = {
    .suffix = "csv",
    .open = csv_open,
    .row = csv_row,
    .slice = csv_slice,
    .flush = csv_flush,
    .close = csv_close,
};
