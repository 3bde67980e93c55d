/* libmsprofiler.so: the collector.
 *
 * While it runs, records are appended as they are to a spool file without a name: host records on the thread that
 * reports them, task logs by a thread of the collector. Names, times and the join of tracks with logs are left to the
 * end, when nobody waits for them: host/api.csv         level,name,thread,start_ns,end_ns host/tx.csv
 * kind,domain,message,thread,start_ns,end_ns device_<n>/task.csv  stream,task,type,name,launch_ns,start_ns,end_ns
 *   info.json            process, devices, switches, times, counts
 * Times are nanoseconds since 1970. Host times may be ticks of the CPU's counter (MsprofSysCycleTime), so they are
 * scaled between two readings of both clocks, at start and stop.
 *
 * Threads: `lock` protects the spool; it is a leaf, and held for one buffered write. Start and stop are serialised by
 * the caller. Failure: a full or failing spool drops records and counts them. A device whose log cannot be read
 * (another tool has it) gives tasks without times. Files that cannot be written are missing in the result. */
#include "softnpu/profapi/collector.h"

#include "abi/stars.h"
#include "base/clock.h"
#include "softnpu/profapi/profapi.h"

#include "ascend_hal.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { STARS_CHANNEL = 50, READ_B = 256 * 1024, IDLE_NS = 2000000 };

struct tx_record {
    uint32_t kind, thread;
    uint64_t domain, message; /* hash ids */
    uint64_t begin, end;
};

enum spool_kind { SPOOL_API, SPOOL_TRACK, SPOOL_STARS, SPOOL_TX };

struct spool_record {
    uint32_t kind;
    uint32_t dev; /* STARS */
    union {
        struct MsprofApi api;
        struct MsprofCompactInfo track;
        struct StarsSocLog stars;
        struct tx_record tx;
    } u;
};

