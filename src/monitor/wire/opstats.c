/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics per operator on the wire; docs/format/opstats.md specifies the layout.
 *
 * The reader validates the whole message before it returns the first operator: lengths, counts, and that the histogram
 * adds up to the count, so consumers need no checks of their own. No state. */
#include "monitor/wire/opstats.h"

#include "base/macros.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

enum { HEAD_B = 88, OPERATOR_B = 48, BUCKET_B = 8 };

/* Offsets in the header. */
enum {
    AT_MAGIC = 0,
    AT_VERSION = 4,
    AT_OPERATORS = 6,
    AT_PID = 8,
    AT_RANK = 12,
    AT_DEVICE = 16,
    AT_FOLDED = 20,
    AT_JOB = 24,
    AT_KIND = 32,
    AT_START = 56,
    AT_END = 64,
    AT_LOST = 72,
};

/* Fields are in native byte order, as everywhere in the fabric. */
#define GET(from, at, variable) memcpy(&(variable), (from) + (at), sizeof(variable))
#define PUT(to, at, variable)   memcpy((to) + (at), &(variable), sizeof(variable))

static size_t operator_b(size_t name_b, size_t buckets)
{
    return OPERATOR_B + MS_ROUND_UP(name_b, 8) + buckets * BUCKET_B;
}

/* Upper bounds are inclusive, so that powers of two, where consumers' coarser buckets end, are bounds here too. */
unsigned mon_opstats_bucket_of(uint64_t duration_ns)
{
    uint64_t below = duration_ns > 0 ? duration_ns - 1 : 0;
    if (below < 4) {
        return (unsigned)below;
    }
    unsigned exponent = 63 - (unsigned)__builtin_clzll(below);
    return 4 * (exponent - 1) + (unsigned)(below >> (exponent - 2) & 3);
}

uint64_t mon_opstats_bucket_limit(unsigned bucket)
{
    if (bucket < 4) {
        return bucket + 1;
    }
    if (bucket >= MON_OPSTATS_BUCKETS - 1) {
        return UINT64_MAX;
    }
    return (uint64_t)(4 + bucket % 4 + 1) << (bucket / 4 - 1);
}

/* Reads one operator; 0 or -EBADMSG. */
static int read_operator(struct mon_opstats_reader *reader, struct mon_opstats_operator *out)
{
    const unsigned char *at = reader->at;
    size_t left = (size_t)(reader->end - at);
    uint16_t name_b, buckets;
    if (left < OPERATOR_B) {
        return -EBADMSG;
    }
    GET(at, 0, name_b);
    GET(at, 2, buckets);
    if (name_b > MON_OPSTATS_NAME_B || buckets > MON_OPSTATS_BUCKETS || left < operator_b(name_b, buckets)) {
        return -EBADMSG;
    }
    GET(at, 8, out->count);
    GET(at, 16, out->sum_ns);
    GET(at, 24, out->min_ns);
    GET(at, 32, out->max_ns);
    GET(at, 40, out->bytes_b);
    out->name = (const char *)at + OPERATOR_B;
    out->name_b = name_b;
    out->bucket_count = buckets;
    out->buckets = at + OPERATOR_B + MS_ROUND_UP((size_t)name_b, 8);
    reader->at = at + operator_b(name_b, buckets);
    return 0;
}

static int check_operator(const struct mon_opstats_operator *op)
{
    uint64_t total = 0;
    int last = -1;
    for (unsigned i = 0; i < op->bucket_count; i++) {
        unsigned bucket;
        uint32_t count;
        mon_opstats_bucket(op, i, &bucket, &count);
        if ((int)bucket <= last || bucket >= MON_OPSTATS_BUCKETS || count == 0) {
            return -EBADMSG;
        }
        last = (int)bucket;
        total += count;
    }
    /* no buckets: the sender has no histogram */
    bool whole = op->bucket_count == 0 || total == op->count;
    return op->count != 0 && op->min_ns <= op->max_ns && whole ? 0 : -EBADMSG;
}

