/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the tests of the pools: a separate environment, and a driver that they can observe and make fail.
 *
 * halMemAlloc, halMemFree and halMemCreate of this program precede the driver's: every call is counted and can be made
 * to fail. */
#ifndef TESTS_UNIT_NPUPOOL_FIXTURE_H
#define TESTS_UNIT_NPUPOOL_FIXTURE_H

#include "npupool/npupool.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#define KIB ((size_t)1024)
#define MIB (1024 * KIB)
#define GIB (1024 * MIB)

/* Runs the program again in an environment with its own machine (2 devices of 1 GiB) and the given variables
 * (NAME=VALUE, NULL at the end). No effect the second time. Call first in main. */
void fixture_environment(char **argv, const char *const *variables);

struct fixture_calls {
    unsigned allocs, failed_allocs, frees, creates, failed_creates;
    unsigned long long last_size, last_flag; /* of halMemAlloc */
    size_t last_create_size;
};
extern struct fixture_calls fixture_calls;
extern bool fixture_fail; /* every allocation fails with "out of memory" */
void fixture_reset(void);

/* A device and a stream for every test. */
extern aclrtStream fixture_stream, fixture_other_stream;
int fixture_setup(void **state);
int fixture_teardown(void **state);

/* Queues work on a stream that ends only with fixture_release. */
void fixture_block(aclrtStream stream);
void fixture_release(void);

npool_caching *fixture_pool(const char *options); /* NULL: defaults */
struct npool_stats fixture_stats(npool_caching *pool);
void *fixture_malloc(npool_caching *pool, size_t size_b);
void fixture_free(npool_caching *pool, void *ptr);

#endif
