/* SPDX-License-Identifier: Apache-2.0 */
/* Loads opapi_kernels.so through the public interface, as the vendor's operator library loads its kernels.
 *
 * Search order: ASCEND_OPP_PATH, the installation that this library was loaded from, ASCEND_HOME_PATH. The binary is
 * unloaded when ACL or the operators are finalised, and loaded again by the next operator. Threads: one lock around
 * loading and the table of handles. Failure policy: a failed load is not cached; the next operator tries again. */
#include "softnpu/aclnn/kernel_binary.h"

#include "base/map.h"
#include "softnpu/aclnn/nn.h"
#include "softnpu/runtime/error.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BINARY "built-in/op_impl/ai_core/tbe/kernel/opapi_kernels.so"

enum { PATH_B = 4096 };

/* Innermost lock of this library; locks of ACL and of the runtime may be taken while it is held. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *binary;
static struct ms_map kernels; /* function handles by hash of the name */
static bool is_registered;    /* the finalize callback is registered */

static bool exists(char *path, const char *folder, const char *rest)
{
    int n = folder != NULL && folder[0] != '\0' ? snprintf(path, PATH_B, "%s/%s" BINARY, folder, rest) : 0;
    return n > 0 && n < PATH_B && access(path, R_OK) == 0;
}

static bool find_binary(char *path)
{
    if (exists(path, getenv("ASCEND_OPP_PATH"), "")) {
        return true;
    }
    Dl_info self;
    char folder[PATH_B];
    if (dladdr((void *)find_binary, &self) != 0 && self.dli_fname != NULL && strlen(self.dli_fname) < PATH_B) {
        strcpy(folder, self.dli_fname);
        char *slash = strrchr(folder, '/');
        if (slash != NULL) {
            *slash = '\0';
            /* <home>/lib64 is a link to <home>/<arch>-linux/lib64. */
            if (exists(path, folder, "../opp/") || exists(path, folder, "../../opp/")) {
                return true;
            }
        }
    }
    return exists(path, getenv("ASCEND_HOME_PATH"), "opp/");
}

void nn_kernel_release(void)
{
    pthread_mutex_lock(&lock);
    void *old = binary;
    binary = NULL;
    ms_map_free(&kernels);
    pthread_mutex_unlock(&lock);
    if (old != NULL) {
        aclrtBinaryUnLoad(old); /* queued launches keep the code loaded */
    }
}

static aclError on_finalize(void *unused)
{
    nn_kernel_release();
    return ACL_SUCCESS;
}

/* This library is unloaded before those it depends on: it removes its registrations there. */
__attribute__((destructor)) static void leave(void)
{
    if (is_registered) {
        aclFinalizeCallbackUnRegister(ACL_REG_TYPE_ACL_OP_EXECUTOR, on_finalize);
        nn_kernel_release();
    }
}

static aclnnStatus load(void)
{
    char path[PATH_B];
    if (!find_binary(path)) {
        return snpu_fail(ACLNN_ERR_RUNTIME_ERROR, "operator binary %s not found; ASCEND_OPP_PATH is %s", BINARY,
                         getenv("ASCEND_OPP_PATH") != NULL ? getenv("ASCEND_OPP_PATH") : "not set");
    }
    aclError error = aclrtBinaryLoadFromFile(path, NULL, &binary);
    if (error != ACL_SUCCESS) {
        binary = NULL;
        return ACLNN_ERR_RUNTIME_ERROR; /* the runtime has set the message */
    }
    if (!is_registered) {
        is_registered = aclFinalizeCallbackRegister(ACL_REG_TYPE_ACL_OP_EXECUTOR, on_finalize, NULL) == ACL_SUCCESS;
    }
    return ACLNN_SUCCESS;
}

/* FNV-1a: a few hundred fixed names, so collisions are not expected. */
static uint64_t hash_name(const char *name)
{
    uint64_t hash = 0xcbf29ce484222325ull;
    for (; *name != '\0'; name++) {
        hash = (hash ^ (unsigned char)*name) * 0x100000001b3ull;
    }
    return hash;
}

aclnnStatus nn_kernel_find(const char *name, void **function)
{
    aclnnStatus status = ACLNN_SUCCESS;
    pthread_mutex_lock(&lock);
    const uint64_t key = hash_name(name);
    const uint64_t *known = ms_map_get(&kernels, key);
    if (known != NULL) {
        *function = (void *)(uintptr_t)*known;
        goto out;
    }
    if (binary == NULL) {
        status = load();
        if (status != ACLNN_SUCCESS) {
            goto out;
        }
    }
    if (aclrtBinaryGetFunction(binary, name, function) != ACL_SUCCESS) {
        status = ACLNN_ERR_RUNTIME_ERROR;
        goto out;
    }
    ms_map_put(&kernels, key, (uintptr_t)*function); /* without memory, the next launch looks it up again */
out:
    pthread_mutex_unlock(&lock);
    return status;
}
