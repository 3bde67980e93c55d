/* SPDX-License-Identifier: Apache-2.0 */
/* aclInit, aclFinalize and their callbacks.
 *
 * Invariants: `count` is the number of aclInit calls since the last complete finalisation.
 *
 * Threads and locks: one lock for the count and the lists; callbacks run without it.
 *
 * Failure policy: a failing callback makes aclInit or aclFinalize fail with its code; an unreadable configuration
 * changes nothing. */
#include "softnpu/acl/impl.h"

#include "base/parse.h"
#include "softnpu/acl/json.h"
#include "softnpu/runtime/context_life.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CALLBACKS_MAX 64
#define CONFIG_MAX_B  (10u << 20)

struct life_callback {
    aclRegisterCallbackType type;
    aclInitCallbackFunc init;
    aclFinalizeCallbackFunc finalize;
    void *data;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t count;
static struct life_callback entries[CALLBACKS_MAX];
static uint32_t entry_count;
static char *config; /* text of the configuration, "" if there is none */

static aclError read_config(const char *path, char **out)
{
    char *text = strdup("");
    if (path != NULL && *path != '\0') {
        FILE *file = fopen(path, "rb");
        long size = -1;
        if (file == NULL || fseek(file, 0, SEEK_END) != 0 || (size = ftell(file)) < 0 || size > (long)CONFIG_MAX_B) {
            if (file != NULL) {
                fclose(file);
            }
            free(text);
            return snpu_fail(ACL_ERROR_INVALID_FILE, "aclInit: cannot read %s%s", path,
                             size > (long)CONFIG_MAX_B ? ": file too large" : "");
        }
        rewind(file);
        free(text);
        text = malloc((size_t)size + 1);
        size_t got = text != NULL ? fread(text, 1, (size_t)size, file) : 0;
        fclose(file);
        if (text != NULL) {
            text[got] = '\0';
            size_t bad;
            /* An empty file is a configuration without entries. */
            if (strspn(text, " \t\r\n") != got && !json_valid(text, &bad)) {
                free(text);
                return snpu_fail(ACL_ERROR_PARSE_FILE, "aclInit: %s is not valid JSON at byte %zu", path, bad);
            }
        }
    }
    if (text == NULL) {
        return snpu_fail(ACL_ERROR_BAD_ALLOC, "aclInit: out of host memory");
    }
    *out = text;
    return ACL_SUCCESS;
}

/* "defaultDevice": {"default_device": "0"}: the device of threads that call no aclrtSetDevice. */
static aclError set_default_device(const char *path, const char *text)
{
    const char *section = json_member(text, "defaultDevice");
    const char *entry = section != NULL ? json_member(section, "default_device") : NULL;
    char number[16];
    uint64_t device = 0;
    if (entry == NULL) {
        return snpu_device_set_default("aclInit", -1);
    }
    if (!json_scalar(entry, number, sizeof(number)) || ms_parse_u64(number, 0, INT32_MAX, &device) != 0) {
        return snpu_fail(ACL_ERROR_INVALID_PARAM, "aclInit: %s: defaultDevice.default_device is not a device number",
                         path);
    }
    return snpu_device_set_default("aclInit", (int32_t)device);
}

aclError aclInitImpl(const char *configPath)
{
    char *text = NULL;
    pthread_mutex_lock(&lock);
    if (count > 0) {
        count++;
        pthread_mutex_unlock(&lock);
        return snpu_fail(ACL_ERROR_REPEAT_INITIALIZE, "aclInit: already initialised");
    }
    pthread_mutex_unlock(&lock);
    aclError ret = read_config(configPath, &text);
    if (ret == ACL_SUCCESS && (ret = set_default_device(configPath, text)) != ACL_SUCCESS) {
        free(text);
    }
    if (ret != ACL_SUCCESS) {
        return ret;
    }
    snpu_prof_init();
    struct life_callback copy[CALLBACKS_MAX];
    pthread_mutex_lock(&lock);
    if (count++ > 0) { /* another thread was faster */
        pthread_mutex_unlock(&lock);
        free(text);
        return snpu_fail(ACL_ERROR_REPEAT_INITIALIZE, "aclInit: already initialised");
    }
    free(config);
    config = text;
    uint32_t n = entry_count;
    memcpy(copy, entries, sizeof(copy));
    pthread_mutex_unlock(&lock);
    for (uint32_t i = 0; i < n; i++) {
        if (copy[i].init != NULL && (ret = copy[i].init(text, strlen(text), copy[i].data)) != ACL_SUCCESS) {
            pthread_mutex_lock(&lock);
            count = 0;
            pthread_mutex_unlock(&lock);
            return snpu_fail(ret, "aclInit: the init callback of type %d failed", (int)copy[i].type);
        }
    }
    return ACL_SUCCESS;
}

/* The last reference is gone: runs the finalize callbacks. */
static aclError finish(const char *function)
{
    struct life_callback copy[CALLBACKS_MAX];
    pthread_mutex_lock(&lock);
    uint32_t n = entry_count;
    memcpy(copy, entries, sizeof(copy));
    pthread_mutex_unlock(&lock);
    aclError ret = snpu_device_set_default(function, -1);
    for (uint32_t i = 0; i < n; i++) {
        aclError one = copy[i].finalize != NULL ? copy[i].finalize(copy[i].data) : ACL_SUCCESS;
        if (one != ACL_SUCCESS && ret == ACL_SUCCESS) {
            ret = snpu_fail(one, "%s: the finalize callback of type %d failed", function, (int)copy[i].type);
        }
    }
    return ret;
}

aclError aclFinalizeImpl(void)
{
    pthread_mutex_lock(&lock);
    uint64_t before = count;
    count = 0;
    pthread_mutex_unlock(&lock);
    if (before == 0) {
        return snpu_fail(ACL_ERROR_REPEAT_FINALIZE, "aclFinalize: not initialised, or already finalised");
    }
    return finish("aclFinalize");
}

aclError aclFinalizeReferenceImpl(uint64_t *refCount)
{
    pthread_mutex_lock(&lock);
    uint64_t before = count;
    count -= before > 0;
    pthread_mutex_unlock(&lock);
    if (refCount != NULL) {
        *refCount = before > 0 ? before - 1 : 0;
    }
    if (before == 0) {
        return snpu_fail(ACL_ERROR_REPEAT_FINALIZE, "aclFinalizeReference: not initialised, or already finalised");
    }
    return before == 1 ? finish("aclFinalizeReference") : ACL_SUCCESS;
}

/* ---- callbacks ---- */

static bool type_known(aclRegisterCallbackType type)
{
    return (type >= ACL_REG_TYPE_ACL_MODEL && type <= ACL_REG_TYPE_ACL_RETR) || type == ACL_REG_TYPE_OTHER;
}

static aclError add(const char *function, struct life_callback entry)
{
    if (!type_known(entry.type) || (entry.init == NULL && entry.finalize == NULL)) {
        return snpu_fail(ACL_ERROR_INVALID_PARAM, "%s: invalid type %d, or cbFunc is NULL", function, (int)entry.type);
    }
    aclError ret = ACL_SUCCESS;
    pthread_mutex_lock(&lock);
    if (entry_count == CALLBACKS_MAX) {
        ret = snpu_fail(ACL_ERROR_STORAGE_OVER_LIMIT, "%s: the limit of %d callbacks is reached", function,
                        CALLBACKS_MAX);
    } else {
        entries[entry_count++] = entry;
    }
    pthread_mutex_unlock(&lock);
    return ret;
}

static aclError take(const char *function, struct life_callback entry)
{
    aclError ret = ACL_SUCCESS;
    pthread_mutex_lock(&lock);
    uint32_t i = 0;
    while (i < entry_count &&
           (entries[i].type != entry.type || entries[i].init != entry.init || entries[i].finalize != entry.finalize)) {
        i++;
    }
    if (i == entry_count) {
        ret = snpu_fail(ACL_ERROR_INVALID_PARAM, "%s: this callback is not registered", function);
    } else {
        memmove(&entries[i], &entries[i + 1], (entry_count - i - 1) * sizeof(entries[0]));
        entry_count--;
    }
    pthread_mutex_unlock(&lock);
    return ret;
}

aclError aclInitCallbackRegisterImpl(aclRegisterCallbackType type, aclInitCallbackFunc cbFunc, void *userData)
{
    aclError ret =
        add("aclInitCallbackRegister", (struct life_callback){.type = type, .init = cbFunc, .data = userData});
    pthread_mutex_lock(&lock);
    const char *text = count > 0 ? config : NULL;
    pthread_mutex_unlock(&lock);
    if (ret == ACL_SUCCESS && text != NULL) { /* registered after aclInit: called at once */
        ret = cbFunc(text, strlen(text), userData);
        if (ret != ACL_SUCCESS) {
            snpu_fail(ret, "aclInitCallbackRegister: the callback returned %d", ret);
        }
    }
    return ret;
}

aclError aclInitCallbackUnRegisterImpl(aclRegisterCallbackType type, aclInitCallbackFunc cbFunc)
{
    return take("aclInitCallbackUnRegister", (struct life_callback){.type = type, .init = cbFunc});
}

aclError aclFinalizeCallbackRegisterImpl(aclRegisterCallbackType type, aclFinalizeCallbackFunc cbFunc, void *userData)
{
    return add("aclFinalizeCallbackRegister",
               (struct life_callback){.type = type, .finalize = cbFunc, .data = userData});
}

aclError aclFinalizeCallbackUnRegisterImpl(aclRegisterCallbackType type, aclFinalizeCallbackFunc cbFunc)
{
    return take("aclFinalizeCallbackUnRegister", (struct life_callback){.type = type, .finalize = cbFunc});
}
