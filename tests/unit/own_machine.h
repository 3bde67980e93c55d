/* SPDX-License-Identifier: Apache-2.0 */
/* A machine for this test program alone, removed when the program exits. */
#ifndef TESTS_OWN_MACHINE_H
#define TESTS_OWN_MACHINE_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char own_machine_path[160];
static pid_t own_machine_pid;

static inline void own_machine_remove(void)
{
    if (getpid() == own_machine_pid) { /* forked children run exit handlers too */
        unlink(own_machine_path);
    }
}

/* Sets the machine in the environment, for children or for this program if it executes itself; clears all other
 * settings that affect it. hbm NULL: default size. */
static inline void own_machine_name(const char *devices, const char *hbm)
{
    static const char *const others[] = {"SOFTNPU_HBM", "SOFTNPU_SOC", "SOFTNPU_FAULT", "SOFTNPU_CONTEXT_B"};
    char name[64];
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        unsetenv(others[i]);
    }
    snprintf(name, sizeof(name), "%.40s-%d", program_invocation_short_name, (int)getpid());
    setenv("SOFTNPU_MACHINE", name, 1);
    setenv("SOFTNPU_DEVICES", devices, 1);
    if (hbm != NULL) {
        setenv("SOFTNPU_HBM", hbm, 1);
    }
}

/* Removes the environment's machine when this process exits. */
static inline void own_machine_keep(void)
{
    own_machine_pid = getpid();
    snprintf(own_machine_path, sizeof(own_machine_path), "/dev/shm/softnpu-%u-%s", (unsigned)geteuid(),
             getenv("SOFTNPU_MACHINE"));
    atexit(own_machine_remove);
}

/* Both; call first in main. */
static inline void own_machine_use(const char *devices, const char *hbm)
{
    own_machine_name(devices, hbm);
    own_machine_keep();
}

#endif
