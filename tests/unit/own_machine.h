/* A machine for this test program alone, gone when the program ends. To be called first in main. */
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

static inline void own_machine_use(const char *devices)
{
    char name[64];
    own_machine_pid = getpid();
    snprintf(name, sizeof(name), "%.40s-%d", program_invocation_short_name, (int)own_machine_pid);
    snprintf(own_machine_path, sizeof(own_machine_path), "/dev/shm/softnpu-%u-%s", (unsigned)geteuid(), name);
    setenv("SOFTNPU_MACHINE", name, 1);
    setenv("SOFTNPU_DEVICES", devices, 1);
    atexit(own_machine_remove);
}

#endif
