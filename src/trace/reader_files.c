/* SPDX-License-Identifier: Apache-2.0 */
/* Segment files in order, and the effect of each block on the reader.
 *
 * The end of the files is one of: an END block; the last valid block of the last segment when there is no writer any
 * more; or, live, only "not yet". A live reader moves to the next segment when that exists and the current one has
 * no more blocks; the writer never touches a segment again once it has begun another. */
#include "trace/reader_internal.h"

#include "trace/overflow.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

void ms__damage(struct ms_trace *t, uint64_t segment, uint64_t offset, const char *reason)
{
    t->stats.damages++;
    if (t->damage_count == MS_DAMAGES_KEPT) {
        return;
    }
    struct ms_damage *d = &t->damage[(t->damage_first + t->damage_count++) % MS_DAMAGES_KEPT];
    *d = (struct ms_damage){.offset = offset, .reason = reason};
    if (segment == 0 || !ms__file_name(d->file, sizeof(d->file), t->info.process.name, segment, ".seg")) {
        snprintf(d->file, sizeof(d->file), "memory");
    }
}

/* ---- files ---- */

int ms__files_open(struct ms_trace *t, uint64_t segment, const char *suffix)
{
    char name[sizeof(((struct ms_damage *)0)->file)];
    if (!ms__file_name(name, sizeof(name), t->info.process.name, segment, suffix)) {
        return -ENAMETOOLONG;
    }
    struct stat status;
    int fd = openat(t->dir, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe would block until it has a writer */
    if (fd >= 0 && (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))) {
        close(fd);
        return -EPROTO;
    }
    return fd < 0 ? -errno : fd;
}

