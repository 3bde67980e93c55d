/* Rows that wait for what is not known yet (late attributes, files of devices that have not appeared): the row's
 * numbers, then its attributes, then the bytes of its texts, one after the other. Only this process reads them. */
#include "export/dump_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BUFFER_B (256u * 1024)

/* What a row is without its attributes. */
#define HEAD_B offsetof(struct ms_row, attr)

static void add_text(struct ms_buffer *buffer, struct ms_text text)
{
    ms_buffer_add(buffer, text.s, text.length_b);
}

int ms__spool_add(struct ms_spool *spool, int dirfd, const struct ms_row *row)
{
    struct ms_buffer *buffer = &spool->buffer;
    size_t attrs_b = row->attr_count * sizeof(row->attr[0]);
    size_t texts_b = row->name.length_b;
    for (uint32_t i = 0; i < row->attr_count; i++) {
        texts_b += row->attr[i].form == MS_FORM_TEXT ? row->attr[i].text.length_b : 0;
        texts_b += row->attr[i].key == MS_ATTR_OTHER ? row->attr[i].other_key_b : 0;
    }
    uint32_t length_b = (uint32_t)(sizeof(length_b) + HEAD_B + attrs_b + texts_b);
    ms_buffer_add(buffer, (const char *)&length_b, sizeof(length_b));
    ms_buffer_add(buffer, (const char *)row, HEAD_B);
    ms_buffer_add(buffer, (const char *)row->attr, attrs_b);
    add_text(buffer, row->name);
    for (uint32_t i = 0; i < row->attr_count; i++) {
        if (row->attr[i].form == MS_FORM_TEXT) {
            add_text(buffer, row->attr[i].text);
        }
        if (row->attr[i].key == MS_ATTR_OTHER) {
            ms_buffer_add(buffer, row->attr[i].other_key, row->attr[i].other_key_b);
        }
    }
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

static const char *take_text(struct ms_text *text, const char *at)
{
    text->s = at;
    return at + text->length_b;
}

static int each_in(const char *bytes, size_t bytes_b, ms_spool_fn fn, void *argument, size_t *used)
{
    *used = 0;
    while (bytes_b - *used >= sizeof(uint32_t)) {
        uint32_t length_b;
        memcpy(&length_b, bytes + *used, sizeof(length_b));
        if (length_b > bytes_b - *used) {
            break;
        }
        struct ms_row row;
        const char *at = bytes + *used + sizeof(length_b);
        memcpy(&row, at, HEAD_B);
        at += HEAD_B;
        memcpy(row.attr, at, row.attr_count * sizeof(row.attr[0]));
        at = take_text(&row.name, at + row.attr_count * sizeof(row.attr[0]));
        for (uint32_t i = 0; i < row.attr_count; i++) {
            if (row.attr[i].form == MS_FORM_TEXT) {
                at = take_text(&row.attr[i].text, at);
            }
            if (row.attr[i].key == MS_ATTR_OTHER) {
                row.attr[i].other_key = at;
                at += row.attr[i].other_key_b;
            }
        }
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
    if (rc == 0) { /* what is not in the file yet */
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
