/* SPDX-License-Identifier: Apache-2.0 */
/* The option table: values, messages, names and aliases, formatting and parsing, help. */
#include "collect/supervise/session_settings.h"
#include "memscope/options/option_table.h"
#include "memscope/options/options.h"
#include "memscope/options/paths.h"
#include "memscope/recording/project.h"
#include "trace/shm.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char said[4096];

static void say(const char *line)
{
    strncat(said, line, sizeof(said) - strlen(said) - 2);
    strcat(said, "\n");
}

static struct ms_settings s;
static struct ms_why why;
static int program;

/* Arguments separated by blanks. */
static enum ms_options_result parse(const char *text)
{
    static char copy[16384];
    static char *argv[64];
    int argc = 0;
    snprintf(copy, sizeof(copy), "msmemscope %s", text);
    for (char *p = strtok(copy, " "); p != NULL; p = strtok(NULL, " ")) {
        argv[argc++] = p;
    }
    argv[argc] = NULL;
    ms_settings_init(&s);
    said[0] = '\0';
    opterr = 0;
    return ms_options_parse(argc, argv, &s, &program, &why, say);
}

static void good_values(void **state)
{
    (void)state;
    assert_int_equal(MS_OPTIONS_RUN, parse("prog"));
    assert_int_equal(1, program);
    assert_int_equal(MS_WANT_ALLOC | MS_WANT_FREE | MS_WANT_LAUNCH, s.events);
    assert_int_equal(MS_LEVEL_OP, s.level);
    assert_int_equal(MS_ANALYSIS_LEAKS, s.analysis);
    assert_int_equal(MS_LOG_WARN, ms_settings_log_level(&s));
    assert_true(s.all_npus);
    assert_int_equal('/', s.output[0]);
    assert_non_null(strstr(s.output, "/memscopeDumpResults"));

    assert_int_equal(MS_OPTIONS_RUN, parse("--steps=1,2\xef\xbc\x8c,4294967295, a b"));
    assert_int_equal(3, s.step_count);
    assert_int_equal(UINT32_MAX, s.steps[2]);

    assert_int_equal(MS_OPTIONS_RUN, parse("--device npu:2,npu:31,cpu x"));
    assert_false(s.all_npus);
    assert_true(s.cpu);
    assert_int_equal(1u << 31 | 4u, s.npu_mask);
    assert_int_equal(MS_OPTIONS_RUN, parse("--device npu:2,npu x"));
    assert_true(s.all_npus);
    assert_int_equal(0, s.npu_mask);

    assert_int_equal(MS_OPTIONS_RUN, parse("--level=0,kernel x"));
    assert_int_equal(MS_LEVEL_OP | MS_LEVEL_KERNEL, s.level);
    assert_int_equal(MS_OPTIONS_RUN, parse("--level=op --level=1 x"));
    assert_int_equal(MS_LEVEL_KERNEL, s.level);

    assert_int_equal(MS_OPTIONS_RUN, parse("--call-stack=c --call-stack=python:7 x"));
    assert_true(s.c_stack && s.python_stack && !s.frame_pointers);
    assert_int_equal(50, s.c_depth);
    assert_int_equal(7, s.python_depth);
    assert_int_equal(MS_OPTIONS_RUN, parse("--call-stack=c:fp:9 x"));
    assert_true(s.frame_pointers);
    assert_int_equal(9, s.c_depth);
    assert_int_equal(MS_OPTIONS_RUN, parse("--call-stack=c:fp x"));
    assert_int_equal(50, s.c_depth);
    assert_int_equal(MS_OPTIONS_RUN, parse("--call-stack=c:1000 --call-stack= x"));
    assert_false(s.c_stack || s.python_stack);

    assert_int_equal(MS_OPTIONS_RUN, parse("--analysis=oom:1000,leaks x"));
    assert_int_equal(MS_ANALYSIS_LEAKS | MS_ANALYSIS_OOM, s.analysis);
    assert_int_equal(1000, s.oom_top_k);
    assert_int_equal(MS_OPTIONS_RUN, parse("--analysis= x"));
    assert_int_equal(0, s.analysis);
    assert_int_equal(MS_OPTIONS_RUN, parse("--analysis=none,leaks x"));
    assert_int_equal(0, s.analysis);
    assert_string_equal("[msmemscope] Warn: 'none' mixed with other analysis types, all analysis cleared.\n", said);
    assert_int_equal(MS_OPTIONS_RUN, parse("--events=none,free x"));
    assert_int_equal(0, s.events);
    assert_string_equal("[msmemscope] Warn: 'none' mixed with other event types, all events cleared.\n", said);

    assert_int_equal(MS_OPTIONS_RUN, parse("--watch=op0:3,op1,full-content x"));
    assert_true(s.watch.on && s.watch.full_content);
    assert_string_equal("op0", s.watch.start);
    assert_string_equal("op1", s.watch.end);
    assert_int_equal(3, s.watch.output_id);
    assert_int_equal(MS_OPTIONS_RUN, parse("--watch=op0:out3\xef\xbc\x8cop1 x"));
    assert_int_equal(3, s.watch.output_id);
    assert_int_equal(MS_OPTIONS_RUN, parse("--watch=,op1 x"));
    assert_string_equal("", s.watch.start);
    assert_int_equal(MS_OPTIONS_RUN, parse("--watch=op1 x"));
    assert_string_equal("op1", s.watch.end);

    assert_int_equal(MS_OPTIONS_RUN,
                     parse("--max-trace-size=2G --ring --on-full=drop --linger=0 --sync --export=end x"));
    assert_int_equal(2ull << 30, s.max_trace_b);
    assert_true(s.ring && s.sync);
    assert_int_equal(0, s.full_wait_ms);
    assert_int_equal(0, s.linger_ms);
    assert_int_equal(MS_EXPORT_END, s.export_mode);
    assert_int_equal(MS_OPTIONS_RUN, parse("--on-full=wait:1000 x"));
    assert_int_equal(1000, s.full_wait_ms);
}

