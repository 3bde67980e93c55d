/* SPDX-License-Identifier: Apache-2.0 */
/* Creation of communicators: root info, rank table, all devices of a process, subsets of a communicator; their options.
 *
 * All of them end in the same three steps: reserve the device buffers (so that a rank that is out of memory fails
 * before the others rely on it), join a segment, wait for the others. They differ in how ranks find the segment:
 *     root info    the blob carries the random name of a segment that HcclGetRootInfo created
 *     rank table   the name is a hash of the table's content; the first rank creates the segment
 *     subset       the name consists of the parent's cookie and the id of the subset
 *     all devices  the name is private to the process
 *
 * Root info is created long before it is used, if it is used at all: its file stays locked by this process while ranks
 * gather, and is removed at exit, or, if this process was killed, by the next process that creates one. roots_lock
 * (leaf) guards the list. */
#include "softnpu/hccl/comm.h"

#include "base/macros.h"
#include "base/parse.h"
#include "softnpu/hal/hal_ext.h"
#include "softnpu/hccl/options.h"
#include "softnpu/hccl/ranktable.h"
#include "softnpu/runtime/context.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- the blob ---- */

#define BLOB_MAGIC 0x31544f4f524c4343ull

struct blob {
    uint64_t magic;
    uint8_t cookie[16];
    char path[HCCL_PATH_B];
    uint64_t sum;
};

_Static_assert(sizeof(struct blob) <= HCCL_ROOT_INFO_BYTES, "root info has room");

static uint64_t blob_sum(const struct blob *b)
{
    return hccl_hash(BLOB_MAGIC, b, offsetof(struct blob, sum));
}

static void hex(char *out, const uint8_t *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        snprintf(out + 2 * i, 3, "%02x", bytes[i]);
    }
}

/* As the real library forms it: address, interface, port, device, time. */
static void default_name(char name[COMM_NAME_MAX_LENGTH], uint32_t dev)
{
    struct timespec ts;
    clock_gettime(CLOCK_REALTIME, &ts);
    snprintf(name, COMM_NAME_MAX_LENGTH, "127.0.0.1%%lo_60000_%u_%lld%06ld", dev, (long long)ts.tv_sec,
             ts.tv_nsec / 1000);
}

static void new_seed(struct hccl_seed *seed, char path[HCCL_PATH_B], uint32_t dev)
{
    char what[40] = "";
    memset(seed, 0, sizeof(*seed));
    hccl_random(seed->cookie, sizeof(seed->cookie));
    hex(what, seed->cookie, sizeof(seed->cookie));
    hccl_segment_path(path, what);
    default_name(seed->name, dev);
}

/* ---- root info created by this process ---- */

struct root {
    struct root *next;
    int fd;
    struct blob blob;
};

static pthread_mutex_t roots_lock = PTHREAD_MUTEX_INITIALIZER;
static struct root *roots;

/* Drops those whose ranks have all joined; all: the others too, as at exit. */
static void tidy_roots(bool all)
{
    pthread_mutex_lock(&roots_lock);
    for (struct root **link = &roots; *link != NULL;) {
        struct root *root = *link;
        struct stat st;
        bool gathering = fstat(root->fd, &st) == 0 && st.st_nlink != 0;
        if (gathering && !all) {
            link = &root->next;
            continue;
        }
        if (gathering) {
            unlink(root->blob.path);
        }
        close(root->fd);
        *link = root->next;
        free(root);
    }
    pthread_mutex_unlock(&roots_lock);
}

__attribute__((destructor)) static void remove_roots(void)
{
    tidy_roots(true);
}

static void before_fork(void)
{
    pthread_mutex_lock(&roots_lock);
}

static void after_fork_parent(void)
{
    pthread_mutex_unlock(&roots_lock);
}

/* The files belong to the parent: the child neither keeps them alive nor removes them. */
static void after_fork_child(void)
{
    while (roots != NULL) {
        struct root *root = roots;
        roots = root->next;
        close(root->fd);
        free(root);
    }
    pthread_mutex_unlock(&roots_lock);
}

__attribute__((constructor)) static void watch_forks(void)
{
    pthread_atfork(before_fork, after_fork_parent, after_fork_child);
}

