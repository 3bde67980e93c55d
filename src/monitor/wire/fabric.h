/* SPDX-License-Identifier: Apache-2.0 */
/* The IPC fabric: unix datagrams between the daemon and the processes of a node.
 *
 * A datagram is a 40-byte header (payload length, type) followed by the payload, in native byte order. All input is
 * untrusted: mon_fabric_parse checks lengths, terminators and counts before any field is used. docs/format/fabric.md
 * specifies the layout. */
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
    MON_FABRIC_PIDS_MAX = 16,      /* kept from a request: process and nearest ancestors; libkineto sends up to 11 */
    MON_FABRIC_PIDS_CLAIM = 1024,  /* requests that claim more are refused */
    MON_FABRIC_DATAGRAM_B = 65536, /* receive buffer; longer datagrams are refused as oversized */
};

/* The message types, in both directions: X(id, text, minimum payload, maximum payload). */
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

/* Why a datagram was refused: X(id, text). The text is a label of the counter and appears in the log. */
#define MON_FABRIC_FAULTS(X)                                                                                           \
    X(NONE, "none")                                                                                                    \
    X(SHORT, "shorter than a header")                                                                                  \
    X(OVERSIZED, "longer than allowed")                                                                                \
    X(SIZE, "size field does not match datagram")                                                                      \
    X(UNTERMINATED, "unterminated type")                                                                               \
    X(TYPE, "unknown type")                                                                                            \
    X(PAYLOAD, "wrong payload length")                                                                                 \
    X(PIDS, "pid count does not match payload")                                                                        \
    X(VALUE, "field out of range")

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
    unsigned count; /* number of pids kept */
    int32_t pids[MON_FABRIC_PIDS_MAX];
};

struct mon_fabric_status {
    int32_t status, current_step, start_step, stop_step; /* steps: -1 if unknown */
    int32_t pid;
    int64_t job;
    bool steps; /* the 32-byte form, which has steps */
};

struct mon_fabric_message {
    enum mon_fabric_type type;
    const void *payload; /* points into the datagram */
    size_t payload_b;
    union {
        struct mon_fabric_context context;
        struct mon_fabric_request request;
        struct mon_fabric_status status;
    };
};

/* Parses a datagram received by the daemon. *out is valid only if NONE is returned. */
enum mon_fabric_fault mon_fabric_parse(const void *datagram, size_t length_b, struct mon_fabric_message *out);

/* Writes the header; the payload follows at MON_FABRIC_HEAD_B. */
void mon_fabric_head(void *out, enum mon_fabric_type type, uint64_t payload_b);

/* The messages that clients send, for tests, benchmarks and npuscope's own plugin. Each function returns the length of
 * the datagram. A request needs MON_FABRIC_HEAD_B + 16 + 4 * count bytes. */
size_t mon_fabric_write_context(void *out, const struct mon_fabric_context *context);
size_t mon_fabric_write_request(void *out, const struct mon_fabric_request *request);
size_t mon_fabric_write_status(void *out, enum mon_fabric_type type, const struct mon_fabric_status *status);

/* Socket addresses; 0 if the name is too long. An abstract address ends with a NUL that is part of the name. */
socklen_t mon_fabric_abstract(struct sockaddr_un *out, const char *name);
socklen_t mon_fabric_path(struct sockaddr_un *out, const char *directory, const char *name);
/* An address for the log: "@dynolog@", "/home/u/dynolog.sock"; control characters become '?'. */
void mon_fabric_address_text(const struct sockaddr_un *address, socklen_t length_b, char *out, size_t out_b);

#endif
