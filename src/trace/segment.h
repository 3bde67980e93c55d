/* SPDX-License-Identifier: Apache-2.0 */
/* Segment files: their names, and the contents of their small blocks. Used by writer, drain and reader. */
#ifndef MS_TRACE_SEGMENT_H
#define MS_TRACE_SEGMENT_H

#include "trace/catalog.h"
#include "trace/clock.h"
#include "trace/process.h"
#include "trace/records.h"

/* ---- contents of small blocks ---- */

/* PROCESS: the process, the segment, and the anchor of the session's start. */
struct ms_segment_info {
    struct ms_process process;
    uint64_t segment;
    struct ms_anchor anchor;
};
int ms__segment_info_save(const struct ms_segment_info *info, struct ms_blob *to);
bool ms__segment_info_load(struct ms_segment_info *info, struct ms_bytes from);

/* SWEEP: everything with a stamp below `low` (in ticks of the anchor's clock) is in the trace before this block. CLOCK:
 * only the anchor is used. Stored unchanged. */
struct ms_sweep {
    uint64_t number;
    uint64_t low; /* UINT64_MAX: the process is dead, everything is final */
    struct ms_anchor anchor;
};
_Static_assert(sizeof(struct ms_sweep) == 48, "sweep");

/* END. */
struct ms_end {
    uint32_t ending; /* enum ms_trace_ending */
    int32_t error;   /* errno, 0: none */
    uint64_t stamp;  /* of the last record in the files */
    uint64_t lost[MS_GAP_CAUSES];
};

/* ---- files ---- */

#define MS_TRACE_FILE_MODE 0600 /* as for all recorded data */

/* NAME.000001.seg, with suffix ".seg" or ".aux". False: does not fit. */
bool ms__file_name(char *to, size_t size_b, const char *name, uint64_t segment, const char *suffix);
/* Parses one: returns the segment's number and the length of NAME; 0: not such a name. */
uint64_t ms__file_parse(const char *file, const char *suffix, size_t *name_length);
bool ms__name_valid(const char *name);

/* Deletes a segment and its aux file, unless that has symbols; returns the bytes of the segment. */
uint64_t ms__segment_delete(int dir, const char *name, uint64_t segment);
/* Finds the numbers of the first and last segment (0: none) and their total bytes. 0 or -errno. */
int ms__segments_find(int dir, const char *name, uint64_t *first, uint64_t *last, uint64_t *total_b);

#endif
