/* SPDX-License-Identifier: Apache-2.0 */
/* Sweeps: from shared memory to blocks of a trace.
 *
 * Order of a sweep: anchor (T), heads (low), table, copies in order of stream and sequence, blocks, SWEEP, write,
 * free. A FULL chunk is freed only after everything taken from it has been written; if the collector dies before,
 * its successor finds the chunk again and skips, by sequence number, what the trace already has.
 *
 * Failure policy: damage in shared memory is counted and costs at most the rest of its chunk; the only error is lack
 * of memory in the collector itself, which changes nothing. */
#include "trace/drain_internal.h"

#include "base/clock.h"
#include "trace/producer_internal.h"
#include "trace/stamp.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ACTIVE_SWEEP_NS 1000000000u  /* while there are records: a clock entry at least this often */
#define IDLE_SWEEP_NS   10000000000u /* otherwise */
#define FUTURE_NS       60000000000u /* a stamp further in the future is damage */

const char *ms_damage_text(enum ms_damage_cause cause)
{
    static const char *const texts[] = {
#define X(name, text) [MS_DAMAGE_##name] = text,
        MS_DAMAGES(X)
#undef X
    };
    return (unsigned)cause < MS_COUNT_OF(texts) ? texts[cause] : "unknown damage";
}

/* ---- taking records ---- */

/* Whether the record can be decoded. */
static bool sound(struct ms_drain *d, const struct ms_record *r, uint32_t left_b)
{
    const struct ms_record_spec *spec = left_b >= sizeof(*r) ? ms_record_spec(r->kind) : NULL;
    if (left_b < sizeof(*r) || (uint32_t)r->words * 8 > left_b || r->words * 8u < sizeof(*r) ||
        (r->flags & ~MS_RECORD_FLAGS) != 0) {
        d->stats.damage[MS_DAMAGE_LENGTH]++;
        return false;
    }
    if (spec == NULL) {
        d->stats.damage[MS_DAMAGE_KIND]++;
        return false;
    }
    return true;
}

/* Stamps of a stream never decrease; one that does, or that is in the future, is replaced by the previous one. */
static void check_stamp(struct ms_drain *d, struct ms_stream_state *s, struct ms_chunk_view *v, struct ms_record *r)
{
    if (r->kind == MS_R_CLOCK && r->arg != 0 && r->arg < MS_CLOCK_KINDS) {
        v->clock_kind = s->clock_kind = r->arg;
        s->last_stamp = r->stamp;
        return;
    }
    bool ahead = v->clock_kind == d->anchor.clock_kind && r->stamp > d->anchor.ticks &&
                 (r->stamp - d->anchor.ticks) / 8 > FUTURE_NS;
    if (r->stamp < s->last_stamp || ahead) {
        d->stats.damage[MS_DAMAGE_STAMP]++;
        r->stamp = s->last_stamp;
    }
    s->last_stamp = r->stamp;
}

/* One record of a chunk. 0, -EBADMSG if it is damaged, or another -errno. */
static inline int take_record(struct ms_drain *d, struct ms_chunk_view *v, struct ms_record *r, struct ms_run *where)
{
    struct ms_stream_state *s = &d->out.catalog->stream[v->stream];
    where->first_seq = v->next_seq;
    where->clock_kind = v->clock_kind;
    if (MS_UNLIKELY(v->next_seq < s->next_seq)) {
        d->stats.duplicates++;
        v->next_seq++;
        return 0;
    }
    if (MS_UNLIKELY(s->clock_kind != v->clock_kind)) {
        s->clock_kind = v->clock_kind;
        s->last_stamp = 0;
    }
    check_stamp(d, s, v, r);
    where->first_stamp = r->stamp;
    int rc = ms__out_record(&d->out, where, r);
    if (MS_UNLIKELY(rc != 0)) {
        d->stats.damage[MS_DAMAGE_LENGTH] += rc == -EBADMSG;
        return rc;
    }
    if (MS_UNLIKELY(v->next_seq != s->next_seq)) {
        d->stats.damage[MS_DAMAGE_SEQUENCE]++;
    }
    d->stats.records++;
    s->next_seq = ++v->next_seq;
    return 0;
}

