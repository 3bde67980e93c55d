/* SPDX-License-Identifier: Apache-2.0 */
/* check_inefficient: applies the rules of memscope/analyze/inefficient.h to the rows of a dump and writes the results
 * into it.
 *
 * Blocks are identified by process and allocation id. Memory: O(live blocks + inefficient blocks), plus what reading an
 * unsorted dump requires. */
#include "memscope/analyze/inefficient.h"
#include "memscope/analyze/offline/offline.h"

#include "memscope/source/words.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum inefficient_row { OPERATOR, MALLOC, ACCESS, FREE, GONE }; /* detail: row type, or framework */

struct offline_block {
    struct ms_stamps stamps;
    uint64_t row, size_b;
    uint8_t framework;
};

struct offline_process {
    uint32_t pid;
    struct ms_inefficient counters;
    struct ms_map number_of_block; /* by allocation id */
    struct offline_block *blocks;
    uint32_t used, room;
    uint32_t spare;      /* free list of blocks through `row`, number + 1 */
    struct ms_map found; /* MALLOC row -> types */
};

struct inefficient_check {
    uint64_t mem_size_b, idle;
    unsigned types; /* bit 1 << MS_INEFFICIENT_* */
    struct offline_process *processes;
    size_t count, last;
    struct ms_check_inefficient_result result;
};

/* ---- rows ---- */

#define OF_MEMORY (MS_WISH(ALLOCATION_ID) | MS_WISH(SIZE) | MS_WISH(PINNED) | MS_WISH(SHADOW))

static const struct ms_source_wish wish = {
    .attrs[MS_EV_MALLOC] = OF_MEMORY,
    .attrs[MS_EV_FREE] = OF_MEMORY,
    .attrs[MS_EV_ACCESS] = MS_WISH(ALLOCATION_ID) | MS_WISH(TYPE),
};

static unsigned framework_of(unsigned type)
{
    switch (type) {
    case MS_TYPE_PTA:
        return MS_FRAMEWORK_PTA;
    case MS_TYPE_ATB:
        return MS_FRAMEWORK_ATB;
    case MS_TYPE_HOST:
        return MS_FRAMEWORK_HOST;
    default:
        return MS_FRAMEWORK_NONE;
    }
}

static bool choose(void *self, const struct ms_row *row, struct ms_offline_event *event)
{
    (void)self;
    const struct ms_attr *attr;
    event->number = row->allocation_id;
    switch (row->event) {
    case MS_EV_OP_LAUNCH:
        event->kind = OPERATOR;
        event->detail = row->type;
        return true;
    case MS_EV_ACCESS: /* counted for the memory of its block, or, if that is unknown, of the pool in the row */
        attr = ms__attr(row, MS_ATTR_TYPE);
        event->kind = ACCESS;
        event->detail = (uint8_t)framework_of(attr != NULL && attr->form == MS_FORM_TEXT
                                                  ? ms__type_of(attr->text.s, attr->text.length_b)
                                                  : (unsigned)MS_TYPE_PTA);
        return true;
    case MS_EV_MALLOC:
    case MS_EV_FREE:
        event->detail = (uint8_t)framework_of(row->type);
        event->kind = row->event == MS_EV_MALLOC ? MALLOC : FREE;
        if (event->detail == MS_FRAMEWORK_NONE || ms__attr(row, MS_ATTR_PINNED) != NULL) {
            return false;
        }
        if (ms__attr(row, MS_ATTR_SHADOW) != NULL) { /* not traced: no event, but the block is another one now */
            event->kind = GONE;
        }
        attr = ms__attr(row, MS_ATTR_SIZE);
        event->size_b = attr != NULL && attr->form == MS_FORM_NUMBER ? attr->number : 0;
        return true;
    default:
        return false;
    }
}

