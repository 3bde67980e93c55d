/* Processors and network of the node, from /proc. */
#ifndef MS_METRICS_KERNEL_H
#define MS_METRICS_KERNEL_H

#include <stdbool.h>

struct ms_kernel;

struct ms_kernel_options {
    const char *root;     /* stands before /proc and /sys; NULL: the real ones */
    bool filter;          /* only interfaces whose name begins with one of the prefixes */
    const char *prefixes; /* comma list */
};

struct ms_kernel *ms_kernel_new(const struct ms_kernel_options *options); /* NULL: no memory */
void ms_kernel_free(struct ms_kernel *kernel);

/* Looks once, records series and emits one record; differences are those to the last look, so the first one has the
 * uptime alone. 0, or -errno of the first file that could not be read or understood: what depends on it is missing in
 * this round, the rest is there. */
int ms_kernel_sample(struct ms_kernel *kernel);

#endif
