/* SPDX-License-Identifier: Apache-2.0 */
/* Creates the shared memory. Runs in the target, inside the attach function: raw system calls, no allocation, the
 * caller preserves errno.
 *
 * RLIMIT_FSIZE: growing a memfd beyond it raises SIGXFSZ, which kills by default, so the limit is checked first. */
#include "trace/shm.h"

#include "base/macros.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

size_t ms_shm_format(void *memory, size_t size_b, uint32_t pid, uint32_t clock_kind)
{
    struct ms_shm *shm = memory;
    uint64_t streams_off = MS_ROUND_UP(sizeof(struct ms_shm), 128); /* the first heads share the first page */
    uint64_t table_off = streams_off + MS_STREAMS_MAX * sizeof(struct ms_stream_head);
    uint64_t chunks_off = MS_ROUND_UP(table_off + MS_CHUNKS_MAX * sizeof(struct ms_chunk_entry), 65536);
    if (size_b < chunks_off + MS_CHUNK_B) {
        return 0;
    }
    uint64_t chunks = (size_b - chunks_off) / MS_CHUNK_B;
    if (chunks > MS_CHUNKS_MAX) {
        chunks = MS_CHUNKS_MAX;
    }
    *shm = (struct ms_shm){
        .magic = MS_SHM_MAGIC,
        .version = MS_SHM_VERSION,
        .chunk_b = MS_CHUNK_B,
        .stream_max = MS_STREAMS_MAX,
        .chunk_max = (uint32_t)chunks,
        .streams_off = streams_off,
        .table_off = table_off,
        .chunks_off = chunks_off,
        .size_b = chunks_off + chunks * MS_CHUNK_B,
        .pid = pid,
        .state = MS_STATE_OFF,
        .clock_kind = clock_kind,
        .backlog_max = (64u << 20) / MS_CHUNK_B,
        .full_wait_ms = 20,
    };
    return shm->size_b;
}

static size_t within_limits(size_t size_b)
{
    static const int limits[] = {RLIMIT_FSIZE, RLIMIT_AS};
    for (unsigned i = 0; i < MS_COUNT_OF(limits); i++) {
        struct rlimit limit;
        if (getrlimit(limits[i], &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur / 8 < size_b / 4) {
            size_b = limit.rlim_cur / 2; /* leave the program its share */
        }
    }
    return size_b & ~(size_t)(MS_CHUNK_B - 1);
}

static int sealed_memfd(size_t size_b)
{
    int fd = (int)syscall(SYS_memfd_create, "npuscope", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
    if (fd < 0 && errno == EINVAL) { /* before 6.3 */
        fd = (int)syscall(SYS_memfd_create, "npuscope", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    }
    if (fd < 0) {
        return -1;
    }
    if (syscall(SYS_ftruncate, fd, size_b) != 0 ||
        syscall(SYS_fcntl, fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
        int saved = errno;
        syscall(SYS_close, fd);
        errno = saved;
        return -1;
    }
    return fd;
}

struct ms_shm *ms_shm_create(size_t size_b, uint32_t pid, uint32_t clock_kind, int *fd)
{
    for (size_b = within_limits(size_b); size_b >= MS_SHM_MIN_B; size_b = size_b / 4 & ~(size_t)(MS_CHUNK_B - 1)) {
        int made = sealed_memfd(size_b);
        if (made < 0) {
            if (errno == EMFILE || errno == ENFILE || errno == ENOSYS) {
                return NULL;
            }
            continue;
        }
        void *memory = mmap(NULL, size_b, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, made, 0);
        if (memory == MAP_FAILED) {
            syscall(SYS_close, made);
            continue;
        }
        ms_shm_format(memory, size_b, pid, clock_kind);
        *fd = made;
        return memory;
    }
    errno = ENOMEM;
    return NULL;
}
