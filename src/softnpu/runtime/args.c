/* SPDX-License-Identifier: Apache-2.0 */
/* Argument lists built piece by piece; see args.h.
 *
 * A runtime-owned list lives in a slab. The interface has no call to free it, and a program may launch it any number of
 * times, changing parameters in between. When the slab is full, the oldest list that has been launched is recycled: a
 * program that creates one list per launch never runs out, and a program may keep thousands. A list in the program's
 * memory is recognised by its mark.
 *
 * Threads and locks: a list belongs to the thread that builds it. lists.lock protects the age order of the lists.
 * Failure: 107000 with a message. */
#include "softnpu/runtime/args.h"

#include "base/slab.h"
#include "softnpu/runtime/error.h"
#include "softnpu/runtime/launch.h"
#include "softnpu/runtime/memory.h"

#include "acl/acl.h"
#include "runtime/rt.h"

#include <stdlib.h>
#include <string.h>

#define OWN_BUFFER_B (16u * 1024)
#define MAX_LISTS    4096
#define LIST_MARK    UINT64_C(0x747369736772616b) /* "kargsist" */

struct param {
    uint32_t off, size_b;
    uint32_t data_off, data_b; /* of a placeholder */
    uint8_t placeholder;
};

struct args_list {
    uint64_t mark;
    struct snpu_func *func;
    char *buffer;
    uint32_t buffer_b;
    uint32_t used_b;
    uint32_t count;
    uint8_t own, has_data, finished, launched;
    uint32_t older, newer; /* slab numbers + 1, of runtime-owned lists */
    struct param params[SNPU_MAX_PARAMS];
};

struct own_args_list {
    struct args_list list;
    _Alignas(64) char buffer[OWN_BUFFER_B];
};

static struct {
    struct ms_slab slab;
    pthread_mutex_t lock;
    uint32_t oldest, newest; /* slab numbers + 1 */
} lists = {
    .slab = {.object_b = sizeof(struct own_args_list),
             .zero_b = offsetof(struct args_list, params), /* params are written before they are read */
             .max_objects = MAX_LISTS,
             .quarantine = 16,
             .lock = PTHREAD_MUTEX_INITIALIZER},
    .lock = PTHREAD_MUTEX_INITIALIZER,
};

/* ---- runtime-owned lists, by age ---- */
static struct args_list *by_number(uint32_t number)
{
    return number == 0 ? NULL : ms_slab_at(&lists.slab, number - 1);
}

static void age_link(struct args_list *list)
{
    uint32_t number = ms_slab_index(&lists.slab, list) + 1;
    struct args_list *newest = by_number(lists.newest);
    list->older = lists.newest;
    if (newest != NULL) {
        newest->newer = number;
    } else {
        lists.oldest = number;
    }
    lists.newest = number;
}

static void age_unlink(struct args_list *list)
{
    struct args_list *older = by_number(list->older), *newer = by_number(list->newer);
    if (older != NULL) {
        older->newer = list->newer;
    } else {
        lists.oldest = list->newer;
    }
    if (newer != NULL) {
        newer->older = list->older;
    } else {
        lists.newest = list->older;
    }
}

static struct args_list *own_list_new(void)
{
    pthread_mutex_lock(&lists.lock);
    if (ms_slab_live(&lists.slab) == MAX_LISTS) {
        struct args_list *old = by_number(lists.oldest);
        while (old != NULL && !__atomic_load_n(&old->launched, __ATOMIC_RELAXED)) {
            old = by_number(old->newer);
        }
        if (old != NULL) {
            age_unlink(old);
            ms_slab_free(&lists.slab, old);
        }
    }
    struct own_args_list *made = ms_slab_alloc(&lists.slab);
    if (made != NULL) {
        age_link(&made->list);
    }
    pthread_mutex_unlock(&lists.lock);
    return made != NULL ? &made->list : NULL;
}

