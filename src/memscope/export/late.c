/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes that become known after the MALLOC row: 16 bytes per allocation id in a mapped file, so they cost disk and
 * page cache, not process memory. */
#include "memscope/export/dump_internal.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#define FIRST_ENTRIES 65536u

_Static_assert(sizeof(struct ms_late_entry) == 16, "16 bytes per allocation");

static bool grow(struct ms_late *late, int dirfd, uint64_t entries)
{
    uint64_t room = late->room != 0 ? late->room : FIRST_ENTRIES;
    while (room <= entries) {
        room *= 2;
    }
    if (late->fd < 0) {
        late->fd = ms__temporary_file(dirfd);
    }
    /* allocate the blocks: a full disk must be an error here, not SIGBUS later */
    if (late->fd < 0 || posix_fallocate(late->fd, 0, (off_t)(room * sizeof(*late->entries))) != 0) {
        return false;
    }
    void *mapped =
        late->entries == NULL
            ? mmap(NULL, room * sizeof(*late->entries), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, late->fd, 0)
            : mremap(late->entries, late->room * sizeof(*late->entries), room * sizeof(*late->entries), MREMAP_MAYMOVE);
    if (mapped == MAP_FAILED) {
        return false;
    }
    late->entries = mapped;
    late->room = room;
    return true;
}

struct ms_late_entry *ms__late_at(struct ms_late *late, int dirfd, uint64_t allocation_id)
{
    if (allocation_id >= late->room && !grow(late, dirfd, allocation_id)) {
        return NULL;
    }
    return &late->entries[allocation_id];
}

const struct ms_late_entry *ms__late_get(const struct ms_late *late, uint64_t allocation_id)
{
    return allocation_id < late->room && late->entries[allocation_id].known ? &late->entries[allocation_id] : NULL;
}

void ms__late_free(struct ms_late *late)
{
    if (late->entries != NULL) {
        munmap(late->entries, late->room * sizeof(*late->entries));
    }
    if (late->fd >= 0) {
        close(late->fd);
    }
    *late = (struct ms_late)MS_LATE_INIT;
}
