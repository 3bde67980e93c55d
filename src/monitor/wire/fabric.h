/* SPDX-License-Identifier: Apache-2.0 */
/* The IPC fabric: unix datagrams between the daemon and the processes of a node.
 *
 * One datagram is a head of 40 bytes (payload length, type) and the payload, in native byte order. Everything that
 * arrives is hostile: mon_fabric_parse checks lengths, terminators and counts before anybody looks at a field.
 * docs/format/fabric.md has the bytes. */
#ifndef MON_WIRE_FABRIC_H
#define MON_WIRE_FABRIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/un.h>

enum {
    MON_FABRIC_HEAD_B = 40,
    MON_FABRIC_TYPE_B = 32,
    MON_FABRIC_PIDS_MAX = 16,      /* kept of a request: itself and its nearest ancestors; libkineto sends up to 11 */
    MON_FABRIC_PIDS_CLAIM = 1024,  /* more than this in one request is nonsense */
    MON_FABRIC_DATAGRAM_B = 65536, /* the largest that is read; longer ones are refused as oversized */
};

/* The message types, in both directions: X(id, text, shortest payload, longest payload). */
#define MON_FABRIC_TYPES(X)                                                                                            \
    X(CONTEXT, "ctxt", 4, 64)                                                                                          \
    X(REQUEST, "req", 0, 16 + 4 * MON_FABRIC_PIDS_CLAIM)                                                               \
    X(TRACE_STATUS, "npuTraceStatus", 16, 64)                                                                          \
    X(MONITOR_STATUS, "npuMonitorStatus", 16, 64)                                                                      \
    X(DATA, "data", 2, 16384)                                                                                          \
    X(OPSTATS, "npuOpStats", 88, MON_FABRIC_DATAGRAM_B - MON_FABRIC_HEAD_B)

enum mon_fabric_type {
#define X(id, text, min, max) MON_FABRIC_##id,
    MON_FABRIC_TYPES(X)
#undef X
        MON_FABRIC_TYPE_COUNT
};

/* Why a datagram was refused: X(id, text). The text is the label of the counter and stands in the log. */
#define MON_FABRIC_FAULTS(X)                                                                                           \
    X(NONE, "none")                                                                                                    \
    X(SHORT, "shorter than a head")                                                                                    \
    X(OVERSIZED, "longer than allowed")                                                                                \
    X(SIZE, "size field does not match the datagram")                                                                  \
    X(UNTERMINATED, "type without terminator")                                                                         \
    X(TYPE, "unknown type")                                                                                            \
    X(PAYLOAD, "payload of a wrong length")                                                                            \
    X(PIDS, "number of pids does not match the payload")                                                               \
    X(VALUE, "a field out of range")

enum mon_fabric_fault {
#define X(id, text) MON_FABRIC_FAULT_##id,
    MON_FABRIC_FAULTS(X)
#undef X
        MON_FABRIC_FAULT_COUNT
};

const char *mon_fabric_type_name(enum mon_fabric_type type);
const char *mon_fabric_fault_text(enum mon_fabric_fault fault);

struct mon_fabric_context {
    int32_t index; /* accelerator, or rank for NPU clients; may be -1 */
    int32_t pid;
    int64_t job;
};

struct mon_fabric_request {
    int32_t mask; /* 1 events, 2 activities, 0 profiler busy */
    int64_t job;
    unsigned count; /* of pids kept */
    int32_t pids[MON_FABRIC_PIDS_MAX];
};

struct mon_fabric_status {
    int32_t status, current_step, start_step, stop_step; /* steps: -1 unknown */
    int32_t pid;
    int64_t job;
    bool steps; /* the 32-byte generation, which has them */
};

struct mon_fabric_message {
    enum mon_fabric_type type;
    const void *payload; /* into the datagram */
    size_t payload_b;
    union {
        struct mon_fabric_context context;
        struct mon_fabric_request request;
        struct mon_fabric_status status;
    };
};

/* Reads a datagram as the daemon receives it. *out is whole only if NONE is returned. */
enum mon_fabric_fault mon_fabric_parse(const void *datagram, size_t length_b, struct mon_fabric_message *out);

/* Writes the head; the payload follows it at MON_FABRIC_HEAD_B. */
void mon_fabric_head(void *out, enum mon_fabric_type type, uint64_t payload_b);

/* What clients send, for tests, benchmarks and our own plugin: each returns the length of the datagram.
 * The request needs MON_FABRIC_HEAD_B + 16 + 4 * count bytes. */
size_t mon_fabric_write_context(void *out, const struct mon_fabric_context *context);
size_t mon_fabric_write_request(void *out, const struct mon_fabric_request *request);
size_t mon_fabric_write_status(void *out, enum mon_fabric_type type, const struct mon_fabric_status *status);

/* Addresses; 0: the name does not fit. The abstract form ends in a NUL that belongs to the name. */
socklen_t mon_fabric_abstract(struct sockaddr_un *out, const char *name);
socklen_t mon_fabric_path(struct sockaddr_un *out, const char *directory, const char *name);
/* For the log: "@dynolog@", "/home/u/dynolog.sock"; control characters shown as '?'. */
void mon_fabric_address_text(const struct sockaddr_un *address, socklen_t length_b, char *out, size_t out_b);

#endif
