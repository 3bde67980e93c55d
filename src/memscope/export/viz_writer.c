/* SPDX-License-Identifier: Apache-2.0 */
/* See viz_writer.h. The first error is kept and returned by every later flush. */
#include "memscope/export/viz_writer.h"

#include "memscope/export/pickle.h"
#include "memscope/export/sites.h"

#include <errno.h>
#include <stdlib.h>

#define BUFFER_B    (64u * 1024)
#define ITEMS_MAX   500u /* per append: a JavaScript reader passes them as arguments */
#define SMALL_MAX_B (2u << 20)

_Static_assert(MS_VIZ_WORD_COUNT <= 64, "words_known has a bit for each");

struct frames_key {
    uint32_t c_stack, python_stack, op;
};

/* ---- interface ---- */

void ms_viz_begin(struct ms_viz_writer *writer, int fd, struct ms_stack_source stacks)
{
    *writer = (struct ms_viz_writer){.fd = fd, .stacks = stacks, .numbers = MS_VIZ_WORD_COUNT};
    ms_pickle_begin(&writer->out);
    ms_pickle_op(&writer->out, MS_PICKLE_DICT);
}

int ms_viz_flush(struct ms_viz_writer *writer, bool all)
{
    int rc = writer->failed || writer->out.failed ? -ENOMEM : 0;
    if (rc == 0 && (all || writer->out.used >= BUFFER_B)) {
        rc = ms_buffer_write(&writer->out, writer->fd);
    }
    writer->error = writer->error != 0 ? writer->error : rc;
    return writer->error;
}

void ms_viz_free(struct ms_viz_writer *writer)
{
    ms_buffer_free(&writer->out);
    ms_intern_free(&writer->frames);
    ms_intern_free(&writer->lines);
    ms_map_free(&writer->frames_number);
    ms_map_free(&writer->lines_number);
    free(writer->unused);
}

/* ---- the memo ---- */

void ms_viz_word(struct ms_viz_writer *writer, enum ms_viz_word word)
{
    static const char *const words[] = {
#define X(name, text) text,
        MS_VIZ_WORDS(X)
#undef X
    };
    if ((writer->words_known >> word & 1) != 0) {
        ms_pickle_get(&writer->out, word);
        return;
    }
    writer->words_known |= 1ull << word;
    ms_pickle_text(&writer->out, words[word], strlen(words[word]));
    ms_pickle_put(&writer->out, word);
}

uint32_t ms_viz_number(struct ms_viz_writer *writer)
{
    return writer->unused_count != 0 ? writer->unused[--writer->unused_count] : writer->numbers++;
}

void ms_viz_number_free(struct ms_viz_writer *writer, uint32_t number)
{
    if (number == 0) {
        return;
    }
    if (writer->unused_count == writer->unused_room) {
        size_t room = writer->unused_room != 0 ? writer->unused_room * 2 : 256;
        uint32_t *unused = realloc(writer->unused, room * sizeof(*unused));
        if (unused == NULL) {
            return; /* the number is not reused, which is harmless */
        }
        writer->unused = unused;
        writer->unused_room = room;
    }
    writer->unused[writer->unused_count++] = number;
}

/* ---- calls ---- */

uint32_t ms_viz_frames(struct ms_viz_writer *writer, uint32_t c_stack, uint32_t python_stack, struct ms_text op)
{
    struct frames_key key = {.c_stack = c_stack, .python_stack = python_stack == MS_STACK_NO_GIL ? 0 : python_stack};
    if (op.length_b != 0) {
        key.op = ms_intern(&writer->lines, op.s, op.length_b);
        writer->failed = writer->failed || key.op == 0;
    }
    if (key.c_stack == 0 && key.python_stack == 0 && key.op == 0) {
        return 0;
    }
    uint32_t number = ms_intern(&writer->frames, (const char *)&key, sizeof(key));
    writer->failed = writer->failed || number == 0;
    return number;
}

enum frame_kind { FRAME_C, FRAME_PYTHON, FRAME_OP, FRAME_KINDS };

