/* SPDX-License-Identifier: Apache-2.0 */
/* Sharing memory with other processes. An export names a range of this process's memory file; an importer opens the
 * file through /proc/<pid>/fd and maps the range, so both see the same pages.
 *
 * The exporter may free its memory while others still use it. The range must not be reused then: the block stays
 * charged and allocated in its arena until the last user has released it or died ("waiting"). Waiting blocks are
 * checked whenever another exported block ends and before an allocation is refused.
 *
 * Locks: `lock` guards the two tables here; only the machine's locks are taken inside it. */
#include "softnpu/hal/share.h"

#include "base/macros.h"
#include "base/slab.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_EXPORTS 4096 /* as many as a machine has */
#define MAX_FILES   4096
#define MAX_IMPORTS 65536

struct exported {
    uint64_t token;
    struct snpu_block *block;
    bool withdrawn;
    bool waiting; /* the block has ended; it returns to its arena with its last export */
};

struct snpu_peer_file {
    uint64_t file_dev, file_ino;
    int fd;
    uint32_t refs;
};

/* How often this process has imported a token: the machine records only that it has. */
struct token_use {
    uint64_t token;
    uint32_t refs;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct ms_slab exports = MS_SLAB_INIT(struct exported, MAX_EXPORTS);
static struct ms_slab files = MS_SLAB_INIT(struct snpu_peer_file, MAX_FILES);
static struct ms_slab uses = MS_SLAB_INIT(struct token_use, MAX_IMPORTS);

/* Every live object of a slab that only this file uses, under `lock`. */
#define FOR_EACH(slab, type, item)                                                                                     \
    for (uint32_t i_ = 0; i_ < (slab).used_slots; i_++)                                                                \
        for (type *item = ms_slab_at(&(slab), i_); item != NULL; item = NULL)

drvError_t snpu__share_error(int rc)
{
    switch (rc) {
    case 0:
        return DRV_ERROR_NONE;
    case -ENOENT:
        return DRV_ERROR_NOT_EXIST;
    case -EPERM:
    case -EACCES:
        return DRV_ERROR_OPER_NOT_PERMITTED;
    default:
        return DRV_ERROR_NO_RESOURCES;
    }
}

/* ---- exporting ---- */

drvError_t snpu__export(struct snpu_block *block, uintptr_t base, uint64_t size_b, struct snpu_share_desc *share,
                        uint64_t *token)
{
    struct snpu_arena *arena = snpu_arena_of(base);
    struct stat st;
    share->fd = snpu_arena_fd(arena);
    if (fstat(share->fd, &st) != 0) {
        return DRV_ERROR_INNER_ERR;
    }
    share->file_dev = st.st_dev;
    share->file_ino = st.st_ino;
    share->offset_b = snpu_arena_offset(arena, base);
    share->size_b = size_b;
    share->page = block->page;
    snpu__sweep_exports();
    pthread_mutex_lock(&lock);
    struct exported *e = ms_slab_alloc(&exports);
    int rc = e != NULL ? snpu_share_publish(snpu__machine(), share, token) : -ENOSPC;
    if (rc == 0) {
        e->token = *token;
        e->block = block;
        __atomic_store_n(&block->exported, 1, __ATOMIC_RELAXED);
    } else if (e != NULL) {
        ms_slab_free(&exports, e);
    }
    pthread_mutex_unlock(&lock);
    return snpu__share_error(rc);
}

drvError_t snpu__unexport(uint64_t token)
{
    int rc = snpu_share_withdraw(snpu__machine(), token);
    if (rc == 0) {
        pthread_mutex_lock(&lock);
        FOR_EACH(exports, struct exported, e)
        {
            e->withdrawn |= e->token == token;
        }
        pthread_mutex_unlock(&lock);
        snpu__sweep_exports();
    }
    return snpu__share_error(rc);
}

static void give_back(struct snpu_block *block)
{
    snpu__uncharge(block->place, (enum snpu_page)block->page, block->range.size_b, block->module_id);
    snpu_arena_give(snpu_arena_get(block->place), block);
}

/* `lock` held. */
static bool has_exports(const struct snpu_block *block)
{
    FOR_EACH(exports, struct exported, e)
    {
        if (e->block == block) {
            return true;
        }
    }
    return false;
}

/* Removes exports that are no longer used, until one is found that was the last its block waited for; returns that
 * block. */
static struct snpu_block *sweep_one(void)
{
    struct snpu_block *ended = NULL;
    pthread_mutex_lock(&lock);
    FOR_EACH(exports, struct exported, e)
    {
        if (ended != NULL || !e->withdrawn || !snpu_share_is_unused(snpu__machine(), e->token)) {
            continue;
        }
        struct snpu_block *block = e->waiting ? e->block : NULL;
        ms_slab_free(&exports, e);
        if (block != NULL && !has_exports(block)) {
            ended = block;
        }
    }
    pthread_mutex_unlock(&lock);
    return ended;
}

bool snpu__sweep_exports(void)
{
    bool any = false;
    for (struct snpu_block *block = sweep_one(); block != NULL; block = sweep_one()) {
        give_back(block);
        any = true;
    }
    return any;
}

void snpu__block_end(struct snpu_block *block)
{
    if (MS_LIKELY(!__atomic_load_n(&block->exported, __ATOMIC_RELAXED))) {
        give_back(block);
        return;
    }
    __atomic_store_n(&block->exported, 0, __ATOMIC_RELAXED);
    bool waits = false;
    pthread_mutex_lock(&lock);
    FOR_EACH(exports, struct exported, e)
    {
        if (e->block == block) {
            snpu_share_withdraw(snpu__machine(), e->token);
            e->withdrawn = e->waiting = waits = true;
        }
    }
    pthread_mutex_unlock(&lock);
    if (waits) {
        snpu__sweep_exports();
    } else {
        give_back(block);
    }
}

/* ---- importing ---- */

int snpu_hal_open_peer(int32_t pid, int fd)
{
    char path[64];
    if (pid <= 0 || fd < 0) {
        return -EINVAL;
    }
    snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)pid, fd);
    int duplicate = open(path, O_RDWR | O_CLOEXEC);
    return duplicate >= 0 ? duplicate : -errno;
}

