/* SPDX-License-Identifier: Apache-2.0 */
/* Writes results into a CSV dump: a new file in the same directory, the old one kept under another name, the new one
 * renamed.
 *
 * The dump is read once more, record by record; everything that does not change is copied verbatim, including
 * unreadable rows. Only the attribute cell of a changed row is replaced. Failure policy: an error before the rename
 * leaves the dump untouched and removes the new file. */
#include "memscope/analyze/offline/offline.h"

#include "memscope/source/csv.h"
#include "memscope/source/words.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIECE_B  (1u << 20)  /* bytes per write */
#define REFILL_B (16u << 10) /* with less than this left, the reader's buffer may move soon */

/* ---- copying ---- */

struct copier {
    const struct ms_csv *csv; /* its buffered bytes need not be read again */
    int in, out;
    uint64_t offset; /* in the dump: everything before it has been copied or skipped */
    struct ms_buffer to_write;
    uint64_t written_b;
    int error;
};

static void write_buffer(struct copier *c, size_t above_b)
{
    if (c->error == 0 && c->to_write.used > above_b) {
        uint64_t length_b = c->to_write.used;
        c->error = ms_buffer_write(&c->to_write, c->out);
        /* starts writeback early, so fsync waits less */
        sync_file_range(c->out, (off_t)c->written_b, (off_t)length_b, SYNC_FILE_RANGE_WRITE);
        c->written_b += length_b;
    }
    if (c->to_write.failed && c->error == 0) {
        c->error = -ENOMEM;
    }
}

/* Copies from the file itself, up to an offset or to its end. */
static void copy_file(struct copier *c, uint64_t offset)
{
    while (c->offset < offset && c->error == 0) {
        size_t want = offset - c->offset < PIECE_B ? (size_t)(offset - c->offset) : PIECE_B;
        bool room = ms_buffer_reserve(&c->to_write, want);
        ssize_t n = room ? pread(c->in, c->to_write.s + c->to_write.used, want, (off_t)c->offset) : 0;
        if (n <= 0) {
            c->error = n < 0 ? -errno : 0;
            return;
        }
        c->to_write.used += (size_t)n;
        c->offset += (uint64_t)n;
        write_buffer(c, PIECE_B);
    }
}

/* Copies up to an offset that the reader has reached. */
static void copy_to(struct copier *c, uint64_t offset)
{
    const struct ms_csv *csv = c->csv;
    copy_file(c, offset < csv->offset ? offset : csv->offset);
    if (c->offset < offset && c->offset >= csv->offset) {
        ms_buffer_add(&c->to_write, csv->bytes + (c->offset - csv->offset), (size_t)(offset - c->offset));
        c->offset = offset;
    }
    write_buffer(c, PIECE_B);
}

/* ---- changing ---- */

struct columns {
    unsigned count, wide;
    unsigned id, pid, event, attr; /* count: column absent */
};

static bool find_columns(const struct ms_csv *csv, struct columns *out)
{
    *out = (struct columns){.count = csv->count, .wide = MS_CSV_CELLS_MAX};
    out->id = out->pid = out->event = out->attr = csv->count;
    for (unsigned i = 0; i < csv->count; i++) {
        struct ms_text cell = csv->cells[i];
        while (cell.length_b != 0 && cell.s[cell.length_b - 1] == ' ') {
            cell.length_b--;
        }
        switch (ms__column_of(cell.s, cell.length_b)) {
        case MS_COL_ID:
            out->id = i;
            break;
        case MS_COL_PID:
            out->pid = i;
            break;
        case MS_COL_EVENT:
            out->event = i;
            break;
        case MS_COL_ATTR:
            out->attr = i;
            break;
        case MS_COL_NAME:
            out->wide = i;
            break;
        default:
            break;
        }
    }
    return out->id < csv->count && out->attr < csv->count && out->event < csv->count;
}