HcclResult HcclGetRootInfo(HcclRootInfo *rootInfo)
{
    if (rootInfo == NULL) {
        return HCCL_FAIL(HCCL_E_PTR, "%s: rootInfo is NULL", __func__);
    }
    struct root *root = calloc(1, sizeof(*root));
    if (root == NULL) {
        return HCCL_FAIL(HCCL_E_MEMORY, "%s: out of memory", __func__);
    }
    struct hccl_seed seed;
    const struct snpu_ctx *ctx = snpu_ctx_current();
    hccl_segment_sweep();
    new_seed(&seed, root->blob.path, ctx != NULL ? ctx->dev : 0);
    root->fd = hccl_segment_create(root->blob.path, &seed, true);
    if (root->fd < 0) {
        int error = -root->fd;
        free(root);
        return HCCL_FAIL(HCCL_E_SYSCALL, "%s: cannot create shared memory: %s", __func__, strerror(error));
    }
    root->blob.magic = BLOB_MAGIC;
    memcpy(root->blob.cookie, seed.cookie, sizeof(seed.cookie));
    root->blob.sum = blob_sum(&root->blob);
    memset(rootInfo, 0, sizeof(*rootInfo));
    memcpy(rootInfo, &root->blob, sizeof(root->blob));
    tidy_roots(false);
    pthread_mutex_lock(&roots_lock);
    root->next = roots;
    roots = root;
    pthread_mutex_unlock(&roots_lock);
    return HCCL_SUCCESS;
}

/* ---- common steps ---- */

static HcclResult check_ranks(const char *function, uint32_t n, uint32_t rank)
{
    if (n == 0 || n > HCCL_MAX_RANKS) {
        return HCCL_FAIL(HCCL_E_PARA, "%s: %u ranks, must be 1 to %d", function, n, HCCL_MAX_RANKS);
    }
    if (rank >= n) {
        return HCCL_FAIL(HCCL_E_PARA, "%s: rank %u is out of range, there are %u", function, rank, n);
    }
    return HCCL_SUCCESS;
}

/* The device of the calling thread, and the settings from options and environment. */
static HcclResult prepare(const char *function, const HcclCommConfig *config, struct hccl_setup *setup)
{
    struct snpu_ctx *ctx;
    if (snpu_ctx_need(function, &ctx) != 0) { /* has set the message */
        return HCCL_E_RUNTIME;
    }
    HcclResult result = hccl_setup_read(function, config, setup);
    setup->dev = ctx->dev;
    return result;
}

/* After joining: waits for the others and creates the communicator. Releases the buffers on failure. */
static HcclResult finish(const char *function, HcclResult joined, struct hccl_segment *segment,
                         struct hccl_setup *setup, char *why, HcclComm *comm)
{
    HcclResult result = joined;
    if (result == HCCL_SUCCESS) {
        result = hccl_segment_gather(segment, setup->connect_timeout_ms, why);
        if (result != HCCL_SUCCESS) {
            hccl_segment_leave(segment);
        }
    }
    if (result != HCCL_SUCCESS) {
        HCCL_FAIL(result, "%s: %s", function, why);
    } else if ((result = hccl_comm_create(function, segment, setup, comm)) != HCCL_SUCCESS) {
        hccl_segment_leave(segment);
    }
    if (result != HCCL_SUCCESS) {
        hccl_buffers_release(setup->buffers, setup->buffer_b);
    }
    tidy_roots(false);
    return result;
}

/* ---- root info ---- */

static HcclResult init_root_info(const char *function, uint32_t n, const HcclRootInfo *info, uint32_t rank,
                                 const HcclCommConfig *config, HcclComm *comm)
{
    struct blob blob;
    struct hccl_setup setup;
    struct hccl_segment segment;
    char why[HCCL_WHY_B] = "";
    if (info == NULL || comm == NULL) {
        return HCCL_FAIL(HCCL_E_PTR, "%s: %s is NULL", function, info == NULL ? "rootInfo" : "comm");
    }
    HcclResult result = check_ranks(function, n, rank);
    if (result != HCCL_SUCCESS) {
        return result;
    }
    memcpy(&blob, info, sizeof(blob));
    if (blob.magic != BLOB_MAGIC || blob.sum != blob_sum(&blob) || blob.path[sizeof(blob.path) - 1] != '\0') {
        return HCCL_FAIL(HCCL_E_PARA, "%s: rootInfo was not created by HcclGetRootInfo, or is damaged", function);
    }
    if ((result = prepare(function, config, &setup)) != HCCL_SUCCESS ||
        (result = hccl_buffers_reserve(function, &setup)) != HCCL_SUCCESS) {
        return result;
    }
    int fd = hccl_segment_open(blob.path);
    if (fd < 0) {
        result = hccl_explain(why, HCCL_E_NOT_FOUND,
                              "the root info was already used, or the process that created it is gone");
    } else {
        result = hccl_segment_join(&segment, fd, blob.path, blob.cookie, 0, n, rank, why);
        if (result == HCCL_E_AGAIN) {
            result = HCCL_E_REMOTE;
        }
    }
    return finish(function, result, &segment, &setup, why, comm);
}

