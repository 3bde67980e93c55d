/* SPDX-License-Identifier: Apache-2.0 */
/* The shared memory of a communicator: how ranks find each other, and its layout.
 *
 * A segment is a file in /dev/shm that exists only while ranks are gathering; the last one to arrive removes the name,
 * so that nothing remains however the processes end. A rank holds a lock on byte `rank` of the file while it is alive
 * (an open file description lock: the kernel drops it when the process dies, and it distinguishes threads of one
 * process).
 *
 *     head | ranks[n] | counts[2][n][n] | channels[n][n] | staging[n][2] | mail[n][n][2]
 *
 * staging: two slots per rank for collectives; mail: two slots per ordered pair of ranks for send and receive,
 * allocated at first use. */
#ifndef SOFTNPU_HCCL_SEGMENT_H
#define SOFTNPU_HCCL_SEGMENT_H

#include "hccl/hccl_types.h"
#include "softnpu/hccl/bell.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HCCL_MAX_RANKS 256
#define HCCL_WHY_B     240 /* text of an error message */
#define HCCL_PATH_B    256
#define HCCL_SLICE_MS  200 /* longest sleep before a rank checks whether its peers are alive */

enum hccl_gathering { HCCL_OPEN, HCCL_COMPLETE, HCCL_BROKEN };
enum hccl_presence { HCCL_ABSENT, HCCL_PRESENT, HCCL_LEFT };

struct hccl_head {
    uint64_t magic;
    uint8_t cookie[16];
    char name[COMM_NAME_MAX_LENGTH]; /* of the communicator */
    uint64_t agreed;                 /* must be equal on all members (hash of the rank table, members of a subset) */
    uint32_t n_ranks;                /* 0 until the first rank joins */
    uint32_t joined;
    uint32_t error;         /* HcclResult that ends every operation; 0: none */
    struct hccl_bell state; /* enum hccl_gathering */
};

/* What a rank is about to do; compared before any data is accessed. */
struct hccl_claim {
    uint32_t index; /* number of earlier collectives */
    uint32_t kind;
    uint32_t dtype;
    uint32_t reduce;
    uint32_t root;
    uint32_t unused;
    uint64_t count;
    uint64_t vector_hash;
};

struct hccl_rank {
    struct hccl_bell phase;  /* steps of collectives that this rank has published */
    struct hccl_bell door;   /* something changed in a channel to or from this rank */
    struct hccl_bell resume; /* steps of HcclCommResume */
    struct hccl_claim claim[2];
    int32_t pid;
    uint32_t presence; /* enum hccl_presence */
} __attribute__((aligned(64)));

/* One direction between two ranks; see p2p.c. */
struct hccl_channel {
    uint32_t announced; /* written by the sender: messages started */
    uint32_t produced;  /* chunks written */
    uint64_t count;
    uint32_t dtype;
    uint32_t unused_s[11];
    uint32_t accepted; /* written by the receiver: messages accepted */
    uint32_t consumed; /* chunks read */
    uint32_t unused_r[14];
} __attribute__((aligned(64)));

struct hccl_segment {
    int fd;
    uint32_t rank, n;
    bool has_maker; /* found through root info: its creator must live until all have joined */
    char path[HCCL_PATH_B];
    struct hccl_head *head;
    struct hccl_rank *ranks;
    uint64_t *counts;
    struct hccl_channel *channels;
    char *staging, *mail;
    uint32_t slot_b, mail_b; /* one slot */
    size_t map_b;
};

/* ---- names ---- */

/* /dev/shm/softnpu-<uid>-hccl-<what> */
void hccl_segment_path(char path[HCCL_PATH_B], const char *what);
void hccl_random(void *out, size_t size_b);
uint64_t hccl_hash(uint64_t seed, const void *data, size_t size_b);

/* ---- gathering ---- */

struct hccl_seed {
    uint8_t cookie[16];
    char name[COMM_NAME_MAX_LENGTH];
    uint64_t agreed;
};

/* Creates the file, atomically under its name. Returns the descriptor or -errno (-EEXIST). With `hold` it stays locked
 * by its creator; without creator and members it is stale. */
int hccl_segment_create(const char *path, const struct hccl_seed *seed, bool hold);
int hccl_segment_open(const char *path); /* descriptor or -errno */

/* Joins. HCCL_E_AGAIN: this gathering is over or was abandoned (the name is removed), look for a new one. The
 * descriptor belongs to the segment afterwards, and is closed on failure. cookie: that of the root info through which
 * the file was found, NULL if by its name. */
HcclResult hccl_segment_join(struct hccl_segment *segment, int fd, const char *path, const uint8_t *cookie,
                             uint64_t agreed, uint32_t n, uint32_t rank, char why[HCCL_WHY_B]);

/* Waits until all ranks have joined. A failure ends the gathering for all ranks. */
HcclResult hccl_segment_gather(struct hccl_segment *segment, int64_t timeout_ms, char why[HCCL_WHY_B]);

void hccl_segment_leave(struct hccl_segment *segment);

/* Only closes the descriptor: for a forked child, where the lock must not outlive the parent. */
void hccl_segment_forget(struct hccl_segment *segment);

/* Removes stale files, whose owners died while gathering. */
void hccl_segment_sweep(void);

/* ---- members ---- */

bool hccl_segment_alive(const struct hccl_segment *segment, uint32_t rank);

static inline char *hccl_staging(const struct hccl_segment *s, uint32_t rank, uint32_t slot)
{
    return s->staging + ((size_t)rank * 2 + (slot & 1)) * s->slot_b;
}

/* The bytes that a rank sends to each other rank, for the collective with this parity. */
static inline uint64_t *hccl_counts(const struct hccl_segment *s, uint32_t parity, uint32_t rank)
{
    return s->counts + ((size_t)(parity & 1) * s->n + rank) * s->n;
}

static inline struct hccl_channel *hccl_channel(const struct hccl_segment *s, uint32_t from, uint32_t to)
{
    return &s->channels[(size_t)from * s->n + to];
}

static inline char *hccl_mail(const struct hccl_segment *s, uint32_t from, uint32_t to, uint32_t slot)
{
    return s->mail + (((size_t)from * s->n + to) * 2 + (slot & 1)) * s->mail_b;
}

/* Allocates the mail slots of a channel; 0 or -errno. */
int hccl_mail_back(const struct hccl_segment *segment, uint32_t from, uint32_t to);

/* snprintf into a text of HCCL_WHY_B bytes; returns the result given, so that failures are one line. */
HcclResult hccl_explain(char *why, HcclResult result, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
