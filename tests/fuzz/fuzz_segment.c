/* SPDX-License-Identifier: Apache-2.0 */
/* A segment file of any content: the reader must terminate. */
#include "trace/reader.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_b);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_b)
{
    static char path[64];
    static int dir = -1;
    if (dir < 0) {
        snprintf(path, sizeof(path), "/tmp/npuscope-fuzz-XXXXXX");
        dir = mkdtemp(path) != NULL ? open(path, O_RDONLY | O_DIRECTORY) : -1;
    }
    int fd = openat(dir, "p.000001.seg", O_CREAT | O_TRUNC | O_WRONLY, 0600);
    if (fd < 0 || write(fd, data, size_b) != (ssize_t)size_b) {
        abort();
    }
    close(fd);
    struct ms_trace *trace;
    if (ms_trace_open(dir, "p", NULL, &trace) == 0) {
        struct ms_event event;
        while (ms_trace_next(trace, &event) == MS_TRACE_EVENT) {
        }
        ms_trace_close(trace);
    }
    return 0;
}