HcclResult HcclCommInitRootInfo(uint32_t nRanks, const HcclRootInfo *rootInfo, uint32_t rank, HcclComm *comm)
{
    return init_root_info(__func__, nRanks, rootInfo, rank, NULL, comm);
}

HcclResult HcclCommInitRootInfoConfig(uint32_t nRanks, const HcclRootInfo *rootInfo, uint32_t rank,
                                      const HcclCommConfig *config, HcclComm *comm)
{
    if (config == NULL) {
        return HCCL_FAIL(HCCL_E_PTR, "%s: config is NULL", __func__);
    }
    return init_root_info(__func__, nRanks, rootInfo, rank, config, comm);
}

/* ---- a segment found by its name ---- */

static HcclResult join_by_name(struct hccl_segment *segment, const char *what, const struct hccl_seed *seed, uint32_t n,
                               uint32_t rank, char *why)
{
    char path[HCCL_PATH_B];
    hccl_segment_path(path, what);
    for (int attempt = 0; attempt < 100; attempt++) {
        int fd = hccl_segment_open(path);
        if (fd == -ENOENT) {
            fd = hccl_segment_create(path, seed, false);
        }
        if (fd == -EEXIST || fd == -ENOENT) {
            continue; /* another rank was faster */
        }
        if (fd < 0) {
            return hccl_explain(why, HCCL_E_SYSCALL, "cannot open %s: %s", path, strerror(-fd));
        }
        HcclResult result = hccl_segment_join(segment, fd, path, NULL, seed->agreed, n, rank, why);
        if (result != HCCL_E_AGAIN) {
            return result;
        }
    }
    return hccl_explain(why, HCCL_E_AGAIN, "ranks keep joining and leaving under the name %s", path);
}

/* ---- rank table ---- */

static HcclResult init_cluster(const char *function, const char *file, uint32_t rank, const HcclCommConfig *config,
                               HcclComm *comm)
{
    struct hccl_setup setup;
    struct hccl_segment segment;
    struct hccl_seed seed = {.name = "hccl_world_group"};
    char why[HCCL_WHY_B] = "";
    if (file == NULL || comm == NULL) {
        return HCCL_FAIL(HCCL_E_PTR, "%s: %s is NULL", function, file == NULL ? "clusterInfo" : "comm");
    }
    struct hccl_ranktable *table = calloc(1, sizeof(*table));
    if (table == NULL) {
        return HCCL_FAIL(HCCL_E_MEMORY, "%s: out of memory", function);
    }
    uint32_t n = 0, device = 0;
    HcclResult result = hccl_ranktable_load(file, table, why);
    if (result != HCCL_SUCCESS) {
        HCCL_FAIL(result, "%s: %s", function, why);
    } else if ((result = check_ranks(function, table->n, rank)) == HCCL_SUCCESS) {
        /* Machines of the software NPU are independent, even if their users share one table. */
        const char *machine = getenv("SOFTNPU_MACHINE");
        seed.agreed = machine != NULL ? hccl_hash(3, machine, strlen(machine)) : 3;
        for (uint32_t r = 0; r < table->n; r++) {
            uint64_t entry[2] = {table->rank[r].device, table->rank[r].server_hash};
            seed.agreed = hccl_hash(seed.agreed, entry, sizeof(entry));
        }
        n = table->n;
        device = table->rank[rank].device;
    }
    free(table);
    if (result != HCCL_SUCCESS || (result = prepare(function, config, &setup)) != HCCL_SUCCESS) {
        return result;
    }
    if (device != setup.dev) {
        return HCCL_FAIL(HCCL_E_PARA, "%s: the table puts rank %u on device %u, this thread uses device %u", function,
                         rank, device, setup.dev);
    }
    if ((result = hccl_buffers_reserve(function, &setup)) != HCCL_SUCCESS) {
        return result;
    }
    char what[40];
    snprintf(what, sizeof(what), "table-%016llx", (unsigned long long)seed.agreed);
    hccl_random(seed.cookie, sizeof(seed.cookie));
    result = join_by_name(&segment, what, &seed, n, rank, why);
    return finish(function, result, &segment, &setup, why, comm);
}

