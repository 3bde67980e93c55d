/* SPDX-License-Identifier: Apache-2.0 */
/* libmsprofiler.so: collecting.
 *
 * While it runs, records are appended unchanged to an unnamed spool file: host records by the thread that reports
 * them, task logs by a thread of this file. Names, times and the join of tracks with logs are left to
 * collection_write.c, which runs after the collection.
 *
 * Threads: `lock` protects the spool; it is a leaf, held for one buffered write. The caller serialises start and
 * stop.
 *
 * Failure: if the spool is full or fails, records are dropped and counted. If a device's log cannot be read (another
 * tool reads it), its tasks have no times. */
#include "softnpu/profapi/collection_internal.h"

#include "base/clock.h"
#include "softnpu/profapi/profapi.h"

#include "ascend_hal.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { STARS_CHANNEL = 50, READ_B = 256 * 1024, IDLE_NS = 2000000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct collection c;

static struct {
    bool running; /* under the lock, like the spool and its counters */
    uint64_t spool_b, limit_b;
    bool tx; /* atomic */
    pthread_t reader;
    bool reader_runs, reader_stop;
} run;

/* The driver, found in the global scope as other tools do. */
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

/* ---- collecting ---- */

static void spool(const struct spool_record *record)
{
    pthread_mutex_lock(&lock);
    if (run.running) {
        bool fits = run.spool_b + sizeof(*record) <= run.limit_b;
        if (fits && fwrite_unlocked(record, sizeof(*record), 1, c.spool) == 1) {
            run.spool_b += sizeof(*record);
            c.records++;
        } else {
            c.dropped++;
        }
    }
    pthread_mutex_unlock(&lock);
}

static void tap_api(const struct MsprofApi *api)
{
    struct spool_record r = {.kind = SNPU_SPOOL_API, .u.api = *api};
    spool(&r);
}

static void tap_compact(const struct MsprofCompactInfo *info)
{
    if (info->level == MSPROF_REPORT_RUNTIME_LEVEL && info->type == RT_PROFILE_TYPE_TASK_TRACK &&
        info->data.runtimeTrack.taskType != TS_TASK_TYPE_FLIP) {
        struct spool_record r = {.kind = SNPU_SPOOL_TRACK, .u.track = *info};
        spool(&r);
    }
}

bool snpu_collection_tx_on(void)
{
    return __atomic_load_n(&run.tx, __ATOMIC_RELAXED);
}

void snpu_collection_tx(enum snpu_tx_kind kind, const char *domain, const char *message, uint64_t begin, uint64_t end)
{
    if (snpu_collection_tx_on()) {
        struct spool_record r = {.kind = SNPU_SPOOL_TX,
                                 .u.tx = {.kind = kind,
                                          .thread = (uint32_t)syscall(SYS_gettid),
                                          .domain = MsprofStr2Id(domain, strlen(domain)),
                                          .message = MsprofStr2Id(message, strlen(message)),
                                          .begin = begin,
                                          .end = end}};
        spool(&r);
    }
}

/* Reads everything that is in the logs now. True if there was anything. */
static bool read_logs(char *buf)
{
    bool any = false;
    for (uint32_t i = 0; i < c.device_count; i++) {
        int n = c.log_on[i] ? drv.read(c.devices[i], STARS_CHANNEL, buf, READ_B) : 0;
        for (int off = 0; off + (int)sizeof(struct StarsSocLog) <= n; off += (int)sizeof(struct StarsSocLog)) {
            struct spool_record r = {.kind = SNPU_SPOOL_STARS, .dev = c.devices[i]};
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
        bool last = __atomic_load_n(&run.reader_stop, __ATOMIC_ACQUIRE);
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

static struct clock_reading read_host(void)
{
    return (struct clock_reading){.count = MsprofSysCycleTime(), .epoch_ns = ms_clock_ns(CLOCK_REALTIME)};
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
            continue; /* a tool reads it: each reader would get only part of the entries, and stopping it would end
                       * the tool's log */
        }
        if (drv.info(c.devices[i], SYSTEM, SYS_COUNT, &count) == 0 &&
            drv.info(c.devices[i], SYSTEM, DEV_OSC_FREQUE, &khz) == 0 && khz > 0 &&
            drv.start(c.devices[i], STARS_CHANNEL, &para) == 0) {
            c.dev_start[i] = (struct clock_reading){(uint64_t)count, ms_clock_ns(CLOCK_REALTIME)};
            c.dev_tick_ns[i] = 1e6 / (double)khz;
            any = c.log_on[i] = true;
        }
    }
    char *buf = any ? malloc(READ_B) : NULL;
    run.reader_stop = false;
    run.reader_runs = buf != NULL && pthread_create(&run.reader, NULL, reader_main, buf) == 0;
    if (buf != NULL && !run.reader_runs) {
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
    if (run.reader_runs) {
        __atomic_store_n(&run.reader_stop, true, __ATOMIC_RELEASE);
        pthread_join(run.reader, NULL);
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

int snpu_collection_start(const struct snpu_collection_config *config, char *path, size_t path_b)
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
    run.spool_b = c.records = c.dropped = 0;
    run.limit_b = config->limit_b;
    c.switches = config->switches;
    c.device_count = config->device_count;
    memcpy(c.devices, config->devices, config->device_count * sizeof(c.devices[0]));
    snprintf(path, path_b, "%s", c.path);
    pthread_mutex_lock(&lock);
    run.running = true;
    pthread_mutex_unlock(&lock);
    if ((c.switches & (PROF_TASK_TIME | PROF_TASK_TIME_L1 | PROF_RUNTIME_TRACE)) != 0) {
        start_logs();
    } else {
        memset(c.log_on, 0, sizeof(c.log_on));
        run.reader_runs = false;
    }
    c.host_start = read_host();
    snpu_profapi_tap(&tap);
    __atomic_store_n(&run.tx, (c.switches & PROF_MSPROFTX) != 0, __ATOMIC_RELAXED);
    return 0;
}

void snpu_collection_stop(void)
{
    pthread_mutex_lock(&lock);
    bool running = run.running;
    pthread_mutex_unlock(&lock);
    if (!running) {
        return;
    }
    __atomic_store_n(&run.tx, false, __ATOMIC_RELAXED);
    snpu_profapi_tap(NULL);
    stop_logs();
    pthread_mutex_lock(&lock);
    run.running = false; /* seen by a report that is still running */
    pthread_mutex_unlock(&lock);
    c.host_stop = read_host();
    snpu_collection_write(&c);
    fclose(c.spool);
    c.spool = NULL;
}
