/* SPDX-License-Identifier: Apache-2.0 */
/* From a trace to the files that users read: reader, model, dump, leaks, fluctuation, for one process. The collector
 * runs it beside the recording, a slice at a time; `export` and `recover` run it to the end. One thread at a time. */
#ifndef MS_PIPELINE_PIPELINE_H
#define MS_PIPELINE_PIPELINE_H

#include "memscope/export/exporter.h"
#include "memscope/recording/checkpoints.h"
#include "trace/reader.h"
#include "trace/writer.h"

struct ms_pipeline;

struct ms_pipeline_options {
    int tracefd;                        /* directory of the trace; the caller's, as all below */
    const char *name;                   /* of the process in it */
    int outfd;                          /* project directory, or where the files shall go */
    const char *out;                    /* its path as users see it */
    const struct ms_exporter *format;   /* of the dump; NULL: no files, only the texts of call stacks are added to the
                                           trace, for an export elsewhere (and checkpoints, if there are marks) */
    const struct ms_settings *settings; /* at the beginning; CONFIG events change a copy */
    struct ms_writer *writer;           /* being recorded: needed during ms_pipeline_open only; NULL: offline */
    bool memory;                        /* the writer began in memory, see ms_pipeline_to_files; format is NULL */
    struct ms_view *view;               /* being recorded: files of the process, its texts go into the trace; or NULL */
    struct ms_marks *marks;             /* makes checkpoints, and tells so here; NULL: makes none */
    bool replace;                       /* results of a run that was cut off are there: write them anew */
    bool reports;                       /* leaks and fluctuation, as texts to print */
    /* For the console: stream 1 or 2; info: may be left out. */
    void (*print)(void *argument, int stream, bool info, const char *text, size_t text_b);
    void (*log)(void *argument, int level, const char *line);
    void *argument;
};

/* The format that the settings ask for. */
const struct ms_exporter *ms_pipeline_format(const struct ms_settings *settings);

int ms_pipeline_open(const struct ms_pipeline_options *options, struct ms_pipeline **out);

enum ms_pipeline_result {
    MS_PIPELINE_MORE = 1,
    MS_PIPELINE_AGAIN = 0,
    MS_PIPELINE_END = 2
}; /* or -errno: it cannot go on */

/* The trace goes on in files (tracefd), and so may the results: what the options say of format, out and outfd counts
 * from now on, and the settings. 0 or -errno. */
int ms_pipeline_to_files(struct ms_pipeline *pipeline, const struct ms_pipeline_options *options);

/* The trace will not grow any more, whether its end was written or not. */
void ms_pipeline_trace_closed(struct ms_pipeline *pipeline);

/* Takes up to so many events. END: the files are complete. */
int ms_pipeline_run(struct ms_pipeline *pipeline, unsigned events);

struct ms_pipeline_stats {
    uint64_t events, rows;
    uint64_t done_stamp; /* everything below is in the files, or on its way with the next flush */
    uint64_t bytes_read, bytes_total;
    uint64_t gaps, lost, damages, cuts;
    uint32_t ending; /* enum ms_trace_ending */
    int error;       /* first one of an output, -errno: files are not complete; 0: none */
};
void ms_pipeline_stats(const struct ms_pipeline *pipeline, struct ms_pipeline_stats *out);

/* Blocks that seem to leak when tracing is stopped, see memscope/analyze/leaks.h; "": none, or nobody looks for leaks. *stops
 * tells one from another. */
const char *ms_pipeline_suspects(const struct ms_pipeline *pipeline, uint64_t *stops);

/* Before END: cut off; what was written stays and is valid. */
void ms_pipeline_close(struct ms_pipeline *pipeline);

#endif
