/* SPDX-License-Identifier: Apache-2.0 */
/* Aux files: checkpoints and symbols, written next to the segments by the export thread and read when a trace is
 * opened.
 *
 * A checkpoint is in the aux file of the segment where its position begins, so deleting a segment deletes what only
 * that segment needs. Symbols apply to all segments: they are in the aux file of segment 0, which does not exist as
 * a segment. Contents: docs/format/trace.md. Symbols of a trace are loaded on the first lookup. */
#include "trace/aux.h"
#include "trace/reader_internal.h"

#include "trace/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#define SYMBOLS_SEGMENT 0

/* ---- symbols ---- */

struct symbol {
    uint32_t module; /* 0: empty slot */
    uint32_t length_b;
    uint64_t offset;
    size_t text_at; /* in `texts` */
};

struct ms_symbols {
    struct symbol *table;
    uint32_t size, count;
    struct ms_blob texts;
    bool loaded;
};

static struct symbol *find_symbol(const struct ms_symbols *s, uint32_t module, uint64_t offset)
{
    uint64_t hash = (offset ^ (uint64_t)module << 44) * 0x9e3779b97f4a7c15u;
    uint32_t at = (uint32_t)(hash >> 32) & (s->size - 1);
    while (s->table[at].module != 0 && (s->table[at].module != module || s->table[at].offset != offset)) {
        at = (at + 1) & (s->size - 1);
    }
    return &s->table[at];
}

static int grow_symbols(struct ms_symbols *s)
{
    if (s->count * 2 < s->size) {
        return 0;
    }
    struct ms_symbols bigger = *s;
    bigger.size = s->size == 0 ? 256 : s->size * 2;
    bigger.table = calloc(bigger.size, sizeof(*bigger.table));
    if (bigger.table == NULL) {
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < s->size; i++) {
        if (s->table[i].module != 0) {
            *find_symbol(&bigger, s->table[i].module, s->table[i].offset) = s->table[i];
        }
    }
    free(s->table);
    *s = bigger;
    return 0;
}

static int add_symbol(struct ms_symbols *s, uint32_t module, uint64_t offset, const char *text, size_t length_b)
{
    if (module == 0 || length_b > UINT32_MAX) {
        return -EINVAL;
    }
    if (grow_symbols(s) != 0 || ms_blob_room(&s->texts, length_b + 1) == NULL) {
        return -ENOMEM;
    }
    struct symbol *symbol = find_symbol(s, module, offset);
    s->count += symbol->module == 0;
    *symbol =
        (struct symbol){.module = module, .length_b = (uint32_t)length_b, .offset = offset, .text_at = s->texts.used_b};
    memcpy(s->texts.data + s->texts.used_b, text, length_b);
    s->texts.used_b += length_b;
    return 0;
}

static struct ms_symbols *symbols_of(struct ms_trace *t)
{
    if (t->symbols == NULL) {
        t->symbols = calloc(1, sizeof(*t->symbols));
        if (t->symbols != NULL && grow_symbols(t->symbols) != 0) {
            free(t->symbols);
            t->symbols = NULL;
        }
    }
    return t->symbols;
}

static void load_symbols(struct ms_symbols *s, struct ms_bytes content)
{
    while (content.at != content.end) {
        uint64_t module = ms_get_varint(&content), offset = ms_get_varint(&content), length_b = ms_get_varint(&content);
        const char *text = (const char *)ms_get_bytes(&content, length_b);
        if (text == NULL || module > UINT32_MAX || add_symbol(s, (uint32_t)module, offset, text, length_b) != 0) {
            return;
        }
    }
}

/* ---- walking over aux files ---- */

