/* SPDX-License-Identifier: Apache-2.0 */
/* One file's rows in order of id or time.
 *
 * Rows are collected in memory up to a limit. A file that fits is sorted there. If a larger file is in order so far,
 * the rest is scanned once, keys only, and if it is in order too, it is streamed from the file itself; npuscope's
 * own dumps are. Otherwise (the original writes the rows of a block when it is freed) the collected rows are sorted
 * and written as a run to an unnamed file, and so on; the runs are merged. Equal keys keep the order of the file. */
#include "memscope/source/internal.h"

#include "memscope/model/row_bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MEMORY_B     (64u << 20)
#define FIRST_B      (4u << 20) /* in order so far: check the rest */
#define RUN_BUFFER_B (64u * 1024)

struct sort_entry {
    uint64_t key, second; /* second: the id, when sorted by time */
    uint64_t offset;      /* of the packed row; also the order of the file */
};

struct sorted_run {
    uint64_t at, end; /* in the file: not read yet */
    char *bytes;      /* [used, filled) is not consumed */
    size_t room, used, filled;
    struct sort_entry head; /* key of the row at `used` */
};

enum mode { STREAMED, IN_MEMORY, MERGED };

struct ms_sorted {
    struct ms_row_reader *rows;
    enum ms_source_order order;
    enum mode mode;
    struct ms_buffer packed;
    struct sort_entry *entries;
    size_t count, room, at;
    bool in_order; /* the collected rows are in file order */
    int fd;
    uint64_t spilled_b;
    struct sorted_run *runs;
    size_t run_count;
    size_t *heap; /* numbers of runs, the smallest first */
    size_t heap_count;
};

static bool before(const struct sort_entry *a, const struct sort_entry *b)
{
    return a->key != b->key ? a->key < b->key : a->second != b->second ? a->second < b->second : a->offset < b->offset;
}

static int compare_entries(const void *a, const void *b)
{
    return before(a, b) ? -1 : before(b, a);
}

static struct sort_entry entry_of(const struct ms_sorted *sorted, const struct ms_row *row, uint64_t offset)
{
    return (struct sort_entry){.key = ms__key_of(row, sorted->order),
                               .second = sorted->order == MS_ORDER_TIME ? row->id : 0,
                               .offset = offset};
}

/* ---- collecting ---- */

static void clear(struct ms_sorted *sorted)
{
    sorted->packed.used = 0;
    sorted->count = 0;
    sorted->in_order = true;
}

/* Collects more, up to limit_b; *ended: all have been read. */
static int collect(struct ms_sorted *sorted, size_t limit_b, bool *ended)
{
    struct ms_row row;
    *ended = false;
    while (sorted->packed.used + sorted->count * sizeof(struct sort_entry) < limit_b) {
        int rc = sorted->rows->ops->next(sorted->rows, &row);
        if (rc <= 0) {
            *ended = true;
            return rc;
        }
        if (sorted->count == sorted->room) {
            size_t room = sorted->room != 0 ? sorted->room * 2 : 1024;
            struct sort_entry *entries = realloc(sorted->entries, room * sizeof(*entries));
            if (entries == NULL) {
                return -ENOMEM;
            }
            sorted->entries = entries;
            sorted->room = room;
        }
        struct sort_entry entry = entry_of(sorted, &row, sorted->packed.used);
        sorted->in_order =
            sorted->in_order && (sorted->count == 0 || before(&sorted->entries[sorted->count - 1], &entry));
        sorted->entries[sorted->count++] = entry;
        ms_row_pack(&sorted->packed, &row);
        if (sorted->packed.failed) {
            return -ENOMEM;
        }
    }
    return 0;
}

static void sort_collected(struct ms_sorted *sorted)
{
    if (!sorted->in_order) {
        qsort(sorted->entries, sorted->count, sizeof(*sorted->entries), compare_entries);
    }
}

/* ---- runs ---- */

