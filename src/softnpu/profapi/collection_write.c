/* SPDX-License-Identifier: Apache-2.0 */
/* libmsprofiler.so: the result of a collection.
 *   host/api.csv         level,name,thread,start_ns,end_ns
 *   host/tx.csv          kind,domain,message,thread,start_ns,end_ns
 *   device_<n>/task.csv  stream,task,type,name,launch_ns,start_ns,end_ns
 *   info.json            process, devices, switches, times, counts
 * Times are nanoseconds since 1970. Host times may be ticks of the CPU's counter (MsprofSysCycleTime), so they are
 * interpolated between two readings of both clocks, at start and stop; device times use the frequency that the
 * driver reports.
 *
 * Threads: one, after the collection has ended. Memory: 80 bytes per task, one device at a time.
 * Failure: files that cannot be written are missing in the result. */
#include "softnpu/profapi/collection_internal.h"

#include "softnpu/profapi/profapi.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static FILE *create(const struct collection *c, const char *folder, const char *file)
{
    char name[PATH_MAX + 64];
    snprintf(name, sizeof(name), "%s/%s", c->path, folder);
    mkdir(name, 0750);
    snprintf(name, sizeof(name), "%s/%s/%s", c->path, folder, file);
    return fopen(name, "we");
}

static uint64_t host_epoch(const struct collection *c, uint64_t count)
{
    const struct clock_reading *a = &c->host_start, *b = &c->host_stop;
    double ticks = (double)(b->count - a->count), ns = (double)(b->epoch_ns - a->epoch_ns);
    double since = (double)((int64_t)(count - a->count));
    return a->epoch_ns + (uint64_t)(int64_t)(ticks > 0 ? since * ns / ticks : since);
}

static uint64_t device_epoch(const struct collection *c, uint32_t i, uint64_t count)
{
    double since = (double)((int64_t)(count - c->dev_start[i].count));
    return c->dev_start[i].epoch_ns + (uint64_t)(int64_t)(since * c->dev_tick_ns[i]);
}

/* A CSV field, quoted if necessary. */
static void put_text(FILE *f, const char *text)
{
    if (strpbrk(text, ",\"\r\n") == NULL) {
        fputs(text, f);
        return;
    }
    putc('"', f);
    for (; *text != '\0'; text++) {
        if (*text == '"') {
            putc('"', f);
        }
        putc(*text, f);
    }
    putc('"', f);
}

static const char *text_of(uint64_t id)
{
    const char *text = id != 0 ? MsprofId2Str(id) : "";
    return text != NULL ? text : "unknown";
}

static void put_api(const struct collection *c, FILE *f, const struct MsprofApi *api)
{
    static const struct {
        uint16_t level;
        const char *name;
    } levels[] = {{MSPROF_REPORT_ACL_LEVEL, "acl"},
                  {MSPROF_REPORT_MODEL_LEVEL, "model"},
                  {MSPROF_REPORT_NODE_LEVEL, "node"},
                  {MSPROF_REPORT_HCCL_NODE_LEVEL, "hccl"},
                  {MSPROF_REPORT_RUNTIME_LEVEL, "runtime"}};
    const char *level = "other";
    for (size_t i = 0; i < MS_COUNT_OF(levels); i++) {
        level = levels[i].level == api->level ? levels[i].name : level;
    }
    /* Operators and collectives are named by the item, calls by their type. */
    const char *name = api->itemId != 0 ? text_of(api->itemId) : snpu_profapi_type_name(api->level, api->type);
    fprintf(f, "%s,", level);
    put_text(f, name != NULL ? name : "unknown");
    fprintf(f, ",%u,%" PRIu64 ",%" PRIu64 "\n", api->threadId, host_epoch(c, api->beginTime),
            host_epoch(c, api->endTime));
}

static void put_tx(const struct collection *c, FILE *f, const struct tx_record *tx)
{
    static const char *const kinds[] = {"mark", "range", "push_pop"};
    fprintf(f, "%s,", kinds[tx->kind]);
    put_text(f, text_of(tx->domain));
    putc(',', f);
    put_text(f, text_of(tx->message));
    fprintf(f, ",%u,%" PRIu64 ",", tx->thread, host_epoch(c, tx->begin));
    if (tx->end != 0) {
        fprintf(f, "%" PRIu64, host_epoch(c, tx->end));
    }
    putc('\n', f);
}

/* A device's tracks in launch order. A stream executes in order, so the begin of a task is searched among the tracks
 * of its stream after the last one found; ids have 16 bits and repeat. A task of a model that is executed several
 * times has one track and shows its first execution. */
struct tasks {
    struct task_track {
        struct MsprofRuntimeTrack track;
        uint64_t launch, start, end;
        uint32_t next; /* next of the same stream; 0: none */
    } * items;
    uint32_t count, capacity;
    uint32_t first[1 << 16], last[1 << 16]; /* by stream; index + 1, 0: none */
};