HcclResult HcclCommInitClusterInfo(const char *clusterInfo, uint32_t rank, HcclComm *comm)
{
    return init_cluster(__func__, clusterInfo, rank, NULL, comm);
}

HcclResult HcclCommInitClusterInfoConfig(const char *clusterInfo, uint32_t rank, HcclCommConfig *config, HcclComm *comm)
{
    if (config == NULL) {
        return HCCL_FAIL(HCCL_E_PTR, "%s: config is NULL", __func__);
    }
    return init_cluster(__func__, clusterInfo, rank, config, comm);
}

/* ---- subset of a communicator ---- */

#define NO_PART 0xffffffffu /* subCommId of a rank that is in no subset */

static HcclResult check_part(const char *function, const struct hccl_comm *parent, uint32_t n, const uint32_t *ids,
                             uint32_t rank)
{
    HcclResult result = check_ranks(function, n, rank);
    if (result != HCCL_SUCCESS) {
        return result;
    }
    bool seen[HCCL_MAX_RANKS] = {false};
    for (uint32_t i = 0; i < n; i++) {
        if (ids[i] >= parent->link.n || seen[ids[i]]) {
            return HCCL_FAIL(HCCL_E_PARA, "%s: rankIds[%u] = %u is not a rank of the communicator, or appears twice",
                             function, i, ids[i]);
        }
        seen[ids[i]] = true;
    }
    if (ids[rank] != parent->link.rank) {
        return HCCL_FAIL(HCCL_E_PARA, "%s: subCommRankId %u refers to rank %u, but this is rank %u", function, rank,
                         ids[rank], parent->link.rank);
    }
    return HCCL_SUCCESS;
}

static HcclResult init_part(const char *function, struct hccl_comm *parent, uint32_t n, const uint32_t *ids,
                            uint64_t id, uint32_t rank, const HcclCommConfig *config, HcclComm *part)
{
    struct hccl_setup setup;
    struct hccl_segment segment;
    struct hccl_seed seed = {.agreed = hccl_hash(5, ids, n * sizeof(*ids))};
    char why[HCCL_WHY_B] = "", cookie[33], what[80];
    HcclResult result = check_part(function, parent, n, ids, rank);
    if (result == HCCL_SUCCESS) {
        result = hccl_setup_read(function, config, &setup);
    }
    setup.dev = parent->dev;
    if (result != HCCL_SUCCESS || (result = hccl_buffers_reserve(function, &setup)) != HCCL_SUCCESS) {
        return result;
    }
    snprintf(seed.name, sizeof(seed.name), "%.90s_sub_%llu", parent->name, (unsigned long long)id);
    hccl_random(seed.cookie, sizeof(seed.cookie));
    hex(cookie, parent->link.seg.head->cookie, sizeof(parent->link.seg.head->cookie));
    snprintf(what, sizeof(what), "%s-%llx", cookie, (unsigned long long)id);
    result = join_by_name(&segment, what, &seed, n, rank, why);
    return finish(function, result, &segment, &setup, why, part);
}

HcclResult HcclCreateSubCommConfig(HcclComm *comm, uint32_t rankNum, uint32_t *rankIds, uint64_t subCommId,
                                   uint32_t subCommRankId, HcclCommConfig *config, HcclComm *subComm)
{
    struct hccl_comm *parent;
    if (comm == NULL) {
        return HCCL_FAIL(HCCL_E_PTR, "%s: comm is NULL", __func__);
    }
    HcclResult result = hccl_comm_get(__func__, *comm, &parent);
    if (result != HCCL_SUCCESS) {
        return result;
    }
    if (rankIds == NULL && subCommId == NO_PART) {
        result = HCCL_SUCCESS; /* not a member: the other arguments are not needed */
    } else if (rankIds == NULL || config == NULL || subComm == NULL) {
        result = HCCL_FAIL(HCCL_E_PTR, "%s: %s is NULL", __func__,
                           rankIds == NULL  ? "rankIds"
                           : config == NULL ? "config"
                                            : "subComm");
    } else {
        result = init_part(__func__, parent, rankNum, rankIds, subCommId, subCommRankId, config, subComm);
    }
    hccl_comm_put(parent);
    return result;
}

