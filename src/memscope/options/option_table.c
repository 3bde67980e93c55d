/* SPDX-License-Identifier: Apache-2.0 */
/* The options: names, values, defaults, help. */
#include "memscope/options/option_table.h"

#define FLAG_OF(field) .action = FLAG, .flag = offsetof(struct ms_settings, field)
#define NO_FLAG        0

const struct ms_option ms_options[] = {
    {"help", NULL, "h", "[=md]", GENERAL, HELP, NULL, NO_FLAG, NULL,
     .help = "print this text (md: as a reference page)"},
    {"version", NULL, "vV", NULL, GENERAL, VERSION, NULL, NO_FLAG, NULL, .help = "print the version"},
    {"verbose", "debug", "", NULL, GENERAL, FLAG_OF(verbose), .help = "log everything (--log-level=debug)"},
    {"quiet", NULL, "q", NULL, GENERAL, FLAG_OF(quiet), .help = "log errors only, no information on the console"},
    {"log-level", NULL, "", "LEVEL", GENERAL, SET, ms_set_log_level, NO_FLAG, "warn",
     .help = "debug, info, warn (or warning), error: what goes into the log file;\nwins over --verbose and --quiet"},

    {"events", NULL, "", "LIST", COLLECTION, SET, ms_set_events, NO_FLAG, "alloc,free,launch",
     .help = "alloc, free, launch, access, traceback, or none.\n"
             "alloc brings free with it and free alloc; access brings both"},
    {"events-only", NULL, "", NULL, COLLECTION, FLAG_OF(events_only),
     .help = "write only the events that --events names, not those they or the analyses bring along", .later = true},
    {"level", NULL, "", "LIST", COLLECTION, SET, ms_set_level, NO_FLAG, "op",
     .help = "op (or 0): operators; kernel (or 1): kernels"},
    {"device", NULL, "", "LIST", COLLECTION, SET, ms_set_device, NO_FLAG, "npu",
     .help = "npu: all NPUs; npu:N: NPU number N (0 to 31); cpu: host memory"},
    {"steps", NULL, "", "LIST", COLLECTION, SET, ms_set_steps, NO_FLAG, "all steps",
     .help = "write only what happens in these steps: one to five numbers"},
    {"call-stack", NULL, "", "LIST", COLLECTION, SET, ms_set_call_stack, NO_FLAG, "none",
     .help = "c[:DEPTH], python[:DEPTH]: stacks of memory events, DEPTH 0 to 1000 (50);\n"
             "c:fp[:DEPTH]: by frame pointers, for programs built with them"},
    {"collect-mode", NULL, "", "MODE", COLLECTION, SET, ms_set_collect_mode, NO_FLAG, "immediate",
     .help = "immediate: from the start of the program; deferred: from msmemscope.start()"},
    {"no-children", NULL, "", NULL, COLLECTION, FLAG_OF(no_children),
     .help = "record the program alone, not the processes that it starts", .later = true},

    {"analysis", NULL, "", "LIST", ANALYSIS, SET, ms_set_analysis, NO_FLAG, "leaks",
     .help = "leaks, decompose, inefficient, oom[:K], or none;\n"
             "each brings the events that it needs. K: 1 to 1000 largest blocks (10)"},
    {"watch", NULL, "", "OPS", ANALYSIS, SET, ms_set_watch, NO_FLAG, "off",
     .help = "[START[#CALL][:OUT],]END[,full-content]: note the outputs of operator START in front\n"
             "of and behind every operator until END, to find who overwrites them.\n"
             "OUT: that output alone; CALL: of that call of START alone"},
    {"compare", NULL, "", NULL, ANALYSIS, FLAG_OF(compare),
     .help = "compare two recordings, see --input; with --steps=N one step of both,\n"
             "with --steps=N,M step N of the first and step M of the second"},
    {"compare-legacy", NULL, "", NULL, ANALYSIS, FLAG_OF(compare_legacy),
     .help = "compute the differences as the first releases did", .later = true},
    {"fail-above", NULL, "", "SIZE", ANALYSIS, SET, ms_set_fail_above, NO_FLAG, NULL,
     .help = "with --compare: exit status 1 if the peak, or what is left at the end,\n"
             "is larger by more than SIZE (such as 64M) in the second one",
     .later = true},

    {"output", "output-path", "o", "DIR", FILES, SET, ms_set_output, NO_FLAG, "./" MS_OUTPUT_DEFAULT,
     .help = "where the files go"},
    {"data-format", "format", "", "FORMAT", FILES, SET, ms_set_format, NO_FLAG, "csv",
     .help = "csv, or db for MindStudio Insight"},
    {"input", "input-path", "i", "A,B", FILES, SET, ms_set_input, NO_FLAG, NULL,
     .help = "what to compare: dump files (csv, db) or directories with recordings;\n"
             "one only with --steps=N,M"},
    {"strict-paths", NULL, "", NULL, FILES, FLAG_OF(strict_paths),
     .help = "refuse links, foreign owners and directories that others may write to", .later = true},

    {"export", NULL, "", "WHEN", RECORDER, SET, ms_set_export, NO_FLAG, "live",
     .help = "live: write files while the program runs; end: after it; none: trace only,\n"
             "see 'msmemscope export DIR'",
     .later = true},
    {"max-trace-size", NULL, "", "SIZE", RECORDER, SET, ms_set_max_trace_size, NO_FLAG, "no limit",
     .help = "end the recording of a process when its trace is so large, at least 16M", .later = true},
    {"ring", NULL, "", NULL, RECORDER, FLAG_OF(ring),
     .help = "at --max-trace-size forget the oldest part instead of ending (1G if not set);\n"
             "with --export=end the dump files have the rest only",
     .later = true},
    {"on-full", NULL, "", "POLICY", RECORDER, SET, ms_set_on_full, NO_FLAG, "wait:20",
     .help = "wait[:MS]: a program that outruns the recorder waits up to MS milliseconds;\n"
             "drop: it never waits. What is lost is counted and reported",
     .later = true},
    {"linger", NULL, "", "SECONDS", RECORDER, SET, ms_set_linger, NO_FLAG, "5",
     .help = "how long to wait for processes that outlive the program", .later = true},
    {"sync", NULL, "", NULL, RECORDER, FLAG_OF(sync),
     .help = "force the trace to the disk once a second (safe against power loss)", .later = true},
};

_Static_assert(sizeof(ms_options) / sizeof(ms_options[0]) == MS_OPTIONS, "the number of options");
