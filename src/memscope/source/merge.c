/* SPDX-License-Identifier: Apache-2.0 */
/* All files of a process as one stream: rows in order, each once (rows without a device are in every device's file),
 * and between them the calls of the Python trace, each before the first later row. In order AS_WRITTEN the files follow
 * each other instead and nothing is left out. */
#include "memscope/source/internal.h"

#include <errno.h>
#include <stdlib.h>

struct row_stream {
    struct ms_sorted *sorted;
    struct ms_row row;
    bool has_row;
};

struct slice_stream {
    struct ms_row_reader *rows;
    struct ms_slice slice;
    bool has_slice;
};

struct merge {
    struct ms_source *source;
    enum ms_source_order order;
    const struct ms_consumer *consumer;
    struct row_stream *rows;
    size_t row_count;
    struct slice_stream *slices;
    size_t slice_count;
    uint64_t last_id;
    uint32_t last_pid;
    bool any;
};

static int advance_row(struct row_stream *stream)
{
    int rc = ms__sorted_next(stream->sorted, &stream->row);
    stream->has_row = rc > 0;
    return rc < 0 ? rc : 0;
}

static int advance_slice(struct slice_stream *stream)
{
    int rc = stream->rows->ops->next_slice(stream->rows, &stream->slice);
    stream->has_slice = rc > 0;
    return rc < 0 ? rc : 0;
}

/* Files that cannot be opened at all are reported and skipped. */
static int open_file(struct merge *merge, const struct ms_source_file *file)
{
    struct ms_row_reader *rows;
    if (!file->slices) {
        int rc = ms__rows_open(merge->source, file, false, &rows);
        if (rc != 0) {
            return rc == -ENOMEM ? rc : 0;
        }
        struct row_stream *stream = &merge->rows[merge->row_count];
        rc = ms__sorted_open(rows, merge->order, &stream->sorted);
        if (rc != 0) {
            return rc;
        }
        merge->row_count++;
        rc = advance_row(stream);
        if (rc != 0 || !file->db) {
            return rc;
        }
    }
    int rc = ms__rows_open(merge->source, file, !file->slices, &rows);
    if (rc != 0) {
        return rc == -ENOMEM ? rc : 0;
    }
    struct slice_stream *stream = &merge->slices[merge->slice_count++];
    stream->rows = rows;
    return advance_slice(stream);
}

static struct row_stream *first_row(const struct merge *merge)
{
    struct row_stream *first = NULL;
    for (size_t i = 0; i < merge->row_count; i++) {
        struct row_stream *stream = &merge->rows[i];
        if (!stream->has_row) {
            continue;
        }
        if (merge->order == MS_ORDER_AS_WRITTEN) {
            return stream;
        }
        uint64_t key = ms__key_of(&stream->row, merge->order);
        uint64_t least = first != NULL ? ms__key_of(&first->row, merge->order) : 0;
        if (first == NULL || key < least || (key == least && stream->row.id < first->row.id)) {
            first = stream;
        }
    }
    return first;
}

static int give_slices(struct merge *merge, uint64_t until_ns)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < merge->slice_count; i++) {
        struct slice_stream *stream = &merge->slices[i];
        while (rc == 0 && stream->has_slice && stream->slice.start_ns <= until_ns) {
            merge->source->stats.slices++;
            if (merge->consumer->on_slice != NULL) {
                rc = merge->consumer->on_slice(merge->consumer->self, &stream->slice);
            }
            int read_rc = rc == 0 ? advance_slice(stream) : 0;
            rc = rc != 0 ? rc : read_rc;
        }
    }
    return rc;
}

/* The same row from the file of another device. */
static bool is_repeated(const struct merge *merge, const struct ms_row *row)
{
    return merge->any && merge->order != MS_ORDER_AS_WRITTEN && row->device == MS_DEV_UNKNOWN && merge->row_count > 1 &&
           row->id == merge->last_id && row->pid == merge->last_pid;
}

static int run(struct merge *merge)
{
    struct row_stream *stream;
    int rc = 0;
    while (rc == 0 && (stream = first_row(merge)) != NULL) {
        rc = give_slices(merge, stream->row.time_ns);
        if (rc == 0 && !is_repeated(merge, &stream->row)) {
            merge->source->stats.rows++;
            merge->any = true;
            merge->last_id = stream->row.id;
            merge->last_pid = stream->row.pid;
            if (merge->consumer->on_row != NULL) {
                rc = merge->consumer->on_row(merge->consumer->self, &stream->row);
            }
        }
        rc = rc != 0 ? rc : advance_row(stream);
    }
    rc = rc != 0 ? rc : give_slices(merge, UINT64_MAX);
    if (rc == 0 && merge->consumer->on_close != NULL) {
        rc = merge->consumer->on_close(merge->consumer->self);
    }
    return rc;
}

int ms__merge(struct ms_source *source, const struct ms_source_group *group, enum ms_source_order order,
              const struct ms_consumer *consumer)
{
    struct merge merge = {.source = source, .order = order, .consumer = consumer};
    merge.rows = calloc(group->file_count, sizeof(*merge.rows));
    merge.slices = calloc(group->file_count, sizeof(*merge.slices));
    int rc = merge.rows != NULL && merge.slices != NULL ? 0 : -ENOMEM;
    for (size_t i = 0; rc == 0 && i < group->file_count; i++) {
        rc = open_file(&merge, &group->files[i]);
    }
    if (rc == 0 && merge.row_count == 0) {
        rc = -EPROTO; /* reported file by file */
    }
    rc = rc != 0 ? rc : run(&merge);
    for (size_t i = 0; i < merge.row_count; i++) {
        ms__sorted_close(merge.rows[i].sorted);
    }
    for (size_t i = 0; i < merge.slice_count; i++) {
        merge.slices[i].rows->ops->close(merge.slices[i].rows);
    }
    free(merge.rows);
    free(merge.slices);
    return rc;
}
