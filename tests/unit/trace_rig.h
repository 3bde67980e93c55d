/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the tests of src/trace: a trace directory, a process's shared memory in this process, writer, drain,
 * reader. */
#ifndef TRACE_RIG_H
#define TRACE_RIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "trace/definitions.h"
#include "trace/drain.h"
#include "trace/reader.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* For threads other than the test's own, from which cmocka cannot return. */
#define require(condition)                                                                                             \
    ((condition) ? (void)0 : (fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition), abort()))

struct rig {
    char path[128];
    int dir;
    int memfd;
    struct ms_shm *shm;
    struct ms_writer *writer;
    struct ms_drain *drain;
    struct ms_process process;
    uint32_t clock_kind;
};

/* The one that this process's attach function serves. */
static struct rig *rig_current;

static inline struct ms_shm *rig_attach(void)
{
    return rig_current != NULL ? rig_current->shm : NULL;
}

static inline void rig_remove(const char *path)
{
    DIR *dir = opendir(path);
    for (struct dirent *e = dir != NULL ? readdir(dir) : NULL; e != NULL; e = readdir(dir)) {
        if (e->d_name[0] != '.') {
            unlinkat(dirfd(dir), e->d_name, 0);
        }
    }
    if (dir != NULL) {
        closedir(dir);
    }
    rmdir(path);
}

static inline void rig_directory(struct rig *rig)
{
    const char *base = getenv("TMPDIR");
    snprintf(rig->path, sizeof(rig->path), "%s/npuscope-trace-%d-XXXXXX", base != NULL ? base : "/tmp", (int)getpid());
    assert_non_null(mkdtemp(rig->path));
    rig->dir = open(rig->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(rig->dir >= 0);
    rig->process =
        (struct ms_process){.name = "p", .pid = (uint32_t)getpid(), .start_time = 7, .clock_kind = rig->clock_kind};
}

static inline void rig_open_trace(struct rig *rig, const struct ms_writer_options *options)
{
    assert_int_equal(ms_writer_open(rig->dir, &rig->process, options, &rig->writer), 0);
    assert_int_equal(ms_drain_open_memory(rig->shm, rig->shm->size_b, rig->writer, &rig->drain), 0);
}

/* Fresh memory to record into, state ON, and a new directory; the process's producer starts over. */
static inline void rig_begin(struct rig *rig, uint32_t clock_kind, size_t size_b)
{
    *rig = (struct rig){.clock_kind = clock_kind, .memfd = -1};
    rig_directory(rig);
    rig->shm = ms_shm_create(size_b, (uint32_t)getpid(), clock_kind, &rig->memfd);
    assert_non_null(rig->shm);
    rig->shm->state = MS_STATE_ON;
    rig_current = rig;
    assert_int_equal(ms_producer_setup(rig_attach), 0);
    ms_producer_forked();
    ms_ctx_tls = NULL; /* a real fork would keep it, but no ended thread would have used it since */
}

static inline void rig_start(struct rig *rig, uint32_t clock_kind)
{
    rig_begin(rig, clock_kind, 64u << 20);
    rig_open_trace(rig, NULL);
}

static inline void rig_close_trace(struct rig *rig, enum ms_trace_ending ending)
{
    ms_drain_close(rig->drain);
    ms_writer_close(rig->writer, ending);
    rig->drain = NULL;
    rig->writer = NULL;
}

/* Everything recorded is in the trace, and the trace is closed. */
static inline void rig_finish(struct rig *rig)
{
    assert_true(ms_drain_finish(rig->drain) >= 0);
    rig_close_trace(rig, MS_ENDING_PROCESS);
}

static inline void rig_end(struct rig *rig)
{
    rig_close_trace(rig, MS_ENDING_OPEN);
    ms_producer_forked(); /* no thread records into it any more */
    rig_current = NULL;
    if (rig->shm != NULL) {
        munmap(rig->shm, rig->shm->size_b);
    }
    if (rig->memfd >= 0) {
        close(rig->memfd);
    }
    close(rig->dir);
    rig_remove(rig->path);
}

static inline struct ms_trace *rig_read(struct rig *rig, const struct ms_trace_options *options)
{
    struct ms_trace *trace = NULL;
    assert_int_equal(ms_trace_open(rig->dir, "p", options, &trace), 0);
    return trace;
}

/* ---- recording ---- */

static inline bool rig_alloc(uint64_t addr, uint64_t size_b)
{
    struct ms_slot slot;
    struct ms_p_hal_alloc *p = ms_rec_begin(&slot, sizeof(*p), MS_ORDER_ALLOC);
    if (p == NULL) {
        return false;
    }
    *p = (struct ms_p_hal_alloc){.addr = addr, .size_b = size_b, .flag = 1};
    ms_rec_commit(&slot, MS_R_HAL_ALLOC, 0, 0, ms_rec_stamp(&slot));
    return true;
}

static inline bool rig_free(uint64_t addr)
{
    struct ms_slot slot;
    struct ms_p_addr *p = ms_rec_begin(&slot, sizeof(*p), MS_ORDER_FREE);
    if (p == NULL) {
        return false;
    }
    p->addr = addr;
    ms_rec_commit(&slot, MS_R_HAL_FREE, 0, 0, ms_rec_stamp(&slot));
    return true;
}

static inline bool rig_mark(const char *text, bool recurring)
{
    struct ms_slot slot;
    struct ms_texts texts = {0};
    ms_texts_add(&texts, text, strlen(text), recurring);
    struct ms_p_mark *p = ms_rec_begin(&slot, sizeof(*p) + ms_texts_tail_b(&texts), MS_ORDER_PLAIN);
    if (p == NULL) {
        return false;
    }
    p->stream_id = 5;
    p->text = texts.ref[0];
    ms_texts_put(&texts, p + 1);
    ms_rec_commit(&slot, MS_R_MARK, texts.flags, 3, ms_rec_stamp(&slot));
    return true;
}

static inline bool rig_number(uint64_t value)
{
    struct ms_slot slot;
    struct ms_p_number *p = ms_rec_begin(&slot, sizeof(*p), MS_ORDER_PLAIN);
    if (p == NULL) {
        return false;
    }
    p->value = value;
    ms_rec_commit(&slot, MS_R_STEP, 0, 0, ms_rec_stamp(&slot));
    return true;
}

/* Next event other than THREAD. */
static inline int rig_next(struct ms_trace *trace, struct ms_event *event)
{
    int rc;
    do {
        rc = ms_trace_next(trace, event);
    } while (rc == MS_TRACE_EVENT && event->kind == MS_R_THREAD);
    return rc;
}

static inline uint64_t rig_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

#endif
