/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the program of bench/target and reads its figures. */
#ifndef NPUSCOPE_BENCH_TARGET_RUN_H
#define NPUSCOPE_BENCH_TARGET_RUN_H

#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

struct target_figures {
    double cpu, lap, wall, peak, first, thread;
};

/* Starts a command whose output comes through *out. False: failed. */
static inline bool target_start(char *const argv[], pid_t *pid, int *out)
{
    extern char **environ;
    int pipe_fds[2];
    if (pipe2(pipe_fds, O_CLOEXEC) != 0) {
        return false;
    }
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pipe_fds[1], 1);
    int failed = posix_spawnp(pid, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(pipe_fds[1]);
    *out = pipe_fds[0];
    return !failed;
}

/* Reads to the end and closes. */
static inline struct target_figures target_read(int out)
{
    struct target_figures figures = {0};
    const struct {
        const char *name;
        double *value;
    } names[] = {{"cpu", &figures.cpu},   {"lap", &figures.lap},     {"wall", &figures.wall},
                 {"peak", &figures.peak}, {"first", &figures.first}, {"thread", &figures.thread}};
    FILE *in = fdopen(out, "r");
    char line[512];
    while (in != NULL && fgets(line, sizeof(line), in) != NULL) { /* other lines are skipped */
        for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
            char name[32];
            double value;
            if (sscanf(line, "%31s %lf", name, &value) == 2 && strcmp(name, names[i].name) == 0) {
                *names[i].value = value;
            }
        }
    }
    if (in != NULL) {
        fclose(in);
    }
    return figures;
}

#endif
