/* SPDX-License-Identifier: Apache-2.0 */
/* The tables declared in config_text.h, and the functions that write and recognise texts with them. No state. */
#include "monitor/wire/config_text.h"
#include "base/macros.h"

#include <string.h>

#define NUMBER(lowest) .check = mon_option_i64, .min = (lowest), .max = INT64_MAX
#define COUNT          .check = mon_option_u64, .min = 0, .max = INT64_MAX
#define COUNT32        .check = mon_option_u64, .min = 0, .max = UINT32_MAX
#define WORD(...)      .check = mon_option_word, .choices = __VA_ARGS__
#define WORDS(...)     .check = mon_option_words, .choices = __VA_ARGS__
#define TEXT           .check = mon_option_text
#define PATH           .check = mon_option_path

/* Which processes on a node get a command; shared by all commands that carry a configuration. */
#define TARGETS(limit)                                                                                                 \
    {.name = "job-id",                                                                                                 \
     .argument = "ID",                                                                                                 \
     .fallback = "0",                                                                                                  \
     COUNT,                                                                                                            \
     .help = "job whose processes get the command; 0: processes that registered without a job"},                       \
        {.name = "pids",                                                                                               \
         .argument = "LIST",                                                                                           \
         .fallback = "0",                                                                                              \
         .check = mon_option_numbers,                                                                                  \
         .min = 0,                                                                                                     \
         .max = INT32_MAX,                                                                                             \
         .help = "comma-separated pids of processes or of their ancestors; 0: all processes of the job"},              \
    {                                                                                                                  \
        .name = "process-limit", .argument = "N", .fallback = limit, COUNT32,                                          \
        .help = "maximum number of processes per node that get the command"                                            \
    }

static const struct mon_option nputrace_options[] = {
    TARGETS("3"),
    {.name = "duration-ms",
     .argument = "MS",
     .fallback = "500",
     COUNT,
     .help = "accepted for compatibility; NPU traces are counted in steps"},
    {.name = "profile-start-time",
     .argument = "MS",
     .fallback = "0",
     COUNT,
     .help = "accepted for compatibility; NPU traces start at a step"},
    {.name = "iterations", .argument = "N", .required = true, NUMBER(1), .help = "steps to collect"},
    {.name = "start-step",
     .argument = "STEP",
     .required = true,
     NUMBER(-1),
     .help = "first step to collect; -1: the next one"},
    {.name = "log-file",
     .argument = "DIR",
     .required = true,
     PATH,
     .help = "output directory on the nodes; %h is replaced by the host name"},
    {.name = "record-shapes", .help = "record the input shapes of operators"},
    {.name = "profile-memory", .help = "record operator memory usage"},
    {.name = "with-stack", .help = "record call stacks"},
    {.name = "with-flops", .help = "record floating point operations"},
    {.name = "with-modules", .help = "record the modules that call operators"},
    {.name = "activities",
     .argument = "LIST",
     .fallback = "CPU,NPU",
     WORD("CPU,NPU|NPU,CPU|CPU|NPU"),
     .help = "what to collect"},
    {.name = "analyse", .help = "analyse the data after collecting"},
    {.name = "async-mode", .help = "analyse in a separate process (with --analyse)"},
    {.name = "profiler-level",
     .argument = "LEVEL",
     .fallback = "Level0",
     WORD("Level0|Level1|Level2|Level_none"),
     .help = "level of detail"},
    {.name = "aic-metrics",
     .argument = "NAME",
     .fallback = "AiCoreNone",
     WORD("AiCoreNone|PipeUtilization|ArithmeticUtilization|Memory|MemoryL0|ResourceConflictRatio|MemoryUB|L2Cache|"
          "MemoryAccess"),
     .help = "AI core metrics (require Level1 or Level2)"},
    {.name = "l2-cache", .help = "record L2 cache data"},
    {.name = "op-attr", .help = "record operator attributes (requires --export-type Db)"},
    {.name = "msprof-tx", .help = "record user markers"},
    {.name = "gc-detect-threshold",
     .argument = "MS",
     .check = mon_option_float,
     .help = "report garbage collections longer than this"},
    {.name = "data-simplification",
     .argument = "BOOL",
     .fallback = "true",
     WORD("true|false"),
     .help = "delete raw data after analysis"},
    {.name = "export-type", .argument = "TYPE", .fallback = "Text", WORD("Text|Db"), .help = "output format"},
    {.name = "host-sys",
     .argument = "LIST",
     .fallback = "None",
     WORDS("cpu|mem|disk|network|osrt"),
     .help = "host system data to collect"},
    {.name = "sys-io", .help = "record network and RoCE traffic"},
    {.name = "sys-interconnection", .help = "record HCCS, PCIe and link traffic"},
    {.name = "mstx-domain-include", .argument = "LIST", TEXT, .help = "marker domains to record (with --msprof-tx)"},
    {.name = "mstx-domain-exclude", .argument = "LIST", TEXT, .help = "marker domains to exclude (with --msprof-tx)"},
    {.name = "rank-list",
     .argument = "LIST",
     .check = mon_option_numbers,
     .min = 0,
     .max = INT32_MAX,
     .help = "ranks that collect; default: all"},
};

