/* SPDX-License-Identifier: Apache-2.0 */
/* npupool: the memory pools of the frameworks that run on an Ascend NPU, as a small C library.
 *
 * It allocates as torch_npu's caching, workspace and pinned allocators, MindSpore's pool and ATB's buffers do: the
 * same sizes reach the driver in the same order, and the same mstx calls report what happens inside the pools. To a
 * tool, a program that allocates here looks like such a framework. It is also a usable allocator: rounding, best
 * fit, splitting, merging, stream-ordered reuse, expandable segments, limits, statistics.
 *
 * It calls only public ACL and mstx functions, so it works on any machine with an ACL runtime.
 *
 * Results are ACL codes: 0, 100000 for an invalid argument, 207001 when out of memory, or the ACL function's result.
 * npool_last_error() returns the message. Out-parameters are untouched on failure. Every function is thread-safe,
 * but an object must not be destroyed while another call uses it. "Device" is the calling thread's current one
 * (aclrtSetDevice) unless there is an argument for it. NULL handles are refused with 100000. */
#ifndef NPUPOOL_NPUPOOL_H
#define NPUPOOL_NPUPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "acl/acl.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* Message of the calling thread's last failure in this library; "" if there was none. */
const char *npool_last_error(void);

/* ---- configuration: PYTORCH_NPU_ALLOC_CONF ---------------------------------------------------------------------- */

#define NPOOL_UNLIMITED      SIZE_MAX
#define NPOOL_ROUNDUP_LEVELS 16 /* powers of two from 1 MiB; the last level applies to everything above */

struct npool_config {
    bool no_caching; /* PYTORCH_NO_NPU_MEMORY_CACHING: every request goes to aclrtMalloc, nothing is reported */
    bool expandable_segments;
    bool page_1g;                        /* page_size:1g */
    bool multi_stream_lazy_reclaim;      /* check events of other streams only if no free block fits */
    bool release_lock_on_npumalloc;      /* other threads may use the pool while the driver allocates */
    bool throw_on_npumalloc_oom;         /* no retry when the driver is out of memory */
    bool pinned_use_background_threads;  /* accepted; the next caller checks events in any case */
    bool pinned_mem_register;            /* ordinary memory registered with aclrtHostRegisterV2 */
    bool pin_memory_expandable_segments; /* aclrtMallocHostWithCfg with one address for host and device */
    size_t max_split_size_b;             /* larger blocks are never split; NPOOL_UNLIMITED */
    size_t max_non_split_rounding_b;     /* how much larger than the request an unsplittable block may be */
    size_t large_segment_size_b;         /* 20 MiB */
    size_t base_addr_align_b;            /* 0, or unit of sizes in the large pool */
    size_t pinned_max_round_b;           /* larger sizes are not rounded to powers of two */
    size_t pinned_max_cached_b;          /* larger blocks are freed at once */
    size_t pinned_reserve_segment_b;     /* one segment preallocated for pinned blocks; 0: none */
    double garbage_collection_threshold; /* 0: never; used only with a memory fraction */
    double per_process_memory_fraction;  /* 1: no limit */
    uint32_t roundup_power2_divisions[NPOOL_ROUNDUP_LEVELS]; /* 0: multiples of 512 */
};

void npool_config_default(struct npool_config *config);

/* Adds the options of a text such as "max_split_size_mb:128,roundup_power2_divisions:[256:1,512:2,>:8]" to config.
 * On error config is unchanged and npool_last_error() names the option, its value and what is allowed. */
aclError npool_config_parse(struct npool_config *config, const char *text);

/* Defaults, then PYTORCH_NPU_ALLOC_CONF or PYTORCH_ALLOC_CONF (an error if both are set),
 * PYTORCH_NO_NPU_MEMORY_CACHING. */
aclError npool_config_from_env(struct npool_config *config);

/* ---- reporting --------------------------------------------------------------------------------------------------- */

/* True if the torch_npu and MindSpore pools of this process report their blocks: LD_PRELOAD has an entry whose real
 * path ends in libascend_kernel_hook.so, and $ASCEND_HOME_PATH/lib64/libms_tools_ext.so exists. Decided once. */
bool npool_reporting(void);

/* ---- torch_npu caching allocator --------------------------------------------------------------------------------- */