/* Calls fn with the content of each block of that kind in one aux file, until fn says stop. */
static void each_block(struct ms_trace *t, uint64_t number, enum ms_block_kind kind,
                       void (*fn)(struct ms_trace *t, const struct ms_block_head *head, struct ms_bytes content))
{
    struct ms_blockfile file;
    int fd = ms__files_open(t, number, ".aux");
    if (fd < 0) {
        return;
    }
    if (ms_blockfile_init(&file, fd) != 0) {
        ms_blockfile_destroy(&file);
        return;
    }
    for (;;) {
        struct ms_block_head head;
        uint64_t at, cut;
        const char *reason;
        enum ms_walk walk = ms_blockfile_next(&file, &head, &at, &cut, &reason);
        if (walk == MS_WALK_NO_MORE) {
            break;
        }
        if (walk == MS_WALK_DAMAGE || head.kind != kind) {
            continue;
        }
        uint8_t *raw = malloc(head.raw_b + MS_BLOCK_SLACK_B);
        if (raw != NULL && ms_blockfile_load(&file, &head, at, raw) == NULL) {
            fn(t, &head, (struct ms_bytes){.at = raw, .end = raw + head.raw_b});
        }
        free(raw);
    }
    ms_blockfile_destroy(&file);
}

static void meet_symbols(struct ms_trace *t, const struct ms_block_head *head, struct ms_bytes content)
{
    (void)head;
    load_symbols(t->symbols, content);
}

bool ms_trace_symbol(const struct ms_trace *trace, uint32_t module, uint64_t offset, struct ms_text *out)
{
    struct ms_trace *t = (struct ms_trace *)(uintptr_t)trace;
    struct ms_symbols *s = symbols_of(t);
    if (s == NULL || module == 0) {
        return false;
    }
    if (!s->loaded) {
        each_block(t, SYMBOLS_SEGMENT, MS_BLOCK_SYMBOLS, meet_symbols);
        s->loaded = true;
    }
    const struct symbol *symbol = find_symbol(s, module, offset);
    if (symbol->module == 0) {
        return false;
    }
    *out = (struct ms_text){.s = (const char *)s->texts.data + symbol->text_at, .length_b = symbol->length_b};
    return true;
}

int ms_trace_add_symbol(struct ms_trace *trace, uint32_t module, uint64_t offset, const char *text, size_t length_b)
{
    struct ms_symbols *s = symbols_of(trace);
    return s == NULL ? -ENOMEM : add_symbol(s, module, offset, text, length_b);
}

/* ---- checkpoints ---- */

/* Content of a checkpoint: head, payload, clocks, then definitions as in a DEFINITIONS block. It takes one CHECKPOINT
 * block or several consecutive ones: first_seq counts them, last_seq is larger if another one follows. */
#define PART_B           (16u << 20)
#define CHECKPOINT_MAX_B ((size_t)2 << 30) /* larger ones are rejected */
struct checkpoint_head {
    struct ms_position position;
    uint64_t payload_b, clocks_b;
};

/* The whole content has arrived; its definitions are loaded if this checkpoint is selected. */
static void take_content(struct ms_trace *t, struct ms_blob *content)
{
    struct checkpoint_head c;
    struct ms_bytes bytes = {.at = content->data, .end = content->data + content->used_b};
    const uint8_t *head = ms_get_bytes(&bytes, sizeof(c));
    if (head == NULL) {
        return;
    }
    memcpy(&c, head, sizeof(c));
    if (ms_get_bytes(&bytes, c.payload_b) == NULL || ms_blob_room(content, MS_BLOCK_SLACK_B) == NULL) {
        return;
    }
    memset(content->data + content->used_b, 0, MS_BLOCK_SLACK_B);
    ms_blob_free(&t->checkpoint_content);
    t->checkpoint_content = *content;
    *content = (struct ms_blob){0};
    t->checkpoint = (struct ms_checkpoint){
        .position = c.position, .payload = t->checkpoint_content.data + sizeof(c), .payload_b = (size_t)c.payload_b};
    t->have_checkpoint = true;
    t->checkpoint_clocks_b = (size_t)c.clocks_b;
}