static const struct mon_config_line nputrace_lines[] = {
    {"ACTIVITIES_LOG_FILE", "log-file", MON_LINE_VALUE, MON_WHEN_ALWAYS, NULL},
    {"PROFILE_START_ITERATION", NULL, MON_LINE_FIXED, MON_WHEN_ALWAYS, "0"},
    {"PROFILE_START_STEP", "start-step", MON_LINE_VALUE, MON_WHEN_ALWAYS, NULL},
    {"ACTIVITIES_ITERATIONS", "iterations", MON_LINE_VALUE, MON_WHEN_ALWAYS, NULL},
    {"PROFILE_RECORD_SHAPES", "record-shapes", MON_LINE_SWITCH, MON_WHEN_ALWAYS, NULL},
    {"PROFILE_PROFILE_MEMORY", "profile-memory", MON_LINE_SWITCH, MON_WHEN_ALWAYS, NULL},
    {"PROFILE_WITH_STACK", "with-stack", MON_LINE_SWITCH, MON_WHEN_ALWAYS, NULL},
    {"PROFILE_WITH_FLOPS", "with-flops", MON_LINE_SWITCH, MON_WHEN_ALWAYS, NULL},
    {"PROFILE_WITH_MODULES", "with-modules", MON_LINE_SWITCH, MON_WHEN_ALWAYS, NULL},
    {"PROFILE_ACTIVITIES", "activities", MON_LINE_VALUE, MON_WHEN_ALWAYS, NULL},
    {"PROFILE_ANALYSE", "analyse", MON_LINE_SWITCH, MON_WHEN_ALWAYS, NULL},
    {"PROFILE_ASYNC_MODE", "async-mode", MON_LINE_SWITCH, MON_WHEN_ALWAYS, NULL},
    {"PROFILE_PROFILER_LEVEL", "profiler-level", MON_LINE_VALUE, MON_WHEN_ALWAYS, NULL},
    {"PROFILE_AIC_METRICS", "aic-metrics", MON_LINE_VALUE, MON_WHEN_ALWAYS, NULL},
    {"PROFILE_L2_CACHE", "l2-cache", MON_LINE_SWITCH, MON_WHEN_ALWAYS, NULL},
    {"PROFILE_OP_ATTR", "op-attr", MON_LINE_SWITCH, MON_WHEN_ALWAYS, NULL},
    {"PROFILE_MSPROF_TX", "msprof-tx", MON_LINE_SWITCH, MON_WHEN_ALWAYS, NULL},
    {"PROFILE_GC_DETECT_THRESHOLD", "gc-detect-threshold", MON_LINE_NONE, MON_WHEN_ALWAYS, NULL},
    {"PROFILE_DATA_SIMPLIFICATION", "data-simplification", MON_LINE_VALUE, MON_WHEN_ALWAYS, NULL},
    {"PROFILE_EXPORT_TYPE", "export-type", MON_LINE_VALUE, MON_WHEN_ALWAYS, NULL},
    {"PROFILE_HOST_SYS", "host-sys", MON_LINE_VALUE, MON_WHEN_ALWAYS, NULL},
    {"PROFILE_SYS_IO", "sys-io", MON_LINE_SWITCH, MON_WHEN_ALWAYS, NULL},
    {"PROFILE_SYS_INTERCONNECTION", "sys-interconnection", MON_LINE_SWITCH, MON_WHEN_ALWAYS, NULL},
    {"PROFILE_MSTX_DOMAIN_INCLUDE", "mstx-domain-include", MON_LINE_NONE, MON_WHEN_ALWAYS, NULL},
    {"PROFILE_MSTX_DOMAIN_EXCLUDE", "mstx-domain-exclude", MON_LINE_NONE, MON_WHEN_ALWAYS, NULL},
    {"PROFILE_IS_RANK", "rank-list", MON_LINE_GIVEN, MON_WHEN_ALWAYS, NULL},
    {"PROFILE_RANK_LIST", "rank-list", MON_LINE_NONE, MON_WHEN_ALWAYS, NULL},
};

