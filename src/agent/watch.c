/* SPDX-License-Identifier: Apache-2.0 */
/* See watch.h: the watched tensors, who requested them, and the lock around them.
 *
 * Threads: one lock, held while waiting for and reading the device. Taking it has a timeout, so that a thread which the
 * device itself waits for (a callback that runs operators) continues unwatched instead of deadlocking. Frees come from
 * anywhere, also under locks of the runtime: they only set a word. Calls into the runtime from here are not recorded
 * and do not recurse.
 *
 * Invariants: an entry of ms__watched is in use while size_b is not 0. All storage is static and of fixed size: what
 * does not fit is not watched, and the log says so once. */
#include "agent/watch_internal.h"

#include "agent/agent.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define GIVEN_MAX_B 64u
#define LOCK_TRIES  100 /* of 100 ms */

enum { BY_OPTION = 1, BY_PROGRAM = 2 };
uint32_t ms_watch_wanted MS_EARLY; /* both may be set */

struct ms_watched ms__watched[MS_WATCHED_MAX];
struct ms_watch_config ms__watch_config;
static uint64_t last_serial;

/* ---- lock ---- */

static uint32_t lock_word MS_EARLY; /* 0: free, 1: held, 2: held with waiters */

bool ms__watch_lock(void)
{
    uint32_t free_word = 0;
    if (__atomic_compare_exchange_n(&lock_word, &free_word, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
        return true;
    }
    for (int i = 0; i < LOCK_TRIES; i++) {
        if (__atomic_exchange_n(&lock_word, 2, __ATOMIC_ACQUIRE) == 0) {
            return true;
        }
        struct timespec wait = {0, 100000000};
        syscall(SYS_futex, &lock_word, FUTEX_WAIT_PRIVATE, 2, &wait, NULL, 0);
    }
    return false;
}

void ms__watch_unlock(void)
{
    if (__atomic_exchange_n(&lock_word, 0, __ATOMIC_RELEASE) == 2) {
        syscall(SYS_futex, &lock_word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    }
}

bool ms__watch_enter(int *error)
{
    *error = errno;
    if (!ms_tracing()) {
        return false;
    }
    ms_self.suppressed++;
    if (!ms__watch_lock()) {
        ms_self.suppressed--;
        errno = *error;
        return false;
    }
    return true;
}

void ms__watch_leave(int error)
{
    ms__watch_unlock();
    ms_self.suppressed--;
    errno = error;
}

uint32_t ms__watch_tid(void)
{
    return (uint32_t)syscall(SYS_gettid);
}

void ms__watch_log_once(uint32_t *logged, const char *line)
{
    if (__atomic_exchange_n(logged, 1, __ATOMIC_RELAXED) == 0) {
        ms_agent_log(line);
    }
}

/* ---- watched tensors ---- */

bool ms__watch_is_live(const struct ms_watched *w)
{
    return w->size_b != 0 && w->left != 0 && __atomic_load_n(&w->freed, __ATOMIC_RELAXED) == 0;
}

bool ms__watch_any(void)
{
    for (uint32_t i = 0; i < MS_WATCHED_MAX; i++) {
        if (ms__watch_is_live(&ms__watched[i])) {
            return true;
        }
    }
    return false;
}

struct ms_watched *ms__watch_put(uint64_t addr, uint64_t size_b, const char *name, size_t name_b, uint32_t index,
                                 bool given)
{
    for (uint32_t i = 0; i < MS_WATCHED_MAX; i++) {
        struct ms_watched *w = &ms__watched[i];
        if (w->size_b == 0) {
            w->name_b = (uint32_t)(name_b < sizeof(w->name) ? name_b : sizeof(w->name));
            memcpy(w->name, name, w->name_b);
            w->index = index;
            w->left = -1;
            w->serial = ++last_serial;
            w->given = given;
            w->fresh = true;
            __atomic_store_n(&w->freed, 0, __ATOMIC_RELAXED);
            __atomic_store_n(&w->addr, addr, __ATOMIC_RELAXED);
            w->size_b = size_b;
            return w;
        }
    }
    return NULL;
}

static void drop(struct ms_watched *w)
{
    w->size_b = 0;
    __atomic_store_n(&w->addr, 0, __ATOMIC_RELAXED);
}

void ms__watch_drop_outputs(void)
{
    for (uint32_t i = 0; i < MS_WATCHED_MAX; i++) {
        if (ms__watched[i].size_b != 0 && !ms__watched[i].given) {
            drop(&ms__watched[i]);
        }
    }
    ms__watch_config.active = false;
}

void ms_watch_freed(uint64_t addr)
{
    for (uint32_t i = 0; i < MS_WATCHED_MAX && addr != 0; i++) {
        if (__atomic_load_n(&ms__watched[i].addr, __ATOMIC_RELAXED) == addr) {
            __atomic_store_n(&ms__watched[i].freed, 1, __ATOMIC_RELAXED);
        }
    }
}

/* ---- interface ---- */

static void want(uint32_t who, bool on)
{
    if (on) {
        __atomic_fetch_or(&ms_watch_wanted, who, __ATOMIC_RELAXED);
    } else {
        __atomic_fetch_and(&ms_watch_wanted, ~who, __ATOMIC_RELAXED);
    }
}

int ms_watch_add(uint64_t addr, uint64_t size_b, struct ms_agent_text name, int64_t dumps)
{
    if (addr == 0 || size_b == 0 || addr + size_b < addr || name.text == NULL || name.length_b == 0 ||
        name.length_b > GIVEN_MAX_B) {
        return -EINVAL;
    }
    if (!ms__watch_lock()) {
        return -EBUSY;
    }
    struct ms_watched *w = ms__watch_put(addr, size_b, name.text, name.length_b, 0, true);
    if (w != NULL) {
        w->left = dumps < 0 ? -1 : dumps;
        want(BY_PROGRAM, true);
    }
    ms__watch_unlock();
    return w != NULL ? 0 : -ENOSPC;
}

int ms_watch_remove(uint64_t addr, uint64_t size_b)
{
    bool found = false, more = false;
    if (!ms__watch_lock()) {
        return -EBUSY;
    }
    for (uint32_t i = 0; i < MS_WATCHED_MAX; i++) {
        struct ms_watched *w = &ms__watched[i];
        if (w->size_b != 0 && w->given && w->addr == addr && (size_b == 0 || w->size_b == size_b)) {
            drop(w);
            found = true;
        }
        more = more || (w->size_b != 0 && w->given);
    }
    want(BY_PROGRAM, more);
    ms__watch_unlock();
    return found ? 0 : -ENOENT;
}

static size_t copy_name(char out[MS_WATCH_OP_B], const char *s, size_t length_b)
{
    length_b = length_b < MS_WATCH_OP_B ? length_b : MS_WATCH_OP_B;
    memcpy(out, s, length_b);
    return length_b;
}

/* The number after the last such character, at which the text is then truncated. */
static uint32_t take_number(const char *s, size_t *length_b, char before, uint32_t none)
{
    size_t at = *length_b;
    uint64_t number = 0, unit = 1;
    while (at > 0 && s[at - 1] >= '0' && s[at - 1] <= '9' && unit < 10000000000ull) {
        number += unit * (uint64_t)(s[--at] - '0');
        unit *= 10;
    }
    if (at == *length_b || at < 2 || s[at - 1] != before || number > UINT32_MAX) {
        return none;
    }
    *length_b = at - 1;
    return (uint32_t)number;
}

void ms_watch_configure(const char *text)
{
    const char *comma = strchr(text, ',');
    if (comma == NULL && (__atomic_load_n(&ms_watch_wanted, __ATOMIC_RELAXED) & BY_OPTION) == 0) {
        return; /* unchanged; most programs watch nothing and need not touch the tables */
    }
    if (!ms__watch_lock()) {
        return;
    }
    ms__watch_drop_outputs();
    memset(&ms__watch_config, 0, sizeof(ms__watch_config));
    if (comma != NULL) {
        size_t start_b = (size_t)(comma - text), end_b = strcspn(comma + 1, ",");
        ms__watch_config.output = take_number(text, &start_b, ':', UINT32_MAX);
        ms__watch_config.call = take_number(text, &start_b, '#', 0);
        ms__watch_config.start_b = copy_name(ms__watch_config.start, text, start_b);
        ms__watch_config.end_b = copy_name(ms__watch_config.end, comma + 1, end_b);
        ms__watch_config.full = strcmp(comma + 1 + end_b, ",full-content") == 0;
    }
    want(BY_OPTION, comma != NULL);
    ms__watch_unlock();
}

void ms_watch_attached(void)
{
    static uint32_t owner MS_EARLY;
    uint32_t pid = (uint32_t)syscall(SYS_getpid), before = owner;
    owner = pid;
    if (before == 0 || before == pid) {
        return;
    }
    __atomic_store_n(&lock_word, 0, __ATOMIC_RELAXED);
    memset(ms__watched, 0, sizeof(ms__watched));
    ms__watch_forget_launch();
    ms__watch_forget_ops();
    ms__watch_config.active = false;
    ms__watch_config.starts = 0;
    want(BY_PROGRAM, false);
}