/* Pushes a dictionary. The same lines occur in many stacks. */
static void add_frame(struct ms_viz_writer *writer, struct ms_text line, enum frame_kind kind)
{
    struct ms_buffer *out = &writer->out;
    bool added;
    uint32_t text = ms_intern(&writer->lines, line.s, line.length_b);
    uint64_t *number = ms_map_at(&writer->lines_number, (uint64_t)text * FRAME_KINDS + kind, 0, &added);
    if (text == 0 || number == NULL) {
        writer->failed = true;
        return;
    }
    if (!added) {
        ms_pickle_get(out, (uint32_t)*number);
        return;
    }
    *number = writer->numbers++;
    struct ms_call call = {.function = line, .file = {.s = "operator", .length_b = 8}};
    if (kind != FRAME_OP) {
        call = ms_call_parse(line, kind == FRAME_PYTHON);
    }
    ms_pickle_op(out, MS_PICKLE_DICT);
    ms_pickle_put(out, (uint32_t)*number);
    ms_pickle_op(out, MS_PICKLE_MARK);
    ms_viz_word(writer, MS_VIZ_FILENAME);
    ms_pickle_text(out, call.file.s, call.file.length_b);
    ms_viz_word(writer, MS_VIZ_LINE);
    ms_pickle_u64(out, call.line);
    ms_viz_word(writer, MS_VIZ_NAME);
    ms_pickle_text(out, call.function.s, call.function.length_b);
    ms_pickle_op(out, MS_PICKLE_SETITEMS);
}

/* Adds every line of a stack as an item of the open list. */
static void add_stack(struct ms_viz_writer *writer, struct ms_text stack, enum frame_kind kind)
{
    unsigned items = 0;
    for (struct ms_text line; ms_stack_line(&stack, &line);) {
        if (++items % ITEMS_MAX == 0) {
            ms_pickle_op(&writer->out, MS_PICKLE_APPENDS);
            ms_pickle_op(&writer->out, MS_PICKLE_MARK);
        }
        add_frame(writer, line, kind);
    }
}

/* Pushes the list of calls. */
static void add_frames(struct ms_viz_writer *writer, uint32_t frames)
{
    struct ms_buffer *out = &writer->out;
    bool added;
    if (frames == 0) {
        ms_pickle_op(out, MS_PICKLE_LIST);
        return;
    }
    uint64_t *number = ms_map_at(&writer->frames_number, frames, 0, &added);
    if (number == NULL) {
        writer->failed = true;
        return;
    }
    if (!added) {
        ms_pickle_get(out, (uint32_t)*number);
        return;
    }
    *number = writer->numbers++;
    struct frames_key key;
    memcpy(&key, ms_intern_get(&writer->frames, frames).s, sizeof(key));
    const struct ms_stack_source *stacks = &writer->stacks;
    ms_pickle_op(out, MS_PICKLE_LIST);
    ms_pickle_put(out, (uint32_t)*number);
    ms_pickle_op(out, MS_PICKLE_MARK);
    if (key.c_stack != 0 && stacks->c_stack != NULL) {
        add_stack(writer, stacks->c_stack(stacks->self, key.c_stack), FRAME_C);
    }
    if (key.op != 0) {
        struct ms_intern_text op = ms_intern_get(&writer->lines, key.op);
        add_frame(writer, (struct ms_text){.s = op.s, .length_b = op.length_b}, FRAME_OP);
    }
    if (key.python_stack != 0 && stacks->python_stack != NULL) {
        add_stack(writer, stacks->python_stack(stacks->self, key.python_stack), FRAME_PYTHON);
    }
    ms_pickle_op(out, MS_PICKLE_APPENDS);
}

/* ---- lists that grow ---- */

static void close_list(struct ms_viz_writer *writer)
{
    if (writer->open != NULL) {
        ms_pickle_op(&writer->out, MS_PICKLE_APPENDS);
        ms_pickle_op(&writer->out, MS_PICKLE_SETITEM);
        writer->open = NULL;
    }
}

static void open_list(struct ms_viz_writer *writer, struct ms_viz_list *list)
{
    if (writer->open == list && ++writer->open_items < ITEMS_MAX) {
        return;
    }
    close_list(writer);
    ms_viz_word(writer, MS_VIZ_NPUSCOPE);
    if (list->number == 0) {
        list->number = writer->numbers++;
        ms_pickle_op(&writer->out, MS_PICKLE_LIST);
        ms_pickle_put(&writer->out, list->number);
    } else {
        ms_pickle_get(&writer->out, list->number);
    }
    ms_pickle_op(&writer->out, MS_PICKLE_MARK);
    writer->open = list;
    writer->open_items = 0;
}

static void add_number(struct ms_viz_writer *writer, enum ms_viz_word key, uint64_t number)
{
    ms_viz_word(writer, key);
    ms_pickle_u64(&writer->out, number);
}

static void add_word(struct ms_viz_writer *writer, enum ms_viz_word key, enum ms_viz_word value)
{
    ms_viz_word(writer, key);
    ms_viz_word(writer, value);
}

