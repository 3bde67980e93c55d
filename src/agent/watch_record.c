/* SPDX-License-Identifier: Apache-2.0 */
/* The content of a watched tensor at a point goes into the stream as a record, and its full content into a file that
 * the collector opens. Called under the lock of watch.c. Failure policy: an unreadable tensor is recorded as such, and
 * the log says once that the file is missing. */
#include "agent/watch_internal.h"

#include "agent/agent.h"
#include "trace/definitions.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FILE_NAME_B 250u

/* ---- records ---- */

void ms__watch_record(struct ms_watched *w, uint32_t device, const struct ms_watch_text *point, uint32_t flags,
                      uint64_t hash)
{
    struct ms_texts texts = {0};
    struct ms_slot slot;
    ms_texts_add(&texts, point->bytes, point->length_b, false);
    ms_texts_add(&texts, w->name, w->name_b, true);
    struct ms_p_watch *p = ms_rec_begin(&slot, sizeof(*p) + ms_texts_tail_b(&texts), MS_ORDER_PLAIN);
    if (p != NULL) {
        *p = (struct ms_p_watch){.addr = w->addr,
                                 .size_b = w->size_b,
                                 .hash = hash,
                                 .index = w->index,
                                 .flags = flags | (w->fresh ? MS_WATCH_FIRST : 0u),
                                 .point = texts.ref[0],
                                 .name = texts.ref[1]};
        ms_texts_put(&texts, p + 1);
        ms_rec_commit(&slot, MS_R_WATCH, texts.flags, device, ms_rec_stamp(&slot));
    }
    w->fresh = false;
    w->left -= w->left > 0;
}

int ms__watch_open_file(const struct ms_watched *w, uint32_t device, const struct ms_watch_text *point, bool after)
{
    static uint32_t logged;
    struct ms_watch_text name = {.length_b = 0};
    ms__put(&name, point->bytes, point->length_b);
    ms__put(&name, "-", 1);
    ms__put(&name, w->name, w->name_b);
    for (size_t i = 0; i < name.length_b; i++) {
        name.bytes[i] = name.bytes[i] == '/' || name.bytes[i] == '\0' ? '.' : name.bytes[i];
    }
    struct ms_watch_text ending = {.length_b = 0};
    ms__put(&ending, "_", 1);
    ms__put_number(&ending, w->index);
    ms__put(&ending, after ? "_after.bin" : "_before.bin", after ? 10 : 11);
    if (name.length_b + ending.length_b > FILE_NAME_B) {
        name.length_b = FILE_NAME_B - ending.length_b;
    }
    ms__put(&name, ending.bytes, ending.length_b);
    name.bytes[name.length_b] = '\0'; /* FILE_NAME_B is less than its capacity */
    int fd = ms_session_request_file(ms_agent_session(), device, name.bytes);
    if (fd < 0) {
        ms__watch_log_once(
            &logged, "--watch: the collector cannot open a file for a tensor's content; only its hash is recorded");
    }
    return fd;
}

static void dump_one(struct ms_watched *w, uint32_t device, const struct ms_watch_text *point, uint32_t flags)
{
    bool after = (flags & MS_WATCH_AFTER) != 0;
    int file = ms__watch_config.full ? ms__watch_open_file(w, device, point, after) : -1;
    uint64_t hash = 0;
    flags |= file >= 0 ? MS_WATCH_FULL : 0u;
    if (!ms_watch_read(w->addr, w->size_b, file, NULL, &hash)) {
        flags |= MS_WATCH_UNREADABLE;
        hash = 0;
    }
    if (file >= 0) {
        syscall(SYS_close, file);
    }
    ms__watch_record(w, device, point, flags, hash);
}

void ms__watch_dump(const struct ms_watch_text *point, uint32_t count, uint32_t flags, const struct ms_watch_op *op,
                    void *stream)
{
    if (!ms__watch_any()) {
        return;
    }
    uint32_t device = ms__watch_device();
    struct ms_watch_text tag = *point;
    ms__put(&tag, "_", 1);
    ms__put_number(&tag, count);
    flags |= ms__watch_others(ms__watch_tid());
    ms_watch_synchronize(stream);
    for (uint32_t i = 0; i < MS_WATCHED_MAX; i++) {
        if (ms__watch_is_live(&ms__watched[i])) {
            bool written = op != NULL && (op->written[i / 64] >> (i % 64) & 1) != 0;
            dump_one(&ms__watched[i], device, &tag, flags | (written ? MS_WATCH_WRITTEN : 0u));
        }
    }
}
