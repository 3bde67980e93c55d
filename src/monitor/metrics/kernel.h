/* SPDX-License-Identifier: Apache-2.0 */
/* Processors and network of the node, from /proc. */
#ifndef MON_METRICS_KERNEL_H
#define MON_METRICS_KERNEL_H

#include <stdbool.h>

struct mon_kernel;

struct mon_kernel_options {
    const char *root;     /* prefix of /proc and /sys; NULL: none */
    bool filter;          /* only interfaces whose name starts with one of the prefixes */
    const char *prefixes; /* comma-separated */
};

struct mon_kernel *mon_kernel_new(const struct mon_kernel_options *options); /* NULL: out of memory */
void mon_kernel_free(struct mon_kernel *kernel);

/* Takes a sample: records series and emits one record. Differences are relative to the previous sample, so the first
 * one has only the uptime. 0, or -errno of the first file that could not be read or parsed: only the values that depend
 * on it are missing from this sample. */
int mon_kernel_sample(struct mon_kernel *kernel);

#endif
