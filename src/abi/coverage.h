/* SPDX-License-Identifier: Apache-2.0 */
/* Which names of the vendor's headers and libraries exist here, family by family, and which of them are implemented.
 * Generated from the function tables, so it cannot differ from what is built; absent names have a table of their own. */
#ifndef ABI_COVERAGE_H
#define ABI_COVERAGE_H

#include <stddef.h>

enum abi_status {
    ABI_IMPLEMENTED,
    ABI_UNSUPPORTED, /* exists, and returns "not supported" */
    ABI_ABSENT,      /* does not exist */
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

/* A family of names. */
struct abi_library {
    const char *key;    /* "acl", "rt", ... */
    const char *file;   /* "libascendcl.so", ... */
    const char *header; /* where the vendor declares them, or what they are */
    const struct abi_name *names;
    size_t count;
};

/* All families; *count receives their number. */
const struct abi_library *abi_coverage(size_t *count);

/* The number of a library's names with this status, in one set or (set < 0) in both. */
size_t abi_coverage_count(const struct abi_library *library, enum abi_status status, int set);

#endif
