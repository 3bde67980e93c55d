/* SPDX-License-Identifier: Apache-2.0 */
/* The device's log of executed tasks: start and end of each kernel, in device time.
 *
 * Started at the first launch on a device, stopped by aclFinalize. One thread reads the logs of all devices; it is the
 * only thread that the agent ever creates in a program: detached, signals blocked, static memory, never waited for
 * except briefly in aclFinalize, and gone after fork. It also samples the device clocks once a second, each sample
 * between two readings of the host clock.
 *
 * A log has one reader. While another tool has it started (hooks/prof.c reports that), that tool reads and we parse
 * what it got.
 *
 * Threads: `devices` and `reader` are words changed by compare-and-swap. One thread starts a device; others wait
 * briefly for it, because a launch before the start is not in the log. */
#include "agent/glibc_floor.h"
#include "agent/kernel.h"

#include "abi/stars.h"
#include "agent/device_log.h"
#include "agent/hooks.h"
#include "trace/definitions.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define DEVICES_MAX    64
#define LOG            CHANNEL_STARS_SOC_LOG_BUFFER
#define SWITCHES       MS_PROF_SWITCHES
#define READ_B         ((size_t)2 << 20)
#define IDLE_MAX_MS    20
#define CLOCK_EVERY_NS 1000000000u
#define CHECK_EVERY_NS 1000000000u
#define PATIENCE_MS    200 /* aclFinalize waits for the reader; a launch, for the thread that starts the log */

static void pause_us(long us)
{
    struct timespec t = {.tv_nsec = us * 1000};
    syscall(SYS_nanosleep, &t, NULL);
}

/* ---- devices ---- */

enum { IDLE, STARTING, READ };

static struct logged_device {
    uint32_t state;
    uint32_t others;     /* another tool has started this log */
    uint64_t others_on;  /* switches that another tool has on */
    uint64_t khz;        /* of its counter */
    uint64_t sampled_ns; /* on the monotonic clock; 0: never */
} devices[DEVICES_MAX];

static bool long_records = true; /* 64 bytes, with the stream; newer chips have 32 bytes without */

static bool is_read(uint32_t device)
{
    return __atomic_load_n(&devices[device].state, __ATOMIC_ACQUIRE) == READ;
}

/* ---- parsing ---- */

/* Stream and task numbers are packed in several ways. */
static void unpack(const struct StarsSocLog *log, uint32_t *stream, uint32_t *task)
{
    uint32_t sid = log->streamId, tid = log->taskId;
    *task = tid;
    if (ms_kernel_streams_expanded()) {
        *stream = sid & 0x7fff;
        if (log->sqeType != 3 && log->sqeType != 4 && (sid & 0x8000) != 0) {
            *stream = tid & 0x7fff;
            *task = (tid & 0x8000) | (sid & 0x7fff);
        }
    } else if ((sid & 0x1000) != 0) {
        *stream = sid % 2048;
        *task = (tid & 0x1fff) | (sid & 0xe000);
    } else if ((sid & 0x2000) != 0) {
        *stream = (tid & 0xfff) % 2048;
        *task = (sid & 0xfff) | (tid & 0xf000);
    } else {
        *stream = sid % 2048;
    }
}

static void record_execution(struct ms_pending_launch *p, uint64_t counter, bool end)
{
    if (!ms_pending_find(p, end)) { /* a copy, an event, or launched while not recording */
        struct ms_shm *shm = ms_gate->shm;
        if (end && shm != NULL) {
            __atomic_fetch_add(&shm->lost_total[MS_GAP_UNMATCHED], 1, __ATOMIC_RELAXED);
        }
        return;
    }
    struct ms_texts name = {0};
    size_t length_b;
    const char *text = ms_kernel_name(p->name, &length_b);
    ms_texts_add(&name, text, length_b, true);
    struct ms_slot slot;
    struct ms_p_kernel_execute *r = ms_rec_begin(&slot, sizeof(*r) + ms_texts_tail_b(&name), MS_ORDER_DEVICE);
    if (r != NULL) {
        *r = (struct ms_p_kernel_execute){
            .counter = counter, .stream_id = p->stream, .task_id = p->task, .end = end, .name = name.ref[0]};
        ms_texts_put(&name, r + 1);
        ms_rec_commit(&slot, MS_R_KERNEL_EXECUTE, name.flags, p->device, ms_rec_stamp(&slot));
    }
}