/* Takes the records copied from a chunk. 0 or -errno; records not reached then stay in the chunk. */
static int take_records(struct ms_drain *d, struct ms_chunk_view *v, uint32_t length_b)
{
    char *at = (char *)d->copy;
    uint32_t left_b = length_b;
    struct ms_run where = {.stream = v->stream, .tid = v->tid};
    while (left_b != 0 && !v->bad) {
        struct ms_record *r = (struct ms_record *)(void *)at;
        int rc = sound(d, r, left_b) ? take_record(d, v, r, &where) : -EBADMSG;
        if (rc == -EBADMSG) {
            v->bad = true; /* the start of the next record is unknown */
        } else if (rc != 0) {
            v->taken_b -= left_b;
            return rc;
        }
        at += r->words * 8u;
        left_b -= v->bad ? 0 : r->words * 8u;
    }
    d->stats.bytes += length_b - left_b;
    return 0;
}

/* Writes packed blocks, then returns the chunks they came from to the producers. */
static int write_and_free(struct ms_drain *d)
{
    int rc = ms__out_flush(&d->out);
    rc = rc != 0 ? rc : ms__writer_flush(d->writer);
    if (rc == 0) {
        ms__pool_free_emptied(d);
    }
    return rc;
}

/* A producer may have filled a chunk that the walk had already passed, and continued in one that the walk then found.
 * The next walk finds both; records still missing then, or after the last producer is gone, are lost. */
static bool lacks_former(struct ms_drain *d, struct ms_chunk_view *v)
{
    bool lacks = !v->waited && !v->bad && v->taken_b == 0 && v->next_seq > d->out.catalog->stream[v->stream].next_seq;
    v->waited |= lacks;
    return lacks;
}

/* *again: some chunks wait for the next walk. */
static int take_found(struct ms_drain *d, bool final, bool *again)
{
    int rc = 0;
    uint32_t held = UINT32_MAX; /* a stream whose chunks wait */
    ms__pool_look(d);
    for (uint32_t i = 0; i < d->found_count && rc == 0; i++) {
        uint32_t index = d->found[i].chunk;
        bool full;
        if (!final && (d->found[i].stream == held || lacks_former(d, &d->view[index]))) {
            held = d->found[i].stream;
            continue;
        }
        uint32_t length_b = ms__pool_copy(d, index, &full);
        rc = length_b != 0 ? take_records(d, &d->view[index], length_b) : 0;
        if (full && rc == 0) {
            d->emptied[d->emptied_count++] = index;
        }
        if (rc == 0 && ms__writer_should_flush(d->writer)) {
            rc = write_and_free(d);
            rc = rc != 0 ? rc : ms__writer_rotate(d->writer); /* even during a large sweep a segment keeps its size */
        }
    }
    *again = held != UINT32_MAX;
    return rc;
}

static int take_all(struct ms_drain *d, bool final)
{
    bool again;
    int rc = take_found(d, final, &again);
    return rc == 0 && again ? take_found(d, final, &again) : rc;
}

/* ---- records of the collector itself ---- */

int ms_drain_record(struct ms_drain *d, enum ms_record_kind kind, uint32_t arg, const void *payload, size_t payload_b)
{
    struct {
        struct ms_record head;
        uint64_t payload[(MS_RECORD_MAX_B - sizeof(struct ms_record)) / 8];
    } *r = (void *)d->copy;
    const struct ms_record_spec *spec = ms_record_spec(kind);
    if (spec == NULL || spec->order == MS_ORDER_DEF || payload_b > sizeof(r->payload) || payload_b % 8 != 0) {
        return -EINVAL;
    }
    struct ms_stream_state *s = &d->out.catalog->stream[MS_STREAM_COLLECTOR];
    uint32_t clock_kind = d->anchor.clock_kind;
    uint64_t stamp = ms_stamp(clock_kind);
    stamp = stamp < s->last_stamp ? s->last_stamp : stamp;
    r->head = (struct ms_record){
        .kind = (uint8_t)kind, .words = (uint16_t)((sizeof(r->head) + payload_b) / 8), .arg = arg, .stamp = stamp};
    if (payload_b != 0) {
        memcpy(r->payload, payload, payload_b);
    }
    struct ms_run where = {
        .stream = MS_STREAM_COLLECTOR, .clock_kind = clock_kind, .first_seq = s->next_seq, .first_stamp = stamp};
    int rc = ms__out_record(&d->out, &where, &r->head);
    if (rc == 0) {
        s->next_seq++;
        s->last_stamp = stamp;
    }
    return rc == -EBADMSG ? -EINVAL : rc;
}

