/* SPDX-License-Identifier: Apache-2.0 */
/* Identity of a process as the content of a PROCESS block, and the names of the files that hold its trace. Pure
 * functions. */
#include "trace/writer_internal.h"

#include <stdio.h>
#include <stdlib.h>

/* One entry per number, in file order, used for both saving and loading. */
#define NUMBERS(X)                                                                                                     \
    X(segment)                                                                                                         \
    X(process.pid)                                                                                                     \
    X(process.ppid)                                                                                                    \
    X(process.uid)                                                                                                     \
    X(process.exec_count)                                                                                              \
    X(process.pid_namespace)                                                                                           \
    X(process.start_time)                                                                                              \
    X(process.start_ns)                                                                                                \
    X(process.clock_kind)                                                                                              \
    X(anchor.ticks)                                                                                                    \
    X(anchor.monotonic_ns)                                                                                             \
    X(anchor.realtime_ns)                                                                                              \
    X(anchor.clock_kind)                                                                                               \
    X(anchor.uncertainty)

#define TEXTS(X)                                                                                                       \
    X(process.name)                                                                                                    \
    X(process.boot_id)                                                                                                 \
    X(process.host)                                                                                                    \
    X(process.exe)                                                                                                     \
    X(process.command)

int ms__segment_info_save(const struct ms_segment_info *info, struct ms_blob *to)
{
    int rc = 0;
#define X(field) rc = rc != 0 ? rc : ms_blob_varint(to, info->field);
    NUMBERS(X)
#undef X
    rc = rc != 0 ? rc : ms_blob_varint(to, ms_fold((uint64_t)info->process.offset_ns));
#define X(field) rc = rc != 0 ? rc : ms_blob_bytes(to, info->field, strnlen(info->field, sizeof(info->field)));
    TEXTS(X)
#undef X
    const struct ms_process *process = &info->process;
    return rc != 0 ? rc : ms_blob_bytes(to, process->settings, strnlen(process->settings, sizeof(process->settings)));
}

static void get_text(struct ms_bytes *from, char *to, size_t size_b)
{
    uint64_t length_b = ms_get_varint(from);
    const uint8_t *text = ms_get_bytes(from, length_b);
    size_t keep_b = length_b < size_b ? length_b : size_b - 1;
    if (text != NULL && keep_b != 0) {
        memcpy(to, text, keep_b);
    }
    to[text != NULL ? keep_b : 0] = 0;
}

bool ms__segment_info_load(struct ms_segment_info *info, struct ms_bytes from)
{
    *info = (struct ms_segment_info){0};
#define X(field) info->field = (__typeof__(info->field))ms_get_varint(&from);
    NUMBERS(X)
#undef X
    info->process.offset_ns = (int64_t)ms_unfold(ms_get_varint(&from));
#define X(field) get_text(&from, info->field, sizeof(info->field));
    TEXTS(X)
#undef X
    if (ms_bytes_ok(&from) && from.at != from.end) { /* missing in traces of the first releases */
        get_text(&from, info->process.settings, sizeof(info->process.settings));
    }
    return ms_bytes_ok(&from);
}

bool ms__name_valid(const char *name)
{
    size_t length = strnlen(name, sizeof(((struct ms_process *)0)->name));
    return length != 0 && length < sizeof(((struct ms_process *)0)->name) && name[0] != '.' &&
           strchr(name, '/') == NULL;
}

bool ms__file_name(char *to, size_t size_b, const char *name, uint64_t segment, const char *suffix)
{
    int n = snprintf(to, size_b, "%s.%06llu%s", name, (unsigned long long)segment, suffix);
    return n > 0 && (size_t)n < size_b;
}

uint64_t ms__file_parse(const char *file, const char *suffix, size_t *name_length)
{
    size_t length = strlen(file), suffix_b = strlen(suffix);
    if (length <= suffix_b || strcmp(file + length - suffix_b, suffix) != 0) {
        return 0;
    }
    size_t digits_end = length - suffix_b, at = digits_end;
    uint64_t number = 0, scale = 1;
    while (at > 0 && file[at - 1] >= '0' && file[at - 1] <= '9' && digits_end - at < 18) {
        number += scale * (uint64_t)(file[--at] - '0');
        scale *= 10;
    }
    if (digits_end - at < 6 || at < 2 || file[at - 1] != '.' || at - 1 >= sizeof(((struct ms_process *)0)->name)) {
        return 0;
    }
    *name_length = at - 1;
    return number;
}