void ms_device_log_parse(uint32_t device, const char *data, size_t data_b)
{
    bool is_long = __atomic_load_n(&long_records, __ATOMIC_RELAXED);
    size_t record_b = is_long ? sizeof(struct StarsSocLog) : sizeof(struct StarsSocLogV6);
    for (; data_b >= record_b; data += record_b, data_b -= record_b) {
        struct ms_pending_launch p = {.device = device};
        struct StarsSocLog log;
        struct StarsSocLogV6 log_v6;
        unsigned what;
        uint64_t counter;
        if (is_long) {
            memcpy(&log, data, sizeof(log));
            what = log.funcType;
            counter = log.timestamp;
            unpack(&log, &p.stream, &p.task);
        } else {
            memcpy(&log_v6, data, sizeof(log_v6));
            what = log_v6.funcType;
            counter = log_v6.timestamp;
            p.task = log_v6.taskId;
        }
        if (what == STARS_FUNC_TASK_BEGIN || what == STARS_FUNC_TASK_END) {
            record_execution(&p, counter, what == STARS_FUNC_TASK_END);
        }
    }
}

/* ---- clocks ---- */

static int64_t device_info(uint32_t device, int32_t info, int64_t unknown)
{
    static drvError_t (*get)(uint32_t, int32_t, int32_t, int64_t *);
    if (get == NULL) {
        get =
            (drvError_t(*)(uint32_t, int32_t, int32_t, int64_t *))ms_resolve_symbol(MS_LIBRARY_HAL, "halGetDeviceInfo");
    }
    int64_t value;
    return get != NULL && get(device, MODULE_TYPE_SYSTEM, info, &value) == DRV_ERROR_NONE ? value : unknown;
}

/* The stamp is the middle of the query, which lies in the past. Readers rely on no record being more than a millisecond
 * late, so the sample of a slow query is discarded. */
static void sample_clock(uint32_t device, uint64_t now_ns)
{
    enum { LATE_NS = 500000 };
    const struct ms_shm *shm = ms_rec_shm();
    uint32_t kind = __atomic_load_n(&shm->clock_kind, __ATOMIC_RELAXED);
    uint64_t before = ms_stamp(kind);
    int64_t counter = device_info(device, INFO_TYPE_SYS_COUNT, -1);
    uint64_t after = ms_stamp(kind);
    struct ms_slot slot;
    struct ms_p_device_clock *p = counter >= 0 ? ms_rec_begin(&slot, sizeof(*p), MS_ORDER_PLAIN) : NULL;
    if (p == NULL) {
        return;
    }
    if (slot.ctx->clock_kind != kind || ms_clock_ns(CLOCK_MONOTONIC) - now_ns > LATE_NS) {
        ms_rec_cancel(&slot);
        return;
    }
    *p = (struct ms_p_device_clock){
        .counter = (uint64_t)counter, .khz = devices[device].khz, .uncertainty = after - before};
    ms_rec_commit(&slot, MS_R_DEVICE_CLOCK, 0, device, before + (after - before) / 2);
    devices[device].sampled_ns = now_ns;
}

/* ---- reader thread ---- */

/* Each reader has a number; it runs while its number is the current one. */
static struct {
    uint32_t number;  /* of the reader that should run; odd: none */
    uint32_t running; /* number of the running reader, plus 1; 0: none */
    uint32_t reading; /* device whose log it is reading, plus 1 */
    uint32_t bell;    /* futex: something has changed */
} reader = {.number = 1};

static char buffer[READ_B];

/* True if there was data. */
static bool read_log(uint32_t device)
{
    if (!is_read(device)) {
        return false;
    }
    int got = 0;
    __atomic_store_n(&reader.reading, device + 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&devices[device].others, __ATOMIC_SEQ_CST) == 0) {
        got = MS_REAL(prof_channel_read)(device, LOG, buffer, sizeof(buffer));
    }
    __atomic_store_n(&reader.reading, 0, __ATOMIC_RELEASE);
    if (got <= 0) {
        return false;
    }
    ms_device_log_parse(device, buffer, (size_t)got < sizeof(buffer) ? (size_t)got : sizeof(buffer));
    return true;
}