/* `lock` held. All exports of one process and device are in one file, which is opened once. */
static int open_file(const struct snpu_share_desc *share, struct snpu_peer_file **out)
{
    struct stat st;
    FOR_EACH(files, struct snpu_peer_file, known)
    {
        if (known->file_dev == share->file_dev && known->file_ino == share->file_ino) {
            known->refs++;
            *out = known;
            return 0;
        }
    }
    int fd = snpu_hal_open_peer(share->pid, share->fd);
    if (fd < 0) {
        return fd;
    }
    struct snpu_peer_file *file = ms_slab_alloc(&files);
    if (file == NULL || fstat(fd, &st) != 0 || st.st_dev != share->file_dev || st.st_ino != share->file_ino ||
        (uint64_t)st.st_size < share->offset_b + share->size_b) {
        close(fd);
        if (file == NULL) {
            return -ENOSPC;
        }
        ms_slab_free(&files, file);
        return -ENOENT; /* the exporter is gone, and its pid or descriptor has been reused */
    }
    file->file_dev = share->file_dev;
    file->file_ino = share->file_ino;
    file->fd = fd;
    file->refs = 1;
    *out = file;
    return 0;
}

/* `lock` held. */
static struct token_use *find_use(uint64_t token)
{
    FOR_EACH(uses, struct token_use, use)
    {
        if (use->token == token) {
            return use;
        }
    }
    return NULL;
}

static void drop_use(struct token_use *use)
{
    if (--use->refs == 0) {
        snpu_share_release(snpu__machine(), use->token);
        ms_slab_free(&uses, use);
    }
}

drvError_t snpu__import(uint64_t token, enum snpu_share_kind kind, struct snpu_import *out)
{
    pthread_mutex_lock(&lock);
    struct token_use *use = find_use(token);
    if (use == NULL) {
        use = ms_slab_alloc(&uses);
        if (use != NULL) {
            use->token = token;
        }
    }
    int rc = use == NULL ? -ENOSPC : 0;
    if (rc == 0) {
        use->refs++;
        rc = snpu_share_import(snpu__machine(), token, &out->share);
        const struct snpu_share_desc *share = &out->share;
        if (rc == 0 && (share->kind != kind || share->page >= SNPU_PAGE_TYPES || share->dev >= SNPU_MAX_DEVICES)) {
            rc = -ENOENT;
        }
        if (rc == 0) {
            rc = open_file(&out->share, &out->file);
        }
        if (rc != 0) {
            drop_use(use);
        }
    }
    pthread_mutex_unlock(&lock);
    out->token = token;
    return snpu__share_error(rc);
}

void snpu__import_end(struct snpu_import *import)
{
    pthread_mutex_lock(&lock);
    struct token_use *use = find_use(import->token);
    if (use != NULL) {
        drop_use(use);
    }
    if (--import->file->refs == 0) {
        close(import->file->fd);
        ms_slab_free(&files, import->file);
    }
    pthread_mutex_unlock(&lock);
}

int snpu__import_fd(const struct snpu_import *import)
{
    return import->file->fd;
}

void snpu__share_forget(void)
{
    lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    files.lock = lock;
    FOR_EACH(files, struct snpu_peer_file, file)
    {
        close(file->fd);
    }
    exports = (struct ms_slab)MS_SLAB_INIT(struct exported, MAX_EXPORTS);
    files = (struct ms_slab)MS_SLAB_INIT(struct snpu_peer_file, MAX_FILES);
    uses = (struct ms_slab)MS_SLAB_INIT(struct token_use, MAX_IMPORTS);
}
