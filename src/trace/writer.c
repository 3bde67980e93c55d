/* SPDX-License-Identifier: Apache-2.0 */
/* Segment files: naming, appending, rotation, limits, the end.
 *
 * Invariants: blocks are appended whole and in order; `waiting` holds packed blocks that are not written yet, and a
 * failed write leaves them there. A segment begins with PROCESS and STREAMS; the epoch changes with each segment,
 * and each definition is written before its first use in an epoch. Failure policy: a full disk (or any other write
 * error) ends the files with an END block, for which NAME.reserve keeps space; after that blocks go to a reader in
 * memory, or are counted as lost. The drain never fails because of the disk. */
#include "trace/writer_internal.h"

#include "base/clock.h"
#include "trace/blockfile.h"
#include "trace/codec.h"
#include "trace/overflow.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define SEGMENT_B    ((uint64_t)64 << 20)
#define RESERVE_B    ((off_t)1 << 20)
#define WAITING_B    ((size_t)1 << 20) /* written when this much waits */
#define FILE_B       96
#define SEGMENTS_MAX 1000000

struct ms_writer {
    int dir, fd;
    struct ms_segment_info info;
    struct ms_writer_options options;
    struct ms_packer *packer;
    struct ms_catalog catalog;
    struct ms_blob waiting;
    uint64_t waiting_records;
    uint64_t segment_bytes; /* of the current segment, whole blocks */
    uint64_t total_bytes;   /* of all remaining segments */
    uint64_t first_segment;
    uint64_t covered; /* atomic */
    uint64_t epoch;
    uint64_t synced_ns;
    uint64_t last_stamp, written_stamp;
    uint64_t lost[MS_GAP_CAUSES];
    struct ms_overflow *overflow; /* where blocks go once the files have ended */
    uint64_t end_at;              /* offset of the END block of files that ended before the process */
    uint64_t end_stamp;           /* of the last record in them */
    uint64_t left_out;            /* records after that */
    struct ms_writer_stats stats;
};

/* ---- files ---- */

static int open_file(const struct ms_writer *w, uint64_t segment, const char *suffix, int flags)
{
    char name[FILE_B];
    if (!ms__file_name(name, sizeof(name), w->info.process.name, segment, suffix)) {
        return -ENAMETOOLONG;
    }
    int fd = openat(w->dir, name, flags | O_CLOEXEC, MS_TRACE_FILE_MODE);
    return fd < 0 ? -errno : fd;
}

static bool reserve_name(const struct ms_writer *w, char *name, size_t size_b)
{
    return snprintf(name, size_b, "%s.reserve", w->info.process.name) < (int)size_b;
}

static int take_reserve(const struct ms_writer *w)
{
    char name[FILE_B];
    if (!reserve_name(w, name, sizeof(name))) {
        return -ENAMETOOLONG;
    }
    int fd = openat(w->dir, name, O_WRONLY | O_CREAT | O_CLOEXEC, MS_TRACE_FILE_MODE);
    if (fd < 0) {
        return -errno;
    }
    int rc = -posix_fallocate(fd, 0, RESERVE_B);
    close(fd);
    if (rc != 0) {
        unlinkat(w->dir, name, 0);
    }
    return rc;
}

static void give_reserve(const struct ms_writer *w)
{
    char name[FILE_B];
    if (reserve_name(w, name, sizeof(name))) {
        unlinkat(w->dir, name, 0);
    }
}

static void set_total(struct ms_writer *w, uint64_t bytes)
{
    w->total_bytes = bytes;
    ms_overflow_set_segments(w->overflow, bytes);
}

/* 0 or -errno; a partial write is truncated, so that the file ends with a whole block. */
static int append(struct ms_writer *w, const uint8_t *data, size_t length_b)
{
    size_t done = 0;
    while (done < length_b) {
        ssize_t n = write(w->fd, data + done, length_b - done);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            int rc = n < 0 ? -errno : -EIO;
            if (ftruncate(w->fd, (off_t)w->segment_bytes) == 0) {
                lseek(w->fd, (off_t)w->segment_bytes, SEEK_SET);
            }
            return rc;
        }
        done += (size_t)n;
    }
    w->segment_bytes += length_b;
    set_total(w, w->total_bytes + length_b);
    return 0;
}

/* ---- blocks ---- */

static int pack(struct ms_writer *w, struct ms_block_head *head, const void *raw, size_t raw_b)
{
    uint8_t *to = ms_blob_room(&w->waiting, ms_block_bound(raw_b));
    if (to == NULL) {
        return -ENOMEM;
    }
    w->waiting.used_b += ms_block_pack(w->packer, head, raw, raw_b, to);
    w->stats.blocks++;
    return 0;
}

