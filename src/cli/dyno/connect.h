/* SPDX-License-Identifier: Apache-2.0 */
/* Calls to one daemon: connect (plain text or TLS), send a request, read the answer, with a deadline. */
#ifndef DYNO_CONNECT_H
#define DYNO_CONNECT_H

#include "base/buffer.h"
#include "monitor/wire/tls.h"

#include <stdint.h>

#define DYNO_CONNECT_WHY_B 768

struct dyno_connection;

/* Tries every address of the host. tls NULL: plain text. 0, or -errno with the reason in why. */
int dyno_connect(const char *host, uint16_t port, struct mon_tls *tls, unsigned timeout_ms,
                 struct dyno_connection **out, char why[DYNO_CONNECT_WHY_B]);

/* Appends the text of the answer. 0, or -errno with the reason in why; after a failure the connection is unusable.
 * -ECONNREFUSED: the daemon rejected our certificate, which TLS 1.3 reports only at this point. */
int dyno_call(struct dyno_connection *connection, const char *request, size_t request_b, unsigned timeout_ms,
              struct ms_buffer *answer, char why[DYNO_CONNECT_WHY_B]);

void dyno_disconnect(struct dyno_connection *connection);

#endif