/* A clock seen together with the time of day. */
struct reading {
    uint64_t count, epoch_ns;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct {
    bool running; /* under the lock */
    bool tx;      /* atomic */
    FILE *spool;
    uint64_t spool_b, limit_b, records, dropped;

    char path[PATH_MAX];
    uint64_t switches;
    uint32_t devices[MSPROF_MAX_DEV_NUM], device_count;
    struct reading host_start, host_stop;
    struct reading dev_start[MSPROF_MAX_DEV_NUM];
    double dev_tick_ns[MSPROF_MAX_DEV_NUM];
    bool log_on[MSPROF_MAX_DEV_NUM];
    pthread_t reader;
    bool reader_runs, reader_stop;
} c;

/* The driver, found in the global scope as every tool does. */
static struct {
    int (*start)(unsigned int, unsigned int, struct prof_start_para *);
    int (*stop)(unsigned int, unsigned int);
    int (*read)(unsigned int, unsigned int, char *, unsigned int);
    int (*flush)(unsigned int, unsigned int, unsigned int *);
    drvError_t (*info)(uint32_t, int32_t, int32_t, int64_t *);
    bool (*in_use)(uint32_t, uint32_t); /* optional */
} drv;

static bool find_driver(void)
{
    *(void **)&drv.start = dlsym(RTLD_DEFAULT, "prof_drv_start");
    *(void **)&drv.stop = dlsym(RTLD_DEFAULT, "prof_stop");
    *(void **)&drv.read = dlsym(RTLD_DEFAULT, "prof_channel_read");
    *(void **)&drv.flush = dlsym(RTLD_DEFAULT, "halProfDataFlush");
    *(void **)&drv.info = dlsym(RTLD_DEFAULT, "halGetDeviceInfo");
    *(void **)&drv.in_use = dlsym(RTLD_DEFAULT, "snpu_hal_prof_on");
    return drv.start != NULL && drv.stop != NULL && drv.read != NULL && drv.flush != NULL && drv.info != NULL;
}

/* ---- while it runs ---- */

static void spool(const struct spool_record *record)
{
    pthread_mutex_lock(&lock);
    if (c.running) {
        bool room = c.spool_b + sizeof(*record) <= c.limit_b;
        if (room && fwrite_unlocked(record, sizeof(*record), 1, c.spool) == 1) {
            c.spool_b += sizeof(*record);
            c.records++;
        } else {
            c.dropped++;
        }
    }
    pthread_mutex_unlock(&lock);
}

static void tap_api(const struct MsprofApi *api)
{
    struct spool_record r = {.kind = SPOOL_API, .u.api = *api};
    spool(&r);
}

static void tap_compact(const struct MsprofCompactInfo *info)
{
    if (info->level == MSPROF_REPORT_RUNTIME_LEVEL && info->type == RT_PROFILE_TYPE_TASK_TRACK &&
        info->data.runtimeTrack.taskType != TS_TASK_TYPE_FLIP) {
        struct spool_record r = {.kind = SPOOL_TRACK, .u.track = *info};
        spool(&r);
    }
}

bool collector_tx_on(void)
{
    return __atomic_load_n(&c.tx, __ATOMIC_RELAXED);
}

void collector_tx(enum collector_tx kind, const char *domain, const char *message, uint64_t begin, uint64_t end)
{
    if (collector_tx_on()) {
        struct spool_record r = {.kind = SPOOL_TX,
                                 .u.tx = {.kind = kind,
                                          .thread = (uint32_t)syscall(SYS_gettid),
                                          .domain = MsprofStr2Id(domain, strlen(domain)),
                                          .message = MsprofStr2Id(message, strlen(message)),
                                          .begin = begin,
                                          .end = end}};
        spool(&r);
    }
}

/* Everything that is in the logs now. True if there was anything. */
static bool read_logs(char *buf)
{
    bool any = false;
    for (uint32_t i = 0; i < c.device_count; i++) {
        int n = c.log_on[i] ? drv.read(c.devices[i], STARS_CHANNEL, buf, READ_B) : 0;
        for (int off = 0; off + (int)sizeof(struct StarsSocLog) <= n; off += (int)sizeof(struct StarsSocLog)) {
            struct spool_record r = {.kind = SPOOL_STARS, .dev = c.devices[i]};
            memcpy(&r.u.stars, buf + off, sizeof(r.u.stars));
            spool(&r);
        }
        any |= n > 0;
    }
    return any;
}

static void *reader_main(void *arg)
{
    char *buf = arg;
    for (;;) {
        bool last = __atomic_load_n(&c.reader_stop, __ATOMIC_ACQUIRE);
        bool any = read_logs(buf);
        if (!any && last) {
            break;
        }
        if (!any) {
            nanosleep(&(struct timespec){.tv_nsec = IDLE_NS}, NULL);
        }
    }
    free(buf);
    return NULL;
}

static struct reading read_host(void)
{
    return (struct reading){.count = MsprofSysCycleTime(), .epoch_ns = ms_clock_ns(CLOCK_REALTIME)};
}

static void start_logs(void)
{
    enum { SYSTEM = 0, SYS_COUNT = 13, DEV_OSC_FREQUE = 25 };
    struct StarsSocLogConfig config = {.acsq_task = 1, .ffts_thread_task = 1};
    struct prof_start_para para = {
        .sample_period = 20, .real_time = 1, .user_data = &config, .user_data_size = sizeof(config)};
    bool any = false;
    memset(c.log_on, 0, sizeof(c.log_on));
    if (!find_driver()) {
        return;
    }
    for (uint32_t i = 0; i < c.device_count; i++) {
        int64_t count, khz;
        if (drv.in_use != NULL && drv.in_use(c.devices[i], STARS_CHANNEL)) {
            continue; /* a tool reads it: two readers would share out the entries, and our stop would end its log */
        }
        if (drv.info(c.devices[i], SYSTEM, SYS_COUNT, &count) == 0 &&
            drv.info(c.devices[i], SYSTEM, DEV_OSC_FREQUE, &khz) == 0 && khz > 0 &&
            drv.start(c.devices[i], STARS_CHANNEL, &para) == 0) {
            c.dev_start[i] = (struct reading){(uint64_t)count, ms_clock_ns(CLOCK_REALTIME)};
            c.dev_tick_ns[i] = 1e6 / (double)khz;
            any = c.log_on[i] = true;
        }
    }
    char *buf = any ? malloc(READ_B) : NULL;
    c.reader_stop = false;
    c.reader_runs = buf != NULL && pthread_create(&c.reader, NULL, reader_main, buf) == 0;
    if (buf != NULL && !c.reader_runs) {
        free(buf);
    }
}

static void stop_logs(void)
{
    unsigned int len;
    for (uint32_t i = 0; i < c.device_count; i++) {
        if (c.log_on[i]) {
            drv.flush(c.devices[i], STARS_CHANNEL, &len);
        }
    }
    if (c.reader_runs) {
        __atomic_store_n(&c.reader_stop, true, __ATOMIC_RELEASE);
        pthread_join(c.reader, NULL);
    }
    for (uint32_t i = 0; i < c.device_count; i++) {
        if (c.log_on[i]) {
            drv.stop(c.devices[i], STARS_CHANNEL);
        }
    }
}

/* ---- start ---- */

static int make_folder(const char *root)
{
    static unsigned int number;
    struct timespec now;
    struct tm tm;
    char stamp[32], letters[17];
    unsigned char random[16];
    clock_gettime(CLOCK_REALTIME, &now);
    localtime_r(&now.tv_sec, &tm);
    strftime(stamp, sizeof(stamp), "%Y%m%d%H%M%S", &tm);
    if (getrandom(random, sizeof(random), 0) != sizeof(random)) {
        memset(random, getpid() & 0xff, sizeof(random));
    }
    for (int i = 0; i < 16; i++) {
        letters[i] = (char)('A' + random[i] % 26);
    }
    letters[16] = '\0';
    int n = snprintf(c.path, sizeof(c.path), "%s/PROF_%06u_%s%03ld_%s", root, ++number, stamp, now.tv_nsec / 1000000,
                     letters);
    if (n < 0 || (size_t)n >= sizeof(c.path) - 64) {
        return -ENAMETOOLONG;
    }
    return mkdir(c.path, 0750) == 0 ? 0 : -errno;
}

static FILE *open_spool(void)
{
    char name[PATH_MAX + 16];
    snprintf(name, sizeof(name), "%s/.spool", c.path);
    FILE *f = fopen(name, "w+e");
    if (f != NULL) {
        unlink(name);
        setvbuf(f, NULL, _IOFBF, 1 << 20);
    }
    return f;
}

int collector_start(const struct collector_config *config, char *path, size_t path_b)
{
    static const struct snpu_prof_tap tap = {tap_api, tap_compact};
    int rc = make_folder(config->folder);
    if (rc != 0) {
        return rc;
    }
    c.spool = open_spool();
    if (c.spool == NULL) {
        rc = -errno;
        rmdir(c.path);
        return rc;
    }
    c.spool_b = c.records = c.dropped = 0;
    c.limit_b = config->limit_b;
    c.switches = config->switches;
    c.device_count = config->device_count;
    memcpy(c.devices, config->devices, config->device_count * sizeof(c.devices[0]));
    snprintf(path, path_b, "%s", c.path);
    pthread_mutex_lock(&lock);
    c.running = true;
    pthread_mutex_unlock(&lock);
    if ((c.switches & (PROF_TASK_TIME | PROF_TASK_TIME_L1 | PROF_RUNTIME_TRACE)) != 0) {
        start_logs();
    } else {
        memset(c.log_on, 0, sizeof(c.log_on));
        c.reader_runs = false;
    }
    c.host_start = read_host();
    snpu_profapi_tap(&tap);
    __atomic_store_n(&c.tx, (c.switches & PROF_MSPROFTX) != 0, __ATOMIC_RELAXED);
    return 0;
}

/* ---- the result ---- */

static FILE *create(const char *folder, const char *file)
{
    char name[PATH_MAX + 64];
    snprintf(name, sizeof(name), "%s/%s", c.path, folder);
    mkdir(name, 0750);
    snprintf(name, sizeof(name), "%s/%s/%s", c.path, folder, file);
    return fopen(name, "we");
}

static uint64_t host_epoch(uint64_t count)
{
    const struct reading *a = &c.host_start, *b = &c.host_stop;
    double ticks = (double)(b->count - a->count), ns = (double)(b->epoch_ns - a->epoch_ns);
    double since = (double)((int64_t)(count - a->count));
    return a->epoch_ns + (uint64_t)(int64_t)(ticks > 0 ? since * ns / ticks : since);
}

static uint64_t device_epoch(uint32_t i, uint64_t count)
{
    double since = (double)((int64_t)(count - c.dev_start[i].count));
    return c.dev_start[i].epoch_ns + (uint64_t)(int64_t)(since * c.dev_tick_ns[i]);
}

/* A field of a CSV line, in quotes if it needs them. */
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

static void put_api(FILE *f, const struct MsprofApi *api)
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
    fprintf(f, ",%u,%" PRIu64 ",%" PRIu64 "\n", api->threadId, host_epoch(api->beginTime), host_epoch(api->endTime));
}