static int tell_lost(struct ms_drain *d, struct ms_lost *lost)
{
    struct ms_p_gap gap = {
        .since_stamp = __atomic_exchange_n(&lost->since_stamp, 0, __ATOMIC_ACQ_REL),
        .lost = __atomic_exchange_n(&lost->records, 0, __ATOMIC_RELAXED),
        .lost_alloc = __atomic_exchange_n(&lost->allocs, 0, __ATOMIC_RELAXED),
        .lost_free = __atomic_exchange_n(&lost->frees, 0, __ATOMIC_RELAXED),
        .cause = __atomic_load_n(&lost->cause, __ATOMIC_RELAXED) % MS_GAP_CAUSES,
    };
    return gap.since_stamp != 0 || gap.lost != 0 ? ms_drain_record(d, MS_R_GAP, 0, &gap, sizeof(gap)) : 0;
}

/* Losses that no producer can report: those of threads without a stream; at the end also those of all streams. */
static int tell_losses(struct ms_drain *d, bool final)
{
    int rc = tell_lost(d, &d->shm->lost);
    for (uint32_t i = 0; final && i < d->stats.streams && rc == 0; i++) {
        rc = tell_lost(d, &d->heads[i].lost);
    }
    for (unsigned i = 0; i < MS_GAP_CAUSES; i++) {
        d->stats.lost[i] = __atomic_load_n(&d->shm->lost_total[i], __ATOMIC_RELAXED);
    }
    ms__writer_lost(d->writer, d->stats.lost);
    return rc;
}

/* ---- sweeps ---- */

static bool sweep_is_due(const struct ms_drain *d, const struct ms_anchor *now, uint64_t records)
{
    uint64_t idle_ns = now->monotonic_ns - d->swept_ns;
    return d->out.max_stamp >= d->sweep_low || idle_ns >= IDLE_SWEEP_NS || (records != 0 && idle_ns >= ACTIVE_SWEEP_NS);
}

/* The collector's own word, but in memory that the program can overwrite. */
static uint32_t session_clock(const struct ms_drain *d)
{
    uint32_t kind = __atomic_load_n(&d->shm->clock_kind, __ATOMIC_RELAXED);
    if (kind != 0 && kind < MS_CLOCK_KINDS) {
        return kind;
    }
    return d->anchor.clock_kind != 0 ? d->anchor.clock_kind : MS_CLOCK_MONOTONIC;
}

static int64_t sweep(struct ms_drain *d, bool final)
{
    uint64_t before = d->stats.records;
    struct ms_anchor now;
    int rc = ms__writer_rotate(d->writer);
    if (rc != 0) {
        return rc;
    }
    ms_anchor_take(&now, session_clock(d));
    uint64_t low = ms__pool_low(d, &now);
    if (now.clock_kind != d->anchor.clock_kind) { /* stamps of two clocks cannot be compared */
        d->sweep_low = d->out.max_stamp = d->stats.low_stamp = 0;
    }
    low = final ? UINT64_MAX : low < d->stats.low_stamp ? d->stats.low_stamp : low;
    d->anchor = now;
    rc = take_all(d, final);
    rc = rc != 0 ? rc : tell_losses(d, final);
    rc = rc != 0 ? rc : ms__out_flush(&d->out);
    if (rc == 0 && d->other_clock != 0) { /* its stamps need anchors on both sides as well */
        struct ms_sweep anchor = {.number = d->stats.sweeps};
        ms_anchor_take(&anchor.anchor, d->other_clock);
        rc = ms__out_sweep(&d->out, MS_BLOCK_CLOCK, &anchor);
    }
    if (rc == 0 && (final || sweep_is_due(d, &now, d->stats.records - before))) {
        struct ms_sweep mark = {.number = d->stats.sweeps, .low = low, .anchor = now};
        rc = ms__out_sweep(&d->out, MS_BLOCK_SWEEP, &mark);
        d->swept_ns = now.monotonic_ns;
        d->sweep_low = low;
    }
    rc = rc != 0 ? rc : write_and_free(d);
    ms__pool_prepare(d);
    if (rc != 0) {
        return rc;
    }
    d->stats.low_stamp = low;
    d->stats.sweeps++;
    return (int64_t)(d->stats.records - before);
}

