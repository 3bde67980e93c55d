/* SPDX-License-Identifier: Apache-2.0 */
/* Which device and stream an event belongs to.
 *
 * Device numbers: the driver has its own; programs see them through ASCEND_RT_VISIBLE_DEVICES. Records use the
 * driver's. The list is read when the first number is translated: by then the runtime has read it too, whereas at load
 * time the program may not have set it yet. Threads: two may read it at once and get the same result.
 *
 * The current device and stream ids are queried through runtime functions that are not hooked; they read a thread-local
 * value and look into a table. Without a runtime, the search for these functions backs off. */
#include "agent/agent.h"

#include "agent/hooks.h"

#include <errno.h>
#include <stdlib.h>

/* ---- visible devices ---- */

#define DEVICES_MAX 64

static uint32_t visible[DEVICES_MAX];
static unsigned visible_known;

static void read_visible(void)
{
    for (uint32_t i = 0; i < DEVICES_MAX; i++) {
        __atomic_store_n(&visible[i], i, __ATOMIC_RELAXED);
    }
    const char *s = getenv("ASCEND_RT_VISIBLE_DEVICES");
    for (uint32_t user = 0; s != NULL && user < DEVICES_MAX && *s >= '0' && *s <= '9'; user++) {
        uint32_t number = 0;
        for (; *s >= '0' && *s <= '9' && number < DEVICES_MAX; s++) {
            number = number * 10 + (uint32_t)(*s - '0');
        }
        if (number >= DEVICES_MAX) {
            break; /* the runtime stops here too */
        }
        __atomic_store_n(&visible[user], number, __ATOMIC_RELAXED);
        if (*s != ',') {
            break;
        }
        s++;
    }
    __atomic_store_n(&visible_known, 1, __ATOMIC_RELEASE);
}

uint32_t ms_device_of_user(uint32_t user)
{
    if (MS_UNLIKELY(__atomic_load_n(&visible_known, __ATOMIC_ACQUIRE) == 0)) {
        read_visible();
    }
    return user < DEVICES_MAX ? __atomic_load_n(&visible[user], __ATOMIC_RELAXED) : user;
}

/* ---- functions of the runtime ---- */

struct lookup {
    enum ms_library library;
    const char *symbol;
    ms_function function;
    uint32_t misses; /* calls without success; the search is repeated after 1, 2, 4, 8 ... of them */
};

static ms_function look_up(struct lookup *l)
{
    ms_function function = __atomic_load_n(&l->function, __ATOMIC_RELAXED);
    if (MS_LIKELY(function != NULL)) {
        return function;
    }
    uint32_t misses = __atomic_add_fetch(&l->misses, 1, __ATOMIC_RELAXED);
    if ((misses & (misses - 1)) != 0) {
        return NULL;
    }
    function = ms_resolve_symbol(l->library, l->symbol);
    __atomic_store_n(&l->function, function, __ATOMIC_RELAXED);
    return function;
}

uint32_t ms_device_current(void)
{
    static struct lookup impl = {.library = MS_LIBRARY_ACL_IMPL, .symbol = "aclrtGetDeviceImpl"};
    static struct lookup rt = {.library = MS_LIBRARY_RUNTIME, .symbol = "rtGetDevice"};
    ms_function function = look_up(&impl);
    if (function == NULL) {
        function = look_up(&rt);
    }
    int error = errno;
    int32_t device = -1;
    ms_self.suppressed++;
    if (function == NULL || ((int32_t(*)(int32_t *))function)(&device) != 0) {
        device = -1;
    }
    ms_self.suppressed--;
    errno = error;
    return device < 0 ? MS_DEV_UNKNOWN : ms_device_of_user((uint32_t)device);
}

int64_t ms_stream_id(void *stream)
{
    static struct lookup impl = {.library = MS_LIBRARY_ACL_IMPL, .symbol = "aclrtStreamGetIdImpl"};
    ms_function function = stream != NULL ? look_up(&impl) : NULL;
    if (function == NULL) {
        return -1;
    }
    int error = errno;
    int32_t id = -1;
    ms_self.suppressed++;
    if (((int32_t(*)(void *, int32_t *))function)(stream, &id) != 0) {
        id = -1;
    }
    ms_self.suppressed--;
    errno = error;
    return id;
}