static int pack_buffer(struct ms_writer *w, enum ms_block_kind kind, struct ms_blob *content, int rc)
{
    struct ms_block_head head = {.kind = (uint8_t)kind, .stream = MS_STREAM_MANY};
    rc = rc != 0 ? rc : pack(w, &head, content->data, content->used_b);
    ms_blob_free(content);
    return rc;
}

static int pack_segment_start(struct ms_writer *w)
{
    struct ms_blob content = {0};
    int rc = ms__segment_info_save(&w->info, &content);
    rc = pack_buffer(w, MS_BLOCK_PROCESS, &content, rc);
    rc = rc != 0 ? rc : ms_catalog_save(&w->catalog, &content);
    return pack_buffer(w, MS_BLOCK_STREAMS, &content, rc);
}

static int pack_end(struct ms_writer *w, enum ms_trace_ending ending, int error)
{
    struct ms_end end = {.ending = ending, .error = -error, .stamp = w->left_out != 0 ? w->end_stamp : w->last_stamp};
    memcpy(end.lost, w->lost, sizeof(end.lost));
    end.lost[MS_GAP_DISK] += w->left_out;
    struct ms_block_head head = {.kind = MS_BLOCK_END, .stream = MS_STREAM_MANY};
    return pack(w, &head, &end, sizeof(end));
}

/* Opens the next file; its first blocks wait to be written. */
static int open_segment(struct ms_writer *w)
{
    int fd = -EEXIST;
    uint64_t segment = w->info.segment;
    while (fd == -EEXIST) {
        fd = open_file(w, ++segment, ".seg", O_WRONLY | O_CREAT | O_EXCL);
    }
    if (fd < 0) {
        return fd;
    }
    if (w->fd >= 0) {
        close(w->fd);
    }
    w->fd = fd;
    w->info.segment = segment;
    w->segment_bytes = 0;
    w->epoch++;
    ms_anchor_take(&w->info.anchor, w->info.process.clock_kind);
    return pack_segment_start(w);
}

static int append_end(struct ms_writer *w, enum ms_trace_ending ending, int error)
{
    w->end_at = w->segment_bytes + w->waiting.used_b;
    int rc = pack_end(w, ending, error);
    rc = rc != 0 ? rc : append(w, w->waiting.data, w->waiting.used_b);
    w->waiting.used_b = 0;
    return rc;
}

/* The files end here. Blocks that wait go to memory. */
static void end_files(struct ms_writer *w, enum ms_trace_ending ending, int error)
{
    struct ms_blob waiting = w->waiting;
    w->waiting = (struct ms_blob){0};
    w->stats.ending = ending;
    w->stats.error = error;
    give_reserve(w);
    w->end_stamp = w->written_stamp;
    /* A file at its size limit has no space for its end, however much the disk has: use another file. */
    if (append_end(w, ending, error) == -EFBIG && open_segment(w) == 0 && append_end(w, ending, error) != 0) {
        ms__segment_delete(w->dir, w->info.process.name, w->info.segment);
    }
    ms_blob_free(&w->waiting);
    w->waiting = waiting;
    close(w->fd);
    w->fd = -1;
}

/* Only now is it known how much is missing from the files. The block has the same length, so it needs no space. */
static void complete_end(struct ms_writer *w)
{
    int fd = open_file(w, w->info.segment, ".seg", O_WRONLY);
    w->waiting.used_b = 0;
    if (fd >= 0 && pack_end(w, (enum ms_trace_ending)w->stats.ending, w->stats.error) == 0) {
        ssize_t n = pwrite(fd, w->waiting.data, w->waiting.used_b, (off_t)w->end_at);
        (void)n; /* the existing block says nearly the same */
    }
    w->waiting.used_b = 0;
    if (fd >= 0) {
        close(fd);
    }
}

static void flush_to_memory(struct ms_writer *w)
{
    w->left_out += w->waiting_records;
    if (w->waiting.used_b != 0 && !ms_overflow_append(w->overflow, w->waiting.data, w->waiting.used_b)) {
        w->stats.lost_disk += w->waiting_records;
        ms_overflow_lose(w->overflow, w->waiting_records, w->written_stamp);
        w->epoch++; /* definitions may be among the lost blocks */
    } else {
        w->written_stamp = w->last_stamp;
    }
}

