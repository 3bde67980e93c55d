/* SPDX-License-Identifier: Apache-2.0 */
/* The channel between a collector and its supervisor (the launcher, or the process that the API starts): SOCK_SEQPACKET
 * messages with file descriptors. Both sides queue what cannot be sent immediately and never wait for each other.
 *
 * The supervisor receives registrations, keeps a copy of each (message and memfd) and passes them on. If the collector
 * dies, at any instruction, nothing is lost: its successor gets everything again. When the supervisor leaves or dies,
 * the collector itself listens. */
#ifndef MS_SUPERVISE_CHANNEL_H
#define MS_SUPERVISE_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MS_CHANNEL_FD    3      /* the collector's end */
#define MS_CHANNEL_MAX_B 65536u /* of a message */
#define MS_CHANNEL_FDS   4

enum ms_channel_kind {
    /* to the collector */
    MS_CH_SETTINGS = 1, /* texts: session, options, output path, each NUL-terminated; fds: output (O_PATH), listeners;
                         * serial: file time - CLOCK_MONOTONIC, ns; value: MS_CH_* below */
    MS_CH_PROCESS, /* serial; hello; then the directory name given before, NUL-terminated (empty: new); fds: memfd[,
                    * connection] */
    MS_CH_REQUEST, /* request; fds: connection */
    MS_CH_LEAVE,   /* no supervisor from now on: listen yourself, exit when all work is done */
    /* to the supervisor */
    MS_CH_READY,    /* value: enum ms_clock_kind of the session */
    MS_CH_FAILED,   /* text: why the collector cannot work */
    MS_CH_NAMED,    /* serial, text: project directory, relative to the output directory */
    MS_CH_DEAD,     /* serial: the process has ended */
    MS_CH_DONE,     /* serial: and all its files are complete */
    MS_CH_PROGRESS, /* value: per mille of the remaining work for dead processes */
    MS_CH_PRINT,    /* value: 1 stdout, 2 stderr, 3 stdout unless --quiet; text */
};

enum { MS_CH_OUTPUT_IS_NEW = 1, MS_CH_NO_CONSOLE = 2 }; /* of SETTINGS; NO_CONSOLE: a PRINT would not be visible */

struct ms_channel_head {
    uint32_t magic;
    uint32_t kind; /* enum ms_channel_kind */
    uint64_t serial;
    uint64_t value;
};

struct ms_channel_message {
    struct ms_channel_head head;
    char data[MS_CHANNEL_MAX_B];
    size_t data_b;
    int fds[MS_CHANNEL_FDS];
    unsigned fd_count;
};

struct ms_channel {
    int fd; /* -1: closed */
    struct ms_packet *first, **last;
    size_t queued_b;
};

void ms_channel_init(struct ms_channel *channel, int fd);
void ms_channel_close(struct ms_channel *channel);

/* Sends or queues. Descriptors stay the caller's; queued ones are duplicated. 0, -EPIPE: the other side is gone (or the
 * channel is closed), -ENOMEM. */
int ms_channel_send(struct ms_channel *channel, enum ms_channel_kind kind, uint64_t serial, uint64_t value,
                    const void *data, size_t data_b, const int *fds, unsigned fd_count);

/* Sends queued messages. 0: queue empty; 1: wait for POLLOUT; -EPIPE. */
int ms_channel_flush(struct ms_channel *channel);

/* 1: a message, whose descriptors the caller now owns; 0: none now; -EPIPE: the other side is gone; -EPROTO. */
int ms_channel_receive(struct ms_channel *channel, struct ms_channel_message *out);

/* Extracts NUL-terminated texts from a message, one after the other. NULL: no more. */
const char *ms_channel_text(const struct ms_channel_message *message, size_t *offset);

/* Closes the descriptors of a message that were not taken (taken ones are set to -1). */
void ms_channel_drop_fds(struct ms_channel_message *message);

#endif
