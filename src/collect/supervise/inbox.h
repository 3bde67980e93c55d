/* SPDX-License-Identifier: Apache-2.0 */
/* The listening end of a session: accepts connections, receives the first message of each and validates it. Used by the
 * supervisor, and by the collector when it has no supervisor.
 *
 * A client that connects and sends nothing, sends garbage, or belongs to another user costs a descriptor for at most 10
 * s. One thread. */
#ifndef MS_SUPERVISE_INBOX_H
#define MS_SUPERVISE_INBOX_H

#include "collect/protocol/message.h"

#include <stddef.h>
#include <stdint.h>

#define MS_INBOX_LISTENERS 2
#define MS_INBOX_WAITING   256

struct ms_inbox {
    int epoll; /* readable when ms_inbox_receive has work */
    int listeners[MS_INBOX_LISTENERS];
    unsigned listener_count;
    int spare; /* a descriptor to close when none are left */
    unsigned waiting_count;
    struct {
        int fd;
        uint64_t since_ns;
    } waiting[MS_INBOX_WAITING];
    uint64_t refused; /* dropped connections */
};

struct ms_inbox_message {
    union {
        struct ms_message head;
        struct ms_hello hello;
        struct ms_request request;
        char data[MS_MESSAGE_MAX_B];
    };
    size_t data_b;
    int kind;          /* enum ms_message_kind: HELLO or REQUEST */
    int memfd;         /* of a HELLO */
    int connection;    /* the receiver closes both */
    uint32_t uid, pid; /* of the sender as seen here; pid 0: invisible */
};

/* The listeners stay open after ms_inbox_close; they belong to the caller. 0 or -errno. */
int ms_inbox_open(struct ms_inbox *inbox, const int *listeners, unsigned count);
void ms_inbox_close(struct ms_inbox *inbox);

/* 1: a message; 0: nothing now. Returns 0 only when no message is left. */
int ms_inbox_receive(struct ms_inbox *inbox, struct ms_inbox_message *out);

#endif
