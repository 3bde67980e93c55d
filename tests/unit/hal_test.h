/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the tests of the driver library: a machine of their own, and children that are the test program itself
 * in another role. */
#ifndef HAL_TEST_H
#define HAL_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "ascend_hal.h"
#include "base/clock.h"
#include "base/macros.h"
#include "own_machine.h"
#include "softnpu/hal/hal_ext.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define KIB       ((uint64_t)1 << 10)
#define MIB       ((uint64_t)1 << 20)
#define GIB       ((uint64_t)1 << 30)
#define APP       ((unsigned long long)33 << MEM_MODULE_ID_BIT)
#define DEV_FLAGS (APP | MEM_DEV | MEM_TYPE_HBM)

/* Must be called first in main. A child of a test inherits the machine through the environment. */
static inline void hal_use_machine(const char *devices, const char *hbm)
{
    if (getenv("HAL_TEST_CHILD") == NULL) {
        own_machine_use(devices, hbm);
    }
}

struct hal_child {
    pid_t pid;
    FILE *to, *from;
};

/* Starts this program again as `role` with an argument; main must call hal_child_role first. */
static inline struct hal_child hal_spawn(const char *role, const char *argument)
{
    struct hal_child c;
    int down[2], up[2];
    assert_int_equal(pipe2(down, O_CLOEXEC), 0); /* otherwise a later child would keep the ends open */
    assert_int_equal(pipe2(up, O_CLOEXEC), 0);
    c.pid = fork();
    assert_true(c.pid >= 0);
    if (c.pid == 0) {
        dup2(down[0], 0);
        dup2(up[1], 1);
        setenv("HAL_TEST_CHILD", "1", 1);
        execl("/proc/self/exe", program_invocation_name, role, argument, (char *)NULL);
        _exit(127);
    }
    close(down[0]);
    close(up[1]);
    c.to = fdopen(down[1], "w");
    c.from = fdopen(up[0], "r");
    return c;
}

/* The next line that the child prints, without the newline. */
static inline const char *hal_hear(struct hal_child *c)
{
    static char line[512];
    assert_non_null(fgets(line, sizeof(line), c->from));
    line[strcspn(line, "\n")] = '\0';
    return line;
}

static inline void hal_tell(struct hal_child *c, const char *line)
{
    fprintf(c->to, "%s\n", line);
    fflush(c->to);
}

static inline int hal_end(struct hal_child *c)
{
    int status;
    fclose(c->to);
    fclose(c->from);
    assert_int_equal(waitpid(c->pid, &status, 0), c->pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* In the child: prints a line, reads one (returns it, NULL at the end). */
static inline void child_say(const char *line)
{
    printf("%s\n", line);
    fflush(stdout);
}

static inline const char *child_listen(void)
{
    static char line[512];
    if (fgets(line, sizeof(line), stdin) == NULL) {
        return NULL;
    }
    line[strcspn(line, "\n")] = '\0';
    return line;
}

static inline uint64_t used_b(uint32_t dev)
{
    struct MemInfo info;
    assert_int_equal(halMemGetInfo(dev, MEM_INFO_TYPE_HBM_SIZE, &info), 0);
    const struct MemPhyInfo *p = &info.phy_info;
    return p->total + p->huge_total - p->free - p->huge_free;
}

static inline void *must_alloc(uint64_t size_b, unsigned long long flag)
{
    void *p = NULL;
    assert_int_equal(halMemAlloc(&p, size_b, flag), DRV_ERROR_NONE);
    assert_non_null(p);
    return p;
}

#endif
