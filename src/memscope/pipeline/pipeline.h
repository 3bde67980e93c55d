/* SPDX-License-Identifier: Apache-2.0 */
/* From a trace to the files that users read: reader, model, dump, leaks, fluctuation, for one process. The collector
 * runs it beside the recording, a slice at a time; `export` and `recover` run it to the end. One thread at a time. */
#ifndef MS_PIPELINE_PIPELINE_H
#define MS_PIPELINE_PIPELINE_H

#include "memscope/recording/checkpoints.h"
#include "trace/reader.h"
#include "trace/writer.h"

struct ms_replay;

/* SYMBOLS: no files, only the texts of call stacks into the trace, for those who export later, elsewhere (and
 * checkpoints, if there are marks). */
enum ms_replay_output { MS_REPLAY_CSV, MS_REPLAY_DB, MS_REPLAY_SYMBOLS };

struct ms_replay_options {
    int tracefd;      /* directory of the trace; the caller's, as all below */
    const char *name; /* of the process in it */
    int outfd;        /* project directory, or where the files shall go */
    const char *out;  /* its path as users see it */
    enum ms_replay_output output;
    const struct ms_settings *settings; /* at the beginning; CONFIG events change a copy */
    struct ms_writer *writer;           /* being recorded: needed during ms_replay_open only; NULL: offline */
    bool memory;                        /* the writer began in memory, see ms_replay_to_files; output is SYMBOLS */
    struct ms_view *view;               /* being recorded: files of the process, its texts go into the trace; or NULL */
    struct ms_marks *marks;             /* makes checkpoints, and tells so here; NULL: makes none */
    bool replace;                       /* results of a run that was cut off are there: write them anew */
    bool reports;                       /* leaks and fluctuation, as texts to print */
    /* For the console: stream 1 or 2; info: may be left out. */
    void (*print)(void *argument, int stream, bool info, const char *text, size_t text_b);
    void (*log)(void *argument, int level, const char *line);
    void *argument;
};

int ms_replay_open(const struct ms_replay_options *options, struct ms_replay **out);

enum ms_replay_result { MS_REPLAY_MORE = 1, MS_REPLAY_AGAIN = 0, MS_REPLAY_END = 2 }; /* or -errno: it cannot go on */

/* The trace goes on in files (tracefd), and so may the results: what the options say of output, out and outfd counts
 * from now on, and the settings. 0 or -errno. */
int ms_replay_to_files(struct ms_replay *replay, const struct ms_replay_options *options);

/* The trace will not grow any more, whether its end was written or not. */
void ms_replay_trace_closed(struct ms_replay *replay);

/* Takes up to so many events. END: the files are complete. */
int ms_replay_run(struct ms_replay *replay, unsigned events);

struct ms_replay_stats {
    uint64_t events, rows;
    uint64_t done_stamp; /* everything below is in the files, or on its way with the next flush */
    uint64_t bytes_read, bytes_total;
    uint64_t gaps, lost, damages, cuts;
    uint32_t ending; /* enum ms_trace_ending */
    int error;       /* first one of an output, -errno: files are not complete; 0: none */
};
void ms_replay_stats(const struct ms_replay *replay, struct ms_replay_stats *out);

/* Blocks that seem to leak when tracing is stopped, see memscope/analyze/leaks.h; "": none, or nobody looks for leaks. *stops
 * tells one from another. */
const char *ms_replay_suspects(const struct ms_replay *replay, uint64_t *stops);

/* Before END: cut off; what was written stays and is valid. */
void ms_replay_close(struct ms_replay *replay);

#endif
