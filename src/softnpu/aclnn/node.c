/* SPDX-License-Identifier: Apache-2.0 */
/* Names of operator nodes as profilers show them: operator, kernel, where it runs ("aclnnAdd_AddAiCore_Add").
 *
 * Profilers keep the pointer, so a name is made once and never freed. Threads: any; a leaf lock protects the list, which
 * is used only while a profiler collects. Failure policy: without memory the kernel's name is the node's name. */
#include "softnpu/aclnn/nn.h"

#include "base/intern.h"

#include <pthread.h>
#include <stdio.h>

const char *nn_node_name(const char *op, const char *kernel)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct ms_intern names;
    char text[256];
    const int length = snprintf(text, sizeof text, "%s_%sAiCore_%s", op, kernel, kernel);
    if (length <= 0 || (size_t)length >= sizeof text) {
        return kernel;
    }
    pthread_mutex_lock(&lock);
    const uint32_t id = ms_intern(&names, text, (size_t)length);
    const char *name = id != 0 ? ms_intern_get(&names, id).s : kernel;
    pthread_mutex_unlock(&lock);
    return name;
}