typedef struct npool_caching npool_caching;
typedef struct npool_mempool npool_mempool;
typedef struct npool_workspace npool_workspace;

struct npool_stat {
    uint64_t current, peak, allocated, freed; /* the last two: totals since creation */
};

struct npool_stats {
    struct npool_stat allocated_bytes;      /* handed to the program, in rounded block sizes */
    struct npool_stat reserved_bytes;       /* allocated from the driver */
    struct npool_stat active_bytes;         /* allocated, or freed but still in use on another stream */
    struct npool_stat inactive_split_bytes; /* free parts of partly used segments: fragmentation */
    struct npool_stat requested_bytes;      /* requested by the program */
    struct npool_stat allocations, segments, active_blocks, inactive_splits; /* counts of the same */
    struct npool_stat oversize_allocations, oversize_segments;               /* at least max_split_size */
    uint64_t alloc_retries; /* driver attempts after the cache was emptied */
    uint64_t ooms;          /* requests that finally failed */
};

/* config NULL: npool_config_from_env. NULL on failure (npool_last_error). */
npool_caching *npool_caching_create(const struct npool_config *config);

/* Frees all segments, whether or not their blocks are in use. */
void npool_caching_destroy(npool_caching *pool);

/* Memory for work on a stream of the current device (NULL: the default stream). Size 0 succeeds and returns NULL. */
aclError npool_malloc(npool_caching *pool, void **ptr, size_t size_b, aclrtStream stream);

/* Work on the same stream may reuse the block at once. NULL is allowed; a pointer that is not the start of a live
 * block is refused. The current device does not matter. */
aclError npool_free(npool_caching *pool, void *ptr);

/* The block is also used on this stream: after npool_free it is reused only when the work queued there by then is
 * done. */
aclError npool_record_stream(npool_caching *pool, void *ptr, aclrtStream stream);

/* Returns all segments of the current device without blocks in use to the driver. */
aclError npool_empty_cache(npool_caching *pool);

/* Limits this pool to a fraction (0..1] of the current device's memory. */
aclError npool_set_memory_fraction(npool_caching *pool, double fraction);

/* When out of memory, the workspaces of this pool's device are released as well. NULL: none. */
aclError npool_attach_workspace(npool_caching *pool, npool_workspace *workspace);

aclError npool_get_stats(npool_caching *pool, int32_t device, struct npool_stats *out);
aclError npool_reset_peak(npool_caching *pool, int32_t device);

/* The allocator's rounding of a request: block size, and the segment allocated if nothing is cached. */
size_t npool_round_size(const npool_caching *pool, size_t size_b);
size_t npool_segment_size(const npool_caching *pool, size_t rounded_b);

enum npool_block_state {
    NPOOL_BLOCK_ACTIVE,   /* handed to the program */
    NPOOL_BLOCK_AWAITING, /* freed, still in use on another stream */
    NPOOL_BLOCK_FREE,     /* cached */
    NPOOL_BLOCK_UNMAPPED, /* address space of an expandable segment without memory */
};

struct npool_block_info {
    int32_t device;
    aclrtStream stream;
    uintptr_t segment;  /* address of the segment */
    size_t segment_b;   /* its size; expandable: the mapped part */
    bool segment_first; /* the first block of its segment */
    bool expandable, small;
    npool_mempool *mempool; /* NULL: the ordinary pool */
    uintptr_t ptr;
    size_t size_b, requested_b;
    enum npool_block_state state;
};

/* Calls visit for every block, device by device, segments and blocks by ascending address. The pool is locked
 * meanwhile: visit must not use it. A non-zero result of visit ends the walk and is returned. */
int npool_snapshot(npool_caching *pool, int (*visit)(const struct npool_block_info *block, void *arg), void *arg);

/* Private pools. Requests of the calling thread use the pool chosen last (NULL: the ordinary one) until it chooses
 * another. Blocks of one pool never serve another, except that a request that is out of memory may use free blocks
 * of pools created with use_on_oom. Destroying a pool frees its free segments now, the others when their blocks are
 * freed. */
npool_mempool *npool_mempool_create(npool_caching *pool, bool use_on_oom);
aclError npool_mempool_use(npool_caching *pool, npool_mempool *mempool);
aclError npool_mempool_destroy(npool_caching *pool, npool_mempool *mempool);