static void put_tx(FILE *f, const struct tx_record *tx)
{
    static const char *const kinds[] = {"mark", "range", "push_pop"};
    fprintf(f, "%s,", kinds[tx->kind]);
    put_text(f, text_of(tx->domain));
    putc(',', f);
    put_text(f, text_of(tx->message));
    fprintf(f, ",%u,%" PRIu64 ",", tx->thread, host_epoch(tx->begin));
    if (tx->end != 0) {
        fprintf(f, "%" PRIu64, host_epoch(tx->end));
    }
    putc('\n', f);
}

/* Tracks of one device in the order of their launch. A stream works in order, so the begin of a task is searched among
 * the tracks of its stream after the one found last; ids are 16 bits and repeat. A task of a model that is executed
 * many times has one track and shows its first execution. */
struct tasks {
    struct task {
        struct MsprofRuntimeTrack track;
        uint64_t launch, start, end;
        uint32_t next; /* of the same stream; 0: none */
    } * items;
    uint32_t count, room;
    uint32_t first[1 << 16], last[1 << 16]; /* by stream; index + 1, 0: none */
};

static void add_track(struct tasks *t, const struct MsprofCompactInfo *info)
{
    if (t->count == t->room) {
        uint32_t room = t->room != 0 ? t->room * 2 : 1024;
        struct task *items = room > t->room ? realloc(t->items, room * sizeof(*items)) : NULL;
        if (items == NULL) {
            return;
        }
        t->items = items;
        t->room = room;
    }
    struct task *task = &t->items[t->count++];
    *task = (struct task){.track = info->data.runtimeTrack, .launch = info->timeStamp};
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
        struct task *task = &t->items[i - 1];
        if ((uint16_t)task->track.taskId != log->taskId) {
            continue;
        }
        if (log->funcType == STARS_FUNC_TASK_BEGIN && task->start == 0) {
            task->start = log->timestamp;
        } else if (log->funcType == STARS_FUNC_TASK_END && task->start != 0) {
            task->end = log->timestamp;
            *at = task->next; /* nothing before it can come any more */
        }
        return;
    }
}

