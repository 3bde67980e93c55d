/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel decides which counter can be trusted: it compares the TSC with other clocks and abandons it when it
 * drifts, which its current clock source shows. Under KVM and Hyper-V the source is a layer over the TSC; there the CPU
 * must also report it as constant and non-stop. A process may be forbidden to read the TSC (PR_SET_TSC) and would be
 * killed. On aarch64 the architecture guarantees one steady counter. All other cases use CLOCK_MONOTONIC. */
#include "trace/clock.h"

#include "base/clock.h"
#include "trace/stamp.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define ATTEMPTS 8

void ms_anchor_take(struct ms_anchor *anchor, uint32_t clock_kind)
{
    *anchor = (struct ms_anchor){.clock_kind = clock_kind, .uncertainty = UINT32_MAX};
    for (unsigned i = 0; i < ATTEMPTS; i++) {
        uint64_t before = ms_stamp(clock_kind);
        uint64_t monotonic_ns = ms_clock_ns(CLOCK_MONOTONIC);
        uint64_t after = ms_stamp(clock_kind);
        uint64_t realtime_ns = ms_clock_ns(CLOCK_REALTIME);
        if (clock_kind == MS_CLOCK_MONOTONIC) {
            before = after = monotonic_ns; /* the same clock: no uncertainty */
        }
        if (i == 0 || after - before < anchor->uncertainty) {
            anchor->ticks = before + (after - before) / 2;
            anchor->monotonic_ns = monotonic_ns;
            anchor->realtime_ns = realtime_ns;
            anchor->uncertainty = after - before < UINT32_MAX ? (uint32_t)(after - before) : UINT32_MAX - 1;
        }
        if (anchor->uncertainty < 1000) {
            break;
        }
    }
}

#if defined(__x86_64__)

static bool read_text(const char *path, char *text, size_t size_b)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, size_b - 1);
    if (fd >= 0) {
        close(fd);
    }
    if (n <= 0) {
        return false;
    }
    text[n] = 0;
    text[strcspn(text, "\n")] = 0;
    return true;
}

static bool steady_cpu(void)
{
    FILE *file = fopen("/proc/cpuinfo", "re");
    char line[4096];
    bool steady = false;
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        if (strncmp(line, "flags", 5) == 0) {
            steady = strstr(line, " constant_tsc") != NULL && strstr(line, " nonstop_tsc") != NULL;
            break;
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return steady;
}

static bool tsc_trusted(void)
{
    char source[64];
    int allowed = 0;
    if (!read_text("/sys/devices/system/clocksource/clocksource0/current_clocksource", source, sizeof(source)) ||
        (prctl(PR_GET_TSC, &allowed) == 0 && allowed != PR_TSC_ENABLE)) {
        return false;
    }
    return strcmp(source, "tsc") == 0 ||
           ((strcmp(source, "kvm-clock") == 0 || strncmp(source, "hyperv", 6) == 0) && steady_cpu());
}

enum ms_clock_kind ms_clock_choose(void)
{
    return tsc_trusted() ? MS_CLOCK_TSC : MS_CLOCK_MONOTONIC;
}

bool ms_clock_still_good(uint32_t clock_kind)
{
    return clock_kind != MS_CLOCK_TSC || tsc_trusted();
}

#else

enum ms_clock_kind ms_clock_choose(void)
{
#if defined(__aarch64__)
    return MS_CLOCK_CNTVCT;
#else
    return MS_CLOCK_MONOTONIC;
#endif
}

bool ms_clock_still_good(uint32_t clock_kind)
{
    (void)clock_kind;
    return true;
}

#endif
