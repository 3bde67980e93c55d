/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of hosts: names, ranges in brackets, files. */
#ifndef DYNO_HOSTS_H
#define DYNO_HOSTS_H

#include <stddef.h>
#include <stdint.h>

#define DYNO_HOSTS_MAX  65536
#define DYNO_HOST_MAX_B 256
#define DYNO_WHY_B      512

struct dyno_host {
    char *name;
    uint16_t port; /* 0: use --port */
};

struct dyno_hosts {
    struct dyno_host *list;
    size_t count, room;
};

/* Appends the hosts of a pattern: "a,b", "n[01-64]", "r[1-2]n[01-03,07]-ib", each optionally with ":port"; IPv6
 * addresses plain or, with a port, in brackets. 0, or -EINVAL, -E2BIG, -ENOMEM with the reason in why. */
int dyno_hosts_expand(struct dyno_hosts *hosts, const char *pattern, char why[DYNO_WHY_B]);

/* One pattern per line; '#' starts a comment; text after the first blank (slots=4) is ignored. "-": standard input. */
int dyno_hosts_file(struct dyno_hosts *hosts, const char *path, char why[DYNO_WHY_B]);

/* The nodes of a Slurm job, from squeue or scontrol. */
int dyno_hosts_slurm(struct dyno_hosts *hosts, const char *job, char why[DYNO_WHY_B]);

void dyno_hosts_unique(struct dyno_hosts *hosts); /* removes duplicates, keeps the order */
void dyno_hosts_free(struct dyno_hosts *hosts);

#endif
