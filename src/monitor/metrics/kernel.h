/* SPDX-License-Identifier: Apache-2.0 */
/* Processors and network of the node, from /proc. */
#ifndef MON_METRICS_KERNEL_H
#define MON_METRICS_KERNEL_H

#include <stdbool.h>

struct mon_kernel;

struct mon_kernel_options {
    const char *root;     /* stands before /proc and /sys; NULL: the real ones */
    bool filter;          /* only interfaces whose name begins with one of the prefixes */
    const char *prefixes; /* comma list */
};

struct mon_kernel *mon_kernel_new(const struct mon_kernel_options *options); /* NULL: no memory */
void mon_kernel_free(struct mon_kernel *kernel);

/* Looks once, records series and emits one record; differences are those to the last look, so the first one has the
 * uptime alone. 0, or -errno of the first file that could not be read or understood: what depends on it is missing in
 * this round, the rest is there. */
int mon_kernel_sample(struct mon_kernel *kernel);

#endif
