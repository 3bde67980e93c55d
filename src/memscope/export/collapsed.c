/* SPDX-License-Identifier: Apache-2.0 */
/* Collapsed stacks, as read by flamegraph.pl, inferno and speedscope: one line per stack, calls from outermost to
 * innermost joined by semicolons, then the bytes live at the peak. Stacks start with device and pool: pools peak at
 * different times and are inside HAL blocks, so only the values below one of them add up. Stacks that differ only in
 * what is not shown (owner, addresses) are one line. */
#include "memscope/export/stacks.h"

#include "base/buffer.h"
#include "base/intern.h"

#include <errno.h>
#include <stdlib.h>

#define BUFFER_B (64u * 1024)

struct lines {
    struct ms_intern stacks; /* stack n has bytes[n - 1] */
    uint64_t *bytes;
    size_t count, room;
};

/* Replaces semicolons, which separate calls, and line ends, which end the stack. */
static void add_call(struct ms_buffer *line, struct ms_text name)
{
    size_t start = line->used;
    ms_buffer_utf8(line, name.s, name.length_b);
    for (size_t i = start; i < line->used; i++) {
        char c = line->s[i];
        line->s[i] = c == ';' ? ':' : (unsigned char)c < ' ' ? ' ' : c;
    }
}

static void make_line(struct ms_buffer *line, const struct ms_account *account, const struct ms_calls *calls)
{
    char device[24];
    const char *type = ms_type_name(account->type);
    ms_device_text(account->device, device);
    line->used = 0;
    ms_buffer_add(line, device, strlen(device));
    ms_buffer_char(line, ';');
    ms_buffer_add(line, type, strlen(type));
    for (size_t i = 0; i < calls->count; i++) {
        ms_buffer_char(line, ';');
        add_call(line, calls->calls[i].function);
    }
}

static int count_line(struct lines *lines, const struct ms_buffer *line, uint64_t bytes)
{
    if (lines->count == lines->room) {
        size_t room = lines->room != 0 ? lines->room * 2 : 64;
        uint64_t *grown = realloc(lines->bytes, room * sizeof(*grown));
        if (grown == NULL) {
            return -ENOMEM;
        }
        lines->bytes = grown;
        lines->room = room;
    }
    uint32_t number = line->failed ? 0 : ms_intern(&lines->stacks, line->s, line->used);
    if (number == 0) {
        return -ENOMEM;
    }
    if (number > lines->count) {
        lines->bytes[lines->count++] = 0;
    }
    lines->bytes[number - 1] += bytes;
    return 0;
}

static int write_lines(const struct lines *lines, struct ms_buffer *buffer, int fd)
{
    buffer->used = 0;
    for (size_t i = 0; i < lines->count; i++) {
        struct ms_intern_text stack = ms_intern_get(&lines->stacks, (uint32_t)i + 1);
        ms_buffer_add(buffer, stack.s, stack.length_b);
        ms_buffer_char(buffer, ' ');
        ms_buffer_u64(buffer, lines->bytes[i]);
        ms_buffer_char(buffer, '\n');
        int rc = buffer->failed ? -ENOMEM : buffer->used >= BUFFER_B ? ms_buffer_write(buffer, fd) : 0;
        if (rc != 0) {
            return rc;
        }
    }
    return ms_buffer_write(buffer, fd);
}

int ms_collapsed_write(const struct ms_sites *sites, const char *process, int fd)
{
    (void)process;
    struct lines lines = {0};
    struct ms_buffer buffer = {0};
    struct ms_calls calls = {0};
    int rc = 0;
    for (size_t i = 0; i < ms_sites_count(sites) && rc == 0; i++) {
        const struct ms_site *site = ms_sites_at(sites, i);
        uint64_t bytes = site->amount[MS_MEASURE_PEAK].bytes;
        if (bytes != 0) {
            rc = ms_sites_calls(sites, site, &calls);
            make_line(&buffer, ms_sites_account(sites, site->account), &calls);
            rc = rc != 0 ? rc : count_line(&lines, &buffer, bytes);
        }
    }
    rc = rc != 0 ? rc : write_lines(&lines, &buffer, fd);
    ms_calls_free(&calls);
    ms_buffer_free(&buffer);
    ms_intern_free(&lines.stacks);
    free(lines.bytes);
    return rc;
}
