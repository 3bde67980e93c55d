/* SPDX-License-Identifier: Apache-2.0 */
/* What the memory of a recording was used for: the results of all report analyses as plain data, one structure per
 * input. Text (memscope/render/report_text.c), JSON (memscope/render/report_json.c) and the HTML page are built from
 * this data alone; docs/format/report.md describes it as JSON.
 *
 *     struct ms_report_builder *builder;
 *     ms_report_begin(&options, &builder);
 *     for each process: ms_source_feed(source, i, &model_options, &listener)   // with ms_report_process_begin / _end
 *     const struct ms_report *report = ms_report_finish(builder);
 *     ms_report_free(builder);                                                 // frees the results, too
 *
 * Values of one device:
 *   driver    bytes that the process has from the driver (halMemAlloc, halMemCreate)
 *   reserved  bytes that pools report to hold; 0 without a pool
 *   used      bytes in use: pool blocks, and driver memory that does not belong to a pool ("direct")
 * A block inside a pool is never counted again with the segment that contains it.
 *
 * Times are nanoseconds since `begin_ns` of the process. Site ids are indexes in `sites` of the process;
 * MS_REPORT_NO_SITE: unknown. Texts are terminated, never NULL (empty: unknown), and valid as long as the builder
 * exists. */
#ifndef MS_REPORT_REPORT_H
#define MS_REPORT_REPORT_H

#include "memscope/model/model.h"
#include "memscope/model/stacks.h"

#define MS_REPORT_NO_SITE 0xffffffffu
#define MS_REPORT_POINTS  2000u /* maximum length of a series */

/* ---- names ---- */

/* What memory is used for, as far as owners show it: name, title. In the order of a stacked chart, from the bottom. */
#define MS_OWNER_CLASSES(X)                                                                                            \
    X(WEIGHT, "weight", "Weights")                                                                                     \
    X(OPTIMIZER, "optimizer_state", "Optimizer state")                                                                 \
    X(GRADIENT, "gradient", "Gradients")                                                                               \
    X(ACTIVATION, "activation", "Activations")                                                                         \
    X(OPERATOR, "ops", "Used by operators")                                                                            \
    X(POOL, "pool", "Other pool memory")                                                                               \
    X(WORKSPACE, "workspace", "Workspaces")                                                                            \
    X(ATB, "atb", "ATB")                                                                                               \
    X(DRIVER, "driver", "Driver memory outside pools")                                                                 \
    X(PINNED, "pinned", "Pinned host memory")                                                                          \
    X(HOST, "host", "CPU tensors")

enum ms_owner_class {
#define X(name, text, title) MS_CLASS_##name,
    MS_OWNER_CLASSES(X)
#undef X
        MS_CLASS_COUNT
};
const char *ms_owner_class_name(unsigned class);
const char *ms_owner_class_title(unsigned class);
/* The class of a block with this owner text. */
enum ms_owner_class ms_owner_class_of(const struct ms_block *block, struct ms_text owner);

/* Patterns of waste: the one table from which text, JSON, page and documentation are generated. */
struct ms_pattern {
    const char *name;    /* early_allocation */
    const char *title;   /* Allocated too early */
    const char *meaning; /* what was observed */
    const char *remedy;  /* what to do */
};
enum ms_pattern_id {
    MS_PATTERN_OOM,
    MS_PATTERN_LEAK,
    MS_PATTERN_EARLY,
    MS_PATTERN_LATE,
    MS_PATTERN_IDLE,
    MS_PATTERN_UNUSED,
    MS_PATTERN_REDUNDANT,
    MS_PATTERN_DEAD_WRITE,
    MS_PATTERN_OVERALLOCATION,
    MS_PATTERN_GROWING,
    MS_PATTERN_OVER_RESERVE,
    MS_PATTERN_FRAGMENTATION,
    MS_PATTERN_SPLIT_WASTE,
    MS_PATTERN_STREAM_BLOCKED,
    MS_PATTERN_COUNT
};
extern const struct ms_pattern ms_patterns[MS_PATTERN_COUNT];

/* ---- results ---- */

struct ms_report_frame {
    bool python;
    const char *function, *file; /* file: source, else the library */
    uint32_t line;               /* 0: unknown */
};

/* Where blocks are allocated: a call stack, or what is known without one. */
struct ms_report_site {
    const char *label; /* one line: "defects.c:112 plant_leak", "in aten.clone.default", "PTA blocks" */
    const char *shown; /* label, with a suffix if several sites share it: "... (cache.c:51)" */
    const char *op;    /* operator running at the time */
    const struct ms_report_frame *frames; /* innermost first; without recorder frames */
    size_t frame_count;
};

