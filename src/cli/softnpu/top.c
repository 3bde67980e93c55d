/* SPDX-License-Identifier: Apache-2.0 */
/* softnpu top: devices, processes and streams, live. A screen on a terminal, plain reports otherwise. */
#include "cli/softnpu/cli.h"
#include "cli/softnpu/view.h"

#include "base/parse.h"

#include <curses.h>
#include <time.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct source {
    struct snpu_machine *machine;
    struct view views[2]; /* now and before, taking turns */
    int current;
};

static struct view *now(struct source *s)
{
    return &s->views[s->current];
}

static struct view *before(struct source *s)
{
    return &s->views[1 - s->current];
}

/* The machine may appear while we watch. */
static void look_again(struct source *s)
{
    s->current = 1 - s->current;
    memcpy(now(s)->machine_name, before(s)->machine_name, sizeof(now(s)->machine_name));
    now(s)->config = before(s)->config;
    if (s->machine == NULL) {
        snpu_machine_observe(now(s)->machine_name, &s->machine);
    }
    view_refresh(s->machine, now(s));
}

static void pause_for(double seconds)
{
    struct timespec t = {.tv_sec = (time_t)seconds, .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&t, NULL);
}

static int batch(struct source *s, uint64_t count, double interval, bool json)
{
    for (uint64_t i = 0; i < count; i++) {
        pause_for(interval);
        look_again(s);
        if (json) {
            view_print_json(stdout, before(s), now(s));
        } else {
            view_print(stdout, before(s), now(s));
            if (i + 1 < count) {
                putchar('\n');
            }
        }
        if (fflush(stdout) != 0) {
            return CLI_FAILED;
        }
    }
    return CLI_OK;
}

/* Draws a report made for plain output: one text for both ways of looking. */
static void draw(struct source *s)
{
    char *text = NULL;
    size_t length = 0;
    FILE *memory = open_memstream(&text, &length);
    if (memory == NULL) {
        return;
    }
    view_print(memory, before(s), now(s));
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

static int screen(struct source *s, double interval)
{
    if (initscr() == NULL) {
        cli_error("this terminal cannot show a screen; use --batch 1");
        return CLI_FAILED;
    }
    cbreak();
    noecho();
    curs_set(0);
    timeout((int)(interval * 1000));
    int key = 0;
    while (key != 'q' && key != 'Q' && key != 27) {
        look_again(s);
        draw(s);
        key = getch();
    }
    endwin();
    return CLI_OK;
}

int cmd_top(int argc, char **argv)
{
    struct options options;
    int rest = cli_parse(CMD_TOP, argc, argv, &options);
    if (rest < 0) {
        return CLI_USAGE;
    }
    if (rest < argc) {
        cli_error("top takes no argument ('%s')", argv[rest]);
        return CLI_USAGE;
    }
    struct source source = {0};
    int status = view_open(options.value[OPT_MACHINE], &source.machine, &source.views[0]);
    if (status != CLI_OK) {
        return status;
    }
    double interval = options.value[OPT_INTERVAL] != NULL ? atof(options.value[OPT_INTERVAL]) : 1.0;
    bool json = options.value[OPT_JSON] != NULL;
    uint64_t count = UINT64_MAX;
    if (options.value[OPT_BATCH] != NULL) {
        ms_parse_u64(options.value[OPT_BATCH], 1, UINT64_MAX, &count);
    }
    if (options.value[OPT_BATCH] != NULL || json || !isatty(STDOUT_FILENO) || !isatty(STDIN_FILENO)) {
        status = batch(&source, count, interval, json);
    } else {
        status = screen(&source, interval);
    }
    view_free(&source.views[0]);
    view_free(&source.views[1]);
    return status;
}
