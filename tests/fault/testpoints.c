/* SPDX-License-Identifier: Apache-2.0 */
/* Kills the process at a labelled point of the recorder (src/trace/testpoint.h):
 *
 *     MSMEMSCOPE_TEST_POINT=LABEL:N      when a thread reaches it for the N-th time */
#include "trace/testpoint.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static char label[32];
static long left;

static void kill_here(const char *here)
{
    if (strcmp(here, label) == 0 && __atomic_sub_fetch(&left, 1, __ATOMIC_RELAXED) == 0) {
        syscall(SYS_kill, syscall(SYS_getpid), SIGKILL);
    }
}

static __attribute__((constructor)) void read_wish(void)
{
    const char *wish = getenv("MSMEMSCOPE_TEST_POINT");
    const char *colon = wish != NULL ? strchr(wish, ':') : NULL;
    if (colon != NULL && (size_t)(colon - wish) < sizeof(label)) {
        memcpy(label, wish, (size_t)(colon - wish));
        left = atol(colon + 1);
        ms_testpoint_hook = kill_here;
    }
}
