/* SPDX-License-Identifier: Apache-2.0 */
/* Log levels and destinations. The library reads its environment once, so each case runs in a child process. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "toolchain/slog.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Runs body in a child; it must return 0. */
static void in_child(int (*body)(void))
{
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        _exit(body());
    }
    int status = -1;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

#define CHECK(x)                                                                                                       \
    if (!(x)) {                                                                                                        \
        fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #x);                                                        \
        return 1;                                                                                                      \
    }

static int default_levels(void)
{
    CHECK(CheckLogLevelForC(RUNTIME, DLOG_ERROR) == 1);
    CHECK(CheckLogLevelForC(RUNTIME, DLOG_WARN) == 0);
    CHECK(CheckLogLevelForC(RUNTIME, DLOG_EVENT) == 1);
    CHECK(CheckLogLevelForC(RUNTIME | 0x01000000, DLOG_INFO) == 1); /* run log */
    CHECK(CheckLogLevelForC(RUNTIME, 99) == 0);
    CHECK(CheckLogLevelForC(-5, DLOG_ERROR) == 0);
    CHECK(CheckLogLevelForC(0x7fff, DLOG_ERROR) == 0);
    int32_t event = -1;
    CHECK(DlogSetlevelForC(RUNTIME, DLOG_DEBUG, 0) == 0);
    CHECK(CheckLogLevel(RUNTIME, DLOG_DEBUG) == 1);
    CHECK(CheckLogLevel(GE, DLOG_DEBUG) == 0);
    CHECK(dlog_getlevel(RUNTIME, &event) == DLOG_DEBUG && event == 0);
    CHECK(CheckLogLevel(RUNTIME, DLOG_EVENT) == 0);
    CHECK(dlog_setlevel(-1, DLOG_WARN, 1) == 0);
    CHECK(CheckLogLevel(GE, DLOG_WARN) == 1);
    CHECK(dlog_setlevel(-2, DLOG_WARN, 1) != 0);
    CHECK(dlog_setlevel(RUNTIME, 7, 1) != 0);
    CHECK(dlog_setlevel(RUNTIME, DLOG_WARN, 2) != 0);
    return 0;
}

static int bad_level_means_default(void)
{
    setenv("ASCEND_GLOBAL_LOG_LEVEL", "loud", 1);
    CHECK(dlog_getlevel(RUNTIME, NULL) == DLOG_ERROR);
    return 0;
}

static char folder[64];

static int file_of_the_process(void)
{
    setenv("ASCEND_GLOBAL_LOG_LEVEL", "1", 1);
    setenv("ASCEND_PROCESS_LOG_PATH", folder, 1);
    DlogInnerForC(PROFILING, DLOG_INFO, "number %d", 17);
    DlogInnerForC(PROFILING, DLOG_DEBUG, "too fine");
    DlogRecord(99, DLOG_ERROR, "other\n");
    DlogFlush();
    char path[256], text[512] = "", word[32];
    snprintf(path, sizeof(path), "%s/debug/plog", folder);
    DIR *dir = opendir(path);
    CHECK(dir != NULL);
    snprintf(word, sizeof(word), "plog-%d_", (int)getpid());
    int files = 0;
    for (struct dirent *e; (e = readdir(dir)) != NULL;) {
        if (strncmp(e->d_name, word, strlen(word)) == 0) {
            files++;
            snprintf(path, sizeof(path), "%s/debug/plog/%.80s", folder, e->d_name);
        }
    }
    closedir(dir);
    CHECK(files == 1);
    FILE *f = fopen(path, "r");
    CHECK(f != NULL);
    size_t n = fread(text, 1, sizeof(text) - 1, f);
    fclose(f);
    unlink(path);
    text[n] = '\0';
    CHECK(strncmp(text, "[INFO] PROFILING(", 17) == 0);
    CHECK(strstr(text, " number 17\n[ERROR] MODULE99(") != NULL);
    CHECK(strstr(text, " other\n") != NULL && strstr(text, "\n\n") == NULL);
    CHECK(strstr(text, "too fine") == NULL);
    return 0;
}

static int standard_output(void)
{
    int fds[2];
    CHECK(pipe(fds) == 0 && dup2(fds[1], 1) == 1);
    setenv("ASCEND_SLOG_PRINT_TO_STDOUT", "1", 1);
    DlogRecordForC(APP, DLOG_ERROR, "shown %s", "here");
    char text[256] = "";
    CHECK(read(fds[0], text, sizeof(text) - 1) > 0);
    CHECK(strncmp(text, "[ERROR] APP(", 12) == 0 && strstr(text, " shown here\n") != NULL);
    return 0;
}

static int nowhere(void)
{
    int fds[2];
    CHECK(pipe(fds) == 0 && dup2(fds[1], 1) == 1 && dup2(fds[1], 2) == 2);
    const char *volatile none = NULL;
    DlogRecordForC(APP, DLOG_ERROR, "silent");
    DlogInnerForC(APP, DLOG_ERROR, none, 0);
    fflush(NULL);
    close(1), close(2), close(fds[1]);
    char byte;
    return read(fds[0], &byte, 1) == 0 ? 0 : 1;
}

static void levels(void **state)
{
    in_child(default_levels);
    in_child(bad_level_means_default);
}

static void destinations(void **state)
{
    strcpy(folder, "/tmp/alog_test.XXXXXX");
    assert_non_null(mkdtemp(folder));
    in_child(file_of_the_process);
    in_child(standard_output);
    in_child(nowhere);
    char path[128];
    snprintf(path, sizeof(path), "%s/debug/plog", folder);
    rmdir(path);
    snprintf(path, sizeof(path), "%s/debug", folder);
    rmdir(path);
    assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
    unsetenv("ASCEND_GLOBAL_LOG_LEVEL");
    unsetenv("ASCEND_SLOG_PRINT_TO_STDOUT");
    unsetenv("ASCEND_PROCESS_LOG_PATH");
    const struct CMUnitTest tests[] = {cmocka_unit_test(levels), cmocka_unit_test(destinations)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
