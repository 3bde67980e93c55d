/* SPDX-License-Identifier: Apache-2.0 */
/* npuOpStats: statistics per operator. An npuscope message; the vendor's `data` message only carries sums.
 *
 * A datagram holds one interval of one kind on one device: for each operator the count, sum, minimum, maximum and a
 * histogram of durations. docs/format/opstats.md specifies the layout. Sender and receiver share this header. */
#ifndef MON_WIRE_OPSTATS_H
#define MON_WIRE_OPSTATS_H

#include <stddef.h>
#include <stdint.h>

enum {
    MON_OPSTATS_MAGIC = 0x534f504e, /* "NPOS" */
    MON_OPSTATS_VERSION = 1,
    MON_OPSTATS_NAME_B = 255,    /* longest operator name */
    MON_OPSTATS_BUCKETS = 252,   /* four per power of two of nanoseconds */
    MON_OPSTATS_OPERATORS = 512, /* per message; a sender splits larger sets */
};

struct mon_opstats_head {
    int32_t pid, rank, device; /* rank: -1 if unknown; device: -1 if unknown or host */
    int64_t job;
    char kind[24];             /* as MSPTI_ACTIVITY_KIND spells it, NUL-terminated */
    uint64_t start_ns, end_ns; /* since the epoch */
    uint32_t folded;           /* operators that the sender merged under the empty name for lack of space */
    uint32_t lost;             /* records that the sender dropped in the interval */
    uint16_t operators;
};

struct mon_opstats_operator {
    const char *name; /* not NUL-terminated; UTF-8 by convention, not checked */
    size_t name_b;
    uint64_t count, sum_ns, min_ns, max_ns;
    uint64_t bytes_b;             /* bytes moved in the interval; 0 if the kind has none */
    unsigned bucket_count;        /* number of buckets that follow; only non-empty buckets are sent */
    const unsigned char *buckets; /* read with mon_opstats_bucket */
};

struct mon_opstats_reader {
    const unsigned char *at, *end;
    unsigned left;
};

/* Checks the whole message: after 0, every operator can be read. Otherwise returns -EBADMSG. */
int mon_opstats_open(const void *payload, size_t payload_b, struct mon_opstats_head *head,
                     struct mon_opstats_reader *reader);
int mon_opstats_next(struct mon_opstats_reader *reader, struct mon_opstats_operator *out); /* 1, or 0 at the end */
void mon_opstats_bucket(const struct mon_opstats_operator *op, unsigned i, unsigned *bucket, uint32_t *count);

/* The bucket of a duration, and the largest duration in a bucket. Each interval (2^n, 2^(n+1)] has four buckets. */
unsigned mon_opstats_bucket_of(uint64_t duration_ns);
uint64_t mon_opstats_bucket_limit(unsigned bucket);

/* Writer: begin, add operators, end. add returns -ENOSPC if the operator does not fit: end the message, send it and
 * begin the next one. counts has MON_OPSTATS_BUCKETS entries. */
struct mon_opstats_writer {
    unsigned char *start, *at, *end;
    unsigned operators;
};
int mon_opstats_begin(struct mon_opstats_writer *writer, void *out, size_t out_b, const struct mon_opstats_head *head);
int mon_opstats_add(struct mon_opstats_writer *writer, const struct mon_opstats_operator *op, const uint32_t *counts);
size_t mon_opstats_end(struct mon_opstats_writer *writer); /* payload bytes */

#endif
