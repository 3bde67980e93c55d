/* SPDX-License-Identifier: Apache-2.0 */
/* Which names of the vendor's libraries exist here, and which of them are implemented. Generated from the function
 * tables, so it cannot differ from what is built. */
#ifndef ABI_COVERAGE_H
#define ABI_COVERAGE_H

#include <stddef.h>

enum abi_status {
    ABI_IMPLEMENTED,
    ABI_UNSUPPORTED, /* exists, and returns "not supported" */
};

enum abi_set {
    ABI_RECOMMENDED, /* what every program may rely on */
    ABI_EXTRA,
};

struct abi_name {
    const char *name;
    enum abi_status status;
    enum abi_set set;
};

struct abi_library {
    const char *key;  /* "acl", "rt", ... */
    const char *file; /* "libascendcl.so", ... */
    const struct abi_name *names;
    size_t count;
};

/* All libraries; *count receives their number. */
const struct abi_library *abi_coverage(size_t *count);

/* The number of a library's names with this status, in one set or (set < 0) in both. */
size_t abi_coverage_count(const struct abi_library *library, enum abi_status status, int set);

#endif