void ms_viz_add(struct ms_viz_writer *writer, struct ms_viz_list *list, const struct ms_viz_entry *entry)
{
    struct ms_buffer *out = &writer->out;
    open_list(writer, list);
    ms_pickle_op(out, MS_PICKLE_DICT);
    if (entry->number != 0) {
        ms_pickle_put(out, entry->number);
    }
    ms_pickle_op(out, MS_PICKLE_MARK);
    add_word(writer, MS_VIZ_ACTION, entry->action);
    add_number(writer, entry->action == MS_VIZ_OOM ? MS_VIZ_DEVICE_FREE : MS_VIZ_ADDR, entry->addr);
    add_number(writer, MS_VIZ_SIZE, entry->size_b);
    add_number(writer, MS_VIZ_STREAM, 0);
    ms_viz_word(writer, MS_VIZ_FRAMES);
    add_frames(writer, entry->frames);
    add_number(writer, MS_VIZ_TIME_US, entry->time_ns / 1000);
    if (entry->category.length_b != 0) {
        ms_viz_word(writer, MS_VIZ_CATEGORY);
        ms_pickle_text(out, entry->category.s, entry->category.length_b);
        writer->categories = true;
    }
    ms_pickle_op(out, MS_PICKLE_SETITEMS);
}

void ms_viz_categorize(struct ms_viz_writer *writer, uint32_t number, struct ms_text category)
{
    struct ms_buffer *out = &writer->out;
    close_list(writer);
    ms_viz_word(writer, MS_VIZ_NPUSCOPE);
    ms_pickle_get(out, number);
    ms_viz_word(writer, MS_VIZ_CATEGORY);
    ms_pickle_text(out, category.s, category.length_b);
    ms_pickle_op(out, MS_PICKLE_SETITEM);
    ms_pickle_op(out, MS_PICKLE_SETITEM);
    writer->categories = true;
}

void ms_viz_annotate(struct ms_viz_writer *writer, struct ms_viz_list *list, struct ms_text name,
                     enum ms_viz_word stage, int64_t device, uint64_t time_ns)
{
    struct ms_buffer *out = &writer->out;
    open_list(writer, list);
    ms_pickle_op(out, MS_PICKLE_DICT);
    ms_pickle_op(out, MS_PICKLE_MARK);
    ms_viz_word(writer, MS_VIZ_NAME);
    ms_pickle_text(out, name.s, name.length_b);
    add_word(writer, MS_VIZ_STAGE, stage);
    if (device >= 0) {
        add_number(writer, MS_VIZ_DEVICE, (uint64_t)device);
    }
    add_number(writer, MS_VIZ_TIME_US, time_ns / 1000);
    ms_pickle_op(out, MS_PICKLE_SETITEMS);
}

/* ---- final state ---- */

void ms_viz_open_key(struct ms_viz_writer *writer, enum ms_viz_word key)
{
    close_list(writer);
    ms_viz_word(writer, key);
    ms_pickle_op(&writer->out, MS_PICKLE_LIST);
    ms_pickle_op(&writer->out, MS_PICKLE_MARK);
    writer->open_items = 0;
}

static void next_item(struct ms_viz_writer *writer)
{
    if (++writer->open_items == ITEMS_MAX) {
        ms_pickle_op(&writer->out, MS_PICKLE_APPENDS);
        ms_pickle_op(&writer->out, MS_PICKLE_MARK);
        writer->open_items = 0;
    }
}

void ms_viz_item(struct ms_viz_writer *writer, struct ms_viz_list *list)
{
    if (list != NULL && list->number != 0) {
        ms_pickle_get(&writer->out, list->number);
    } else {
        ms_pickle_op(&writer->out, MS_PICKLE_LIST);
    }
    next_item(writer);
}

void ms_viz_close_key(struct ms_viz_writer *writer)
{
    ms_pickle_op(&writer->out, MS_PICKLE_APPENDS);
    ms_pickle_op(&writer->out, MS_PICKLE_SETITEM);
}

void ms_viz_list(struct ms_viz_writer *writer, enum ms_viz_word key, struct ms_viz_list *list)
{
    close_list(writer);
    ms_viz_word(writer, key);
    if (list->number != 0) {
        ms_pickle_get(&writer->out, list->number);
    } else {
        ms_pickle_op(&writer->out, MS_PICKLE_LIST);
    }
    ms_pickle_op(&writer->out, MS_PICKLE_SETITEM);
}