static struct offline_process *process_of(struct inefficient_check *check, uint32_t pid)
{
    for (size_t i = 0; i < check->count; i++) {
        size_t at = (check->last + i) % check->count;
        if (check->processes[at].pid == pid) {
            check->last = at;
            return &check->processes[at];
        }
    }
    struct offline_process *processes = realloc(check->processes, (check->count + 1) * sizeof(*processes));
    if (processes == NULL) {
        return NULL;
    }
    check->processes = processes;
    check->last = check->count++;
    processes[check->last] = (struct offline_process){.pid = pid, .counters = {.threshold = check->idle}};
    return &processes[check->last];
}

static struct offline_block *find_block(struct offline_process *process, uint64_t allocation_id)
{
    const uint64_t *number = ms_map_get(&process->number_of_block, allocation_id);
    return number != NULL ? &process->blocks[*number] : NULL;
}

static struct offline_block *add_block(struct offline_process *process, const struct ms_offline_event *event)
{
    uint32_t number = process->spare != 0 ? process->spare - 1 : process->used;
    if (number == process->room) {
        uint32_t room = process->room != 0 ? process->room * 2 : 1024;
        struct offline_block *blocks = realloc(process->blocks, room * sizeof(*blocks));
        if (blocks == NULL) {
            return NULL;
        }
        process->blocks = blocks;
        process->room = room;
    }
    if (ms_map_put(&process->number_of_block, event->number, number) == NULL) {
        return NULL;
    }
    struct offline_block *block = &process->blocks[number];
    if (process->spare != 0) {
        process->spare = (uint32_t)block->row;
    } else {
        process->used++;
    }
    *block = (struct offline_block){.row = event->id, .size_b = event->size_b, .framework = event->detail};
    return block;
}

static void drop_block(struct offline_process *process, uint64_t allocation_id)
{
    uint64_t number;
    if (ms_map_remove(&process->number_of_block, allocation_id, &number)) {
        process->blocks[number].row = process->spare;
        process->spare = (uint32_t)number + 1;
    }
}

static int keep(struct inefficient_check *check, struct offline_process *process, const struct offline_block *block,
                unsigned type)
{
    if ((check->types & 1u << type) == 0 || block->size_b < check->mem_size_b) {
        return 0;
    }
    check->result.blocks[type - 1]++;
    check->result.bytes[type - 1] += block->size_b;
    uint64_t *found = ms_map_at(&process->found, block->row, 0, NULL);
    if (found == NULL) {
        return -ENOMEM;
    }
    *found = ms_inefficient_add((uint8_t)*found, type);
    return 0;
}

static int memory_event(struct inefficient_check *check, struct offline_process *process,
                        const struct ms_offline_event *event)
{
    struct offline_block *block = NULL; /* rows without an allocation id cannot be assigned to a block */
    struct ms_stamps unknown = {0};
    if (event->kind == MALLOC && event->number != 0) {
        drop_block(process, event->number);
        if ((block = add_block(process, event)) == NULL) {
            return -ENOMEM;
        }
    } else if (event->number != 0) {
        block = find_block(process, event->number);
    }
    unsigned framework = block != NULL ? block->framework : event->detail, found = 0;
    struct ms_stamps *stamps = block != NULL ? &block->stamps : &unknown;
    if (framework == MS_FRAMEWORK_NONE) {
        return 0;
    }
    if (event->kind == MALLOC) {
        ms_inefficient_malloc(&process->counters, framework, stamps);
    } else if (event->kind == ACCESS) {
        found = ms_inefficient_access(&process->counters, framework, stamps);
    } else {
        found = ms_inefficient_free(&process->counters, framework, stamps);
    }
    int rc = 0;
    for (unsigned pattern = MS_INEFFICIENT_EARLY; rc == 0 && pattern <= MS_INEFFICIENT_IDLE; pattern++) {
        rc = (found >> pattern & 1) != 0 ? keep(check, process, block, pattern) : 0;
    }
    if (event->kind == FREE) {
        drop_block(process, event->number);
    }
    return rc;
}

