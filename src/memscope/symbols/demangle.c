/* SPDX-License-Identifier: Apache-2.0 */
/* Uses the C++ library's own demangler in the variant that passes its result to a callback in pieces: a name of a few
 * hundred bytes can expand to gigabytes of text, so it is aborted as soon as there is enough. It allocates nothing,
 * which makes leaving it by longjmp safe. */
#include "memscope/symbols/demangle.h"

#include <setjmp.h>
#include <string.h>

#define MANGLED_MAX_B 4096

/* In libsupc++.a; not declared in any header. 0: done. */
int __gcclibcxx_demangle_callback(const char *mangled, void (*take)(const char *, size_t, void *), void *argument);

struct result {
    char *out;
    size_t used_b;
    jmp_buf enough;
};

static void take(const char *piece, size_t piece_b, void *argument)
{
    struct result *result = argument;
    size_t left_b = MS_NAME_MAX_B - 1 - result->used_b;
    size_t n = piece_b < left_b ? piece_b : left_b;
    memcpy(result->out + result->used_b, piece, n);
    result->used_b += n;
    if (n < piece_b) {
        longjmp(result->enough, 1);
    }
}

static size_t finish(char *out, size_t used_b, int cut)
{
    if (cut && used_b >= 3) {
        memcpy(out + used_b - 3, "...", 3);
    }
    for (size_t i = 0; i < used_b; i++) {
        out[i] = (unsigned char)out[i] < ' ' || out[i] == 0x7f ? '?' : out[i];
    }
    out[used_b] = '\0';
    return used_b;
}

size_t ms_demangle(const char *name, char out[MS_NAME_MAX_B])
{
    struct result result = {.out = out};
    if (name[0] == '_' && name[1] == 'Z' && strnlen(name, MANGLED_MAX_B) < MANGLED_MAX_B) {
        if (setjmp(result.enough) != 0) {
            return finish(out, MS_NAME_MAX_B - 1, 1);
        }
        if (__gcclibcxx_demangle_callback(name, take, &result) == 0 && result.used_b > 0) {
            return finish(out, result.used_b, 0);
        }
    }
    size_t length_b = strnlen(name, MS_NAME_MAX_B);
    int cut = length_b == MS_NAME_MAX_B;
    length_b -= (size_t)cut;
    memcpy(out, name, length_b);
    return finish(out, length_b, cut);
}