static void names_and_order(void **state)
{
    (void)state;
    /* Names, aliases, abbreviations, letters, options after the program. */
    assert_int_equal(MS_OPTIONS_RUN, parse("--format=db -o /tmp/x prog"));
    assert_int_equal(MS_FORMAT_DB, s.format);
    assert_string_equal("/tmp/x", s.output);
    assert_int_equal(MS_OPTIONS_RUN, parse("--data-f db --output-path=/a/./b//../c/ prog"));
    assert_int_equal(MS_FORMAT_DB, s.format);
    assert_string_equal("/a/c", s.output);
    assert_int_equal(MS_OPTIONS_RUN, parse("python train.py --steps=2"));
    assert_int_equal(1, s.step_count);
    assert_int_equal(2, program);
    assert_int_equal(MS_OPTIONS_RUN, parse("--steps=2 -- prog --steps=3"));
    assert_int_equal(2, s.steps[0]);
    assert_int_equal(3, program);
    assert_int_equal(MS_OPTIONS_HELP, parse("python t.py -h --steps=x"));
    assert_int_equal(MS_OPTIONS_HELP_MD, parse("--help=md"));
    assert_int_equal(MS_OPTIONS_HELP_MAN, parse("--help=man"));
    assert_int_equal(MS_OPTIONS_VERSION, parse("-v"));
    assert_int_equal(MS_OPTIONS_VERSION, parse("-V"));
    assert_int_equal(MS_OPTIONS_VERSION, parse("--vers"));

    /* Abbreviations that are unambiguous among msMemScope's options stay valid. */
    assert_int_equal(MS_OPTIONS_RUN, parse("--event=access --s=3 --e launch prog --sync --ri"));
    assert_int_equal(MS_WANT_LAUNCH, s.events);
    assert_int_equal(3, s.steps[0]);
    assert_true(s.sync && s.ring && !s.events_only);
    assert_int_equal(MS_OPTIONS_RUN, parse("x --events-o --export=none"));
    assert_true(s.events_only);
    assert_int_equal(MS_EXPORT_NONE, s.export_mode);
    assert_int_equal(MS_OPTIONS_WRONG, parse("--l=op prog")); /* ambiguous in msMemScope too: level, log-level */

    static const struct {
        const char *text;
        enum ms_log_level level;
    } levels[] = {{"--log-level=warning x", MS_LOG_WARN},
                  {"--verbose --log-level=error --debug x", MS_LOG_ERROR},
                  {"--quiet --verbose x", MS_LOG_DEBUG},
                  {"--debug x", MS_LOG_DEBUG},
                  {"-q x", MS_LOG_ERROR},
                  {"--log-level=info x", MS_LOG_INFO}};
    for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
        assert_int_equal(MS_OPTIONS_RUN, parse(levels[i].text));
        assert_int_equal(levels[i].level, ms_settings_log_level(&s));
    }
}