/* ---- all devices of this process ---- */

static HcclResult join_all(const char *function, uint32_t n, const int32_t *devices, struct hccl_segment *segments,
                           struct hccl_setup *setups, uint32_t *joined, char *why)
{
    struct hccl_seed seed;
    char path[HCCL_PATH_B];
    new_seed(&seed, path, (uint32_t)devices[0]);
    int maker = hccl_segment_create(path, &seed, true);
    HcclResult result = HCCL_SUCCESS;
    if (maker < 0) {
        return HCCL_FAIL(HCCL_E_SYSCALL, "%s: cannot create shared memory: %s", function, strerror(-maker));
    }
    for (uint32_t i = 0; i < n && result == HCCL_SUCCESS; i++) {
        struct hccl_setup *setup = &setups[i];
        uint32_t dev;
        if (snpu_dev_from_user(function, devices[i], &dev) != 0) {
            result = HCCL_E_PARA;
        } else if ((result = hccl_setup_read(function, NULL, setup)) == HCCL_SUCCESS) {
            setup->dev = dev;
            result = hccl_buffers_reserve(function, setup);
        }
        if (result != HCCL_SUCCESS) {
            break;
        }
        int fd = hccl_segment_open(path);
        result = fd < 0 ? hccl_explain(why, HCCL_E_SYSCALL, "cannot open %s: %s", path, strerror(-fd))
                        : hccl_segment_join(&segments[i], fd, path, seed.cookie, 0, n, i, why);
        if (result != HCCL_SUCCESS) {
            HCCL_FAIL(result, "%s: %s", function, why);
            hccl_buffers_release(setup->buffers, setup->buffer_b);
            break;
        }
        (*joined)++;
    }
    if (result != HCCL_SUCCESS) {
        unlink(path);
    }
    close(maker);
    return result;
}

HcclResult HcclCommInitAll(uint32_t ndev, int32_t *devices, HcclComm *comms)
{
    if (devices == NULL || comms == NULL) {
        return HCCL_FAIL(HCCL_E_PTR, "%s: %s is NULL", __func__, devices == NULL ? "devices" : "comms");
    }
    HcclResult result = check_ranks(__func__, ndev, 0);
    for (uint32_t i = 0; i < ndev && result == HCCL_SUCCESS; i++) {
        for (uint32_t j = 0; j < i; j++) {
            if (devices[i] == devices[j]) {
                result = HCCL_FAIL(HCCL_E_PARA, "%s: device %d is listed twice", __func__, devices[i]);
                break;
            }
        }
    }
    if (result != HCCL_SUCCESS) {
        return result;
    }
    struct hccl_segment *segments = calloc(ndev, sizeof(*segments));
    struct hccl_setup *setups = calloc(ndev, sizeof(*setups));
    uint32_t joined = 0, made = 0;
    char why[HCCL_WHY_B] = "";
    if (segments == NULL || setups == NULL) {
        result = HCCL_FAIL(HCCL_E_MEMORY, "%s: out of memory", __func__);
        goto out;
    }
    result = join_all(__func__, ndev, devices, segments, setups, &joined, why);
    while (result == HCCL_SUCCESS && made < ndev) {
        result = hccl_comm_create(__func__, &segments[made], &setups[made], &comms[made]);
        made += result == HCCL_SUCCESS;
    }
    for (uint32_t i = 0; i < joined && result != HCCL_SUCCESS; i++) {
        if (i < made) {
            HcclCommDestroy(comms[i]);
            comms[i] = NULL;
        } else {
            hccl_segment_leave(&segments[i]);
            hccl_buffers_release(setups[i].buffers, setups[i].buffer_b);
        }
    }
out:
    free(segments);
    free(setups);
    return result;
}
