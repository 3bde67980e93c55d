/* SPDX-License-Identifier: Apache-2.0 */
/* The reader's interface: opening, the next event, definitions, position. */
#include "trace/reader_internal.h"

#include "trace/overflow.h"
#include "trace/parts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define CACHE_B ((size_t)64 << 20)

/* ---- opening ---- */

static struct ms_trace *new_trace(int dirfd, const char *name)
{
    struct ms_trace *t = calloc(1, sizeof(*t));
    if (t == NULL) {
        return NULL;
    }
    t->file.fd = t->again.fd = t->overflow_fd = -1;
    t->options.cache_b = CACHE_B;
    t->event_b = sizeof(struct ms_event);
    t->dir = dirfd >= 0 ? fcntl(dirfd, F_DUPFD_CLOEXEC, 3) : -1;
    memcpy(t->info.process.name, name, strnlen(name, sizeof(t->info.process.name) - 1));
    t->timeline = ms_timeline_new();
    t->definitions = ms_deftable_new();
    t->cursor = calloc(MS_CATALOG_STREAMS, sizeof(*t->cursor));
    t->heap = calloc(MS_CATALOG_STREAMS, sizeof(*t->heap));
    if ((t->dir < 0 && dirfd >= 0) || t->timeline == NULL || t->definitions == NULL || t->cursor == NULL ||
        t->heap == NULL) {
        ms_trace_close(t);
        t = NULL;
    }
    return t;
}

static int first_name(void *argument, const struct ms_process *process)
{
    memcpy(argument, process->name, sizeof(process->name));
    return 1;
}

/* Reads until something proves that this is a trace: the process, or any valid block. An empty file is fine while the
 * writer is running. */
static int meet_first_blocks(struct ms_trace *t)
{
    for (;;) {
        uint64_t damages = t->stats.damages;
        enum ms_advance advance = ms__files_advance(t);
        if (t->info_known || (advance == MS_ADVANCE_BLOCK && t->stats.damages == damages && t->file.offset != 0)) {
            return 0;
        }
        if (advance != MS_ADVANCE_BLOCK) {
            return advance == MS_ADVANCE_WAIT ? 0 : -EPROTO;
        }
    }
}

int ms_trace_open(int dirfd, const char *name, const struct ms_trace_options *options, struct ms_trace **out)
{
    char found[sizeof(((struct ms_process *)0)->name)] = "";
    if (name == NULL) {
        int rc = ms_trace_list(dirfd, first_name, found);
        if (rc < 1) {
            return rc < 0 ? rc : -ENOENT;
        }
        name = found;
    }
    if (!ms__name_valid(name)) {
        return -EINVAL;
    }
    struct ms_trace *t = new_trace(dirfd, name);
    if (t == NULL) {
        return -ENOMEM;
    }
    if (options != NULL) {
        t->options = *options;
        t->options.cache_b = t->options.cache_b == 0 ? CACHE_B : t->options.cache_b;
    }
    if (t->options.overflow != NULL) {
        int fd = ms_overflow_attach(t->options.overflow);
        if (fd >= 0) {
            t->overflow = t->options.overflow;
            t->overflow_fd = fd;
        }
    }
    if (t->options.from_latest) {
        ms__aux_latest_checkpoint(t);
    }
    int rc = t->options.memory ? ms__files_begin_in_memory(t) : ms__files_begin(t);
    rc = rc != 0 ? rc : meet_first_blocks(t);
    if (rc != 0) {
        ms_trace_close(t);
        return rc;
    }
    *out = t;
    return 0;
}

void ms_trace_close(struct ms_trace *t)
{
    if (t == NULL) {
        return;
    }
    ms__merge_destroy(t);
    ms__aux_destroy(t);
    ms_blockfile_destroy(&t->file);
    ms_blockfile_destroy(&t->again);
    if (t->overflow_fd >= 0) {
        close(t->overflow_fd);
    }
    ms_overflow_release(t->overflow);
    ms_timeline_free(t->timeline);
    ms_deftable_free(t->definitions);
    free(t->device);
    if (t->dir >= 0) {
        close(t->dir);
    }
    free(t);
}

void ms_trace_writer_closed(struct ms_trace *t)
{
    t->options.live = false;
}

