/* SPDX-License-Identifier: Apache-2.0 */
/* A session for tests of the agent: this program listens, and either records itself or starts a program that does.
 *
 * The agent reads its session before main, so a test program first executes itself again with one in the environment.
 * Records are read directly from the shared memory, without any of the collector's code. */
#ifndef AGENT_FIXTURE_H
#define AGENT_FIXTURE_H

#include "collect/protocol/session.h"
#include "trace/records.h"
#include "trace/shm.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

struct process { /* a registered process */
    struct ms_hello hello;
    char text[MS_EXE_MAX_B + MS_COMMAND_MAX_B + 2];
    struct ms_shm *shm;
    size_t shm_b;
};

struct seen { /* a record and its stream */
    const struct ms_record *record;
    uint32_t tid, stream;
    uint64_t seq;
};

/* First thing in main: creates a session, changed by configure, and executes the program again in it. */
void session_begin(char **argv, void (*configure)(struct ms_session *));

/* The session string; in the environment it makes a program part of the session. */
const char *session_text(void);

/* The next process that registers; wait: waits for it, fails the test after 10 s; poll: NULL if none is pending. */
struct process *session_wait(void);
struct process *session_poll(void);

/* All records in the order of stamps and streams, without THREAD. Returns their number. */
size_t records_of(const struct process *process, struct seen *out, size_t max);

/* Gives a file to the next process that requests one, as the collector does; -1: refuses. name: the requested name. */
void session_give_file(int file, char *name, size_t name_b);

/* The calling process itself; registers it if necessary. */
struct process *own_process(void);

/* Skips what was recorded so far; next_record then returns what is recorded from here on. */
void skip_records(struct process *process);
/* The next record must be of this kind; returns its payload. `record` may be NULL. */
const void *next_record(struct process *process, enum ms_record_kind kind, const struct ms_record **record);
/* No record (except THREAD and definitions) is left. */
void no_more_records(struct process *process);

/* Text of a reference in a record: inline, or as defined in the stream. i: which of the inline texts. */
const char *text_of(struct process *process, const struct ms_record *record, const struct ms_text_ref *refs,
                    unsigned i);

/* ---- recorded programs ---- */

/* Preload list from bare names of our libraries, separated by blanks. */
char *preload_list(const char *names);
/* A path in the build tree. */
char *build_path(const char *name);
/* Runs a program, with or without a session; returns its exit status. Its output goes into out, if given. */
int run_program(const char *preload, const char *session, char **argv, char *out, size_t out_b);
/* For programs that need another one than ours. */
extern const char *library_path;

#endif