int ms__writer_flush(struct ms_writer *w)
{
    if (w->fd >= 0 && w->waiting.used_b != 0) {
        int rc = append(w, w->waiting.data, w->waiting.used_b);
        if (rc != 0) {
            end_files(w, MS_ENDING_DISK, rc);
        } else {
            w->written_stamp = w->last_stamp;
        }
    }
    if (w->fd < 0) {
        flush_to_memory(w);
    }
    w->waiting.used_b = 0;
    w->waiting_records = 0;
    if (w->fd >= 0 && w->options.sync_ms > 0) {
        uint64_t now_ns = ms_clock_ns(CLOCK_MONOTONIC);
        if (now_ns - w->synced_ns >= (uint64_t)w->options.sync_ms * 1000000) {
            fdatasync(w->fd);
            w->synced_ns = now_ns;
        }
    }
    return 0;
}

int ms__writer_add(struct ms_writer *w, struct ms_block_head *head, const void *raw, size_t raw_b)
{
    int rc = pack(w, head, raw, raw_b);
    if (rc == 0 && head->kind == MS_BLOCK_RECORDS) {
        w->stats.records += head->items;
        w->waiting_records += head->items;
        w->last_stamp = w->last_stamp < head->last_stamp ? head->last_stamp : w->last_stamp;
    }
    return rc;
}

bool ms__writer_should_flush(const struct ms_writer *w)
{
    bool segment_is_full = w->fd >= 0 && w->segment_bytes + w->waiting.used_b >= w->options.segment_b;
    return segment_is_full || w->waiting.used_b >= WAITING_B;
}

/* ---- segments ---- */

static int begin_segment(struct ms_writer *w)
{
    int rc = open_segment(w);
    return rc != 0 ? rc : ms__writer_flush(w);
}

static void delete_segment(struct ms_writer *w, uint64_t segment)
{
    ms_writer_freed(w, ms__segment_delete(w->dir, w->info.process.name, segment));
}

static void keep_limit(struct ms_writer *w)
{
    uint64_t covered = __atomic_load_n(&w->covered, __ATOMIC_ACQUIRE);
    while (w->options.ring && w->total_bytes > w->options.max_b && w->first_segment < covered &&
           w->first_segment < w->info.segment) {
        delete_segment(w, w->first_segment++);
    }
    if (!w->options.ring && w->total_bytes > w->options.max_b) {
        end_files(w, MS_ENDING_LIMIT, 0);
    }
}

int ms__writer_rotate(struct ms_writer *w)
{
    if (w->fd >= 0 && w->options.max_b != 0) {
        keep_limit(w);
    }
    if (w->fd < 0 || w->segment_bytes < w->options.segment_b) {
        return 0;
    }
    /* If a segment cannot be created (descriptors, a quota of files), the current one grows. */
    int rc = begin_segment(w);
    return rc == -ENOMEM ? rc : 0;
}

/* ---- continuing after another collector ---- */

static int recover_block(struct ms_writer *w, const struct ms_block_head *head, struct ms_bytes content)
{
    struct ms_run run;
    struct ms_bytes data;
    struct ms_definition_item item;
    switch (head->kind) {
    case MS_BLOCK_PROCESS: {
        struct ms_segment_info info;
        if (!ms__segment_info_load(&info, content) || info.process.pid != w->info.process.pid ||
            info.process.start_time != w->info.process.start_time) {
            return -EPROTO;
        }
        w->info.process = info.process;
        return 0;
    }
    case MS_BLOCK_STREAMS:
        return ms_catalog_load(&w->catalog, content) ? 0 : -EPROTO;
    case MS_BLOCK_DEFINITIONS:
        while (ms_catalog_next_item(&content, &item)) {
            int rc = item.def.kind == 0 ? ms_catalog_bind(&w->catalog, item.stream, item.id, item.meaning)
                                        : ms_deftable_set(w->catalog.definitions, item.def.id, item.def.kind,
                                                          item.def.flags, item.def.content, item.def.content_b);
            if (rc != 0) {
                return rc;
            }
        }
        return ms_bytes_ok(&content) ? 0 : -EPROTO;
    case MS_BLOCK_RECORDS:
        while (content.at != content.end) {
            if (!ms_run_read(&content, &run, &data) || run.stream >= MS_CATALOG_STREAMS) {
                return -EPROTO;
            }
            struct ms_stream_state *s = &w->catalog.stream[run.stream];
            uint64_t next = run.first_seq + run.sequences;
            s->next_seq = s->next_seq < next ? next : s->next_seq;
        }
        w->last_stamp = w->last_stamp < head->last_stamp ? head->last_stamp : w->last_stamp;
        return 0;
    case MS_BLOCK_END:
        return -EALREADY;
    default:
        return 0;
    }
}

