/* SPDX-License-Identifier: Apache-2.0 */
/* Marks that report PyTorch operators and the tensors they access:
 *
 *     memscope-aten-b: name=torch._ops.aten.add.Tensor                     begins
 *     memscope-aten-e: name=torch._ops.aten.add.Tensor                     ends
 *     memscope-aten-ac:ptr=1234;tensor_size=64;is_write=True;is_read=False;name=...
 *
 * A value ends at ';', at '}' or at the end of the text. */
#ifndef MS_TRACE_ATEN_MARK_H
#define MS_TRACE_ATEN_MARK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define MS_ATEN_MARK "memscope-aten-" /* followed by a letter: b, e, a */
enum { MS_ATEN_MARK_B = sizeof(MS_ATEN_MARK) - 1 };

struct ms_aten_value {
    const char *s; /* NULL: no such key */
    size_t length_b;
};

static inline struct ms_aten_value ms_aten_value(const char *s, size_t length_b, const char *key)
{
    size_t key_b = strlen(key);
    const char *end = s + length_b;
    for (const char *at = s; at < end;) {
        const char *next = (const char *)memchr(at, ';', (size_t)(end - at));
        const char *item_end = next != NULL ? next : end;
        while (at < item_end && *at == ' ') {
            at++;
        }
        if ((size_t)(item_end - at) > key_b && memcmp(at, key, key_b) == 0 && at[key_b] == '=') {
            const char *value = at + key_b + 1;
            const char *brace = (const char *)memchr(value, '}', (size_t)(item_end - value));
            return (struct ms_aten_value){value, (size_t)((brace != NULL ? brace : item_end) - value)};
        }
        at = next != NULL ? next + 1 : end;
    }
    return (struct ms_aten_value){NULL, 0};
}

static inline uint64_t ms_aten_number(const char *s, size_t length_b, const char *key)
{
    struct ms_aten_value value = ms_aten_value(s, length_b, key);
    uint64_t number = 0;
    for (size_t i = 0; i < value.length_b && value.s[i] >= '0' && value.s[i] <= '9'; i++) {
        number = number * 10 + (uint64_t)(value.s[i] - '0');
    }
    return number;
}

static inline bool ms_aten_is_true(const char *s, size_t length_b, const char *key)
{
    struct ms_aten_value value = ms_aten_value(s, length_b, key);
    return value.length_b == 4 && memcmp(value.s, "True", 4) == 0;
}

#endif
