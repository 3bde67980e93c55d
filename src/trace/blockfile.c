/* SPDX-License-Identifier: Apache-2.0 */
/* Heads are read through a small window, content with one read per block. After a damaged head the search for the next
 * one advances in steps of 8 bytes, where blocks begin, and stops at the end of the file: each byte is looked at once.
 * If only the content is damaged, the length in the head is valid, and the walk continues after the block. */
#include "trace/blockfile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int ms_blockfile_init(struct ms_blockfile *file, int fd)
{
    *file = (struct ms_blockfile){.fd = fd, .unpacker = ms_unpacker_new()};
    return file->unpacker != NULL ? 0 : -ENOMEM;
}

void ms_blockfile_destroy(struct ms_blockfile *file)
{
    if (file->fd >= 0) {
        close(file->fd);
    }
    ms_unpacker_free(file->unpacker);
    free(file->packed);
    *file = (struct ms_blockfile){.fd = -1};
}

uint64_t ms_blockfile_size(const struct ms_blockfile *file)
{
    struct stat status;
    return fstat(file->fd, &status) == 0 ? (uint64_t)status.st_size : 0;
}

static size_t read_at(struct ms_blockfile *file, void *to, size_t length_b, uint64_t offset)
{
    size_t got = 0;
    file->error = 0;
    while (got < length_b) {
        ssize_t n = pread(file->fd, (char *)to + got, length_b - got, (off_t)(offset + got));
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            file->error = n < 0 ? errno : 0;
            break;
        }
        got += (size_t)n;
    }
    return got;
}

/* Reads length_b bytes at offset, fewer at the end of the file. */
static const uint8_t *peek(struct ms_blockfile *file, uint64_t offset, size_t length_b, size_t *got_b)
{
    if (offset < file->window_at || offset + length_b > file->window_at + file->window_b) {
        file->window_at = offset;
        file->window_b = read_at(file, file->window, sizeof(file->window), offset);
    }
    size_t there_b = file->window_b - (size_t)(offset - file->window_at);
    *got_b = there_b < length_b ? there_b : length_b;
    return file->window + (offset - file->window_at);
}

static const char *head_at(struct ms_blockfile *file, uint64_t offset, struct ms_block_head *head, size_t *got_b)
{
    const uint8_t *bytes = peek(file, offset, sizeof(*head), got_b);
    if (*got_b < sizeof(*head)) {
        return "the file ends inside a block";
    }
    memcpy(head, bytes, sizeof(*head));
    return ms_block_check_head(head);
}

/* Where the next head may be; the end of the file if there is none. */
static uint64_t resynchronise(struct ms_blockfile *file, uint64_t offset)
{
    struct ms_block_head head;
    size_t got_b;
    for (offset = (offset + 8) & ~(uint64_t)7;; offset += 8) {
        const uint8_t *bytes = peek(file, offset, 8, &got_b);
        uint32_t magic;
        if (got_b < 8) {
            return offset + got_b;
        }
        memcpy(&magic, bytes, 4);
        if (magic == MS_BLOCK_MAGIC && (head_at(file, offset, &head, &got_b) == NULL || got_b < sizeof(head))) {
            return offset;
        }
    }
}

enum ms_walk ms_blockfile_next(struct ms_blockfile *file, struct ms_block_head *head, uint64_t *at, uint64_t *cut,
                               const char **reason)
{
    size_t got_b;
    *at = file->offset;
    *cut = 0;
    const char *wrong = head_at(file, file->offset, head, &got_b);
    if (got_b < sizeof(*head)) {
        *cut = got_b;
        return MS_WALK_NO_MORE;
    }
    if (wrong != NULL) {
        *reason = wrong;
        file->offset = resynchronise(file, file->offset);
        return MS_WALK_DAMAGE;
    }
    uint64_t end = file->offset + ms_block_length_b(head), size_b = ms_blockfile_size(file);
    if (end > size_b) {
        *cut = size_b > file->offset ? size_b - file->offset : 0;
        return MS_WALK_NO_MORE;
    }
    file->offset = end;
    return MS_WALK_BLOCK;
}

const char *ms_blockfile_load(struct ms_blockfile *file, const struct ms_block_head *head, uint64_t at, void *raw)
{
    if (head->packed_b > file->packed_room_b) {
        uint8_t *grown = realloc(file->packed, head->packed_b);
        if (grown == NULL) {
            return "out of memory";
        }
        file->packed = grown;
        file->packed_room_b = head->packed_b;
    }
    if (read_at(file, file->packed, head->packed_b, at + sizeof(*head)) != head->packed_b) {
        return file->error != 0 ? "the file cannot be read" : "the file ends inside a block";
    }
    return ms_block_unpack(file->unpacker, head, file->packed, raw);
}