int ms_trace_follow(struct ms_trace *t, int dirfd)
{
    if (t->dir >= 0) {
        return -EALREADY;
    }
    t->dir = fcntl(dirfd, F_DUPFD_CLOEXEC, 3);
    return t->dir < 0 ? -errno : 0;
}

const struct ms_process *ms_trace_process(const struct ms_trace *t)
{
    return &t->info.process;
}

/* ---- events ---- */

/* Losses between records show as holes in the sequence. After the last record nothing shows: the writer's own reader
 * takes the count of records that did not fit in memory, any other reader that of the end block. */
static bool lost_at_end(struct ms_trace *t, struct ms_event *event)
{
    bool cut = t->stats.ending == MS_ENDING_DISK || t->stats.ending == MS_ENDING_LIMIT;
    uint64_t since_stamp = t->end_stamp;
    uint64_t lost = t->overflow != NULL ? ms_overflow_lost(t->overflow, &since_stamp)
                    : cut               ? t->stats.counted[MS_GAP_DISK]
                                        : 0;
    if (t->tail_reported || lost <= t->holes) {
        return false;
    }
    t->tail_reported = true;
    ms__event_tail(t, lost - t->holes, since_stamp, event);
    return true;
}

int ms_trace_next(struct ms_trace *t, struct ms_event *event)
{
    if (t->current != NULL) {
        ms__merge_next(t, t->current);
        t->current = NULL;
    }
    for (;;) {
        struct ms_cursor *c = ms__merge_first(t);
        if (c != NULL && ms__merge_final(t, c)) {
            t->stats.late += c->clock_kind == t->low_kind && c->record.stamp < t->released_low;
            t->stats.events++;
            ms__event_fill(t, c, event);
            t->current = c;
            return MS_TRACE_EVENT;
        }
        t->released_low = t->low;
        if (t->ended) {
            return lost_at_end(t, event) ? MS_TRACE_EVENT : MS_TRACE_END;
        }
        if (ms__files_advance(t) == MS_ADVANCE_WAIT) {
            return MS_TRACE_AGAIN;
        }
        if (t->jumped) {
            t->jumped = false;
            return MS_TRACE_JUMP;
        }
    }
}

/* The record that was released last is done. */
bool ms_trace_position(struct ms_trace *t, struct ms_position *out)
{
    if (t->current != NULL) {
        ms__merge_next(t, t->current);
        t->current = NULL;
    }
    const struct ms_cursor *c = ms__merge_first(t);
    if (t->segment == 0 || (t->blocks != NULL && t->blocks->segment == 0) || t->low == 0 || t->low == UINT64_MAX ||
        t->ended || (c != NULL && ms__merge_final(t, c))) {
        return false;
    }
    *out = (struct ms_position){
        .segment = t->blocks != NULL ? t->blocks->segment : t->segment,
        .offset = t->blocks != NULL ? t->blocks->offset : t->file.offset,
        .low_stamp = t->low,
        .clock_kind = t->low_kind,
        .index = t->next_index,
        .last_ns = t->last_ns,
    };
    return true;
}

uint64_t ms_trace_segment(const struct ms_trace *t)
{
    return t->segment;
}

bool ms_trace_checkpoint(const struct ms_trace *t, struct ms_checkpoint *out)
{
    if (t->have_checkpoint) {
        *out = t->checkpoint;
    }
    return t->have_checkpoint;
}

/* ---- definitions ---- */

static const struct ms_def *definition(const struct ms_trace *t, uint32_t id, unsigned kind, struct ms_parts *parts)
{
    const struct ms_def *def = id != 0 ? ms_deftable_get(t->definitions, id) : NULL;
    if (def == NULL || def->kind != kind) {
        return NULL;
    }
    ms_parts(ms_record_spec(kind), def->flags, (void *)(uintptr_t)def->content, def->content_b, parts);
    return def;
}

static struct ms_text inline_text(const struct ms_parts *parts, uint32_t i)
{
    return (struct ms_text){.s = parts->text[i], .length_b = parts->ref[i]->id == 0 ? parts->ref[i]->length_b : 0};
}