static int ascending(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

int64_t ms__files_list(const struct ms_trace *t, const char *suffix, uint64_t **numbers)
{
    const char *name = t->info.process.name;
    uint64_t *list = NULL;
    int64_t count = 0, room = 0;
    int fd = openat(t->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (dir == NULL) {
        int rc = -errno;
        if (fd >= 0) {
            close(fd);
        }
        return rc;
    }
    for (struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        size_t length;
        uint64_t number = ms__file_parse(entry->d_name, suffix, &length);
        if (number == 0 || length != strlen(name) || strncmp(entry->d_name, name, length) != 0) {
            continue;
        }
        if (count == room) {
            room = room == 0 ? 16 : room * 2;
            uint64_t *grown = realloc(list, (size_t)room * sizeof(*grown));
            if (grown == NULL) {
                free(list);
                closedir(dir);
                return -ENOMEM;
            }
            list = grown;
        }
        list[count++] = number;
    }
    closedir(dir);
    if (count != 0) {
        qsort(list, (size_t)count, sizeof(*list), ascending);
    }
    *numbers = list;
    return count;
}

/* The smallest number above the current one; 0: none. */
static uint64_t next_segment(struct ms_trace *t)
{
    uint64_t *numbers = NULL, next = 0;
    int fd = ms__files_open(t, t->segment + 1, ".seg");
    if (fd >= 0) {
        close(fd);
        return t->segment + 1;
    }
    if (t->options.live) {
        return 0; /* a writer numbers without holes */
    }
    int64_t count = ms__files_list(t, ".seg", &numbers);
    for (int64_t i = 0; i < count && next == 0; i++) {
        next = numbers[i] > t->segment ? numbers[i] : 0;
    }
    free(numbers);
    return next;
}

static int open_segment(struct ms_trace *t, uint64_t segment)
{
    int fd = ms__files_open(t, segment, ".seg");
    if (fd < 0) {
        return fd;
    }
    t->stats.bytes_read += t->file.fd >= 0 ? t->file.offset : 0;
    ms_blockfile_destroy(&t->file);
    t->segment = segment;
    t->first_record_at = 0;
    t->stats.segments++;
    return ms_blockfile_init(&t->file, fd);
}

/* ---- blocks ---- */

static void meet_process(struct ms_trace *t, struct ms_bytes content)
{
    struct ms_segment_info info;
    if (!ms__segment_info_load(&info, content)) {
        return;
    }
    if (!t->info_known) {
        char name[sizeof(info.process.name)];
        memcpy(name, t->info.process.name, sizeof(name)); /* files may have been renamed */
        t->info = info;
        memcpy(t->info.process.name, name, sizeof(name));
        t->info_known = true;
    }
    ms_timeline_add(t->timeline, &info.anchor);
}

/* Positions of the streams when the first segment that is read began. */
static void meet_streams(struct ms_trace *t, struct ms_bytes content)
{
    struct ms_catalog catalog;
    if (t->stats.segments > 1 || t->first_record_at != 0 || t->stats.streams != 0 || ms_catalog_init(&catalog) != 0) {
        return;
    }
    free(t->stream_start);
    t->stream_start = ms_catalog_load(&catalog, content) ? calloc(MS_CATALOG_STREAMS, sizeof(uint64_t)) : NULL;
    for (uint32_t i = 0; t->stream_start != NULL && i < MS_CATALOG_STREAMS; i++) {
        t->stream_start[i] = catalog.stream[i].next_seq;
    }
    ms_catalog_destroy(&catalog);
}

int ms__load_definitions(struct ms_trace *t, struct ms_bytes content)
{
    struct ms_definition_item item;
    while (ms_catalog_next_item(&content, &item)) {
        if (item.def.kind == 0) {
            continue; /* only writers need the meaning of stream ids */
        }
        if (!ms_definition_sound(item.def.kind, item.def.flags, item.def.content, item.def.content_b)) {
            return -EPROTO;
        }
        int rc = ms_deftable_set(t->definitions, item.def.id, item.def.kind, item.def.flags, item.def.content,
                                 item.def.content_b);
        if (rc != 0) {
            return rc;
        }
    }
    return ms_bytes_ok(&content) ? 0 : -EPROTO;
}

static void meet_clock(struct ms_trace *t, const struct ms_sweep *sweep)
{
    ms_timeline_add(t->timeline, &sweep->anchor);
    int64_t step = (int64_t)(sweep->anchor.realtime_ns - sweep->anchor.monotonic_ns) - t->info.process.offset_ns;
    uint64_t size = step < 0 ? 0 - (uint64_t)step : (uint64_t)step;
    t->stats.realtime_step_ns = size > t->stats.realtime_step_ns ? size : t->stats.realtime_step_ns;
    if (t->two_clocks) {
        ms__merge_reorder(t);
    }
}

static void meet_sweep(struct ms_trace *t, const struct ms_sweep *sweep)
{
    meet_clock(t, sweep);
    if (sweep->anchor.clock_kind != t->low_kind) {
        t->released_low = 0;
    }
    t->low = sweep->low;
    t->low_kind = sweep->anchor.clock_kind;
}

/* Whether the content of a block is needed here. */
static bool wanted(const struct ms_trace *t, const struct ms_block_head *head, uint64_t at)
{
    bool passing = at < t->first_record_at; /* before the start position: definitions, not records */
    switch (head->kind) {
    case MS_BLOCK_RECORDS:
        return !passing;
    case MS_BLOCK_PROCESS:
    case MS_BLOCK_STREAMS:
    case MS_BLOCK_DEFINITIONS:
    case MS_BLOCK_SWEEP:
    case MS_BLOCK_CLOCK:
    case MS_BLOCK_END:
        return true;
    default:
        return false;
    }
}

/* NULL, or what is wrong with it. The content becomes the block's (RECORDS) or is freed. */
static const char *meet_block(struct ms_trace *t, const struct ms_block_head *head, uint64_t at, uint8_t *raw)
{
    struct ms_bytes content = {.at = raw, .end = raw + head->raw_b};
    const char *wrong = NULL;
    struct ms_sweep sweep;
    struct ms_end end;
    switch (head->kind) {
    case MS_BLOCK_RECORDS: {
        struct ms_pending_block *block = ms__block_add(t, head, at, raw);
        if (block == NULL) {
            free(raw);
            return "out of memory";
        }
        return ms__merge_add_runs(t, block) ? NULL : "a run of records is damaged";
    }
    case MS_BLOCK_PROCESS:
        meet_process(t, content);
        break;
    case MS_BLOCK_STREAMS:
        meet_streams(t, content);
        break;
    case MS_BLOCK_DEFINITIONS:
        wrong = ms__load_definitions(t, content) == 0 ? NULL : "a definition is damaged";
        break;
    case MS_BLOCK_SWEEP:
    case MS_BLOCK_CLOCK:
        if (head->raw_b < sizeof(sweep)) {
            wrong = "a sweep mark is too short";
            break;
        }
        memcpy(&sweep, raw, sizeof(sweep));
        if (head->kind == MS_BLOCK_SWEEP && at >= t->first_record_at) {
            meet_sweep(t, &sweep);
        } else {
            meet_clock(t, &sweep);
        }
        break;
    case MS_BLOCK_END:
        if (head->raw_b < sizeof(end)) {
            wrong = "the end block is too short";
            break;
        }
        memcpy(&end, raw, sizeof(end));
        t->stats.ending = end.ending;
        memcpy(t->stats.counted, end.lost, sizeof(t->stats.counted));
        t->end_stamp = end.stamp;
        break;
    default:
        break;
    }
    free(raw);
    return wrong;
}

/* The files have ended for lack of space; a writer in this process continues in memory. It says so in an END block, or,
 * if not even that could be written, by closing. */
static bool go_on_in_memory(struct ms_trace *t)
{
    int fd = t->overflow_fd;
    bool said = t->stats.ending == MS_ENDING_DISK || t->stats.ending == MS_ENDING_LIMIT;
    bool left = t->stats.ending == MS_ENDING_OPEN && !t->options.live;
    if (fd < 0 || (!said && !left)) {
        return false;
    }
    t->overflow_fd = -1;
    t->stats.bytes_read += t->file.offset;
    ms_blockfile_destroy(&t->file);
    t->segment = 0;
    t->first_record_at = 0;
    if (ms_blockfile_init(&t->file, fd) != 0) {
        return false;
    }
    t->file.offset = t->memory_at;
    return true;
}

/* The reverse: what began in memory continues in files, once the directory is known. */
static enum ms_advance go_on_in_files(struct ms_trace *t)
{
    if (t->dir < 0) {
        return MS_ADVANCE_WAIT;
    }
    t->moved = false;
    t->memory_at = t->file.offset;
    t->overflow_fd = fcntl(t->file.fd, F_DUPFD_CLOEXEC, 3); /* in case the disk is full later */
    if (ms__files_begin(t) != 0) {
        ms__damage(t, 2, 0, "the segment cannot be opened");
        t->ended = true;
        return MS_ADVANCE_END;
    }
    return MS_ADVANCE_BLOCK;
}

/* Whether another block was added to the current file meanwhile: its last one may have been written just before the
 * next segment. */
static bool more_has_come(struct ms_trace *t)
{
    struct ms_block_head head;
    uint64_t offset = t->file.offset, at, cut;
    const char *reason;
    enum ms_walk walk = ms_blockfile_next(&t->file, &head, &at, &cut, &reason);
    t->file.offset = offset;
    return walk != MS_WALK_NO_MORE;
}

static int go_to_checkpoint(struct ms_trace *t)
{
    const struct ms_position *from = &t->checkpoint.position;
    int rc = open_segment(t, from->segment);
    if (rc == 0) {
        t->first_record_at = from->offset;
        t->skip_below = from->low_stamp;
        t->skip_kind = from->clock_kind;
        t->low = from->low_stamp;
        t->low_kind = from->clock_kind;
        t->released_low = from->low_stamp;
        t->next_index = from->index;
        t->last_ns = from->last_ns;
    }
    return rc;
}

/* Segments before this one are gone: finds a checkpoint from which the rest can be read. Records that still wait belong
 * to the deleted part; the checkpoint includes them. */
static bool jump(struct ms_trace *t, uint64_t segment)
{
    if (ms__aux_checkpoint_from(t, segment) != 0 || t->checkpoint.position.index < t->next_index) {
        return false;
    }
    ms__merge_forget(t);
    t->jumped = go_to_checkpoint(t) == 0;
    return t->jumped;
}

static void measure_segments(struct ms_trace *t)
{
    uint64_t first, last, total_b;
    if (t->overflow == NULL && t->dir >= 0 &&
        ms__segments_find(t->dir, t->info.process.name, &first, &last, &total_b) == 0) {
        t->segments_b = total_b;
    }
}

/* No block is left in the current file, which ends with `cut` bytes of an incomplete one. */
static enum ms_advance file_is_over(struct ms_trace *t, uint64_t at, uint64_t cut)
{
    uint64_t next = t->segment != 0 ? next_segment(t) : 0;
    if (next == 0) {
        measure_segments(t);
    }
    if (t->options.live) {
        if (next == 0) {
            return MS_ADVANCE_WAIT;
        }
        if (t->file.fd >= 0 && more_has_come(t)) {
            return MS_ADVANCE_BLOCK;
        }
    }
    if (t->file.fd >= 0 && t->file.error != 0) {
        ms__damage(t, t->segment, at, "the file cannot be read");
    } else if (cut != 0) {
        t->stats.cuts++;
        ms__damage(t, t->segment, at, "the file ends inside a block");
    }
    if (next == 0 && go_on_in_memory(t)) {
        return MS_ADVANCE_BLOCK;
    }
    if (next == 0) {
        t->ended = true;
        return MS_ADVANCE_END;
    }
    if (next != t->segment + 1 && jump(t, next)) {
        return MS_ADVANCE_BLOCK;
    }
    if (open_segment(t, next) != 0) {
        ms_blockfile_destroy(&t->file);
        t->segment = next; /* skip it */
        ms__damage(t, next, 0, "the segment cannot be opened");
    }
    return MS_ADVANCE_BLOCK;
}

enum ms_advance ms__files_advance(struct ms_trace *t)
{
    struct ms_block_head head;
    uint64_t at, cut;
    const char *reason = NULL;
    if (t->moved) {
        return go_on_in_files(t);
    }
    if (t->file.fd < 0) {
        return file_is_over(t, 0, 0);
    }
    switch (ms_blockfile_next(&t->file, &head, &at, &cut, &reason)) {
    case MS_WALK_NO_MORE:
        return file_is_over(t, at, cut);
    case MS_WALK_DAMAGE:
        ms__damage(t, t->segment, at, reason);
        return MS_ADVANCE_BLOCK;
    case MS_WALK_BLOCK:
        break;
    }
    if (wanted(t, &head, at)) {
        uint8_t *raw = malloc(head.raw_b + MS_BLOCK_SLACK_B);
        reason = raw == NULL ? "out of memory" : ms_blockfile_load(&t->file, &head, at, raw);
        if (reason != NULL) {
            free(raw);
        } else {
            reason = meet_block(t, &head, at, raw);
        }
        if (reason != NULL) {
            ms__damage(t, t->segment, at, reason);
        }
    }
    if (t->segment == 0) { /* content that is still needed was kept, see reader_blocks.c */
        ms_overflow_consumed(t->overflow, t->file.offset);
    }
    if (head.kind == MS_BLOCK_END && t->stats.ending == MS_ENDING_MOVED) {
        t->stats.ending = MS_ENDING_OPEN;
        t->moved = true;
        return MS_ADVANCE_BLOCK;
    }
    if (head.kind == MS_BLOCK_END && t->stats.ending != MS_ENDING_OPEN && !go_on_in_memory(t)) {
        measure_segments(t);
        t->ended = true;
        return MS_ADVANCE_END;
    }
    return MS_ADVANCE_BLOCK;
}

/* ---- beginning ---- */

int ms__files_begin_in_memory(struct ms_trace *t)
{
    int fd = t->overflow_fd;
    t->overflow_fd = -1;
    return fd >= 0 ? ms_blockfile_init(&t->file, fd) : -EINVAL;
}

int ms__files_begin(struct ms_trace *t)
{
    uint64_t *numbers = NULL;
    int64_t count = ms__files_list(t, ".seg", &numbers);
    if (count <= 0) {
        return count < 0 ? (int)count : -ENOENT;
    }
    uint64_t first = numbers[0];
    free(numbers);
    measure_segments(t);
    bool from_memory = t->stats.events != 0 || t->file.fd >= 0;
    if (t->have_checkpoint || (first > 1 && !from_memory && ms__aux_checkpoint_from(t, first) == 0)) {
        return go_to_checkpoint(t);
    }
    return open_segment(t, first);
}
