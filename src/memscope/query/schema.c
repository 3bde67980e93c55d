/* SPDX-License-Identifier: Apache-2.0 */
/* See schema.h. */
#include "memscope/query/schema.h"

#include "base/macros.h"
#include "memscope/model/columns.h"

#include <string.h>

#define COLUMN(record, column, field, form, help)                                                                      \
    {                                                                                                                  \
        column, help, MS_QUERY_##form, offsetof(struct record, field)                                                  \
    }
#define COMPUTED(column, form, help)                                                                                   \
    {                                                                                                                  \
        column, help, MS_QUERY_##form, 0                                                                               \
    }

static const struct ms_query_column processes[] = {
    COLUMN(ms_process_record, "process", process, U32, "0, 1, 2 ... in the order of reading"),
    COLUMN(ms_process_record, "pid", pid, U32_OR_NULL, "process id"),
    COLUMN(ms_process_record, "name", name, TEXT, "name of its directory or file"),
    COLUMN(ms_process_record, "path", path, TEXT, "path it was read from"),
    COLUMN(ms_process_record, "kind", kind, TEXT, "trace, csv or db"),
    COLUMN(ms_process_record, "first_ns", first_ns, U64_OR_NULL, "time of its first event"),
    COLUMN(ms_process_record, "last_ns", last_ns, U64_OR_NULL, "time of its last event"),
    COLUMN(ms_process_record, "events", events, U64, "rows of a dump"),
    COLUMN(ms_process_record, "blocks", blocks, U64, "allocations"),
    COLUMN(ms_process_record, "lost", lost, U64, "events lost while recording"),
    COLUMN(ms_process_record, "complete", complete, U32, "0: not completely readable"),
};

static const struct ms_query_column devices[] = {
    COLUMN(ms_device_record, "process", process, U32, "see processes"),
    COLUMN(ms_device_record, "device", device, DEVICE, "number of the NPU, or 'cpu'"),
    COLUMN(ms_device_record, "pool", pool, POOL32, "HAL, PTA, PTA_WORKSPACE, ATB, MINDSPORE, HOST_PINNED, HOST"),
    COLUMN(ms_device_record, "blocks", blocks, U64, "allocations"),
    COLUMN(ms_device_record, "allocated", allocated_b, U64, "total bytes of all allocations"),
    COLUMN(ms_device_record, "peak", peak_b, U64, "maximum of live bytes"),
    COLUMN(ms_device_record, "peak_ns", peak_ns, U64_OR_NULL, "when that was first reached"),
    COLUMN(ms_device_record, "peak_step", peak_step, U32, "in which step; 0: before the first"),
    COLUMN(ms_device_record, "reserved_peak", reserved_peak_b, U64_OR_NULL, "maximum that the pool had reserved"),
    COLUMN(ms_device_record, "live_at_end", end_b, U64, "bytes that were never freed"),
    COLUMN(ms_device_record, "blocks_at_end", end_blocks, U64, "blocks that were never freed"),
};

static const struct ms_query_column steps[] = {
    COLUMN(ms_step_record, "process", process, U32, "see processes"),
    COLUMN(ms_step_record, "device", device, DEVICE, "number of the NPU, or 'cpu'"),
    COLUMN(ms_step_record, "step", step, U32, "1, 2, 3 ..."),
    COLUMN(ms_step_record, "begin_ns", begin_ns, U64, "when it began"),
    COLUMN(ms_step_record, "end_ns", end_ns, U64_OR_NULL, "when it ended"),
};

static const struct ms_query_column step_pools[] = {
    COLUMN(ms_step_pool_record, "process", process, U32, "see processes"),
    COLUMN(ms_step_pool_record, "device", device, DEVICE, "number of the NPU, or 'cpu'"),
    COLUMN(ms_step_pool_record, "step", step, U32, "1, 2, 3 ..."),
    COLUMN(ms_step_pool_record, "pool", pool, POOL32, "as in devices"),
    COLUMN(ms_step_pool_record, "live_at_begin", begin_b, U64, "bytes live when the step began"),
    COLUMN(ms_step_pool_record, "live_at_end", end_b, U64, "bytes live when it ended"),
    COLUMN(ms_step_pool_record, "peak", peak_b, U64, "maximum of live bytes in it"),
    COLUMN(ms_step_pool_record, "blocks", blocks, U64, "allocations in it"),
    COLUMN(ms_step_pool_record, "allocated", allocated_b, U64, "bytes of these"),
};