/* The two rotation options also accept an empty value. */
static int empty_or(mon_option_check *check, const struct mon_option *option, const char *text, struct ms_buffer *out,
                    char *why)
{
    return text[0] == '\0' ? 0 : check(option, text, out, why);
}

static int rotate_lines(const struct mon_option *option, const char *text, struct ms_buffer *out, char *why)
{
    return empty_or(mon_option_i64, option, text, out, why);
}

static int rotate_files(const struct mon_option *option, const char *text, struct ms_buffer *out, char *why)
{
    if (strcmp(text, "-1") == 0) {
        MS_BUFFER_TEXT(out, "-1");
        return 0;
    }
    return empty_or(mon_option_i64, option, text, out, why);
}

static const struct mon_option npu_monitor_options[] = {
    {.name = "npu-monitor-start", .help = "start monitoring"},
    {.name = "npu-monitor-stop", .help = "stop monitoring"},
    {.name = "report-interval-s", .argument = "S", .fallback = "60", COUNT32, .help = "seconds between reports"},
    {.name = "duration",
     .argument = "S",
     .fallback = "0",
     .check = mon_option_float,
     .min = 0,
     .help = "stop automatically after this many seconds; 0: never"},
    {.name = "mspti-activity-kind",
     .argument = "LIST",
     .fallback = "Marker",
     WORDS("Marker|Kernel|API|Hccl|Memory|MemSet|MemCpy|Communication|AclAPI|NodeAPI|RuntimeAPI"),
     .help = "kinds of activity to report"},
    {.name = "log-file",
     .argument = "DIR",
     .fallback = "",
     PATH,
     .help = "output directory; empty: reports go to the daemon as metrics"},
    {.name = "export-type", .argument = "TYPE", .fallback = "DB", WORD("DB|Jsonl"), .help = "output format"},
    {.name = "json-rotate-log-lines",
     .argument = "N",
     .fallback = "",
     .check = rotate_lines,
     .min = 100,
     .max = 500000,
     .help = "lines per Jsonl file, 100 to 500000"},
    {.name = "json-rotate-log-files",
     .argument = "N",
     .fallback = "",
     .check = rotate_files,
     .min = 2,
     .max = INT32_MAX,
     .help = "number of Jsonl files to keep, at least 2; -1: all"},
    {.name = "filter", .argument = "TEXT", .fallback = "", TEXT, .help = "names to report, for example Kernel:MatMul"},
    TARGETS("3"),
};

static const struct mon_config_line npu_monitor_lines[] = {
    {"NPU_MONITOR_START", "npu-monitor-start", MON_LINE_SWITCH, MON_WHEN_ALWAYS, NULL},
    {"NPU_MONITOR_STOP", "npu-monitor-stop", MON_LINE_SWITCH, MON_WHEN_ALWAYS, NULL},
    {"REPORT_INTERVAL_S", "report-interval-s", MON_LINE_VALUE, MON_WHEN_ALWAYS, NULL},
    {"DURATION", "duration", MON_LINE_VALUE, MON_WHEN_ALWAYS, NULL},
    {"MSPTI_ACTIVITY_KIND", "mspti-activity-kind", MON_LINE_VALUE, MON_WHEN_ALWAYS, NULL},
    {"NPU_MONITOR_LOG_FILE", "log-file", MON_LINE_VALUE, MON_WHEN_ALWAYS, NULL},
    {"NPU_MONITOR_EXPORT_TYPE", "export-type", MON_LINE_VALUE, MON_WHEN_ALWAYS, NULL},
    {"JSONL_ROTATE_LOG_LINES", "json-rotate-log-lines", MON_LINE_VALUE, MON_WHEN_ALWAYS, NULL},
    {"JSONL_ROTATE_LOG_FILES", "json-rotate-log-files", MON_LINE_VALUE, MON_WHEN_ALWAYS, NULL},
    {"NPU_MONITOR_FILTER", "filter", MON_LINE_VALUE, MON_WHEN_ALWAYS, NULL},
};