bool ms_trace_text(const struct ms_trace *t, uint32_t id, struct ms_text *out)
{
    struct ms_parts parts;
    if (definition(t, id, MS_R_DEF_TEXT, &parts) == NULL) {
        return false;
    }
    *out = inline_text(&parts, 0);
    out->id = id;
    return true;
}

static uint32_t stack(const struct ms_trace *t, uint32_t id, unsigned kind, const struct ms_frame **frames,
                      uint32_t *cut)
{
    struct ms_parts parts;
    const struct ms_def *def = definition(t, id, kind, &parts);
    if (def == NULL) {
        return 0;
    }
    if (cut != NULL) {
        *cut = ((const struct ms_p_stack *)(const void *)def->content)->cut;
    }
    *frames = parts.frame;
    return parts.frames;
}

uint32_t ms_trace_c_stack(const struct ms_trace *t, uint32_t id, const struct ms_frame **frames, uint32_t *cut)
{
    return stack(t, id, MS_R_DEF_STACK, frames, cut);
}

uint32_t ms_trace_python_stack(const struct ms_trace *t, uint32_t id, const struct ms_frame **frames, uint32_t *cut)
{
    return stack(t, id, MS_R_DEF_PYSTACK, frames, cut);
}

void ms_trace_each_c_stack(const struct ms_trace *t, void (*fn)(void *argument, uint32_t id), void *argument)
{
    uint32_t count = ms_deftable_count(t->definitions);
    for (uint32_t i = 0; i < count; i++) {
        const struct ms_def *def = ms_deftable_at(t->definitions, i);
        if (def->kind == MS_R_DEF_STACK) {
            fn(argument, def->id);
        }
    }
}

bool ms_trace_module(const struct ms_trace *t, uint32_t id, struct ms_module *out)
{
    struct ms_parts parts;
    const struct ms_def *def = definition(t, id, MS_R_DEF_MODULE, &parts);
    if (def == NULL) {
        return false;
    }
    ms__module_of(def->content, &parts, out);
    return true;
}

bool ms_trace_code(const struct ms_trace *t, uint32_t id, struct ms_code *out)
{
    struct ms_parts parts;
    const struct ms_def *def = definition(t, id, MS_R_DEF_CODE, &parts);
    if (def == NULL) {
        return false;
    }
    const struct ms_p_code *p = (const void *)def->content;
    *out = (struct ms_code){
        .file = inline_text(&parts, 0),
        .name = inline_text(&parts, 1),
        .first_line = p->first_line,
        .version = p->version,
        .line_table = parts.bytes,
        .line_table_b = parts.bytes_b,
        .cut = (def->flags & MS_RECORD_CUT) != 0,
    };
    return true;
}

/* ---- how far, and what was wrong ---- */

void ms_trace_stats(const struct ms_trace *t, struct ms_trace_stats *out)
{
    *out = t->stats;
    uint64_t below = t->released_low; /* not low: records that may be released can still wait for the next call */
    out->released_below_stamp = below;
    out->released_below_ns = below == UINT64_MAX ? UINT64_MAX : below != 0 ? ms__file_ns(t, t->low_kind, below) : 0;
    out->bytes_read += t->file.fd >= 0 ? t->file.offset : 0;
    out->end_ns = t->end_stamp != 0 ? ms__file_ns(t, t->low_kind, t->end_stamp) : 0;
    out->bytes_total = t->overflow != NULL ? ms_overflow_segments_b(t->overflow) : t->segments_b;
}

bool ms_trace_next_damage(struct ms_trace *t, struct ms_damage *out)
{
    if (t->damage_count == 0) {
        return false;
    }
    *out = t->damage[t->damage_first % MS_DAMAGES_KEPT];
    t->damage_first++;
    t->damage_count--;
    return true;
}

/* ---- processes of a directory ---- */

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct ms_process *)a)->name, ((const struct ms_process *)b)->name);
}

/* Fills in the process of a file name, from the first segment that has it. */
static bool read_process(int dirfd, struct ms_process *process)
{
    struct ms_trace *t;
    struct ms_trace_options options = {.live = true};
    if (ms_trace_open(dirfd, process->name, &options, &t) != 0) {
        return false;
    }
    bool known = t->info_known;
    if (known) {
        *process = t->info.process;
    }
    ms_trace_close(t);
    return known;
}