/* The types to add to the record; 0: none. */
static uint8_t found_for(const struct ms_csv *csv, const struct columns *columns,
                         const struct ms_offline_results *results)
{
    const struct ms_text *event = &csv->cells[columns->event], *id = &csv->cells[columns->id];
    uint64_t row, pid = MS_ID_NONE;
    if (event->length_b != 6 || memcmp(event->s, "MALLOC", 6) != 0 || !ms__parse_u64(id->s, id->length_b, &row)) {
        return 0;
    }
    if (columns->pid < columns->count) {
        const struct ms_text *cell = &csv->cells[columns->pid];
        ms__parse_u64(cell->s, cell->length_b, &pid);
    }
    return ms_offline_found(results, (uint32_t)pid, row);
}

/* The cell's bytes in the file differ from its text (quoting): rewrites the whole record, with its own line end. */
static void rewrite_record(struct copier *c, const struct ms_csv *csv, unsigned attr, const struct ms_buffer *text)
{
    uint64_t end = csv->offset + csv->at;
    size_t begin_at = (size_t)(csv->record_offset - csv->offset);
    size_t ending_b = 0;
    while (ending_b < 2 && csv->at - ending_b > begin_at &&
           strchr("\r\n", csv->bytes[csv->at - ending_b - 1]) != NULL && csv->bytes[csv->at - ending_b - 1] != '\0') {
        ending_b++;
    }
    copy_to(c, csv->record_offset);
    for (unsigned i = 0; i < csv->count; i++) {
        const char *s = i == attr ? text->s : csv->cells[i].s;
        size_t length_b = i == attr ? text->used : csv->cells[i].length_b;
        bool quotes = false;
        for (size_t j = 0; j < length_b && !quotes; j++) {
            quotes = s[j] == ',' || s[j] == '"' || s[j] == '\n' || s[j] == '\r';
        }
        if (i != 0) {
            ms_buffer_char(&c->to_write, ',');
        }
        if (quotes) {
            ms_buffer_char(&c->to_write, '"');
            ms_buffer_csv(&c->to_write, s, length_b);
            ms_buffer_char(&c->to_write, '"');
        } else {
            ms_buffer_add(&c->to_write, s, length_b);
        }
    }
    ms_buffer_add(&c->to_write, csv->bytes + csv->at - ending_b, ending_b);
    c->offset = end;
}

static void replace_attr(struct copier *c, const struct ms_csv *csv, unsigned attr, const struct ms_buffer *text)
{
    const struct ms_text *cell = &csv->cells[attr];
    bool in_file = cell->s >= csv->bytes && cell->s < csv->bytes + csv->end;
    if (!in_file || memchr(text->s, '"', text->used) != NULL) {
        rewrite_record(c, csv, attr, text);
        return;
    }
    uint64_t begin = csv->offset + (uint64_t)(cell->s - csv->bytes);
    bool quoted = begin > csv->record_offset && cell->s[-1] == '"';
    copy_to(c, begin);
    if (!quoted) {
        ms_buffer_char(&c->to_write, '"');
    }
    ms_buffer_add(&c->to_write, text->s, text->used);
    if (!quoted) {
        ms_buffer_char(&c->to_write, '"');
    }
    c->offset = begin + cell->length_b;
}

/* Passes all records through the copier. */
static int change_rows(const char *path, const struct ms_offline_results *results, struct copier *c, uint64_t *changed)
{
    struct ms_csv csv;
    struct columns columns;
    struct ms_buffer text = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    int rc = fd >= 0 ? ms_csv_open(&csv, fd) : -errno;
    if (rc != 0) {
        return rc;
    }
    *changed = 0;
    c->csv = &csv;
    rc = ms_csv_next(&csv, 0, 0);
    bool known = rc == MS_CSV_RECORD && find_columns(&csv, &columns);
    while (known && (rc = ms_csv_next(&csv, columns.count, columns.wide)) > 0 && c->error == 0) {
        if (rc != MS_CSV_RECORD) {
            ms_csv_skip(&csv, columns.id == 0);
            continue;
        }
        uint8_t found = found_for(&csv, &columns, results);
        const struct ms_text *attr = &csv.cells[columns.attr];
        if (found != 0 && ms_offline_attr(&text, attr->s, attr->length_b, found)) {
            replace_attr(c, &csv, columns.attr, &text);
            (*changed)++;
        }
        if (csv.end - csv.at < REFILL_B) {
            copy_to(c, csv.offset + csv.at);
        }
    }
    if (rc >= 0 && c->error == 0) {
        copy_to(c, csv.offset + csv.end);
        copy_file(c, UINT64_MAX); /* the part the reader did not look at */
    }
    write_buffer(c, 0);
    rc = rc < 0 ? rc : text.failed ? -ENOMEM : c->error;
    ms_buffer_free(&text);
    ms_csv_close(&csv);
    return rc;
}