static int temporary_file(void)
{
    const char *set = getenv("TMPDIR");
    const char *const directories[] = {set, "/var/tmp", "/tmp"};
    for (size_t i = 0; i < MS_COUNT_OF(directories); i++) {
        char path[4096];
        if (directories[i] == NULL || directories[i][0] == 0) {
            continue;
        }
        int length = snprintf(path, sizeof(path), "%s/msmemscope.XXXXXX", directories[i]);
        int fd = length > 0 && (size_t)length < sizeof(path) ? mkostemp(path, O_CLOEXEC) : -1;
        if (fd >= 0) {
            unlink(path);
            return fd;
        }
    }
    return errno != 0 ? -errno : -EIO;
}

static int spill(struct ms_sorted *sorted)
{
    struct sorted_run *runs = realloc(sorted->runs, (sorted->run_count + 1) * sizeof(*runs));
    if (runs == NULL) {
        return -ENOMEM;
    }
    sorted->runs = runs;
    if (sorted->fd < 0 && (sorted->fd = temporary_file()) < 0) {
        return sorted->fd;
    }
    struct ms_buffer out = {0};
    uint64_t begin = sorted->spilled_b;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < sorted->count; i++) {
        const char *bytes = sorted->packed.s + sorted->entries[i].offset;
        size_t length_b = ms_row_packed_b(bytes, sorted->packed.used - sorted->entries[i].offset);
        ms_buffer_add(&out, bytes, length_b);
        sorted->spilled_b += length_b;
        if (out.used >= (1u << 20) || i + 1 == sorted->count) {
            rc = ms_buffer_write(&out, sorted->fd);
        }
    }
    ms_buffer_free(&out);
    runs[sorted->run_count++] = (struct sorted_run){.at = begin, .end = sorted->spilled_b};
    sorted->rows->source->stats.spilled_b += sorted->spilled_b - begin;
    return rc;
}

/* Completes the next row of the run in its buffer. 1, 0: no more, -errno. */
static int run_fill(struct ms_sorted *sorted, struct sorted_run *run)
{
    while (ms_row_packed_b(run->bytes + run->used, run->filled - run->used) == 0) {
        if (run->at == run->end) {
            return 0;
        }
        memmove(run->bytes, run->bytes + run->used, run->filled - run->used);
        run->filled -= run->used;
        run->used = 0;
        if (run->filled == run->room) {
            size_t room = run->room * 2;
            char *bytes = realloc(run->bytes, room);
            if (bytes == NULL) {
                return -ENOMEM;
            }
            run->bytes = bytes;
            run->room = room;
        }
        size_t want = run->room - run->filled;
        want = want < run->end - run->at ? want : (size_t)(run->end - run->at);
        ssize_t n = pread(sorted->fd, run->bytes + run->filled, want, (off_t)run->at);
        if (n <= 0) {
            return n == 0 ? -EIO : -errno;
        }
        run->filled += (size_t)n;
        run->at += (uint64_t)n;
    }
    struct ms_row row;
    ms_row_unpack(run->bytes + run->used, &row);
    run->head = entry_of(sorted, &row, (uint64_t)(run - sorted->runs)); /* runs are in the order of the file */
    return 1;
}

static void sift_down(struct ms_sorted *sorted, size_t at)
{
    size_t *heap = sorted->heap;
    for (;;) {
        size_t least = at, left = 2 * at + 1;
        for (size_t child = left; child < left + 2 && child < sorted->heap_count; child++) {
            if (before(&sorted->runs[heap[child]].head, &sorted->runs[heap[least]].head)) {
                least = child;
            }
        }
        if (least == at) {
            return;
        }
        size_t swap = heap[at];
        heap[at] = heap[least];
        heap[least] = swap;
        at = least;
    }
}

static int start_merge(struct ms_sorted *sorted)
{
    sorted->mode = MERGED;
    ms_buffer_free(&sorted->packed);
    free(sorted->entries);
    sorted->entries = NULL;
    sorted->heap = calloc(sorted->run_count, sizeof(*sorted->heap));
    if (sorted->heap == NULL) {
        return -ENOMEM;
    }
    for (size_t i = 0; i < sorted->run_count; i++) {
        struct sorted_run *run = &sorted->runs[i];
        run->bytes = malloc(RUN_BUFFER_B);
        run->room = run->bytes != NULL ? RUN_BUFFER_B : 0;
        int rc = run->bytes != NULL ? run_fill(sorted, run) : -ENOMEM;
        if (rc < 0) {
            return rc;
        }
        if (rc > 0) {
            sorted->heap[sorted->heap_count++] = i;
        }
    }
    for (size_t i = sorted->heap_count / 2; i-- > 0;) {
        sift_down(sorted, i);
    }
    return 0;
}