static const struct ms_query_column blocks[] = {
    COMPUTED("block", NUMBER, "its number, unique over all processes"),
    COLUMN(ms_block_record, "process", process, U32, "see processes"),
    COLUMN(ms_block_record, "allocation_id", allocation_id, U64,
           "its number in the process, as in dumps (see events.id)"),
    COLUMN(ms_block_record, "device", device, DEVICE, "number of the NPU, or 'cpu'"),
    COLUMN(ms_block_record, "pool", pool, POOL, "as in devices; pool bytes are contained in those of HAL"),
    COLUMN(ms_block_record, "addr", addr, HEX, "address, as in dumps"),
    COLUMN(ms_block_record, "size", size_b, U64, "bytes"),
    COLUMN(ms_block_record, "malloc_ns", malloc_ns, U64, "when it was allocated"),
    COLUMN(ms_block_record, "free_ns", free_ns, U64_OR_NULL, "when it was freed; NULL: never"),
    COLUMN(ms_block_record, "end", end, BLOCK_END,
           "freed, live, 'not traced' (freed while tracing was off), lost (its free)"),
    COLUMN(ms_block_record, "tid", tid, U32, "thread that allocated it"),
    COLUMN(ms_block_record, "step", step, U32, "step in which it was allocated; 0: before the first"),
    COLUMN(ms_block_record, "operator", op, TEXT, "operator running in the thread"),
    COLUMN(ms_block_record, "owner", owner, TEXT, "PTA@model@weight ..., as known at the end"),
    COLUMN(ms_block_record, "stack", stack, U32_OR_NULL, "see stacks"),
    COMPUTED("site", BLOCK_SITE, "innermost calls outside the allocator; without a stack, the operator"),
    COLUMN(ms_block_record, "at_peak", at_peak, FLAG, "1: live when its pool was at its maximum"),
    COLUMN(ms_block_record, "accesses", accesses, U32, "reads and writes by operators"),
    COLUMN(ms_block_record, "first_access_ns", first_access_ns, U64_OR_NULL, "time of the first"),
    COLUMN(ms_block_record, "last_access_ns", last_access_ns, U64_OR_NULL, "time of the last"),
    COLUMN(ms_block_record, "inefficient", inefficient, BLOCK_INEFFICIENT,
           MS_EARLY_ALLOCATION ", " MS_LATE_DEALLOCATION ", " MS_TEMPORARY_IDLENESS),
    COLUMN(ms_block_record, "module", module_id, BLOCK_MODULE, "part of CANN that requested it (HAL)"),
};

static const struct ms_query_column events[] = {
    COLUMN(ms_event_record, "process", process, U32, "see processes"),
    COLUMN(ms_event_record, "id", id, U64,
           "ID in the dump; for a trace: in a dump of everything recorded, --device=npu,cpu"),
    COLUMN(ms_event_record, "time_ns", time_ns, U64, "time of the event"),
    COLUMN(ms_event_record, "event", event, EVENT_EVENT, "MALLOC, FREE, ACCESS, OP_LAUNCH, KERNEL_LAUNCH, MSTX ..."),
    COLUMN(ms_event_record, "type", type, POOL, "Event Type of the dump"),
    COLUMN(ms_event_record, "name", name, TEXT, "operator, kernel, text of a mark"),
    COLUMN(ms_event_record, "tid", tid, U32, "thread"),
    COLUMN(ms_event_record, "device", device, DEVICE, "number of the NPU, or 'cpu'"),
    COLUMN(ms_event_record, "step", step, U32, "last step begun on the device"),
    COLUMN(ms_event_record, "addr", addr, EVENT_ADDR, "address, as in dumps"),
    COLUMN(ms_event_record, "size", size_b, EVENT_SIZE, "bytes"),
    COLUMN(ms_event_record, "used", used_b, EVENT_USED, "bytes in use in the pool after it"),
    COLUMN(ms_event_record, "reserved", reserved_b, EVENT_RESERVED, "bytes reserved by the pool after it"),
    COLUMN(ms_event_record, "block", block, EVENT_BLOCK, "the block concerned: blocks.block"),
    COLUMN(ms_event_record, "stack", stack, U32_OR_NULL, "see stacks"),
    COMPUTED("attr", EVENT_ATTR, "all attributes as JSON: json_extract(attr, '$.shape')"),
};

