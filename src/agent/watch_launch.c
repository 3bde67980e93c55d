/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels for --watch: a kernel's name is known only during its launch, so the contents before it are kept until then.
 *
 * Threads: one launch at a time is watched; launches of other threads meanwhile are skipped. The thread that finds
 * launch.tid 0 under the lock of watch.c claims it, and owns everything in `launch` until it sets launch.tid to 0
 * again. */
#include "agent/watch_internal.h"

#include "agent/agent.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define KEPT_MAX_B ((uint64_t)256 << 20) /* contents before a launch, until the kernel has a name */

static struct {
    uint32_t tid; /* atomic: thread of the launch; 0: none */
    struct ms_watch_text name;
    struct {
        uint64_t serial, hash;
        bool readable;
        uint64_t at; /* offset of its content in kept */
    } before[MS_WATCHED_MAX];
    char *kept;
    uint64_t kept_b;
} launch;

static void release_launch(void)
{
    if (launch.kept != NULL) {
        munmap(launch.kept, launch.kept_b);
        launch.kept = NULL;
    }
    __atomic_store_n(&launch.tid, 0, __ATOMIC_RELEASE);
}

static bool is_own_launch(void)
{
    return __atomic_load_n(&launch.tid, __ATOMIC_ACQUIRE) == ms__watch_tid();
}

static void keep_contents(void)
{
    static uint32_t logged;
    uint64_t all_b = 0; /* sum of sizes, which may be arbitrary */
    for (uint32_t i = 0; i < MS_WATCHED_MAX && all_b <= KEPT_MAX_B; i++) {
        uint64_t size_b = ms__watch_is_live(&ms__watched[i]) ? ms__watched[i].size_b : 0;
        launch.before[i].at = all_b;
        all_b = size_b <= KEPT_MAX_B ? all_b + size_b : KEPT_MAX_B + 1;
    }
    void *kept = all_b <= KEPT_MAX_B ? mmap(NULL, all_b, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                                     : MAP_FAILED;
    if (kept == MAP_FAILED) {
        ms__watch_log_once(&logged,
                           "--watch: tensor contents before a kernel are too large to keep; only hashes are recorded");
        return;
    }
    launch.kept = kept;
    launch.kept_b = all_b;
}

void ms_watch_launch_before(void)
{
    int error;
    if (!ms__watch_enter(&error)) {
        return;
    }
    if (__atomic_load_n(&launch.tid, __ATOMIC_ACQUIRE) == 0 && ms__watch_any()) {
        __atomic_store_n(&launch.tid, ms__watch_tid(), __ATOMIC_RELAXED);
        launch.name.length_b = 0;
        if (ms__watch_config.full) {
            keep_contents();
        }
        ms_watch_synchronize(NULL);
        for (uint32_t i = 0; i < MS_WATCHED_MAX; i++) {
            launch.before[i].serial = ms__watch_is_live(&ms__watched[i]) ? ms__watched[i].serial : 0;
            if (launch.before[i].serial != 0) {
                char *to = launch.kept != NULL ? launch.kept + launch.before[i].at : NULL;
                launch.before[i].readable =
                    ms_watch_read(ms__watched[i].addr, ms__watched[i].size_b, -1, to, &launch.before[i].hash);
            }
        }
    }
    ms__watch_leave(error);
}

void ms_watch_launch_named(const char *name, size_t length_b)
{
    if (is_own_launch()) {
        launch.name.length_b = 0;
        ms__put(&launch.name, name, length_b < MS_WATCH_OP_B ? length_b : MS_WATCH_OP_B);
    }
}

/* Writes the content before the launch to a file named after the kernel. */
static uint32_t write_before(const struct ms_watched *w, uint32_t device, const struct ms_watch_text *tag,
                             const char *content)
{
    int file = ms__watch_open_file(w, device, tag, false);
    if (file < 0) {
        return 0;
    }
    bool written = ms_watch_write(file, content, w->size_b);
    syscall(SYS_close, file);
    return written ? MS_WATCH_FULL : 0u;
}

static void dump_before(const struct ms_watch_text *tag, uint32_t flags)
{
    uint32_t device = ms__watch_device();
    for (uint32_t i = 0; i < MS_WATCHED_MAX; i++) {
        struct ms_watched *w = &ms__watched[i];
        if (launch.before[i].serial == 0 || !ms__watch_is_live(w) || w->serial != launch.before[i].serial) {
            continue;
        }
        bool readable = launch.before[i].readable, keeps = launch.kept != NULL && readable;
        uint32_t full = keeps ? write_before(w, device, tag, launch.kept + launch.before[i].at) : 0;
        ms__watch_record(w, device, tag, flags | full | (readable ? 0u : MS_WATCH_UNREADABLE),
                         readable ? launch.before[i].hash : 0);
    }
}

static void dump_launch(uint32_t tid)
{
    struct ms_watch_text point;
    ms__put_torch_point(&point, tid, launch.name.length_b != 0 ? launch.name.bytes : "kernel",
                        launch.name.length_b != 0 ? launch.name.length_b : 6);
    uint32_t count = ms__watch_count(MS_WATCH_NAMES, &point);
    uint32_t flags = MS_WATCH_KERNEL | (ms__watch_open_op(tid) != NULL ? MS_WATCH_IN_OP : 0u);
    struct ms_watch_text tag = point;
    ms__put(&tag, "_", 1);
    ms__put_number(&tag, count);
    dump_before(&tag, flags);
    bool ends = ms__is_named(&point, ms__watch_config.end, ms__watch_config.end_b);
    ms__watch_dump(&point, count, flags | MS_WATCH_AFTER | (ends ? MS_WATCH_LAST : 0u), NULL, NULL);
    if (ends) {
        ms__watch_drop_outputs();
    }
}

void ms_watch_launch_after(void)
{
    int error;
    if (!is_own_launch()) {
        return;
    }
    if (ms__watch_enter(&error)) {
        dump_launch(ms__watch_tid());
        release_launch();
        ms__watch_leave(error);
    } else {
        release_launch(); /* tracing was stopped meanwhile: release it for the next launch */
    }
}

void ms__watch_forget_launch(void)
{
    memset(&launch, 0, sizeof(launch));
}