static const struct mon_option gputrace_options[] = {
    TARGETS("3"),
    {.name = "duration-ms", .argument = "MS", .fallback = "500", COUNT, .help = "length of the trace"},
    {.name = "iterations",
     .argument = "N",
     .fallback = "-1",
     .check = mon_option_i64,
     .min = INT64_MIN,
     .max = INT64_MAX,
     .help = "number of steps to trace; if positive, overrides --duration-ms"},
    {.name = "log-file",
     .argument = "FILE",
     .required = true,
     PATH,
     .help = "trace file on the nodes; each process inserts its pid before .json, %h is replaced by the host name"},
    {.name = "profile-start-time",
     .argument = "MS",
     .fallback = "0",
     COUNT,
     .help = "start time of the trace in ms since the epoch; 0: as soon as possible, at a common time if there are "
             "several hosts"},
    {.name = "profile-start-iteration-roundup",
     .argument = "N",
     .fallback = "1",
     COUNT,
     .help = "start at a step that is a multiple of N"},
    {.name = "record-shapes", .help = "record the input shapes of operators"},
    {.name = "profile-memory", .help = "record memory; in duration mode also take a memory snapshot"},
    {.name = "with-stacks", .help = "record call stacks"},
    {.name = "with-flops", .help = "record floating point operations"},
    {.name = "with-modules", .help = "record the modules that call operators"},
    {.name = "fail-on-no-process", .help = "exit with status 1 if no process matches"},
};

static const struct mon_config_line gputrace_lines[] = {
    {"ACTIVITIES_LOG_FILE", "log-file", MON_LINE_VALUE, MON_WHEN_ALWAYS, NULL},
    {"PROFILE_START_TIME", "profile-start-time", MON_LINE_VALUE, MON_WHEN_DURATION, NULL},
    {"ACTIVITIES_DURATION_MSECS", "duration-ms", MON_LINE_VALUE, MON_WHEN_DURATION, NULL},
    {"PROFILE_START_ITERATION", NULL, MON_LINE_FIXED, MON_WHEN_ITERATIONS, "0"},
    {"PROFILE_START_ITERATION_ROUNDUP", "profile-start-iteration-roundup", MON_LINE_VALUE, MON_WHEN_ITERATIONS, NULL},
    {"ACTIVITIES_ITERATIONS", "iterations", MON_LINE_VALUE, MON_WHEN_ITERATIONS, NULL},
    {"PROFILE_REPORT_INPUT_SHAPES", "record-shapes", MON_LINE_SWITCH, MON_WHEN_ALWAYS, NULL},
    {"PROFILE_PROFILE_MEMORY", "profile-memory", MON_LINE_SWITCH, MON_WHEN_ALWAYS, NULL},
    {"PROFILE_MEMORY", NULL, MON_LINE_FIXED, MON_WHEN_MEMORY, "true"},
    {"PROFILE_MEMORY_DURATION_MSECS", "duration-ms", MON_LINE_VALUE, MON_WHEN_MEMORY, NULL},
    {"PROFILE_WITH_STACK", "with-stacks", MON_LINE_SWITCH, MON_WHEN_ALWAYS, NULL},
    {"PROFILE_WITH_FLOPS", "with-flops", MON_LINE_SWITCH, MON_WHEN_ALWAYS, NULL},
    {"PROFILE_WITH_MODULES", "with-modules", MON_LINE_SWITCH, MON_WHEN_ALWAYS, NULL},
};

