/* SPDX-License-Identifier: Apache-2.0 */
/* Framing of the RPC between dyno and dynolog: a 32-bit length in native byte order, then that many bytes of JSON.
 *
 * The functions keep no state: a receiver shows what has arrived so far and is told whether that is enough. Nothing is
 * allocated because of a length that a peer claims. */
#ifndef MON_WIRE_FRAME_H
#define MON_WIRE_FRAME_H

#include <stddef.h>
#include <stdint.h>

#define MON_FRAME_HEADER_B 4u

/* The longest request that the daemon takes. msMonitor's stops at 8191 bytes, upstream's nowhere. */
#define MON_FRAME_REQUEST_MAX_B (64u << 10)
/* The longest answer that dyno takes: a status with thousands of processes. */
#define MON_FRAME_ANSWER_MAX_B (16u << 20)
/* Objects and arrays inside each other, counted together; msMonitor refuses more as well. */
#define MON_FRAME_DEPTH_MAX 10u

enum mon_frame_verdict {
    MON_FRAME_MORE,     /* not all there */
    MON_FRAME_READY,    /* the body is there */
    MON_FRAME_EMPTY,    /* length 0 or negative */
    MON_FRAME_TOO_LONG, /* more than the limit */
    MON_FRAME_TLS,      /* not a length: a TLS client on a plaintext port */
    MON_FRAME_HTTP,     /* not a length: a browser or a scraper on the wrong port */
};

/* Looks at the first `have_b` bytes of a message. With at least a header, *body_b is the length that it claims if the
 * verdict is MORE or READY, otherwise untouched; with less than a header, *body_b is 0 and the verdict MORE. */
enum mon_frame_verdict mon_frame_look(const void *data, size_t have_b, size_t limit_b, size_t *body_b);

/* A sentence for logs and answers; never NULL. */
const char *mon_frame_reason(enum mon_frame_verdict verdict);

void mon_frame_header(size_t body_b, unsigned char out[MON_FRAME_HEADER_B]);

/* How deep objects and arrays are nested, without parsing: brackets outside of strings. Cheap enough to run first, so
 * that the parser never recurses on hostile text. */
unsigned mon_frame_depth(const char *text, size_t length_b);

#endif
