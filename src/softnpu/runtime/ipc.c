/* SPDX-License-Identifier: Apache-2.0 */
/* Arenas of shared slots; see ipc.h.
 *
 * Invariants: an arena has a fixed size and is never unmapped by its owner; pages are allocated when a slot is first
 * used. A slot's cookie changes with every use.
 *
 * Threads and locks: one leaf lock for the free list and the list of opened peers. Several processes change slot words
 * with atomics; everything read from another process's arena is checked before use.
 *
 * Failure policy: without a memfd or mapping, functions return NULL and the caller reports a lack of resources. */
#include "softnpu/runtime/ipc.h"

#include "softnpu/runtime/engine.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define ARENA_MAGIC 0x31637069757073ull
#define SLOTS_MAX   262144u
#define SLOT_B      512u

_Static_assert(sizeof(struct ipc_slot) <= SLOT_B, "a slot must fit SLOT_B");

struct arena {
    uint64_t magic;
    uint64_t slots;
    char pad[SLOT_B - 16];
    char places[]; /* SLOTS_MAX places of SLOT_B bytes */
};

#define ARENA_SIZE_B (sizeof(struct arena) + (size_t)SLOTS_MAX * SLOT_B)

struct ipc_peer {
    int32_t pid, fd;
    struct arena *arena;
    uint32_t refs;
    struct ipc_peer *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct arena *own;
static int own_fd = -1;
static uint32_t used;       /* places allocated so far */
static uint32_t *free_list; /* indexes of free places */
static uint32_t free_count;
static struct ipc_peer *peers;

static struct ipc_slot *place(struct arena *arena, uint32_t index)
{
    return (struct ipc_slot *)(arena->places + (size_t)index * SLOT_B);
}

static bool arena_open_locked(void)
{
    if (own != NULL) {
        return true;
    }
    uint32_t *list = mmap(NULL, SLOTS_MAX * sizeof(*list), PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (list == MAP_FAILED) {
        return false;
    }
    int fd = memfd_create("softnpu-ipc", MFD_CLOEXEC);
    struct arena *arena = MAP_FAILED;
    if (fd >= 0 && ftruncate(fd, (off_t)ARENA_SIZE_B) == 0) {
        arena = mmap(NULL, ARENA_SIZE_B, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    }
    if (arena == MAP_FAILED) {
        if (fd >= 0) {
            close(fd);
        }
        munmap(list, SLOTS_MAX * sizeof(*list));
        return false;
    }
    arena->magic = ARENA_MAGIC;
    arena->slots = SLOTS_MAX;
    free_list = list;
    own_fd = fd;
    own = arena;
    return true;
}

static uint64_t new_cookie(void)
{
    uint64_t cookie = 0;
    while (cookie == 0 && getrandom(&cookie, sizeof(cookie), 0) != sizeof(cookie)) {
    }
    return cookie;
}

struct ipc_slot *snpu__ipc_alloc(enum ipc_kind kind, uint32_t dev)
{
    struct ipc_slot *slot = NULL;
    uint64_t cookie = new_cookie();
    pthread_mutex_lock(&lock);
    if (arena_open_locked()) {
        if (free_count > 0) {
            slot = place(own, free_list[--free_count]);
        } else if (used < SLOTS_MAX) {
            slot = place(own, used++);
        }
    }
    pthread_mutex_unlock(&lock);
    if (slot != NULL) {
        memset(slot, 0, sizeof(*slot));
        slot->kind = kind;
        slot->dev = dev;
        __atomic_store_n(&slot->cookie, cookie, __ATOMIC_RELEASE);
    }
    return slot;
}

static uint32_t index_of(const struct ipc_slot *slot)
{
    return (uint32_t)(((const char *)slot - own->places) / SLOT_B);
}

void snpu__ipc_free(struct ipc_slot *slot)
{
    __atomic_store_n(&slot->cookie, 0, __ATOMIC_RELEASE);
    pthread_mutex_lock(&lock);
    free_list[free_count++] = index_of(slot);
    pthread_mutex_unlock(&lock);
}

void snpu__ipc_key_of(const struct ipc_slot *slot, struct ipc_key *key)
{
    *key = (struct ipc_key){
        .pid = getpid(), .fd = own_fd, .index = index_of(slot), .kind = slot->kind, .cookie = slot->cookie};
}

/* ---- other processes' arenas ---- */

static struct arena *map_peer(const char *function, int32_t pid, int32_t fd, int32_t *ret)
{
    int dup = snpu_hal_open_peer(pid, fd);
    if (dup < 0) {
        *ret = snpu_fail(ACL_ERROR_RT_IPC_ERROR, "%s: cannot open shared objects of process %d: %s", function, pid,
                         strerror(-dup));
        return NULL;
    }
    struct stat st;
    struct arena *arena = MAP_FAILED;
    if (fstat(dup, &st) == 0 && (size_t)st.st_size == ARENA_SIZE_B) {
        arena = mmap(NULL, ARENA_SIZE_B, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, dup, 0);
    }
    close(dup);
    if (arena != MAP_FAILED && (arena->magic != ARENA_MAGIC || arena->slots != SLOTS_MAX)) {
        munmap(arena, ARENA_SIZE_B);
        arena = MAP_FAILED;
    }
    if (arena == MAP_FAILED) {
        *ret = snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: the key does not refer to shared objects of process %d",
                         function, pid);
        return NULL;
    }
    return arena;
}

static struct ipc_peer *peer_get(const char *function, const struct ipc_key *key, int32_t *ret)
{
    struct ipc_peer *peer;
    pthread_mutex_lock(&lock);
    for (peer = peers; peer != NULL; peer = peer->next) {
        if (peer->pid == key->pid && peer->fd == key->fd && place(peer->arena, key->index)->cookie == key->cookie) {
            peer->refs++;
            break;
        }
    }
    pthread_mutex_unlock(&lock);
    if (peer != NULL) {
        return peer;
    }
    struct arena *arena = map_peer(function, key->pid, key->fd, ret);
    if (arena == NULL) {
        return NULL;
    }
    peer = malloc(sizeof(*peer));
    if (peer == NULL) {
        munmap(arena, ARENA_SIZE_B);
        *ret = snpu_fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "%s: out of host memory", function);
        return NULL;
    }
    *peer = (struct ipc_peer){.pid = key->pid, .fd = key->fd, .arena = arena, .refs = 1};
    pthread_mutex_lock(&lock);
    peer->next = peers;
    peers = peer;
    pthread_mutex_unlock(&lock);
    return peer;
}

void snpu__ipc_close(struct ipc_peer *peer)
{
    if (peer == NULL) {
        return;
    }
    pthread_mutex_lock(&lock);
    bool last = --peer->refs == 0;
    for (struct ipc_peer **link = &peers; last && *link != NULL; link = &(*link)->next) {
        if (*link == peer) {
            *link = peer->next;
            break;
        }
    }
    pthread_mutex_unlock(&lock);
    if (last) {
        munmap(peer->arena, ARENA_SIZE_B);
        free(peer);
    }
}

static bool may_open(const struct ipc_slot *slot)
{
    if (__atomic_load_n(&slot->open_to_all, __ATOMIC_ACQUIRE)) {
        return true;
    }
    uint32_t count = __atomic_load_n(&slot->pid_count, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < count && i < SNPU_IPC_PIDS_MAX; i++) {
        if (slot->pids[i] == getpid()) {
            return true;
        }
    }
    return false;
}

int32_t snpu__ipc_open(const char *function, const struct ipc_key *key, struct ipc_slot **slot, struct ipc_peer **peer)
{
    int32_t ret = 0;
    if (key->index >= SLOTS_MAX || key->cookie == 0) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: not a valid key", function);
    }
    struct arena *arena = own;
    *peer = NULL;
    if (key->pid != getpid()) {
        *peer = peer_get(function, key, &ret);
        if (*peer == NULL) {
            return ret;
        }
        arena = (*peer)->arena;
    }
    struct ipc_slot *found = arena != NULL ? place(arena, key->index) : NULL;
    if (found == NULL || __atomic_load_n(&found->cookie, __ATOMIC_ACQUIRE) != key->cookie || found->kind != key->kind) {
        ret = snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: the shared object no longer exists", function);
    } else if (!may_open(found)) {
        ret = snpu_fail(ACL_ERROR_RT_NO_PERMISSION, "%s: process %d has not allowed this process (%d) to import it",
                        function, key->pid, getpid());
    }
    if (ret != 0) {
        snpu__ipc_close(*peer);
        return ret;
    }
    *slot = found;
    return 0;
}
