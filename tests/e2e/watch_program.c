/* SPDX-License-Identifier: Apache-2.0 */
/* Runs four announced operators on memory that it watches; the third writes to it without announcing that. */
#include "acl/acl.h"
#include "agent/agent_v1.h"
#include "mstx/ms_tools_ext.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 4096 };

static void check(int good, const char *what)
{
    if (!good) {
        fprintf(stderr, "%s failed\n", what);
        exit(1);
    }
}

int main(void)
{
    void *memory = NULL;
    char host[SIZE];
    check(aclInit(NULL) == 0 && aclrtSetDevice(0) == 0, "aclInit");
    check(aclrtMalloc(&memory, 2 * SIZE, ACL_MEM_MALLOC_HUGE_FIRST) == 0, "aclrtMalloc");
    memset(host, 7, sizeof(host));
    check(aclrtMemcpy(memory, SIZE, host, SIZE, ACL_MEMCPY_HOST_TO_DEVICE) == 0, "aclrtMemcpy");
    const struct ms_agent_v1 *agent = dlsym(RTLD_DEFAULT, "ms_agent_v1");
    check(agent != NULL && agent->version == MS_AGENT_V1 && agent->size_b >= sizeof(*agent), "dlsym");
    uint64_t addr = (uintptr_t)memory;
    check(agent->watch_add(addr, SIZE, (struct ms_agent_text){"all", 3}, -1) == 0, "watch_add");
    check(agent->watch_add(addr + SIZE, SIZE, (struct ms_agent_text){"twice", 5}, 3) == 0, "watch_add");
    check(agent->watch_add(0, SIZE, (struct ms_agent_text){"none", 4}, -1) == -EINVAL, "watch_add of nothing");
    check(agent->watch_remove(addr + 1, 0) == -ENOENT, "watch_remove of nothing");
    for (int i = 0; i < 4; i++) {
        errno = 1234;
        mstxMarkA("memscope-aten-b: name=op", NULL);
        check(errno == 1234, "errno");
        if (i == 2) {
            memset(host, 9, sizeof(host));
            check(aclrtMemcpy(memory, SIZE, host, SIZE, ACL_MEMCPY_HOST_TO_DEVICE) == 0, "aclrtMemcpy");
        }
        errno = 1234;
        mstxMarkA("memscope-aten-e: name=op", NULL);
        check(errno == 1234, "errno");
    }
    check(agent->watch_remove(addr, SIZE) == 0 && agent->watch_remove(addr + SIZE, 0) == 0, "watch_remove");
    mstxMarkA("memscope-aten-b: name=unwatched", NULL);
    mstxMarkA("memscope-aten-e: name=unwatched", NULL);
    check(aclrtFree(memory) == 0 && aclrtResetDevice(0) == 0 && aclFinalize() == 0, "end");
    return 0;
}
