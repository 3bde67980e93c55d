/* SPDX-License-Identifier: Apache-2.0 */
/* softnpu top: monitors devices, processes and streams. A screen on a terminal, plain reports otherwise. */
#include "cli/softnpu/cli.h"
#include "cli/softnpu/snapshot.h"

#include "base/parse.h"

#include <curses.h>
#include <time.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct history {
    struct snpu_machine *machine;
    struct snpu_snapshot snapshots[2]; /* the current and the previous one, alternating */
    int current;
};

static struct snpu_snapshot *now(struct history *s)
{
    return &s->snapshots[s->current];
}

static struct snpu_snapshot *before(struct history *s)
{
    return &s->snapshots[1 - s->current];
}

/* The machine may be created in the meantime. */
static void take_snapshot(struct history *s)
{
    s->current = 1 - s->current;
    memcpy(now(s)->machine_name, before(s)->machine_name, sizeof(now(s)->machine_name));
    now(s)->config = before(s)->config;
    if (s->machine == NULL) {
        snpu_machine_observe(now(s)->machine_name, &s->machine);
    }
    snpu_snapshot_refresh(s->machine, now(s));
}

static void pause_for(double seconds)
{
    struct timespec t = {.tv_sec = (time_t)seconds, .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&t, NULL);
}

static int batch(struct history *s, uint64_t count, double interval, bool json)
{
    for (uint64_t i = 0; i < count; i++) {
        pause_for(interval);
        take_snapshot(s);
        if (json) {
            snpu_snapshot_print_json(stdout, before(s), now(s));
        } else {
            snpu_snapshot_print(stdout, before(s), now(s));
            if (i + 1 < count) {
                putchar('\n');
            }
        }
        if (fflush(stdout) != 0) {
            return SNPU_EXIT_FAILED;
        }
    }
    return SNPU_EXIT_OK;
}

/* Draws the same report that batch mode prints. */
static void draw(struct history *s)
{
    char *text = NULL;
    size_t length = 0;
    FILE *memory = open_memstream(&text, &length);
    if (memory == NULL) {
        return;
    }
    snpu_snapshot_print(memory, before(s), now(s));
    fclose(memory);
    erase();
    int row = 0;
    for (char *line = text; line != NULL && *line != '\0' && row < LINES - 1; row++) {
        char *end = strchr(line, '\n');
        bool heading = strncmp(line, "device ", 7) == 0 || strncmp(line, "   pid ", 7) == 0;
        attrset(row == 0 ? A_BOLD : heading ? A_REVERSE : A_NORMAL);
        mvaddnstr(row, 0, line, end != NULL ? (int)(end - line) : -1);
        line = end != NULL ? end + 1 : NULL;
    }
    attrset(A_DIM);
    mvaddstr(LINES - 1, 0, "q quit");
    attrset(A_NORMAL);
    refresh();
    free(text);
}

static int screen(struct history *s, double interval)
{
    if (initscr() == NULL) {
        snpu_cli_error("cannot draw on this terminal; use --batch 1");
        return SNPU_EXIT_FAILED;
    }
    cbreak();
    noecho();
    curs_set(0);
    timeout((int)(interval * 1000));
    int key = 0;
    while (key != 'q' && key != 'Q' && key != 27) {
        take_snapshot(s);
        draw(s);
        key = getch();
    }
    endwin();
    return SNPU_EXIT_OK;
}

int snpu_cmd_top(int argc, char **argv)
{
    struct snpu_option_values options;
    int rest = snpu_cli_parse(SNPU_CMD_TOP, argc, argv, &options);
    if (rest < 0) {
        return SNPU_EXIT_USAGE;
    }
    if (rest < argc) {
        snpu_cli_error("top takes no argument ('%s')", argv[rest]);
        return SNPU_EXIT_USAGE;
    }
    struct history history = {0};
    int status = snpu_snapshot_open(options.value[SNPU_OPT_MACHINE], &history.machine, &history.snapshots[0]);
    if (status != SNPU_EXIT_OK) {
        return status;
    }
    double interval = options.value[SNPU_OPT_INTERVAL] != NULL ? atof(options.value[SNPU_OPT_INTERVAL]) : 1.0;
    bool json = options.value[SNPU_OPT_JSON] != NULL;
    uint64_t count = UINT64_MAX;
    if (options.value[SNPU_OPT_BATCH] != NULL) {
        ms_parse_u64(options.value[SNPU_OPT_BATCH], 1, UINT64_MAX, &count);
    }
    if (options.value[SNPU_OPT_BATCH] != NULL || json || !isatty(STDOUT_FILENO) || !isatty(STDIN_FILENO)) {
        status = batch(&history, count, interval, json);
    } else {
        status = screen(&history, interval);
    }
    snpu_snapshot_free(&history.snapshots[0]);
    snpu_snapshot_free(&history.snapshots[1]);
    return status;
}
