/* SPDX-License-Identifier: Apache-2.0 */
/* Reads /proc/PID/stat, status and environ with bounded buffers. A process that ends meanwhile counts as
 * nonexistent. */
#include "monitor/daemon/procfs.h"

#include "base/parse.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TEXT_B = 4096, ENVIRON_B = 65536 };

static ssize_t read_file(int32_t pid, const char *name, char *out, size_t out_b)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return -errno;
    }
    size_t used = 0;
    ssize_t n = 0;
    while (used < out_b - 1 && (n = read(fd, out + used, out_b - 1 - used)) > 0) {
        used += (size_t)n;
    }
    int error = errno;
    close(fd);
    out[used] = '\0';
    return n < 0 ? -error : (ssize_t)used;
}

/* The last number of the line that starts with key. */
static int last_number(const char *text, const char *key, unsigned long *out)
{
    const char *line = strstr(text, key);
    if (line == NULL) {
        return -EBADMSG;
    }
    line += strlen(key);
    char *end;
    int result = -EBADMSG;
    while (*line == ' ' || *line == '\t') {
        *out = strtoul(line, &end, 10);
        result = end != line ? 0 : result;
        line = end != line ? end : line + 1;
    }
    return result;
}

int mon_procfs_read(int32_t pid, struct mon_procfs *out)
{
    char text[TEXT_B];
    ssize_t n = read_file(pid, "stat", text, sizeof(text));
    if (n <= 0) {
        return n < 0 ? (int)n : -ESRCH;
    }
    /* The name in parentheses may contain anything; fields are counted from the last ')'. */
    const char *rest = strrchr(text, ')');
    int parent;
    unsigned long long start;
    if (rest == NULL ||
        sscanf(rest + 1, " %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu", &parent,
               &start) != 2) {
        return -EBADMSG;
    }
    unsigned long uid = 0, inner = 0;
    if (read_file(pid, "status", text, sizeof(text)) <= 0) {
        return -ESRCH;
    }
    const char *line = strstr(text, "\nUid:");
    if (line == NULL || sscanf(line, "\nUid: %*u %lu", &uid) != 1) { /* the effective uid, as in the credentials */
        return -EBADMSG;
    }
    if (last_number(text, "\nNSpid:", &inner) != 0) {
        inner = (unsigned long)pid;
    }
    *out = (struct mon_procfs){parent, (int32_t)inner, (uid_t)uid, start};
    return 0;
}

void mon_procfs_environment(int32_t pid, int32_t *rank, int64_t *slurm_job)
{
    char *text = malloc(ENVIRON_B);
    ssize_t n = text != NULL ? read_file(pid, "environ", text, ENVIRON_B) : 0;
    for (const char *at = text, *end = text + (n > 0 ? n : 0); at < end; at += strlen(at) + 1) {
        int64_t number;
        if (strncmp(at, "RANK=", 5) == 0 && ms_parse_i64(at + 5, -1, INT32_MAX, &number) == 0) {
            *rank = (int32_t)number;
        } else if (strncmp(at, "SLURM_JOB_ID=", 13) == 0 && ms_parse_i64(at + 13, 1, INT64_MAX, &number) == 0) {
            *slurm_job = number;
        }
    }
    free(text);
}
