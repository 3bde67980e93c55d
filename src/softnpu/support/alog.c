/* SPDX-License-Identifier: Apache-2.0 */
/* libascendalog.so: the log of the vendor's stack.
 *
 * A message goes to standard output if ASCEND_SLOG_PRINT_TO_STDOUT is 1, otherwise to
 * ASCEND_PROCESS_LOG_PATH/debug/plog/plog-<pid>_<time>.log if that variable is set, otherwise nowhere: unlike the
 * original, softnpu writes no files into the home folder by default. A file that reaches MAX_FILE_B is renamed to
 * <name>.1 (replacing an older one) and started again, so a process never keeps more than two.
 *
 * Threads: levels are atomics, read once per message. `lock` protects the file and its size; it is a leaf and is
 * never taken by CheckLogLevelForC. A forked child, detected by its process id, opens its own file.
 * Failure: if the folder or file cannot be created, logging to a file is switched off; logging never returns an
 * error. */
#include "base/dlog_pub.h"
#include "base/macros.h"
#include "base/parse.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

enum { MAX_MODULES = 128, MAX_MESSAGE_B = 1024, MAX_FILE_B = 20 << 20 };

/* Set in a module number for the run log, which is written whatever the level. */
static const int32_t RUN_LOG_MASK = 0x01000000;
static const int32_t MODULE_BITS = 0xffff;

static struct {
    int32_t level[MAX_MODULES];
    int32_t event_on;
    bool to_stdout;
} config;

static struct {
    pthread_mutex_t lock;
    int fd;
    pid_t pid; /* the process whose file is open */
    off_t size_b;
    char path[PATH_MAX];
} file = {.lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1};

static uint64_t env_number(const char *name, uint64_t max, uint64_t otherwise)
{
    uint64_t v;
    return ms_parse_u64(getenv(name), 0, max, &v) == 0 ? v : otherwise;
}

static void read_config(void)
{
    int32_t level = (int32_t)env_number("ASCEND_GLOBAL_LOG_LEVEL", DLOG_NULL, DLOG_ERROR);
    for (int i = 0; i < MAX_MODULES; i++) {
        config.level[i] = level;
    }
    config.event_on = (int32_t)env_number("ASCEND_GLOBAL_EVENT_ENABLE", 1, 1);
    config.to_stdout = env_number("ASCEND_SLOG_PRINT_TO_STDOUT", 1, 0) == 1;
}

static void init(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_config);
}

static int32_t module_level(int32_t module)
{
    uint32_t index = (uint32_t)(module & MODULE_BITS);
    return index < MAX_MODULES ? __atomic_load_n(&config.level[index], __ATOMIC_RELAXED) : DLOG_NULL;
}

int32_t CheckLogLevelForC(int32_t moduleId, int32_t logLevel)
{
    init();
    if (logLevel == DLOG_EVENT) {
        return __atomic_load_n(&config.event_on, __ATOMIC_RELAXED);
    }
    if (moduleId < 0 || logLevel < DLOG_DEBUG || logLevel > DLOG_OPLOG || logLevel == DLOG_NULL) {
        return 0;
    }
    return (moduleId & RUN_LOG_MASK) != 0 || logLevel >= module_level(moduleId);
}

int32_t DlogGetlevelForC(int32_t moduleId, int32_t *enableEvent)
{
    init();
    if (enableEvent != NULL) {
        *enableEvent = __atomic_load_n(&config.event_on, __ATOMIC_RELAXED);
    }
    return module_level(moduleId == -1 ? SLOG : moduleId);
}

int32_t DlogSetlevelForC(int32_t moduleId, int32_t level, int32_t enableEvent)
{
    init();
    bool valid_event = enableEvent == 0 || enableEvent == 1;
    if (moduleId < -1 || moduleId >= MAX_MODULES || level < DLOG_DEBUG || level > DLOG_NULL || !valid_event) {
        return -1;
    }
    for (int i = 0; i < MAX_MODULES; i++) {
        if (moduleId == -1 || moduleId == i) {
            __atomic_store_n(&config.level[i], level, __ATOMIC_RELAXED);
        }
    }
    __atomic_store_n(&config.event_on, enableEvent, __ATOMIC_RELAXED);
    return 0;
}

static const char *level_name(int32_t level)
{
    static const char *const names[] = {"DEBUG", "INFO", "WARNING", "ERROR", "NULL", "TRACE", "OPLOG"};
    return level == DLOG_EVENT ? "EVENT" : (size_t)level < MS_COUNT_OF(names) ? names[level] : "UNKNOWN";
}

