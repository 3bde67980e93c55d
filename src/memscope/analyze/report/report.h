/* SPDX-License-Identifier: Apache-2.0 */
/* What the memory of a recording was used for: the results of all analyses of the report as plain data, one structure
 * per input. Text (memscope/render/report_text.c), JSON (memscope/render/report_json.c) and the HTML page are made from it and from nothing
 * else; docs/format/report.md describes the same as JSON.
 *
 *     struct ms_report_builder *builder;
 *     ms_report_begin(&options, &builder);
 *     for each process: ms_source_feed(source, i, &model_options, &listener)   // with ms_report_process_begin / _end
 *     const struct ms_report *report = ms_report_finish(builder);
 *     ms_report_free(builder);                                                 // the results go with it
 *
 * Figures, of one device:
 *   driver    bytes that the process has from the driver (halMemAlloc, halMemCreate)
 *   reserved  bytes that pools say they hold; without any pool 0
 *   used      bytes that are really given out: blocks of pools, and driver memory that is no pool's ("direct")
 * A block inside of a pool is never counted a second time with the segment around it.
 *
 * Times are nanoseconds since `begin_ns` of the process. Ids of sites are indexes of `sites` of the process;
 * MS_REPORT_NO_SITE: not known. Texts are terminated, never NULL (empty: not known), and live as long as the builder.
 */
#ifndef MS_REPORT_REPORT_H
#define MS_REPORT_REPORT_H

#include "memscope/model/model.h"
#include "memscope/model/stacks.h"

#define MS_REPORT_NO_SITE 0xffffffffu
#define MS_REPORT_POINTS  2000u /* of a series, at most */

/* ---- words ---- */

/* What memory is for, as far as owners tell: name, title. The order is that of a stacked chart, from the bottom. */
#define MS_OWNER_CLASSES(X)                                                                                            \
    X(WEIGHT, "weight", "Weights")                                                                                     \
    X(OPTIMIZER, "optimizer_state", "Optimizer state")                                                                 \
    X(GRADIENT, "gradient", "Gradients")                                                                               \
    X(ACTIVATION, "activation", "Activations")                                                                         \
    X(OPERATOR, "ops", "Used by operators")                                                                            \
    X(POOL, "pool", "Other pool memory")                                                                               \
    X(WORKSPACE, "workspace", "Workspaces")                                                                            \
    X(ATB, "atb", "ATB")                                                                                               \
    X(DRIVER, "driver", "Driver memory of no pool")                                                                    \
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
/* Of a block whose owner's text is this. */
enum ms_owner_class ms_owner_class_of(const struct ms_block *block, struct ms_text owner);

/* Patterns of waste: the one table that text, JSON, page and documentation come from. */
struct ms_pattern {
    const char *name;    /* early_allocation */
    const char *title;   /* Allocated too early */
    const char *meaning; /* what was seen */
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
    uint32_t line;               /* 0: not known */
};

/* Where blocks are allocated: a call stack, or what is known without one. */
struct ms_report_site {
    const char *label; /* one line: "defects.c:112 plant_leak", "in aten.clone.default", "PTA blocks" */
    const char *shown; /* label, and what tells it from others with the same one: "... (cache.c:51)" */
    const char *op;    /* operator that was running */
    const struct ms_report_frame *frames; /* innermost first; without the frames of recorders */
    size_t frame_count;
};

struct ms_report_amount { /* of an owner, of a site, or of both */
    const char *owner;    /* empty: amounts of sites alone */
    enum ms_owner_class class;
    uint32_t site; /* NO_SITE: amounts of owners alone */
    uint64_t blocks, bytes;
};

struct ms_report_block {
    uint64_t addr, size_b, t_ns; /* t_ns: of its allocation */
    uint32_t step, site;
    uint8_t space; /* enum ms_space; MS_SPACE_HAL: memory of the driver */
    const char *owner, *op;
};

/* Where every byte of the driver's goes, at one moment. driver = sum of pools' reserved + sum of modules; what the
 * driver says of the process beyond that is `rest_b`. */