/* The names of all traces, in order; the caller frees *out. */
static int list_names(int dirfd, struct ms_process **out, size_t *out_count)
{
    struct ms_process *list = NULL;
    size_t count = 0;
    int rc = 0;
    int fd = openat(dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (dir == NULL) {
        rc = -errno;
        if (fd >= 0) {
            close(fd);
        }
        return rc;
    }
    for (struct dirent *entry = readdir(dir); entry != NULL && rc == 0; entry = readdir(dir)) {
        size_t length;
        if (ms__file_parse(entry->d_name, ".seg", &length) == 0) {
            continue;
        }
        bool known = false;
        for (size_t i = 0; i < count && !known; i++) {
            known = strlen(list[i].name) == length && strncmp(list[i].name, entry->d_name, length) == 0;
        }
        struct ms_process *grown = known ? NULL : realloc(list, (count + 1) * sizeof(*grown));
        if (grown != NULL) {
            list = grown;
            list[count] = (struct ms_process){.pid = 0};
            memcpy(list[count++].name, entry->d_name, length);
        } else if (!known) {
            rc = -ENOMEM;
        }
    }
    closedir(dir);
    if (count != 0) {
        qsort(list, count, sizeof(*list), by_name);
    }
    *out = list;
    *out_count = count;
    return rc;
}

int ms_trace_list(int dirfd, int (*fn)(void *argument, const struct ms_process *process), void *argument)
{
    struct ms_process *list = NULL;
    size_t count = 0;
    int rc = list_names(dirfd, &list, &count);
    for (size_t i = 0; i < count && rc == 0; i++) {
        if (read_process(dirfd, &list[i])) {
            rc = fn(argument, &list[i]);
        }
    }
    free(list);
    return rc;
}

/* Finds out what is wrong with the beginning of a file. */
static void examine(struct ms_trace *t, uint64_t segment, struct ms_damage *damage)
{
    struct ms_blockfile file;
    struct ms_block_head head;
    uint64_t cut;
    int fd = ms__files_open(t, segment, ".seg");
    if (fd < 0 || ms_blockfile_init(&file, fd) != 0) {
        if (fd >= 0) {
            close(fd);
        }
        damage->reason = fd == -EPROTO ? "not a regular file" : "the file cannot be opened";
        return;
    }
    uint8_t *raw = NULL;
    switch (ms_blockfile_next(&file, &head, &damage->offset, &cut, &damage->reason)) {
    case MS_WALK_NO_MORE:
        damage->reason = file.error != 0                 ? "the file cannot be read"
                         : ms_blockfile_size(&file) == 0 ? "the file is empty"
                                                         : "the file ends inside its first block";
        break;
    case MS_WALK_DAMAGE:
        break;
    case MS_WALK_BLOCK:
        raw = malloc(head.raw_b + MS_BLOCK_SLACK_B);
        damage->reason = raw == NULL ? "out of memory" : ms_blockfile_load(&file, &head, damage->offset, raw);
        damage->reason = damage->reason != NULL ? damage->reason : "no PROCESS block: not known whose trace it is";
        free(raw);
        break;
    }
    ms_blockfile_destroy(&file);
}

int ms_trace_list_unreadable(int dirfd, int (*fn)(void *argument, const struct ms_damage *damage), void *argument)
{
    struct ms_process *list = NULL;
    size_t count = 0;
    int rc = list_names(dirfd, &list, &count);
    for (size_t i = 0; i < count && rc == 0; i++) {
        uint64_t *numbers = NULL;
        struct ms_trace *t = read_process(dirfd, &list[i]) ? NULL : new_trace(dirfd, list[i].name);
        if (t == NULL) {
            continue;
        }
        if (ms__files_list(t, ".seg", &numbers) > 0) {
            struct ms_damage damage = {.offset = 0};
            ms__file_name(damage.file, sizeof(damage.file), list[i].name, numbers[0], ".seg");
            examine(t, numbers[0], &damage);
            rc = fn(argument, &damage);
        }
        free(numbers);
        ms_trace_close(t);
    }
    free(list);
    return rc;
}