static void wrong_values(void **state)
{
    (void)state;
#define E "[msmemscope] Error: "
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"--steps=0", E "invalid steps input."},
        {"--steps=01", E "invalid steps input."},
        {"--steps=1,2,3,4,5,6", E "invalid steps input."},
        {"--steps=4294967296", E "invalid steps input."},
        {"--steps=99999999999999999999999", E "invalid steps input."},
        {"--steps=-1", E "invalid steps input."},
        {"--analysis=leak", E "invalid analysis type input."},
        {"--analysis=oomph", E "invalid analysis type input."},
        {"--analysis=oom:0", E "invalid OOM top-K value '0', valid range is [1, 1000]."},
        {"--analysis=oom:1001", E "invalid OOM top-K value '1001', valid range is [1, 1000]."},
        {"--analysis=oom:", E "invalid OOM top-K value '', valid range is [1, 1000]."},
        {"--call-stack=c:1001", E "invalid call-stack depth input."},
        {"--call-stack=c:01", E "invalid call-stack depth input."},
        {"--call-stack=c:", E "invalid call-stack depth input."},
        {"--call-stack=c:fp:", E "invalid call-stack depth input."},
        {"--call-stack=python:fp", E "invalid call-stack depth input."},
        {"--call-stack=rust", E "invalid call-stack depth input."},
        {"--level=2", E "invalid data trace level input."},
        {"--level=", E "invalid data trace level input."},
        {"--events=malloc", E "invalid event trace type input."},
        {"--watch=,", E "invalid watch config."},
        {"--watch=a,b,c", E "invalid watch config."},
        {"--watch=a,b,full-content,c", E "invalid watch config."},
        {"--watch=a:01,b", E "invalid watch config."},
        {"--watch=:1,b", E "invalid watch config."},
        {"--log-level=loud", E "--log-level param is invalid. Log level: debug|info|warning|error."},
        {"--format=xml", E "--data-format param is invalid. DATA_FORMAT can only be set csv,db."},
        {"--device=npu:32", E "invalid device."},
        {"--device=", E "invalid device."},
        {"--device=gpu", E "invalid device."},
        {"--device=npu:", E "invalid device."},
        {"--collect-mode=now",
         E "--collect-mode param is invalid. Collect mode can only be set to immediate,deferred."},
        {"--output=/tmp/a;b", E "invalid output path.\nPlease use correct output path!"},
        {"--output=", "[msmemscope] Warn: empty output path.\nPlease use correct output path!"},
        {"--output=/a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/q/r/s/t/u/v/w/x/y/z/1/2/3/4/5/6/7",
         E "invalid output path.\nPlease use correct output path!"},
        {"--compare", "Please use compare command with correct input paths!"},
        {"--compare --input=/etc/passwd", "Please use compare command with correct input paths!"},
        {"--input=/etc/passwd,/etc/passwd", "Please use compare command with correct input paths!"},
        {"--compare --input=/etc/passwd,/nosuch", E "invalid paths input.\n/nosuch: No such file or directory."},
        {"--compare --input=/etc/passwd,/dev/null",
         E "invalid paths input.\n/dev/null: neither a file nor a directory."},
        {"--compare -i /etc/passwd,/etc/group --input-path=/etc/passwd", E "invalid paths input."},
        {"--nonsense", E "unrecognized command "},
        {"-x", E "unrecognized command "},
        {"--steps", E "unrecognized command "},
        {"--max-trace-size=1K",
         E "invalid --max-trace-size '1K': a size of at least 16M is needed, such as 2G, or 0 for no limit."},
        {"--on-full=wait:0", E "invalid --on-full 'wait:0': wait, wait:MILLISECONDS (1 to 1000) or drop is needed."},
        {"--export=never", E "invalid --export 'never': live, end or none is needed."},
        {"--linger=-1", E "invalid --linger '-1': seconds from 0 to 86400 are needed."},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[512];
        snprintf(text, sizeof(text), "%s prog", cases[i].text);
        if (strcmp(cases[i].text, "--steps") == 0) {
            text[strlen("--steps")] = '\0';
        }
        assert_int_equal(MS_OPTIONS_WRONG, parse(text));
        assert_string_equal(cases[i].error, why.error);
    }
    /* A path that is too long is replaced by the default, with a warning. */
    char text[5000] = "--output=/";
    memset(text + strlen(text), 'a', 4200);
    strcpy(text + 4200, " prog");
    assert_int_equal(MS_OPTIONS_RUN, parse(text));
    assert_string_equal(E "Parameter --output length exceeds the maximum length:4096 output path will be set to "
                          "default(./memscopeDumpResults).\n",
                        said);
    assert_non_null(strstr(s.output, "/memscopeDumpResults"));
    memcpy(text, "--watch=", 9);
    memset(text + 8, 'a', 300);
    strcpy(text + 308, ",b prog");
    assert_int_equal(MS_OPTIONS_WRONG, parse(text));
}

