/* SPDX-License-Identifier: Apache-2.0 */
/* The table of records as data. */
#include "trace/records.h"

#define LETTER_a                   "a"
#define LETTER_q                   "q"
#define LETTER_i                   "q"
#define LETTER_k                   "k"
#define LETTER_d                   "d"
#define LETTER_t                   "t"
#define LETTER_f                   "f"
#define LETTER_l                   "l"
#define LETTER_b24                 "qqq"
#define F(type, name, to, meaning) LETTER_##type
#define R(type, name, meaning)     LETTER_##type
#define SHAPE(payload)             "" MS_FIELDS_##payload(F, R)

/* Whether a letter that means a tail is in the shape: t, f or l. A constant for the compiler. */
#define HAS(shape, letter) (__builtin_strchr(shape, letter) != 0)
#define PLAIN(shape)       (!HAS(shape, 't') && !HAS(shape, 'f') && !HAS(shape, 'l'))
#define WIDE(shape)        (PLAIN(shape) && !HAS(shape, 'd') && !HAS(shape, 'k') && sizeof(shape) - 1 <= MS_WIDE_FIELDS)

const struct ms_record_spec ms_record_specs[MS_R_LIMIT] = {
#define X(number, kind, payload, order_, arg, meaning)                                                                 \
    [number] = {                                                                                                       \
        .name = #kind,                                                                                                 \
        .shape = SHAPE(payload),                                                                                       \
        .payload_b = sizeof(struct ms_p_##payload),                                                                    \
        .order = MS_ORDER_##order_,                                                                                    \
        .fields = sizeof(SHAPE(payload)) - 1,                                                                          \
        .plain = PLAIN(SHAPE(payload)),                                                                                \
        .wide = WIDE(SHAPE(payload)),                                                                                  \
    },
    MS_RECORDS(X)
#undef X
};
