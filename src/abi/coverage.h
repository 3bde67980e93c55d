/* SPDX-License-Identifier: Apache-2.0 */
/* Which names of the vendor's libraries exist here, and which of them do something. Made from the function tables, so
 * it cannot disagree with what is built. */
#ifndef ABI_COVERAGE_H
#define ABI_COVERAGE_H

#include <stddef.h>

enum abi_status {
    ABI_IMPLEMENTED,
    ABI_UNSUPPORTED, /* there, and answers "not supported" */
};

enum abi_set {
    ABI_RECOMMENDED, /* what every program may count on */
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

/* All libraries; the number goes to *count. */
const struct abi_library *abi_coverage(size_t *count);

/* How many names of a library have this status, in one set or (set < 0) in both. */
size_t abi_coverage_count(const struct abi_library *library, enum abi_status status, int set);

#endif