static void read_all(uint32_t number)
{
    long idle_ms = 1;
    uint64_t checked_ns = ms_clock_ns(CLOCK_MONOTONIC);
    while (__atomic_load_n(&reader.number, __ATOMIC_ACQUIRE) == number) {
        uint32_t bell = __atomic_load_n(&reader.bell, __ATOMIC_ACQUIRE);
        bool any = false;
        for (uint32_t i = 0; i < DEVICES_MAX; i++) {
            any |= read_log(i);
            uint64_t now_ns = is_read(i) ? ms_clock_ns(CLOCK_MONOTONIC) : 0;
            if (now_ns - devices[i].sampled_ns > CLOCK_EVERY_NS && now_ns != 0) {
                sample_clock(i, now_ns);
            }
        }
        if (ms_clock_ns(CLOCK_MONOTONIC) - checked_ns > CHECK_EVERY_NS) {
            checked_ns = ms_clock_ns(CLOCK_MONOTONIC);
            ms_kernel_check();
        }
        idle_ms = any ? 1 : idle_ms * 2 < IDLE_MAX_MS ? idle_ms * 2 : IDLE_MAX_MS;
        struct timespec pause = {.tv_nsec = idle_ms * 1000000};
        syscall(SYS_futex, &reader.bell, FUTEX_WAIT_PRIVATE, bell, &pause, NULL, 0);
    }
    for (uint32_t i = 0; i < DEVICES_MAX; i++) { /* remaining data; bounded, because a device may never run dry */
        for (unsigned k = 0; k < 64 && read_log(i); k++) {
        }
        if (is_read(i)) { /* together with the first sample: the counter's rate over the whole recording */
            sample_clock(i, ms_clock_ns(CLOCK_MONOTONIC));
        }
    }
}

static void *reader_thread(void *argument)
{
    uint32_t number = (uint32_t)(uintptr_t)argument;
    ms_self.suppressed++;
    read_all(number);
    __atomic_store_n(&reader.running, 0, __ATOMIC_RELEASE);
    return NULL;
}