/* Reads the state from the last segment and truncates it after its last valid block. */
static int recover_segment(struct ms_writer *w, uint64_t segment, bool last)
{
    int fd = open_file(w, segment, ".seg", O_RDWR);
    struct ms_blockfile file;
    if (fd < 0) {
        return fd;
    }
    int rc = ms_blockfile_init(&file, fd);
    struct ms_blob raw = {0};
    uint64_t sound_b = 0;
    while (rc == 0) {
        struct ms_block_head head;
        uint64_t at, cut;
        const char *reason;
        enum ms_walk walk = ms_blockfile_next(&file, &head, &at, &cut, &reason);
        if (walk != MS_WALK_BLOCK) {
            break; /* damage: a crash during a write; nothing valid follows */
        }
        bool needed = last ? head.kind != MS_BLOCK_SWEEP : head.kind == MS_BLOCK_DEFINITIONS;
        raw.used_b = 0;
        uint8_t *content = needed ? ms_blob_room(&raw, head.raw_b + MS_BLOCK_SLACK_B) : NULL;
        if (needed && content == NULL) {
            rc = -ENOMEM;
        } else if (needed && ms_blockfile_load(&file, &head, at, content) != NULL) {
            break;
        } else if (needed) {
            rc = recover_block(w, &head, (struct ms_bytes){.at = content, .end = content + head.raw_b});
        }
        sound_b = file.offset;
    }
    if (rc == 0 && last && ftruncate(fd, (off_t)sound_b) != 0) {
        rc = -errno;
    }
    set_total(w, w->total_bytes + sound_b);
    ms_blob_free(&raw);
    ms_blockfile_destroy(&file);
    return rc;
}

/* Whether the segment has its first two blocks; a collector may have died while creating it. */
static bool has_first_blocks(struct ms_writer *w, uint64_t segment)
{
    static const uint8_t kinds[] = {MS_BLOCK_PROCESS, MS_BLOCK_STREAMS};
    struct ms_blockfile file;
    int fd = open_file(w, segment, ".seg", O_RDONLY);
    bool ok = fd >= 0 && ms_blockfile_init(&file, fd) == 0;
    if (fd < 0) {
        return false;
    }
    for (unsigned i = 0; ok && i < MS_COUNT_OF(kinds); i++) {
        struct ms_block_head head;
        uint64_t at, cut;
        const char *reason;
        ok = ms_blockfile_next(&file, &head, &at, &cut, &reason) == MS_WALK_BLOCK && head.kind == kinds[i];
    }
    ms_blockfile_destroy(&file);
    return ok;
}

static int resume(struct ms_writer *w)
{
    uint64_t first, last, total_b;
    int rc = ms__segments_find(w->dir, w->info.process.name, &first, &last, &total_b);
    w->first_segment = first != 0 ? first : 1;
    w->info.segment = last;
    if (last - first > SEGMENTS_MAX) {
        return -EPROTO;
    }
    while (last != 0 && !has_first_blocks(w, last)) {
        last = last > first ? last - 1 : 0;
    }
    for (uint64_t i = first; i <= last && last != 0 && rc == 0; i++) {
        rc = recover_segment(w, i, i == last);
        rc = rc == -ENOENT ? 0 : rc;
    }
    return rc;
}

/* ---- interface ---- */

int ms_writer_open(int dirfd, const struct ms_process *process, const struct ms_writer_options *options,
                   struct ms_writer **out)
{
    if (!ms__name_valid(process->name)) {
        return -EINVAL;
    }
    struct ms_writer *w = calloc(1, sizeof(*w));
    if (w == NULL) {
        return -ENOMEM;
    }
    w->fd = -1;
    w->info.process = *process;
    if (options != NULL) {
        w->options = *options;
    }
    w->options.segment_b = w->options.segment_b == 0 ? SEGMENT_B : w->options.segment_b;
    bool memory = w->options.memory;
    w->dir = memory ? -1 : fcntl(dirfd, F_DUPFD_CLOEXEC, 3);
    w->packer = ms_packer_new();
    w->overflow = ms_overflow_new();
    int rc = w->dir < 0 && !memory                      ? -errno
             : w->packer == NULL || w->overflow == NULL ? -ENOMEM
                                                        : ms_catalog_init(&w->catalog);
    if (rc == 0 && w->info.process.offset_ns == 0) {
        struct ms_anchor now;
        ms_anchor_take(&now, MS_CLOCK_MONOTONIC);
        w->info.process.offset_ns = (int64_t)(now.realtime_ns - now.monotonic_ns);
        w->info.process.start_ns = w->info.process.start_ns == 0 ? now.realtime_ns : w->info.process.start_ns;
    }
    if (memory) { /* counts as the first segment; waits for its reader */
        w->info.segment = w->first_segment = 1;
        w->epoch++;
        ms_anchor_take(&w->info.anchor, w->info.process.clock_kind);
        rc = rc != 0 ? rc : pack_segment_start(w);
    } else {
        rc = rc != 0 ? rc : resume(w);
        rc = rc != 0 ? rc : take_reserve(w);
        rc = rc != 0 ? rc : begin_segment(w);
    }
    if (rc != 0) {
        ms_writer_close(w, MS_ENDING_OPEN);
        return rc;
    }
    *out = w;
    return 0;
}