struct ms_report_amount { /* of an owner, a site, or both */
    const char *owner;    /* empty: amounts are by site only */
    enum ms_owner_class class;
    uint32_t site; /* NO_SITE: amounts are by owner only */
    uint64_t blocks, bytes;
};

struct ms_report_block {
    uint64_t addr, size_b, t_ns; /* t_ns: time of its allocation */
    uint32_t step, site;
    uint8_t space; /* enum ms_space; MS_SPACE_HAL: driver memory */
    const char *owner, *op;
};

/* Accounts for every byte of driver memory at one moment. driver = sum of the pools' reserved + sum of modules; what
 * the driver reports for the process beyond that is `rest_b`. */
struct ms_report_pool {
    uint8_t space; /* enum ms_space */
    const char *name;
    uint64_t reserved_b, used_b, blocks; /* reserved 0: not reported by the pool */
};
struct ms_report_module {
    const char *name; /* "RUNTIME" */
    uint64_t bytes, blocks;
};
struct ms_report_account {
    uint64_t driver_b, segments; /* segments: driver blocks that pools use */
    uint64_t segment_b;          /* their bytes */
    const struct ms_report_pool *pools;
    size_t pool_count;
    const struct ms_report_module *modules; /* driver memory outside pools, by module */
    size_t module_count;
    uint64_t pinned_b;                                      /* pinned host memory of the whole process */
    bool usage_known;                                       /* the driver was queried */
    uint64_t process_used_b, device_used_b, device_total_b; /* as reported by the driver, adjusted for later requests */
    uint64_t rest_b; /* process_used - driver: memory of the process beyond its requests to the driver */
};

/* The exact live set at one moment. */
struct ms_report_moment {
    uint64_t t_ns;
    uint64_t used_b, reserved_b, driver_b;
    uint32_t step;  /* 0: before the first */
    const char *op; /* running at the time */
    uint32_t site;  /* of the allocation that reached the peak */
    uint64_t blocks;
    const struct ms_report_amount *owners; /* largest first; complete */
    size_t owner_count;
    const struct ms_report_amount *sites; /* by owner and site, largest first, at most `top`, then the rest: NO_SITE */
    size_t site_count;
    const struct ms_report_block *top; /* largest first, at most `top` */
    size_t top_count;
    struct ms_report_account account;
};

/* Usage over time. A point covers the time up to the next one; its values are those of the moment in it at which `used`
 * was largest, so the classes add up to `used`, and the peak is one of the points. */
struct ms_report_point {
    uint64_t t_ns;
    uint64_t used_b, reserved_b, driver_b;
    uint64_t classes_b[MS_CLASS_COUNT];
};

/* Free memory in pools over time, and what prevents it from being returned to the driver. */
struct ms_report_free {
    uint64_t t_ns;
    uint64_t reserved_b, used_b, largest_free_b; /* largest_free: longest range without a block in a segment */
    uint64_t empty_b;                            /* in segments without any block */
    uint64_t pinned_free_b;                      /* free bytes in segments that are at most a quarter full */
};
struct ms_report_pin { /* a segment kept by a few bytes */
    uint64_t addr, size_b, used_b, blocks;
    struct ms_report_block largest; /* the largest block inside */
};
struct ms_report_fragmentation {
    const struct ms_report_free *points;
    size_t point_count;
    uint64_t worst_t_ns, worst_pinned_free_b; /* when most was pinned */
    const struct ms_report_pin *pins;         /* at that moment: most free bytes first, at most `top` */
    size_t pin_count;
    uint64_t pin_total; /* total number */
};

struct ms_report_step {
    uint32_t step;
    bool ended; /* false: the recording ends within the step */
    uint64_t begin_ns, end_ns;
    uint64_t begin_b, end_b, peak_b, reserved_b; /* used; reserved: maximum */
    uint64_t allocations, allocated_b, frees, freed_b;
    uint64_t survivor_b, survivor_blocks;     /* allocated in the step and live at its end */
    const struct ms_report_amount *survivors; /* by site, largest first, at most 5 */
    size_t survivor_count;
};

struct ms_report_growth { /* of `used` at the ends of steps, without the first step */
    bool known;           /* at least three steps */
    uint32_t from_step, to_step;
    int64_t bytes;      /* last - first */
    int64_t per_step_b; /* median of the differences */
};

struct ms_report_op {
    const char *name;
    uint64_t calls, allocations, allocated_b;
    uint64_t rise_b;    /* maximum rise of `used` during one call */
    uint64_t at_peak_b; /* bytes in the peak's live set that were allocated in it */
};