static void add_track(struct tasks *t, const struct MsprofCompactInfo *info)
{
    if (t->count == t->capacity) {
        uint32_t capacity = t->capacity != 0 ? t->capacity * 2 : 1024;
        struct task_track *items = capacity > t->capacity ? realloc(t->items, capacity * sizeof(*items)) : NULL;
        if (items == NULL) {
            return;
        }
        t->items = items;
        t->capacity = capacity;
    }
    struct task_track *task = &t->items[t->count++];
    *task = (struct task_track){.track = info->data.runtimeTrack, .launch = info->timeStamp};
    uint16_t stream = task->track.streamId;
    if (t->last[stream] != 0) {
        t->items[t->last[stream] - 1].next = t->count;
    }
    t->last[stream] = t->count;
    t->first[stream] = t->first[stream] != 0 ? t->first[stream] : t->count;
}

static void add_log(struct tasks *t, const struct StarsSocLog *log)
{
    uint32_t *at = &t->first[log->streamId];
    for (uint32_t i = *at; i != 0; i = t->items[i - 1].next) {
        struct task_track *task = &t->items[i - 1];
        if ((uint16_t)task->track.taskId != log->taskId) {
            continue;
        }
        if (log->funcType == STARS_FUNC_TASK_BEGIN && task->start == 0) {
            task->start = log->timestamp;
        } else if (log->funcType == STARS_FUNC_TASK_END && task->start != 0) {
            task->end = log->timestamp;
            *at = task->next; /* earlier tracks can no longer match */
        }
        return;
    }
}

static void put_tasks(const struct collection *c, FILE *f, const struct tasks *t, uint32_t dev_index)
{
    fputs("stream,task,type,name,launch_ns,start_ns,end_ns\n", f);
    for (uint32_t i = 0; i < t->count; i++) {
        const struct task_track *task = &t->items[i];
        const char *type = snpu_profapi_type_name(MSPROF_REPORT_RUNTIME_LEVEL, (uint32_t)task->track.taskType);
        fprintf(f, "%u,%u,%s,", task->track.streamId, task->track.taskId, type != NULL ? type : "unknown");
        put_text(f, text_of(task->track.kernelName));
        fprintf(f, ",%" PRIu64 ",", host_epoch(c, task->launch));
        if (task->start != 0) {
            fprintf(f, "%" PRIu64, device_epoch(c, dev_index, task->start));
        }
        putc(',', f);
        if (task->end != 0) {
            fprintf(f, "%" PRIu64, device_epoch(c, dev_index, task->end));
        }
        putc('\n', f);
    }
}

static bool next_record(const struct collection *c, struct spool_record *r)
{
    return fread_unlocked(r, sizeof(*r), 1, c->spool) == 1;
}

static void write_host(const struct collection *c)
{
    struct spool_record r;
    FILE *api = create(c, "host", "api.csv"), *tx = create(c, "host", "tx.csv");
    if (api != NULL) {
        fputs("level,name,thread,start_ns,end_ns\n", api);
    }
    if (tx != NULL) {
        fputs("kind,domain,message,thread,start_ns,end_ns\n", tx);
    }
    rewind(c->spool);
    while (next_record(c, &r)) {
        if (r.kind == SNPU_SPOOL_API && api != NULL) {
            put_api(c, api, &r.u.api);
        } else if (r.kind == SNPU_SPOOL_TX && tx != NULL) {
            put_tx(c, tx, &r.u.tx);
        }
    }
    if (api != NULL) {
        fclose(api);
    }
    if (tx != NULL) {
        fclose(tx);
    }
}

static void write_device(const struct collection *c, uint32_t dev_index)
{
    struct spool_record r;
    uint32_t dev = c->devices[dev_index];
    struct tasks *t = calloc(1, sizeof(*t));
    if (t == NULL) {
        return;
    }
    rewind(c->spool);
    while (next_record(c, &r)) {
        if (r.kind == SNPU_SPOOL_TRACK && r.u.track.data.runtimeTrack.deviceId == dev) {
            add_track(t, &r.u.track);
        } else if (r.kind == SNPU_SPOOL_STARS && r.dev == dev) {
            add_log(t, &r.u.stars);
        }
    }
    char folder[32];
    snprintf(folder, sizeof(folder), "device_%u", dev);
    FILE *f = t->count != 0 ? create(c, folder, "task.csv") : NULL;
    if (f != NULL) {
        put_tasks(c, f, t, dev_index);
        fclose(f);
    }
    free(t->items);
    free(t);
}

static void write_info(const struct collection *c)
{
    FILE *f = create(c, ".", "info.json");
    if (f == NULL) {
        return;
    }
    fprintf(f, "{\n  \"pid\": %d,\n  \"switches\": \"0x%" PRIx64 "\",\n  \"devices\": [", (int)getpid(), c->switches);
    for (uint32_t i = 0; i < c->device_count; i++) {
        fprintf(f, "%s{\"id\": %u, \"task_log\": %s}", i != 0 ? ", " : "", c->devices[i],
                c->log_on[i] ? "true" : "false");
    }
    fprintf(f, "],\n  \"start_ns\": %" PRIu64 ",\n  \"stop_ns\": %" PRIu64 ",\n", c->host_start.epoch_ns,
            c->host_stop.epoch_ns);
    fprintf(f, "  \"records\": %" PRIu64 ",\n  \"dropped\": %" PRIu64 "\n}\n", c->records, c->dropped);
    fclose(f);
}

void snpu_collection_write(const struct collection *c)
{
    write_host(c);
    for (uint32_t i = 0; i < c->device_count; i++) {
        write_device(c, i);
    }
    write_info(c);
}