static void meet_checkpoint(struct ms_trace *t, const struct ms_block_head *head, struct ms_bytes content)
{
    struct ms_blob *parts = &t->checkpoint_parts;
    size_t part_b = (size_t)(content.end - content.at);
    if (t->have_checkpoint && t->first_counts) {
        return;
    }
    if (head->first_seq == 0) {
        parts->used_b = 0;
        t->checkpoint_part = 0;
    }
    bool next = head->first_seq == t->checkpoint_part && part_b <= CHECKPOINT_MAX_B - parts->used_b;
    uint8_t *to = next ? ms_blob_room(parts, part_b) : NULL;
    if (to == NULL) { /* a part is missing: the others are useless */
        t->checkpoint_part = UINT64_MAX;
        return;
    }
    memcpy(to, content.at, part_b);
    parts->used_b += part_b;
    t->checkpoint_part++;
    if (head->last_seq <= head->first_seq) {
        take_content(t, parts);
        t->checkpoint_part = UINT64_MAX;
    }
}

/* A checkpoint is usable if its segment exists. */
static bool take_checkpoint(struct ms_trace *t, uint64_t number)
{
    t->have_checkpoint = false;
    t->checkpoint_part = UINT64_MAX;
    each_block(t, number, MS_BLOCK_CHECKPOINT, meet_checkpoint);
    ms_blob_free(&t->checkpoint_parts);
    int fd = t->have_checkpoint ? ms__files_open(t, t->checkpoint.position.segment, ".seg") : -ENOENT;
    t->have_checkpoint = fd >= 0;
    if (fd >= 0) {
        close(fd);
    }
    return t->have_checkpoint;
}

static int use_checkpoint(struct ms_trace *t)
{
    if (!t->have_checkpoint) {
        return -ENOENT;
    }
    const uint8_t *raw = t->checkpoint_content.data, *end = raw + t->checkpoint_content.used_b;
    const uint8_t *clocks = raw + MS_ROUND_UP(sizeof(struct checkpoint_head) + t->checkpoint.payload_b, 8);
    if (clocks > end || t->checkpoint_clocks_b > (size_t)(end - clocks) || t->checkpoint_clocks_b % 8 != 0) {
        return 0; /* truncated: go on without them */
    }
    const uint8_t *definitions = clocks + t->checkpoint_clocks_b;
    ms__clocks_load(t, (struct ms_bytes){.at = clocks, .end = definitions});
    return ms__load_definitions(t, (struct ms_bytes){.at = definitions, .end = end});
}

int ms__aux_latest_checkpoint(struct ms_trace *t)
{
    uint64_t *numbers = NULL;
    int64_t i = ms__files_list(t, ".aux", &numbers);
    t->first_counts = false;
    while (--i >= 0 && !take_checkpoint(t, numbers[i])) {
    }
    free(numbers);
    return use_checkpoint(t);
}

int ms__aux_checkpoint_from(struct ms_trace *t, uint64_t segment)
{
    uint64_t *numbers = NULL;
    int64_t count = ms__files_list(t, ".aux", &numbers);
    t->first_counts = true;
    t->have_checkpoint = false;
    for (int64_t i = 0; i < count && !t->have_checkpoint; i++) {
        if (numbers[i] >= segment) {
            take_checkpoint(t, numbers[i]);
        }
    }
    free(numbers);
    return use_checkpoint(t);
}

void ms__aux_destroy(struct ms_trace *t)
{
    ms_blob_free(&t->checkpoint_content);
    if (t->symbols != NULL) {
        free(t->symbols->table);
        ms_blob_free(&t->symbols->texts);
        free(t->symbols);
    }
}

/* ---- writing ---- */

struct ms_aux {
    struct ms_trace *trace;
    struct ms_packer *packer;
    struct ms_blob symbols;
    uint32_t symbol_count;
};

int ms_aux_open(struct ms_trace *trace, struct ms_aux **out)
{
    struct ms_aux *aux = calloc(1, sizeof(*aux));
    if (aux == NULL || (aux->packer = ms_packer_new()) == NULL) {
        free(aux);
        return -ENOMEM;
    }
    aux->trace = trace;
    *out = aux;
    return 0;
}

