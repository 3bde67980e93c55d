/* The installed libraries as people use them: preloaded by any of their names, in any order, into programs that know
 * nothing of them; and what they must not do to programs that have nothing to record. */
#include "agent_fixture.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char *with(const char *name, const char *value)
{
    char *text = NULL;
    assert_true(asprintf(&text, "%s=%s", name, value) > 0);
    return text;
}

/* Preload list out of bare names of our libraries. */
static char *preload_list(const char *names)
{
    static char list[4096];
    const char *build = getenv("NPUSCOPE_BUILD");
    assert_non_null(build);
    list[0] = '\0';
    for (const char *s = names; *s != '\0';) {
        size_t length = strcspn(s, " ");
        size_t used = strlen(list);
        snprintf(list + used, sizeof(list) - used, "%s%s/msmemscope/lib64/lib%.*s.so", used > 0 ? ":" : "", build,
                 (int)length, s);
        s += length + (s[length] == ' ');
    }
    return list;
}

/* Runs a program of the build tree; its exit status. Output goes to /dev/null or, if out is given, into it. */
static int run(const char *preload, const char *session, char **argv, char *out, size_t out_b)
{
    char *environment[] = {with("LD_PRELOAD", preload),
                           with("LD_LIBRARY_PATH", getenv("LD_LIBRARY_PATH")),
                           with("ASCEND_HOME_PATH", getenv("ASCEND_HOME_PATH")),
                           with("ASCEND_OPP_PATH", getenv("ASCEND_OPP_PATH")),
                           with("SOFTNPU_MACHINE", getenv("SOFTNPU_MACHINE")),
                           session != NULL ? with(MS_SESSION_ENV, session) : NULL,
                           NULL};
    int pipe_fd[2];
    assert_int_equal(pipe2(pipe_fd, O_CLOEXEC), 0);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pipe_fd[1], 1);
    posix_spawn_file_actions_adddup2(&actions, pipe_fd[1], 2);
    pid_t pid;
    assert_int_equal(posix_spawn(&pid, argv[0], &actions, NULL, argv, environment), 0);
    posix_spawn_file_actions_destroy(&actions);
    close(pipe_fd[1]);
    char sink[4096];
    size_t used = 0;
    ssize_t n;
    while ((n = out != NULL && used + 1 < out_b ? read(pipe_fd[0], out + used, out_b - used - 1)
                                                : read(pipe_fd[0], sink, sizeof(sink))) > 0) {
        used += out != NULL && used + 1 < out_b ? (size_t)n : 0;
    }
    if (out != NULL) {
        out[used] = '\0';
    }
    close(pipe_fd[0]);
    int status = -1;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    for (char **e = environment; *e != NULL; e++) {
        free(*e);
    }
    return status;
}

static char *program(const char *name)
{
    static char path[4096];
    snprintf(path, sizeof(path), "%s/%s", getenv("NPUSCOPE_BUILD"), name);
    return path;
}

static void every_name_in_any_order(void **state)
{
    static const char *const lists[] = {
        "ascend_kernel_hook",
        "leaks_ascend_hal_hook",
        "ascend_mstx_hook",
        "ascend_leaks",
        "leaks_ascend_hal_hook ascend_mstx_hook ascend_kernel_hook",
        "ascend_kernel_hook ascend_mstx_hook leaks_ascend_hal_hook",
        "ascend_kernel_hook ascend_kernel_hook",
        "ascend_leaks ascend_mstx_hook leaks_ascend_hal_hook",
    };
    static struct seen seen[10000];
    size_t expected = 0;
    for (unsigned i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        char *argv[] = {program("home/bin/acl-hello"), NULL};
        assert_int_equal(run(preload_list(lists[i]), session_text(), argv, NULL, 0), 0);
        struct process *process = session_wait();
        size_t count = records_of(process, seen, 10000), allocs = 0, frees = 0, inits = 0;
        for (size_t k = 0; k < count; k++) {
            allocs += seen[k].record->kind == MS_R_HAL_ALLOC;
            frees += seen[k].record->kind == MS_R_HAL_FREE;
            inits += seen[k].record->kind == MS_R_ACL_INIT;
        }
        assert_true(allocs > 0 && frees > 0);
        assert_int_equal(inits, 1);
        expected = i == 0 ? count : expected;
        assert_int_equal(count, expected); /* once each, whoever else is preloaded */
        assert_null(session_poll());
    }
}

/* Programs without a driver in them neither register nor notice. */
static void others_are_left_alone(void **state)
{
    char output[256];
    char *argv[] = {"/bin/echo", "hello", NULL};
    assert_int_equal(run(preload_list("ascend_kernel_hook"), session_text(), argv, output, sizeof(output)), 0);
    assert_string_equal(output, "hello\n");
    assert_null(session_poll());
}

static void without_a_session_nothing_happens(void **state)
{
    static const char *const sessions[] = {NULL, "", "1", "99;s=0", "nonsense", "1;t=2;s=zz"};
    for (unsigned i = 0; i < sizeof(sessions) / sizeof(sessions[0]); i++) {
        char *argv[] = {program("home/bin/acl-hello"), NULL};
        assert_int_equal(run(preload_list("ascend_kernel_hook"), sessions[i], argv, NULL, 0), 0);
    }
    assert_null(session_poll());
}

/* A collector that is gone: the program runs unrecorded. */
static void unreachable_collector(void **state)
{
    struct ms_session session;
    char text[MS_SESSION_MAX_B];
    ms_session_init(&session);
    ms_session_new_socket(&session);
    ms_session_format(&session, text, sizeof(text));
    char *argv[] = {program("home/bin/acl-hello"), NULL};
    assert_int_equal(run(preload_list("ascend_kernel_hook"), text, argv, NULL, 0), 0);
    assert_null(session_poll());
}

int main(int argc, char **argv)
{
    session_begin(argv, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_name_in_any_order),
        cmocka_unit_test(others_are_left_alone),
        cmocka_unit_test(without_a_session_nothing_happens),
        cmocka_unit_test(unreachable_collector),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
