/* SPDX-License-Identifier: Apache-2.0 */
/* See store.h. File blocks are allocated before they are written through the map, so a full disk is an error, not
 * SIGBUS. */
#include "memscope/query/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define FIRST_B  (1u << 20)
#define MEMORY_B (64u << 20) /* per table; more goes to a file */
#define STEP_B   ((size_t)1 << 30)

static int temporary_file(void)
{
    const char *places[] = {getenv("TMPDIR"), "/var/tmp", "/tmp"};
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        char name[4096];
        int fd = places[i] != NULL ? open(places[i], O_TMPFILE | O_RDWR | O_CLOEXEC, 0600) : -1;
        if (fd < 0 && places[i] != NULL &&
            (size_t)snprintf(name, sizeof(name), "%s/npuscope.XXXXXX", places[i]) < sizeof(name)) {
            fd = mkostemp(name, O_CLOEXEC);
            if (fd >= 0) {
                unlink(name);
            }
        }
        if (fd >= 0) {
            return fd;
        }
    }
    return -1;
}

/* Moves the bytes to a file, which is mapped from then on. */
static bool move_to_file(struct ms_records *records, size_t room_b)
{
    int fd = temporary_file();
    int rc = fd >= 0 ? posix_fallocate(fd, 0, (off_t)room_b) : errno;
    void *base = rc == 0 ? mmap(NULL, room_b, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
    if (base == MAP_FAILED) {
        rc = rc != 0 ? rc : errno;
        if (fd >= 0) {
            close(fd);
        }
        errno = rc;
        return false;
    }
    memcpy(base, records->base, records->used_b);
    munmap(records->base, records->room_b);
    records->base = base;
    records->room_b = room_b;
    records->fd = fd;
    return true;
}

static bool grow(struct ms_records *records, size_t bytes)
{
    size_t room_b = records->room_b != 0 ? records->room_b : FIRST_B / 2;
    do { /* doubles, or adds STEP_B once large */
        room_b += room_b < STEP_B ? room_b : STEP_B;
    } while (room_b - records->used_b < bytes);
    if (records->fd == 0 && room_b > MEMORY_B && records->base != NULL) {
        return move_to_file(records, room_b);
    }
    if (records->fd != 0) {
        int rc = posix_fallocate(records->fd, (off_t)records->room_b, (off_t)(room_b - records->room_b));
        if (rc != 0) {
            errno = rc;
            return false;
        }
    }
    void *base = records->base == NULL ? mmap(NULL, room_b, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                                       : mremap(records->base, records->room_b, room_b, MREMAP_MAYMOVE);
    if (base == MAP_FAILED) {
        return false;
    }
    records->base = base;
    records->room_b = room_b;
    return true;
}

void *ms_records_add(struct ms_records *records, size_t bytes)
{
    if (records->room_b - records->used_b < bytes && !grow(records, bytes)) {
        return NULL;
    }
    void *record = records->base + records->used_b;
    records->used_b += bytes;
    return record;
}

void ms_records_free(struct ms_records *records)
{
    if (records->base != NULL) {
        munmap(records->base, records->room_b);
    }
    if (records->fd != 0) {
        close(records->fd);
    }
    *records = (struct ms_records){0};
}

void ms_store_free(struct ms_store *store)
{
    for (size_t i = 0; i < MS_TABLE_COUNT; i++) {
        ms_records_free(&store->tables[i]);
    }
    ms_records_free(&store->attrs);
    ms_intern_free(&store->texts);
}
