/* SPDX-License-Identifier: Apache-2.0 */
/* Names of session sockets; private to this folder. */
#ifndef MS_PROTOCOL_ADDRESS_H
#define MS_PROTOCOL_ADDRESS_H

#include "collect/protocol/session.h"

#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

/* The abstract name; returns the size of the address. */
static inline socklen_t ms_session_abstract_address(const struct ms_session *session, struct sockaddr_un *address)
{
    static const char prefix[] = "msmemscope-";
    memset(address, 0, sizeof(*address));
    address->sun_family = AF_UNIX;
    memcpy(address->sun_path + 1, prefix, sizeof(prefix) - 1);
    memcpy(address->sun_path + sizeof(prefix), session->socket, 32);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + sizeof(prefix) + 32);
}

#endif
