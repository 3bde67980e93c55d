/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/macros.h"
#include "monitor/daemon/flags.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct fixture {
    struct mon_flags flags;
    struct mon_flag_notes notes;
    char error[512];
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    *state = f;
    return mon_flags_init(&f->flags);
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    mon_flags_free(&f->flags);
    mon_flag_notes_free(&f->notes);
    free(f);
    return 0;
}

/* Arguments after the program name, NULL-terminated. */
static int parse(struct fixture *f, ...)
{
    char *argv[32] = {(char *)"/usr/bin/dynolog"};
    int argc = 1;
    va_list args;
    va_start(args, f);
    for (char *a; (a = va_arg(args, char *)) != NULL;) {
        argv[argc++] = a;
    }
    va_end(args);
    return mon_flags_parse(&f->flags, argc, argv, &f->notes, f->error, sizeof(f->error));
}

static void defaults_match_the_documentation(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(f->flags.port, 1778);
    assert_string_equal(f->flags.certs_dir, "NO_CERTS");
    assert_false(f->flags.enable_ipc_monitor);
    assert_int_equal(f->flags.kernel_monitor_reporting_interval_s, 60);
    assert_int_equal(f->flags.dcgm_reporting_interval_s, 10);
    assert_true(f->flags.enable_env_var_attribution);
    assert_string_equal(f->flags.allow_interface_prefixes, "eno,ens,enp,enx,eth");
    assert_string_equal(f->flags.prometheus_address, "127.0.0.1");
}

static void every_spelling_of_a_flag_works(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(parse(f, "--enable-ipc-monitor", "--certs-dir", "/c", "--metric_log_dir=/m", "-port", "17", NULL),
                     0);
    assert_true(f->flags.enable_ipc_monitor);
    assert_string_equal(f->flags.certs_dir, "/c");
    assert_string_equal(f->flags.metric_log_dir, "/m");
    assert_int_equal(f->flags.port, 17);
    assert_int_equal(parse(f, "--noenable_ipc_monitor", "--port=18", "--port=19", NULL), 0);
    assert_false(f->flags.enable_ipc_monitor);
    assert_int_equal(f->flags.port, 19);
    assert_int_equal(parse(f, "--enable_ipc_monitor=TRUE", "--noenable-env-var-attribution", NULL), 0);
    assert_true(f->flags.enable_ipc_monitor);
    assert_false(f->flags.enable_env_var_attribution);
    assert_int_equal(parse(f, "--enable_ipc_monitor", "false", "--use_JSON", "true", NULL), 0);
    assert_false(f->flags.enable_ipc_monitor);
    assert_true(f->flags.use_JSON);
    assert_int_equal(parse(f, "--log_file=", "--", "--nonsense", NULL), 0);
    assert_string_equal(f->flags.log_file, "");
}

static void ignored_flags_load_with_a_warning(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(parse(f, "--use_ODS", "--fbrelay_port=1", "--dcgm_lib_path", "/x", "--port=1", NULL), 0);
    assert_int_equal(f->notes.count, 3);
    assert_non_null(strstr(f->notes.lines[0], "--use_ODS"));
    assert_int_equal(parse(f, "start", NULL), 0);
    assert_non_null(strstr(f->notes.lines[3], "ignoring argument 'start'"));
}

static void errors_name_the_mistake(void **state)
{
    struct fixture *f = *state;
    static const struct {
        const char *argument, *message;
    } cases[] = {
        {"--prot=1", "did you mean --port?"},
        {"--something_else", "unknown flag 'something_else'"},
        {"--port=x", "must be a number from 0 to 65535"},
        {"--port=65536", "must be a number from 0 to 65535"},
        {"--port=", "must be a number from 0 to 65535"},
        {"--port", "requires a value"},
        {"--enable_ipc_monitor=maybe", "must be true or false"},
        {"--noport", "unknown flag"},
        {"--=1", "unknown flag '=1'"},
        {"--flagfile", "requires a file name"},
        {"--flagfile=/does/not/exist", "No such file"},
    };
    for (size_t i = 0; i < MS_COUNT_OF(cases); i++) {
        assert_int_equal(parse(f, cases[i].argument, NULL), -EINVAL);
        assert_non_null(strstr(f->error, cases[i].message));
    }
    char long_name[300] = "--";
    memset(long_name + 2, 'a', 200);
    assert_int_equal(parse(f, long_name, NULL), -EINVAL);
}

static void help_and_version_are_recognised(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(parse(f, "--help", "-version", NULL), 0);
    assert_true(f->flags.help && f->flags.version);
}

static int text(struct fixture *f, const char *lines)
{
    return mon_flags_parse_text(&f->flags, "/usr/bin/dynolog", lines, strlen(lines), &f->notes, f->error,
                                sizeof(f->error));
}

static void flag_files_are_parsed(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(text(f, "# comment\n\n  --port=5  \n--enable-ipc-monitor\n--certs_dir /a b\r\n-use_JSON=true"), 0);
    assert_int_equal(f->flags.port, 5);
    assert_true(f->flags.enable_ipc_monitor);
    assert_string_equal(f->flags.certs_dir, "/a b");
    assert_true(f->flags.use_JSON);
    /* Sections for other programs. */
    assert_int_equal(text(f, "other*\n--port=6\n--nonsense\ndyno\nd?nolog\n--prometheus_port=7\n"), 0);
    assert_int_equal(f->flags.port, 5);
    assert_int_equal(f->flags.prometheus_port, 7);
    assert_int_equal(text(f, "--enable_ipc_monitor perhaps\n"), -EINVAL);
}

static void nesting_of_flag_files_is_limited(void **state)
{
    struct fixture *f = *state;
    char path[] = "/tmp/flags_test_XXXXXX", flag[64];
    int fd = mkstemp(path);
    snprintf(flag, sizeof(flag), "--flagfile=%s", path);
    dprintf(fd, "--port=3\n%s\n", flag);
    close(fd);
    assert_int_equal(parse(f, flag, NULL), -EINVAL);
    assert_non_null(strstr(f->error, "nested files"));
    assert_int_equal(f->flags.port, 3);
    unlink(path);
}

static void help_shows_every_flag(void **state)
{
    char *help = NULL, *page = NULL;
    size_t help_b, page_b;
    FILE *out = open_memstream(&help, &help_b);
    mon_flags_help(out, "dynolog");
    fclose(out);
    out = open_memstream(&page, &page_b);
    mon_flags_markdown(out);
    fclose(out);
#define NONE(title)
#define BOOL(name, value, where, text_)                                                                                \
    assert_non_null(strstr(help, "--" #name)), assert_non_null(strstr(page, "--" #name));
#define INT(name, value, min, max, where, text_) BOOL(name, value, where, text_)
    MON_FLAG_TABLE(NONE, BOOL, INT, BOOL)
#undef NONE
#undef BOOL
#undef INT
    free(help);
    free(page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(defaults_match_the_documentation, setup, teardown),
        cmocka_unit_test_setup_teardown(every_spelling_of_a_flag_works, setup, teardown),
        cmocka_unit_test_setup_teardown(ignored_flags_load_with_a_warning, setup, teardown),
        cmocka_unit_test_setup_teardown(errors_name_the_mistake, setup, teardown),
        cmocka_unit_test_setup_teardown(help_and_version_are_recognised, setup, teardown),
        cmocka_unit_test_setup_teardown(flag_files_are_parsed, setup, teardown),
        cmocka_unit_test_setup_teardown(nesting_of_flag_files_is_limited, setup, teardown),
        cmocka_unit_test(help_shows_every_flag),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