static void put_tasks(FILE *f, const struct tasks *t, uint32_t dev_index)
{
    fputs("stream,task,type,name,launch_ns,start_ns,end_ns\n", f);
    for (uint32_t i = 0; i < t->count; i++) {
        const struct task *task = &t->items[i];
        const char *type = snpu_profapi_type_name(MSPROF_REPORT_RUNTIME_LEVEL, (uint32_t)task->track.taskType);
        fprintf(f, "%u,%u,%s,", task->track.streamId, task->track.taskId, type != NULL ? type : "unknown");
        put_text(f, text_of(task->track.kernelName));
        fprintf(f, ",%" PRIu64 ",", host_epoch(task->launch));
        if (task->start != 0) {
            fprintf(f, "%" PRIu64, device_epoch(dev_index, task->start));
        }
        putc(',', f);
        if (task->end != 0) {
            fprintf(f, "%" PRIu64, device_epoch(dev_index, task->end));
        }
        putc('\n', f);
    }
}

static bool next_record(struct spool_record *r)
{
    return fread_unlocked(r, sizeof(*r), 1, c.spool) == 1;
}

static void write_host(void)
{
    struct spool_record r;
    FILE *api = create("host", "api.csv"), *tx = create("host", "tx.csv");
    if (api != NULL) {
        fputs("level,name,thread,start_ns,end_ns\n", api);
    }
    if (tx != NULL) {
        fputs("kind,domain,message,thread,start_ns,end_ns\n", tx);
    }
    rewind(c.spool);
    while (next_record(&r)) {
        if (r.kind == SPOOL_API && api != NULL) {
            put_api(api, &r.u.api);
        } else if (r.kind == SPOOL_TX && tx != NULL) {
            put_tx(tx, &r.u.tx);
        }
    }
    if (api != NULL) {
        fclose(api);
    }
    if (tx != NULL) {
        fclose(tx);
    }
}

