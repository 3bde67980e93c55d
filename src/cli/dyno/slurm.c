/* SPDX-License-Identifier: Apache-2.0 */
/* The nodes of a Slurm job: squeue lists those of waiting and running jobs, scontrol also those of jobs that have just
 * ended. Both print lists that dyno_hosts_expand can parse. The job id is passed to a shell, so only digits and the
 * characters of array and heterogeneous jobs are allowed. */
#include "cli/dyno/hosts.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define NODES_MAX_B 65536

/* The first word after `key` in the output of a command. 0 or -ENOENT. */
static int query(const char *command, const char *key, char nodes[NODES_MAX_B])
{
    char text[NODES_MAX_B];
    FILE *pipe = popen(command, "re");
    if (pipe == NULL) {
        return -errno;
    }
    size_t n = fread(text, 1, sizeof(text) - 1, pipe);
    text[n] = '\0';
    int status = pclose(pipe);
    const char *found = strstr(text, key);
    if (status != 0 || found == NULL) {
        return -ENOENT;
    }
    found += strlen(key);
    n = strcspn(found, " \t\r\n");
    memcpy(nodes, found, n);
    nodes[n] = '\0';
    return n > 0 && strcmp(nodes, "(null)") != 0 ? 0 : -ENOENT;
}

int dyno_hosts_slurm(struct dyno_hosts *hosts, const char *job, char why[DYNO_WHY_B])
{
    static const struct {
        const char *format, *key;
    } sources[] = {
        {"squeue --noheader --format=%%N --jobs=%s 2>/dev/null", ""},
        {"scontrol --oneliner show job %s 2>/dev/null", " NodeList="},
    };
    char command[160], nodes[NODES_MAX_B];
    if (job[0] == '\0' || strlen(job) > 32 || strspn(job, "0123456789_+") != strlen(job)) {
        snprintf(why, DYNO_WHY_B, "--slurm-job '%.40s' is not a job id such as 12345 or 12345_7", job);
        return -EINVAL;
    }
    for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
        snprintf(command, sizeof(command), sources[i].format, job);
        if (query(command, sources[i].key, nodes) == 0) {
            return dyno_hosts_expand(hosts, nodes, why);
        }
    }
    snprintf(
        why, DYNO_WHY_B,
        "--slurm-job %s: neither squeue nor scontrol lists its nodes; check that Slurm is installed and that the job "
        "is running",
        job);
    return -ENOENT;
}