static struct args_list *list_of(const char *function, void *handle)
{
    struct args_list *list = handle;
    bool known = ms_slab_check(&lists.slab, handle) ||
                 (handle != NULL && (uintptr_t)handle % _Alignof(struct args_list) == 0 &&
                  snpu__mem_touchable(handle, sizeof(*list), SNPU_WRITE) && list->mark == LIST_MARK && !list->own);
    if (!known) {
        snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: %p is not an argument list", function, handle);
        return NULL;
    }
    return list;
}

/* ---- creation ---- */
static int32_t start(const char *function, struct args_list *list, struct snpu_func *func, void *buffer,
                     size_t buffer_b, bool own)
{
    if (list == NULL) {
        return snpu_fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "%s: all %d argument lists are waiting to be launched",
                         function, MAX_LISTS);
    }
    list->mark = LIST_MARK;
    list->func = func;
    list->buffer = buffer;
    list->buffer_b = (uint32_t)buffer_b;
    list->own = own;
    return 0;
}

int32_t snpu_args_new(void *handle, void **out)
{
    static const char function[] = "aclrtKernelArgsInit";
    struct snpu_func *func = snpu__func_of(function, handle);
    if (func == NULL) {
        return ACL_ERROR_RT_PARAM_INVALID;
    }
    struct args_list *list = own_list_new();
    int32_t code =
        start(function, list, func, list != NULL ? ((struct own_args_list *)list)->buffer : NULL, OWN_BUFFER_B, true);
    if (code == 0) {
        *out = list;
    }
    return code;
}

int32_t snpu_args_in_memory(void *handle, void *where, void *buffer, size_t buffer_b)
{
    static const char function[] = "aclrtKernelArgsInitByUserMem";
    struct snpu_func *func = snpu__func_of(function, handle);
    if (func == NULL) {
        return ACL_ERROR_RT_PARAM_INVALID;
    }
    if (buffer_b == 0 || buffer_b > SNPU_PAYLOAD_MAX || (uintptr_t)where % _Alignof(struct args_list) != 0) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: %zu bytes of arguments, list at %p", function, buffer_b,
                         where);
    }
    int32_t code = snpu__mem_check(function, "argsHandle", where, sizeof(struct args_list), SNPU_WRITE);
    if (code == 0) {
        code = snpu__mem_check(function, "userHostMem", buffer, buffer_b, SNPU_WRITE);
    }
    if (code != 0) {
        return code;
    }
    memset(where, 0, sizeof(struct args_list));
    return start(function, where, func, buffer, buffer_b, false);
}

int32_t snpu_args_sizes(void *handle, size_t params_b, size_t *buffer_b, size_t *list_b)
{
    if (snpu__func_of("aclrtKernelArgsGetMemSize", handle) == NULL) {
        return ACL_ERROR_RT_PARAM_INVALID;
    }
    if (buffer_b != NULL) {
        *buffer_b = MS_ROUND_UP(params_b, 8);
    }
    if (list_b != NULL) {
        *list_b = sizeof(struct args_list);
    }
    return 0;
}

/* ---- parameters ---- */
static struct param *param_new(const char *function, struct args_list *list, size_t size_b)
{
    size_t free_b = list->buffer_b - list->used_b;
    if (list->has_data) {
        snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: parameter appended after placeholder data", function);
        return NULL;
    }
    if (list->count == SNPU_MAX_PARAMS || size_b == 0 || size_b > free_b || MS_ROUND_UP(size_b, 8) > free_b) {
        snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: no space for parameter %u of %zu bytes", function, list->count,
                  size_b);
        return NULL;
    }
    struct param *param = &list->params[list->count++];
    *param = (struct param){.off = list->used_b, .size_b = (uint32_t)size_b};
    list->used_b += (uint32_t)MS_ROUND_UP(size_b, 8);
    list->finished = false;
    return param;
}

static struct param *param_of(const char *function, struct args_list *list, void *handle)
{
    uintptr_t off = (uintptr_t)handle - (uintptr_t)list->params;
    if (off % sizeof(struct param) != 0 || off / sizeof(struct param) >= list->count) {
        snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: %p is not a parameter of this list", function, handle);
        return NULL;
    }
    return handle;
}