/* ---- files ---- */

bool ms_offline_kept_name(const char *path, char *kept, size_t kept_b)
{
    struct stat st;
    for (unsigned i = 0; i < 1000; i++) {
        int length = i == 0 ? snprintf(kept, kept_b, "%s.orig", path) : snprintf(kept, kept_b, "%s.orig.%u", path, i);
        if (length < 0 || (size_t)length >= kept_b) {
            break;
        }
        if (lstat(kept, &st) != 0 && errno == ENOENT) {
            return true;
        }
    }
    kept[0] = '\0';
    return false;
}

/* Creates a file in the dump's directory with its mode and owner. */
static int make_file(const char *path, char *made, size_t made_b)
{
    struct stat st;
    snprintf(made, made_b, "%s.XXXXXX", path);
    int fd = stat(path, &st) == 0 ? mkostemp(made, O_CLOEXEC) : -1;
    if (fd < 0) {
        made[0] = '\0';
        return -errno;
    }
    if (fchown(fd, st.st_uid, st.st_gid) != 0) {
        errno = 0; /* chown not permitted: keep our own uid */
    }
    fchmod(fd, st.st_mode & 07777);
    return fd;
}

/* The dump exists under its name at all times, except briefly on file systems without hard links. */
static int exchange(const char *path, const char *made, char *kept, size_t kept_b)
{
    if (!ms_offline_kept_name(path, kept, kept_b)) {
        return -EEXIST;
    }
    bool linked = link(path, kept) == 0;
    if (!linked && rename(path, kept) != 0) {
        return -errno;
    }
    if (rename(made, path) != 0) {
        int rc = -errno;
        if (linked) {
            unlink(kept);
        } else if (rename(kept, path) != 0) {
            return -errno;
        }
        return rc;
    }
    return 0;
}

int ms_offline_write_csv(struct ms_offline *offline, const struct ms_offline_results *results, uint64_t *changed,
                         char *kept, size_t kept_b)
{
    char real[4096 + 1], made[sizeof(real) + 16] = "";
    kept[0] = '\0';
    *changed = 0;
    size_t any = 0;
    for (size_t i = 0; i < results->count; i++) {
        any += results->processes[i].found.count;
    }
    if (any == 0) {
        return 0;
    }
    char *resolved = realpath(offline->path, NULL); /* follow a symbolic link, do not replace it */
    if (resolved == NULL || (size_t)snprintf(real, sizeof(real), "%s", resolved) >= sizeof(real)) {
        free(resolved);
        return ms_offline_fail(offline, -ENAMETOOLONG, "%s: the path is too long", offline->path);
    }
    free(resolved);
    struct copier c = {.in = open(real, O_RDONLY | O_CLOEXEC), .out = -1};
    int rc = c.in < 0 ? -errno : 0;
    if (rc == 0) {
        c.out = make_file(real, made, sizeof(made));
        rc = c.out < 0 ? c.out : change_rows(real, results, &c, changed);
    }
    rc = rc == 0 && *changed != 0 && fsync(c.out) != 0 ? -errno : rc;
    rc = rc == 0 && *changed != 0 ? exchange(real, made, kept, kept_b) : rc;
    if (made[0] != '\0' && (rc != 0 || *changed == 0)) {
        unlink(made);
    }
    if (c.in >= 0) {
        close(c.in);
    }
    if (c.out >= 0) {
        close(c.out);
    }
    ms_buffer_free(&c.to_write);
    if (rc != 0) {
        kept[0] = '\0';
        return ms_offline_fail(offline, rc, "cannot write '%s': %s", offline->path, strerror(-rc));
    }
    return 0;
}