static int next_merged(struct ms_sorted *sorted, struct ms_row *row)
{
    /* Only now is the last returned row consumed: its texts were in the buffer. */
    if (sorted->at != 0) {
        struct sorted_run *run = &sorted->runs[sorted->heap[0]];
        run->used += ms_row_packed_b(run->bytes + run->used, run->filled - run->used);
        int rc = run_fill(sorted, run);
        if (rc < 0) {
            return rc;
        }
        if (rc == 0) {
            sorted->heap[0] = sorted->heap[--sorted->heap_count];
        }
        sift_down(sorted, 0);
    }
    if (sorted->heap_count == 0) {
        sorted->at = 0;
        return 0;
    }
    sorted->at = 1;
    ms_row_unpack(sorted->runs[sorted->heap[0]].bytes + sorted->runs[sorted->heap[0]].used, row);
    return 1;
}

/* ---- opening and closing ---- */

static int prepare(struct ms_sorted *sorted)
{
    struct ms_source *source = sorted->rows->source;
    size_t limit_b = source->options.memory_b != 0 ? source->options.memory_b : MEMORY_B;
    bool ended;
    if (sorted->order == MS_ORDER_AS_WRITTEN) {
        sorted->mode = STREAMED;
        return 0;
    }
    clear(sorted);
    int rc = collect(sorted, limit_b < FIRST_B ? limit_b : FIRST_B, &ended);
    if (rc == 0 && !ended && sorted->in_order && sorted->count != 0) {
        bool all = false;
        rc =
            sorted->rows->ops->rest_in_order(sorted->rows, sorted->order, sorted->entries[sorted->count - 1].key, &all);
        clear(sorted);
        if (rc == 0 && all) {
            sorted->mode = STREAMED;
            return 0;
        }
    }
    rc = rc == 0 && !ended ? collect(sorted, limit_b, &ended) : rc;
    if (rc != 0 || ended) {
        sorted->mode = IN_MEMORY;
        sort_collected(sorted);
        return rc;
    }
    while (rc == 0 && sorted->count != 0) {
        sort_collected(sorted);
        rc = spill(sorted);
        clear(sorted);
        rc = rc == 0 && !ended ? collect(sorted, limit_b, &ended) : rc;
    }
    if (rc < 0) {
        ms__problem(source, sorted->rows->file->path, 0, 0, true, "sorting needs space in $TMPDIR or /var/tmp: %s",
                    strerror(-rc));
    }
    return rc != 0 ? rc : start_merge(sorted);
}

int ms__sorted_open(struct ms_row_reader *rows, enum ms_source_order order, struct ms_sorted **out)
{
    struct ms_sorted *sorted = calloc(1, sizeof(*sorted));
    if (sorted == NULL) {
        rows->ops->close(rows);
        return -ENOMEM;
    }
    *sorted = (struct ms_sorted){.rows = rows, .order = order, .fd = -1};
    int rc = prepare(sorted);
    if (rc < 0) {
        ms__sorted_close(sorted);
        return rc;
    }
    *out = sorted;
    return 0;
}

int ms__sorted_next(struct ms_sorted *sorted, struct ms_row *row)
{
    if (sorted->mode == STREAMED) {
        return sorted->rows->ops->next(sorted->rows, row);
    }
    if (sorted->mode == MERGED) {
        return next_merged(sorted, row);
    }
    if (sorted->at == sorted->count) {
        return 0;
    }
    ms_row_unpack(sorted->packed.s + sorted->entries[sorted->at++].offset, row);
    return 1;
}

void ms__sorted_close(struct ms_sorted *sorted)
{
    if (sorted == NULL) {
        return;
    }
    sorted->rows->ops->close(sorted->rows);
    ms_buffer_free(&sorted->packed);
    free(sorted->entries);
    for (size_t i = 0; i < sorted->run_count; i++) {
        free(sorted->runs[i].bytes);
    }
    free(sorted->runs);
    free(sorted->heap);
    if (sorted->fd >= 0) {
        close(sorted->fd);
    }
    free(sorted);
}