static const char *module_name(int32_t module, char number[16])
{
    static const struct {
        int32_t id;
        const char *name;
    } names[] = {{SLOG, "SLOG"}, {HCCL, "HCCL"},   {RUNTIME, "RUNTIME"}, {PROFILING, "PROFILING"}, {APP, "APP"},
                 {FE, "FE"},     {AICPU, "AICPU"}, {GE, "GE"},           {ASCENDCL, "ASCENDCL"},   {TBE, "TBE"},
                 {OP, "OP"}};
    for (size_t i = 0; i < MS_COUNT_OF(names); i++) {
        if (names[i].id == module) {
            return names[i].name;
        }
    }
    snprintf(number, 16, "MODULE%d", module);
    return number;
}

static bool make_folders(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        int rc = mkdir(path, 0750);
        *slash = '/';
        if (rc != 0 && errno != EEXIST) {
            return false;
        }
    }
    return true;
}

/* Lock held. */
static void open_file(void)
{
    const char *folder = getenv("ASCEND_PROCESS_LOG_PATH");
    if (folder == NULL || *folder == '\0') {
        return;
    }
    struct timespec now;
    struct tm tm;
    clock_gettime(CLOCK_REALTIME, &now);
    localtime_r(&now.tv_sec, &tm);
    char stamp[32];
    strftime(stamp, sizeof(stamp), "%Y%m%d%H%M%S", &tm);
    int n = snprintf(file.path, sizeof(file.path), "%s/debug/plog/plog-%d_%s%03ld.log", folder, (int)file.pid, stamp,
                     now.tv_nsec / 1000000);
    if (n < 0 || (size_t)n >= sizeof(file.path) || !make_folders(file.path)) {
        return;
    }
    file.fd = open(file.path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
    file.size_b = 0;
}

/* Lock held. */
static void rotate_file(void)
{
    char old[PATH_MAX + 2];
    snprintf(old, sizeof(old), "%s.1", file.path);
    close(file.fd);
    file.fd = -1;
    if (rename(file.path, old) == 0) {
        file.fd = open(file.path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
        file.size_b = 0;
    }
}

static void write_file(const char *line, size_t len)
{
    pthread_mutex_lock(&file.lock);
    if (file.pid != getpid()) {
        if (file.fd >= 0) {
            close(file.fd); /* the parent's; the parent has its own descriptor */
            file.fd = -1;
        }
        file.pid = getpid();
        open_file();
    }
    if (file.fd >= 0 && file.size_b + (off_t)len > MAX_FILE_B) {
        rotate_file();
    }
    if (file.fd >= 0) {
        ssize_t n = write(file.fd, line, len);
        file.size_b += n > 0 ? n : 0;
    }
    pthread_mutex_unlock(&file.lock);
}

/* Shared with libunified_dlog.so. */
MS_EXPORT void snpu_log_write(int32_t module, int32_t level, const char *fmt, va_list args);

void snpu_log_write(int32_t module, int32_t level, const char *fmt, va_list args)
{
    if (fmt == NULL || CheckLogLevelForC(module, level) == 0) {
        return;
    }
    int saved_errno = errno;
    struct timespec now;
    struct tm tm;
    clock_gettime(CLOCK_REALTIME, &now);
    localtime_r(&now.tv_sec, &tm);
    char line[MAX_MESSAGE_B + 160], stamp[32], number[16];
    strftime(stamp, sizeof(stamp), "%Y-%m-%d-%H:%M:%S", &tm);
    int head = snprintf(line, 160, "[%s] %s(%d,%.64s):%s.%03ld.%03ld ", level_name(level),
                        module_name(module & MODULE_BITS, number), (int)getpid(), program_invocation_short_name, stamp,
                        now.tv_nsec / 1000000, now.tv_nsec / 1000 % 1000);
    head = head < 160 ? head : 159;
    int body = vsnprintf(line + head, MAX_MESSAGE_B, fmt, args);
    body = body < 0 ? 0 : body < MAX_MESSAGE_B ? body : MAX_MESSAGE_B - 1;
    size_t len = (size_t)head + (size_t)body;
    if (line[len - 1] != '\n') {
        line[len++] = '\n';
    }
    if (config.to_stdout) {
        fwrite(line, 1, len, stdout);
        fflush(stdout);
    } else {
        write_file(line, len);
    }
    errno = saved_errno;
}

void DlogInnerForC(int32_t moduleId, int32_t level, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    snpu_log_write(moduleId, level, fmt, args);
    va_end(args);
}

void DlogRecordForC(int32_t moduleId, int32_t level, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    snpu_log_write(moduleId, level, fmt, args);
    va_end(args);
}

void DlogFlushForC(void)
{
    /* Every message is written immediately. */
}
