/* SPDX-License-Identifier: Apache-2.0 */
/* Error codes, their messages, and each thread's last error.
 *
 * Invariants: the message buffers are per thread and never allocated, so reporting a failure cannot fail.
 *
 * Threads and locks: thread-local state only.
 *
 * Failure policy: a message that does not fit is truncated. */
#include "softnpu/runtime/error.h"

#include "abi/aclnn_status.h"
#include "softnpu/runtime/codes.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "acl/acl_base.h"

#define TEXT_B 512

static __thread struct {
    char text[TEXT_B];
    bool fresh; /* not yet returned by aclGetRecentErrMsg */
    int32_t last;
} tls;

struct code {
    int32_t number;
    const char *name;
};

#define ROW(name, number) {number, #name},
static const struct code acl_codes[] = {SNPU_ACL_CODES(ROW)};
static const struct code aclnn_codes[] = {ABI_ACLNN_CODES(ROW)};
static const struct code drv_codes[] = {SNPU_DRV_CODES(ROW)};
#undef ROW

static const char *find_name(const struct code *table, size_t count, int32_t number)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (table[mid].number == number) {
            return table[mid].name;
        }
        if (table[mid].number < number) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return NULL;
}

const char *snpu_code_name(int32_t code)
{
    const char *name = find_name(acl_codes, MS_COUNT_OF(acl_codes), code);
    name = name != NULL ? name : find_name(aclnn_codes, MS_COUNT_OF(aclnn_codes), code);
    return name != NULL ? name : "unknown";
}

int32_t snpu_fail(int32_t code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    /* The code comes first: a reader who sees only the message can look it up. */
    int used = snprintf(tls.text, TEXT_B, "E%06d %s: ", code, snpu_code_name(code));
    if (used > 0 && used < TEXT_B) {
        vsnprintf(tls.text + used, TEXT_B - (size_t)used, format, args);
    }
    va_end(args);
    tls.fresh = true;
    tls.last = code;
    return code;
}

const char *snpu_take_message(void)
{
    if (!tls.fresh) {
        return NULL;
    }
    tls.fresh = false;
    return tls.text;
}

void snpu_set_last_error(int32_t code)
{
    tls.last = code;
}

int32_t snpu_get_last_error(int take)
{
    int32_t code = tls.last;
    if (take) {
        tls.last = 0;
    }
    return code;
}

/* Driver results with an ACL code of their own; all others become a generic driver error. */
static const struct {
    int drv;
    int32_t code;
} drv_map[] = {
    {1, ACL_ERROR_RT_INVALID_DEVICEID},     {2, ACL_ERROR_RT_INVALID_DEVICEID},
    {3, ACL_ERROR_RT_PARAM_INVALID},        {4, ACL_ERROR_RT_INVALID_HANDLE},
    {5, ACL_ERROR_RT_INVALID_MALLOC_TYPE},  {6, ACL_ERROR_RT_MEMORY_ALLOCATION},
    {8, ACL_ERROR_RT_PARAM_INVALID},        {14, ACL_ERROR_RT_RESOURCE_ALLOC_FAIL},
    {16, ACL_ERROR_RT_STREAM_SYNC_TIMEOUT}, {30, ACL_ERROR_RT_LOST_HEARTBEAT},
    {46, ACL_ERROR_RT_NO_PERMISSION},       {47, ACL_ERROR_RT_NO_EVENT_RESOURCE},
    {48, ACL_ERROR_RT_NO_STREAM_RESOURCE},  {49, ACL_ERROR_RT_NO_NOTIFY_RESOURCE},
    {50, ACL_ERROR_RT_NO_MODEL_RESOURCE},   {69, ACL_ERROR_RT_NO_PERMISSION},
    {88, ACL_ERROR_RT_NO_PERMISSION},       {0xfffe, ACL_ERROR_RT_FEATURE_NOT_SUPPORT},
};

int32_t snpu_from_drv(int drv_result, const char *what)
{
    if (drv_result == 0) {
        return 0;
    }
    int32_t code = ACL_ERROR_RT_DRV_INTERNAL_ERROR;
    for (size_t i = 0; i < MS_COUNT_OF(drv_map); i++) {
        if (drv_map[i].drv == drv_result) {
            code = drv_map[i].code;
            break;
        }
    }
    const char *name = find_name(drv_codes, MS_COUNT_OF(drv_codes), drv_result);
    return snpu_fail(code, "%s: driver error %d (%s)", what, drv_result, name != NULL ? name : "unknown");
}
