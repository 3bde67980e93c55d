/* SPDX-License-Identifier: Apache-2.0 */
/* The SOFTNPU_* environment variables: one table, one parser, used by the libraries (which ignore a bad value and
 * keep a message) and by the softnpu command (which rejects it). */
#ifndef SOFTNPU_HAL_SETTINGS_H
#define SOFTNPU_HAL_SETTINGS_H

#include <stddef.h>
#include <stdint.h>

/* What all processes on a machine must agree on. */
struct snpu_config {
    uint32_t devices;
    uint64_t capacity_b; /* per device, a multiple of 2 MiB */
    char soc[32];
};

struct snpu_settings {
    struct snpu_config config;
    char machine[64];
    uint32_t cores;     /* threads that kernels of this process may use */
    uint64_t context_b; /* charged to each process per device that it opens */
};

/* Defaults, then the environment. An invalid value keeps its default and adds one line to `why` (truncated at
 * why_len). Returns the number of invalid values. */
int snpu_settings_read(struct snpu_settings *out, char *why, size_t why_len);

/* Checks one value as for the environment (SOFTNPU_DEVICES ... SOFTNPU_CONTEXT_B; SOFTNPU_FAULT has its own parser).
 * 0, or -EINVAL with the reason; -ENOENT: no such variable. */
int snpu_settings_check(const char *variable, const char *value, char *why, size_t why_len);

/* The i-th variable of the table and its meaning; NULL after the last. */
const char *snpu_settings_name(size_t i, const char **meaning);

#endif
