/* SPDX-License-Identifier: Apache-2.0 */
/* Watching tensors (--watch): records their content before and after every operator, to find the one that overwrites
 * them.
 *
 * Watched are the outputs of operator START, from its end until operator END has ended (--watch), and ranges that the
 * program names (ms_watch_add). While nothing is or shall be watched, a call here is one load and one branch. Otherwise
 * this is not a hot path: each point waits for the device, copies the tensors to the host and hashes them.
 *
 * Results go into the stream as WATCH records; full contents into files that the collector opens. None of this changes
 * results or errno of the program, and an unreadable tensor causes no failure. */
#ifndef MS_AGENT_WATCH_H
#define MS_AGENT_WATCH_H

#include "agent/agent_v1.h"
#include "base/macros.h"

#include <stdbool.h>

extern uint32_t ms_watch_wanted __attribute__((visibility("hidden")));

static inline bool ms_watching(void)
{
    return MS_UNLIKELY(__atomic_load_n(&ms_watch_wanted, __ATOMIC_RELAXED) != 0);
}

/* "[START[#CALL][:OUT]],END[,full-content]"; empty: off. Stops watching the outputs of the previous setting. */
void ms_watch_configure(const char *text);

/* A mark of an ATen operator (begin, access, end), before or after it is recorded; other marks are ignored. */
void ms_watch_mark(const char *message, void *stream);
bool ms_watch_mark_is_end(const char *message);
/* The same for a text that is not terminated. ends: whether to handle ends of operators, or everything else. */
void ms_watch_text(const char *text, size_t length_b, bool ends);
/* The operator of this thread reads or writes; what it writes counts as its output. */
void ms_watch_access(uint64_t addr, uint64_t size_b, bool writes);

/* An ATB operator or kernel by its path. */
void ms_watch_begin(struct ms_agent_text path, void *stream);
void ms_watch_end(struct ms_agent_text path, void *stream, const struct ms_agent_range *outputs, size_t count);

/* Around a launch of the outermost hook; in between, the kernel's name as soon as it is known. */
void ms_watch_launch_before(void);
void ms_watch_launch_named(const char *name, size_t length_b);
void ms_watch_launch_after(void);

/* Memory at this address is being freed. */
void ms_watch_freed(uint64_t addr);

/* Watches a range under a name of up to 64 bytes; dumps: number of dumps, negative: no limit. 0, -EINVAL, -ENOSPC. */
int ms_watch_add(uint64_t addr, uint64_t size_b, struct ms_agent_text name, int64_t dumps);
int ms_watch_remove(uint64_t addr, uint64_t size_b); /* size 0: any range that starts there; -ENOENT */

/* In a forked child: nothing is watched, and the lock is free. */
void ms_watch_attached(void);

/* ---- watch_read.c: contents ---- */

/* 64-bit CRC, shifting right, with 0x42F0E1EBA9EA3693 unreflected; inverted at start and end. */
uint64_t ms_watch_hash(uint64_t hash, const void *data, size_t length_b); /* start with 0 */

/* Waits for the stream, NULL: for the whole device; with a timeout. */
void ms_watch_synchronize(void *stream);
/* Reads device memory in pieces, through a static buffer. False: unreadable. file: -1, or where to write it; to: NULL,
 * or size_b bytes. */
bool ms_watch_read(uint64_t addr, uint64_t size_b, int file, char *to, uint64_t *hash);
bool ms_watch_write(int file, const char *data, size_t length_b); /* false: incomplete */

#endif