int32_t snpu_args_append(void *handle, const void *value, size_t value_b, void **out)
{
    static const char function[] = "aclrtKernelArgsAppend";
    struct args_list *list = list_of(function, handle);
    struct param *param = list != NULL ? param_new(function, list, value_b) : NULL;
    if (param == NULL) {
        return ACL_ERROR_RT_PARAM_INVALID;
    }
    memcpy(list->buffer + param->off, value, value_b);
    *out = param;
    return 0;
}

int32_t snpu_args_append_placeholder(void *handle, void **out)
{
    static const char function[] = "aclrtKernelArgsAppendPlaceHolder";
    struct args_list *list = list_of(function, handle);
    struct param *param = list != NULL ? param_new(function, list, sizeof(void *)) : NULL;
    if (param == NULL) {
        return ACL_ERROR_RT_PARAM_INVALID;
    }
    memset(list->buffer + param->off, 0, sizeof(void *));
    param->placeholder = true;
    *out = param;
    return 0;
}

int32_t snpu_args_placeholder_buffer(void *handle, void *param_handle, size_t size_b, void **out)
{
    static const char function[] = "aclrtKernelArgsGetPlaceHolderBuffer";
    struct args_list *list = list_of(function, handle);
    struct param *param = list != NULL ? param_of(function, list, param_handle) : NULL;
    if (param == NULL) {
        return ACL_ERROR_RT_PARAM_INVALID;
    }
    if (!param->placeholder) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: the parameter is not a placeholder", function);
    }
    if (param->data_b < size_b || size_b == 0) { /* otherwise a repeated call: return the same buffer */
        size_t free_b = list->buffer_b - list->used_b;
        if (size_b == 0 || size_b > free_b || MS_ROUND_UP(size_b, 8) > free_b) {
            return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: %zu bytes requested, %zu available", function, size_b,
                             free_b);
        }
        param->data_off = list->used_b;
        param->data_b = (uint32_t)size_b;
        list->used_b += (uint32_t)MS_ROUND_UP(size_b, 8);
        list->has_data = true;
    }
    *out = list->buffer + param->data_off;
    return 0;
}

int32_t snpu_args_update(void *handle, void *param_handle, const void *value, size_t value_b)
{
    static const char function[] = "aclrtKernelArgsParaUpdate";
    struct args_list *list = list_of(function, handle);
    struct param *param = list != NULL ? param_of(function, list, param_handle) : NULL;
    if (param == NULL) {
        return ACL_ERROR_RT_PARAM_INVALID;
    }
    if (param->placeholder || value_b != param->size_b) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: %zu bytes for a parameter of %u bytes", function, value_b,
                         param->placeholder ? 0 : param->size_b);
    }
    memcpy(list->buffer + param->off, value, value_b);
    return 0;
}

int32_t snpu_args_finish(void *handle)
{
    static const char function[] = "aclrtKernelArgsFinalize";
    struct args_list *list = list_of(function, handle);
    if (list == NULL) {
        return ACL_ERROR_RT_PARAM_INVALID;
    }
    for (uint32_t i = 0; i < list->count; i++) {
        if (list->params[i].placeholder && list->params[i].data_b == 0) {
            return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: placeholder %u has no data", function, i);
        }
    }
    list->finished = true;
    return 0;
}

/* ---- launch ---- */
int32_t snpu__args_for_launch(const char *function, void *handle, struct snpu_launch *launch,
                              struct snpu_patch *patches)
{
    struct args_list *list = list_of(function, handle);
    if (list == NULL) {
        return ACL_ERROR_RT_PARAM_INVALID;
    }
    if (!list->finished) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: the argument list is not finalised", function);
    }
    launch->args = list->buffer;
    launch->args_b = list->used_b;
    launch->patches = patches;
    launch->patch_count = 0;
    for (uint32_t i = 0; i < list->count && list->has_data; i++) {
        if (list->params[i].placeholder) {
            patches[launch->patch_count++] = (struct snpu_patch){list->params[i].off, list->params[i].data_off};
        }
    }
    __atomic_store_n(&list->launched, 1, __ATOMIC_RELAXED);
    return 0;
}
