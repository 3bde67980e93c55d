/* SPDX-License-Identifier: Apache-2.0 */
/* Internals of the caching allocator: segments (driver memory), blocks (their parts), and the allocator of one device.
 * caching.c serves requests, blocks.c splits and merges, segments.c calls the driver, reclaim.c releases memory,
 * inspect.c reports statistics.
 *
 * The blocks of a segment form a list by address without gaps. A block is in exactly one place: the active tree (in
 * use), a free tree (cached), an unmapped tree (address space only), or the list of pending events (freed, but a stream
 * other than its own may still use it). Two neighbours are never both free, nor both unmapped.
 *
 * Everything below belongs to one npool_device and is protected by its lock. */
#ifndef NPUPOOL_CACHING_INTERNAL_H
#define NPUPOOL_CACHING_INTERNAL_H

#include "common.h"
#include "tree.h"

#include <pthread.h>

/* torch_npu's constants. */
#define NPOOL_MIN_BLOCK_B    ((size_t)512)
#define NPOOL_SMALL_SIZE_B   NPOOL_MIB        /* largest block of the small pool */
#define NPOOL_SMALL_BUFFER_B (2 * NPOOL_MIB)  /* segments of the small pool */
#define NPOOL_MIN_LARGE_B    (10 * NPOOL_MIB) /* from here on a segment serves one size */
#define NPOOL_ROUND_LARGE_B  (2 * NPOOL_MIB)

struct cached_segment {
    struct npool_node by_address;
    int32_t device;
    char *base;
    size_t reserved_b; /* of address space */
    size_t mapped_b;   /* mapped bytes; all of them in plain segments */
    struct cached_block *first;

    /* Expandable segments: one physical handle per unit, NULL where nothing is mapped. */
    aclrtDrvMemHandle *handles;
    size_t unit_b;
    bool pages_1g;
};

struct cached_block {
    struct npool_node node; /* node of the tree that the block is in */
    char *ptr;
    size_t size_b, requested_b;
    aclrtStream stream;
    struct cached_segment *segment;
    struct block_pool *pool;
    struct cached_block *prev, *next; /* neighbours in the segment */
    bool allocated, mapped;
    uint32_t pending_events;
    aclrtStream *other_streams; /* other streams that use it */
    uint32_t other_stream_count;
    uint64_t freed_at; /* pool->searches when it became free: its age for garbage collection */
};

/* Interchangeable blocks. */
struct block_pool {
    struct npool_tree free;     /* by stream, size, address */
    struct npool_tree unmapped; /* by stream, address */
    bool small;
    uint64_t searches;
    struct pool_pair *pair;
};

/* The small and the large pool of the device, or of one private pool on this device. */
struct pool_pair {
    struct block_pool small, large;
    uint64_t mempool_id; /* 0: the ordinary one */
    npool_mempool *mempool;
    bool use_on_oom, orphaned;
    size_t segments;
    struct pool_pair *next;
};

struct cache_event {
    aclrtEvent event;
    aclrtStream stream;
    struct cached_block *block;
    struct cache_event *next;
};

struct npool_device {
    pthread_mutex_t lock; /* held during ACL and mstx calls, as torch_npu does; only the workspace's lock nests
                             inside, when memory runs out */
    int32_t id;
    const struct npool_config *config;
    struct pool_pair ordinary; /* head of the list of private pairs */
    struct npool_tree active;  /* by address */
    struct npool_tree segments;
    struct cache_event *pending, **pending_tail;
    size_t limit_b; /* NPOOL_UNLIMITED without a memory fraction */
    struct npool_stats stats;
};

struct npool_mempool {
    uint64_t id; /* never reused, so that a thread's reference to a destroyed pool is detected */
    bool use_on_oom;
    struct npool_mempool *next;
};

/* The allocator of a process. */
struct npool_caching {
    struct npool_config config;
    pthread_mutex_t lock; /* guards the list of private pools; taken before a device's lock, never after */
    npool_mempool *mempools;
    npool_workspace *workspace;                      /* atomic */
    struct npool_device *devices[NPOOL_DEVICES_MAX]; /* atomic; created at first use, kept until the end */
};

/* A request in progress. */
struct cache_request {
    size_t size_b; /* rounded */
    size_t requested_b;
    aclrtStream stream;
    struct block_pool *pool;
    aclError error; /* of the last driver attempt */
};

/* ---- caching.c */
struct npool_device *npool__device_if_used(const npool_caching *pool, int32_t id); /* NULL: nothing allocated there */

/* ---- blocks.c */
void npool__pair_init(struct pool_pair *pair, uint64_t mempool_id, npool_mempool *mempool, bool use_on_oom);
int npool__order_by_address(const struct npool_node *a, const struct npool_node *b);
int npool__order_segments(const struct npool_node *a, const struct npool_node *b);
struct cached_block *npool__block_at(const struct npool_device *device, const void *ptr); /* active, NULL if none */
/* One block with the whole new segment, for the request. NULL: no host memory; closes the segment, sets the request's
 * error. */
struct cached_block *npool__block_first(struct npool_device *device, struct cache_request *request,
                                        struct cached_segment *segment);
void npool__block_delete(struct cached_block *block);
void npool__put_free(struct npool_device *device, struct cached_block *block);
void npool__take_free(struct npool_device *device, struct cached_block *block);
bool npool__is_split(const struct cached_block *block);
/* Splits the block after size_b bytes; the rest becomes a free block. False: no host memory, the block is unchanged. */
bool npool__split(struct npool_device *device, struct cached_block *block, size_t size_b);
/* An unused block: merges it with its free neighbours and caches it. */
void npool__cache_block(struct npool_device *device, struct cached_block *block);
/* Best free block for the request, removed from its tree; NULL if none. */
struct cached_block *npool__find_free(struct npool_device *device, struct cache_request *request,
                                      struct block_pool *pool);
/* Grows an expandable segment (or creates one) until it has a free block of the size, removed from its tree; or
 * NULL. */
struct cached_block *npool__grow_expandable(struct npool_device *device, struct cache_request *request);
/* Unmaps the whole units of a free block. */
void npool__unmap_block(struct npool_device *device, struct cached_block *block);

/* ---- segments.c: driver calls; statistics of the device are kept up to date */
aclError npool__segment_open(struct npool_device *device, size_t size_b, bool large, struct cached_segment **out);
aclError npool__segment_reserve(struct npool_device *device, bool large, struct cached_segment **out);
/* Maps whole units of an expandable segment, all of them or none; and unmaps them. */
aclError npool__segment_map(struct npool_device *device, struct cached_segment *segment, char *begin, size_t size_b);
void npool__segment_unmap(struct npool_device *device, struct cached_segment *segment, char *begin, size_t size_b);
void npool__segment_close(struct npool_device *device, struct cached_segment *segment);

/* ---- reclaim.c */
/* The program freed the block: caches it, or waits for the other streams that use it. */
void npool__retire(struct npool_device *device, struct cached_block *block);
void npool__process_events(struct npool_device *device, bool wait);
void npool__collect_garbage(struct npool_device *device);
bool npool__release_oversize(struct npool_device *device, const struct cache_request *request);
void npool__release_cached(struct npool_device *device);
void npool__drop_orphans(struct npool_device *device);

/* ---- inspect.c */
void npool__stat_add(struct npool_stat *stat, uint64_t amount);
void npool__stat_sub(struct npool_stat *stat, uint64_t amount);

#endif
