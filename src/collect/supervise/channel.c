/* SPDX-License-Identifier: Apache-2.0 */
/* See channel.h. One thread at a time per channel. */
#include "collect/supervise/channel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MAGIC 0x6e686373u

struct ms_packet {
    struct ms_packet *next;
    struct ms_channel_head head;
    int fds[MS_CHANNEL_FDS];
    unsigned fd_count;
    size_t data_b;
    char data[];
};

void ms_channel_init(struct ms_channel *channel, int fd)
{
    *channel = (struct ms_channel){.fd = fd};
    channel->last = &channel->first;
}

static void free_packet(struct ms_packet *packet)
{
    for (unsigned i = 0; i < packet->fd_count; i++) {
        close(packet->fds[i]);
    }
    free(packet);
}

void ms_channel_close(struct ms_channel *channel)
{
    while (channel->first != NULL) {
        struct ms_packet *packet = channel->first;
        channel->first = packet->next;
        free_packet(packet);
    }
    if (channel->fd >= 0) {
        close(channel->fd);
    }
    ms_channel_init(channel, -1);
}

/* 0, -EAGAIN, -EPIPE */
static int send_now(int fd, const struct ms_channel_head *head, const void *data, size_t data_b, const int *fds,
                    unsigned fd_count)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(MS_CHANNEL_FDS * sizeof(int))];
    } control;
    memset(&control, 0, sizeof(control));
    struct iovec parts[2] = {{(void *)(uintptr_t)head, sizeof(*head)}, {(void *)(uintptr_t)data, data_b}};
    struct msghdr header = {.msg_iov = parts, .msg_iovlen = 2};
    if (fd_count > 0) {
        header.msg_control = &control;
        header.msg_controllen = CMSG_SPACE(fd_count * sizeof(int));
        struct cmsghdr *c = CMSG_FIRSTHDR(&header);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(fd_count * sizeof(int));
        memcpy(CMSG_DATA(c), fds, fd_count * sizeof(int));
    }
    ssize_t n;
    do {
        n = sendmsg(fd, &header, MSG_NOSIGNAL | MSG_DONTWAIT);
    } while (n < 0 && errno == EINTR);
    if (n >= 0) {
        return 0;
    }
    /* ETOOMANYREFS: more descriptors are in flight than the user may have open; the receiver will take some. */
    return errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM || errno == ETOOMANYREFS ? -EAGAIN : -EPIPE;
}

static int enqueue(struct ms_channel *channel, const struct ms_channel_head *head, const void *data, size_t data_b,
                   const int *fds, unsigned fd_count)
{
    struct ms_packet *packet = malloc(sizeof(*packet) + data_b);
    if (packet == NULL) {
        return -ENOMEM;
    }
    packet->next = NULL;
    packet->head = *head;
    packet->fd_count = 0;
    packet->data_b = data_b;
    if (data_b > 0) {
        memcpy(packet->data, data, data_b);
    }
    for (unsigned i = 0; i < fd_count; i++) {
        int copy = fcntl(fds[i], F_DUPFD_CLOEXEC, 0);
        if (copy < 0) {
            free_packet(packet);
            return -ENOMEM;
        }
        packet->fds[packet->fd_count++] = copy;
    }
    *channel->last = packet;
    channel->last = &packet->next;
    channel->queued_b += data_b;
    return 0;
}

int ms_channel_send(struct ms_channel *channel, enum ms_channel_kind kind, uint64_t serial, uint64_t value,
                    const void *data, size_t data_b, const int *fds, unsigned fd_count)
{
    if (channel->fd < 0 || data_b > MS_CHANNEL_MAX_B || fd_count > MS_CHANNEL_FDS) {
        return channel->fd < 0 ? -EPIPE : -EINVAL;
    }
    struct ms_channel_head head = {MAGIC, kind, serial, value};
    if (ms_channel_flush(channel) == 0) {
        int rc = send_now(channel->fd, &head, data, data_b, fds, fd_count);
        if (rc != -EAGAIN) {
            return rc;
        }
    }
    return enqueue(channel, &head, data, data_b, fds, fd_count);
}

int ms_channel_flush(struct ms_channel *channel)
{
    if (channel->fd < 0) {
        return -EPIPE;
    }
    while (channel->first != NULL) {
        struct ms_packet *packet = channel->first;
        int rc = send_now(channel->fd, &packet->head, packet->data, packet->data_b, packet->fds, packet->fd_count);
        if (rc != 0) {
            return rc == -EAGAIN ? 1 : rc;
        }
        channel->first = packet->next;
        if (channel->first == NULL) {
            channel->last = &channel->first;
        }
        channel->queued_b -= packet->data_b;
        free_packet(packet);
    }
    return 0;
}

int ms_channel_receive(struct ms_channel *channel, struct ms_channel_message *out)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(MS_CHANNEL_FDS * sizeof(int))];
    } control;
    struct iovec parts[2] = {{&out->head, sizeof(out->head)}, {out->data, sizeof(out->data)}};
    struct msghdr header = {
        .msg_iov = parts, .msg_iovlen = 2, .msg_control = &control, .msg_controllen = sizeof(control)};
    out->fd_count = 0;
    if (channel->fd < 0) {
        return -EPIPE;
    }
    ssize_t n;
    do {
        n = recvmsg(channel->fd, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    } while (n < 0 && errno == EINTR);
    if (n < 0) {
        return errno == EAGAIN ? 0 : -EPIPE;
    }
    if (n == 0) {
        return -EPIPE;
    }
    for (struct cmsghdr *c = CMSG_FIRSTHDR(&header); c != NULL; c = CMSG_NXTHDR(&header, c)) {
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS) {
            out->fd_count = (unsigned)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
            memcpy(out->fds, CMSG_DATA(c), out->fd_count * sizeof(int));
        }
    }
    if ((size_t)n < sizeof(out->head) || out->head.magic != MAGIC ||
        (header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) {
        ms_channel_drop_fds(out);
        return -EPROTO;
    }
    out->data_b = (size_t)n - sizeof(out->head);
    return 1;
}

const char *ms_channel_text(const struct ms_channel_message *message, size_t *offset)
{
    if (*offset >= message->data_b) {
        return NULL;
    }
    const char *text = message->data + *offset;
    const char *end = memchr(text, '\0', message->data_b - *offset);
    if (end == NULL) {
        return NULL;
    }
    *offset += (size_t)(end - text) + 1;
    return text;
}

void ms_channel_drop_fds(struct ms_channel_message *message)
{
    for (unsigned i = 0; i < message->fd_count; i++) {
        if (message->fds[i] >= 0) {
            close(message->fds[i]);
        }
    }
    message->fd_count = 0;
}