#define COMMAND(command_name, command_title, prefix)                                                                   \
    {                                                                                                                  \
        .name = command_name, .title = command_title, .options = prefix##_options,                                     \
        .option_count = MS_COUNT_OF(prefix##_options), .lines = prefix##_lines,                                        \
        .line_count = MS_COUNT_OF(prefix##_lines)                                                                      \
    }

const struct mon_config_command mon_config_nputrace = COMMAND("nputrace", "NpuTrace", nputrace);
const struct mon_config_command mon_config_npu_monitor = COMMAND("npu-monitor", "Npu monitor", npu_monitor);
const struct mon_config_command mon_config_gputrace = COMMAND("gputrace", "Kineto", gputrace);

_Static_assert(MS_COUNT_OF(nputrace_options) <= MON_CONFIG_OPTIONS_MAX, "mon_option_values is too small");

static bool applies(const struct mon_config_command *command, const struct mon_option_values *values,
                    enum mon_config_when when)
{
    const char *iterations = mon_option_value(command->options, command->option_count, values, "iterations");
    bool by_steps = iterations != NULL && iterations[0] != '-' && strcmp(iterations, "0") != 0;
    switch (when) {
    case MON_WHEN_DURATION:
        return !by_steps;
    case MON_WHEN_ITERATIONS:
        return by_steps;
    case MON_WHEN_MEMORY:
        return !by_steps && mon_option_value(command->options, command->option_count, values, "profile-memory") != NULL;
    case MON_WHEN_ALWAYS:
        break;
    }
    return true;
}

void mon_config_write(const struct mon_config_command *command, const struct mon_option_values *values,
                      struct ms_buffer *out)
{
    bool first = true;
    for (size_t i = 0; i < command->line_count; i++) {
        const struct mon_config_line *line = &command->lines[i];
        if (!applies(command, values, line->when)) {
            continue;
        }
        const char *value = line->fixed;
        if (line->option != NULL) {
            value = mon_option_value(command->options, command->option_count, values, line->option);
        }
        switch (line->style) {
        case MON_LINE_GIVEN:
            value = value != NULL ? "true" : "false";
            break;
        case MON_LINE_SWITCH:
            value = value != NULL ? value : "false";
            break;
        case MON_LINE_NONE:
            value = value != NULL ? value : "None";
            break;
        case MON_LINE_FIXED:
        case MON_LINE_VALUE:
            value = value != NULL ? value : "";
            break;
        }
        if (!first) {
            ms_buffer_char(out, '\n');
        }
        first = false;
        ms_buffer_add(out, line->key, strlen(line->key));
        ms_buffer_char(out, '=');
        ms_buffer_add(out, value, strlen(value));
    }
}

static bool blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

const char *mon_config_find(const char *text, size_t text_b, const char *key, size_t *value_b)
{
    size_t key_b = strlen(key);
    const char *end = text + text_b;
    for (const char *line = text; line < end;) {
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        stop = stop != NULL ? stop : end;
        const char *from = line;
        while (from < stop && blank(*from)) {
            from++;
        }
        if ((size_t)(stop - from) > key_b && memcmp(from, key, key_b) == 0) {
            const char *value = from + key_b;
            while (value < stop && blank(*value)) {
                value++;
            }
            if (value < stop && *value == '=') {
                const char *last = stop;
                do {
                    value++;
                } while (value < stop && blank(*value));
                while (last > value && blank(last[-1])) {
                    last--;
                }
                *value_b = (size_t)(last - value);
                return value;
            }
        }
        line = stop + 1;
    }
    return NULL;
}

const struct mon_config_command *mon_config_recognise(const char *text, size_t text_b)
{
    static const char monitor[] = "NPU_MONITOR_START";
    static const char *const trace[] = {"PROFILE_RECORD_SHAPES", "PROFILE_ACTIVITIES"};
    size_t ignored;
    if (text_b >= sizeof(monitor) - 1 && memcmp(text, monitor, sizeof(monitor) - 1) == 0) {
        return &mon_config_npu_monitor;
    }
    for (size_t i = 0; i < MS_COUNT_OF(trace); i++) {
        if (mon_config_find(text, text_b, trace[i], &ignored) != NULL) {
            return &mon_config_nputrace;
        }
    }
    return &mon_config_gputrace;
}

const char *mon_config_unsafe(const char *text, size_t text_b)
{
    for (size_t i = 0; i < text_b; i++) {
        unsigned char c = (unsigned char)text[i];
        if ((c < ' ' && c != '\n' && c != '\t' && c != '\r') || c == 0x7f) {
            return "the configuration contains control characters";
        }
    }
    return NULL;
}