struct ms_report_pool {
    uint8_t space; /* enum ms_space */
    const char *name;
    uint64_t reserved_b, used_b, blocks; /* reserved 0: it says nothing of that */
};
struct ms_report_module {
    const char *name; /* "RUNTIME" */
    uint64_t bytes, blocks;
};
struct ms_report_account {
    uint64_t driver_b, segments; /* segments: blocks of the driver that pools use */
    uint64_t segment_b;          /* their bytes */
    const struct ms_report_pool *pools;
    size_t pool_count;
    const struct ms_report_module *modules; /* driver memory of no pool, by module */
    size_t module_count;
    uint64_t pinned_b;                                      /* host memory that is pinned, of the whole process */
    bool usage_known;                                       /* the driver was asked */
    uint64_t process_used_b, device_used_b, device_total_b; /* what it said, carried on by requests since */
    uint64_t rest_b; /* process_used - driver: what the process has beyond what it asked the driver for */
};

/* The exact live set of one moment. */
struct ms_report_moment {
    uint64_t t_ns;
    uint64_t used_b, reserved_b, driver_b;
    uint32_t step;  /* 0: before the first */
    const char *op; /* that was running */
    uint32_t site;  /* of the allocation that made it the peak */
    uint64_t blocks;
    const struct ms_report_amount *owners; /* largest first; all of them */
    size_t owner_count;
    const struct ms_report_amount *sites; /* by owner and site, largest first, at most `top`, then the rest: NO_SITE */
    size_t site_count;
    const struct ms_report_block *top; /* largest first, at most `top` */
    size_t top_count;
    struct ms_report_account account;
};

/* Usage over time. Every point stands for the time up to the next one; its figures are those of the moment in it at
 * which `used` was largest, so that the classes add up to `used`, and the peak is among the points. */
struct ms_report_point {
    uint64_t t_ns;
    uint64_t used_b, reserved_b, driver_b;
    uint64_t classes_b[MS_CLASS_COUNT];
};

/* Free memory in pools over time, and what keeps it from being given back. */
struct ms_report_free {
    uint64_t t_ns;
    uint64_t reserved_b, used_b, largest_free_b; /* largest_free: longest range of a segment without a block */
    uint64_t empty_b;                            /* of segments without any block */
    uint64_t pinned_free_b;                      /* free in segments that are at most a quarter full */
};
struct ms_report_pin { /* a segment that a few bytes keep */
    uint64_t addr, size_b, used_b, blocks;
    struct ms_report_block largest; /* of the blocks inside */
};
struct ms_report_fragmentation {
    const struct ms_report_free *points;
    size_t point_count;
    uint64_t worst_t_ns, worst_pinned_free_b; /* when most was pinned */
    const struct ms_report_pin *pins;         /* of that moment: most free bytes first, at most `top` */
    size_t pin_count;
    uint64_t pin_total; /* how many there were */
};

struct ms_report_step {
    uint32_t step;
    bool ended; /* false: the recording ends in it */
    uint64_t begin_ns, end_ns;
    uint64_t begin_b, end_b, peak_b, reserved_b; /* used; reserved at most */
    uint64_t allocations, allocated_b, frees, freed_b;
    uint64_t survivor_b, survivor_blocks;     /* allocated in it and alive at its end */
    const struct ms_report_amount *survivors; /* by site, largest first, at most 5 */
    size_t survivor_count;
};

struct ms_report_growth { /* of `used` at the ends of steps, without the first one */
    bool known;           /* three steps at least */
    uint32_t from_step, to_step;
    int64_t bytes;      /* last - first */
    int64_t per_step_b; /* median of the differences */
};

struct ms_report_op {
    const char *name;
    uint64_t calls, allocations, allocated_b;
    uint64_t rise_b;    /* by how much `used` rose in a call, at most */
    uint64_t at_peak_b; /* bytes of the peak's live set that were allocated in it */
};