static void paths(void **state)
{
    (void)state;
    assert_int_equal(MS_OPTIONS_RUN, parse("--output=/tmp/\xe5\x86\x85\xe5\xad\x98_1.a-b~ x"));
    assert_int_equal(MS_OPTIONS_WRONG, parse("--output=/tmp/\xc3\xa9 x")); /* not an ideograph */
    assert_int_equal(MS_OPTIONS_WRONG, parse("--output=/tmp/\xe5\x86 x")); /* truncated character */
    static const char *const cases[][2] = {{"/", "/"},
                                           {"/..", "/"},
                                           {"/../../a", "/a"},
                                           {"//a//b/", "/a/b"},
                                           {"/a/../..//b", "/b"},
                                           {"/a/b/c/../../d/.", "/a/d"},
                                           {"/a/..b/...", "/a/..b/..."}};
    char out[MS_PATH_MAX_B + 1];
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_true(ms_path_absolute(cases[i][0], out));
        assert_string_equal(cases[i][1], out);
    }
    char big[3 * MS_PATH_MAX_B];
    memset(big, 'a', sizeof(big) - 1);
    big[sizeof(big) - 1] = '\0';
    assert_false(ms_path_absolute(big, out));
    assert_false(ms_path_shape_ok(big));
    big[300] = '\0';
    assert_false(ms_path_shape_ok(big)); /* a component of 300 bytes */
}

static void implied(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint32_t collected, written;
    } cases[] = {
        {"--events=alloc --analysis= x", 3, 3},
        {"--events=alloc --analysis= --events-only x", 3, 1},
        {"--events=access --analysis=none x", 11, 11},
        {"--events=none --analysis=leaks x", 3, 3},
        {"--events=launch --analysis=inefficient x", 15, 15},
        {"--events=launch --analysis=decompose --events-only x", 15, 4},
        {"--events= --analysis= x", 0, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(MS_OPTIONS_RUN, parse(cases[i].text));
        assert_int_equal(cases[i].collected, ms_settings_collected(&s));
        assert_int_equal(cases[i].written, ms_settings_written(&s));
    }
    struct ms_session session;
    ms_session_init(&session);
    parse("--level=kernel --call-stack=c:5 --device=npu:1,cpu --watch=a:1,b --collect-mode=deferred --on-full=drop x");
    ms_settings_to_session(&s, &session);
    assert_int_equal(MS_WANT_ALLOC | MS_WANT_FREE | MS_WANT_LAUNCH | MS_WANT_KERNEL | MS_WANT_CPU, session.event_mask);
    assert_int_equal(5, session.c_depth);
    assert_int_equal(0, session.python_depth);
    assert_int_equal(MS_STATE_SHADOW, session.state);
    assert_int_equal(2, session.npu_mask);
    assert_int_equal(MS_SESSION_CPU, session.flags);
    assert_string_equal("a:1,b", session.watch);
    assert_int_equal(0, session.full_wait_ms);
    parse("--collect-mode=deferred --events= --analysis= x");
    ms_settings_to_session(&s, &session);
    assert_int_equal(MS_STATE_OFF, session.state);
}

