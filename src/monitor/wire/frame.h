/* SPDX-License-Identifier: Apache-2.0 */
/* Framing of the RPC between dyno and dynolog: a 32-bit length in native byte order, then that many bytes of JSON.
 *
 * The functions keep no state: the receiver passes everything received so far and learns whether it is a complete
 * message. No memory is allocated based on a length claimed by a peer. */
#ifndef MON_WIRE_FRAME_H
#define MON_WIRE_FRAME_H

#include <stddef.h>
#include <stdint.h>

#define MON_FRAME_HEADER_B 4u

/* The longest request the daemon accepts. msMonitor's limit is 8191 bytes, upstream has none. */
#define MON_FRAME_REQUEST_MAX_B (64u << 10)
/* The longest answer dyno accepts: a status with thousands of processes. */
#define MON_FRAME_ANSWER_MAX_B (16u << 20)
/* Nesting limit for objects and arrays together; the same as in msMonitor. */
#define MON_FRAME_DEPTH_MAX 10u

enum mon_frame_verdict {
    MON_FRAME_MORE,     /* incomplete */
    MON_FRAME_READY,    /* the body is complete */
    MON_FRAME_EMPTY,    /* length 0 or negative */
    MON_FRAME_TOO_LONG, /* longer than the limit */
    MON_FRAME_TLS,      /* not a length: a TLS client on a plain-text port */
    MON_FRAME_HTTP,     /* not a length: a browser or scraper on the wrong port */
};

/* Examines the first `have_b` bytes of a message. With at least a header, *body_b is the claimed length if the verdict
 * is MORE or READY, and unchanged otherwise; with less than a header, *body_b is 0 and the verdict is MORE. */
enum mon_frame_verdict mon_frame_look(const void *data, size_t have_b, size_t limit_b, size_t *body_b);

/* An explanation for logs and answers; never NULL. */
const char *mon_frame_reason(enum mon_frame_verdict verdict);

void mon_frame_header(size_t body_b, unsigned char out[MON_FRAME_HEADER_B]);

/* Nesting depth of objects and arrays, found by counting brackets outside strings. Called before the JSON parser, which
 * recurses, sees untrusted text. */
unsigned mon_frame_depth(const char *text, size_t length_b);

#endif