/* The end of an aux file, where blocks are appended. */
struct tail {
    int fd;
    off_t begin, end;
};

static int open_tail(struct ms_aux *aux, uint64_t segment, struct tail *out)
{
    char name[sizeof(((struct ms_damage *)0)->file)];
    if (!ms__file_name(name, sizeof(name), aux->trace->info.process.name, segment, ".aux")) {
        return -ENAMETOOLONG;
    }
    out->fd = openat(aux->trace->dir, name, O_WRONLY | O_CREAT | O_CLOEXEC, MS_TRACE_FILE_MODE);
    out->begin = out->fd >= 0 ? lseek(out->fd, 0, SEEK_END) : -1;
    if (out->begin < 0) {
        int rc = -errno;
        if (out->fd >= 0) {
            close(out->fd);
        }
        return rc;
    }
    out->begin = out->end = out->begin & ~(off_t)7;
    return 0;
}

static int append_block(struct ms_aux *aux, struct tail *tail, struct ms_block_head *head, const struct ms_blob *raw)
{
    uint8_t *packed = malloc(ms_block_bound(raw->used_b));
    if (packed == NULL) {
        return -ENOMEM;
    }
    size_t length_b = ms_block_pack(aux->packer, head, raw->data, raw->used_b, packed), done = 0;
    int rc = 0;
    while (rc == 0 && done < length_b) {
        ssize_t n = pwrite(tail->fd, packed + done, length_b - done, tail->end + (off_t)done);
        if (n > 0) {
            done += (size_t)n;
        } else if (n == 0 || errno != EINTR) {
            rc = n < 0 ? -errno : -EIO;
        }
    }
    tail->end += (off_t)done;
    free(packed);
    return rc;
}

/* Remains of a failed write are truncated. */
static int close_tail(struct tail *tail, int rc)
{
    if (rc != 0 && ftruncate(tail->fd, tail->begin) != 0) {
        rc = -errno;
    }
    close(tail->fd);
    return rc;
}

/* A definition and those it refers to, each once. */
static int put_definition(struct ms_trace *t, struct ms_blob *to, uint32_t id, uint64_t mark)
{
    struct ms_def *def = id != 0 ? ms_deftable_get(t->definitions, id) : NULL;
    if (def == NULL || def->segment == mark) {
        return 0;
    }
    def->segment = mark; /* before its frames: a damaged stack that refers to itself ends here */
    struct ms_parts parts;
    ms_parts(ms_record_spec(def->kind), def->flags, (void *)(uintptr_t)def->content, def->content_b, &parts);
    int rc = 0;
    for (uint32_t i = 0; i < parts.frames && rc == 0; i++) {
        const struct ms_def *in = ms_deftable_get(t->definitions, parts.frame[i].in);
        rc = in != NULL && (in->kind == MS_R_DEF_MODULE || in->kind == MS_R_DEF_CODE)
                 ? put_definition(t, to, in->id, mark)
                 : 0;
    }
    return rc != 0 ? rc : ms_catalog_put_definition(to, def);
}

/* A checkpoint being written to the file, one part at a time. */
struct checkpoint_writer {
    struct ms_aux *aux;
    struct tail tail;
    struct ms_blob part;
    uint64_t parts;
};

static int put_part(struct checkpoint_writer *w, bool last)
{
    struct ms_block_head head = {.kind = MS_BLOCK_CHECKPOINT,
                                 .stream = MS_STREAM_MANY,
                                 .first_seq = w->parts,
                                 .last_seq = last ? w->parts : w->parts + 1};
    int rc = append_block(w->aux, &w->tail, &head, &w->part);
    w->parts++;
    w->part.used_b = 0;
    return rc;
}

/* Called before more is added, so the last part is never empty. */
static int make_room(struct checkpoint_writer *w)
{
    return w->part.used_b >= PART_B ? put_part(w, false) : 0;
}