/* One piece of advice: blocks of one site that show one pattern. */
struct ms_report_finding {
    enum ms_pattern_id pattern;
    bool minor;       /* saves less than 1 % of the peak and of reserved memory: shown on request only */
    const char *text; /* one sentence: the observation, and what a change would gain */
    uint32_t site;
    const char *op;              /* in which the blocks were allocated */
    const char *from_op, *to_op; /* the waste lies between these: early: -, first use; late: last use, - */
    uint32_t first_step, last_step;
    uint64_t blocks, bytes;    /* in total */
    uint64_t at_stake_b;       /* maximum wasted at one moment */
    uint64_t saves_peak_b;     /* reduction of the peak of `used` if fixed, from a replay of the events */
    uint64_t saves_reserved_b; /* pool patterns: bytes that could be returned to the driver */
    uint64_t t_ns;             /* start of the first occurrence */
    uint64_t addr, size_b;     /* of the largest block */
    const char *confidence;    /* leaks: "high", "medium", "low"; otherwise empty */
};

struct ms_report_device {
    uint32_t device;                   /* MS_DEV_CPU: the host */
    const char *name;                  /* "npu 0", "cpu" */
    struct ms_report_moment peak, end; /* end: the last moment before the process exited */
    const struct ms_report_point *points;
    size_t point_count;
    struct ms_report_fragmentation fragmentation;
    const struct ms_report_step *steps;
    size_t step_count;
    uint64_t steps_left_out; /* beyond the limit */
    struct ms_report_growth growth;
    const struct ms_report_op *ops; /* largest rise first */
    size_t op_count;
    uint64_t ops_left_out;
    const struct ms_report_finding *findings; /* most important first */
    size_t finding_count;
    uint64_t saves_together_b; /* saving if all findings about single blocks are fixed together */
    bool exact;                /* false: savings are lower bounds, because there were too many events to keep each */
};

struct ms_report_gap {
    uint64_t since_ns, until_ns, lost, lost_memory;
    const char *cause;
};

enum ms_note_level { MS_NOTE_REMARK, MS_NOTE_WARNING, MS_NOTE_PARTIAL };
struct ms_report_note {
    enum ms_note_level level;
    const char *text;
};

struct ms_report_process {
    uint32_t pid;
    const char *name, *path, *source; /* source: trace, csv, db */
    const char *command;              /* with arguments */
    uint64_t begin_ns, duration_ns;   /* begin: realtime */
    uint64_t events, blocks;
    uint64_t accesses; /* 0: none were recorded, so nothing is known about use */
    uint64_t lost, lost_memory;
    const struct ms_report_gap *gaps; /* the first 100 */
    size_t gap_count;
    uint64_t gap_total;
    const struct ms_report_note *notes;
    size_t note_count;
    const struct ms_report_site *sites; /* only sites that are referenced */
    size_t site_count;
    const struct ms_report_device *devices; /* NPUs by number, then the host */
    size_t device_count;
};

struct ms_report {
    const char *input;
    bool partial;                       /* some input was unreadable, or events were lost */
    const struct ms_report_note *notes; /* about the input as a whole */
    size_t note_count;
    const struct ms_report_process *processes;
    size_t process_count;
    const struct ms_ranks *ranks; /* memscope/analyze/report/ranks.h; NULL: fewer than two, or not requested */
};

/* ---- building a report ---- */

struct ms_report_inefficient {
    uint32_t pid, device, step;
    uint64_t addr, malloc_ns, size_b; /* address and time of its MALLOC row */
    uint8_t found;                    /* as ms_block.inefficient */
};

struct ms_report_options {
    const char *input;
    uint32_t top;            /* length of lists; 0: 10 */
    uint32_t idle_threshold; /* operators; 0: 3000 */
    uint32_t peak_step;      /* report the peak of this step; 0: of the whole recording */
    /* Called for every block that is inefficient as defined in inefficient.h, when it ends. May be NULL. */
    void (*inefficient)(void *argument, const struct ms_report_inefficient *block);
    void *argument;
};

struct ms_report_builder;

int ms_report_begin(const struct ms_report_options *options, struct ms_report_builder **out);
/* Sets the model options required for a complete report. */
void ms_report_model_options(struct ms_model_options *out);
/* For ms_source_listener: begin adds consumers to the model; end builds the results while texts are still available. */
int ms_report_process_begin(struct ms_report_builder *builder, uint32_t pid, struct ms_model *model);
int ms_report_process_end(struct ms_report_builder *builder, struct ms_model *model, struct ms_stack_source stacks,
                          const char *name, const char *path, const char *source);
/* Sets the command line of the process that ended last. */
void ms_report_process_command(struct ms_report_builder *builder, const char *command);
/* Adds a note about the input, or about the process being read, if any; level PARTIAL marks the report as partial. */
void ms_report_note(struct ms_report_builder *builder, enum ms_note_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* NULL: out of memory. */
const struct ms_report *ms_report_finish(struct ms_report_builder *builder);
void ms_report_free(struct ms_report_builder *builder);

#endif