/* ---- torch_npu workspace allocator ------------------------------------------------------------------------------- */

struct npool_workspace_stats {
    uint64_t allocated_b, reserved_b, requests, grown;
};

npool_workspace *npool_workspace_create(void);
void npool_workspace_destroy(npool_workspace *workspace);

/* Scratch memory for the work being queued on the stream: one block per device and stream, which grows and is shared
 * by all requests there. put returns the latest request of the current device. */
aclError npool_workspace_get(npool_workspace *workspace, void **ptr, size_t size_b, aclrtStream stream);
aclError npool_workspace_put(npool_workspace *workspace);

/* Frees the blocks of the current device after waiting for it. Blocks in use remain. */
aclError npool_workspace_empty(npool_workspace *workspace);
aclError npool_workspace_get_stats(npool_workspace *workspace, int32_t device, struct npool_workspace_stats *out);

/* ---- torch_npu pinned host memory -------------------------------------------------------------------------------- */

typedef struct npool_pinned npool_pinned;

struct npool_pinned_stats {
    uint64_t allocated_b, reserved_b, blocks;
};

npool_pinned *npool_pinned_create(const struct npool_config *config);
void npool_pinned_destroy(npool_pinned *pool);
aclError npool_pinned_malloc(npool_pinned *pool, void **ptr, size_t size_b);
/* A copy that reads or writes the block was queued on the stream: the block is not reused before it is done. */
aclError npool_pinned_record(npool_pinned *pool, void *ptr, aclrtStream stream);
aclError npool_pinned_free(npool_pinned *pool, void *ptr);
aclError npool_pinned_empty_cache(npool_pinned *pool);
aclError npool_pinned_get_stats(npool_pinned *pool, struct npool_pinned_stats *out);

/* ---- MindSpore pool ---------------------------------------------------------------------------------------------- */

typedef struct npool_mindspore npool_mindspore;

struct npool_mindspore_options {
    size_t sz;              /* sizeof(struct npool_mindspore_options) */
    bool vmm;               /* physical memory mapped into one address range instead of aclrtMalloc */
    size_t init_size_b;     /* first block from the driver; 0: 1 GiB */
    size_t increase_size_b; /* further blocks; 0: 1 GiB */
    size_t vmm_align_b;     /* 0: 2 MiB */
};

struct npool_mindspore_stats {
    uint64_t total_b, used_b, used_peak_b, blocks;
};

/* A pool for the current device. options NULL: defaults. */
npool_mindspore *npool_mindspore_create(const struct npool_mindspore_options *options);
void npool_mindspore_destroy(npool_mindspore *pool);
aclError npool_mindspore_malloc(npool_mindspore *pool, void **ptr, size_t size_b);
aclError npool_mindspore_free(npool_mindspore *pool, void *ptr);
aclError npool_mindspore_get_stats(npool_mindspore *pool, struct npool_mindspore_stats *out);

/* ---- ATB buffers ------------------------------------------------------------------------------------------------- */

typedef struct npool_atb npool_atb;

struct npool_atb_region {
    void *ptr;
    size_t size_b;
};

/* One object per executing thread, for the current device. It owns the workspace, which only grows. */
npool_atb *npool_atb_create(void);
void npool_atb_destroy(npool_atb *atb);

/* One execution of an operation: begin returns the workspace and registers it as a heap; around each kernel its
 * regions (parts of the workspace and intermediate tensors, sizes rounded up to 512) are registered as one batch and
 * unregistered by handle; end unregisters the heap. If a tool returns no heap handle, reporting is switched off
 * permanently. */
aclError npool_atb_begin(npool_atb *atb, size_t workspace_b, aclrtStream stream, void **workspace);
aclError npool_atb_kernel_begin(npool_atb *atb, const struct npool_atb_region *regions, size_t count);
aclError npool_atb_kernel_end(npool_atb *atb);
aclError npool_atb_end(npool_atb *atb);
/* The same reports for memory of another owner. */
aclError npool_atb_begin_external(npool_atb *atb, void *workspace, size_t workspace_b);
bool npool_atb_reporting(const npool_atb *atb);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