static void ring(void)
{
    __atomic_fetch_add(&reader.bell, 1, __ATOMIC_RELEASE);
    syscall(SYS_futex, &reader.bell, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

/* All but the two signals that the C library needs in every thread. */
static void block_signals(uint64_t *before)
{
    uint64_t all = ~(3ull << 31);
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, before, sizeof(all));
}

static void start_reader(void)
{
    uint32_t number = __atomic_load_n(&reader.number, __ATOMIC_ACQUIRE);
    if (number % 2 == 0 || pthread_create == NULL) {
        return; /* already running */
    }
    /* The previous reader may still be using the buffer. */
    for (unsigned i = 0; i < PATIENCE_MS * 10 && __atomic_load_n(&reader.running, __ATOMIC_ACQUIRE) != 0; i++) {
        pause_us(100);
    }
    uint32_t none = 0;
    if (!__atomic_compare_exchange_n(&reader.running, &none, number + 2, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
        return;
    }
    __atomic_store_n(&reader.number, number + 1, __ATOMIC_RELEASE);
    uint64_t signals;
    pthread_t thread;
    block_signals(&signals);
    if (pthread_create(&thread, NULL, reader_thread, (void *)(uintptr_t)(number + 1)) == 0) {
        pthread_detach(thread);
    } else {
        __atomic_store_n(&reader.running, 0, __ATOMIC_RELEASE);
        __atomic_store_n(&reader.number, number + 2, __ATOMIC_RELEASE);
    }
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &signals, NULL, sizeof(signals));
}

static void stop_reader(void)
{
    uint32_t number = __atomic_load_n(&reader.number, __ATOMIC_ACQUIRE);
    if (number % 2 == 0) {
        __atomic_compare_exchange_n(&reader.number, &number, number + 1, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
        ring();
    }
    for (unsigned i = 0; i < PATIENCE_MS * 10 && __atomic_load_n(&reader.running, __ATOMIC_ACQUIRE) != 0; i++) {
        pause_us(100);
    }
}

/* ---- starting and stopping ---- */

static void command(uint32_t device, uint32_t type, uint64_t switches)
{
    static struct MsprofCommandHandle message; /* 5 KiB; one device is started or stopped at a time */
    memset(&message, 0, sizeof(message));
    message.profSwitch = switches;
    message.devNums = 1;
    message.devIdList[0] = device;
    message.modelId = 0xffffffffu;
    message.type = type;
    MS_REAL(profSetProfCommand)(&message, sizeof(message));
}

static void look_at_chip(void)
{
    const char *(*name_of_chip)(void) = (const char *(*)(void))ms_resolve_symbol(MS_LIBRARY_ACL, "aclrtGetSocName");
    const char *name = name_of_chip != NULL ? name_of_chip() : NULL;
    bool is_long = name == NULL || (strstr(name, "950") == NULL && strstr(name, "960") == NULL);
    __atomic_store_n(&long_records, is_long, __ATOMIC_RELAXED); /* the reader may be busy with another device */
    ms_pending_without_stream(!is_long);
}

static void start(uint32_t device)
{
    struct logged_device *d = &devices[device];
    look_at_chip();
    d->khz = (uint64_t)device_info(device, INFO_TYPE_DEV_OSC_FREQUE, 50000);
    d->sampled_ns = 0;
    struct StarsSocLogConfigV6 config = {.base = {.acsq_task = 1, .ffts_thread_task = 1}};
    struct prof_start_para para = {.sample_period = 20,
                                   .real_time = 1,
                                   .user_data = &config,
                                   .user_data_size = long_records ? sizeof(config.base) : sizeof(config)};
    if (__atomic_load_n(&d->others, __ATOMIC_ACQUIRE) == 0) {
        MS_REAL(prof_drv_start)(device, LOG, &para);
    }
    command(device, PROF_COMMANDHANDLE_TYPE_START, SWITCHES);
}

/* One start or stop at a time. */
static uint32_t changing MS_EARLY;

static bool begin_change(void)
{
    for (unsigned i = 0; i < PATIENCE_MS * 10; i++) {
        if (__atomic_exchange_n(&changing, 1, __ATOMIC_ACQUIRE) == 0) {
            return true;
        }
        pause_us(100);
    }
    return false;
}

void ms_device_log_start(uint32_t device)
{
    if (device >= DEVICES_MAX || MS_LIKELY(is_read(device))) {
        return;
    }
    int error = errno;
    ms_self.suppressed++;
    if (begin_change()) {
        if (!is_read(device)) {
            start(device);
            __atomic_store_n(&devices[device].state, READ, __ATOMIC_RELEASE);
            start_reader();
            ring();
        }
        __atomic_store_n(&changing, 0, __ATOMIC_RELEASE);
    }
    ms_self.suppressed--;
    errno = error;
}

void ms_device_log_stop(void)
{
    if (__atomic_load_n(&reader.running, __ATOMIC_ACQUIRE) == 0) {
        return;
    }
    int error = errno;
    ms_self.suppressed++;
    if (begin_change()) {
        stop_reader();
        for (uint32_t i = 0; i < DEVICES_MAX; i++) {
            if (is_read(i)) {
                __atomic_store_n(&devices[i].state, IDLE, __ATOMIC_RELEASE);
                if (__atomic_load_n(&devices[i].others, __ATOMIC_ACQUIRE) == 0) {
                    MS_REAL(prof_stop)(i, LOG);
                }
                command(i, PROF_COMMANDHANDLE_TYPE_STOP,
                        SWITCHES & ~__atomic_load_n(&devices[i].others_on, __ATOMIC_RELAXED));
            }
        }
        __atomic_store_n(&changing, 0, __ATOMIC_RELEASE);
    }
    ms_self.suppressed--;
    errno = error;
}

void ms_device_log_attached(void)
{
    for (uint32_t i = 0; i < DEVICES_MAX; i++) {
        __atomic_store_n(&devices[i].state, IDLE, __ATOMIC_RELAXED);
    }
    __atomic_store_n(&reader.running, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&reader.number, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&reader.reading, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&changing, 0, __ATOMIC_RELAXED);
}

/* ---- sharing with another tool ---- */

bool ms_device_log_is_ours(uint32_t device)
{
    return device < DEVICES_MAX && is_read(device);
}

void ms_device_log_others(uint32_t device, bool started)
{
    if (device >= DEVICES_MAX) {
        return;
    }
    __atomic_store_n(&devices[device].others, started, __ATOMIC_SEQ_CST);
    /* A read in progress might take the other tool's data: wait for it. */
    for (unsigned i = 0; i < PATIENCE_MS * 10 && started; i++) {
        if (__atomic_load_n(&reader.reading, __ATOMIC_SEQ_CST) != device + 1) {
            break;
        }
        pause_us(100);
    }
}

uint64_t ms_device_log_others_switches(uint32_t device, uint64_t on, uint64_t off)
{
    if (device >= DEVICES_MAX) {
        return 0;
    }
    __atomic_fetch_or(&devices[device].others_on, on, __ATOMIC_RELAXED);
    __atomic_fetch_and(&devices[device].others_on, ~off, __ATOMIC_RELAXED);
    return is_read(device) ? SWITCHES : 0;
}
