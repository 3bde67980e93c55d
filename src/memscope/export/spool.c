/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that are buffered until something becomes known (late attributes, files of devices that have not appeared
 * yet). */
#include "memscope/export/dump_internal.h"

#include "memscope/model/row_bytes.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define BUFFER_B (256u * 1024)

int ms__spool_add(struct ms_spool *spool, int dirfd, const struct ms_row *row)
{
    struct ms_buffer *buffer = &spool->buffer;
    ms_row_pack(buffer, row);
    spool->rows++;
    if (buffer->used < BUFFER_B) {
        return buffer->failed ? -ENOMEM : 0;
    }
    if (spool->fd < 0) {
        spool->fd = ms__temporary_file(dirfd);
        if (spool->fd < 0) {
            return spool->fd;
        }
    }
    spool->size_b += buffer->used;
    return ms_buffer_write(buffer, spool->fd);
}

static int each_in(const char *bytes, size_t bytes_b, ms_spool_fn fn, void *argument, size_t *used)
{
    size_t length_b;
    *used = 0;
    while ((length_b = ms_row_packed_b(bytes + *used, bytes_b - *used)) != 0) {
        struct ms_row row;
        ms_row_unpack(bytes + *used, &row);
        int rc = fn(argument, &row);
        if (rc != 0) {
            return rc;
        }
        *used += length_b;
    }
    return 0;
}

int ms__spool_each(struct ms_spool *spool, uint64_t *from, ms_spool_fn fn, void *argument)
{
    int rc = 0;
    size_t room = 1u << 20, used;
    char *bytes = *from < spool->size_b ? malloc(room) : NULL;
    while (rc == 0 && *from < spool->size_b) {
        if (bytes == NULL) {
            return -ENOMEM;
        }
        ssize_t n = pread(spool->fd, bytes, room, (off_t)*from);
        if (n <= 0) {
            rc = n == 0 ? -EIO : -errno;
            break;
        }
        rc = each_in(bytes, (size_t)n, fn, argument, &used);
        *from += used;
        if (rc == 0 && used == 0) { /* a row larger than the buffer */
            room *= 2;
            free(bytes);
            bytes = malloc(room);
        }
    }
    free(bytes);
    if (rc == 0) { /* the part not yet in the file */
        uint64_t skip = *from - spool->size_b;
        rc = each_in(spool->buffer.s + skip, spool->buffer.used - skip, fn, argument, &used);
        *from += used;
    }
    return rc;
}

void ms__spool_free(struct ms_spool *spool)
{
    if (spool->fd >= 0) {
        close(spool->fd);
    }
    ms_buffer_free(&spool->buffer);
    *spool = (struct ms_spool)MS_SPOOL_INIT;
}