int mon_opstats_open(const void *payload, size_t payload_b, struct mon_opstats_head *head,
                     struct mon_opstats_reader *reader)
{
    const unsigned char *at = payload;
    uint32_t magic;
    uint16_t version;
    if (payload_b < HEAD_B) {
        return -EBADMSG;
    }
    GET(at, AT_MAGIC, magic);
    GET(at, AT_VERSION, version);
    GET(at, AT_OPERATORS, head->operators);
    if (magic != MON_OPSTATS_MAGIC || version != MON_OPSTATS_VERSION || head->operators > MON_OPSTATS_OPERATORS) {
        return -EBADMSG;
    }
    GET(at, AT_PID, head->pid);
    GET(at, AT_RANK, head->rank);
    GET(at, AT_DEVICE, head->device);
    GET(at, AT_FOLDED, head->folded);
    GET(at, AT_JOB, head->job);
    memcpy(head->kind, at + AT_KIND, sizeof(head->kind));
    GET(at, AT_START, head->start_ns);
    GET(at, AT_END, head->end_ns);
    GET(at, AT_LOST, head->lost);
    if (memchr(head->kind, '\0', sizeof(head->kind)) == NULL || head->start_ns > head->end_ns) {
        return -EBADMSG;
    }
    *reader = (struct mon_opstats_reader){at + HEAD_B, at + payload_b, head->operators};

    struct mon_opstats_reader ahead = *reader;
    for (unsigned i = 0; i < head->operators; i++) {
        struct mon_opstats_operator op;
        if (read_operator(&ahead, &op) != 0 || check_operator(&op) != 0) {
            return -EBADMSG;
        }
    }
    return ahead.at == ahead.end ? 0 : -EBADMSG;
}

int mon_opstats_next(struct mon_opstats_reader *reader, struct mon_opstats_operator *out)
{
    if (reader->left == 0 || read_operator(reader, out) != 0) {
        return 0;
    }
    reader->left--;
    return 1;
}

void mon_opstats_bucket(const struct mon_opstats_operator *op, unsigned i, unsigned *bucket, uint32_t *count)
{
    uint16_t number;
    GET(op->buckets + (size_t)i * BUCKET_B, 0, number);
    GET(op->buckets + (size_t)i * BUCKET_B, 4, *count);
    *bucket = number;
}

int mon_opstats_begin(struct mon_opstats_writer *writer, void *out, size_t out_b, const struct mon_opstats_head *head)
{
    unsigned char *at = out;
    const uint32_t magic = MON_OPSTATS_MAGIC;
    const uint16_t version = MON_OPSTATS_VERSION;
    if (out_b < HEAD_B || memchr(head->kind, '\0', sizeof(head->kind)) == NULL) {
        return -EINVAL;
    }
    memset(at, 0, HEAD_B);
    PUT(at, AT_MAGIC, magic);
    PUT(at, AT_VERSION, version);
    PUT(at, AT_PID, head->pid);
    PUT(at, AT_RANK, head->rank);
    PUT(at, AT_DEVICE, head->device);
    PUT(at, AT_FOLDED, head->folded);
    PUT(at, AT_JOB, head->job);
    memcpy(at + AT_KIND, head->kind, strlen(head->kind));
    PUT(at, AT_START, head->start_ns);
    PUT(at, AT_END, head->end_ns);
    PUT(at, AT_LOST, head->lost);
    *writer = (struct mon_opstats_writer){at, at + HEAD_B, at + out_b, 0};
    return 0;
}

int mon_opstats_add(struct mon_opstats_writer *writer, const struct mon_opstats_operator *op, const uint32_t *counts)
{
    uint16_t name_b = (uint16_t)(op->name_b < MON_OPSTATS_NAME_B ? op->name_b : MON_OPSTATS_NAME_B), buckets = 0;
    for (unsigned i = 0; counts != NULL && i < MON_OPSTATS_BUCKETS; i++) {
        buckets += counts[i] != 0;
    }
    size_t size = operator_b(name_b, buckets);
    if (writer->operators >= MON_OPSTATS_OPERATORS || (size_t)(writer->end - writer->at) < size) {
        return -ENOSPC;
    }
    unsigned char *at = writer->at;
    memset(at, 0, size);
    PUT(at, 0, name_b);
    PUT(at, 2, buckets);
    PUT(at, 8, op->count);
    PUT(at, 16, op->sum_ns);
    PUT(at, 24, op->min_ns);
    PUT(at, 32, op->max_ns);
    PUT(at, 40, op->bytes_b);
    memcpy(at + OPERATOR_B, op->name, name_b);
    unsigned char *bucket = at + OPERATOR_B + MS_ROUND_UP((size_t)name_b, 8);
    for (unsigned i = 0; counts != NULL && i < MON_OPSTATS_BUCKETS; i++) {
        if (counts[i] != 0) {
            uint16_t number = (uint16_t)i;
            PUT(bucket, 0, number);
            PUT(bucket, 4, counts[i]);
            bucket += BUCKET_B;
        }
    }
    writer->at += size;
    writer->operators++;
    return 0;
}

size_t mon_opstats_end(struct mon_opstats_writer *writer)
{
    uint16_t operators = (uint16_t)writer->operators;
    PUT(writer->start, AT_OPERATORS, operators);
    return (size_t)(writer->at - writer->start);
}