static int take(void *self, const struct ms_offline_event *event)
{
    struct inefficient_check *check = self;
    struct offline_process *process = process_of(check, event->pid);
    if (process == NULL) {
        return -ENOMEM;
    }
    switch ((enum inefficient_row)event->kind) {
    case OPERATOR:
        ms_inefficient_op(&process->counters, event->detail);
        return 0;
    case GONE:
        drop_block(process, event->number);
        return 0;
    default:
        return memory_event(check, process, event);
    }
}

static void restart(void *self)
{
    struct inefficient_check *check = self;
    for (size_t i = 0; i < check->count; i++) {
        ms_map_free(&check->processes[i].number_of_block);
        ms_map_free(&check->processes[i].found);
        free(check->processes[i].blocks);
    }
    free(check->processes);
    check->processes = NULL;
    check->count = check->last = 0;
    check->result = (struct ms_check_inefficient_result){0};
}

/* ---- writing back ---- */

uint8_t ms_offline_found(const struct ms_offline_results *results, uint32_t pid, uint64_t id)
{
    for (size_t i = 0; i < results->count; i++) {
        if (results->processes[i].pid == pid) {
            const uint64_t *found = ms_map_get(&results->processes[i].found, id);
            return found != NULL ? (uint8_t)*found : 0;
        }
    }
    return 0;
}

static int write_back(struct ms_offline *offline, struct inefficient_check *check)
{
    struct ms_offline_results results = {.processes = calloc(check->count + 1, sizeof(*results.processes))};
    if (results.processes == NULL) {
        return ms_offline_fail(offline, -ENOMEM, "%s", strerror(ENOMEM));
    }
    for (size_t i = 0; i < check->count; i++) { /* borrowed, not copied */
        results.processes[results.count].pid = check->processes[i].pid;
        results.processes[results.count++].found = check->processes[i].found;
    }
    int (*write_to)(struct ms_offline *, const struct ms_offline_results *, uint64_t *, char *, size_t) =
        offline->db ? ms_offline_write_db : ms_offline_write_csv;
    int rc = write_to(offline, &results, &check->result.rows_changed, check->result.kept, sizeof(check->result.kept));
    free(results.processes);
    return rc;
}

int ms_check_inefficient(const char *path, uint64_t mem_size_b, unsigned types, uint64_t idle_calls,
                         const struct ms_analyze_io *io, struct ms_check_inefficient_result *result, char *why,
                         size_t why_b)
{
    struct ms_offline offline;
    int rc = ms_offline_open(&offline, path, true, &wish, io, why, why_b);
    if (rc == 0 && (types == 0 || (types & ~(unsigned)MS_CHECK_ALL) != 0)) {
        rc = ms_offline_fail(&offline, -EINVAL, "inefficient_type: empty, or contains an unknown type");
    }
    if (rc == 0 && idle_calls == 0) {
        rc = ms_offline_fail(&offline, -EINVAL, "idle_threshold must be greater than 0");
    }
    if (rc == 0) {
        const char *format = offline.db ? "DB" : "CSV", *small = offline.db ? "db" : "csv";
        struct inefficient_check check = {.mem_size_b = mem_size_b, .idle = idle_calls, .types = types << 1};
        struct ms_offline_reader reader = {&check, choose, take, restart};
        ms_offline_line(&offline, "INFO: Connected to %s file", format);
        rc = ms_offline_read(&offline, &reader);
        if (rc == 0) {
            ms_offline_line(&offline, "INFO: %s file read successfully", format);
            ms_offline_line(&offline, "INFO: Connecting to %s %s to write results", small, offline.name);
            rc = write_back(&offline, &check);
        }
        if (rc == 0) {
            ms_offline_line(&offline, "INFO: All results have been successfully written to %s %s", small, offline.name);
            check.result.rows = offline.rows;
            check.result.rows_left_out = offline.left_out;
        }
        if (rc == 0 && result != NULL) {
            *result = check.result;
        }
        restart(&check);
    }
    ms_offline_close(&offline);
    return rc;
}
