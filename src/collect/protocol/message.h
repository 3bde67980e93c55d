/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of a session socket: a registration, or a request and its replies. One message is one SOCK_SEQPACKET packet,
 * little endian; all start with the same head. A receiver trusts nothing before ms_message_check. */
#ifndef MS_PROTOCOL_MESSAGE_H
#define MS_PROTOCOL_MESSAGE_H

#include <stddef.h>
#include <stdint.h>

#define MS_MESSAGE_MAGIC   0x3173736du /* "mss1" */
#define MS_MESSAGE_VERSION 1u
#define MS_MESSAGE_MAX_B   8192u

#define MS_EXE_MAX_B       1023u
#define MS_COMMAND_MAX_B   2047u
#define MS_REQUEST_TEXT_B  4096u

enum ms_message_kind {
    MS_MESSAGE_HELLO = 1,   /* a process registers; carries its memfd, gets no reply */
    MS_MESSAGE_REQUEST = 2, /* see enum ms_request_kind; replied to on the same connection */
    MS_MESSAGE_REPLY = 3,   /* status EINPROGRESS: keep-alive, more follows */
};

struct ms_message {
    uint32_t magic;
    uint16_t version;
    uint16_t kind;     /* enum ms_message_kind */
    uint32_t length_b; /* of the whole message */
    uint32_t flags;
};

/* The collector cannot see this client by pid: the client keeps the connection open, and its end means the process
 * ended. */
#define MS_HELLO_KEEPS_SOCKET 0x1u

struct ms_hello {
    struct ms_message head;
    uint32_t pid, ppid, tid, uid; /* as the process itself sees them */
    uint64_t pid_namespace;       /* inode; 0: unknown */
    uint64_t start_time;          /* field 22 of /proc/self/stat; 0: unknown */
    uint64_t shm_b;
    uint32_t clock_kind;
    uint16_t exe_b, command_b; /* texts that follow: path of the program, arguments separated by NUL bytes */
};

/* Requests of API calls to the collector. START and CONFIG are sent before the agent acts and records them, STOP and
 * STEP afterwards; their `value` is one more than the stamp of the record. */
enum ms_request_kind {
    MS_REQUEST_START = 1, /* create the directory, write config.json */
    MS_REQUEST_STOP = 2,  /* replied to when everything before the stamp is in the output files; reply text: blocks that
                           * seem to leak, see ms_leaks_suspects */
    MS_REQUEST_CONFIG = 3, /* text: lines `option=value`, with command-line names; accepted or refused as a whole.
                            * Reply: the new session string, a newline, and a warning or nothing */
    MS_REQUEST_STEP = 4,   /* replied to when everything before the stamp is in the trace */
    MS_REQUEST_INFO = 5,   /* reply text: lines `key=value`: output=DIR of this process, ... */
    MS_REQUEST_WATCH = 6,  /* value: device; text: name of a file for the content of a watched tensor. The reply carries
                            * its descriptor, open for writing, empty */
    MS_REQUEST_KINDS = 7,
};

struct ms_request {
    struct ms_message head;
    uint32_t kind; /* enum ms_request_kind */
    uint32_t pid;  /* of the calling process, as it sees itself */
    uint64_t value;
    uint32_t text_b; /* follows */
    uint32_t reserved;
};

struct ms_reply {
    struct ms_message head;
    int32_t status; /* 0, -errno, or EINPROGRESS */
    uint32_t text_b;
    uint64_t value;
};

_Static_assert(sizeof(struct ms_message) == 16 && sizeof(struct ms_hello) == 64, "layout of messages");
_Static_assert(sizeof(struct ms_request) == 40 && sizeof(struct ms_reply) == 32, "layout of messages");

/* Kind of a valid message whose texts lie within it, or -EPROTO. */
int ms_message_check(const void *message, size_t size_b);

static inline struct ms_message ms_message_head(enum ms_message_kind kind, size_t length_b, uint32_t flags)
{
    return (struct ms_message){MS_MESSAGE_MAGIC, MS_MESSAGE_VERSION, (uint16_t)kind, (uint32_t)length_b, flags};
}

#endif
