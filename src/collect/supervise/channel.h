/* SPDX-License-Identifier: Apache-2.0 */
/* The channel between a collector and whoever started it (the launcher, or the API's supervisor): SOCK_SEQPACKET
 * messages with file descriptors. Both sides queue what cannot be sent at once and never wait for the other.
 *
 * The supervisor receives registrations, keeps a copy of each (message and memfd) and hands them on, so that the death
 * of the collector at any instruction loses nothing: a new one gets everything again. When the supervisor leaves or
 * dies, the collector listens itself. */
#ifndef MS_SUPERVISE_CHANNEL_H
#define MS_SUPERVISE_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MS_CHANNEL_FD    3      /* where a collector finds its end */
#define MS_CHANNEL_MAX_B 65536u /* of a message */
#define MS_CHANNEL_FDS   4

enum ms_channel_kind {
    /* to the collector */
    MS_CH_SETTINGS = 1, /* texts: session, options, output path, each ended by 0; fds: output (O_PATH), listeners;
                           serial: file time - CLOCK_MONOTONIC, ns; value: MS_CH_* below */
    MS_CH_PROCESS, /* serial; hello; then the name given before, ended by 0 (empty: new); fds: memfd[, connection] */
    MS_CH_REQUEST, /* request; fds: connection */
    MS_CH_LEAVE,   /* nobody supervises from now on: listen yourself, end when nothing is left */
    /* to the supervisor */
    MS_CH_READY,    /* value: enum ms_clock_kind of the session */
    MS_CH_FAILED,   /* text: why the collector cannot work */
    MS_CH_NAMED,    /* serial, text: project directory, relative to the output directory */
    MS_CH_DEAD,     /* serial: the process has ended */
    MS_CH_DONE,     /* serial: and all its files are complete */
    MS_CH_PROGRESS, /* value: per mille of what is left to be done for dead processes */
    MS_CH_PRINT,    /* value: 1 stdout, 2 stderr, 3 stdout unless --quiet; text */
};

enum { MS_CH_OUTPUT_IS_NEW = 1, MS_CH_NO_CONSOLE = 2 }; /* of SETTINGS; NO_CONSOLE: nobody would see a PRINT */

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

/* Sends or queues. Descriptors are duplicated where they must wait; they stay the caller's. 0, -EPIPE: the other side
 * is gone (or the channel is closed), -ENOMEM. */
int ms_channel_send(struct ms_channel *channel, enum ms_channel_kind kind, uint64_t serial, uint64_t value,
                    const void *data, size_t data_b, const int *fds, unsigned fd_count);

/* Sends what waits. 0: nothing is left; 1: wait for POLLOUT; -EPIPE. */
int ms_channel_flush(struct ms_channel *channel);

/* 1: a message, whose descriptors are the caller's now; 0: none now; -EPIPE: the other side is gone; -EPROTO. */
int ms_channel_receive(struct ms_channel *channel, struct ms_channel_message *out);

/* Takes texts ended by 0 out of a message, one after the other. NULL: there is none. */
const char *ms_channel_text(const struct ms_channel_message *message, size_t *offset);

/* Closes descriptors of a message that nobody took (took ones are set to -1). */
void ms_channel_drop_fds(struct ms_channel_message *message);

#endif