/* block NULL: free memory. */
static void add_block(struct ms_viz_writer *writer, uint64_t addr, uint64_t size_b, const struct ms_range *block)
{
    struct ms_buffer *out = &writer->out;
    ms_pickle_op(out, MS_PICKLE_DICT);
    ms_pickle_op(out, MS_PICKLE_MARK);
    add_number(writer, MS_VIZ_ADDRESS, addr);
    add_number(writer, MS_VIZ_SIZE, size_b);
    add_number(writer, MS_VIZ_REQUESTED_SIZE, block != NULL ? size_b : 0);
    add_word(writer, MS_VIZ_STATE, block != NULL ? MS_VIZ_ACTIVE_ALLOCATED : MS_VIZ_INACTIVE);
    ms_viz_word(writer, MS_VIZ_FRAMES);
    add_frames(writer, block != NULL ? block->frames : 0);
    ms_pickle_op(out, MS_PICKLE_SETITEMS);
    ms_viz_flush(writer, false);
}

/* Blocks fill a segment without gaps; one that extends beyond it is trimmed. Returns the bytes in use. */
static uint64_t add_blocks(struct ms_viz_writer *writer, uint64_t addr, uint64_t end, const struct ms_ranges *blocks)
{
    uint64_t used_b = 0;
    unsigned items = 0;
    ms_pickle_op(&writer->out, MS_PICKLE_LIST);
    ms_pickle_op(&writer->out, MS_PICKLE_MARK);
    while (addr < end) {
        const struct ms_range *block = ms_ranges_over(blocks, addr, end - addr);
        uint64_t next = block == NULL ? end : block->addr > addr ? block->addr : ms_range_end(block);
        next = next < end ? next : end;
        block = block != NULL && block->addr <= addr ? block : NULL;
        used_b += block != NULL ? next - addr : 0;
        if (++items % ITEMS_MAX == 0) {
            ms_pickle_op(&writer->out, MS_PICKLE_APPENDS);
            ms_pickle_op(&writer->out, MS_PICKLE_MARK);
        }
        add_block(writer, addr, next - addr, block);
        addr = next;
    }
    ms_pickle_op(&writer->out, MS_PICKLE_APPENDS);
    return used_b;
}

void ms_viz_segments(struct ms_viz_writer *writer, uint32_t device, const struct ms_ranges *segments,
                     const struct ms_ranges *blocks)
{
    struct ms_buffer *out = &writer->out;
    for (const struct ms_range *segment = ms_ranges_from(segments, 0); segment != NULL;) {
        const struct ms_range *last = segment, *next;
        while ((next = ms_ranges_from(segments, ms_range_end(last))) != NULL && next->addr == ms_range_end(last) &&
               next->handle != 0 && last->handle != 0) { /* mapped consecutively: an expandable segment */
            last = next;
        }
        uint64_t end = ms_range_end(last);
        ms_pickle_op(out, MS_PICKLE_DICT);
        ms_pickle_op(out, MS_PICKLE_MARK);
        add_number(writer, MS_VIZ_DEVICE, device);
        add_number(writer, MS_VIZ_ADDRESS, segment->addr);
        add_number(writer, MS_VIZ_TOTAL_SIZE, end - segment->addr);
        add_number(writer, MS_VIZ_STREAM, 0);
        add_word(writer, MS_VIZ_SEGMENT_TYPE, end - segment->addr > SMALL_MAX_B ? MS_VIZ_LARGE : MS_VIZ_SMALL);
        ms_viz_word(writer, MS_VIZ_SEGMENT_POOL_ID);
        ms_pickle_u64(out, 0);
        ms_pickle_u64(out, 0);
        ms_pickle_op(out, MS_PICKLE_TUPLE2);
        ms_viz_word(writer, MS_VIZ_IS_EXPANDABLE);
        ms_pickle_bool(out, segment->handle != 0);
        ms_viz_word(writer, MS_VIZ_FRAMES);
        add_frames(writer, segment->frames);
        ms_viz_word(writer, MS_VIZ_BLOCKS);
        uint64_t used_b = add_blocks(writer, segment->addr, end, blocks);
        add_number(writer, MS_VIZ_ALLOCATED_SIZE, used_b);
        add_number(writer, MS_VIZ_ACTIVE_SIZE, used_b);
        add_number(writer, MS_VIZ_REQUESTED_SIZE, used_b);
        ms_pickle_op(out, MS_PICKLE_SETITEMS);
        next_item(writer);
        segment = ms_ranges_from(segments, end);
    }
}