static void stay_in_memory(struct ms_writer *w)
{
    if (w->fd >= 0) {
        close(w->fd);
        w->fd = -1;
    }
    if (w->dir >= 0) {
        give_reserve(w);
        close(w->dir);
        w->dir = -1;
    }
    w->waiting.used_b = 0;
}

int ms_writer_to_files(struct ms_writer *w, int dirfd, const char *settings)
{
    if (!w->options.memory) {
        return -EALREADY;
    }
    ms__writer_flush(w);
    w->dir = fcntl(dirfd, F_DUPFD_CLOEXEC, 3);
    w->left_out = 0;
    snprintf(w->info.process.settings, sizeof(w->info.process.settings), "%s", settings);
    int rc = w->dir < 0 ? -errno : take_reserve(w);
    rc = rc != 0 ? rc : begin_segment(w);
    if (rc != 0) {
        stay_in_memory(w);
        return rc;
    }
    w->first_segment = w->info.segment;
    w->options.memory = false;
    rc = pack_end(w, MS_ENDING_MOVED, 0); /* only now: a notified reader looks for the segment at once */
    if (rc == 0) {
        ms_overflow_append(w->overflow, w->waiting.data, w->waiting.used_b);
    }
    w->waiting.used_b = 0;
    return rc;
}

void ms_writer_close(struct ms_writer *w, enum ms_trace_ending ending)
{
    if (w == NULL) {
        return;
    }
    if (w->fd >= 0) {
        if (ending != MS_ENDING_OPEN) {
            pack_end(w, ending, 0);
        }
        ms__writer_flush(w);
        if (w->fd >= 0) {
            close(w->fd);
        }
        give_reserve(w);
    } else if ((w->stats.ending != 0 || w->options.memory) && ending != MS_ENDING_OPEN) {
        if (w->stats.ending != 0) {
            complete_end(w);
        }
        pack_end(w, ending, 0);
        ms__writer_flush(w);
    }
    if (w->dir >= 0) {
        close(w->dir);
    }
    ms_overflow_release(w->overflow);
    ms_packer_free(w->packer);
    ms_catalog_destroy(&w->catalog);
    ms_blob_free(&w->waiting);
    free(w);
}

const struct ms_process *ms_writer_process(const struct ms_writer *w)
{
    return &w->info.process;
}

void ms_writer_stats(const struct ms_writer *w, struct ms_writer_stats *out)
{
    *out = w->stats;
    out->bytes = w->total_bytes;
    out->segment = w->info.segment;
    out->first_segment = w->first_segment;
}

void ms_writer_limit(struct ms_writer *w, uint64_t max_b, bool ring)
{
    w->options.max_b = max_b;
    w->options.ring = ring;
}

void ms_writer_covered(struct ms_writer *w, uint64_t segment)
{
    __atomic_store_n(&w->covered, segment, __ATOMIC_RELEASE);
}

void ms_writer_freed(struct ms_writer *w, uint64_t bytes)
{
    set_total(w, bytes < w->total_bytes ? w->total_bytes - bytes : 0);
}

struct ms_catalog *ms__writer_catalog(struct ms_writer *w)
{
    return &w->catalog;
}

uint64_t ms__writer_epoch(const struct ms_writer *w)
{
    return w->epoch;
}

struct ms_overflow *ms_writer_overflow(struct ms_writer *w)
{
    return w->overflow;
}

void ms__writer_lost(struct ms_writer *w, const uint64_t lost[MS_GAP_CAUSES])
{
    memcpy(w->lost, lost, sizeof(w->lost));
}