int64_t ms_drain_sweep(struct ms_drain *d)
{
    return sweep(d, false);
}

int64_t ms_drain_finish(struct ms_drain *d)
{
    return sweep(d, true);
}

void ms_drain_mark(struct ms_drain *d)
{
    d->sweep_low = 0;
}

uint64_t ms_drain_now(const struct ms_drain *d)
{
    return ms_stamp(session_clock(d));
}

/* ---- opening ---- */

/* Checks a copy of the header and takes the layout from it. */
static int adopt(struct ms_drain *d, struct ms_shm *shm, size_t size_b)
{
    struct ms_shm head;
    if (size_b < sizeof(head) + MS_CHUNK_B) {
        return -EPROTO;
    }
    memcpy(&head, shm, offsetof(struct ms_shm, state));
    uint64_t streams_end = head.streams_off + (uint64_t)head.stream_max * sizeof(struct ms_stream_head);
    uint64_t table_end = head.table_off + (uint64_t)head.chunk_max * sizeof(struct ms_chunk_entry);
    uint64_t chunks_end = head.chunks_off + (uint64_t)head.chunk_max * MS_CHUNK_B;
    if (head.magic != MS_SHM_MAGIC || head.version != MS_SHM_VERSION || head.chunk_b != MS_CHUNK_B ||
        head.stream_max == 0 || head.stream_max > MS_STREAMS_MAX || head.chunk_max == 0 ||
        head.chunk_max > MS_CHUNKS_MAX || head.streams_off < sizeof(head) || head.streams_off > size_b ||
        head.table_off > size_b || head.chunks_off > size_b || head.streams_off % 64 != 0 || head.table_off % 8 != 0 ||
        head.chunks_off % 64 != 0 || streams_end > head.table_off || table_end > head.chunks_off ||
        chunks_end > size_b) {
        return -EPROTO;
    }
    d->shm = shm;
    d->size_b = size_b;
    d->stream_max = head.stream_max;
    d->chunk_max = head.chunk_max;
    d->heads = (struct ms_stream_head *)(void *)((char *)shm + head.streams_off);
    d->table = (struct ms_chunk_entry *)(void *)((char *)shm + head.table_off);
    d->chunks = (struct ms_chunk *)(void *)((char *)shm + head.chunks_off);
    return 0;
}

int ms_drain_open_memory(struct ms_shm *shm, size_t size_b, struct ms_writer *writer, struct ms_drain **out)
{
    struct ms_drain *d = calloc(1, sizeof(*d));
    if (d == NULL) {
        return -ENOMEM;
    }
    d->memfd = -1;
    d->writer = writer;
    int rc = adopt(d, shm, size_b);
    if (rc == 0) {
        d->view = calloc(d->chunk_max, sizeof(*d->view));
        d->found = calloc(d->chunk_max, sizeof(*d->found));
        d->emptied = calloc(d->chunk_max, sizeof(*d->emptied));
        d->in_flight = calloc(d->stream_max, sizeof(*d->in_flight));
        d->copy = malloc(MS_CHUNK_B);
        rc = d->view == NULL || d->found == NULL || d->emptied == NULL || d->in_flight == NULL || d->copy == NULL
                 ? -ENOMEM
                 : ms__out_init(&d->out, writer, d->stats.damage);
    }
    if (rc != 0) {
        d->shm = NULL; /* remains the caller's */
        ms_drain_close(d);
        return rc;
    }
    for (uint32_t i = 0; i < MS_CATALOG_STREAMS && !d->opened_again; i++) {
        d->opened_again = d->out.catalog->stream[i].next_seq != 0;
    }
    ms_anchor_take(&d->anchor, session_clock(d));
    __atomic_store_n(&shm->attached, 1, __ATOMIC_RELEASE);
    *out = d;
    return 0;
}