/* One piece of advice: blocks of one site that show one pattern. */
struct ms_report_finding {
    enum ms_pattern_id pattern;
    bool minor;       /* saves less than 1 % of the peak and of what is reserved: shown on demand only */
    const char *text; /* one sentence: what it is, and what changing it gives */
    uint32_t site;
    const char *op;              /* in which the blocks were allocated */
    const char *from_op, *to_op; /* between which the waste lies: early: -, first use; late: last use, - */
    uint32_t first_step, last_step;
    uint64_t blocks, bytes;    /* all of them */
    uint64_t at_stake_b;       /* wasted at one moment, at most */
    uint64_t saves_peak_b;     /* by how much the peak of `used` falls if it is put right: the events replayed so */
    uint64_t saves_reserved_b; /* patterns of pools: bytes that could go back to the driver */
    uint64_t t_ns;             /* when the first one began */
    uint64_t addr, size_b;     /* of the largest block */
    const char *confidence;    /* leaks: "high", "medium", "low"; else empty */
};

struct ms_report_device {
    uint32_t device;                   /* MS_DEV_CPU: the host */
    const char *name;                  /* "npu 0", "cpu" */
    struct ms_report_moment peak, end; /* end: the last moment before the process was gone */
    const struct ms_report_point *points;
    size_t point_count;
    struct ms_report_fragmentation fragmentation;
    const struct ms_report_step *steps;
    size_t step_count;
    uint64_t steps_left_out; /* beyond what is kept */
    struct ms_report_growth growth;
    const struct ms_report_op *ops; /* largest rise first */
    size_t op_count;
    uint64_t ops_left_out;
    const struct ms_report_finding *findings; /* most important first */
    size_t finding_count;
    uint64_t saves_together_b; /* all findings about single blocks put right at once */
    bool exact;                /* false: savings are lower bounds, because events were too many to keep each */
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
    const char *command;              /* with its arguments */
    uint64_t begin_ns, duration_ns;   /* begin: realtime */
    uint64_t events, blocks;
    uint64_t accesses; /* 0: none were recorded, so nothing can be said about use */
    uint64_t lost, lost_memory;
    const struct ms_report_gap *gaps; /* the first 100 */
    size_t gap_count;
    uint64_t gap_total;
    const struct ms_report_note *notes;
    size_t note_count;
    const struct ms_report_site *sites; /* those that something refers to */
    size_t site_count;
    const struct ms_report_device *devices; /* NPUs by number, then the host */
    size_t device_count;
};

struct ms_report {
    const char *input;
    bool partial;                       /* something could not be read, or events were lost */
    const struct ms_report_note *notes; /* about the input as a whole */
    size_t note_count;
    const struct ms_report_process *processes;
    size_t process_count;
    const struct ms_ranks *ranks; /* memscope/analyze/report/ranks.h; NULL: less than two, or not asked for */
};

/* ---- making it ---- */

struct ms_report_mark {
    uint32_t pid, device, step;
    uint64_t addr, malloc_ns, size_b; /* address and time are those of its MALLOC row */
    uint8_t found;                    /* as ms_block.inefficient */
};

struct ms_report_options {
    const char *input;
    uint32_t top;            /* entries of a list; 0: 10 */
    uint32_t idle_threshold; /* operators; 0: 3000 */
    uint32_t peak_step;      /* peaks are those of this step; 0: of the whole recording */
    /* Every block that is inefficient by the definitions of inefficient.h, when it ends. May be NULL. */
    void (*mark)(void *argument, const struct ms_report_mark *mark);
    void *argument;
};

struct ms_report_builder;

int ms_report_begin(const struct ms_report_options *options, struct ms_report_builder **out);
/* Options that a model needs so that the report can tell everything. */
void ms_report_model_options(struct ms_model_options *out);
/* For ms_source_listener: begin adds consumers to the model; end makes the results, while texts can still be asked. */
int ms_report_process_begin(struct ms_report_builder *builder, uint32_t pid, struct ms_model *model);
int ms_report_process_end(struct ms_report_builder *builder, struct ms_model *model, struct ms_stack_source stacks,
                          const char *name, const char *path, const char *source);
/* The command line of the process that ended last. */
void ms_report_process_command(struct ms_report_builder *builder, const char *command);
/* A remark about the input; PARTIAL makes the report so. About the process that is being read, if any. */
void ms_report_note(struct ms_report_builder *builder, enum ms_note_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* NULL: no memory. */
const struct ms_report *ms_report_finish(struct ms_report_builder *builder);
void ms_report_free(struct ms_report_builder *builder);

#endif
