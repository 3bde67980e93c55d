/* SPDX-License-Identifier: Apache-2.0 */
/* The settings of a recording: the values of the command line's options and of the API's config(). The option table
 * (option_table.h) fills this structure; config.json, the session string and the collector read it. Bits are those of
 * config.json. */
#ifndef MS_OPTIONS_SETTINGS_H
#define MS_OPTIONS_SETTINGS_H

#include "base/macros.h"
#include "trace/records.h"
#include "trace/wanted.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MS_STEPS_MAX      5
#define MS_PATH_MAX_B     4096
#define MS_STACK_DEPTH    50
#define MS_OOM_TOP_K      10
#define MS_WATCH_TEXT_B   768
#define MS_OUTPUT_DEFAULT "memscopeDumpResults"

/* Defaults of the options that each call of config() starts from. */
#define MS_DEFAULT_EVENTS     "alloc,free,launch"
#define MS_DEFAULT_LEVEL      "op"
#define MS_DEFAULT_DEVICE     "npu"
#define MS_DEFAULT_CALL_STACK "none"
#define MS_DEFAULT_ANALYSIS   "leaks"

enum { MS_LEVEL_OP = 1, MS_LEVEL_KERNEL = 2 };
enum ms_log_level { MS_LOG_DEBUG, MS_LOG_INFO, MS_LOG_WARN, MS_LOG_ERROR };
enum ms_format { MS_FORMAT_CSV, MS_FORMAT_DB };
enum ms_collect_mode { MS_COLLECT_IMMEDIATE, MS_COLLECT_DEFERRED };
enum ms_export_mode { MS_EXPORT_LIVE, MS_EXPORT_END, MS_EXPORT_NONE };

struct ms_settings {
    /* what is recorded */
    uint32_t steps[MS_STEPS_MAX]; /* the rest 0 */
    uint32_t step_count;          /* 0: all */
    bool all_npus, cpu;
    uint32_t npu_mask; /* named devices; unused with all_npus */
    uint32_t level;    /* MS_LEVEL_* */
    uint32_t events;   /* MS_WANT_* as the user wrote them */
    bool events_only;  /* write only those, not the implied ones */
    bool c_stack, python_stack, frame_pointers;
    uint32_t c_depth, python_depth;
    enum ms_collect_mode collect_mode;
    bool no_children;

    /* analyses and output */
    uint32_t analysis; /* MS_ANALYSIS_* */
    uint32_t oom_top_k;
    struct {
        bool on, full_content;
        uint32_t output_id; /* UINT32_MAX: all */
        uint32_t call;      /* which call of start, from 1; 0: all */
        char start[MS_WATCH_OP_B], end[MS_WATCH_OP_B];
    } watch;
    enum ms_format format;
    bool compare, compare_legacy, fail_above;
    uint64_t fail_above_b;
    char inputs[2][MS_PATH_MAX_B + 1];
    uint32_t input_count;

    /* where and how */
    char output[MS_PATH_MAX_B + 1]; /* absolute, lexically normal */
    bool strict_paths;
    enum ms_log_level log_level;
    bool log_level_given, verbose, quiet;
    uint64_t max_trace_b; /* 0: no limit */
    bool ring;
    uint32_t full_wait_ms; /* 0: drop */
    enum ms_export_mode export_mode;
    uint32_t linger_ms;
    bool sync;
};

/* Sets the defaults; the output directory is below the current one. */
void ms_settings_init(struct ms_settings *settings);

/* Events that must be recorded: the requested ones, and those that they and the analyses imply. */
uint32_t ms_settings_collected(const struct ms_settings *settings);

/* Events that become rows: all that are collected, or with events_only the requested ones. */
uint32_t ms_settings_written(const struct ms_settings *settings);

/* The levels as bits MS_WANT_OP, MS_WANT_KERNEL. */
uint32_t ms_settings_levels(const struct ms_settings *settings);

/* Size in bytes at which a trace ends or, as a ring, discards its oldest segments; 0: no limit. */
uint64_t ms_settings_trace_limit(const struct ms_settings *settings);

enum ms_log_level ms_settings_log_level(const struct ms_settings *settings);

/* --watch as the user would write it; empty when off. */
void ms_settings_watch_text(const struct ms_settings *settings, char *out, size_t out_b);

/* ---- rules: each returns 0, or -EINVAL with msMemScope's message in why and *settings unchanged ---- */

#define MS_WHY_B 512
struct ms_why {             /* whole lines for the console, without the last line end */
    char error[MS_WHY_B];   /* set when a rule returns nonzero */
    char warning[MS_WHY_B]; /* empty: none */
};
/* Sets error to "[msmemscope] Error: " and the message. Returns -EINVAL. */
int ms_refuse(struct ms_why *why, const char *format, ...) MS_PRINTF(2, 3);

typedef int (*ms_setting_rule)(struct ms_settings *settings, const char *value, struct ms_why *why);

#endif