static int put_bytes(struct checkpoint_writer *w, const void *bytes, size_t length_b)
{
    const char *from = bytes;
    while (length_b > 0) {
        int rc = make_room(w);
        size_t room_b = PART_B - w->part.used_b, n = length_b < room_b ? length_b : room_b;
        uint8_t *to = rc == 0 ? ms_blob_room(&w->part, n) : NULL;
        if (to == NULL) {
            return rc != 0 ? rc : -ENOMEM;
        }
        memcpy(to, from, n);
        w->part.used_b += n;
        from += n;
        length_b -= n;
    }
    return 0;
}

int ms_aux_checkpoint(struct ms_aux *aux, const struct ms_position *position, const struct iovec *payload,
                      unsigned pieces, const uint32_t *ids, size_t count)
{
    static const char zeros[8];
    struct ms_trace *t = aux->trace;
    struct checkpoint_head c = {.position = *position};
    struct checkpoint_writer w = {.aux = aux};
    struct ms_blob clocks = {0};
    for (unsigned i = 0; i < pieces; i++) {
        c.payload_b += payload[i].iov_len;
    }
    if (c.payload_b > CHECKPOINT_MAX_B / 2) { /* the other half is for the definitions it refers to */
        return -E2BIG;
    }
    int rc = open_tail(aux, position->segment, &w.tail);
    if (rc != 0) {
        return rc;
    }
    rc = ms__clocks_save(t, position, &clocks);
    c.clocks_b = clocks.used_b;
    rc = rc != 0 ? rc : put_bytes(&w, &c, sizeof(c));
    for (unsigned i = 0; i < pieces && rc == 0; i++) {
        rc = put_bytes(&w, payload[i].iov_base, payload[i].iov_len);
    }
    size_t head_b = sizeof(c) + c.payload_b;
    rc = rc != 0 ? rc : put_bytes(&w, zeros, MS_ROUND_UP(head_b, 8) - head_b);
    rc = rc != 0 ? rc : put_bytes(&w, clocks.data, clocks.used_b);
    uint64_t mark = ++t->definition_pass;
    for (size_t i = 0; i < count && rc == 0; i++) {
        rc = make_room(&w);
        rc = rc != 0 ? rc : put_definition(t, &w.part, ids[i], mark);
    }
    rc = rc != 0 ? rc : put_part(&w, true);
    ms_blob_free(&clocks);
    ms_blob_free(&w.part);
    return close_tail(&w.tail, rc);
}

int ms_aux_symbol(struct ms_aux *aux, uint32_t module, uint64_t offset, const char *text, size_t length_b)
{
    int rc = ms_trace_add_symbol(aux->trace, module, offset, text, length_b);
    rc = rc != 0 ? rc : ms_blob_varint(&aux->symbols, module);
    rc = rc != 0 ? rc : ms_blob_varint(&aux->symbols, offset);
    rc = rc != 0 ? rc : ms_blob_bytes(&aux->symbols, text, length_b);
    aux->symbol_count++;
    return rc == 0 && aux->symbols.used_b >= MS_BLOCK_RAW_B ? ms_aux_flush(aux) : rc;
}

int ms_aux_flush(struct ms_aux *aux)
{
    if (aux->symbols.used_b == 0) {
        return 0;
    }
    struct ms_block_head head = {.kind = MS_BLOCK_SYMBOLS, .stream = MS_STREAM_MANY, .items = aux->symbol_count};
    struct tail tail;
    int rc = open_tail(aux, SYMBOLS_SEGMENT, &tail);
    rc = rc != 0 ? rc : close_tail(&tail, append_block(aux, &tail, &head, &aux->symbols));
    if (rc == 0) {
        aux->symbols.used_b = 0;
        aux->symbol_count = 0;
    }
    return rc;
}

void ms_aux_close(struct ms_aux *aux)
{
    if (aux != NULL) {
        ms_aux_flush(aux);
        ms_packer_free(aux->packer);
        ms_blob_free(&aux->symbols);
        free(aux);
    }
}