int ms_drain_open(int memfd, struct ms_writer *writer, struct ms_drain **out)
{
    const int needed = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
    int seals = fcntl(memfd, F_GET_SEALS);
    struct stat status;
    if (seals < 0 || (seals & needed) != needed || (seals & F_SEAL_WRITE) != 0) {
        return -EPERM;
    }
    if (fstat(memfd, &status) != 0) {
        return -errno;
    }
    size_t size_b = (size_t)status.st_size;
    if (status.st_size < (off_t)MS_CHUNK_B || size_b % MS_CHUNK_B != 0) {
        return -EPROTO;
    }
    void *memory = mmap(NULL, size_b, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, memfd, 0);
    if (memory == MAP_FAILED) {
        return -errno;
    }
    struct ms_drain *d;
    int rc = ms_drain_open_memory(memory, size_b, writer, &d);
    if (rc != 0) {
        munmap(memory, size_b);
        return rc;
    }
    d->memfd = fcntl(memfd, F_DUPFD_CLOEXEC, 3);
    if (d->memfd < 0) {
        rc = -errno;
        munmap(memory, size_b);
        ms_drain_close(d);
        return rc;
    }
    ms__pool_prepare(d);
    *out = d;
    return 0;
}

void ms_drain_close(struct ms_drain *d)
{
    if (d == NULL) {
        return;
    }
    if (d->memfd >= 0) {
        munmap(d->shm, d->size_b);
        close(d->memfd);
    }
    ms__out_destroy(&d->out);
    free(d->view);
    free(d->found);
    free(d->emptied);
    free(d->in_flight);
    free(d->copy);
    free(d);
}

void ms_drain_observe(struct ms_drain *d, const struct ms_drain_observer *observer)
{
    d->out.observer = *observer;
}

struct ms_shm *ms_drain_shm(struct ms_drain *d)
{
    return d->shm;
}

void ms_drain_stats(const struct ms_drain *d, struct ms_drain_stats *out)
{
    *out = d->stats;
    out->backlog = __atomic_load_n(&d->shm->full_chunks, __ATOMIC_RELAXED);
}

/* ---- sleeping ---- */

#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif

/* Layout of the kernel's structure, for older headers. */
struct waiter {
    uint64_t value, address;
    uint32_t flags, reserved;
};
#define WAIT_32_BITS 2u
#define WAITERS_MAX  128u

static bool wait_for_many(struct ms_drain *const *drains, const uint32_t *bell, unsigned count, unsigned timeout_ms)
{
    struct waiter waiters[WAITERS_MAX];
    if (count > WAITERS_MAX) {
        return false;
    }
    for (unsigned i = 0; i < count; i++) {
        waiters[i] =
            (struct waiter){.value = bell[i], .address = (uintptr_t)&drains[i]->shm->bell, .flags = WAIT_32_BITS};
    }
    uint64_t until_ns = ms_clock_ns(CLOCK_MONOTONIC) + timeout_ms * 1000000ull;
    struct timespec until = {.tv_sec = (time_t)(until_ns / 1000000000u), .tv_nsec = (long)(until_ns % 1000000000u)};
    return syscall(SYS_futex_waitv, waiters, count, 0, &until, CLOCK_MONOTONIC) >= 0 || errno != ENOSYS;
}

void ms_drain_sleep(struct ms_drain *const *drains, unsigned count, unsigned timeout_ms)
{
    const unsigned blind_ms =
        10; /* before Linux 5.16 only one word can be waited for, so the others must not wait long */
    uint32_t bell[WAITERS_MAX] = {0};
    bool backlog = false;
    for (unsigned i = 0; i < count; i++) {
        struct ms_shm *shm = drains[i]->shm;
        bell[i % WAITERS_MAX] = __atomic_load_n(&shm->bell, __ATOMIC_ACQUIRE);
        __atomic_store_n(&shm->collector_asleep, 1, __ATOMIC_SEQ_CST);
        backlog |= __atomic_load_n(&shm->full_chunks, __ATOMIC_SEQ_CST) >= shm->backlog_max / 4;
    }
    if (!backlog && (count < 2 || !wait_for_many(drains, bell, count, timeout_ms))) {
        unsigned ms = count < 2 || timeout_ms < blind_ms ? timeout_ms : blind_ms;
        struct timespec timeout = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};
        if (count != 0) {
            ms__futex_wait(&drains[0]->shm->bell, bell[0], &timeout, true);
        } else {
            clock_nanosleep(CLOCK_MONOTONIC, 0, &timeout, NULL);
        }
    }
    for (unsigned i = 0; i < count; i++) {
        __atomic_store_n(&drains[i]->shm->collector_asleep, 0, __ATOMIC_RELAXED);
    }
}
