/* SPDX-License-Identifier: Apache-2.0 */
/* A session: what a recorded process must know, in one environment variable, and how it reaches its collector.
 *
 *     MSMEMSCOPE_SESSION=1;s=<32 hex digits>;t=2;e=3;...
 *
 * A version, then `key=value` in any order; numbers are decimal, texts have %, ; and control characters as %XX. Unknown
 * keys are skipped, so either side may be older. The collector listens on the abstract unix socket "msmemscope-<s>"
 * and, for processes in other network namespaces, on the file named by `f`.
 *
 * Registration: one packet with the memfd of the process, no reply, the connection is not kept (exception:
 * MS_HELLO_KEEPS_SOCKET). Both sides check the other's identity: the listener must run as root or as our own user.
 *
 * The parser, ms_session_connect and ms_session_register run in the target: libc only, no allocation, raw system calls
 * (no cancellation point); the caller preserves errno. ms_session_request is for API calls: it waits. */
#ifndef MS_PROTOCOL_SESSION_H
#define MS_PROTOCOL_SESSION_H

#include "collect/protocol/message.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MS_SESSION_ENV     "MSMEMSCOPE_SESSION"
#define MS_SESSION_VERSION 1u
#define MS_SESSION_MAX_B   8192u

/* key, field, largest value, default, meaning */
#define MS_SESSION_NUMBERS(X)                                                                                          \
    X('t', state, 2, 2, "initial enum ms_trace_state")                                                                 \
    X('e', event_mask, 0xffffffff, 0xc3, "MS_WANT_*")                                                                  \
    X('c', c_depth, 1000, 0, "frames of a C stack; 0: none")                                                           \
    X('p', python_depth, 1000, 0, "frames of a Python stack; 0: none")                                                 \
    X('k', clock_kind, 3, 1, "enum ms_clock_kind")                                                                     \
    X('b', backlog_max, 65536, 4096, "FULL chunks that make a producer wait")                                          \
    X('w', full_wait_ms, 1000, 20, "how long; 0: drop immediately")                                                    \
    X('m', memory_mb, 16384, 1024, "address space of the shared memory, MiB")                                          \
    X('x', flags, 0xffffffff, 0, "MS_SESSION_*")                                                                       \
    X('a', analysis, 0xffffffff, 1, "MS_ANALYSIS_*")                                                                   \
    X('n', npu_mask, 0xffffffff, 0xffffffff, "devices to record; applied by the model, not by hooks")                  \
    X('o', only_pid, 0xffffffff, 0, "0, or the one process that records (others are OFF)")                             \
    X('u', uid, 0xffffffff, 0, "of the collector")                                                                     \
    X('N', pid_namespace, 0xffffffffffffffff, 0, "inode of the collector's pid namespace")                             \
    X('l', listener, 0xffffffff, 0, "pid of the listener, as it sees itself")

enum {
    MS_SESSION_FRAME_POINTERS = 1, /* walk C stacks by frame pointers */
    MS_SESSION_CONTROL = 2,        /* register at start, without waiting for an event */
    MS_SESSION_CPU = 4,            /* record host memory (CPU tensors) */
    MS_SESSION_API = 8,            /* started by the API: only the API switches recording on */
};

struct ms_session {
#define X(key, field, max, initial, meaning) uint64_t field;
    MS_SESSION_NUMBERS(X)
#undef X
    char socket[33];    /* 32 lower-case hexadecimal digits: 128 random bits */
    char fallback[512]; /* path of a socket file; empty: none */
    char watch[768];    /* --watch as given; empty: off */
    /* For a process that finds no listener and starts its own collector: */
    char output[1024];   /* directory; empty: memscopeDumpResults in the current one */
    char settings[2048]; /* lines "option=value"; empty: defaults */
};

/* Defaults, without a socket. */
void ms_session_init(struct ms_session *session);

/* 0; -EINVAL: not a session string; -EPROTONOSUPPORT: a later version. *out is untouched on error. */
int ms_session_parse(const char *text, struct ms_session *out);

/* Length of the whole text; more than out_b - 1 means that it did not fit. */
size_t ms_session_format(const struct ms_session *session, char *out, size_t out_b);

/* ---- the target's side ---- */

/* A connection to the collector, or -errno (-EPERM: the listener is neither root nor our own user). Waits at most 50
 * ms. */
int ms_session_connect(const struct ms_session *session);

/* The arguments of this process, as a constructor gets them before the program can change them. Without them, or if
 * they are not contiguous as the kernel lays them out, registration reads them from /proc. */
void ms_session_own_arguments(int argc, char **argv);

/* Registers this process with the collector and passes it the memfd, which stays open. Must not be called by two
 * threads at once. 0, or -errno: no collector reads the memory until a later call succeeds. */
int ms_session_register(const struct ms_session *session, int memfd, size_t shm_b, uint32_t clock_kind);

/* Sends a request on a new connection and waits for the reply, until 10 s pass without a keep-alive. text may be NULL;
 * reply_text (may be NULL) receives the text of the reply, terminated, truncated to size. Returns the status of the
 * reply, or -errno (-ETIMEDOUT, -EPIPE: the collector is gone). */
int ms_session_request(const struct ms_session *session, enum ms_request_kind kind, uint64_t value, const char *text,
                       char *reply_text, size_t reply_text_b);

/* Requests a file of that name for the content of a tensor watched on the device: a descriptor or -errno. Waits at most
 * one second. */
int ms_session_request_file(const struct ms_session *session, uint32_t device, const char *name);

/* ---- the collector's side ---- */

/* Fills socket with 128 random bits. 0 or -errno. */
int ms_session_new_socket(struct ms_session *session);

/* A listening socket, non-blocking, close-on-exec: the abstract name, or the file if `file` is set. -errno. */
int ms_session_listen(const struct ms_session *session, bool file);

/* Credentials of the peer: uid and pid as seen here (pid 0: invisible). 0 or -errno. */
int ms_session_peer(int fd, uint32_t *uid, uint32_t *pid);

/* Inode of this process's pid namespace, 0 if unknown. */
uint64_t ms_session_own_pid_namespace(void);

#endif
