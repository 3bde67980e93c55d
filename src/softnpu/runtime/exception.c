/* SPDX-License-Identifier: Apache-2.0 */
/* Reporting failed tasks to the program.
 *
 * Threads and locks: the callbacks run on the stream's thread, before synchronising can see the failure; a leaf lock
 * guards the list and is not held while they run.
 *
 * Failure policy: a full list returns 207005. */
#include "softnpu/runtime/exception.h"

#include "softnpu/runtime/engine.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define NOTE_B        192
#define CALLBACKS_MAX 32 /* slot 0: aclrtSetExceptionInfoCallback */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static snpu_exception_fn callbacks[CALLBACKS_MAX];
static int32_t last_code[SNPU_MAX_DEVICES];
static char last_text[SNPU_MAX_DEVICES][NOTE_B]; /* lock */
static __thread char note[NOTE_B];               /* about the task this thread runs */
static struct rtExceptionInfo *active;           /* lock */

int32_t snpu_exception_set(snpu_exception_fn callback)
{
    pthread_mutex_lock(&lock);
    callbacks[0] = callback;
    pthread_mutex_unlock(&lock);
    return 0;
}

static int32_t replace(snpu_exception_fn old, snpu_exception_fn new, const char *function)
{
    int32_t ret = snpu_guard(function);
    if (ret != 0) {
        return ret;
    }
    pthread_mutex_lock(&lock);
    uint32_t i = 1;
    while (i < CALLBACKS_MAX && callbacks[i] != old) {
        i++;
    }
    if (i < CALLBACKS_MAX) {
        callbacks[i] = new;
    }
    pthread_mutex_unlock(&lock);
    if (i == CALLBACKS_MAX) {
        return old == NULL ? snpu_fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "%s: too many callbacks", function)
                           : snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: the callback is not registered", function);
    }
    return 0;
}

int32_t snpu_exception_add(snpu_exception_fn callback)
{
    if (callback == NULL) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtExceptionInfoCallbackRegister: callback is NULL");
    }
    bool known = false;
    pthread_mutex_lock(&lock);
    for (uint32_t i = 1; i < CALLBACKS_MAX; i++) {
        known |= callbacks[i] == callback;
    }
    pthread_mutex_unlock(&lock);
    return known ? 0 : replace(NULL, callback, "aclrtExceptionInfoCallbackRegister");
}

int32_t snpu_exception_remove(snpu_exception_fn callback)
{
    if (callback == NULL) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtExceptionInfoCallbackUnregister: callback is NULL");
    }
    return replace(callback, NULL, "aclrtExceptionInfoCallbackUnregister");
}

int32_t snpu_exception_last(uint32_t dev)
{
    return dev < SNPU_MAX_DEVICES ? __atomic_load_n(&last_code[dev], __ATOMIC_ACQUIRE) : 0;
}

void snpu_exception_forget(uint32_t dev)
{
    __atomic_store_n(&last_code[dev], 0, __ATOMIC_RELEASE);
}

void snpu_task_note(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(note, sizeof(note), format, args);
    va_end(args);
}

bool snpu_exception_text(uint32_t dev, int32_t code, char *text, size_t text_b)
{
    bool known = false;
    if (snpu_exception_last(dev) == code) {
        pthread_mutex_lock(&lock);
        known = last_text[dev][0] != '\0';
        snprintf(text, text_b, "%s", last_text[dev]);
        pthread_mutex_unlock(&lock);
    }
    return known;
}

bool snpu_exception_active(const struct rtExceptionInfo *info)
{
    pthread_mutex_lock(&lock);
    const struct rtExceptionInfo *one = active;
    while (one != NULL && one != info) {
        one = one->next;
    }
    pthread_mutex_unlock(&lock);
    return one != NULL;
}

static void report_begin(struct rtExceptionInfo *info)
{
    pthread_mutex_lock(&lock);
    info->next = active;
    active = info;
    pthread_mutex_unlock(&lock);
}

static void report_end(struct rtExceptionInfo *info)
{
    pthread_mutex_lock(&lock);
    struct rtExceptionInfo **link = &active;
    while (*link != info) {
        link = &(*link)->next;
    }
    *link = info->next;
    pthread_mutex_unlock(&lock);
}

void snpu_exception_task_failed(const struct task_rec *rec, int32_t code)
{
    const struct snpu_task *task = &rec->task;
    uint32_t dev = task->stream->dev;
    __atomic_store_n(&last_code[dev], code, __ATOMIC_RELEASE);
    snpu_exception_fn copy[CALLBACKS_MAX];
    pthread_mutex_lock(&lock);
    memcpy(copy, callbacks, sizeof(copy));
    memcpy(last_text[dev], note, sizeof(note));
    pthread_mutex_unlock(&lock);
    note[0] = '\0';
    struct rtExceptionInfo info = {
        .task_id = task->id,
        .stream_id = task->stream->id,
        .thread_id = rec->tid,
        .device_id = (uint32_t)task->stream->ctx->user_dev,
        .code = (uint32_t)code,
    };
    if (task->kind->describe != NULL) {
        task->kind->describe(task->payload, &info.args, &info.args_b, &info.func);
    }
    report_begin(&info);
    for (uint32_t i = 0; i < CALLBACKS_MAX; i++) {
        if (copy[i] != NULL) {
            copy[i](&info);
        }
    }
    if (task->kind->failed != NULL) {
        task->kind->failed(task->payload, &info);
    }
    report_end(&info);
}