/* Settings -> lines -> settings. */
static void text_and_back(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "x",
        "--events=access --level=op,kernel --device=npu:3,cpu --steps=1,5 --call-stack=c:fp:3,python --analysis=oom:7 "
        "--watch=a:2,b,full-content --data-format=db --log-level=debug --max-trace-size=64M --ring --on-full=wait:5 "
        "--linger=9 --export=none --sync --no-children --events-only --collect-mode=deferred x",
        "--events=none --analysis=none --on-full=drop --quiet --strict-paths x",
        "--analysis=leaks,oom --device=cpu x",
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(MS_OPTIONS_RUN, parse(cases[i]));
        static struct ms_settings before, after;
        before = s;
        char text[4096];
        size_t n = ms_options_format(&before, text, sizeof(text));
        assert_int_equal(strlen(text), n);
        ms_settings_init(&after);
        assert_int_equal(0, ms_options_apply_text(&after, text, &why));
        assert_memory_equal(&before, &after, sizeof(before));
        for (size_t size = 0; size < n; size += 7) {
            char *exact = malloc(size + 1);
            assert_int_equal(n, ms_options_format(&before, exact, size));
            free(exact);
        }
    }
    /* All or nothing. */
    ms_settings_init(&s);
    struct ms_settings before = s;
    assert_int_equal(-EINVAL, ms_options_apply_text(&s, "level=kernel\nsteps=0\n", &why));
    assert_memory_equal(&before, &s, sizeof(s));
    assert_int_equal(-ENOENT, ms_options_apply_text(&s, "level=kernel\nnonsense=1\n", &why));
    assert_int_equal(-ENOENT, ms_options_apply_text(&s, "help=\n", &why));
    assert_memory_equal(&before, &s, sizeof(s));
}

/* Every row of the table: a value other than the default survives formatting and parsing. */
static void every_row_formats_itself(void **state)
{
    (void)state;
    static const char *const samples[][2] = {
        {"log-level", "warning"},     {"events", "access,traceback"},
        {"level", "kernel"},          {"device", "npu:3,cpu"},
        {"steps", "2,4294967295"},    {"call-stack", "c:fp:3,python:4"},
        {"analysis", "oom:7"},        {"watch", "a#2:1,b,full-content"},
        {"collect-mode", "deferred"}, {"data-format", "db"},
        {"export", "none"},           {"max-trace-size", "17M"},
        {"on-full", "drop"},          {"linger", "86400"},
    };
    static struct ms_settings initial, changed, again;
    const struct ms_option *option;
    size_t sampled = 0;
    ms_settings_init(&initial);
    for (size_t i = 0; (option = ms_option_at(i)) != NULL; i++) {
        if (option->action != MS_OPTION_FLAG && option->action != MS_OPTION_VALUE) {
            continue;
        }
        const char *value = option->action == MS_OPTION_FLAG ? "" : NULL;
        for (size_t k = 0; k < sizeof(samples) / sizeof(samples[0]); k++) {
            if (strcmp(samples[k][0], option->name) == 0) {
                value = samples[k][1];
                sampled++;
            }
        }
        if (option->local) {
            assert_null(option->format);
            continue;
        }
        if (value == NULL || (option->action == MS_OPTION_VALUE && option->format == NULL)) {
            fail_msg("option '%s' has no %s", option->name, value == NULL ? "sample in this test" : "formatter");
        }
        changed = initial;
        assert_int_equal(0, ms_option_apply(&changed, option->name, value, &why));
        assert_memory_not_equal(&initial, &changed, sizeof(changed));
        char text[4096];
        assert_in_range(ms_options_format(&changed, text, sizeof(text)), 1, sizeof(text) - 1);
        again = initial;
        assert_int_equal(0, ms_options_apply_text(&again, text, &why));
        if (memcmp(&changed, &again, sizeof(changed)) != 0) {
            fail_msg("option '%s': '%s' is not restored from:\n%s", option->name, value, text);
        }
    }
    assert_int_equal(sizeof(samples) / sizeof(samples[0]), sampled);
}

