/* SPDX-License-Identifier: Apache-2.0 */
/* From the trace of one process to the files that users read: reader, model, analyses and dump connected. The collector
 * runs it during the recording, a slice at a time; `export` and `recover` run it to the end. One thread at a time. */
#ifndef MS_PIPELINE_PIPELINE_H
#define MS_PIPELINE_PIPELINE_H

#include "memscope/export/exporter.h"
#include "memscope/recording/checkpoints.h"
#include "trace/reader.h"
#include "trace/writer.h"

struct ms_pipeline;

struct ms_pipeline_options {
    int tracefd;                        /* directory of the trace; owned by the caller, as is everything below */
    const char *name;                   /* the process in it */
    int outfd;                          /* project directory, or another one for the files */
    const char *out;                    /* its path as users see it */
    const struct ms_exporter *format;   /* of the dump; NULL: no files, only the texts of call stacks are added to the
                                           trace, for an export elsewhere (and checkpoints, if reclaim is set) */
    const struct ms_settings *settings; /* initial; CONFIG events change a copy */
    struct ms_writer *writer;           /* live: used only during ms_pipeline_open; NULL: offline */
    bool memory;                        /* the writer started in memory, see ms_pipeline_to_files; format is NULL */
    struct ms_process_modules *files;   /* live: files of the process; its texts are added to the trace; or NULL */
    struct ms_reclaim *reclaim;         /* segments that may be deleted; NULL: no checkpoints are written */
    bool replace;                       /* replace the files of an interrupted run */
    bool reports;                       /* print the reports of analyses */
    /* Prints on the console: stream 1 or 2; info: may be suppressed. */
    void (*print)(void *argument, int stream, bool info, const char *text, size_t text_b);
    void (*log)(void *argument, int level, const char *line);
    void *argument;
};

/* The format that the settings select. */
const struct ms_exporter *ms_pipeline_format(const struct ms_settings *settings);

int ms_pipeline_open(const struct ms_pipeline_options *options, struct ms_pipeline **out);

enum ms_pipeline_result {
    MS_PIPELINE_MORE = 1,
    MS_PIPELINE_AGAIN = 0,
    MS_PIPELINE_END = 2
}; /* or -errno: cannot continue */

/* The trace continues in files (tracefd). From now on tracefd, outfd, out, format, reports and settings of these
 * options apply. 0 or -errno. */
int ms_pipeline_to_files(struct ms_pipeline *pipeline, const struct ms_pipeline_options *options);

/* The trace will not grow further, whether or not its end was written. */
void ms_pipeline_trace_closed(struct ms_pipeline *pipeline);

/* Processes up to `events` events. END: the files are complete. */
int ms_pipeline_run(struct ms_pipeline *pipeline, unsigned events);

struct ms_pipeline_stats {
    uint64_t events, rows;
    uint64_t done_stamp; /* everything below is in the files, or will be after the next flush */
    uint64_t bytes_read, bytes_total;
    uint64_t gaps, lost, damages, cuts;
    uint32_t ending; /* enum ms_trace_ending */
    int error;       /* first output error, -errno: files are incomplete; 0: none */
};
void ms_pipeline_stats(const struct ms_pipeline *pipeline, struct ms_pipeline_stats *out);

/* Blocks that were suspected leaks at the last stop, see memscope/analyze/leaks.h; "": none, or leaks are not analysed.
 * *stops counts the stops. */
const char *ms_pipeline_suspects(const struct ms_pipeline *pipeline, uint64_t *stops);

/* May be called before END: the files stay as they are, and are valid. */
void ms_pipeline_close(struct ms_pipeline *pipeline);

#endif
