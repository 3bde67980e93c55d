/* SPDX-License-Identifier: Apache-2.0 */
/* A session for tests of the agent: this program listens, and is or starts what records.
 *
 * The agent reads its session before main, so a test program begins by executing itself again with one in the
 * environment. What was recorded is read straight from the shared memory, record by record, without any of the code
 * that the collector uses. */
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

struct process { /* one that has registered */
    struct ms_hello hello;
    char text[MS_EXE_MAX_B + MS_COMMAND_MAX_B + 2];
    struct ms_shm *shm;
    size_t shm_b;
};

struct seen { /* a record, and who made it */
    const struct ms_record *record;
    uint32_t tid, stream;
    uint64_t seq;
};

/* First thing in main: makes a session with this change, and executes the program again in it. */
void session_begin(char **argv, void (*configure)(struct ms_session *));

/* The session string in this environment variable makes a started program part of the session. */
const char *session_text(void);

/* The next process that registers; waits for it, fails the test after 10 s. NULL if none has registered now. */
struct process *session_wait(void);
struct process *session_poll(void);

/* Records made since `mark` (a count of earlier ones, 0 at first), in the order of stamps and streams; without THREAD.
 * Returns how many there are in all. */
size_t records_of(const struct process *process, struct seen *out, size_t max);

/* Gives a file to the next process that asks for one, as the collector does; -1: refuses. The name that was asked for.
 */
void session_give_file(int file, char *name, size_t name_b);

/* The calling process itself: registers it if need be. */
struct process *own_process(void);

/* Forgets what was recorded so far; the next call of next_record gives what is recorded from here on. */
void skip_records(struct process *process);
/* The next record of this kind must be there; its payload. `record` may be NULL. */
const void *next_record(struct process *process, enum ms_record_kind kind, const struct ms_record **record);
/* No record (but THREAD and definitions) is left. */
void no_more_records(struct process *process);

/* Text of a reference in a record: inline, or as defined in the stream. i: which of the inline texts. */
const char *text_of(struct process *process, const struct ms_record *record, const struct ms_text_ref *refs,
                    unsigned i);

/* ---- programs that are recorded ---- */

/* Preload list out of bare names of our libraries, separated by blanks. */
char *preload_list(const char *names);
/* Something in the build tree. */
char *build_path(const char *name);
/* Runs a program, with a session or without one; its exit status. What it prints goes into out, if given. */
int run_program(const char *preload, const char *session, char **argv, char *out, size_t out_b);
/* For programs that want another one than ours. */
extern const char *library_path;

#endif
