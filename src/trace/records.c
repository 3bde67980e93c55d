/* SPDX-License-Identifier: Apache-2.0 */
/* The table of records as data. */
#include "trace/records.h"

/* Whether a letter that means a tail is in the shape: t, f or l. Constant for the compiler. */
#define HAS(shape, letter) (__builtin_strchr(shape, letter) != 0)
#define PLAIN(shape)       (!HAS(shape, 't') && !HAS(shape, 'f') && !HAS(shape, 'l'))
#define WIDE(shape)        (PLAIN(shape) && !HAS(shape, 'd') && !HAS(shape, 'k') && sizeof(shape) - 1 <= MS_WIDE_FIELDS)

const struct ms_record_spec ms_record_specs[MS_R_LIMIT] = {
#define X(number, kind, payload, order_, shape_)                                                                       \
    [number] = {                                                                                                       \
        .name = #kind,                                                                                                 \
        .shape = shape_,                                                                                               \
        .payload_b = sizeof(payload),                                                                                  \
        .order = MS_ORDER_##order_,                                                                                    \
        .fields = sizeof(shape_) - 1,                                                                                  \
        .plain = PLAIN(shape_),                                                                                        \
        .wide = WIDE(shape_),                                                                                          \
    },
    MS_RECORDS(X)
#undef X
};
