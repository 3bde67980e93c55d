/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files behind watch.h: watched tensors (watch.c), names (watch_names.c), records (watch_record.c),
 * operators (watch_ops.c), kernels (watch_launch.c). Everything here except the first functions is called under the
 * lock. */
#ifndef MS_AGENT_WATCH_INTERNAL_H
#define MS_AGENT_WATCH_INTERNAL_H

#include "agent/watch.h"
#include "trace/records.h"

#include <stddef.h>
#include <stdint.h>

#define MS_WATCHED_MAX   128u
#define MS_WATCH_POINT_B 384u
#define MS_WATCH_OUTPUTS 64u

/* ---- lock ---- */

/* Timed lock; false on timeout. */
bool ms__watch_lock(void);
void ms__watch_unlock(void);
/* Takes the lock if tracing; until leave, this thread records nothing, and errno is preserved. */
bool ms__watch_enter(int *error);
void ms__watch_leave(int error);

uint32_t ms__watch_tid(void);
void ms__watch_log_once(uint32_t *logged, const char *line);

/* ---- names: watch_names.c ---- */

struct ms_watch_text {
    char bytes[MS_WATCH_POINT_B];
    size_t length_b;
};

/* Appends; what does not fit is dropped. */
void ms__put(struct ms_watch_text *t, const char *s, size_t length_b);
void ms__put_number(struct ms_watch_text *t, uint64_t number);
/* "<device>_<tid>/<name>", as ATB's own paths begin. */
void ms__put_torch_point(struct ms_watch_text *t, uint32_t tid, const char *name, size_t name_b);
/* Compares with a name as given in options: without the first component. */
bool ms__is_named(const struct ms_watch_text *point, const char *name, size_t name_b);
uint32_t ms__watch_device(void); /* of this thread; operators without one work on host memory */

/* Number of calls, including this one. Paths contain execution counts, so their number is unbounded. */
enum ms_watch_counter { MS_WATCH_NAMES, MS_WATCH_PATHS };
uint32_t ms__watch_count(enum ms_watch_counter which, const struct ms_watch_text *point);

/* ---- watched tensors: watch.c ---- */

struct ms_watched {
    uint64_t addr, size_b; /* size 0: free */
    int64_t left;          /* dumps left; negative: no limit */
    uint64_t serial;
    uint32_t index, name_b;
    uint32_t freed; /* its memory was freed; set without the lock */
    bool given;     /* by the program */
    bool fresh;     /* not dumped yet */
    char name[MS_WATCH_OP_B];
};
extern struct ms_watched ms__watched[MS_WATCHED_MAX];

struct ms_watch_config {
    char start[MS_WATCH_OP_B], end[MS_WATCH_OP_B];
    size_t start_b, end_b;
    uint32_t call;   /* of start; 0: every one */
    uint32_t output; /* UINT32_MAX: all */
    bool full;
    bool active; /* outputs of start are being watched */
    uint32_t starts;
};
extern struct ms_watch_config ms__watch_config;

bool ms__watch_is_live(const struct ms_watched *w);
bool ms__watch_any(void);
/* NULL: table full. */
struct ms_watched *ms__watch_put(uint64_t addr, uint64_t size_b, const char *name, size_t name_b, uint32_t index,
                                 bool given);
void ms__watch_drop_outputs(void); /* of START */

/* ---- records: watch_record.c ---- */

struct ms_watch_op;
/* Records one dump. */
void ms__watch_record(struct ms_watched *w, uint32_t device, const struct ms_watch_text *point, uint32_t flags,
                      uint64_t hash);
/* A file for the content; -1: not available. */
int ms__watch_open_file(const struct ms_watched *w, uint32_t device, const struct ms_watch_text *point, bool after);
/* Dumps everything that is watched, at a point. op NULL: none of this thread. */
void ms__watch_dump(const struct ms_watch_text *point, uint32_t count, uint32_t flags, const struct ms_watch_op *op,
                    void *stream);

/* ---- operators: watch_ops.c ---- */

struct ms_watch_op {
    uint32_t tid;
    uint32_t count; /* calls of its name, including this one */
    struct ms_watch_text point;
    uint64_t written[MS_WATCHED_MAX / 64]; /* entries of ms__watched that it announces to write */
    uint32_t output_count;
    struct ms_agent_range outputs[MS_WATCH_OUTPUTS];
};
struct ms_watch_op *ms__watch_open_op(uint32_t tid); /* the innermost one of a thread; NULL: none */
/* Flags for other running operators: of other threads, and around the one of this thread. */
uint32_t ms__watch_others(uint32_t tid);

/* In a forked child. */
void ms__watch_forget_ops(void);
void ms__watch_forget_launch(void);

#endif