static void config_json(void **state)
{
    (void)state;
    char directory[] = "/tmp/options-test-XXXXXX";
    assert_non_null(mkdtemp(directory));
    int fd = open(directory, O_RDONLY | O_DIRECTORY);
    parse("--steps=2,3 --call-stack=c:10 --device=npu:1 --watch=a\"b\\,c x");
    strcpy(s.output, "/tmp/x\xff\"y");
    assert_int_equal(0, ms_config_json_write(fd, &s));
    int file = openat(fd, "config.json", O_RDONLY);
    char text[4096] = "";
    assert_true(read(file, text, sizeof(text) - 1) > 0);
    struct stat st;
    assert_int_equal(0, fstat(file, &st));
    assert_int_equal(0640, st.st_mode & 0777 & ~022u);
    static const char expected[] =
        "{\n    \"SelectedStepList\": {\n        \"stepCount\": 2,\n        \"stepIdList\": [\n            2,\n"
        "            3,\n            0,\n            0,\n            0\n        ]\n    },\n    \"analysisType\": 1,\n"
        "    \"cStackDepth\": 10,\n    \"collectAllNpu\": false,\n    \"collectCpu\": false,\n    \"collectMode\": 0,\n"
        "    \"dataFormat\": 0,\n    \"dumpEventType\": 7,\n    \"enableCStack\": true,\n    \"enableCompare\": false,\n"
        "    \"enablePyStack\": false,\n    \"eventType\": 7,\n    \"isEffective\": true,\n    \"levelType\": 1,\n"
        "    \"logLevel\": 2,\n    \"npuSlots\": 2,\n    \"oomTopK\": 10,\n    \"outputDir\": \"/tmp/x\xef\xbf\xbd\\\"y\",\n"
        "    \"pyStackDepth\": 0,\n    \"watchConfig\": {\n        \"end\": \"c\",\n        \"fullContent\": false,\n"
        "        \"isWatched\": true,\n        \"outputId\": 4294967295,\n        \"start\": \"a\\\"b\\\\\"\n    }\n}";
    assert_string_equal(expected, text);
    close(file);
    assert_int_equal(0, unlinkat(fd, "config.json", 0));

    /* Two processes in the same second get different names. */
    char first[MS_PROJECT_NAME_B], second[MS_PROJECT_NAME_B];
    int dir, trace;
    assert_int_equal(0, ms_project_make(fd, 42, first, &dir, &trace));
    assert_int_equal(0, strncmp(first, "msmemscope_42_20", 16));
    close(trace);
    struct ms_log log;
    ms_log_init(&log, dir, MS_LOG_WARN);
    assert_false(ms_log_write(&log, MS_LOG_INFO, "a/b.c", 1, "no"));
    assert_true(ms_log_write(&log, MS_LOG_WARN, "a/b.c", 12, "text"));
    assert_false(ms_log_write(&log, MS_LOG_ERROR, "a/b.c", 13, "more"));
    file = openat(dir, log.name, O_RDONLY);
    memset(text, 0, sizeof(text));
    assert_true(read(file, text, sizeof(text) - 1) > 0);
    text[strcspn(text, "\n")] = '\0';
    assert_string_equal(" [WARN]  [b.c:12] text", strchr(text + 12, ' '));
    close(file);
    ms_log_close(&log);
    close(dir);
    assert_int_equal(0, ms_project_make(fd, 42, second, &dir, &trace));
    assert_string_not_equal(first, second);
    close(dir);
    close(trace);
    assert_int_equal(-EINVAL, ms_project_open(fd, "../etc", &dir, &trace));
    assert_int_equal(-EINVAL, ms_project_open(fd, "msmemscope_/..", &dir, &trace));
    close(fd);
    char command[128];
    snprintf(command, sizeof(command), "rm -r %s", directory);
    assert_int_equal(0, system(command));
}

static void help(void **state)
{
    (void)state;
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    ms_options_help(out);
    fclose(out);
    static const char *const words[] = {"Usage",
                                        "msmemscope [options] -- <prog> [args]",
                                        "Environment setup:",
                                        "General options:",
                                        "Collection options:",
                                        "Analysis options:",
                                        "Input / Output options:",
                                        "Other",
                                        "Examples:",
                                        "Output:",
                                        "--output, --output-path, -o DIR",
                                        "--linger SECONDS"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        assert_non_null(strstr(text, words[i]));
    }
    for (const char *line = text; *line != '\0'; line += strcspn(line, "\n") + 1) {
        assert_in_range(strcspn(line, "\n"), 0, 120);
    }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_values),
        cmocka_unit_test(names_and_order),
        cmocka_unit_test(wrong_values),
        cmocka_unit_test(paths),
        cmocka_unit_test(implied),
        cmocka_unit_test(text_and_back),
        cmocka_unit_test(every_row_formats_itself),
        cmocka_unit_test(config_json),
        cmocka_unit_test(help),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