static void write_device(uint32_t dev_index)
{
    struct spool_record r;
    uint32_t dev = c.devices[dev_index];
    struct tasks *t = calloc(1, sizeof(*t));
    if (t == NULL) {
        return;
    }
    rewind(c.spool);
    while (next_record(&r)) {
        if (r.kind == SPOOL_TRACK && r.u.track.data.runtimeTrack.deviceId == dev) {
            add_track(t, &r.u.track);
        } else if (r.kind == SPOOL_STARS && r.dev == dev) {
            add_log(t, &r.u.stars);
        }
    }
    char folder[32];
    snprintf(folder, sizeof(folder), "device_%u", dev);
    FILE *f = t->count != 0 ? create(folder, "task.csv") : NULL;
    if (f != NULL) {
        put_tasks(f, t, dev_index);
        fclose(f);
    }
    free(t->items);
    free(t);
}

static void write_info(void)
{
    FILE *f = create(".", "info.json");
    if (f == NULL) {
        return;
    }
    fprintf(f, "{\n  \"pid\": %d,\n  \"switches\": \"0x%" PRIx64 "\",\n  \"devices\": [", (int)getpid(), c.switches);
    for (uint32_t i = 0; i < c.device_count; i++) {
        fprintf(f, "%s{\"id\": %u, \"task_log\": %s}", i != 0 ? ", " : "", c.devices[i],
                c.log_on[i] ? "true" : "false");
    }
    fprintf(f, "],\n  \"start_ns\": %" PRIu64 ",\n  \"stop_ns\": %" PRIu64 ",\n", c.host_start.epoch_ns,
            c.host_stop.epoch_ns);
    fprintf(f, "  \"records\": %" PRIu64 ",\n  \"dropped\": %" PRIu64 "\n}\n", c.records, c.dropped);
    fclose(f);
}

void collector_stop(void)
{
    pthread_mutex_lock(&lock);
    bool running = c.running;
    pthread_mutex_unlock(&lock);
    if (!running) {
        return;
    }
    __atomic_store_n(&c.tx, false, __ATOMIC_RELAXED);
    snpu_profapi_tap(NULL);
    stop_logs();
    pthread_mutex_lock(&lock);
    c.running = false; /* a report that was under way finds this */
    pthread_mutex_unlock(&lock);
    c.host_stop = read_host();
    write_host();
    for (uint32_t i = 0; i < c.device_count; i++) {
        write_device(i);
    }
    write_info();
    fclose(c.spool);
    c.spool = NULL;
}