static const struct ms_query_column operators[] = {
    COMPUTED("number", NUMBER, "unique over all processes; in order of begin within each"),
    COLUMN(ms_operator_record, "process", process, U32, "see processes"),
    COLUMN(ms_operator_record, "name", name, TEXT, "torch._ops.aten.mm.default"),
    COLUMN(ms_operator_record, "kind", kind, TEXT, "aten, atb, or kernel (of ATB)"),
    COLUMN(ms_operator_record, "device", device, DEVICE, "number of the NPU, or 'cpu'"),
    COLUMN(ms_operator_record, "tid", tid, U32, "thread"),
    COLUMN(ms_operator_record, "depth", depth, U32, "0: not called by another operator"),
    COLUMN(ms_operator_record, "begin_ns", begin_ns, U64, "when it began"),
    COLUMN(ms_operator_record, "end_ns", end_ns, U64_OR_NULL, "when it ended"),
    COLUMN(ms_operator_record, "blocks", blocks, U64, "allocations in it, without those of nested operators"),
    COLUMN(ms_operator_record, "allocated", allocated_b, U64, "bytes of these"),
};

static const struct ms_query_column stacks[] = {
    COMPUTED("stack", NUMBER, "its number, unique over all processes"),
    COLUMN(ms_stack_record, "process", process, U32, "see processes"),
    COLUMN(ms_stack_record, "site", site, CALLS, "innermost calls outside the allocator"),
    COLUMN(ms_stack_record, "python", python, CALLS, "Python calls, innermost first, one per line"),
    COLUMN(ms_stack_record, "c", c, CALLS, "C calls, innermost first, one per line"),
};

#define SCHEMA(table, record, help)                                                                                    \
    {                                                                                                                  \
#table, help, sizeof(struct record), table, MS_COUNT_OF(table)                                                 \
    }

const struct ms_query_schema ms_query_schemas[MS_TABLE_COUNT] = {
    [MS_TABLE_PROCESSES] = SCHEMA(processes, ms_process_record, "what was read"),
    [MS_TABLE_DEVICES] = SCHEMA(devices, ms_device_record, "each pool of each device"),
    [MS_TABLE_STEPS] = SCHEMA(steps, ms_step_record, "steps of each device"),
    [MS_TABLE_STEP_POOLS] = SCHEMA(step_pools, ms_step_pool_record, "each pool in each step"),
    [MS_TABLE_BLOCKS] = SCHEMA(blocks, ms_block_record, "allocations, with everything known about each"),
    [MS_TABLE_EVENTS] = SCHEMA(events, ms_event_record, "rows of the dump, except FREE rows of unknown blocks"),
    [MS_TABLE_OPERATORS] = SCHEMA(operators, ms_operator_record, "each call of an operator"),
    [MS_TABLE_STACKS] = SCHEMA(stacks, ms_stack_record, "call stacks"),
};

const struct ms_query_view ms_query_views[] = {
    {"peak_blocks", "blocks live when their pool was at its maximum", "SELECT * FROM blocks WHERE at_peak"},
    {"live_blocks", "blocks that were never freed", "SELECT * FROM blocks WHERE free_ns IS NULL"},
    {"sites", "bytes each call site allocated, held at the peak, and never freed",
     "SELECT process, device, pool, site, count(*) AS blocks, sum(size) AS allocated, sum(size * at_peak) AS peak, "
     "sum(size * (free_ns IS NULL)) AS live_at_end FROM blocks GROUP BY process, device, pool, site"},
    {"owners", "the same for each owner",
     "SELECT process, device, pool, owner, count(*) AS blocks, sum(size) AS allocated, sum(size * at_peak) AS peak, "
     "sum(size * (free_ns IS NULL)) AS live_at_end FROM blocks GROUP BY process, device, pool, owner"},
    {"growth", "bytes each step left behind",
     "SELECT process, device, pool, step, live_at_end, live_at_end - lag(live_at_end, 1, live_at_begin) OVER "
     "(PARTITION BY process, device, pool ORDER BY step) AS growth, peak FROM step_pools"},
    {"marks", "marks and ranges of mstx", "SELECT * FROM events WHERE event = 'MSTX'"},
    {"accesses", "reads and writes by operators", "SELECT * FROM events WHERE event = 'ACCESS'"},
    {0},
};

void ms_query_schema_print(FILE *file)
{
    for (size_t i = 0; i < MS_TABLE_COUNT; i++) {
        const struct ms_query_schema *schema = &ms_query_schemas[i];
        fprintf(file, "%s%s: %s\n", i != 0 ? "\n" : "", schema->name, schema->help);
        for (size_t j = 0; j < schema->column_count; j++) {
            fprintf(file, "  %-15s %s\n", schema->columns[j].name, schema->columns[j].help);
        }
    }
    fputs("\nViews:\n", file);
    for (const struct ms_query_view *view = ms_query_views; view->name != NULL; view++) {
        fprintf(file, "  %-15s %s\n", view->name, view->help);
    }
    fputs("\nIn addition to SQLite's functions: human(bytes) returns '1.5 GiB'.\n", file);
}
